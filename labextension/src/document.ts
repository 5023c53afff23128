import type { Cell, ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import type * as nbformat from '@jupyterlab/nbformat';
import { NotebookActions, runCell } from '@jupyterlab/notebook';
import type { INotebookCellExecutor, NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONObject } from '@lumino/coreutils';
import type { ISignal, Signal } from '@lumino/signaling';
import { bounded } from './bounded';

type Args = Record<string, unknown>;

/** Characters of a deleted cell, as JSON, that go to the kernel to be kept for an undo there. */
const KEPT = 2_000_000;

/**
 * What the kernel of a notebook asks of the open, unsaved document.
 *
 * Cells are named by their id, never by their place. Everything goes through the model, so that
 * it works in a background tab and for cells that are not rendered; selection, mode, focus and
 * scroll of the person stay as they are. Inserting, replacing, deleting and moving are one step
 * of undo each. A refusal is an `Error` of one sentence that says what to do.
 */
export class LiveDocument {
  /** `executor`: what runs a cell in this application, where it is not JupyterLab's own. */
  constructor(
    private readonly panel: NotebookPanel,
    private readonly executor: INotebookCellExecutor = { runCell }
  ) {}

  async handle(op: string, args: Args): Promise<unknown> {
    if (this.panel.isDisposed) {
      throw new Error('The notebook was closed: open it again.');
    }
    await this.panel.context.ready;
    switch (op) {
      case 'outline':
        return this.outline();
      case 'read':
        return this.read(args);
      case 'insert':
        return this.insert(args);
      case 'replace':
        return this.replace(args);
      case 'delete':
        return this.delete(args);
      case 'move':
        return this.move(args);
      case 'run':
        return this.run(args);
      case 'patch':
        return this.patch(args);
      default:
        throw new Error(
          `This page cannot "${op}": reload it, and upgrade shiro_jupyter where JupyterLab runs.`
        );
    }
  }

  private outline() {
    return {
      path: this.panel.context.localPath,
      dirty: this.model.dirty,
      trusted: this.trusted,
      cells: [...this.model.cells].map(cell => ({
        id: cell.id,
        type: cell.type,
        lines: cell.sharedModel.getSource().split('\n').length,
        execution_count: isCode(cell) ? cell.executionCount : null,
        running: isRunning(cell)
      }))
    };
  }

  private read(args: Args) {
    const ids = args.cells as string[] | null | undefined;
    const cells = ids ? ids.map(id => this.find(id).cell) : [...this.model.cells];
    return {
      cells: cells.map(cell => ({
        id: cell.id,
        type: cell.type,
        source: cell.sharedModel.getSource(),
        metadata: cell.metadata,
        execution_count: isCode(cell) ? cell.executionCount : null,
        shown: isCode(cell) ? cell.outputs.toJSON().map(each => each.output_type) : [],
        ...(args.outputs && isCode(cell) ? { outputs: outputsOf(cell, args) } : {})
      }))
    };
  }

  private insert(args: Args) {
    this.refuseReadOnly();
    const source = text(args, 'source');
    const type = text(args, 'type');
    if (!['code', 'markdown', 'raw'].includes(type)) {
      throw new Error(`There is no cell of type "${type}": use code, markdown or raw.`);
    }
    const metadata = { ...(args.metadata as PartialJSONObject | undefined) };
    delete metadata.trusted;
    if (type === 'code' && this.trusted) {
      // It has no output yet, or those it had here: the notebook stays as trusted as it was.
      metadata.trusted = true;
    }
    const { sharedModel } = this.model;
    const index = args.before
      ? this.find(args.before).index
      : args.after
        ? this.find(args.after).index + 1
        : sharedModel.cells.length;
    // What a cell that was deleted had, where it is put back.
    const had = Object.fromEntries(
      ['id', 'outputs', 'execution_count'].filter(key => key in args).map(key => [key, args[key]])
    );
    if (had.id !== undefined && [...this.model.cells].some(each => each.id === had.id)) {
      throw new Error(`There is a cell ${had.id} already: insert one without an id.`);
    }
    const cell = { cell_type: type, source, metadata, ...had } as nbformat.ICell;
    return { id: this.step(sharedModel, () => sharedModel.insertCell(index, cell)).getId() };
  }

  private replace(args: Args) {
    this.refuseReadOnly();
    const { cell } = this.find(args.id);
    const source = text(args, 'source');
    const { sharedModel } = cell;
    const now = sharedModel.getSource();
    if (now !== args.was) {
      return { changed: now };
    }
    if (cell.getMetadata('editable') === false) {
      throw new Error(`Cell ${cell.id} is marked as not editable: insert another one instead.`);
    }
    const { start, end, value } = difference(now, source);
    this.step(sharedModel, () =>
      sharedModel.transact(() => {
        sharedModel.updateSource(start, end, value);
        if (args.mark) {
          sharedModel.setMetadata('shiro', args.mark as PartialJSONObject);
        } else if (args.mark === null) {
          sharedModel.deleteMetadata('shiro');
        }
      })
    );
    return {};
  }

  private delete(args: Args) {
    this.refuseReadOnly();
    const { cell, index } = this.find(args.id);
    const now = cell.sharedModel.getSource();
    if (now !== args.was) {
      return { changed: now };
    }
    if (cell.getMetadata('deletable') === false) {
      throw new Error(`Cell ${cell.id} is marked as not deletable: leave it where it is.`);
    }
    this.refuseInUse(cell);
    const { model, panel } = this;
    const { sharedModel } = model;
    const kept = keptOf(cell);
    const active = panel.content.activeCellIndex;
    model.deletedCells.push(cell.id); // as JupyterLab does: kernels that follow cells are told
    this.step(sharedModel, () =>
      sharedModel.transact(() => {
        const last = sharedModel.cells.length === 1;
        sharedModel.deleteCell(index);
        // JupyterLab puts a cell where there is none: in the same step, or undo would not end.
        if (last) {
          sharedModel.insertCell(0, {
            cell_type: panel.content.notebookConfig.defaultCell,
            source: '',
            metadata: {}
          } as nbformat.ICell);
        }
      })
    );
    if (index === active) {
      panel.content.activeCellIndex = active; // the first cell would be active now
    }
    return { kept };
  }

  private move(args: Args) {
    this.refuseReadOnly();
    const { cell, index } = this.find(args.id);
    const after = args.after ? this.find(args.after).index : -1;
    if (after === index) {
      throw new Error(`Cell ${cell.id} cannot be moved after itself: name another one.`);
    }
    this.refuseInUse(cell);
    const { sharedModel } = this.model;
    const to = index < after ? after : after + 1;
    // The view keeps selection and what is folded; a move is a copy and a deletion in the model.
    this.step(sharedModel, () => this.panel.content.moveCell(index, to));
    return {};
  }

  /** Run as if the person had, and wait until it has ended; of what is not `was`, nothing. */
  private async run(args: Args) {
    const { cell } = this.find(args.id);
    const now = cell.sharedModel.getSource();
    if (typeof args.was === 'string' && now !== args.was) {
      return { changed: now };
    }
    const { panel } = this;
    const { sessionContext } = panel;
    const widget = panel.content.widgets.find(each => each.model === cell);
    if (!widget) {
      throw new Error(`Cell ${cell.id} is not shown yet: try again.`);
    }
    if (isRunning(cell)) {
      throw new Error(`Cell ${cell.id} runs already: wait until it has ended, or interrupt it.`);
    }
    // JupyterLab would show a dialog, and nothing would be run.
    if (sessionContext.pendingInput) {
      throw new Error('The kernel waits for an input: it is to be answered in the notebook first.');
    }
    if (sessionContext.hasNoKernel || sessionContext.isTerminating) {
      throw new Error('The notebook has no kernel to run it: start one first.');
    }
    const { ran, failed } = await this.execute(widget);
    if (failed) {
      return { ...result(cell, args), status: failed };
    }
    if (!ran) {
      throw new Error(
        `Cell ${args.id} did not end: it was deleted, or the kernel restarted; run it again.`
      );
    }
    return { ...result(cell, args), status: 'ok' };
  }

  /**
   * What `NotebookActions.runCells` does, but for two things: it takes the person out of edit
   * mode, and scrolls to the active cell.
   */
  private async execute(cell: Cell): Promise<{ ran: boolean; failed?: 'error' | 'aborted' }> {
    const notebook = this.panel.content;
    let failed: 'error' | 'aborted' | undefined;
    const ran = await this.executor
      .runCell({
        cell,
        notebook: this.model,
        notebookConfig: notebook.notebookConfig,
        sessionContext: this.panel.sessionContext,
        onCellExecutionScheduled: args =>
          emit(NotebookActions.executionScheduled, { notebook, ...args }),
        onCellExecuted: args => {
          if (!args.success) {
            failed = args.error?.errorName ? 'error' : 'aborted';
          }
          emit(NotebookActions.executed, { notebook, ...args });
        }
      })
      .catch(error => {
        if (!failed) {
          throw error;
        }
        return false;
      });
    if (failed && isCode(cell.model) && cell.model.executionCount === null) {
      cell.model.executionState = 'idle'; // an aborted cell would keep its star
    }
    return { ran, failed };
  }

  /** Outputs of code that the kernel ran for this cell. No step of undo, as a run is none. */
  private patch(args: Args) {
    const { cell } = this.find(args.id);
    if (!isCode(cell)) {
      throw new Error(`Cell ${cell.id} is no code cell and has no outputs: name another one.`);
    }
    if (!Array.isArray(args.outputs)) {
      throw new Error('"outputs" is missing: give a list of outputs.');
    }
    // Not `clearExecution`: it would make the cell trusted.
    cell.outputs.fromJSON(args.outputs as nbformat.IOutput[]);
    cell.executionCount = (args.execution_count as number | null | undefined) ?? null;
    this.model.sharedModel.dirty = true;
    return {};
  }

  private get model() {
    const { model } = this.panel.content;
    if (!model) {
      throw new Error('The notebook is not loaded yet: try again.');
    }
    return model;
  }

  private get trusted(): boolean {
    return [...this.model.cells].every(cell => !isCode(cell) || cell.trusted);
  }

  private find(id: unknown): { cell: ICellModel; index: number } {
    const cells = [...this.model.cells];
    const index = cells.findIndex(cell => cell.id === id);
    if (index < 0) {
      throw new Error(`The notebook has no cell ${id} (any more): read its outline again.`);
    }
    return { cell: cells[index], index };
  }

  private refuseReadOnly(): void {
    if (this.model.readOnly || this.panel.context.contentsModel?.writable === false) {
      throw new Error('The notebook is read-only: ask for a copy under another name first.');
    }
  }

  private refuseInUse(cell: ICellModel): void {
    if (isRunning(cell)) {
      throw new Error(`Cell ${cell.id} is running: wait until it has ended, or interrupt it.`);
    }
    const { activeCell, mode } = this.panel.content;
    if (mode === 'edit' && activeCell?.model === cell) {
      throw new Error(`The person is typing in cell ${cell.id}: try again later, or ask.`);
    }
  }

  /** One step of undo, though typing came or comes within the half second that would join them. */
  private step<T>(shared: unknown, change: () => T): T {
    const { undoManager } = shared as { undoManager?: { stopCapturing(): void } | null };
    undoManager?.stopCapturing();
    try {
      return change();
    } finally {
      undoManager?.stopCapturing();
    }
  }
}

function isCode(cell: ICellModel): cell is ICodeCellModel {
  return cell.type === 'code';
}

function isRunning(cell: ICellModel): boolean {
  return isCode(cell) && cell.executionState === 'running';
}

/** The cell as the file has it; without its outputs where these are too large. */
function keptOf(cell: ICellModel): PartialJSONObject {
  const { trusted, ...metadata } = cell.sharedModel.getMetadata() as PartialJSONObject;
  const kept = { ...cell.sharedModel.toJSON(), metadata } as PartialJSONObject;
  if (JSON.stringify(kept).length > KEPT) {
    delete kept.outputs;
  }
  return kept;
}

function outputsOf(cell: ICodeCellModel, args: Args): nbformat.IOutput[] {
  return bounded(cell.outputs.toJSON(), args.images === true);
}

function result(cell: ICellModel, args: Args) {
  return isCode(cell)
    ? { execution_count: cell.executionCount, outputs: outputsOf(cell, args) }
    : { execution_count: null, outputs: [] };
}

function text(args: Args, name: string): string {
  const value = args[name];
  if (typeof value !== 'string') {
    throw new Error(`"${name}" is missing: give a text.`);
  }
  return value;
}

/** The least change from one source to another: the cursor outside of it stays where it is. */
function difference(old: string, next: string): { start: number; end: number; value: string } {
  const most = Math.min(old.length, next.length);
  let start = 0;
  while (start < most && old[start] === next[start]) {
    start++;
  }
  let rest = 0;
  while (rest < most - start && old[old.length - 1 - rest] === next[next.length - 1 - rest]) {
    rest++;
  }
  // The document does not survive half of a pair of UTF-16 units.
  if (/[\ud800-\udbff]/.test(old[start - 1] ?? '')) {
    start--;
  }
  if (/[\udc00-\udfff]/.test(old[old.length - rest] ?? '')) {
    rest--;
  }
  return { start, end: old.length - rest, value: next.slice(start, next.length - rest) };
}

/** JupyterLab's own signals, so that its progress shows this run too. */
function emit<T>(signal: ISignal<unknown, T>, args: T): void {
  (signal as Signal<unknown, T>).emit(args);
}
