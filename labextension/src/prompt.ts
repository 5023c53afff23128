import { caretLine } from './caret';
import type { Connection } from './connection';
import { h, onTrusted } from './view/dom';

/** The box that prompts are typed into: up and down walk those asked before. */
export class PromptBox {
  private connection: Connection | null = null;
  private readonly box = h('textarea', 'jp-mod-styled');
  private readonly ask = h('button', 'jp-mod-styled jp-mod-accept', 'Send');
  private readonly now = h('button', 'jp-mod-styled', 'Send now');
  readonly el = h('fieldset', '', this.box, h('div', 'shiro-panel-send', this.now, this.ask));
  readonly trouble = h('p', 'shiro-panel-trouble');

  /** @param sent - Called when the kernel has taken a prompt. */
  constructor(private readonly sent: () => void) {
    this.trouble.setAttribute('role', 'alert');
    this.box.rows = 3;
    this.box.placeholder = 'Ask about this notebook (Shift+Enter: new line)';
    this.box.setAttribute('aria-label', 'Ask shiro');
    this.ask.title = 'Send (Enter); while a turn runs, it waits for its end';
    this.now.title = 'Into the running turn, before its next step (Ctrl+Enter)';
    this.now.hidden = true;
    onTrusted(this.box, 'keydown', event => this.onKey(event));
    onTrusted(this.ask, 'click', () => void this.send());
    onTrusted(this.now, 'click', () => void this.send('/steer '));
    this.box.addEventListener('input', () => {
      if (this.connection) {
        this.connection.draft.text = this.box.value;
      }
    });
  }

  follow(connection: Connection | null): void {
    this.connection?.returned.disconnect(this.show, this);
    this.connection = connection;
    connection?.returned.connect(this.show, this);
    this.say('');
    this.show();
  }

  enable(on: boolean): void {
    this.el.disabled = !on;
  }

  /** While a turn runs, a prompt may be sent into it. */
  set running(yes: boolean) {
    this.now.hidden = !yes;
  }

  get text(): string {
    return this.box.value.trim();
  }

  focus(): void {
    this.box.focus();
  }

  say(sentence: string, failed = true): void {
    this.trouble.textContent = sentence;
    this.trouble.classList.toggle('jp-mod-error', failed);
  }

  private show(): void {
    this.box.value = this.connection?.draft.text ?? '';
  }

  private onKey(event: KeyboardEvent): void {
    const { key, shiftKey, ctrlKey, metaKey, altKey, isComposing } = event;
    this.say('');
    if (isComposing || shiftKey || altKey) {
      return;
    }
    if (key === 'Enter') {
      event.preventDefault();
      void this.send((ctrlKey || metaKey) && !this.now.hidden ? '/steer ' : '');
      return;
    }
    const by = { ArrowUp: -1, ArrowDown: 1 }[key];
    const plain = by && !ctrlKey && !metaKey && this.box.selectionStart === this.box.selectionEnd;
    if (plain && caretLine(this.box)[by < 0 ? 'first' : 'last']) {
      void this.walk(by, event);
    }
  }

  private async walk(by: number, event: KeyboardEvent): Promise<void> {
    const { connection, box } = this;
    if (!connection || box.readOnly || (by > 0 && !connection.draft.walks)) {
      return;
    }
    event.preventDefault();
    const { draft } = connection;
    if (!draft.walks) {
      draft.recall(await connection.history());
    }
    if (draft.move(by) && this.connection === connection) {
      this.show();
      box.setSelectionRange(box.value.length, box.value.length);
    }
  }

  /** The text stays in the box until the kernel has taken it. */
  private async send(before = ''): Promise<void> {
    const { connection, box } = this;
    if (!connection || !box.value.trim() || box.readOnly) {
      return;
    }
    this.hold(true);
    this.say('');
    const trouble = await this.prompt(connection, before + box.value);
    this.hold(false);
    if (!trouble) {
      connection.draft.sent();
    }
    if (this.connection === connection) {
      this.say(trouble);
      this.show();
      if (!trouble) {
        this.sent();
      }
    }
  }

  private hold(on: boolean): void {
    this.box.readOnly = this.ask.disabled = this.now.disabled = on;
  }

  /** Answers what went wrong, "" for nothing. */
  private async prompt(connection: Connection, text: string): Promise<string> {
    let reply = await connection.send({ do: 'prompt', text });
    if (!reply.ok && reply.started === false) {
      this.say('The first prompt waits until the kernel is free.', false);
      const trouble = await connection.start();
      if (trouble) {
        return trouble;
      }
      reply = await connection.send({ do: 'prompt', text });
    }
    return reply.ok ? '' : reply.error || 'The kernel refused it without a reason: try again.';
  }
}
