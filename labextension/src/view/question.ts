import { button, h, onTrusted } from './dom';
import type { Question, Request, Turn } from './model';
import { verbatim } from './prose';

/** Milliseconds in which nothing is answered: a click may have been meant for what was here. */
const SETTLES = 400;
/** Milliseconds after which an answer that nothing came of may be given again. */
const PATIENCE = 5000;

/** The questions that wait. The DOM of one stays as it is for as long as it waits. */
export class Questions {
  readonly el = h('div', 'shiro-questions');
  private readonly boxes = new Map<string, QuestionBox>();

  /** @param keep - Takes words that were typed for a question which is asked no more. */
  constructor(
    private readonly send: (request: Request) => void,
    private readonly keep: (words: string) => void = () => {}
  ) {}

  update({ questions }: Turn): void {
    // By all that it says: an answer is for what was shown.
    const waiting = new Map(questions.map(each => [JSON.stringify(each), each]));
    for (const [key, box] of this.boxes) {
      if (!waiting.has(key)) {
        this.boxes.delete(key);
        this.close(box);
      }
    }
    for (const [key, question] of waiting) {
      if (!this.boxes.has(key)) {
        const box = new QuestionBox(question, this.send);
        this.boxes.set(key, box);
        this.el.append(box.el);
        box.shown();
      }
    }
  }

  dispose(): void {
    this.boxes.forEach(box => this.close(box));
    this.boxes.clear();
  }

  private close(box: QuestionBox): void {
    box.dispose();
    if (box.unsent) {
      this.keep(box.unsent);
    }
  }
}

class QuestionBox {
  readonly el = h('div', 'shiro-question');
  private readonly buttons: HTMLButtonElement[];
  private readonly said = h('span', 'shiro-faint');
  private readonly field = h('input', 'shiro-field');
  private timer = 0;
  private watch: ResizeObserver | undefined;
  private open = false;
  private sent = '';

  constructor(
    private readonly question: Question,
    private readonly send: (request: Request) => void
  ) {
    const { kind, title, preview, diff, choices, free } = question;
    const approval = kind === 'approval';
    this.said.setAttribute('role', 'status');
    this.el.setAttribute('role', 'group');
    this.el.setAttribute('aria-label', title);
    this.el.tabIndex = -1;
    this.el.dataset.question = question.id;
    this.el.append(h('div', 'shiro-title', title));
    if (preview) {
      this.el.append(verbatim(preview, diff));
    }
    this.buttons = choices.map(({ choice, label }) =>
      button(label, `shiro-${approval ? choice : 'choice'}`, () => this.answer(choice))
    );
    const actions = h('div', 'shiro-actions', ...this.buttons);
    if (free) {
      // Words that refuse can be sent by Enter; what allows is only ever pressed.
      const sends = approval ? 'deny' : '';
      this.addField(actions, approval ? 'Deny, and say why' : 'In your own words', sends);
    }
    actions.append(this.said);
    this.el.append(actions);
    this.hold(SETTLES, '', '');
  }

  /** Says that the person can see it, as soon as that is so: else they are asked elsewhere. */
  shown(): void {
    const say = (): boolean => {
      const visible = this.el.getClientRects().length > 0;
      if (visible) {
        this.send({ do: 'shown', question: this.question.id });
        this.watch?.disconnect();
      }
      return visible;
    };
    if (!say()) {
      this.watch = new ResizeObserver(say);
      this.watch.observe(this.el);
    }
  }

  /** Words in the field that no answer took along. */
  get unsent(): string {
    const words = this.field.value.trim();
    return words === this.sent ? '' : words;
  }

  dispose(): void {
    this.watch?.disconnect();
    clearTimeout(this.timer);
    if (this.el.contains(document.activeElement)) {
      // The keys that follow were meant for the question: a notebook would take them for its own,
      // and two of `d` delete a cell.
      const turn = this.el.closest<HTMLElement>('.shiro-turn');
      turn?.setAttribute('tabindex', '-1');
      turn?.focus({ preventScroll: true });
    }
    this.el.remove();
  }

  private addField(actions: HTMLElement, label: string, choice: string): void {
    this.field.placeholder = label;
    this.field.setAttribute('aria-label', `${label}: ${this.question.title}`);
    const sendWords = (): void => {
      if (this.field.value.trim()) {
        this.answer(choice);
      }
    };
    onTrusted(this.field, 'keydown', event => {
      if (event.key === 'Enter' && !event.isComposing) {
        event.preventDefault();
        sendWords();
      }
    });
    actions.append(this.field);
    if (!choice) {
      const send = button('Send', 'shiro-choice', sendWords);
      this.buttons.push(send);
      actions.append(send);
    }
  }

  private answer(choice: string): void {
    if (!this.open) {
      return;
    }
    const { id, digest } = this.question;
    const words = (this.sent = this.field.value.trim());
    this.send({ do: 'answer', question: id, digest, choice, words });
    this.hold(PATIENCE, 'sent', 'No word from the kernel yet: you may answer again.');
  }

  private hold(milliseconds: number, meanwhile: string, after: string): void {
    this.enable(false, meanwhile);
    this.timer = window.setTimeout(() => this.enable(true, after), milliseconds);
  }

  private enable(on: boolean, say: string): void {
    this.open = on;
    if (!on && this.buttons.some(each => each === document.activeElement)) {
      this.el.focus({ preventScroll: true }); // a disabled button would lose it
    }
    this.buttons.forEach(each => (each.disabled = !on));
    this.field.readOnly = !on;
    this.said.textContent = say;
  }
}
