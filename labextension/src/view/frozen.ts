import { clean } from './html';
import type { Asked, Said, Tool, Turn } from './model';

export interface Frozen {
  html: string;
  plain: string;
}

// What a page would take for a formula is broken up: none of these texts is meant as one.
const TEX = /\$|\\(?=[([]|begin\b|(?:eq)?ref\b)/g;
const PRE =
  'font-family:monospace;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere;' +
  'margin:0.3em 0';

/**
 * What a person saw of a turn, to be kept in a notebook: no script, button, class or id, and
 * no colour of its own, so that it reads anywhere, in light and dark.
 */
export function frozen(turn: Turn): Frozen {
  const { prompt, work, answer, data, notes, tasks, ended } = turn;
  const tools = work.filter(each => each.kind === 'tool').length;
  const parts: Frozen[] = [
    ...(prompt ? [quoted(prompt)] : []),
    ...(tools
      ? [folded(`${tools} tool call${tools === 1 ? '' : 's'}`, work.flatMap(step))]
      : work.flatMap(step)),
    ...answer.map(prose),
    ...(data?.changes ? [line(`data: ${data.changes}`)] : []),
    ...notes.map(note => line(note)),
    ...(tasks ? [verbatim([tasks.bar, ...tasks.lines].join('\n'))] : []),
    ...(ended?.reason ? [line(ended.reason, 'font-weight:bold')] : []),
    ...(ended?.footer ? [line(ended.footer)] : [])
  ];
  return {
    // A blank line would end the html where it is exported into Markdown.
    html: `<div>${html(parts)}</div>`.replace(/\n(?=[ \t]*\n)/g, '&#10;'),
    plain: plain(parts)
  };
}

function quoted(text: string): Frozen {
  return verbatim(text, '> ', ';border-left:3px solid;padding-left:0.6em');
}

function step(each: Said | Asked | Tool): Frozen[] {
  if (each.kind === 'asked') {
    return [quoted(each.text)];
  }
  if (each.kind === 'said') {
    return [prose(each.html)];
  }
  const { mark, name, summary, details, output } = each;
  const words = line([`${mark} ${name}`, summary, details].filter(Boolean).join(' '));
  return output.trim() ? [words, verbatim(output)] : [words];
}

function prose(source: string): Frozen {
  const el = document.createElement('div');
  el.append(clean(source));
  const html = `<div>${el.innerHTML}</div>`;
  el.querySelectorAll('td, th').forEach(cell => cell.append('  '));
  el.querySelectorAll('li').forEach(item => item.prepend('\n- '));
  el.querySelectorAll('p, tr, pre, ul, ol').forEach(block => block.append('\n'));
  return { html, plain: (el.textContent ?? '').replace(/\n\s*\n/g, '\n').trim() };
}

function line(text: string, style = 'opacity:0.8'): Frozen {
  return { html: `<div style="white-space:pre-wrap;${style}">${escaped(text)}</div>`, plain: text };
}

function verbatim(text: string, mark = '  ', style = ''): Frozen {
  const bare = text.replace(/\n+$/, '');
  return {
    html: `<pre style="${PRE}${style}">${escaped(bare)}</pre>`,
    plain: bare.replace(/^/gm, mark)
  };
}

function folded(title: string, parts: Frozen[]): Frozen {
  const summary = `<summary style="cursor:pointer;opacity:0.8">${escaped(title)}</summary>`;
  return {
    html: `<details>${summary}<div style="margin-left:1em">${html(parts)}</div></details>`,
    plain: `${title}\n${plain(parts).replace(/^(?=.)/gm, '  ')}`
  };
}

function html(parts: Frozen[]): string {
  return parts.map(each => each.html).join('\n');
}

function plain(parts: Frozen[]): string {
  return parts.map(each => each.plain).join('\n');
}

function escaped(text: string): string {
  const el = document.createElement('div');
  el.textContent = text;
  return el.innerHTML.replace(TEX, '<span>$&</span>');
}
