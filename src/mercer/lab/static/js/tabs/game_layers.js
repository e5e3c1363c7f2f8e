// The points of the game and the hypothesis, as they are drawn.

import { html } from "../../vendor/preact.js";
import { colour, shape } from "../parts/palette.js";
import { levelPath, regionPath } from "../plane/contour.js";

const POSITIVE = 1; // the colour and shape of +; those of − are the first

const place = (project, point) => `translate(${project.x(point.x)},${project.y(point.y)})`;

export const spots = (points, labels) =>
  (points ?? []).map(([x, y = 0], i) => ({ x, y, c: labels?.[i] === "+" ? POSITIVE : 0 }));

export function spotLayer(points, labels) {
  return ({ project }) => html`<g class="game">
    ${spots(points, labels).map((point, i) => html`<g key=${i} transform=${place(project, point)}>
      <path class=${labels ? "spot" : "spot open"} d=${shape(point.c, 7)} fill=${labels ? colour(point.c) : undefined} />
      <text x="11" y="-8">${i + 1}${labels ? (labels[i] === "+" ? " +" : " −") : ""}</text>
    </g>`)}
  </g>`;
}

const corners = (project, region) => region.map(([x, y]) => `${project.x(x).toFixed(1)},${project.y(y).toFixed(1)}`).join(" ");

// `found` is {regions} or {conic}; a draft is drawn in dashes.
export function regionLayer(found, window, draft = false) {
  if (!found) return undefined;
  return ({ project, clip }) => html`<g class="game" clip-path=${clip}>
    ${(found.regions ?? []).filter((region) => region.length > 2).map((region, i) => html`<polygon key=${i} class="region"
      fill=${colour(POSITIVE)} points=${corners(project, region)} />
      <polygon class=${draft ? "draft" : "boundary"} points=${corners(project, region)} />`)}
    ${found.conic ? html`<path class="region" fill=${colour(POSITIVE)} d=${regionPath(found.conic, window, project)} />
      <path class=${draft ? "draft" : "boundary"} d=${levelPath(found.conic, found.conic.values, 0, window, project)} />` : null}
  </g>`;
}

// The hypothesis of an answer of the service.
export function ofAnswer(hypothesis) {
  if (!hypothesis) return null;
  if (hypothesis.grid) return { conic: hypothesis.grid };
  return { regions: hypothesis.regions ?? [hypothesis.region] };
}

export function handleLayer(handles, names) {
  return ({ project }) => html`<g class="game">
    ${handles.map((handle, i) => html`<g key=${i} transform=${place(project, handle)}><circle class="handle" r="7" /><text x="10"
      y="16">${names[i]}</text></g>`)}
  </g>`;
}
