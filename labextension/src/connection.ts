import type { ISessionContext } from '@jupyterlab/apputils';
import { Kernel, KernelMessage } from '@jupyterlab/services';
import { UUID } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { version } from '../package.json';
import { Draft } from './draft';
import { isRemembered, remember } from './remembered';
import { spoken } from './spoken';
import { PROTOCOL, type Event, type Reply, type Request, type Waiting } from './view/model';
import { Turns } from './view/turns';

/** Milliseconds that a kernel has to answer a request. */
const PATIENCE = 3000;
/** After a reload JupyterLab holds requests to a busy kernel back for three seconds. */
const PATIENCE_AFTER_RELOAD = 10_000;
const HOST = 'get_ipython()._shiro_extension.host';
const NO_ANSWER = 'The kernel did not answer: try again, and restart it if that goes on.';
const NO_KERNEL = 'The notebook has no kernel: choose one, then try again.';

/**
 * - `none`: there is no kernel
 * - `waiting`: it is busy and may not have the extension, or is being asked
 * - `foreign`: it does not speak Python
 * - `absent`: the extension is not loaded in it
 * - `refused`: the two are too different in version: see `trouble`
 * - `loaded`: see `turns`
 */
export type State = 'none' | 'waiting' | 'foreign' | 'absent' | 'refused' | 'loaded';

/** An event to this page that is not about what is seen of a turn. */
export type Addressed = Extract<Event, { kind: 'ask' | 'said' | 'left' | 'completed' }>;

/**
 * The extension in the kernel of one notebook, whichever kernel that is at the time.
 *
 * Requests go over the control channel, which the kernel answers while a cell runs; events come
 * as messages of our own on iopub. A request marks a busy kernel as idle until the extension
 * corrects that, so a busy kernel is only asked where the extension is known to be loaded: where
 * an event of it was seen, or where this browser remembers it.
 */
export class Connection implements IDisposable {
  /** The turns of the extension as it is loaded now; null where it is not known to be. */
  turns: Turns | null = null;
  state: State = 'none';
  /** Why the extension refused this page. */
  trouble = '';
  /** The state or `turns` became another. */
  readonly changed = new Signal<this, void>(this);
  /** What ran in these turns has ended without saying so; the sentence says why. */
  readonly lost = new Signal<this, { turns: Turns; sentence: string }>(this);
  readonly addressed = new Signal<this, Addressed>(this);
  /** What is being typed for this kernel; `returned` says that texts were handed back to it. */
  readonly draft = new Draft();
  readonly returned = new Signal<this, void>(this);
  /** The prompts that wait, in order; `queued` says that they are others. */
  waiting: readonly Waiting[] = [];
  readonly queued = new Signal<this, void>(this);

  private page = '';
  /** The hello that is under way. */
  private greeting: symbol | null = null;
  private disposed = false;
  private readonly recalls: ((prompts: readonly string[]) => void)[] = [];
  private readonly leave = () => void this.send({ do: 'bye' });

  /** @param path - Answers the notebook's path as the server has it. */
  constructor(
    readonly context: ISessionContext,
    private readonly path: () => string
  ) {
    context.kernelChanged.connect(this.onKernel, this);
    context.statusChanged.connect(this.onStatus, this);
    context.connectionStatusChanged.connect(this.onConnection, this);
    context.iopubMessage.connect(this.onMessage, this);
    context.propertyChanged.connect(this.onProperty, this);
    context.disposed.connect(this.dispose, this);
    window.addEventListener('pagehide', this.leave);
    this.begin();
  }

  get isDisposed(): boolean {
    return this.disposed;
  }

  dispose(): void {
    if (!this.disposed) {
      this.disposed = true;
      window.removeEventListener('pagehide', this.leave);
      if (this.turns) {
        this.leave();
      }
      Signal.clearData(this);
    }
  }

  /** Sends a request; a failure of any kind is a reply that says so in one sentence. */
  async send(request: Request): Promise<Reply> {
    return (await this.request(request, PATIENCE)) ?? { ok: false, error: NO_ANSWER };
  }

  /**
   * Runs a line in the kernel, unseen and unnumbered, once the kernel is free.
   *
   * @returns What went wrong, "" for nothing.
   */
  async run(code: string): Promise<string> {
    const kernel = this.kernel;
    if (!kernel) {
      return NO_KERNEL;
    }
    try {
      const { content } = await kernel.requestExecute({
        code,
        silent: true,
        store_history: false,
        stop_on_error: false,
        allow_stdin: false
      }).done;
      return content.status === 'error' ? `${content.ename}: ${content.evalue}` : '';
    } catch (error) {
      return String(error);
    }
  }

