/** The view of a turn in a cell, in a page without the labextension: the module of an anywidget. */

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

/** When the view says again that it is there: the first messages of a comm may get lost. */
const AGAIN = [500, 1000, 2000, 4000];
/** What the manager of widgets says when the kernel restarts, and when the comm is closed. */
const GONE = ['comm_live_update', 'comm:close'];
const LOST = 'The kernel is gone, and the turn with it: ask again when it is back.';

/** The view of the turn, fed and answered over the widget's comm. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const turn = model.get('turn');
  // One of several views of the model, perhaps.
  const page = Math.random().toString(36).slice(2);
  const send = (request: Request): void => model.send({ ...request, turn, page });
  const view = new TurnView({ send });
  const ready = (): void => send({ do: 'snapshot', turn });
  const turns = new Turns(model.get('kernel'), ready);
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
  return () => {
    clearTimeout(timer);
    model.off('msg:custom', take);
    GONE.forEach(name => model.off(name, closed));
    view.dispose();
  };
}

export default { render };
