// A machine that meets one example after the other, with a budget of terms.

import { html, useMemo, useState } from "../../vendor/preact.js";
import { Chart } from "../charts/chart.js";
import { Choice, Figures, Section, Tick } from "../parts/controls.js";
import { number } from "../parts/format.js";
import { Hint, Problem, Warnings } from "../parts/notice.js";
import { useAnnounced } from "../parts/announce.js";
import { COLOURS } from "../parts/palette.js";
import { Parameters, Slider } from "../parts/slider.js";
import { Stepper } from "../parts/stepper.js";
import { Plane } from "../plane/plane.js";
import { useAnswer } from "../service/answer.js";
import { useKept } from "../state/kept.js";
import { withDefaults } from "../state/kernel_tree.js";
import { asRequest, missing } from "../state/points.js";
import { DataPanel } from "./data_panel.js";
import { Legend, curveLayer, heatLayer, levelLayer, termLayer, together } from "./function_layers.js";
import { KernelEditor } from "./kernel_editor.js";
import { LAMBDA, LossChoice, lossOf } from "./machine_panel.js";
import { PlaneTools } from "./plane_tools.js";

const ORDERS = [
  { kind: "given", title: "as given" },
  { kind: "shuffled", title: "shuffled" },
];

const chosen = (wished, choices) => {
  const known = choices.find((choice) => choice.kind === wished?.kind) ?? choices[0];
  return wished?.kind === known.kind ? wished : withDefaults({ kind: known.kind }, known.parameters);
};

// What happened in the last step, in words.
function story(online) {
  const { last } = online;
  if (!last) return "Nothing has been met yet: f = 0.";
  const parts = [`Step ${online.t}: example ${last.i + 1} (y = ${typeof last.y === "number" ? number(last.y) : last.y}) had the score ${number(last.score_before)}`];
  if (last.mistake) parts.push("a mistake");
  parts.push(`loss ${number(last.loss)}`);
  parts.push(last.added ? "it was added" : "nothing was added");
  const gone = last.removed ?? [];
  if (gone.length) parts.push(`the budget took ${gone.length === 1 ? "a term" : `${gone.length} terms`} away`);
  return `${parts.join(", ")}.`;
}

// The main numbers in one line, for screens on which the others stand far below.
const figuresOf = (online, labels) =>
  `Terms: ${online.size}, loss so far: ${number(online.losses.at(-1) ?? 0)}${labels ? `, mistakes: ${online.mistakes.at(-1) ?? 0}` : ""}.`;

function Settings({ online, setOnline, options, task, error }) {
  const set = (fields) => setOnline({ ...online, ...fields });
  const loss = lossOf(online.loss, options.losses[task]);
  const step = chosen(online.step, options.steps);
  const stepKnown = options.steps.find((choice) => choice.kind === step.kind);
  const budget = online.budget;
  return html`<${Section} title="Online machine">
    <${LossChoice} loss=${loss} choices=${options.losses[task]} onChange=${(next) => set({ loss: next })} />
    <${Slider} label="λ" value=${online.lam || LAMBDA.low} ...${LAMBDA} typed=${{ low: 1e-12, high: 1e3 }} disabled=${online.lam === 0} fixed="0"
      onChange=${(lam) => set({ lam })} />
    <${Tick} label="no penalty (λ = 0)" checked=${online.lam === 0} onChange=${(yes) => set({ lam: yes ? 0 : 0.01 })} />
    <${Choice} label="Step size" value=${step.kind} options=${options.steps}
      onChange=${(kind) => set({ step: chosen({ kind: null }, options.steps.filter((choice) => choice.kind === kind)) })} />
    <${Parameters} parameters=${stepKnown?.parameters} values=${step} onChange=${(next) => set({ step: next })} />
    <${Choice} label="Budget" value=${budget.kind} options=${options.budgets}
      onChange=${(kind) => set({ budget: { ...budget, kind } })} />
    ${budget.kind === "none" ? null : html`<${Slider} label="Terms" value=${budget.size} low=${1} high=${200} scale="integer"
      onChange=${(size) => set({ budget: { ...budget, size } })} />`}
    <${Choice} label="Order" value=${online.order} options=${ORDERS} onChange=${(order) => set({ order })} />
    ${online.order === "shuffled" ? html`<${Slider} label="Seed" value=${online.seed} low=${0} high=${99} scale="integer"
      onChange=${(seed) => set({ seed })} />` : null}
    <${Problem} error=${error} />
  <//>`;
}

