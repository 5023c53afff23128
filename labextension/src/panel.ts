import { LabIcon } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import type { Addressed, Connection, State } from './connection';
import { hostOf, show } from './mount';
import { h, onTrusted } from './view/dom';
import type { Turn } from './view/model';
import type { Turns } from './view/turns';

const icon = new LabIcon({
  name: 'shiro:icon',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">' +
    '<path class="jp-icon3" fill="#616161" d="M12 3c5.2 0 9 3.4 9 8s-3.8 8-9 8c-1.1 0-2.2-.2-3.2' +
    '-.5L4 21l1.2-4.4C3.800 15.100 3 13.200 3 11c0-4.600 3.800-8 9-8zm0 2c-4 0-7 2.500-7 6s3 6 7 6' +
    ' 7-2.500 7-6-3-6-7-6z"/><circle class="jp-icon3" fill="#616161" cx="12" cy="11" r="2.200"/></svg>'
});

const HOST = 'get_ipython()._shiro_extension.host';
/** Pixels from the bottom within which the list follows what is new. */
const NEAR = 24;
/** Milliseconds after a key, a wheel or a press in which a scroll is the person's. */
const MOVING = 1000;

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
  private readonly drafts = new WeakMap<Connection, string>();
  private stick = true;
  private moved = -Infinity;

  private readonly list = h('div', 'shiro-panel-turns');
  private readonly scroll = h('div', 'shiro-panel-scroll', this.list);
  private readonly words = h('p');
  private readonly load = h('button', 'jp-mod-styled jp-mod-accept', 'Load shiro');
  private readonly box = h('textarea', 'jp-mod-styled');
  private readonly ask = h('button', 'jp-mod-styled jp-mod-accept', 'Send');
  private readonly fields = h('fieldset', '', this.box, this.ask);
  private readonly trouble = h('p', 'shiro-panel-trouble');

  constructor() {
    super();
    this.id = 'shiro-panel';
    this.title.icon = icon;
    this.title.caption = 'shiro';
    this.addClass('shiro-panel');
    const notice = h('div', 'shiro-panel-notice', this.words, this.load);
    this.node.append(this.scroll, notice, this.fields, this.trouble);
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'shiro');
    this.trouble.setAttribute('role', 'alert');
    this.box.rows = 3;
    this.box.placeholder = 'Ask about this notebook (Shift+Enter: new line)';
    this.box.setAttribute('aria-label', 'Ask shiro');
    onTrusted(this.box, 'keydown', event => this.onKey(event));
    onTrusted(this.ask, 'click', () => void this.send());
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
    new ResizeObserver(() => {
      if (this.stick) {
        this.scroll.scrollTop = this.scroll.scrollHeight;
      }
    }).observe(this.list);
    this.refresh();
  }

  /** @param insert - Puts code into a new cell of the connection's notebook. */
  follow(connection: Connection | null, insert?: (code: string) => void): void {
    if (connection === this.connection) {
      return;
    }
    if (this.connection) {
      this.drafts.set(this.connection, this.box.value);
      this.connection.changed.disconnect(this.refresh, this);
      this.connection.addressed.disconnect(this.onAddressed, this);
    }
    this.clear();
    this.connection = connection;
    this.insert = insert;
    connection?.changed.connect(this.refresh, this);
    connection?.addressed.connect(this.onAddressed, this);
    this.box.value = (connection && this.drafts.get(connection)) ?? '';
    this.say('');
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
    this.fields.disabled = state !== 'loaded';
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
      this.list.append(entry.el);
      this.describe();
    }
  }

  private onAddressed(_: unknown, event: Addressed): void {
    if (event.kind === 'said') {
      this.list.append(h('div', 'shiro-panel-said', ...event.text.split('\n').map(row)));
      this.describe();
    }
  }

  private onKey(event: KeyboardEvent): void {
    this.say('');
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void this.send();
    }
  }

  /** The text stays in the box until the kernel has taken it. */
  private async send(): Promise<void> {
    const { connection, box } = this;
    const text = box.value;
    if (!connection || !text.trim() || box.readOnly) {
      return;
    }
    box.readOnly = this.ask.disabled = true;
    this.say('');
    const trouble = await this.prompt(connection, text);
    box.readOnly = this.ask.disabled = false;
    if (this.connection !== connection) {
      this.drafts.set(connection, trouble ? text : '');
      return;
    }
    this.say(trouble);
    if (!trouble) {
      box.value = '';
      this.stick = true;
    }
  }

  /** Answers what went wrong, "" for nothing. */
  private async prompt(connection: Connection, text: string): Promise<string> {
    let reply = await connection.send({ do: 'prompt', text });
    if (!reply.ok && reply.started === false) {
      this.say('The first prompt waits until the kernel is free.', false);
      const trouble = await connection.run(HOST);
      if (trouble) {
        return `The agent did not start (${trouble}): load shiro_jupyter again, then send it again.`;
      }
      reply = await connection.send({ do: 'prompt', text });
    }
    return reply.ok ? '' : reply.error || 'The kernel refused it without a reason: try again.';
  }

  private async loadExtension(): Promise<void> {
    const { connection } = this;
    if (connection) {
      this.load.disabled = true;
      this.say('');
      const trouble = await connection.load();
      this.load.disabled = false;
      this.say(trouble);
    }
  }

  private say(sentence: string, failed = true): void {
    this.trouble.textContent = sentence;
    this.trouble.classList.toggle('jp-mod-error', failed);
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
