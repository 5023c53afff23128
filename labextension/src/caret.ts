/** Of a style, what decides where the lines of a text break. */
const BREAKS = ['boxSizing', 'width', 'padding', 'border', 'font', 'letterSpacing', 'tabSize'] as const;

/** Whether the caret is in the first and in the last line of a text area, as they are wrapped. */
export function caretLine(box: HTMLTextAreaElement): { first: boolean; last: boolean } {
  const mirror = document.createElement('div');
  mirror.style.cssText =
    'position:absolute;visibility:hidden;white-space:pre-wrap;overflow-wrap:break-word';
  const style = getComputedStyle(box);
  BREAKS.forEach(name => (mirror.style[name] = style[name]));
  const [start, caret, end] = [0, 1, 2].map(() => {
    const mark = document.createElement('span');
    mark.textContent = '\u200b'; // has a height, and no width
    return mark;
  }) as [HTMLElement, HTMLElement, HTMLElement];
  const at = box.selectionStart;
  mirror.append(start, box.value.slice(0, at), caret, box.value.slice(at), end);
  document.body.append(mirror);
  const top = caret.offsetTop;
  const found = { first: top === start.offsetTop, last: top === end.offsetTop };
  mirror.remove();
  return found;
}
