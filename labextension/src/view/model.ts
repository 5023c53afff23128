/** The messages between page and kernel, protocol 1, and the page model of a turn. */

export const PROTOCOL = 1;

export type Phase =
  | 'idle'
  | 'loading'
  | 'thinking'
  | 'answering'
  | 'preparing'
  | 'tool'
  | 'waiting'
  | 'retrying'
  | 'ended';

/** Of a text that holds a diff: what each line is, added, taken, a place (`@`) or none; else empty. */
export type Diff = string;

/** Text that came before more work. Every `html` of the model is safe by the kernel's making. */
export interface Said {
  kind: 'said';
  html: string;
}

/** What the person sent into the turn. */
export interface Asked {
  kind: 'asked';
  text: string;
}

export interface Tool {
  kind: 'tool';
  id: string;
  name: string;
  summary: string;
  mark: string;
  outcome: string;
  details: string;
  output: string;
  diff: Diff;
  /** Keys of what it drew that no cell shows. */
  pictures: readonly string[];
}

/** The call that runs; one that is still being written where `called` is false. */
export interface Flight {
  id: string;
  name: string;
  summary: string;
  output: string;
  called: boolean;
}

export interface Question {
  id: string;
  kind: 'approval' | 'ask';
  title: string;
  preview: string;
  diff: Diff;
  choices: readonly { choice: string; label: string }[];
  digest: string;
  /** Whether words may be given, too. */
  free: boolean;
}

/** What there is to see of a turn: plain values, made by the kernel, never changed in place. */
export interface Turn {
  number: number;
  prompt: string;
  origin: 'cell' | 'background' | 'panel';
  cell: string;
  phase: Phase;
  status: string;
  /** Epoch seconds of the kernel's clock, like `until`. */
  since: number | null;
  until: number | null;
  tokens: string;
  reasoning: string;
  work: readonly (Said | Asked | Tool)[];
  flight: Flight | null;
  answer: readonly string[];
  /** What became of the person's data, and code for it that no cell holds; each may be empty. */
  data: { changes: string; unkept: string } | null;
  notes: readonly string[];
  questions: readonly Question[];
  tasks: { bar: string; lines: readonly string[] } | null;
  /** What waits, in short: a few lines at most. */
  queue: readonly string[];
  ended: { outcome: string; reason: string; footer: string } | null;
}

/** A prompt in the queue. */
export interface Waiting {
  id: number;
  line: string;
  /** Null where it is too long to be edited in a page. */
  text: string | null;
  /** The page that it was typed in; empty for a cell. */
  source: string;
  /** It goes into the turn that runs, before its next step. */
  now: boolean;
}

/** What turns one value into the next: see `applied`. */
export type Patch =
  | null
  | undefined
  | { '=': unknown }
  | { '+'?: string; '-'?: number }
  | { o?: { readonly [key: string]: Patch }; n?: number };

/** What a page asks of the kernel. Whoever sends it over a kernel connection adds `page`. */
export type Request =
  | { do: 'hello'; protocol: number; version: string; notebook: string }
  | { do: 'snapshot'; turn: number }
  | { do: 'answer'; question: string; digest: string; choice: string; words: string }
  | { do: 'drawn'; turn: number }
  | { do: 'shown'; question: string }
  | { do: 'stop'; turn?: number }
  | { do: 'prompt'; text: string }
  | { do: 'edit'; id: number; text: string }
  | { do: 'remove' | 'now'; id: number }
  | { do: 'abort' | 'history' }
  | { do: 'complete'; text: string }
  | { do: 'done'; id: string; value?: unknown; error?: string }
  | { do: 'left'; turn: number }
  | { do: 'picture'; key: string }
  | { do: 'bye' };

export interface Reply {
  ok: boolean;
  error?: string;
  /** Whether the kernel's side has been made; answered to `hello`, and where it is needed. */
  started?: boolean;
  protocol?: number;
  version?: string;
  kernel?: string;
  /** Answered to `picture`; the data is base64. */
  mime?: string;
  data?: string;
}

export interface TurnEvent {
  kind: 'turn';
  to?: string;
  kernel: string;
  turn: number;
  seq: number;
  now: number;
  patch: Patch;
}

/** What a kernel tells pages; for all of them where `to` is absent. */
export type Event =
  | TurnEvent
  | { kind: 'here'; to?: string; protocol: number; version: string; kernel: string }
  | { kind: 'gone'; to?: string; kernel: string }
  | {
      kind: 'ask';
      to: string;
      kernel: string;
      id: string;
      op: string;
      args: { readonly [name: string]: unknown };
      notebook: string;
    }
  | { kind: 'said'; to: string; kernel: string; text: string }
  | { kind: 'queue'; to?: string; kernel: string; waiting: readonly Waiting[] }
  | { kind: 'back'; to: string; kernel: string; texts: readonly string[] }
  | { kind: 'history'; to: string; kernel: string; prompts: readonly string[] }
  | {
      kind: 'completed';
      to: string;
      kernel: string;
      /** The text that was asked about; each option has it as it then reads. */
      of: string;
      options: ReadonlyArray<{ name: string; text: string }>;
    }
  | {
      kind: 'left';
      to: string;
      kernel: string;
      turn: number;
      cell: string;
      bundle: { readonly [mime: string]: string };
    };
