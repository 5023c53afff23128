/** The view of a turn in a notebook cell: the front-end module of its anywidget. */

import type { Event, Request } from './view/model';
import { Turns } from './view/turns';
import { TurnView } from './view/view';

/** What anywidget gives of the model. */
interface Model {
  get(key: 'kernel'): string;
  get(key: 'turn'): number;
  send(content: Request & { turn: number; page: string }): void;
  on(name: string, callback: (content: unknown) => void): void;
  off(name: string, callback: (content: unknown) => void): void;
}

interface Place {
  kernel: string;
  turn: number;
}

type Dispose = () => void;

declare global {
  interface Window {
    /** The labextension, where the page has it; it says `shiro-page` when it is there. */
    shiro?: {
      /** Draws the turn into `el`; answers nothing where it does not know the kernel. */
      mount(el: HTMLElement, place: Place): Dispose | undefined;
    };
  }
}

const PAGE = 'shiro-page';
/** When the view says again that it is there: the first messages of a comm may get lost. */
const AGAIN = [500, 1000, 2000, 4000];
/** What the manager of widgets says when the kernel restarts, and when the comm is closed. */
const GONE = ['comm_live_update', 'comm:close'];
const LOST = 'The kernel is gone, and the turn with it: ask again when it is back.';

function render({ model, el }: { model: Model; el: HTMLElement }): Dispose {
  const place: Place = { kernel: model.get('kernel'), turn: model.get('turn') };
  const mount = (): Dispose | undefined => window.shiro?.mount(el, place);

  let dispose = mount();
  if (dispose) {
    return dispose;
  }
  const comm = overComm(model, el, place);
  dispose = comm.dispose;
  const moved = (): void => {
    const mounted = mount();
    if (mounted) {
      window.removeEventListener(PAGE, moved);
      dispose = mounted;
      comm.dispose();
      comm.send({ do: 'bye' });
    }
  };
  window.addEventListener(PAGE, moved);
  return () => {
    window.removeEventListener(PAGE, moved);
    dispose?.();
  };
}

/** The view fed and answered over the widget's own comm. */
function overComm(model: Model, el: HTMLElement, { kernel, turn }: Place) {
  // One of several views of the model, perhaps.
  const page = Math.random().toString(36).slice(2);
  const send = (request: Request): void => model.send({ ...request, turn, page });
  const view = new TurnView({ send });
  const ready = (): void => send({ do: 'snapshot', turn });
  const turns = new Turns(kernel, ready);
  turns.follow(found => view.update(found, turns.skew), turn);

  let timer = 0;
  const handshake = (waits: readonly number[]): void => {
    ready();
    const [wait, ...rest] = waits;
    if (wait !== undefined) {
      timer = window.setTimeout(() => turns.get(turn) || handshake(rest), wait);
    }
  };
  const take = (content: unknown): void => {
    const event = content as Event;
    if (event.kind === 'turn') {
      turns.take(event);
    }
  };
  const closed = (): void => view.lost(LOST);

  model.on('msg:custom', take);
  GONE.forEach(name => model.on(name, closed));
  el.append(view.el);
  handshake(AGAIN);
  const dispose = (): void => {
    clearTimeout(timer);
    model.off('msg:custom', take);
    GONE.forEach(name => model.off(name, closed));
    view.dispose();
  };
  return { send, dispose };
}

export default { render };
