// Small controls with their labels.

import { html, useId, useState } from "../../vendor/preact.js";

export function Choice({ label, value, options, onChange, describedby }) {
  const id = useId();
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <select id=${id} value=${value} aria-describedby=${describedby} onChange=${(event) => onChange(event.target.value)}>
      ${options.map(({ kind, title }) => html`<option value=${kind} selected=${kind === value}>${title}</option>`)}
    </select>
  </div>`;
}

export function Tick({ label, checked, onChange }) {
  return html`<label class="tick">
    <input type="checkbox" checked=${checked} onChange=${(event) => onChange(event.target.checked)} />
    <span>${label}</span>
  </label>`;
}

// One of a few, side by side. Arrow keys move between them, as the browser has it for radio buttons.
export function Segments({ label, value, options, onChange }) {
  const name = useId();
  return html`<fieldset class="segments">
    <legend class="unseen">${label}</legend>
    ${options.map(
      ({ kind, title, hint }) => html`<label title=${hint} key=${kind}>
        <input type="radio" name=${name} value=${kind} checked=${kind === value} onChange=${() => onChange(kind)} />
        <span>${title}</span>
      </label>`,
    )}
  </fieldset>`;
}

export function Action({ label, onClick, disabled = false, pressed, children, kind = "" }) {
  return html`<button
    type="button"
    class=${kind}
    aria-label=${label}
    title=${label}
    aria-pressed=${pressed}
    disabled=${disabled}
    onClick=${onClick}
  >
    ${children}
  </button>`;
}

export function Section({ title, children, open = true }) {
  return html`<details class="section" open=${open}>
    <summary>${title}</summary>
    <div class="inside">${children}</div>
  </details>`;
}

// An explanation that a button opens: by mouse, finger and keyboard alike.
function Figure({ name, value, meaning, figure }) {
  const [open, setOpen] = useState(false);
  return html`<div>
    <dt>${name}${meaning ? html`<button type="button" class="ask" aria-label=${`What is “${name}”?`} aria-expanded=${open}
      onClick=${() => setOpen(!open)}>?</button>` : null}</dt>
    <dd data-figure=${figure}>${value}</dd>
    ${open ? html`<dd class="meaning">${meaning}</dd>` : null}
  </div>`;
}

// Numbers with their names: [name, value, what it means, key].
export function Figures({ list }) {
  return html`<dl class="figures">
    ${list
      .filter(Boolean)
      .map(([name, value, meaning, key]) => html`<${Figure} key=${name} name=${name} value=${value} meaning=${meaning} figure=${key} />`)}
  </dl>`;
}

export function Explained({ title, children }) {
  return html`<details class="explained"><summary>${title}</summary><p>${children}</p></details>`;
}
