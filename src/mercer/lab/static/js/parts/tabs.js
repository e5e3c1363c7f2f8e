// Tabs as the accessibility guide has them: one stop for Tab, arrow keys between them, Home and End to the ends.

import { html, useRef } from "../../vendor/preact.js";

const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function Tabs({ tabs, current, onChange }) {
  const list = useRef(null);
  const go = (index) => {
    const place = (index + tabs.length) % tabs.length;
    onChange(tabs[place].kind);
    list.current.children[place].focus();
  };
  const onKeyDown = (event) => {
    const here = tabs.findIndex((tab) => tab.kind === current);
    const next = { Home: 0, End: tabs.length - 1 }[event.key] ?? (event.key in MOVES ? here + MOVES[event.key] : null);
    if (next === null) return;
    event.preventDefault();
    go(next);
  };
  return html`<div class="tabs" role="tablist" aria-label="What to look at" ref=${list} onKeyDown=${onKeyDown}>
    ${tabs.map(
      ({ kind, title }) => html`<button
        type="button"
        role="tab"
        id=${`tab-${kind}`}
        aria-selected=${kind === current}
        aria-controls="panel"
        tabindex=${kind === current ? 0 : -1}
        onClick=${() => onChange(kind)}
      >
        ${title}
      </button>`,
    )}
  </div>`;
}
