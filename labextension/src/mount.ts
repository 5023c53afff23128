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
/** What is shown of a bundle that no view is drawn for. */
const BESIDE = ['text/html', 'text/plain'];
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
    keep: words => connection.giveBack([words]),
    keepCode: number => void connection.send({ do: 'prompt', text: `/keep ${number}` }),
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

type Insert = (code: string, after?: string) => void;

/** Draws the turns of a notebook's kernel in the cells where they were asked. */
export function drawTurns(notebook: NotebookPanel, connection: Connection, insert: Insert): void {
  const { rendermime } = notebook.content;
  const createRenderer = () => new TurnOutput(notebook, connection, insert);
  rendermime.addFactory({ safe: true, mimeTypes: [TURN], createRenderer }, RANK);
}

/**
 * The output of a turn that goes on: its view; until the kernel has told of the turn, what stands
 * beside it. A file may hold anything under our type, and a cell may be a copy.
 */
class TurnOutput extends Panel implements IRenderMime.IRenderer {
  private place: Place | null = null;
  private followed: Turns | null = null;
  private unfollow: (() => void) | undefined;
  private end: (() => void) | undefined;

  constructor(
    private readonly notebook: NotebookPanel,
    private readonly connection: Connection,
    private readonly insert: Insert
  ) {
    super();
    connection.changed.connect(this.look, this);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.place = placeIn(model.data[TURN]);
    const mime = BESIDE.find(each => each in model.data);
    if (mime && !this.end) {
      this.widgets.slice().forEach(each => each.dispose());
      const beside = this.notebook.content.rendermime.createRenderer(mime);
      this.addWidget(beside);
      await beside.renderModel(model);
    }
    this.look();
  }

  dispose(): void {
    this.connection.changed.disconnect(this.look, this);
    this.unfollow?.();
    this.end?.();
    super.dispose();
  }

  protected onAfterAttach(): void {
    this.look();
  }

  private look(): void {
    const { turns } = this.connection;
    const { place } = this;
    if (place && turns?.kernel === place.kernel && turns !== this.followed && this.isAttached) {
      this.unfollow?.();
      this.followed = turns;
      this.unfollow = turns.follow(turn => this.draw(turns, turn.cell, place.turn), place.turn);
    }
  }

  private draw(turns: Turns, asked: string, turn: number): void {
    const cell = this.notebook.content.widgets.find(({ node }) => node.contains(this.node));
    if (this.end || (cell && asked && cell.model.id !== asked)) {
      return;
    }
    this.widgets.forEach(each => each.hide());
    const insert = (code: string) => this.insert(code, cell?.model.id);
    const host = hostOf(this.connection, turn, { insert });
    this.end = show(this.node, this.connection, turns, turn, host);
    void this.connection.send({ do: 'drawn', turn });
  }
}

function placeIn(data: unknown): Place | null {
  const { kernel, turn } = (data ?? {}) as { kernel?: unknown; turn?: unknown };
  const named = typeof kernel === 'string' && typeof turn === 'number';
  return named && Number.isInteger(turn) && turn > 0 ? { kernel, turn } : null;
}
