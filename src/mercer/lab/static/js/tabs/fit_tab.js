// The first tab: points, a kernel, a machine, and the function it learns, live.

import { html, useMemo, useState } from "../../vendor/preact.js";
import { Tick } from "../parts/controls.js";
import { Hint, Problem } from "../parts/notice.js";
import { useAnnounced } from "../parts/announce.js";
import { Plane } from "../plane/plane.js";
import { useAnswer } from "../service/answer.js";
import { useKept } from "../state/kept.js";
import { asRequest, missing } from "../state/points.js";
import { DataPanel } from "./data_panel.js";
import { FitResults, sentenceOf } from "./fit_results.js";
import { Legend, curveLayer, heatLayer, levelLayer, supportLayer, termLayer, together } from "./function_layers.js";
import { KernelEditor } from "./kernel_editor.js";
import { MachinePanel, lossOf } from "./machine_panel.js";
import { PlaneTools } from "./plane_tools.js";

// Which part of the page a refusal belongs to. What names no field of ours is shown beside the results.
const FIELDS = { kernel: "kernel", loss: "machine", lam: "machine", offset: "machine" };
const placeOf = (error) => {
  if (!error) return null;
  if (error.witness) return "kernel";
  return FIELDS[error.field?.split(/[.[]/)[0]] ?? "results";
};

export function FitTab({ lab }) {
  const { data, setData, machine, setMachine, options } = lab;
  const [tool, setTool] = useState("add");
  const [current, setCurrent] = useState(0);
  const [view, setView] = useKept("fit view", { bumps: false, support: true });
  const lack = missing(data);
  const choices = options.losses[data.task];
  const request = lack
    ? null
    : {
        ...asRequest(data),
        kernel: machine.kernel,
        loss: lossOf(machine.loss, choices),
        lam: machine.lam,
        offset: machine.offset,
        resolution: 64,
        wanted: ["spectrum", "loo", "bumps"],
      };
  const { answer: fit, asked, error, busy } = useAnswer("/api/fit", request);
  const where = placeOf(error);
  const at = (place) => (where === place ? error : null);
  useAnnounced(error ? `Refused: ${error.message}` : sentenceOf(fit));
  const layers = useMemo(() => {
    if (!fit || asked.task !== data.task) return {};
    return {
      ringed: fit.support.length > 0 && fit.support.length < data.points.length,
      behind: heatLayer(fit.grid, false),
      below: together(levelLayer(fit.grid, asked.window), curveLayer(fit.curve, view.bumps ? fit.bump_curves : null)),
      above: together(
        view.support && supportLayer(fit.support, data),
        view.bumps && data.task === "labels" && termLayer(fit.bumps, data),
      ),
    };
  }, [fit, data, view]);
  return html`<div class="columns">
    <section class="stage" aria-label="Plane">
      <${PlaneTools} lab=${lab} tool=${tool} setTool=${setTool} current=${current} setCurrent=${setCurrent} />
      <${Plane}
        data=${data} onChange=${setData} label=${data.task === "labels" ? "Plane of labelled points" : "Plane of points (x, y)"}
        current=${current} setCurrent=${setCurrent} tool=${tool} most=${options.limits?.classes} limit=${options.limits?.points}
        ...${layers}
      />
      <div class="under">
        <${Legend} task=${data.task} offset=${(asked ?? machine).offset} several=${fit?.grid?.scores.length > 1}
          support=${view.support && layers.ringed} bumps=${view.bumps} />
        <span class="row">
          <${Tick} label="support vectors" checked=${view.support} onChange=${(support) => setView({ ...view, support })} />
          <${Tick} label="bumps" checked=${view.bumps} onChange=${(bumps) => setView({ ...view, bumps })} />
        </span>
      </div>
      ${fit ? html`<p class="summary" aria-hidden="true">${sentenceOf(fit)}</p>` : null}
    </section>
    <section class="settings" aria-label="Settings">
      <${KernelEditor} kernel=${machine.kernel} options=${options} error=${at("kernel")}
        onChange=${(kernel, what) => setMachine({ ...machine, kernel }, what)} />
      <${MachinePanel} machine=${machine} setMachine=${setMachine} choices=${choices} found=${fit?.lam} error=${at("machine")} />
      <${DataPanel} lab=${lab} />
    </section>
    <section class="answers" aria-label="Results" aria-busy=${busy}>
      <${Problem} error=${at("results")} />
      ${where && where !== "results" ? html`<${Hint}>No function was learned: the note at “${where === "kernel" ? "Kernel" : "Machine"}” says why.<//>` : null}
      ${lack ? html`<${Hint}>${lack}<//>` : null}
      ${fit ? html`<${FitResults} fit=${fit} stale=${busy} />` : null}
    </section>
  </div>`;
}
