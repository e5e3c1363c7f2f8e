// Clusters step by step: of points, plain or through a kernel, and of a density over the square.

import { html } from "../../vendor/preact.js";
import { Segments } from "../parts/controls.js";
import { useKept } from "../state/kept.js";
import { DensityView } from "./density_view.js";
import { KMeansView } from "./kmeans_view.js";

const KINDS = [
  { kind: "plain", title: "k-means" },
  { kind: "kernel", title: "Kernel k-means" },
  { kind: "density", title: "Density (Lloyd)" },
];

export function ClustersTab({ lab }) {
  const [kind, setKind] = useKept("clusters kind", "plain");
  const choose = html`<${Segments} label="What is divided" value=${kind} options=${KINDS} onChange=${setKind} />`;
  return kind === "density"
    ? html`<${DensityView} lab=${lab} choose=${choose} />`
    : html`<${KMeansView} lab=${lab} choose=${choose} plain=${kind === "plain"} key=${kind} />`;
}
