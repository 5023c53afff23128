import type { Patch } from './model';

type Members = Record<string, unknown>;

/**
 * The value after the patch; `value` itself is never changed.
 *
 * What is equal keeps its identity, also where a patch replaces it, so that a view compares
 * references. Throws where the patch was made for another value.
 */
export function applied(value: unknown, patch: Patch): unknown {
  if (patch === null || patch === undefined) {
    return value;
  }
  if ('=' in patch) {
    return shared(value, patch['=']);
  }
  if ('+' in patch || '-' in patch) {
    return spliced(value, patch['-'] ?? 0, patch['+'] ?? '');
  }
  const { o = {}, n } = patch as { o?: { readonly [key: string]: Patch }; n?: number };
  if (!isMembers(value)) {
    throw new TypeError('a patch of members for a value that has none');
  }
  const next = (Array.isArray(value) ? value.slice(0, n) : { ...value }) as Members;
  for (const [key, part] of Object.entries(o)) {
    next[key] = applied(next[key], part);
  }
  if (Array.isArray(next) && n !== undefined && next.length !== n) {
    throw new RangeError('a patch for an array of another length');
  }
  return shared(value, next);
}

/** `next`, with every part that equals its part of `previous` taken from there. */
function shared(previous: unknown, next: unknown): unknown {
  if (previous === next || !isMembers(previous) || !isMembers(next)) {
    return next;
  }
  if (Array.isArray(previous) !== Array.isArray(next)) {
    return next;
  }
  const whole = (Array.isArray(next) ? [] : {}) as Members;
  let equal = Object.keys(previous).length === Object.keys(next).length;
  for (const [key, part] of Object.entries(next)) {
    whole[key] = shared(previous[key], part);
    equal = equal && key in previous && whole[key] === previous[key];
  }
  return equal ? previous : whole;
}

/** The text with `cut` UTF-16 units taken off its end, and `more` appended. */
function spliced(text: unknown, cut: number, more: string): string {
  if (typeof text !== 'string' || text.length < cut) {
    throw new TypeError('a patch of text for another value');
  }
  return text.slice(0, text.length - cut) + more;
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}
