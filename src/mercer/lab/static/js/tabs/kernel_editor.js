// The kernel as a tree that can be changed at every node.

import { html } from "../../vendor/preact.js";
import { Action, Section } from "../parts/controls.js";
import { Problem } from "../parts/notice.js";
import { Parameters } from "../parts/slider.js";
import { MOST_DEPTH, MOST_NODES, changedAt, depth, joined, leaf, parts } from "../state/kernel_tree.js";
import { removedAt, sentence, size, unwrapped, withDefaults } from "../state/kernel_tree.js";

const WRAPPINGS = ["scale", "power", "exp", "normalized"];
const COMBINATIONS = ["sum", "product"];
const NAMES = { sum: "Sum", product: "Product", scale: "Scaled", power: "Power", exp: "Exponential of", normalized: "Normalized" };

const isLeaf = (node) => !WRAPPINGS.includes(node.kind) && !COMBINATIONS.includes(node.kind);

function KindOfLeaf({ node, options, onChange, place }) {
  return html`<select aria-label=${`Kernel${place}`} value=${node.kind}
    onChange=${(event) => onChange(leaf(options, event.target.value))}>
    ${options.kernels.map(({ kind, title }) => html`<option value=${kind} selected=${kind === node.kind}>${title}</option>`)}
  </select>`;
}

function KindOfCombination({ node, onChange, place }) {
  return html`<select aria-label=${`Combination${place}`} value=${node.kind}
    onChange=${(event) => onChange({ ...node, kind: event.target.value })}>
    ${COMBINATIONS.map((kind) => html`<option value=${kind} selected=${kind === node.kind}>${NAMES[kind]}</option>`)}
  </select>`;
}

function Head({ node, options, change, place }) {
  if (isLeaf(node)) return html`<${KindOfLeaf} node=${node} options=${options} onChange=${change} place=${place} />`;
  if (COMBINATIONS.includes(node.kind)) return html`<${KindOfCombination} node=${node} onChange=${change} place=${place} />`;
  return html`<span class="kind">${NAMES[node.kind]}</span>`;
}

function Numbers({ node, options, change }) {
  const known = [...options.kernels, ...options.combinations].find(({ kind }) => kind === node.kind);
  if (!known) return null;
  return html`${known.formula ? html`<span class="formula">${known.formula}</span>` : null}
    <${Parameters} parameters=${known.parameters} values=${node} onChange=${change} />`;
}

function Wrap({ change, node, options, full, place }) {
  const wrap = (event) => {
    const kind = event.target.value;
    event.target.value = "";
    const known = options.combinations.find((combination) => combination.kind === kind);
    change({ ...withDefaults({ kind }, known?.parameters), of: node });
  };
  return html`<select class="wrap" aria-label=${`Wrap${place}`} value="" disabled=${full} onChange=${wrap}>
    <option value="">wrap…</option>
    ${WRAPPINGS.map((kind) => html`<option value=${kind}>${NAMES[kind].toLowerCase()}</option>`)}
  </select>`;
}

function Node({ tree, node, path, options, onChange }) {
  const full = size(tree) + 2 > MOST_NODES || path.length + depth(node) + 1 > MOST_DEPTH;
  const place = path.length ? `, part ${path.map((at) => at + 1).join(".")}` : "";
  const change = (next, what = null) => onChange(changedAt(tree, path, () => next), what);
  const slide = (next) => change(next, `kernel ${path.join(".")} ${next.kind}`);
  const more = leaf(options, options.kernels[0].kind);
  const wrapper = !isLeaf(node) && !COMBINATIONS.includes(node.kind);
  return html`<div class="node" role="group" aria-label=${`${sentence(node, options)}${place}`}>
    <div class="row">
      <${Head} node=${node} options=${options} change=${change} place=${place} />
      <${Action} label=${`Add a kernel${place}`} disabled=${full} onClick=${() => change(joined(node, "sum", more))}>+<//>
      <${Action} label=${`Multiply by a kernel${place}`} disabled=${full}
        onClick=${() => change(joined(node, "product", more))}>×<//>
      <${Wrap} change=${change} node=${node} options=${options} full=${full} place=${place} />
      ${wrapper ? html`<${Action} label=${`Unwrap${place}`} onClick=${() => change(unwrapped(node))}>⤴<//>` : null}
      ${path.length && !wrapper ? html`<${Action} label=${`Remove${place}`}
        onClick=${() => onChange(removedAt(tree, path))}>✕<//>` : null}
    </div>
    <${Numbers} node=${node} options=${options} change=${slide} />
    ${parts(node).length
      ? html`<div class="parts">
          ${parts(node).map((part, i) => html`<${Node} key=${i} tree=${tree} node=${part} path=${[...path, i]} options=${options}
            onChange=${onChange} />`)}
        </div>`
      : null}
  </div>`;
}

export function KernelEditor({ kernel, options, onChange, error }) {
  return html`<${Section} title="Kernel">
    <p class="sentence">k = <span id="kernel-sentence">${sentence(kernel, options)}</span></p>
    <${Node} tree=${kernel} node=${kernel} path=${[]} options=${options} onChange=${onChange} />
    <${Problem} error=${error} />
  <//>`;
}
