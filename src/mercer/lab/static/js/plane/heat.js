// Pictures of numbers on a grid: colour says the sign or the class, opacity how sure. One pixel a number; the browser smooths.

import { html, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { rgb } from "../parts/palette.js";
import { MARGIN } from "./geometry.js";

const STRONGEST = 150; // of 255: points and lines must stay legible on it

const clamp = (value) => Math.max(0, Math.min(1, value));

// Two classes: the sign of f, and how large it is or, where there are probabilities, how far from one half.
export function twoClasses({ scores, probability }) {
  const [score] = scores;
  const chance = probability?.at(-1);
  return (at) => {
    const strength = chance ? Math.abs(2 * chance[at] - 1) : Math.abs(score[at]) / 1.5;
    return [score[at] > 0 ? 1 : 0, clamp(strength)];
  };
}

export function manyClasses({ scores, probability }) {
  return (at) => {
    let [best, second] = [-Infinity, -Infinity];
    let winner = 0;
    scores.forEach((own, c) => {
      if (own[at] > best) [best, second, winner] = [own[at], best, c];
      else if (own[at] > second) second = own[at];
    });
    return [winner, clamp(probability ? 1.2 * probability[winner][at] - 0.2 : (best - second) / 1.5)];
  };
}

export const cells = (labels) => (at) => [labels[at], 0.4];

export const ofScores = (grid) => (grid.scores.length === 1 ? twoClasses(grid) : manyClasses(grid));

function paint(canvas, nx, ny, look) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(nx, ny);
  for (let j = 0; j < ny; j += 1) {
    for (let i = 0; i < nx; i += 1) {
      const [c, strength] = look(j * nx + i);
      // Rows of the grid go up, rows of an image go down.
      image.data.set([...rgb(c), Math.round(STRONGEST * strength)], 4 * ((ny - 1 - j) * nx + i));
    }
  }
  context.putImageData(image, 0, 0);
}

// The outermost numbers belong to the sides of the window: the picture reaches beyond them by half a pixel, which is cut off.
export function Heat({ nx, ny, look, size, smooth = true, busy = false }) {
  const ref = useRef(null);
  useLayoutEffect(() => paint(ref.current, nx, ny, look), [nx, ny, look]);
  const width = size.width - MARGIN.left - MARGIN.right;
  const height = size.height - MARGIN.top - MARGIN.bottom;
  const [across, up] = [width / (nx - 1), height / (ny - 1)];
  const frame = { left: `${MARGIN.left}px`, top: `${MARGIN.top}px`, width: `${width}px`, height: `${height}px` };
  const inside = { left: `${-across / 2}px`, top: `${-up / 2}px`, width: `${width + across}px`, height: `${height + up}px` };
  return html`<div class=${`heat ${busy ? "busy" : ""}`} style=${frame}>
    <canvas ref=${ref} width=${nx} height=${ny} class=${smooth ? "" : "blocks"} style=${inside} aria-hidden="true"></canvas>
  </div>`;
}
