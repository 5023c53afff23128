import { drawn, grow, h } from './dom';
import type { Asked, Flight, Said, Tool, Turn } from './model';
import { Prose, verbatim } from './prose';
import type { Host } from './view';

/** Steps that stay in sight; those before them are folded. */
const IN_SIGHT = 8;

/** What was said and done so far, in order. */
export class Work {
  private readonly earlier = h('details', 'shiro-earlier');
  private readonly title = this.earlier.appendChild(h('summary'));
  private readonly shown: { item: Turn['work'][number]; el: HTMLElement }[] = [];
  readonly el = h('div', 'shiro-work', this.earlier);

  constructor(
    private readonly insert?: Host['insert'],
    private readonly picture?: Host['picture']
  ) {}

  update(turn: Turn): void {
    this.draw(turn.work);
  }

  private readonly draw = drawn<Turn['work']>(work => {
    for (const { el } of this.shown.splice(work.length)) {
      el.remove();
    }
    const folded = Math.max(0, work.length - IN_SIGHT);
    work.forEach((item, at) => {
      const known = this.shown[at];
      if (known?.item !== item) {
        const el = this.made(item);
        known?.el.replaceWith(el);
        this.shown[at] = { item, el };
      }
      const { el } = this.shown[at] as { el: HTMLElement };
      const place = at < folded ? this.earlier : this.el;
      if (el.parentNode !== place) {
        place.append(el);
      }
    });
    this.title.textContent = `${folded} earlier step${folded === 1 ? '' : 's'}`;
    this.earlier.hidden = !folded;
  });

  private made(item: Said | Asked | Tool): HTMLElement {
    if (item.kind === 'asked') {
      return h('div', 'shiro-asked', item.text);
    }
    if (item.kind === 'tool') {
      const { picture } = this;
      const pictures = picture ? item.pictures.map(key => drawing(picture(key))) : [];
      return h('div', '', card(item), ...pictures);
    }
    const prose = new Prose(this.insert);
    prose.update([item.html]);
    return prose.el;
  }
}

function card(tool: Tool): HTMLElement {
  const mark = h('span', 'shiro-mark', tool.mark);
  const line = h('summary', '', mark, h('span', 'shiro-name', tool.name));
  line.append(h('code', 'shiro-what', tool.summary), h('span', 'shiro-faint', tool.details));
  const output = tool.output ? verbatim(tool.output, tool.diff) : h('div', 'shiro-faint', 'no output');
  const el = h('details', 'shiro-card', line, output);
  el.dataset.outcome = tool.outcome;
  return el;
}

function drawing(found: ReturnType<NonNullable<Host['picture']>>): HTMLElement {
  const el = h('div', 'shiro-picture shiro-faint');
  void found.then(picture => {
    if ('src' in picture) {
      const image = el.appendChild(h('img'));
      image.alt = 'what the code drew';
      image.src = picture.src;
    } else {
      el.textContent = picture.trouble;
    }
  });
  return el;
}

/** The call in flight, with the end of its output. */
export class InFlight {
  private readonly name = h('span', 'shiro-name');
  private readonly what = h('code', 'shiro-what');
  private readonly output = document.createTextNode('');
  private readonly tail = h('div', 'shiro-tail', h('pre', 'shiro-verbatim', this.output));
  readonly el = h(
    'div',
    'shiro-flight',
    h('div', 'shiro-call', h('span', 'shiro-mark', '⋯'), this.name, this.what),
    this.tail
  );

  update(turn: Turn): void {
    this.draw(turn.flight);
  }

  private readonly draw = drawn<Flight | null>(flight => {
    this.el.hidden = !flight;
    this.name.textContent = flight?.name ?? '';
    this.what.textContent = flight?.summary ?? '';
    this.tail.hidden = !flight?.output;
    grow(this.output, flight?.output ?? '');
  });
}
