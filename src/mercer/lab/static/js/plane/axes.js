// The frame of a plane or a chart, with a few round numbers at its sides.

import { html } from "../../vendor/preact.js";
import { number, ticks } from "../parts/format.js";
import { MARGIN } from "./geometry.js";

export function Axes({ window, project, size }) {
  const [left, right, low, high] = window;
  const many = Math.max(3, Math.round(size.width / 90));
  const bottom = MARGIN.top + project.height;
  return html`<g class="axes">
    ${ticks(left, right, many).map(
      (tick) => html`<g transform=${`translate(${project.x(tick)},0)`} key=${`x${tick}`}>
        <line y1=${MARGIN.top} y2=${bottom} />
        <text y=${bottom + 14} text-anchor="middle">${number(tick)}</text>
      </g>`,
    )}
    ${ticks(low, high, many).map(
      (tick) => html`<g transform=${`translate(0,${project.y(tick)})`} key=${`y${tick}`}>
        <line x1=${MARGIN.left} x2=${MARGIN.left + project.width} />
        <text x=${MARGIN.left - 5} dy="0.35em" text-anchor="end">${number(tick)}</text>
      </g>`,
    )}
    <rect x=${MARGIN.left} y=${MARGIN.top} width=${project.width} height=${project.height} />
  </g>`;
}
