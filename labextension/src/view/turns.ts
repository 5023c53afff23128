import type { Turn, TurnEvent } from './model';
import { applied } from './patch';

export type Follower = (turn: Turn, number: number) => void;

/** Milliseconds after which a snapshot that has not come is asked for again. */
const PATIENCE = 2000;

/** As many as the kernel keeps, too. */
export const TURNS_KEPT = 50;

/** The turns of one kernel, by their number since the extension was loaded there. */
export class Turns {
  private ahead: number | undefined;
  private readonly known = new Map<number, { turn: Turn; seq: number }>();
  private readonly asked = new Map<number, number>();
  private readonly followers = new Map<Follower, number | undefined>();

  /**
   * @param kernel - The token of the kernel; events of another one are not taken.
   * @param ask - Asks for a snapshot of a turn: a message was missed.
   */
  constructor(
    readonly kernel: string,
    private readonly ask: (number: number) => void
  ) {}

  /** Seconds by which the kernel's clock is ahead of this page's. */
  get skew(): number {
    return this.ahead ?? 0;
  }

  get(number: number): Turn | undefined {
    return this.known.get(number)?.turn;
  }

  /** The numbers of all known turns, ascending. */
  get numbers(): number[] {
    return [...this.known.keys()].sort((one, other) => one - other);
  }

  take(event: TurnEvent): void {
    if (event.kernel !== this.kernel) {
      return;
    }
    // The way takes time, so the greatest difference seen is the nearest to the truth.
    this.ahead = Math.max(event.now - Date.now() / 1000, this.ahead ?? -Infinity);
    const { turn: number, seq, patch } = event;
    const before = this.known.get(number);
    const whole = !!patch && '=' in patch;
    if (before && !whole && seq <= before.seq) {
      return; // told already: a snapshot overtook it
    }
    if (!whole && seq !== (before?.seq ?? NaN) + 1) {
      this.missed(number);
      return;
    }
    let turn: Turn;
    try {
      turn = applied(before?.turn, patch) as Turn;
    } catch {
      this.missed(number);
      return;
    }
    this.asked.delete(number);
    this.known.set(number, { turn, seq });
    for (const oldest of this.numbers.slice(0, -TURNS_KEPT)) {
      this.known.delete(oldest);
    }
    if (turn !== before?.turn) {
      for (const [follower, only] of [...this.followers]) {
        if (only === undefined || only === number) {
          follower(turn, number);
        }
      }
    }
  }

  /** Calls with what is known and with every change, of one turn or of all; answers the end of it. */
  follow(follower: Follower, only?: number): () => void {
    this.followers.set(follower, only);
    for (const [number, { turn }] of [...this.known].sort(([one], [other]) => one - other)) {
      if (only === undefined || only === number) {
        follower(turn, number);
      }
    }
    return () => void this.followers.delete(follower);
  }

  private missed(number: number): void {
    const now = Date.now();
    if (now - (this.asked.get(number) ?? -Infinity) >= PATIENCE) {
      this.asked.set(number, now);
      this.ask(number);
    }
  }
}
