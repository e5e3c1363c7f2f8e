// A table model given on the command line: its report, and what it would say if a value were another.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { Chart } from "../charts/chart.js";
import { Choice, Figures, Section } from "../parts/controls.js";
import { number, percent } from "../parts/format.js";
import { Hint, Problem } from "../parts/notice.js";
import { useAnnounced } from "../parts/announce.js";
import { COLOURS, colour } from "../parts/palette.js";
import { Slider } from "../parts/slider.js";
import { useAnswer, useRead } from "../service/answer.js";

// What a column begins with: what is typical or, of a number of which that is unknown, the middle.
const begin = ({ kind, typical, low, high }) => typical ?? (kind === "number" ? (low + high) / 2 : null);

// A little beyond what was seen, so that it can be tried; what was never below 0 stays there.
const BEYOND = 0.2;

function reach({ low, high }) {
  const more = BEYOND * (high - low);
  return { low: low >= 0 ? Math.max(0, low - more) : low - more, high: high + more };
}

function Column({ column, value, onChange }) {
  const { name, kind, low, high, levels } = column;
  if (kind === "number" && low < high) {
    return html`<${Slider} label=${name} value=${value ?? begin(column)} ...${reach(column)} onChange=${onChange} />`;
  }
  if (levels?.length) {
    return html`<${Choice} label=${name} value=${value} options=${levels.map((level) => ({ kind: level, title: String(level) }))}
      onChange=${onChange} />`;
  }
  return html`<label class="field"><span>${name}</span><input type="text" value=${value ?? ""}
    onChange=${(event) => onChange(event.target.value)} /></label>`;
}

function Bars({ values, format }) {
  const most = Math.max(...values.map(([, value]) => Math.abs(value)), 1e-300);
  return html`<ul class="shares">
    ${values.map(([name, value], i) => html`<li key=${name}><span>${name}</span><i><b
      style=${{ width: `${(100 * Math.abs(value)) / most}%`, background: colour(i) }}></b></i><span>${format(value)}</span></li>`)}
  </ul>`;
}

const shown = (value) => (typeof value === "number" ? number(value, 4) : String(value));

function Dependence({ dependence, column, model, value }) {
  if (!dependence?.values?.length) return null;
  const { values, predictions } = dependence;
  const what = dependence.of === undefined ? model.target : `probability of ${dependence.of}`;
  const title = `${what} as ${column} changes, all else held`;
  if (typeof predictions[0] !== "number") {
    return html`<table class="numbers"><caption>${title}</caption><tbody>${values.map((at, i) => html`<tr><th
      scope="row">${shown(at)}</th><td>${shown(predictions[i])}</td></tr>`)}</tbody></table>`;
  }
  if (typeof values[0] !== "number") return html`<p class="hint">${title}</p><${Bars}
    values=${values.map((at, i) => [at, predictions[i]])} format=${shown} />`;
  return html`<${Chart} title=${title} x=${column} height=${180} mark=${typeof value === "number" ? value : null}
    series=${[{ name: model.target, x: values, y: predictions, colour: COLOURS[0] }]} />`;
}

function sentenceOf(model, answer) {
  const interval = answer.interval ? `, between ${number(answer.interval[0])} and ${number(answer.interval[1])}` : "";
  return `${model.target}: ${shown(answer.prediction)}${interval}`;
}

function WhatIf({ model }) {
  const first = Object.fromEntries(model.columns.map((column) => [column.name, begin(column)]));
  const [row, setRow] = useState(first);
  const [column, setColumn] = useState(model.importance?.[0]?.column ?? model.columns[0].name);
  useEffect(() => setRow(first), [model]);
  const { answer, asked, error, busy } = useAnswer("/api/predict", { row, column });
  useAnnounced(answer ? sentenceOf(model, answer) : "");
  const touch = (name, value) => {
    setRow({ ...row, [name]: value });
    setColumn(name);
  };
  const chances = answer?.probabilities ? Object.entries(answer.probabilities) : null;
  return html`<div class="columns two">
    <section class="settings" aria-label="A row">
      <${Section} title="What if">
        ${model.columns.map((each) => html`<${Column} key=${each.name} column=${each} value=${row[each.name]}
          onChange=${(value) => touch(each.name, value)} />`)}
        <p class="row"><button type="button" onClick=${() => setRow(first)}>Back to the typical row</button></p>
      <//>
    </section>
    <section class="answers" aria-label="Prediction" aria-busy=${busy}>
      <${Problem} error=${error} />
      ${answer
        ? html`<div class="results">
            <${Figures} list=${[
              [model.target, `${shown(answer.prediction)}${model.unit ? ` ${model.unit}` : ""}`, undefined, "prediction"],
              answer.interval ? [`${percent(model.coverage)} interval`, `${number(answer.interval[0], 4)} to ${number(answer.interval[1], 4)}`, "so often does such an interval hold the true value", "interval"] : null,
            ]} />
            ${chances ? html`<${Bars} values=${chances} format=${percent} />` : null}
            ${answer.notes?.length ? html`<ul class="warnings">${answer.notes.map((note) => html`<li>${note}</li>`)}</ul>` : null}
            <${Dependence} dependence=${answer.dependence} column=${asked.column} model=${model}
              value=${asked.row[asked.column]} />
          </div>`
        : null}
      ${model.importance?.length
        ? html`<${Section} title="Importance of the columns">
          <${Hint}>Growth of the error when the values of a column are shuffled.<//><${Bars}
          values=${model.importance.slice(0, 12).map((each) => [each.column, each.value])} format=${(value) => number(value)} /><//>`
        : null}
      <${Section} title="About the model" open=${false}><pre tabindex="0" role="region"
        aria-label="Summary of the model">${model.summary}</pre><//>
    </section>
  </div>`;
}

function Model() {
  const { answer: model, error } = useRead("/api/model");
  if (!model) return html`<${Problem} error=${error} />${error ? null : html`<${Hint}>One moment…<//>`}`;
  return html`<p class="row report"><span>Predicts <strong>${model.target}</strong> (${model.task}).</span><a href="/report"
    target="_blank" rel="noopener">Open its report</a></p>
    <${WhatIf} model=${model} />`;
}

export function TableTab({ lab }) {
  if (lab.options.model) return html`<${Model} />`;
  return html`<div class="empty">
    <h2>No table model yet</h2>
    <p>Train one with <code>mercer fit people.csv --target income --output people.mercer</code>, then open it here with <code>mercer lab people.mercer</code>.</p>
  </div>`;
}
