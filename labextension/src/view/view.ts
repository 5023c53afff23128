import type { Request, Turn } from './model';

/** What a view needs of the page that it stands in. */
export interface Host {
  send(request: Request): void;
  /** Puts code into a new cell; absent where there is no notebook to put it in. */
  insert?(code: string): void;
  /** Whether the prompt is shown: a cell has it above, a panel has not. */
  prompt?: boolean;
}

export class TurnView {
  readonly el: HTMLElement = document.createElement('div');
  constructor(readonly host: Host) {}
  update(turn: Turn, skew: number): void {
    throw new Error(`not there yet: ${turn.number} ${skew}`);
  }
  lost(sentence: string): void {
    this.el.textContent = sentence;
  }
  frozen(): { html: string; plain: string } {
    return { html: '', plain: '' };
  }
  dispose(): void {
    this.el.remove();
  }
}
