import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import {
  INotebookCellExecutor,
  INotebookTracker,
  NotebookActions,
  type NotebookPanel
} from '@jupyterlab/notebook';
import { callAttention } from './attention';
import { Connection, type Addressed } from './connection';
import { LiveDocument } from './document';
import { offerKeeping } from './kept';
import { drawTurns } from './mount';
import { closeInput, tend } from './outputs';
import { ShiroPanel } from './panel';

const SHOW = 'shiro:show-panel';

/** An open notebook, and what this page is to its kernel. */
interface Followed {
  connection: Connection;
  document: LiveDocument;
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'shiro_jupyter:plugin',
  description: 'The turns of the agent in the kernel: a panel, the views in cells, the notebook.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ICommandPalette, ILayoutRestorer, INotebookCellExecutor],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    executor: INotebookCellExecutor | null
  ) => {
    const notebooks = new Map<NotebookPanel, Followed>();

    // All of them, not only the one in front: turns go on in their cells.
    const follow = (notebook: NotebookPanel): Followed => {
      const known = notebooks.get(notebook);
      if (known) {
        return known;
      }
      const { sessionContext, context } = notebook;
      const connection = new Connection(sessionContext, () => context.localPath);
      const document = new LiveDocument(notebook, executor ?? undefined);
      notebooks.set(notebook, { connection, document });
      notebook.disposed.connect(() => {
        notebooks.delete(notebook);
        connection.dispose();
      });
      connection.addressed.connect((_, event) => {
        void answer(connection, event, async (op, args) =>
          op === 'open'
            ? [...notebooks.keys()].map(each => each.context.localPath)
            : document.handle(op, args)
        );
      });
      drawTurns(notebook, connection, (code, after) => insertCode(document, after, code));
      tend(connection, notebook);
      offerKeeping(connection, notebook);
      callAttention(
        connection,
        () => notebook.title.label,
        () => {
          app.shell.activateById(notebook.id);
          app.shell.activateById(panel.id);
        }
      );
      return { connection, document };
    };

    const panel = new ShiroPanel();
    const front = () => {
      const notebook = tracker.currentWidget;
      if (notebook) {
        const { connection, document } = follow(notebook);
        panel.follow(connection, code =>
          insertCode(document, notebook.content.activeCell?.model.id, code)
        );
      } else {
        panel.follow(null);
      }
    };
    tracker.widgetAdded.connect((_, notebook) => void follow(notebook));
    tracker.forEach(notebook => void follow(notebook));
    tracker.currentChanged.connect(front);
    NotebookActions.executed.connect((_, { notebook, cell }) => {
      const panel = tracker.find(({ content }) => content === notebook);
      closeInput(cell, panel?.sessionContext.session?.kernel);
    });
    front();

    app.shell.add(panel, 'right', { rank: 900 });
    restorer?.add(panel, panel.id);
    app.commands.addCommand(SHOW, {
      label: 'Show shiro panel',
      execute: () => app.shell.activateById(panel.id)
    });
    palette?.addItem({ command: SHOW, category: 'Notebook Operations' });
  }
};

function insertCode(document: LiveDocument, after: string | undefined, source: string): void {
  const cell = { type: 'code', source, after: after ?? null };
  document.handle('insert', cell).catch(error => Notification.error(sentence(error)));
}

/** Does what the kernel asks: of the document, or which notebooks are open in this window. */
async function answer(
  connection: Connection,
  event: Addressed,
  handle: (op: string, args: Record<string, unknown>) => Promise<unknown>
) {
  if (event.kind === 'ask') {
    const { id, op, args } = event;
    const outcome = await handle(op, args).then(
      value => ({ value }),
      error => ({ error: sentence(error) })
    );
    await connection.send({ do: 'done', id, ...outcome });
  }
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export default plugin;
