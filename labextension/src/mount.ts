import { Notification } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime';
import { Panel } from '@lumino/widgets';
import type { Connection } from './connection';
import type { Turns } from './view/turns';
import { TurnView, type Host } from './view/view';

/** The type under which the bundle of a live view names its turn. */
export const TURN = 'application/vnd.shiro.turn+json';
/** Before the widget, which is there for pages without us; the manager of widgets takes -10. */
const RANK = -100;
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

/** What the bundle of a live view holds for this page. */
interface Place {
  /** The token of the kernel. */
  kernel: string;
  turn: number;
}

/** Draws the turns of a notebook's kernel in the cells where they were asked. */
export function drawTurns(
  { content }: NotebookPanel,
  connection: Connection,
  insert: (code: string, after?: string) => void
): void {
  const { rendermime } = content;
  const insertBelow = (el: HTMLElement, code: string) =>
    insert(code, content.widgets.find(({ node }) => node.contains(el))?.model.id);
  const createRenderer = () =>
    new TurnOutput(connection, insertBelow, rendermime.createRenderer('text/html'));
  rendermime.addFactory({ safe: true, mimeTypes: [TURN], createRenderer }, RANK);
}

/** The output of a turn that goes on: its view; until its kernel has been heard, its html. */
class TurnOutput extends Panel implements IRenderMime.IRenderer {
  private place: Place | undefined;
  private end: (() => void) | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly insert: (el: HTMLElement, code: string) => void,
    private readonly html: IRenderMime.IRenderer
  ) {
    super();
    this.addWidget(html);
    connection.changed.connect(this.draw, this);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.place = model.data[TURN] as unknown as Place;
    await this.html.renderModel(model);
    this.draw();
  }

  dispose(): void {
    this.connection.changed.disconnect(this.draw, this);
    this.end?.();
    super.dispose();
  }

  private draw(): void {
    const { turns } = this.connection;
    if (this.end || this.isDisposed || !this.place || turns?.kernel !== this.place.kernel) {
      return;
    }
    const { turn } = this.place;
    const insert = (code: string) => this.insert(this.node, code);
    this.html.hide();
    this.end = show(this.node, this.connection, turns, turn, hostOf(this.connection, turn, { insert }));
    void this.connection.send({ do: 'drawn', turn });
  }
}
