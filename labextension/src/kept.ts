import { CodeCell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { Connection } from './connection';
import { find, SETTLED, type Place } from './outputs';
import { h } from './view/dom';
import { keepButton } from './view/parts';
import { addStyle } from './view/style';
import type { Turns } from './view/turns';

/**
 * Puts the button that keeps the code of a turn below what the turn has left in its cell: what is
 * left is a document, and holds no button. It goes with that output, or when all of it is kept.
 */
export function offerKeeping(connection: Connection, panel: NotebookPanel): void {
  let followed: Turns | null = null;
  connection.changed.connect(() => {
    const { turns } = connection;
    if (turns && turns !== followed) {
      followed = turns;
      follow(connection, panel, turns);
    }
  });
}

function follow(connection: Connection, panel: NotebookPanel, turns: Turns): void {
  const offered = new Map<number, () => void>();
  turns.follow((turn, number) => {
    if (!turn.data?.unkept) {
      offered.get(number)?.();
    } else if (turn.ended && turn.cell && !offered.has(number)) {
      offered.set(number, () => undefined);
      window.setTimeout(() => {
        if (!turns.get(number)?.data?.unkept) {
          return;
        }
        const cell = panel.content.widgets.find(({ model }) => model.id === turn.cell);
        if (cell instanceof CodeCell) {
          const text = `/keep ${turn.number}`;
          const keep = () => void connection.send({ do: 'prompt', text });
          offered.set(number, addBar(cell, { kernel: turns.kernel, turn: number }, keep));
        }
      }, SETTLED);
    }
  });
}

/** Answers what takes it away. */
function addBar(cell: CodeCell, place: Place, keep: () => void): () => void {
  const bar = h('div', 'shiro-view shiro-keep', keepButton(keep));
  const { outputs } = cell.model;
  const take = (): void => {
    outputs.changed.disconnect(look);
    bar.remove();
  };
  const look = (): void => {
    if (!find(cell.model, place)) {
      take();
    }
  };
  cell.outputArea.node.append(bar);
  addStyle(bar);
  outputs.changed.connect(look);
  look();
  return take;
}
