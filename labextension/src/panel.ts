import { LabIcon } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import type { Addressed, Connection, State } from './connection';
import { hostOf, show } from './mount';
import { PromptBox } from './prompt';
import { QueueList } from './queue';
import { Twice } from './twice';
import { h, onTrusted } from './view/dom';
import type { Turn } from './view/model';
import { TURNS_KEPT, type Turns } from './view/turns';

const icon = new LabIcon({
  name: 'shiro:icon',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">' +
    '<path class="jp-icon3" fill="#616161" d="M12 3c5.2 0 9 3.4 9 8s-3.8 8-9 8c-1.1 0-2.2-.2-3.2' +
    '-.5L4 21l1.2-4.4C3.800 15.100 3 13.200 3 11c0-4.600 3.800-8 9-8zm0 2c-4 0-7 2.500-7 6s3 6 7 6' +
    ' 7-2.500 7-6-3-6-7-6z"/><circle class="jp-icon3" fill="#616161" cx="12" cy="11" r="2.200"/></svg>'
});

/** Pixels from the bottom within which the list follows what is new. */
const NEAR = 24;
/** Milliseconds after a key, a wheel or a press in which a scroll is the person's. */
const MOVING = 1000;

const STOPS = 'Escape again stops the turn';
const GIVES_BACK = 'Escape again gives back what waits';
const EARLIER = 'Earlier turns are no longer shown here.';
const NO_NOTEBOOK = 'Open a notebook to ask about it.';
const NOTICES: { readonly [state in State]: string } = {
  none: 'This notebook has no kernel that runs: start one to ask about it.',
  waiting: 'The kernel starts or is busy: this panel follows it as soon as it is idle.',
  foreign: 'This notebook has no Python kernel: choose one to ask about it.',
  absent: 'shiro is not loaded in the kernel of this notebook.',
  refused: '',
  loaded: 'Ask below, or with %shiro in a cell.'
};

/** The turns of one kernel, and a box to ask for more; `follow` says of which. */
export class ShiroPanel extends Widget {
  private connection: Connection | null = null;
  private insert?: (code: string) => void;
  private turns: Turns | null = null;
  private unfollow = () => {};
  private readonly entries = new Map<number, Entry>();
  private stick = true;
  private moved = -Infinity;

  private readonly list = h('div', 'shiro-panel-turns');
  private readonly scroll = h('div', 'shiro-panel-scroll', this.list);
  private readonly words = h('p');
  private readonly load = h('button', 'jp-mod-styled jp-mod-accept', 'Load shiro');
  private readonly prompt = new PromptBox(() => {
    this.stick = true;
    this.toEnd();
  });
  private readonly hint = h('p', 'shiro-panel-hint');
  private readonly escape = new Twice(sentence => (this.hint.textContent = sentence));
  private readonly queue = new QueueList(
    sentence => this.prompt.say(sentence),
    () => this.prompt.focus()
  );
  private readonly earlier = h('div', 'shiro-panel-notice', EARLIER);

