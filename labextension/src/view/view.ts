import { frozen, type Frozen } from './frozen';
import type { Request, Tool, Turn } from './model';
import { h } from './dom';
import * as parts from './parts';
import { Prose } from './prose';
import { Questions } from './question';
import { StatusLine } from './status';
import { addStyle } from './style';
import { InFlight, Work } from './work';

/** What a view needs of the page that it stands in. */
export interface Host {
  send(request: Request): void;
  /** Puts code into a new cell; absent where there is no notebook to put it in. */
  insert?(code: string): void;
  /** Puts the code of a turn, by its number in the session, into cells; absent where it cannot. */
  keepCode?(turn: number): void;
  /** Takes words that were typed for a question which is asked no more. */
  keep?(words: string): void;
  /** Answers the address of a picture, or why there is none; absent where none can be had. */
  picture?(key: string): Promise<{ src: string } | { trouble: string }>;
}

const NOTHING: Turn = {
  number: 0,
  prompt: '',
  origin: 'cell',
  cell: '',
  phase: 'idle',
  status: '',
  since: null,
  until: null,
  tokens: '',
  reasoning: '',
  work: [],
  flight: null,
  answer: [],
  data: null,
  notes: [],
  questions: [],
  tasks: null,
  queue: [],
  ended: null
};

/**
 * One turn, drawn. What moves while it runs stands below what stays, so that nothing jumps that
 * is being read.
 */
export class TurnView {
  readonly el: HTMLElement = h('div', 'shiro-turn shiro-view');
  private turn = NOTHING;
  private readonly status: StatusLine;
  private readonly questions: Questions;
  private readonly parts: readonly parts.Part[];

  constructor(host: Host) {
    // The keys that press a button here would be taken by a notebook: two of `d` delete its cell.
    this.el.addEventListener('focusin', ({ target }) => {
      (target as HTMLElement).dataset.lmSuppressShortcuts = 'true';
    });
    const insert = host.insert?.bind(host);
    this.status = new StatusLine(() => host.send({ do: 'stop' }));
    this.questions = new Questions(request => host.send(request), host.keep?.bind(host));
    this.parts = [
      this.status,
      parts.tasks(),
      new Work(insert, host.picture?.bind(host)),
      answer(insert),
      parts.data(host.keepCode?.bind(host)),
      parts.reasoning(),
      new InFlight(),
      parts.list('notes'),
      this.questions,
      parts.list('queue'),
      parts.footer()
    ];
    this.el.append(...this.parts.map(each => each.el));
    addStyle(this.el);
    this.draw();
  }

  /** @param skew - Seconds by which the kernel's clock is ahead of the page's. */
  update(turn: Turn, skew: number): void {
    this.turn = turn;
    this.status.skew = skew;
    this.draw();
  }

  /** The turn will not go on: its kernel is gone, and `sentence` says so. */
  lost(sentence: string): void {
    if (!this.turn.ended) {
      this.turn = lost(this.turn, sentence);
      this.draw();
    }
  }

  /** What the person saw, to be kept where no kernel is. */
  frozen(): Frozen {
    return frozen(this.turn);
  }

  dispose(): void {
    this.status.dispose();
    this.questions.dispose();
    this.el.remove();
  }

  private draw(): void {
    addStyle(this.el);
    this.parts.forEach(part => part.update(this.turn));
  }
}

function answer(insert?: (code: string) => void): parts.Part {
  const prose = new Prose(insert);
  return {
    el: prose.el,
    update: turn => prose.update(turn.answer, turn.phase === 'answering')
  };
}

/** The turn as it is left where its kernel went away. */
function lost(turn: Turn, sentence: string): Turn {
  const { flight, tokens } = turn;
  const broken: Tool[] = flight
    ? [
        {
          ...flight,
          kind: 'tool',
          mark: '■',
          outcome: 'interrupted',
          details: 'not finished',
          diff: '',
          pictures: []
        }
      ]
    : [];
  return {
    ...turn,
    phase: 'ended',
    reasoning: '',
    work: [...turn.work, ...broken],
    flight: null,
    questions: [],
    queue: [],
    ended: { outcome: 'lost', reason: sentence, footer: tokens }
  };
}
