/** The look of the view: the theme's own colours and fonts, elsewhere those of the page around it. */

const CSS = `
.shiro-view {
  --shiro-faint: var(--jp-ui-font-color2, color-mix(in srgb, currentColor 60%, transparent));
  --shiro-line: var(--jp-border-color2, color-mix(in srgb, currentColor 18%, transparent));
  --shiro-sunk: color-mix(in srgb, currentColor 5%, transparent);
  --shiro-brand: var(--jp-brand-color1, #1976d2);
  --shiro-good: var(--jp-success-color1, #388e3c);
  --shiro-warn: var(--jp-warn-color1, #f57c00);
  --shiro-bad: var(--jp-error-color1, #d32f2f);
  --shiro-code: var(--jp-code-font-family, ui-monospace, monospace);
  box-sizing: border-box;
  padding: 4px 8px;
  color: var(--jp-content-font-color1, inherit);
  font-family: var(--jp-ui-font-family, system-ui, sans-serif);
  font-size: var(--jp-ui-font-size1, 13px);
  line-height: 1.5;
  overflow-wrap: anywhere;
}
.shiro-view *, .shiro-view *::before { box-sizing: border-box; }
.shiro-view [hidden] { display: none; }
.shiro-view :focus-visible {
  outline: 2px solid var(--shiro-brand);
  outline-offset: 1px;
  border-radius: 2px;
}
.shiro-view summary { cursor: pointer; }
.shiro-faint, .shiro-seconds, .shiro-tokens, .shiro-notes, .shiro-queue, .shiro-data, .shiro-footer,
.shiro-earlier > summary, .shiro-reasoning { color: var(--shiro-faint); }

.shiro-status { display: flex; flex-wrap: wrap; align-items: center; min-height: 26px; }
.shiro-words { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.shiro-dot {
  flex: none;
  width: 8px;
  height: 8px;
  margin: 0 8px 0 3px;
  border-radius: 50%;
  background: var(--shiro-brand);
  animation: shiro-pulse 1.6s ease-in-out infinite;
}
.shiro-status[data-phase='waiting'] .shiro-dot,
.shiro-status[data-phase='retrying'] .shiro-dot { background: var(--shiro-warn); }
.shiro-status[data-phase='waiting'] .shiro-dot { animation: none; }
.shiro-seconds { white-space: pre; font-variant-numeric: tabular-nums; }
.shiro-tokens {
  margin-left: auto;
  padding: 0 10px;
  font-size: 12px;
  white-space: nowrap;
  font-variant-numeric: tabular-nums;
}

.shiro-button {
  padding: 3px 12px;
  border: 1px solid var(--jp-border-color1, var(--shiro-line));
  border-radius: 4px;
  background: var(--jp-layout-color1, transparent);
  color: inherit;
  font: inherit;
  line-height: 1.5;
  cursor: pointer;
}
.shiro-button:hover { background: var(--jp-layout-color2, var(--shiro-sunk)); }
.shiro-button:disabled { cursor: default; opacity: 0.6; }
.shiro-small { flex: none; padding: 0 8px; white-space: nowrap; border-color: var(--shiro-line); font-size: 12px; }
/* Darker than the brand, so that white stands out of it in the dark theme too. */
.shiro-allow {
  border-color: var(--shiro-brand);
  background: color-mix(in srgb, var(--shiro-brand) 80%, black);
  color: #fff;
  font-weight: 600;
}
.shiro-allow:hover { background: color-mix(in srgb, var(--shiro-brand) 65%, black); }

.shiro-tasks { margin: 2px 0 6px; font-family: var(--shiro-code); font-size: 12px; }
.shiro-bar { display: flex; white-space: pre; }
.shiro-bar > * { overflow: hidden; } /* shrinks, both in proportion */
.shiro-done { color: var(--shiro-good); }
.shiro-open { color: var(--shiro-faint); opacity: 0.6; }
.shiro-tasks [data-mark] { padding-left: 4ch; text-indent: -4ch; white-space: pre-wrap; }
.shiro-tasks [data-mark=' '] { color: var(--shiro-faint); }
.shiro-tasks [data-mark='x'] { color: var(--shiro-good); }
.shiro-tasks [data-mark='!'] { color: var(--shiro-bad); }

.shiro-card > summary, .shiro-call {
  display: flex;
  align-items: baseline;
  gap: 6px;
  border-radius: 4px;
  list-style: none;
}
.shiro-card > summary::after { flex: none; color: var(--shiro-faint); content: '›'; }
.shiro-card[open] > summary::after { transform: rotate(90deg); }
.shiro-card > summary::-webkit-details-marker { display: none; }
.shiro-card > summary:hover { background: var(--shiro-sunk); }
.shiro-mark { flex: none; width: 14px; color: var(--shiro-bad); text-align: center; }
.shiro-card[data-outcome='ok'] .shiro-mark { color: var(--shiro-good); }
.shiro-card[data-outcome='refused'] .shiro-mark,
.shiro-card[data-outcome='interrupted'] .shiro-mark { color: var(--shiro-warn); }
.shiro-card[data-outcome='skipped'] .shiro-mark,
.shiro-flight .shiro-mark { color: var(--shiro-faint); }
.shiro-name { flex: none; font-weight: 600; }
.shiro-what:empty { display: none; }
.shiro-what {
  overflow: hidden;
  font-family: var(--shiro-code);
  font-size: 12px;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.shiro-card > summary .shiro-faint {
  flex: none;
  margin-left: auto;
  font-size: 12px;
  white-space: nowrap;
}
.shiro-card[open] > summary { flex-wrap: wrap; }
.shiro-card[open] .shiro-what { order: 1; flex: 0 0 100%; padding-left: 20px; white-space: pre-wrap; }
.shiro-turn .shiro-card > :not(summary), .shiro-flight > .shiro-tail { margin: 2px 0 6px 20px; }

.shiro-picture { margin: 4px 0 6px; font-size: 12px; }
.shiro-picture img { display: block; max-width: 100%; height: auto; background: white; }

.shiro-turn .shiro-verbatim {
  max-height: 24em;
  margin: 4px 0;
  padding: 6px 8px;
  overflow: auto;
  border-radius: 4px;
  background: var(--shiro-sunk);
  color: inherit;
  font-family: var(--shiro-code);
  font-size: 12px;
  line-height: 1.4;
  white-space: pre-wrap;
  word-break: normal; /* Lab breaks words of an output anywhere */
}
/* Of what is to be agreed to, as much as leaves the buttons in sight. */
.shiro-turn .shiro-question > .shiro-verbatim { max-height: max(24em, 55vh); }
/* A line that is wrapped leaves the column of the signs free. */
.shiro-line { display: block; padding: 0 4px 0 calc(4px + 1ch); text-indent: -1ch; }
.shiro-place { color: var(--shiro-faint); }
.shiro-added { background: color-mix(in srgb, var(--shiro-good) 24%, transparent); }
.shiro-taken { background: color-mix(in srgb, var(--shiro-bad) 24%, transparent); }
/* Grows up to its height, then shows its end. */
.shiro-tail {
  display: flex;
  flex-direction: column-reverse;
  max-height: 12em;
  overflow: auto;
  border-radius: 4px;
  background: var(--shiro-sunk);
}
.shiro-turn .shiro-tail > .shiro-verbatim { max-height: none; margin: 0; background: none; }
.shiro-reasoning .shiro-tail { margin: 2px 0 6px 16px; padding: 6px 8px; white-space: pre-wrap; }
.shiro-tail > * { flex: none; }

.shiro-prose {
  font-family: var(--jp-content-font-family, system-ui, sans-serif);
  font-size: var(--jp-content-font-size1, 14px);
  line-height: var(--jp-content-line-height, 1.6);
}
.shiro-prose > div { position: relative; }
.shiro-prose p, .shiro-prose ul, .shiro-prose ol, .shiro-prose table, .shiro-prose blockquote {
  margin: 0.5em 0;
}
.shiro-prose ul, .shiro-prose ol { padding-left: 2em; }
.shiro-prose li > ul, .shiro-prose li > ol { margin: 0; }
.shiro-prose h1, .shiro-prose h2, .shiro-prose h3, .shiro-prose h4, .shiro-prose h5,
.shiro-prose h6 { margin: 0.9em 0 0.4em; font-size: 1em; font-weight: 600; line-height: 1.3; }
.shiro-prose h1 { font-size: 1.4em; }
.shiro-prose h2 { font-size: 1.25em; }
.shiro-prose h3 { font-size: 1.1em; }
.shiro-prose a { color: var(--jp-content-link-color, LinkText); }
.shiro-prose hr { border: 0; border-top: 1px solid var(--shiro-line); }
.shiro-prose blockquote {
  padding-left: 10px;
  border-left: 3px solid var(--shiro-line);
  color: var(--shiro-faint);
}
.shiro-prose code {
  padding: 1px 4px;
  border-radius: 3px;
  background: var(--shiro-sunk);
  color: inherit;
  font-family: var(--shiro-code);
  font-size: 0.9em;
}
.shiro-turn .shiro-prose pre {
  margin: 0.6em 0;
  padding: 8px 10px;
  overflow-x: auto;
  border: 1px solid var(--shiro-line);
  border-radius: 4px;
  background: var(--shiro-sunk);
  color: inherit;
  font-size: 13px;
  line-height: 1.4;
  white-space: pre;
}
.shiro-prose pre code { padding: 0; background: none; font-size: inherit; }
.shiro-prose table {
  display: block;
  overflow-x: auto;
  border-collapse: collapse;
  color: inherit;
  font-size: inherit;
}
.shiro-prose th, .shiro-prose td {
  padding: 3px 10px;
  border-bottom: 1px solid var(--shiro-line);
  overflow-wrap: normal; /* a table that is too wide is scrolled */
}
.shiro-prose th { border-bottom-width: 2px; font-weight: 600; }
.shiro-tools {
  position: relative;
  z-index: 1;
  display: flex;
  justify-content: flex-end;
  gap: 4px;
  height: 0;
  margin-top: 0.6em;
  top: 6px;
  padding-right: 6px;
  opacity: 0;
}
.shiro-turn .shiro-tools + pre { margin-top: 0; }
.shiro-tools .shiro-button { flex: none; height: 22px; }
:hover > .shiro-tools, .shiro-tools:focus-within { opacity: 1; }
@media (hover: none) { .shiro-tools { opacity: 1; } }
.shiro-streaming > :last-child > :is(p, h1, h2, h3, h4, h5, h6):last-child::after,
.shiro-streaming > :last-child > :is(ul, ol):last-child > li:last-child::after {
  display: inline-block;
  width: 0.5em;
  height: 1em;
  margin-left: 2px;
  background: var(--shiro-brand);
  vertical-align: -0.15em;
  animation: shiro-pulse 1.2s ease-in-out infinite;
  content: '';
}

.shiro-notes, .shiro-queue, .shiro-data { margin-top: 4px; }
.shiro-data > *, .shiro-keep { font-size: 12px; white-space: pre-wrap; }
.shiro-data .shiro-button { margin-left: 8px; }
.shiro-keep { margin-left: var(--jp-cell-prompt-width, 0); } /* in line with the outputs above */
.shiro-notes > *, .shiro-queue > * { font-size: 12px; white-space: pre-wrap; }
.shiro-notes > ::before { content: '· '; }

.shiro-asked {
  margin: 4px 0;
  padding-left: 8px;
  border-left: 3px solid var(--shiro-brand);
  white-space: pre-wrap;
}

.shiro-question {
  margin: 6px 0;
  padding: 8px 10px;
  border: 1px solid var(--shiro-line);
  border-left: 3px solid var(--shiro-warn);
  border-radius: 4px;
}
.shiro-title { font-weight: 600; white-space: pre-wrap; }
.shiro-actions { display: flex; flex-wrap: wrap; align-items: center; gap: 6px; margin-top: 6px; }
.shiro-actions > .shiro-faint:empty { margin-left: -6px; }
.shiro-field {
  flex: 1 1 14em;
  min-width: 10em;
  padding: 3px 8px;
  border: 1px solid var(--shiro-line);
  border-radius: 4px;
  background: var(--jp-layout-color1, transparent);
  color: inherit;
  font: inherit;
  line-height: 1.5;
}
.shiro-field::placeholder { color: var(--shiro-faint); opacity: 1; }
.shiro-field:read-only { opacity: 0.6; }

.shiro-footer { margin-top: 4px; font-size: 12px; }
.shiro-reason { color: var(--jp-content-font-color1, inherit); font-size: 13px; font-weight: 600; white-space: pre-wrap; }
.shiro-footer[data-outcome='failed'] .shiro-reason { color: var(--shiro-bad); }
.shiro-footer[data-outcome='lost'] .shiro-reason { color: var(--shiro-warn); }
.shiro-turn:has(> [data-outcome='lost']) .shiro-tools { display: none; }

@keyframes shiro-pulse { 50% { opacity: 0.25; } }
@media (prefers-reduced-motion: reduce) {
  .shiro-view *, .shiro-view *::after { animation: none !important; }
}
`;

/** Gives the document, or the shadow root, that the element stands in the style, once. */
export function addStyle(el: HTMLElement): void {
  const root = el.getRootNode();
  const place = root instanceof ShadowRoot ? root : document.head;
  if (!place.querySelector('style[data-shiro]')) {
    const style = document.createElement('style');
    style.dataset.shiro = '';
    style.textContent = CSS;
    place.append(style);
  }
}
