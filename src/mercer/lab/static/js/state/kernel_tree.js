// The kernel as a tree: leaves are kernels by name, inner nodes are "sum" and "product" with `parts`, others wrap one kernel in `of`.
// A path is the list of places from the root: [1, 0] is the first part of the second part.

export const MOST_NODES = 20;
export const MOST_DEPTH = 6;

export const parts = (node) => node.parts ?? (node.of ? [node.of] : []);

const withParts = (node, children) => (node.parts ? { ...node, parts: children } : { ...node, of: children[0] });

export const size = (node) => 1 + parts(node).reduce((sum, part) => sum + size(part), 0);

export const depth = (node) => 1 + Math.max(0, ...parts(node).map(depth));

export function changedAt(tree, path, change) {
  if (!path.length) return change(tree);
  const [first, ...rest] = path;
  return withParts(
    tree,
    parts(tree).map((part, i) => (i === first ? changedAt(part, rest, change) : part)),
  );
}

// Join a new part to a node: a sum grows by it, anything else becomes a sum of two.
export const joined = (node, kind, part) =>
  node.kind === kind ? { ...node, parts: [...node.parts, part] } : { kind, parts: [node, part] };

// Take away what the path leads to. A sum of one part is that part; what wrapped the removed part goes with its wrapping undone.
export function removedAt(tree, path) {
  if (!path.length) return tree;
  const [first, ...rest] = path;
  if (rest.length) return changedAt(tree, [first], (part) => removedAt(part, rest));
  const left = parts(tree).filter((_, i) => i !== first);
  if (tree.of) return tree.of;
  return left.length === 1 ? left[0] : { ...tree, parts: left };
}

export const unwrapped = (node) => node.of ?? node.parts?.[0] ?? node;

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raised = (n) => [...String(n)].map((digit) => SUPERSCRIPTS[digit] ?? digit).join("");

// One line a person can read: gaussian(σ = 0.5) + 2·linear.
export function sentence(node, options) {
  const inner = parts(node).map((part) => sentence(part, options));
  const bracket = (text) => (text.includes(" + ") ? `(${text})` : text);
  switch (node.kind) {
    case "sum":
      return inner.join(" + ");
    case "product":
      return inner.map(bracket).join(" · ");
    case "scale":
      return `${node.factor}·${bracket(inner[0])}`;
    case "power":
      return `(${inner[0]})${raised(node.exponent)}`;
    case "exp":
      return `exp(${inner[0]})`;
    case "normalized":
      return `norm(${inner[0]})`;
    default: {
      const known = options.kernels.find((kernel) => kernel.kind === node.kind);
      const values = (known?.parameters ?? []).map(({ name, title }) => `${title} = ${node[name]}`);
      return values.length ? `${node.kind}(${values.join(", ")})` : node.kind;
    }
  }
}

export function leaf(options, kind) {
  const known = options.kernels.find((kernel) => kernel.kind === kind);
  return withDefaults({ kind }, known?.parameters);
}

// A choice such as a loss, a step or a kernel, with what its parameters are to begin with.
export function withDefaults(node, parameters = []) {
  const values = Object.fromEntries((parameters ?? []).map(({ name, default: value }) => [name, value]));
  return { ...values, ...node };
}
