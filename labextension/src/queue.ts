import type { Connection } from './connection';
import { button, h, onTrusted } from './view/dom';
import type { Reply, Request, Waiting } from './view/model';
import { addStyle } from './view/style';

const TOO_LONG = 'Too long to be edited here: remove it, and ask again';

/** The prompts that wait, to be edited, sent now, or removed. */
export class QueueList {
  private readonly title = h('div', 'shiro-queue-title');
  private readonly list = h('ol');
  readonly el = h('section', 'shiro-panel-queue shiro-view', this.title, this.list);
  private connection: Connection | null = null;
  private rows = new Map<number, Row>();

  /**
   * @param say - Says what went wrong, at the side.
   * @param leave - Takes the focus when the row that had it is gone.
   */
  constructor(
    private readonly say: (sentence: string) => void,
    private readonly leave: () => void
  ) {
    this.el.setAttribute('aria-label', 'Prompts that wait');
    this.title.setAttribute('role', 'status');
    this.el.hidden = true;
  }

  follow(connection: Connection | null): void {
    this.connection?.queued.disconnect(this.draw, this);
    this.rows.forEach(row => this.drop(row));
    this.rows.clear();
    this.connection = connection;
    connection?.queued.connect(this.draw, this);
    this.draw();
  }

  private draw(): void {
    addStyle(this.el);
    const waiting = this.connection?.waiting ?? [];
    const focused = this.el.contains(document.activeElement);
    const rows = new Map<number, Row>();
    for (const each of waiting) {
      const row = this.rows.get(each.id) ?? new Row(request => this.ask(request));
      row.update(each);
      rows.set(each.id, row);
    }
    this.rows.forEach((row, id) => rows.has(id) || this.drop(row));
    this.rows = rows;
    // What stands where it should is not touched: it may have the focus.
    [...rows.values()].forEach((row, at) => {
      if (this.list.children[at] !== row.el) {
        this.list.insertBefore(row.el, this.list.children[at] ?? null);
      }
    });
    const count = waiting.length;
    this.title.textContent =
      count === 1
        ? '1 prompt waits. Escape twice stops the turn and gives it back.'
        : `${count} prompts wait. Escape twice stops the turn and gives them back.`;
    this.el.hidden = !count;
    if (focused && !this.el.contains(document.activeElement)) {
      this.leave();
    }
  }

  /** Words that were being typed for a prompt which waits no more go to the box. */
  private drop(row: Row): void {
    row.el.remove();
    if (row.unsaved) {
      this.connection?.giveBack([row.unsaved]);
    }
  }

  private async ask(request: Request): Promise<Reply> {
    const reply = (await this.connection?.send(request)) ?? { ok: false };
    this.say(reply.ok ? '' : reply.error || 'The kernel did not take it: try again.');
    return reply;
  }
}

class Row {
  private waiting: Waiting | undefined;
  private editing = false;
  private readonly words = h('span', 'shiro-queue-words');
  private readonly sent = h('span', 'shiro-faint', 'at the next step');
  private readonly edit = button('Edit', 'shiro-small', () => this.open());
  private readonly now = button('Send now', 'shiro-small', () => this.change('now'));
  private readonly remove = button('Remove', 'shiro-small', () => this.change('remove'));
  private readonly shown = h(
    'div',
    'shiro-queue-row',
    this.words,
    this.sent,
    this.edit,
    this.now,
    this.remove
  );
  private readonly field = h('textarea', 'shiro-field');
  private readonly save = button('Save', 'shiro-small', () => void this.keep());
  private readonly cancel = button('Cancel', 'shiro-small', () => this.close());
  private readonly editor = h(
    'div',
    'shiro-queue-editor',
    this.field,
    h('div', 'shiro-actions', this.save, this.cancel)
  );
  readonly el = h('li', '', this.shown, this.editor);

  constructor(private readonly ask: (request: Request) => Promise<Reply>) {
    this.editor.hidden = true;
    this.now.title = 'Into the running turn, before its next step';
    onTrusted(this.editor, 'keydown', event => {
      if (event.key === 'Escape') {
        event.stopPropagation(); // in the panel it would stop the turn
        this.close();
      } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        if (event.target === this.field) {
          event.preventDefault();
          void this.keep();
        }
      }
    });
  }

  /** What was typed and not saved. */
  get unsaved(): string {
    const changed = this.editing && this.field.value !== this.waiting?.text;
    return changed ? this.field.value.trim() : '';
  }

  update(waiting: Waiting): void {
    if (waiting === this.waiting) {
      return;
    }
    this.waiting = waiting;
    const { line, text, now } = waiting;
    this.words.textContent = line;
    this.words.title = text ?? line;
    this.sent.hidden = !now;
    this.now.hidden = now;
    this.edit.disabled = text === null;
    this.edit.title = text === null ? TOO_LONG : '';
    for (const each of [this.edit, this.now, this.remove]) {
      each.setAttribute('aria-label', `${each.textContent}: ${line}`);
    }
    this.field.setAttribute('aria-label', `Edit: ${line}`);
  }

  private open(): void {
    this.field.value = this.waiting?.text ?? '';
    this.show(true);
    this.field.focus();
  }

  private close(): void {
    this.show(false);
    this.edit.focus();
  }

  private show(editing: boolean): void {
    this.editing = editing;
    this.shown.hidden = editing;
    this.editor.hidden = !editing;
  }

  private change(how: 'now' | 'remove'): void {
    if (this.waiting) {
      void this.ask({ do: how, id: this.waiting.id });
    }
  }

  private async keep(): Promise<void> {
    const text = this.field.value;
    if (this.waiting && text.trim()) {
      const reply = await this.ask({ do: 'edit', id: this.waiting.id, text });
      if (reply.ok && this.field.value === text) {
        this.close();
      }
    }
  }
}
