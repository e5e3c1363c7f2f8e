// k-means, plain or in the space of a kernel: every iteration is there, and the page steps through.

import { html, useMemo, useState } from "../../vendor/preact.js";
import { Chart } from "../charts/chart.js";
import { Choice, Explained, Figures, Section, Tick } from "../parts/controls.js";
import { number } from "../parts/format.js";
import { Hint, Problem, Warnings } from "../parts/notice.js";
import { useAnnounced } from "../parts/announce.js";
import { COLOURS, colour } from "../parts/palette.js";
import { Slider } from "../parts/slider.js";
import { Stepper } from "../parts/stepper.js";
import { Heat, cells } from "../plane/heat.js";
import { Plane } from "../plane/plane.js";
import { useAnswer } from "../service/answer.js";
import { useKept } from "../state/kept.js";
import { asRequest } from "../state/points.js";
import { DataPanel } from "./data_panel.js";
import { KernelEditor } from "./kernel_editor.js";
import { PlaneTools } from "./plane_tools.js";

const STARTS = [
  { kind: "k-means++", title: "k-means++" },
  { kind: "random", title: "random points" },
];
const RESOLUTION = 48;

function centreLayer(centres) {
  if (!centres) return undefined;
  return ({ project }) => html`<g class="centres">
    ${centres.map(([x, y], c) => (x === null ? null : html`<g key=${c}
      transform=${`translate(${project.x(x)},${project.y(y)})`}><circle r="8" fill=${colour(c)} /><path
      d="M-4,0H4M0,-4V4" /></g>`))}
  </g>`;
}

function Results({ answer, at }) {
  const now = answer.iterations[at];
  const energies = answer.iterations.map((iteration) => iteration.energy);
  const sizes = now.labels.reduce((count, label) => count.set(label, (count.get(label) ?? 0) + 1), new Map());
  return html`<div class="results">
    <${Warnings} list=${answer.warnings} />
    <${Figures} list=${[
      ["iteration", `${at} of ${answer.iterations.length - 1}`, undefined, "iteration"],
      ["energy", number(now.energy, 4), "sum of the squared distances of the points to the means of their clusters", "energy"],
      typeof now.cut === "number" ? ["normalised cut", number(now.cut), "Σ cut(C, all others)/vol(C): how much weight the clusters cut off", "cut"] : null,
      ["sizes", [...sizes.entries()].sort(([a], [b]) => a - b).map(([, count]) => count).join(", "), "points in each cluster", "sizes"],
      ["at the end", answer.converged ? "converged" : "stopped early"],
    ]} />
    ${energies.length > 1
      ? html`<${Chart} title="energy" x="iteration" mark=${at} zero="near"
        series=${[{ name: "energy", x: energies.map((_, i) => i), y: energies, colour: COLOURS[0] }]}
          describe=${`Energy from ${number(energies[0])} to ${number(energies.at(-1))}`} />`
      : null}
  </div>`;
}

