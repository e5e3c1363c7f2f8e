// Where points come from and go to: samples, files, the table.

import { html, useRef, useState } from "../../vendor/preact.js";
import { Choice, Section, Segments } from "../parts/controls.js";
import { announce } from "../parts/announce.js";
import { Problem } from "../parts/notice.js";
import { Slider } from "../parts/slider.js";
import { PointsTable } from "../plane/points_table.js";
import { useAsk } from "../service/answer.js";
import { asCSV, asJSON, download, fromJSON } from "../state/files.js";
import { useKept } from "../state/kept.js";
import { FIRST, fromAnswer } from "../state/points.js";

const TASKS = [
  { kind: "labels", title: "Labels", hint: "classify points of the plane" },
  { kind: "curve", title: "Curve", hint: "y as a function of x" },
];

function Samples({ options, task, ask, take }) {
  const samples = options.samples.filter((sample) => sample.task === task);
  const [wish, setWish] = useKept("sample", { kind: "", ...FIRST });
  const kind = samples.some((sample) => sample.kind === wish.kind) ? wish.kind : samples[0]?.kind;
  const draw = async (seed) => {
    setWish({ ...wish, kind, seed });
    const answer = await ask("/api/sample", { ...wish, kind, seed });
    if (answer) take(answer, `${answer.X.length} points of the sample`);
  };
  return html`<${Choice} label="Sample" value=${kind} options=${samples} onChange=${(next) => setWish({ ...wish, kind: next })} />
    <${Slider} label="Points" value=${wish.n} low=${4} high=${options.limits?.points ?? 2000} scale="log"
      onChange=${(n) => setWish({ ...wish, n: Math.round(n) })} />
    <${Slider} label="Noise" value=${wish.noise} low=${0} high=${1} onChange=${(noise) => setWish({ ...wish, noise })} />
    <p class="row">
      <button type="button" class="primary" onClick=${() => draw(wish.seed)}>Take the sample</button>
      <button type="button" onClick=${() => draw(wish.seed + 1)}>Another draw</button>
    </p>`;
}

function Load({ lab, ask, refuse, take, setNotes }) {
  const input = useRef(null);
  const open = async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    const text = await file.text();
    event.target.value = ""; // so that the same file can be chosen again
    setNotes([]);
    try {
      if (file.name.toLowerCase().endsWith(".json")) {
        lab.replace(fromJSON(text, lab.options));
        announce(`${file.name} loaded`);
        return;
      }
    } catch (error) {
      refuse(error);
      return;
    }
    const answer = await ask("/api/csv", { text, name: file.name });
    if (!answer) return;
    take(answer, `${answer.X.length} points of ${file.name}`);
    setNotes([`${file.name}: ${answer.X.length} points, columns ${answer.columns.join(", ")}`, ...(answer.notes ?? [])]);
  };
  return html`<input type="file" class="unseen" ref=${input} accept=".csv,.json,text/csv,application/json" tabindex="-1"
    aria-label="File with points" onChange=${open} />
    <button type="button" onClick=${() => input.current.click()}>Load CSV or JSON…</button>`;
}

export function DataPanel({ lab, tasks = true }) {
  const { data, setData, options, present } = lab;
  const { ask, refuse, error } = useAsk();
  const [notes, setNotes] = useState([]);
  const take = (answer, words) => {
    setNotes([]);
    setData(fromAnswer(answer));
    announce(words);
  };
  return html`<${Section} title="Points">
    ${tasks ? html`<${Segments} label="What is to be learned" value=${data.task} options=${TASKS}
      onChange=${(task) => setData({ ...data, task })} />` : null}
    <${Samples} options=${options} task=${data.task} ask=${ask} take=${take} />
    <p class="row">
      <${Load} lab=${lab} ask=${ask} refuse=${refuse} take=${take} setNotes=${setNotes} />
      <button type="button" disabled=${!data.points.length}
        onClick=${() => download("points.csv", asCSV(data), "text/csv")}>Save CSV</button>
      <button type="button" onClick=${() => download("lab.json", asJSON(present), "application/json")}>Save JSON</button>
    </p>
    <${Problem} error=${error} />
    ${notes.length ? html`<ul class="notes">${notes.map((note) => html`<li>${note}</li>`)}</ul>` : null}
    <${Section} title=${`Table of the points (${data.points.length})`} open=${false}>
      <${PointsTable} data=${data} onChange=${setData} />
    <//>
  <//>`;
}
