import { button, drawn, grow, h } from './dom';
import type { Turn } from './model';

/** Milliseconds in which the code of a turn is put into cells. */
const KEEPING = 5000;

/** A piece of the view; `update` touches its DOM only where what it shows has changed. */
export interface Part {
  readonly el: HTMLElement;
  update(turn: Turn): void;
}

/** A part that shows one value of the turn, and is hidden where `show` says that it is empty. */
function part<T>(el: HTMLElement, value: (turn: Turn) => T, show: (value: T) => boolean): Part {
  const draw = drawn<T>(shown => (el.hidden = !show(shown)));
  return { el, update: turn => draw(value(turn)) };
}

/** One element a line, which is made anew only where the line is another. */
function setLines(
  el: HTMLElement,
  lines: readonly string[],
  make: (line: string) => HTMLElement
): void {
  lines.forEach((line, at) => {
    const old = el.children[at];
    if (!old) {
      el.append(make(line));
    } else if (old.textContent !== line) {
      old.replaceWith(make(line));
    }
  });
  while (el.children.length > lines.length) {
    el.lastElementChild?.remove();
  }
}

const plainLine = (line: string): HTMLElement => h('div', '', line);

/** What came up on the way, or the prompts that wait: a line each. */
export function list(name: 'notes' | 'queue'): Part {
  const el = h('div', `shiro-${name}`);
  return part(
    el,
    turn => turn[name],
    lines => {
      setLines(el, lines, plainLine);
      return lines.length > 0;
    }
  );
}

/** What became of the data, and the offer to keep the code for it. */
export function data(keep?: (turn: number) => void): Part {
  const changes = h('div');
  const words = h('span');
  const offer = h('div', '', words);
  let number = 0;
  if (keep) {
    offer.append(keepButton(() => keep(number)));
  }
  const found = part(
    h('div', 'shiro-data', changes, offer),
    turn => turn.data,
    shown => {
      changes.textContent = shown?.changes ? `data: ${shown.changes}` : '';
      words.textContent = shown?.unkept ?? '';
      offer.hidden = !shown?.unkept;
      return !!shown;
    }
  );
  const update = (turn: Turn): void => {
    number = turn.number;
    found.update(turn);
  };
  return { el: found.el, update };
}

/** Whatever comes of it is seen elsewhere, so that it may be pressed again after a while. */
export function keepButton(press: () => void): HTMLButtonElement {
  const el = button('Keep as cells', 'shiro-small', () => {
    el.disabled = true;
    setTimeout(() => (el.disabled = false), KEEPING);
    press();
  });
  return el;
}

export function tasks(): Part {
  const bar = h('div', 'shiro-bar');
  const list = h('div');
  return part(
    h('div', 'shiro-tasks', bar, list),
    turn => turn.tasks,
    found => {
      const [, title = '', done = '', open = '', counts = ''] =
        /^([^#.]*)(#*)(\.*)(.*)$/s.exec(found?.bar ?? '') ?? [];
      const parts = [h('span', 'shiro-done', done), h('span', 'shiro-open', open)];
      bar.replaceChildren(title, ...parts, counts);
      setLines(list, found?.lines ?? [], line => {
        const el = plainLine(line);
        el.dataset.mark = line[1] ?? '';
        return el;
      });
      return !!found;
    }
  );
}

export function reasoning(): Part {
  const title = h('summary');
  const text = document.createTextNode('');
  const el = h('details', 'shiro-reasoning', title, h('div', 'shiro-tail', h('div', '', text)));
  return part(
    el,
    turn => turn.reasoning,
    reasoned => {
      title.textContent = `reasoning, ${reasoned.length.toLocaleString('en')} characters`;
      grow(text, reasoned);
      return !!reasoned;
    }
  );
}

export function footer(): Part {
  const reason = h('div', 'shiro-reason');
  const line = h('div');
  const el = h('div', 'shiro-footer', reason, line);
  el.setAttribute('role', 'status');
  return part(
    el,
    turn => turn.ended,
    ended => {
      el.dataset.outcome = ended?.outcome ?? '';
      reason.textContent = ended?.reason ?? '';
      line.textContent = ended?.footer ?? '';
      return !!ended;
    }
  );
}
