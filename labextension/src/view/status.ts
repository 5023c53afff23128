import { button, drawn, h } from './dom';
import type { Turn } from './model';

/** Milliseconds between two presses of Stop: the first may end a command alone. */
const STOPPING = 1000;

/** The line of truth; its seconds are counted here, without a message. */
export class StatusLine {
  /** Seconds by which the kernel's clock is ahead of ours. */
  skew = 0;
  private turn: Turn | undefined;
  private timer = 0;
  private readonly words = h('span', 'shiro-words');
  private readonly seconds = h('span', 'shiro-seconds');
  private readonly tokens = h('span', 'shiro-tokens');
  private readonly stop = button('Stop', 'shiro-small', () => this.stopped());
  private readonly dot = h('span', 'shiro-dot');
  readonly el = h(
    'div',
    'shiro-status',
    this.dot,
    this.words,
    this.seconds,
    this.tokens,
    this.stop
  );

  constructor(private readonly send: () => void) {
    // What is said aloud is the status alone, once, and not each of its seconds.
    this.words.setAttribute('role', 'status');
    this.words.setAttribute('aria-live', 'polite');
    this.seconds.setAttribute('aria-hidden', 'true');
    this.dot.setAttribute('aria-hidden', 'true');
    this.stop.title = 'Stop what runs; once more: stop the turn';
  }

  update(turn: Turn): void {
    this.turn = turn;
    this.el.hidden = !turn.status || !!turn.ended;
    this.setPhase(turn.phase);
    this.setWords(turn.status);
    this.setTokens(turn.tokens);
    clearInterval(this.timer);
    if (!turn.ended && (turn.since !== null || turn.until !== null)) {
      this.timer = window.setInterval(() => this.count(), 1000);
    }
    this.count();
  }

  dispose(): void {
    clearInterval(this.timer);
  }

  private readonly setPhase = drawn<string>(phase => (this.el.dataset.phase = phase));
  private readonly setWords = drawn<string>(words => (this.words.textContent = words));
  private readonly setTokens = drawn<string>(tokens => (this.tokens.textContent = tokens));
  private readonly setSeconds = drawn<string>(seconds => (this.seconds.textContent = seconds));

  private count(): void {
    const { since = null, until = null } = this.turn ?? {};
    const now = Date.now() / 1000 + this.skew;
    const [word, seconds] = until !== null ? ['in', until - now] : ['for', now - (since ?? now)];
    this.setSeconds(seconds >= 1 ? ` ${word} ${duration(seconds)}` : '');
  }

  private stopped(): void {
    this.send();
    this.stop.disabled = true;
    this.stop.textContent = 'Stopping';
    setTimeout(() => {
      this.stop.disabled = false;
      this.stop.textContent = 'Stop';
    }, STOPPING);
  }
}

/** Coarser the longer it is, as everywhere in the product. */
function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  const minutes = Math.floor(whole / 60);
  if (whole < 60) {
    return `${whole} s`;
  }
  if (whole < 600) {
    return `${minutes} min ${Math.floor((whole % 60) / 10) * 10} s`;
  }
  return whole < 3600 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
