// A hypothesis that a person draws: by handles on the plane, or by coefficients. What is sent are the numbers that `controls` asks for.

const grid = (n, low, high) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

const between = ([left, right, low, high], across, up) => ({
  x: left + across * (right - left),
  y: low + up * (high - low),
  c: 0,
});

// The word before the colon of `controls`; coefficients have none.
export const kindOf = (game) => game.controls.match(/^(line|box|intervals|interval)\b/)?.[1] ?? "coefficients";

const HANDLES = {
  line: (window) => [between(window, 0.5, 0.15), between(window, 0.5, 0.85)],
  box: (window) => [between(window, 0.3, 0.3), between(window, 0.7, 0.7)],
  interval: (window) => [between(window, 0.35, 0.5), between(window, 0.65, 0.5)],
  intervals: (window) => [0.2, 0.4, 0.6, 0.8].map((across) => between(window, across, 0.5)),
};

export const freshDraft = (game, window) =>
  kindOf(game) === "coefficients" ? { numbers: [-1, 0, -1, 0, 0, 1] } : { handles: HANDLES[kindOf(game)](window) };

export function numbersOf(game, draft) {
  const kind = kindOf(game);
  if (kind === "coefficients") return draft.numbers;
  if (kind.startsWith("interval")) return draft.handles.map(({ x }) => x).sort((a, b) => a - b);
  return draft.handles.flatMap(({ x, y }) => [x, y]);
}

// The part of the window to the left of the way from one handle to the other.
function leftOf([a, b], [left, right, low, high]) {
  const ring = [[left, low], [right, low], [right, high], [left, high]];
  const height = ([x, y]) => (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
  return ring.flatMap((corner, i) => {
    const next = ring[(i + 1) % 4];
    const [here, there] = [height(corner), height(next)];
    const cut = here / (here - there);
    const kept = here >= 0 ? [corner] : [];
    const crossed = here >= 0 !== there >= 0;
    return crossed ? [...kept, corner.map((value, k) => value + cut * (next[k] - value))] : kept;
  });
}

const bar = (a, b, [, , low, high]) => [[a, low], [b, low], [b, high], [a, high]];

// What the draft would hold: polygons, or, of a conic, the values of its polynomial on a grid.
export function regionsOf(game, draft, window) {
  const kind = kindOf(game);
  if (kind === "line") return { regions: [leftOf(draft.handles, window)] };
  if (kind === "box") {
    const [a, b] = draft.handles;
    return { regions: [[[a.x, a.y], [b.x, a.y], [b.x, b.y], [a.x, b.y]]] };
  }
  if (kind !== "coefficients") {
    const ends = numbersOf(game, draft);
    return { regions: ends.filter((_, i) => i % 2 === 0).map((end, i) => bar(end, ends[2 * i + 1], window)) };
  }
  const [a, b, c, d, e, f] = draft.numbers;
  const n = 60;
  const xs = grid(n, window[0], window[1]);
  const values = grid(n, window[2], window[3]).flatMap((y) => xs.map((x) => a * x * x + b * x * y + c * y * y + d * x + e * y + f));
  return { conic: { nx: n, ny: n, values } };
}
