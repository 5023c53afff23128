const SECONDS = 3;

/** A key that has to be pressed twice: the first press says what the second one will do. */
export class Twice {
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** @param say - Says it; "" once the next press is a first one again. */
  constructor(private readonly say: (sentence: string) => void) {}

  /** Whether this press is the second one, in time. */
  press(sentence: string): boolean {
    const again = this.timer !== undefined;
    this.forget();
    if (!again) {
      this.say(sentence);
      this.timer = setTimeout(() => this.forget(), 1000 * SECONDS);
    }
    return again;
  }

  forget(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.say('');
  }
}