export function KMeansView({ lab, choose, plain }) {
  const { data, setData, machine, setMachine, options } = lab;
  const [tool, setTool] = useState("add");
  const [wish, setWish] = useKept("k-means", { k: 3, init: "k-means++", starts: 1, cut: false, seed: 0, at: 0 });
  const set = (fields) => setWish({ ...wish, at: 0, ...fields });
  const enough = data.points.length >= wish.k;
  const { X, window } = asRequest({ ...data, task: "labels" });
  const request = enough
    ? {
        X, window, k: wish.k, init: wish.init, starts: wish.starts, seed: wish.seed, resolution: RESOLUTION,
        kernel: plain ? null : machine.kernel,
        normalized: !plain && wish.cut,
      }
    : null;
  const { answer, error, busy } = useAnswer("/api/clusters", request);
  const ofKernel = !plain && (error?.witness || error?.field?.startsWith("kernel"));
  const last = answer ? answer.iterations.length - 1 : 0;
  const at = Math.min(wish.at, last);
  const now = answer?.iterations[at];
  useAnnounced(error ? `Refused: ${error.message}` : now ? `Iteration ${at} of ${last}, energy ${number(now.energy)}` : "");
  const shown = useMemo(() => {
    const own = now && now.labels.length === data.points.length;
    return { ...data, task: "labels", points: data.points.map((point, i) => ({ ...point, c: own ? now.labels[i] : 0 })) };
  }, [data, now]);
  const layers = useMemo(() => {
    if (!now) return {};
    const side = Math.round(Math.sqrt(now.cells?.length ?? 0));
    const look = now.cells?.length ? cells(now.cells) : null;
    return {
      behind: look ? ({ size }) => html`<${Heat} nx=${side} ny=${side} look=${look} size=${size} smooth=${false} />` : undefined,
      above: centreLayer(now.centres),
    };
  }, [now]);
  // The clusters colour the points here; what is changed are places, and the labels stay what they were.
  const change = (next, what) => {
    const same = data.points.length === next.points.length;
    const before = ({ x, y }, i) => (same ? data.points[i] : data.points.find((old) => old.x === x && old.y === y));
    setData({ ...data, points: next.points.map((point, i) => ({ ...point, c: before(point, i)?.c ?? 0 })) }, what);
  };
  return html`<div class="columns">
    <section class="stage" aria-label="Plane">
      ${choose}
      <${PlaneTools}
        lab=${{ ...lab, data: { ...data, task: "curve" }, setData: ({ points, classes }) => setData({ ...data, points, classes }) }}
          tool=${tool} setTool=${setTool} />
      <${Plane} data=${shown} onChange=${change} label="Points and their clusters" tool=${tool} most=${0}
        limit=${options.limits?.points} ...${layers} />
      <${Stepper} what="iteration" at=${at} last=${last} ten=${false} pace=${500} ready=${!busy}
        onChange=${(next) => setWish({ ...wish, at: next })} />
      ${now ? html`<p class="summary" aria-hidden="true">Iteration ${at} of ${last}, energy ${number(now.energy)}.</p>` : null}
    </section>
    <section class="settings" aria-label="Settings">
      <${Section} title="Clusters">
        <${Slider} label="k" value=${wish.k} low=${1} high=${Math.min(6, options.limits?.clusters ?? 6)} scale="integer"
          onChange=${(k) => set({ k })} />
        ${plain ? null : html`<${Tick} label="normalised (graph cut)" checked=${wish.cut} onChange=${(cut) => set({ cut })} />
          <${Explained} title="What is cut?">The values k(x, z) are weights of a graph, and the clusters are to cut off little of them,
            each for its size: spectral clustering. Two circles come apart so, with k = 2, a small σ (0.1) and little noise (0.02).
            Without it, rings may be the least energy, and are hardly ever found from a start.<//>`}
        <${Choice} label="Start" value=${wish.init} options=${STARTS} onChange=${(init) => set({ init })} />
        <${Slider} label="Starts" value=${wish.starts} low=${1} high=${50} scale="integer" onChange=${(starts) => set({ starts })} />
        ${wish.starts > 1 ? html`<${Hint}>The run that ends with the least energy is shown.<//>` : null}
        <${Slider} label="Seed" value=${wish.seed} low=${0} high=${99} scale="integer" onChange=${(seed) => set({ seed })} />
        <${Problem} error=${ofKernel ? null : error} />
      <//>
      ${plain ? null : html`<${KernelEditor} kernel=${machine.kernel} options=${options} error=${ofKernel ? error : null}
        onChange=${(kernel, what) => setMachine({ ...machine, kernel }, what)} />`}
      <${DataPanel} lab=${lab} tasks=${false} />
    </section>
    <section class="answers" aria-label="Results" aria-busy=${busy}>
      ${enough ? null : html`<${Hint}>Put at least ${wish.k} points on the plane for ${wish.k} clusters, or take a sample.<//>`}
      ${now ? html`<${Results} answer=${answer} at=${at} />` : null}
    </section>
  </div>`;
}
