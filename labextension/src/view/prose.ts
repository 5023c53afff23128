import { button, copyButton, h } from './dom';
import { clean } from './html';
import type { Diff } from './model';

interface Block {
  el: HTMLElement;
  html: string;
  settled: boolean;
}

/** Blocks of html. One that stays the same is not touched, so that a selection in it survives. */
export class Prose {
  readonly el = h('div', 'shiro-prose');
  private readonly blocks: Block[] = [];

  constructor(private readonly insert?: (code: string) => void) {}

  /** @param streaming - Whether the last block still grows. */
  update(html: readonly string[], streaming = false): void {
    html.forEach((text, at) => {
      const block = (this.blocks[at] ??= this.added());
      if (block.html !== text) {
        block.html = text;
        block.settled = false;
        block.el.replaceChildren(clean(text));
      }
      if (!block.settled && !(streaming && at === html.length - 1)) {
        block.settled = true;
        block.el.querySelectorAll('pre').forEach(code => this.addTools(code));
      }
    });
    for (const { el } of this.blocks.splice(html.length)) {
      el.remove();
    }
    this.el.classList.toggle('shiro-streaming', streaming && html.length > 0);
  }

  private added(): Block {
    const el = this.el.appendChild(h('div'));
    return { el, html: '', settled: false };
  }

  private addTools(code: HTMLElement): void {
    const text = (): string => code.textContent ?? '';
    const tools = h('div', 'shiro-tools', copyButton(text));
    const { insert } = this;
    if (insert) {
      tools.append(button('Insert as cell', 'shiro-small', () => insert(text().trimEnd())));
    }
    code.before(tools);
  }
}

const LINES: { readonly [mark: string]: string } = {
  '+': 'shiro-line shiro-added',
  '-': 'shiro-line shiro-taken',
  '@': 'shiro-line shiro-place'
};

/** Text as it stands; a diff with its lines coloured. */
export function verbatim(text: string, diff: Diff): HTMLPreElement {
  const el = h('pre', 'shiro-verbatim');
  el.tabIndex = 0; // it may have to be scrolled by keys
  if (diff) {
    const line = (each: string, at: number): HTMLElement =>
      h('span', LINES[diff[at] ?? ''] ?? 'shiro-line', `${each}\n`);
    el.append(...text.split('\n').map(line));
  } else {
    el.textContent = text;
  }
  return el;
}
