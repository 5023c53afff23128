/**
 * What stands in a prompt box: what is being typed, and, above it, the prompts asked before.
 *
 * Of what was typed, or changed in an earlier prompt, nothing is lost by moving about.
 */
export class Draft {
  /** The last one is what is being typed. */
  private lines = [''];
  private at = 0;

  get text(): string {
    return this.lines[this.at] ?? '';
  }

  set text(text: string) {
    this.lines[this.at] = text;
  }

  /** Whether earlier prompts are known, so that a move needs no asking. */
  get walks(): boolean {
    return this.lines.length > 1;
  }

  /** Puts the prompts of before above what is typed, the oldest first. */
  recall(prompts: readonly string[]): void {
    this.lines = [...prompts, this.lines[this.lines.length - 1] ?? ''];
    this.at = this.lines.length - 1;
  }

  /** Goes so many prompts on, or back; answers whether there was one. */
  move(by: number): boolean {
    const at = this.at + by;
    if (at < 0 || at >= this.lines.length) {
      return false;
    }
    this.at = at;
    return true;
  }

  /** The text has gone; what was being typed beside it stays. */
  sent(): void {
    const last = this.lines.length - 1;
    this.lines = [this.at === last ? '' : (this.lines[last] ?? '')];
    this.at = 0;
  }

  /** Puts texts before what is being typed, where it is seen. */
  giveBack(texts: readonly string[]): void {
    this.at = this.lines.length - 1;
    this.text = [...texts, this.text].filter(text => text.trim()).join('\n\n');
  }
}
