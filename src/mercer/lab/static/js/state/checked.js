// Whether points and a machine that come from a file, or from an older page, can be shown. Anybody can edit a file.

import { MOST_DEPTH, MOST_NODES, depth, parts, size } from "./kernel_tree.js";

const isLabel = (label) => typeof label === "string" || Number.isFinite(label);

export function isData(data, { limits }) {
  if (!["labels", "curve"].includes(data?.task)) return false;
  const { points, classes, window } = data;
  const isPoint = (point) =>
    Number.isFinite(point?.x) && Number.isFinite(point.y) && Number.isInteger(point.c) && point.c >= 0 && point.c < classes.length;
  return (
    Array.isArray(classes) && classes.length >= 1 && classes.length <= limits.classes && classes.every(isLabel) &&
    Array.isArray(points) && points.length <= limits.points && points.every(isPoint) &&
    Array.isArray(window) && window.length === 4 && window.every(Number.isFinite) &&
    window[0] < window[1] && window[2] < window[3]
  );
}

const hasParameters = (node, known) =>
  (known.parameters ?? []).every(({ name, from_data: open }) => Number.isFinite(node[name]) || (open && node[name] === "auto"));

function isNode(node, options) {
  if (typeof node !== "object" || node === null) return false;
  const leaf = options.kernels.find(({ kind }) => kind === node.kind);
  if (leaf) return !node.parts && !node.of && hasParameters(node, leaf);
  const joint = options.combinations.find(({ kind }) => kind === node.kind);
  if (!joint || !hasParameters(node, joint)) return false;
  const shape = joint.arity === "many" ? Array.isArray(node.parts) && node.parts.length > 0 && !node.of : node.of && !node.parts;
  return Boolean(shape) && parts(node).every((part) => isNode(part, options));
}

export function isMachine(machine, options) {
  const { kernel, lam, offset, loss } = machine ?? {};
  return (
    isNode(kernel, options) && depth(kernel) <= MOST_DEPTH && size(kernel) <= MOST_NODES &&
    (lam === "auto" || (Number.isFinite(lam) && lam > 0)) &&
    typeof offset === "boolean" &&
    (loss === null || typeof loss?.kind === "string")
  );
}
