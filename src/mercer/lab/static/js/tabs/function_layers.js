// How a function is drawn on the plane: heat and level lines for labels, a curve with its bumps for numbers.

import { html } from "../../vendor/preact.js";
import { COLOURS } from "../parts/palette.js";
import { leads, levelPath } from "../plane/contour.js";
import { pathThrough } from "../plane/geometry.js";
import { Heat, ofScores } from "../plane/heat.js";

const LEVELS = [
  [0, "zero"],
  [-1, "one"],
  [1, "one"],
];

export function heatLayer(grid, busy) {
  if (!grid) return undefined;
  const look = ofScores(grid);
  return ({ size }) => html`<${Heat} nx=${grid.nx} ny=${grid.ny} look=${look} size=${size} busy=${busy} />`;
}

export function levelLayer(grid, window) {
  if (!grid) return undefined;
  const two = grid.scores.length === 1;
  const fields = two ? null : leads(grid.scores);
  return ({ project }) =>
    two
      ? LEVELS.map(([level, kind]) => html`<path key=${level} class=${`level-line ${kind}`}
        d=${levelPath(grid, grid.scores[0], level, window, project)} />`)
      : fields.map((field, c) => html`<path key=${c} class="level-line zero" d=${levelPath(grid, field, 0, window, project)} />`);
}

export function curveLayer(curve, bumps) {
  if (!curve) return undefined;
  return ({ project, clip }) => html`<g class="curve" clip-path=${clip}>
    ${(bumps ?? []).map((bump, i) => html`<path key=${i} class="bump" d=${pathThrough(project, curve.x, bump)} />`)}
    <path class="f" stroke=${COLOURS[1]} d=${pathThrough(project, curve.x, curve.f)} />
  </g>`;
}

// Circles whose area says how large a coefficient is; a dash says that it is negative.
export function termLayer(terms, data) {
  if (!terms?.length) return undefined;
  const largest = Math.max(...terms.map((term) => Math.abs(term.c)), 1e-300);
  const curve = data.task === "curve";
  return ({ project }) => html`<g class="terms">
    ${terms.map((term, k) => {
      const x = term.x[0];
      const y = curve ? (data.points[term.i]?.y ?? 0) : term.x[1];
      const r = 3 + 15 * Math.sqrt(Math.abs(term.c) / largest);
      return html`<circle key=${k} class=${term.c < 0 ? "negative" : ""} cx=${project.x(x)} cy=${project.y(y)} r=${r} />`;
    })}
  </g>`;
}

export function supportLayer(support, data) {
  if (!support?.length || support.length >= data.points.length) return undefined;
  return ({ project }) => html`<g class="support">
    ${support
      .filter((i) => i < data.points.length)
      .map((i) => html`<circle key=${i} cx=${project.x(data.points[i].x)} cy=${project.y(data.points[i].y)} r="8.5" />`)}
  </g>`;
}

export const together = (...layers) => {
  const present = layers.filter(Boolean);
  return present.length ? (layer) => present.map((draw) => draw(layer)) : undefined;
};

function Lines({ task, score, several }) {
  if (task === "curve") return html`<span><i class="solid curve"></i>${score}</span>`;
  if (several) return html`<span><i class="solid"></i>two classes lead with equal scores</span>`;
  return html`<span><i class="solid"></i>${score} = 0</span><span><i class="broken"></i>${score} = ±1</span>`;
}

// What is drawn is f + b where there is an offset; with `several` scores, the lines are those between classes.
export function Legend({ task, offset = false, several = false, support, bumps, terms, met }) {
  const circles = terms || (bumps && task === "labels");
  return html`<p class="legend">
    <${Lines} task=${task} score=${offset ? "f + b" : "f"} several=${several} />
    ${support ? html`<span><i class="ring"></i>support vector</span>` : null}
    ${circles ? html`<span><i class="ring large"></i>term of f: area |coefficient|, dashed: negative</span>` : null}
    ${bumps && task === "curve" ? html`<span><i class="thin"></i>the ten largest bumps cᵢ k(xᵢ, ·)</span>` : null}
    ${met ? html`<span><i class="ring met"></i>example just met</span>` : null}
  </p>`;
}
