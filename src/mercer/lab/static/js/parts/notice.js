// Sentences that must not be lost: refusals, warnings, and a service that is gone.

import { html } from "../../vendor/preact.js";
import { Gone, get } from "../service/ask.js";
import { useConnection } from "../service/connection.js";
import { number } from "./format.js";

const point = (x) => `(${[x].flat().map((value) => number(value)).join(", ")})`;

// A kernel that is none is shown with the coefficients that prove it.
function Witness({ witness }) {
  return html`<p class="witness">
    Witness: ${witness.points.slice(0, 4).map((x, i) => `c = ${number(witness.c[i])} at ${point(x)}`).join(", ")}
    ${witness.points.length > 4 ? ` and ${witness.points.length - 4} more points` : ""}.
  </p>`;
}

// An error of this part of the page. That the service is gone is said once, at the top.
export function Problem({ error, id }) {
  if (!error || error instanceof Gone) return null;
  return html`<div class="problem" role="alert" id=${id}>
    <p>${error.message}</p>
    ${error.witness ? html`<${Witness} witness=${error.witness} />` : null}
  </div>`;
}

export function Warnings({ list }) {
  if (!list?.length) return null;
  return html`<ul class="warnings" aria-label="Warnings">
    ${list.map((words) => html`<li>${words}</li>`)}
  </ul>`;
}

export const Hint = ({ children }) => html`<p class="hint">${children}</p>`;

export function ServiceGone() {
  const { gone } = useConnection();
  if (!gone) return null;
  const retry = () => get("/api/options").catch(() => {});
  return html`<div class="gone" role="alert">
    <p>The lab's service does not answer. What you see is its last answer. Start <code>mercer lab</code> again, then retry.</p>
    <button type="button" onClick=${retry}>Retry</button>
  </div>`;
}