  constructor() {
    super();
    this.id = 'shiro-panel';
    this.title.icon = icon;
    this.title.caption = 'shiro';
    this.addClass('shiro-panel');
    const notice = h('div', 'shiro-panel-notice', this.words, this.load);
    const { queue, prompt, hint } = this;
    hint.setAttribute('role', 'status');
    this.node.append(this.scroll, notice, queue.el, prompt.el, hint, prompt.trouble);
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'shiro');
    onTrusted(this.node, 'keydown', event => this.onKey(event));
    onTrusted(this.load, 'click', () => void this.loadExtension());
    // By what the person does alone: what is added or folded scrolls, too.
    for (const does of ['wheel', 'touchmove', 'pointerdown', 'keydown']) {
      this.scroll.addEventListener(does, () => (this.moved = Date.now()), { passive: true });
    }
    this.scroll.addEventListener('scroll', () => {
      const { scrollHeight, scrollTop, clientHeight } = this.scroll;
      if (scrollHeight - scrollTop - clientHeight < NEAR) {
        this.stick = true;
      } else if (Date.now() - this.moved < MOVING) {
        this.stick = false;
      }
    });
    const resized = new ResizeObserver(() => this.toEnd());
    resized.observe(this.list);
    resized.observe(this.scroll); // what waits takes room from it
    this.refresh();
  }

  /** Shows what is new, unless the person looks at what was before. */
  private toEnd(): void {
    if (this.stick) {
      this.scroll.scrollTop = this.scroll.scrollHeight;
    }
  }

  /** @param insert - Puts code into a new cell of the connection's notebook. */
  follow(connection: Connection | null, insert?: (code: string) => void): void {
    if (connection === this.connection) {
      return;
    }
    if (this.connection) {
      this.connection.changed.disconnect(this.refresh, this);
      this.connection.addressed.disconnect(this.onAddressed, this);
    }
    this.clear();
    this.connection = connection;
    this.insert = insert;
    connection?.changed.connect(this.refresh, this);
    connection?.addressed.connect(this.onAddressed, this);
    this.queue.follow(connection);
    this.prompt.follow(connection);
    this.refresh();
  }

  dispose(): void {
    this.clear();
    super.dispose();
  }

  private clear(): void {
    this.unfollow();
    this.unfollow = () => {};
    this.entries.forEach(entry => entry.dispose());
    this.entries.clear();
    this.list.replaceChildren();
    this.turns = null;
    this.stick = true;
    this.escape.forget();
  }

  private refresh(): void {
    const { connection } = this;
    const turns = connection?.turns ?? null;
    // Turns that were lost stay in sight until there are others.
    if (turns && turns !== this.turns) {
      this.clear();
      this.turns = turns;
      this.unfollow = turns.follow((turn, number) => this.onTurn(turn, number));
    }
    this.describe();
  }

  private describe(): void {
    const { connection } = this;
    const state = connection?.state;
    this.prompt.enable(state === 'loaded');
    this.load.hidden = state !== 'absent';
    this.words.textContent = state ? connection.trouble || NOTICES[state] : NO_NOTEBOOK;
    this.words.hidden = state === 'loaded' && this.list.childElementCount > 0;
  }

  private onTurn(turn: Turn, number: number): void {
    const { connection, turns, insert } = this;
    if (!this.entries.has(number) && connection && turns) {
      const host = hostOf(connection, number, { insert });
      const entry = new Entry(turn, el => show(el, connection, turns, number, host));
      const before = [...this.entries.values()].pop();
      if (before?.over) {
        before.el.open = false; // of what had ended before this page, the newest is unfolded
      }
      this.entries.set(number, entry);
      this.append(entry.el);
      this.escape.forget(); // it was meant for the one before
    }
    this.prompt.running = this.runs;
  }

  /** Adds to the list, of which the oldest go: a session may be long. */
  private append(el: HTMLElement): void {
    this.list.append(el);
    if (this.list.childElementCount > TURNS_KEPT) {
      this.earlier.remove();
      const [oldest] = this.list.children;
      for (const [number, entry] of this.entries) {
        if (entry.el === oldest) {
          entry.dispose();
          this.entries.delete(number);
        }
      }
      oldest?.replaceWith(this.earlier);
    }
    this.describe();
  }

  /** Whether the newest turn goes on. */
  private get runs(): boolean {
    const { turns } = this;
    const newest = turns?.get(turns.numbers[turns.numbers.length - 1] ?? 0);
    return !!newest && !newest.ended;
  }

  private onAddressed(_: unknown, event: Addressed): void {
    if (event.kind === 'said') {
      this.append(h('div', 'shiro-panel-said', ...event.text.split('\n').map(row)));
    }
  }

  /**
   * Escape ends the turn, and hands back what waits behind it: pressed twice, and never while words
   * are being typed, which it may be meant for.
   */
  private onKey(event: KeyboardEvent): void {
    const { connection } = this;
    const { key, target, isComposing, defaultPrevented, repeat } = event;
    const typed = this.prompt.text || (target as Partial<HTMLInputElement>).value;
    if (key !== 'Escape' || isComposing || defaultPrevented || typed || !connection) {
      this.escape.forget();
    } else if ((this.runs || connection.waiting.length) && !repeat) {
      event.preventDefault();
      if (this.escape.press(this.runs ? STOPS : GIVES_BACK)) {
        void connection.send({ do: 'abort' }).then(({ error = '' }) => this.prompt.say(error));
      }
    }
  }

  private async loadExtension(): Promise<void> {
    const { connection } = this;
    if (connection) {
      this.load.disabled = true;
      this.prompt.say('');
      const trouble = await connection.load();
      this.load.disabled = false;
      this.prompt.say(trouble);
    }
  }
}

/** A line of text; what is set in two columns may stand one below the other. */
function row(line: string): HTMLElement {
  const [, name, rest] = /^(\s*\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
  return name && rest
    ? h('div', 'shiro-panel-row', h('span', '', name), ' ', h('span', '', rest))
    : h('div', '', line || '\u00a0');
}

/** A turn under its prompt, drawn when it is first unfolded. */
class Entry {
  readonly el = h('details', 'shiro-panel-turn');
  /** Whether the turn had ended when it was first seen. */
  readonly over: boolean;
  private end: (() => void) | undefined;

  constructor(turn: Turn, draw: (el: HTMLElement) => () => void) {
    this.over = !!turn.ended;
    const view = h('div');
    this.el.append(h('summary', '', turn.prompt), view);
    this.el.addEventListener('toggle', () => {
      if (this.el.open) {
        this.end ??= draw(view);
      }
    });
    this.el.open = true;
  }

  dispose(): void {
    this.end?.();
  }
}