function Results({ online, limited, labels }) {
  const size = limited ? `${online.size} of ${online.budget}` : String(online.size);
  const x = online.steps ?? online.sizes.map((_, i) => ((i + 1) * online.t) / online.sizes.length);
  return html`<div class="results">
    <p class="story">${story(online)}</p>
    <${Warnings} list=${online.warnings} />
    <${Figures} list=${[
      ["steps", `${online.t} of ${online.of}`, undefined, "t"],
      ["terms", size, "examples that f remembers", "size"],
      ["‖f‖", [online.norm].flat().map((value) => number(value)).join(", "), undefined, "norm"],
      ["loss so far", number(online.losses.at(-1) ?? 0), "sum over the steps, each before its update", "loss"],
      labels ? ["mistakes so far", String(online.mistakes.at(-1) ?? 0), undefined, "mistakes"] : null,
    ]} />
    ${online.t > 1
      ? html`<${Chart} title=${limited ? "terms (dashed: the budget)" : "terms"} x="step" zero=${true}
        level=${limited ? online.budget : null} series=${[{ name: "terms", x, y: online.sizes, colour: COLOURS[0] }]}
          describe=${`Terms after each step, now ${size}`} />
          <${Chart} title="sum of losses" x="step" zero=${true}
            series=${[{ name: "loss", x, y: online.losses, colour: COLOURS[1] }]} />
          ${labels ? html`<${Chart} title="mistakes" x="step" zero=${true}
            series=${[{ name: "mistakes", x, y: online.mistakes, colour: COLOURS[3] }]} />` : null}`
      : null}
  </div>`;
}

export function OnlineTab({ lab }) {
  const { data, setData, machine, setMachine, options } = lab;
  const choices = options.online;
  const [tool, setTool] = useState("add");
  const [current, setCurrent] = useState(0);
  const [online, setOnline] = useKept("online", {
    loss: null, lam: 0.01, step: null, order: "given", seed: 0, t: 0,
    budget: { kind: (choices.budgets[1] ?? choices.budgets[0]).kind, size: 10 },
  });
  const lack = missing(data);
  const last = data.points.length * (options.limits?.epochs ?? 1);
  const t = Math.min(online.t, last);
  const request = lack
    ? null
    : {
        ...asRequest(data),
        order: online.order, seed: online.seed, kernel: machine.kernel, lam: online.lam, t, resolution: 48,
        loss: lossOf(online.loss, choices.losses[data.task]),
        step: chosen(online.step, choices.steps),
        budget: online.budget,
      };
  const { answer, asked, error, busy } = useAnswer("/api/online", request, 20);
  useAnnounced(error ? `Refused: ${error.message}` : answer ? story(answer) : "");
  const ofKernel = error && (error.witness || error.field?.startsWith("kernel"));
  const met = answer?.last?.i;
  const layers = useMemo(() => {
    if (!answer || asked.task !== data.task) return {};
    return {
      behind: heatLayer(answer.grid, false),
      below: together(levelLayer(answer.grid, asked.window), curveLayer(answer.curve, null)),
      above: termLayer(answer.terms, data),
      emphasis: (i) => (i === met ? "met" : ""),
    };
  }, [answer, data]);
  return html`<div class="columns">
    <section class="stage" aria-label="Plane">
      <${PlaneTools} lab=${lab} tool=${tool} setTool=${setTool} current=${current} setCurrent=${setCurrent} />
      <${Plane} data=${data} onChange=${setData} label="Examples and the function so far" current=${current}
        setCurrent=${setCurrent} tool=${tool} most=${options.limits?.classes} limit=${options.limits?.points} ...${layers} />
      <${Stepper} what="step" at=${t} last=${lack ? 0 : last} ready=${!busy} pace=${120}
        onChange=${(next) => setOnline({ ...online, t: next })} />
      ${answer ? html`<div class="under"><${Legend} task=${data.task} several=${answer.grid?.scores.length > 1}
        terms=${answer.size > 0} met=${answer.last !== null} /></div>
        <p class="summary" aria-hidden="true">${story(answer)} ${figuresOf(answer, data.task === "labels")}</p>` : null}
    </section>
    <section class="settings" aria-label="Settings">
      <${Settings} online=${online} setOnline=${setOnline} options=${choices} task=${data.task}
        error=${ofKernel ? null : error} />
      <${KernelEditor} kernel=${machine.kernel} options=${options} error=${ofKernel ? error : null}
        onChange=${(kernel, what) => setMachine({ ...machine, kernel }, what)} />
      <${DataPanel} lab=${lab} />
    </section>
    <section class="answers" aria-label="Results" aria-busy=${busy}>
      ${lack ? html`<${Hint}>${lack}<//>` : null}
      ${answer ? html`<${Results} online=${answer} limited=${asked.budget.kind !== "none"}
        labels=${asked.task === "labels"} />` : null}
    </section>
  </div>`;
}
