/** The few helpers of plain DOM that the view is made with. */

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = '',
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  if (className) {
    el.className = className;
  }
  el.append(...children);
  return el;
}

/** Handles what a person did. A script of an output may make events, but none that is trusted. */
export function onTrusted<K extends keyof HTMLElementEventMap>(
  el: HTMLElement,
  type: K,
  handle: (event: HTMLElementEventMap[K]) => void
): void {
  el.addEventListener(type, event => {
    if (event.isTrusted) {
      handle(event);
    }
  });
}

export function button(label: string, className: string, press: () => void): HTMLButtonElement {
  const el = h('button', `shiro-button ${className}`, label);
  el.type = 'button';
  onTrusted(el, 'click', press);
  return el;
}

/** Draws a value when it is another one than before. */
export function drawn<T>(draw: (value: T) => void): (value: T) => void {
  let shown: T | undefined;
  let any = false;
  return value => {
    if (!any || value !== shown) {
      any = true;
      shown = value;
      draw(value);
    }
  };
}

/** Sets a text that mostly grows: what is selected in it stays selected. */
export function grow(node: Text, text: string): void {
  if (text.startsWith(node.data)) {
    node.appendData(text.slice(node.data.length));
  } else {
    node.data = text;
  }
}

/** A button that copies, and says so for a moment. */
export function copyButton(text: () => string): HTMLButtonElement {
  const el = button('Copy', 'shiro-small', () => {
    void copied(text()).then(done => {
      el.textContent = done ? 'Copied' : 'Not copied';
      setTimeout(() => (el.textContent = 'Copy'), 1500);
    });
  });
  return el;
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers give a clipboard to https and localhost alone.
    const area = h('textarea', '', text);
    area.style.cssText = 'position:fixed;opacity:0';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