  /** Starts the agent once the kernel is free, as the first prompt does. */
  async start(): Promise<string> {
    const trouble = await this.run(HOST);
    return (
      trouble &&
      `The agent did not start (${trouble}): load shiro_jupyter again, then send it again.`
    );
  }

  /** The prompts of the project, oldest first; none where they cannot be had. */
  async history(): Promise<readonly string[]> {
    for (const again of [false, true]) {
      const come = new Promise<readonly string[]>(resolve => {
        this.recalls.push(resolve); // now: the event may overtake the reply
        setTimeout(() => resolve([]), PATIENCE);
      });
      const reply = await this.send({ do: 'history' });
      if (reply.ok) {
        return come;
      }
      if (again || reply.started !== false || (await this.start())) {
        break;
      }
    }
    return [];
  }

  /** Puts texts before what is being typed: they wait no more, or were for something else. */
  giveBack(texts: readonly string[]): void {
    if (texts.length) {
      this.draft.giveBack(texts);
      this.returned.emit();
    }
  }

  /** Loads the extension; answers what went wrong, "" for nothing. */
  async load(): Promise<string> {
    const trouble = await this.run('%load_ext shiro_jupyter');
    if (trouble) {
      return (
        `The extension could not be loaded (${trouble}): ` +
        'install shiro_jupyter where the kernel runs, then try again.'
      );
    }
    await this.greet();
    return '';
  }

  private get kernel(): Kernel.IKernelConnection | null {
    return this.context.session?.kernel ?? null;
  }

  private get remembered(): boolean {
    return !!this.kernel && isRemembered(this.kernel.id);
  }

  private remember(yes: boolean): void {
    if (this.kernel) {
      remember(this.kernel.id, yes);
    }
  }

  /** Begins with a kernel of which nothing is known yet. */
  private begin(): void {
    this.page = UUID.uuid4();
    this.greeting = null;
    const status = this.kernel?.status ?? 'dead';
    this.set(status === 'dead' || status === 'terminating' ? 'none' : 'waiting');
    if (this.remembered || status === 'idle') {
      void this.greet();
    }
  }

  /** What ran in the kernel, or in the extension, has ended. */
  private end(sentence: string): void {
    const turns = this.turns;
    this.turns = null;
    const mine = this.waiting.filter(({ source }) => source === this.page);
    this.queue([]);
    this.giveBack(mine.flatMap(({ text }) => text ?? []));
    if (turns) {
      this.lost.emit({ turns, sentence });
    }
  }

  private queue(waiting: readonly Waiting[]): void {
    this.waiting = waiting;
    this.queued.emit();
  }

  private set(state: State, trouble = ''): void {
    this.state = state;
    this.trouble = trouble;
    this.changed.emit();
  }

  private onKernel(_: unknown, change: { newValue: unknown }): void {
    this.end(
      change.newValue
        ? 'The notebook was given another kernel: this turn is no longer followed here.'
        : 'The kernel was shut down: this turn ended there.'
    );
    this.begin();
  }

  private onStatus(_: unknown, status: Kernel.Status): void {
    if (status === 'restarting') {
      // So begins a restart by the server too; JupyterLab tells them apart in the next microtask.
      queueMicrotask(() => this.kernel?.status === status && this.ended(status));
    } else if (ENDED[status]) {
      this.ended(status);
    } else if (status === 'idle' && this.state === 'waiting') {
      void this.greet();
    }
  }

  private ended(status: Kernel.Status): void {
    this.remember(false);
    this.end(ENDED[status] ?? '');
    this.begin();
  }

  private onConnection(_: unknown, status: Kernel.ConnectionStatus): void {
    // What came meanwhile is lost: a hello brings the present state.
    if (status === 'connected' && (this.turns || this.remembered)) {
      void this.greet();
    }
  }

  /** A hello tells the kernel where the notebook is now. */
  private onProperty(_: unknown, property: string): void {
    if (property === 'path' && this.turns) {
      void this.greet();
    }
  }

