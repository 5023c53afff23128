import { CodeCell, type Cell, type ICodeCellModel } from '@jupyterlab/cells';
import type * as nbformat from '@jupyterlab/nbformat';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Kernel } from '@jupyterlab/services';
import type { Connection } from './connection';
import { TURN } from './mount';
import type { Turns } from './view/turns';
import { TurnView } from './view/view';

/** Milliseconds after the end of a turn in which its output comes by itself. */
export const SETTLED = 1500;
const INPUT = 'jp-OutputArea-stdin-item';
const ANSWERED = 'jp-OutputArea-stdin-hiding';
const WIDGET = 'application/vnd.jupyter.widget-view+json';

/** What the output of a turn carries in its metadata, under "shiro". */
interface Mark {
  /** The token of the kernel. */
  kernel: string;
  turn: number;
  /** Whether what is left behind of the turn stands there, rather than the live view. */
  ended: boolean;
}

type Bundle = { readonly [mime: string]: string };

/**
 * Sees to it that what a turn leaves behind gets into its cell.
 *
 * The kernel replaces the live view by it, but a page that was reloaded meanwhile does not know
 * that display any more, and a kernel that died replaces nothing.
 */
export function tend(connection: Connection, panel: NotebookPanel): void {
  let followed: Turns | null = null;
  connection.changed.connect(() => {
    const { turns, state } = connection;
    if (state === 'loaded' || state === 'absent') {
      dropDead(panel, turns?.kernel);
    }
    if (turns && turns !== followed) {
      followed = turns;
      followEnds(connection, panel, turns);
    }
  });
  connection.addressed.connect((_, event) => {
    if (event.kind === 'left') {
      const { kernel, turn, cell, bundle } = event;
      const asked = codeCells(panel).filter(({ id }) => id === cell);
      const live = liveOutputs(panel).filter(({ mark }) => is(mark, { kernel, turn }));
      const places = live.length ? live.map(each => each.cell) : asked;
      places.forEach(each => put(each, { kernel, turn, ended: true }, bundle));
    }
  });
  connection.lost.connect((_, { turns, sentence }) => freeze(panel, turns, sentence));
}

/**
 * Takes away the box of an `input()` that a cell has left behind: what ended it was a click
 * elsewhere. JupyterLab would keep it, and run no cell before it is answered.
 */
export function closeInput(cell: Cell, kernel?: Kernel.IKernelConnection | null): void {
  const outputs = cell instanceof CodeCell ? cell.outputArea.widgets : [];
  const boxes = outputs.filter(each => each.hasClass(INPUT) && !each.hasClass(ANSWERED));
  if (boxes.length) {
    boxes.forEach(each => each.dispose());
    kernel?.removeInputGuard();
  }
}

/**
 * Asks for what is left behind of each turn whose end did not reach its cell.
 *
 * Of a cell that is the turn's own in this tab alone: another tab, or a copy of the notebook, has
 * cells of the same id. Where the turn was seen in it is remembered over a reload, with the source
 * that asked: the person may have written another since, or run it again.
 */
function followEnds(connection: Connection, panel: NotebookPanel, turns: Turns): void {
  const ended = new Set<number>();
  const counts = new Map<number, number | null>();
  const memory = (number: number) => `shiro:${panel.context.path}:${turns.kernel}:${number}`;
  const check = (number: number, id: string) => {
    const cell = codeCells(panel).find(each => each.id === id);
    const place = { kernel: turns.kernel, turn: number };
    // In a copy of the cell, too.
    const live = liveOutputs(panel).some(({ mark }) => is(mark, place));
    const source = sessionStorage.getItem(memory(number));
    sessionStorage.removeItem(memory(number));
    const same = !counts.has(number) || counts.get(number) === cell?.executionCount;
    const missing =
      same &&
      source === cell?.sharedModel.getSource() &&
      cell?.executionState !== 'running' &&
      !find(cell, place);
    if (connection.turns === turns && (live || missing)) {
      void connection.send({ do: 'left', turn: number });
    }
  };
  turns.follow((turn, number) => {
    if (turn.ended && turn.cell && !ended.has(number)) {
      ended.add(number);
      window.setTimeout(check, SETTLED, number, turn.cell);
    } else if (turn.cell && !turn.ended && !counts.has(number)) {
      const cell = codeCells(panel).find(({ id }) => id === turn.cell);
      if (cell && find(cell, { kernel: turns.kernel, turn: number })) {
        sessionStorage.setItem(memory(number), cell.sharedModel.getSource());
        counts.set(number, cell.executionCount);
      }
    }
  });
}

/** What was seen of the turns takes the place of the live views that nothing feeds any more. */
function freeze(panel: NotebookPanel, turns: Turns, sentence: string): void {
  for (const { cell, mark } of liveOutputs(panel)) {
    const turn = mark.kernel === turns.kernel && turns.get(mark.turn);
    if (turn) {
      const view = new TurnView({ send: () => undefined });
      view.update(turn, turns.skew);
      view.lost(sentence);
      const { html, plain } = view.frozen();
      view.dispose();
      put(cell, { ...mark, ended: true }, { 'text/html': html, 'text/plain': plain });
    }
  }
}

/** A live view that was saved and whose kernel is gone would show an error of the widgets: what
 * the kernel put beside it is shown instead. */
function dropDead(panel: NotebookPanel, token: string | undefined): void {
  for (const { cell, mark, index } of liveOutputs(panel)) {
    const { [WIDGET]: widget, [TURN]: drawn, ...data } = cell.outputs.get(index).data;
    if ((widget || drawn) && mark.kernel !== token) {
      put(cell, mark, data as Bundle);
    }
  }
}

/** Puts it in the place of the turn's output that has not ended, or below all others. */
function put(cell: ICodeCellModel | undefined, mark: Mark, data: Bundle): void {
  if (!cell) {
    return;
  }
  const metadata = { shiro: { ...mark } };
  const output: nbformat.IDisplayData = { output_type: 'display_data', data, metadata };
  const found = find(cell, mark);
  if (!found) {
    cell.outputs.add(output);
  } else if (!found.mark.ended) {
    cell.outputs.set(found.index, output);
  }
}

export type Place = Omit<Mark, 'ended'>;

function is(mark: Mark, { kernel, turn }: Place): boolean {
  return mark.kernel === kernel && mark.turn === turn;
}

/** The output of a turn in a cell. */
export function find(cell: ICodeCellModel, place: Place) {
  return marked(cell).find(({ mark }) => is(mark, place));
}

function liveOutputs(panel: NotebookPanel) {
  return codeCells(panel)
    .flatMap(cell => marked(cell).map(each => ({ cell, ...each })))
    .filter(({ mark }) => !mark.ended);
}

function marked(cell: ICodeCellModel): { index: number; mark: Mark }[] {
  const outputs = Array.from({ length: cell.outputs.length }, (_, index) => ({
    index,
    mark: cell.outputs.get(index).metadata.shiro as unknown as Mark | undefined
  }));
  return outputs.filter((each): each is { index: number; mark: Mark } => !!each.mark);
}

function codeCells(panel: NotebookPanel): ICodeCellModel[] {
  const cells = [...(panel.content.model?.cells ?? [])];
  return cells.filter((cell): cell is ICodeCellModel => cell.type === 'code');
}
