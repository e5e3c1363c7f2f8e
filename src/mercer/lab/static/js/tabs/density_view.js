// Lloyd's method on a density over the unit square: centres move to the centroids of their cells until they rest.

import { html, useLayoutEffect, useMemo, useRef } from "../../vendor/preact.js";
import { Chart } from "../charts/chart.js";
import { Choice, Figures, Section } from "../parts/controls.js";
import { number, percent } from "../parts/format.js";
import { Problem, Warnings } from "../parts/notice.js";
import { useAnnounced } from "../parts/announce.js";
import { COLOURS } from "../parts/palette.js";
import { Slider } from "../parts/slider.js";
import { Stepper } from "../parts/stepper.js";
import { MARGIN } from "../plane/geometry.js";
import { Plane } from "../plane/plane.js";
import { useAnswer } from "../service/answer.js";
import { useKept } from "../state/kept.js";

const SQUARE = { task: "labels", points: [], classes: [0, 1], window: [0, 1, 0, 1] };
const known = (value) => value !== null && value !== undefined;
const INK = [115, 122, 130];

function Shade({ density, size }) {
  const ref = useRef(null);
  const { n, values } = density;
  useLayoutEffect(() => {
    const context = ref.current.getContext("2d");
    const image = context.createImageData(n, n);
    const most = Math.max(...values);
    values.forEach((value, at) => {
      const [i, j] = [at % n, Math.floor(at / n)];
      image.data.set([...INK, Math.round((150 * value) / most)], 4 * ((n - 1 - j) * n + i));
    });
    context.putImageData(image, 0, 0);
  }, [density]);
  const frame = {
    left: `${MARGIN.left}px`,
    top: `${MARGIN.top}px`,
    width: `${size.width - MARGIN.left - MARGIN.right}px`,
    height: `${size.height - MARGIN.top - MARGIN.bottom}px`,
  };
  return html`<div class="heat" style=${frame}><canvas ref=${ref} width=${n} height=${n} class="whole"
    aria-hidden="true"></canvas></div>`;
}

function cellLayer({ cells, centres }) {
  return ({ project }) => html`<g class="cells">
    ${cells.map((corners, k) => html`<polygon key=${k}
      points=${corners.map(([x, y]) => `${project.x(x).toFixed(1)},${project.y(y).toFixed(1)}`).join(" ")} />`)}
    ${centres.map(([x, y], k) => html`<circle key=${k} cx=${project.x(x)} cy=${project.y(y)} r="3" fill=${COLOURS[1]} />`)}
  </g>`;
}

export function DensityView({ lab, choose }) {
  const { options } = lab;
  const [wish, setWish] = useKept("cells", { kind: options.densities[0].kind, k: 20, iterations: 40, seed: 0, at: 0 });
  const set = (fields) => setWish({ ...wish, at: 0, ...fields });
  const request = { density: { kind: wish.kind }, k: wish.k, iterations: wish.iterations, seed: wish.seed };
  const { answer, error, busy } = useAnswer("/api/cells", request);
  const last = answer ? answer.iterations.length - 1 : 0;
  const at = Math.min(wish.at, last);
  const now = answer?.iterations[at];
  useAnnounced(error ? `Refused: ${error.message}` : now ? `Iteration ${at} of ${last}, energy ${number(now.energy)}` : "");
  const layers = useMemo(
    () => (now ? { behind: ({ size }) => html`<${Shade} density=${answer.density} size=${size} />`, below: cellLayer(now) } : {}),
    [now],
  );
  const energies = answer?.iterations.map((iteration) => iteration.energy) ?? [];
  return html`<div class="columns">
    <section class="stage" aria-label="Plane">
      ${choose}
      <${Plane} data=${SQUARE} label="Density and cells" ratio=${0.96} ...${layers} />
      <${Stepper} what="iteration" at=${at} last=${last} pace=${300} ready=${!busy}
        onChange=${(next) => setWish({ ...wish, at: next })} />
      ${now ? html`<p class="summary" aria-hidden="true">Iteration ${at} of ${last}, energy ${number(now.energy, 4)}.</p>` : null}
    </section>
    <section class="settings" aria-label="Settings">
      <${Section} title="Density">
        <${Choice} label="Density" value=${wish.kind} options=${options.densities} onChange=${(kind) => set({ kind })} />
        <${Slider} label="Centres" value=${wish.k} low=${1} high=${options.limits?.centres ?? 60} scale="integer"
          onChange=${(k) => set({ k })} />
        <${Slider} label="Iterations" value=${wish.iterations} low=${1} high=${options.limits?.iterations ?? 100} scale="integer"
          onChange=${(iterations) => set({ iterations })} />
        <${Slider} label="Seed" value=${wish.seed} low=${0} high=${99} scale="integer" onChange=${(seed) => set({ seed })} />
        <${Problem} error=${error} />
      <//>
    </section>
    <section class="answers" aria-label="Results" aria-busy=${busy}>
      ${now
        ? html`<div class="results">
            <${Warnings} list=${answer.warnings} />
            <${Figures} list=${[
              ["iteration", `${at} of ${last}`, undefined, "iteration"],
              ["energy", number(now.energy, 4), "∫ |x − nearest centre|² ρ(x) dx", "energy"],
              known(answer.bound) && ["hexagon lattice", number(answer.bound, 4), "what many regular hexagons would reach", "bound"],
              known(answer.hexagons) && ["hexagons at the end", percent(answer.hexagons), "share of cells with six sides", "hexagons"],
            ]} />
            ${energies.length > 1 ? html`<${Chart}
              title=${known(answer.bound) ? "energy (dashed: hexagon lattice)" : "energy"} x="iteration" mark=${at} zero="near"
              level=${answer.bound ?? null}
                series=${[{ name: "energy", x: energies.map((_, i) => i), y: energies, colour: COLOURS[0] }]}
                describe=${`Energy from ${number(energies[0])} to ${number(energies.at(-1))}`} />` : null}
          </div>`
        : null}
    </section>
  </div>`;
}
