// Small charts: lines and bars over counted things, linear or logarithmic upwards.

import { html } from "../../vendor/preact.js";
import { number, powerOfTen, tickTexts, ticks } from "../parts/format.js";
import { useSize } from "../plane/geometry.js";

const MARGINS = { left: 44, right: 14, top: 8, bottom: 30 };

function powers(low, high) {
  const [from, to] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((to - from) / 3));
  const found = [];
  for (let power = from; power <= to; power += step) found.push(10 ** power);
  return found.length ? found : [low, high];
}

function limits(values, log, zero) {
  const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!usable.length) return [log ? 0.1 : 0, 1];
  let [low, high] = [Math.min(...usable), Math.max(...usable)];
  if (zero && !log) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  return [low, high];
}

// Ticks of counted things, such as iterations, are whole numbers.
function ticksOf(values, low, high, log) {
  if (log) return powers(low, high);
  const found = ticks(low, high, 4);
  return values.every(Number.isInteger) ? found.filter(Number.isInteger) : found;
}

// An axis that begins elsewhere than at 0 makes small differences large, which has to be said.
const NEAR = 0.5;

// `zero` lets the axis upwards begin at 0: always (true), or where the values come "near" it, and else it says where.
// Series are [{name, x, y, colour, dashed, bars}]; x is counted from 1 where it is not given. `mark` is an x to point at.
export function Chart({ title, series, x: xTitle = "", log = false, zero = false, height = 120, mark = null, level = null, describe }) {
  const [ref, { width }] = useSize();
  const full = series.map((line) => ({ ...line, x: line.x ?? line.y.map((_, i) => i + 1) }));
  const everyY = full.flatMap((line) => line.y).concat(level === null ? [] : [level]);
  const everyX = full.flatMap((line) => line.x);
  const near = Math.min(...everyY) <= NEAR * Math.max(...everyY);
  const [low, high] = limits(everyY, log, zero === true || (zero === "near" && near) || full.some((line) => line.bars));
  const [left, right] = limits(Number.isFinite(mark) ? [...everyX, mark] : everyX, false, false);
  const yTicks = ticksOf(everyY, low, high, log);
  const yTexts = log ? yTicks.map(powerOfTen) : tickTexts(yTicks);
  const EDGE = { ...MARGINS, left: Math.max(MARGINS.left, 10 + 6.5 * Math.max(...yTexts.map((text) => text.length), 0)) };
  const up = (value) => (log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low));
  const px = (value) => EDGE.left + ((width - EDGE.left - EDGE.right) * (value - left)) / (right - left || 1);
  const py = (value) => height - EDGE.bottom - (height - EDGE.bottom - EDGE.top) * up(value);
  const xTicks = ticksOf(everyX, left, right, false);
  const xTexts = tickTexts(xTicks);
  const draw = (line) => {
    if (line.bars) {
      const wide = Math.max(1, Math.min(8, (0.7 * (width - EDGE.left)) / line.x.length));
      const d = line.x.map((at, i) => `M${px(at).toFixed(1)},${py(log ? low : 0).toFixed(1)}V${py(line.y[i]).toFixed(1)}`).join("");
      return html`<path class="bars" d=${d} stroke=${line.colour} stroke-width=${wide} />`;
    }
    const fine = line.x.map((at, i) => [at, line.y[i]]).filter(([, value]) => Number.isFinite(value) && (!log || value > 0));
    const d = fine.map(([at, value], i) => `${i ? "L" : "M"}${px(at).toFixed(1)},${py(value).toFixed(1)}`).join("");
    return html`<path class=${`line ${line.dashed ? "dashed" : ""}`} d=${d} stroke=${line.colour} />`;
  };
  return html`<figure class="chart" ref=${ref}>
    <figcaption>
      <span>${title}${zero === "near" && low > 0 ? ` (the axis begins at ${number(low)})` : ""}</span>
      ${series.length > 1
        ? series.map((line) => html`<span class="key"><i style=${{ background: line.colour }}></i>${line.name}</span>`)
        : null}
    </figcaption>
    <svg width=${width} height=${height} role="img" aria-label=${describe ?? title}>
      ${yTicks.map(
        (tick, i) => html`<g class="tick"><line x1=${EDGE.left} x2=${width - EDGE.right} y1=${py(tick)} y2=${py(tick)} />
          <text x=${EDGE.left - 5} y=${py(tick)} dy="0.35em"
            text-anchor="end">${yTexts[i]}</text></g>`,
      )}
      ${xTicks.map((tick, i) => html`<text class="below" x=${px(tick)} y=${height - 17}
        text-anchor="middle">${xTexts[i]}</text>`)}
      <text class="below name" x=${(width + EDGE.left) / 2} y=${height - 4} text-anchor="middle">${xTitle}</text>
      ${!Number.isFinite(mark) ? null : html`<line
        class="mark" x1=${px(mark)} x2=${px(mark)} y1=${EDGE.top} y2=${height - EDGE.bottom} />`}
      ${level === null ? null : html`<line
        class="level" x1=${EDGE.left} x2=${width - EDGE.right} y1=${py(level)} y2=${py(level)} />`}
      ${full.map(draw)}
    </svg>
  </figure>`;
}
