import { Notification } from '@jupyterlab/apputils';
import type { Connection } from './connection';
import type { Turns } from './view/turns';
import { TurnView, type Host } from './view/view';

const PICTURE = /^image\/(png|jpeg|gif|webp|svg\+xml)$/;

/** What a view of the connection's turns needs; a request that failed is said at the side. */
export function hostOf(
  connection: Connection,
  turn: number,
  more: Omit<Host, 'send'> = {}
): Host {
  return {
    ...more,
    send: request =>
      void connection.send(request.do === 'stop' ? { ...request, turn } : request).then(reply => {
        if (!reply.ok && reply.error) {
          Notification.error(reply.error, { autoClose: 5000 });
        }
      }),
    picture: async key => {
      const { mime = '', data = '', error } = await connection.send({ do: 'picture', key });
      return PICTURE.test(mime)
        ? { src: `data:${mime};base64,${data}` }
        : { trouble: error || 'The kernel sent no picture.' };
    }
  };
}

/** Shows a turn in `el` until the answered call: as it goes on, and how it is lost. */
export function show(
  el: HTMLElement,
  connection: Connection,
  turns: Turns,
  turn: number,
  host: Host
): () => void {
  const view = new TurnView(host);
  el.append(view.el);
  const unfollow = turns.follow(state => view.update(state, turns.skew), turn);
  const lost = (_: unknown, loss: { turns: Turns; sentence: string }) => {
    if (loss.turns === turns && turns.get(turn)?.phase !== 'ended') {
      view.lost(loss.sentence);
    }
  };
  connection.lost.connect(lost);
  return () => {
    connection.lost.disconnect(lost);
    unfollow();
    view.dispose();
  };
}

/**
 * Lets the widgets in cells find the turns of `connections`, as `window.shiro.mount`.
 *
 * There is nothing in it to send with: only a person's press sends, from a view.
 *
 * @param insert - Puts code into a new cell below the one that `el` stands in.
 */
export function serve(
  connections: () => Iterable<Connection>,
  insert: (el: HTMLElement, code: string) => void
): void {
  const mount: NonNullable<Window['shiro']>['mount'] = (el, { kernel, turn }) => {
    for (const connection of connections()) {
      if (connection.turns?.kernel === kernel) {
        const host = hostOf(connection, turn, { insert: code => insert(el, code) });
        const end = show(el, connection, connection.turns, turn, host);
        void connection.send({ do: 'drawn', turn });
        return end;
      }
    }
    return undefined;
  };
  window.shiro = Object.freeze({ mount });
  announce();
}

/** A widget that found no connection may find one now. */
export function announce(): void {
  window.dispatchEvent(new Event('shiro-page'));
}