  /** Says hello, unless a hello is under way. */
  private async greet(): Promise<void> {
    const { kernel } = this;
    if (!kernel || this.greeting) {
      return;
    }
    const greeting = (this.greeting = Symbol('hello'));
    const known = this.turns !== null || this.remembered;
    // A kernel of another language may take a message it does not know amiss.
    const speaks = known || (await spoken(kernel, PATIENCE)) === 'python';
    const reply = speaks ? await this.hello(known ? PATIENCE_AFTER_RELOAD : PATIENCE) : null;
    if (greeting !== this.greeting) {
      return; // overtaken by another one, or another kernel
    }
    this.greeting = null;
    if (speaks) {
      this.greeted(reply);
    } else {
      this.set('foreign');
    }
  }

  private hello(patience: number): Promise<Reply | null> {
    const notebook = this.path();
    return this.request({ do: 'hello', protocol: PROTOCOL, version, notebook }, patience);
  }

  private greeted(reply: Reply | null): void {
    if (reply?.ok && reply.kernel) {
      this.adopt(reply.kernel);
    } else if (reply) {
      this.end(reply.error ?? '');
      this.set('refused', reply.error);
    } else if (this.kernel?.status === 'idle') {
      this.remember(false);
      this.end('The extension was unloaded: this turn ended.');
      this.set('absent');
    } else if (!this.turns) {
      this.set('waiting');
    }
  }

  /** The extension is loaded, under this token. */
  private adopt(token: string): void {
    this.remember(true);
    if (this.turns?.kernel === token) {
      return;
    }
    this.end('The extension was loaded anew: this turn ended.');
    this.turns = new Turns(token, turn => void this.send({ do: 'snapshot', turn }));
    this.set('loaded');
  }

  private onMessage(_: unknown, message: KernelMessage.IMessage): void {
    if ((message.header.msg_type as string) !== 'shiro_event') {
      return;
    }
    const event = message.content as unknown as Event;
    if (event.to !== undefined && event.to !== this.page) {
      return;
    }
    if (event.kind === 'gone') {
      this.unloaded(event.kernel);
      return;
    }
    if (event.to) {
      // It answers a hello, and may overtake the reply, which comes on another channel.
      this.adopt(event.kernel);
    } else if (event.kind === 'here') {
      this.greeting = null; // one that came before the load will not be answered
      void this.greet();
    } else if (event.kernel !== this.turns?.kernel && this.state !== 'refused') {
      void this.greet();
    }
    switch (event.kind) {
      case 'here':
        break;
      case 'turn':
        this.turns?.take(event);
        break;
      case 'queue':
        if (event.kernel === this.turns?.kernel) {
          this.queue(event.waiting);
        }
        break;
      case 'back':
        this.giveBack(event.texts);
        break;
      case 'history':
        this.recalls.splice(0).forEach(recall => recall(event.prompts));
        break;
      default:
        this.addressed.emit(event);
    }
  }

  private unloaded(token: string): void {
    if (token === this.turns?.kernel) {
      this.remember(false);
      this.end('The extension was unloaded: this turn ended.');
      this.set('absent');
    }
  }

  /** Answers null where no reply came in time. */
  private async request(request: Request, patience: number): Promise<Reply | null> {
    const { kernel } = this;
    if (!kernel) {
      return { ok: false, error: NO_KERNEL };
    }
    const message = KernelMessage.createMessage({
      msgType: 'shiro_request',
      channel: 'control',
      username: kernel.username,
      session: kernel.clientId,
      content: { ...request, page: this.page }
    } as never) as unknown as KernelMessage.IControlMessage;
    let timer = 0;
    try {
      const future = kernel.sendControlMessage(message, true, true);
      return await new Promise<Reply | null>(resolve => {
        timer = window.setTimeout(() => future.dispose(), patience);
        future.onReply = reply => resolve(reply.content as unknown as Reply);
        future.done.catch(() => resolve(null));
      });
    } catch (error) {
      return { ok: false, error: String(error) };
    } finally {
      window.clearTimeout(timer);
    }
  }
}

const ENDED: { readonly [status in Kernel.Status]?: string } = {
  restarting: 'The kernel was restarted: this turn ended there.',
  starting: 'The kernel was restarted: this turn ended there.', // by another page
  autorestarting: 'The kernel died and was started again: this turn ended there.',
  dead: 'The kernel died: this turn ended there. Restart the kernel to go on.',
  terminating: 'The kernel was shut down: this turn ended there.'
};
