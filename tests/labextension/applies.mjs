// Applies patches, a line each way: [value, patch] comes, [after, untouched, kept] goes.
import { deepStrictEqual } from 'node:assert';
import { createInterface } from 'node:readline';
import { applied } from '../../labextension/src/view/patch.ts';

const isMembers = value => typeof value === 'object' && value !== null;

function equal(one, other) {
  try {
    deepStrictEqual(one, other);
    return true;
  } catch {
    return false;
  }
}

/** Whether all in `after` that equals its part of `before` is the same object. */
function kept(before, after) {
  if (!isMembers(before) || !isMembers(after)) {
    return true;
  }
  if (equal(before, after)) {
    return before === after;
  }
  const alike = Array.isArray(before) === Array.isArray(after);
  return !alike || Object.keys(after).every(key => kept(before[key], after[key]));
}

for await (const line of createInterface({ input: process.stdin })) {
  const [before, patch] = JSON.parse(line);
  const [copy] = JSON.parse(line);
  let reply;
  try {
    const after = applied(before, patch);
    reply = [after, equal(before, copy), kept(before, after)];
  } catch (error) {
    reply = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
