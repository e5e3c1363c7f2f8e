// The points as a table: the same as on the plane, for whoever would rather read and type.

import { html, useState } from "../../vendor/preact.js";
import { grown, relabelled, removed, replaced } from "../state/points.js";

const PAGE = 50;

function Coordinate({ label, value, onChange }) {
  const take = (event) => {
    const found = Number(event.target.value);
    const fine = event.target.value.trim() !== "" && Number.isFinite(found);
    event.target.setAttribute("aria-invalid", String(!fine));
    if (fine) onChange(found);
  };
  return html`<input type="text" inputmode="decimal" aria-label=${label} value=${value} onChange=${take} />`;
}

function Row({ data, i, onChange }) {
  const { x, y, c } = data.points[i];
  const set = (fields) => onChange(grown(replaced(data, i, fields)));
  return html`<tr>
    <th scope="row">${i + 1}</th>
    <td><${Coordinate} label=${`x of point ${i + 1}`} value=${x} onChange=${(next) => set({ x: next })} /></td>
    <td><${Coordinate} label=${`y of point ${i + 1}`} value=${y} onChange=${(next) => set({ y: next })} /></td>
    ${data.task === "labels"
      ? html`<td>
          <select
            aria-label=${`class of point ${i + 1}`}
            value=${c}
            onChange=${(event) => onChange(relabelled(data, i, Number(event.target.value)))}
          >
            ${data.classes.map((label, k) => html`<option value=${k} selected=${k === c}>${label}</option>`)}
          </select>
        </td>`
      : null}
    <td><button type="button" aria-label=${`delete point ${i + 1}`} title="delete"
      onClick=${() => onChange(removed(data, i))}>×</button></td>
  </tr>`;
}

export function PointsTable({ data, onChange }) {
  const [from, setFrom] = useState(0);
  const count = data.points.length;
  const start = Math.min(from, Math.max(0, Math.floor((count - 1) / PAGE) * PAGE));
  const shown = Array.from({ length: Math.min(PAGE, count - start) }, (_, k) => start + k);
  if (!count) return html`<p class="hint">There are no points yet.</p>`;
  return html`<div class="points-table" tabindex="0" role="region" aria-label="Table of the points">
    <table>
      <thead>
        <tr><th scope="col">#</th><th scope="col">x</th><th scope="col">y</th>${data.task === "labels" ? html`<th
          scope="col">class</th>` : null}<td></td></tr>
      </thead>
      <tbody>${shown.map((i) => html`<${Row} key=${i} data=${data} i=${i} onChange=${onChange} />`)}</tbody>
    </table>
    ${count > PAGE
      ? html`<p class="row">
          <button type="button" disabled=${start === 0} onClick=${() => setFrom(start - PAGE)}>previous</button>
          <span>${start + 1} to ${Math.min(start + PAGE, count)} of ${count}</span>
          <button type="button" disabled=${start + PAGE >= count} onClick=${() => setFrom(start + PAGE)}>next</button>
        </p>`
      : null}
  </div>`;
}
