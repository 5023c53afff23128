import { Notification } from '@jupyterlab/apputils';
import type { Connection } from './connection';
import type { Turns } from './view/turns';

/** Milliseconds between two looks at whether a question that waits can be seen. */
const LOOK = 2000;

/**
 * Says that a question waits where no view shows it: its cell was run again, cleared or deleted,
 * its notebook is behind another, and the panel is closed.
 *
 * @param name - Answers the notebook's name.
 * @param show - Opens the panel with the question.
 */
export function callAttention(connection: Connection, name: () => string, show: () => void): void {
  const told = new Map<string, string>();
  let unseen = new Set<string>();
  let timer = 0;

  const look = (turns: Turns): void => {
    const waiting = new Map(
      turns.numbers.flatMap(number => turns.get(number)?.questions ?? []).map(q => [q.id, q])
    );
    for (const [id, notification] of told) {
      if (!waiting.has(id) || seen(id)) {
        Notification.dismiss(notification);
        told.delete(id);
      }
    }
    // Twice in a row: between two views there is a moment without any.
    const missing = [...waiting.values()].filter(({ id }) => !seen(id) && !told.has(id));
    for (const { id, title } of missing.filter(({ id }) => unseen.has(id))) {
      const actions = [{ label: 'Show', callback: show }];
      told.set(id, Notification.warning(`${name()}: ${title}`, { actions, autoClose: false }));
    }
    unseen = new Set(missing.map(({ id }) => id));
    if (!waiting.size) {
      clearInterval(timer);
      timer = 0;
    }
  };

  let followed: Turns | null = null;
  connection.changed.connect(() => {
    const { turns } = connection;
    if (turns !== followed) {
      clearInterval(timer);
      timer = 0;
      told.forEach(notification => Notification.dismiss(notification));
      told.clear();
      followed = turns;
      turns?.follow(({ questions }) => {
        if (questions.length && !timer) {
          timer = window.setInterval(() => look(turns), LOOK);
        }
      });
    }
  });
  connection.context.disposed.connect(() => clearInterval(timer));
}

/** Whether any view of the question can be seen. */
function seen(id: string): boolean {
  const views = document.querySelectorAll(`.shiro-question[data-question="${CSS.escape(id)}"]`);
  return [...views].some(each => each.getClientRects().length > 0);
}
