// The points of the plane: plain objects {x, y, c}, where c is the place of the label in `classes`. For curves, y is the number.

export const EMPTY = { task: "labels", points: [], classes: [-1, 1], window: [-3, 3, -3, 3] };

// What a page that is opened for the first time shows, and what the sliders of samples begin with.
export const FIRST = { n: 80, noise: 0.15, seed: 0 };

// A label as it is written, with a true minus.
export const named = (label) => String(label).replace(/^-/, "−");

const rounded = (value) => Number(value.toPrecision(6));

// A label that none of the classes has yet: the next whole number, or the next letter among words.
export function freshLabel(classes) {
  if (classes.every((label) => typeof label === "number")) {
    return classes.length ? Math.max(...classes.map(Math.round)) + 1 : 0;
  }
  const letters = [..."ABCDEFGHIJ"].filter((letter) => !classes.includes(letter));
  return letters[0] ?? `class ${classes.length + 1}`;
}

export const withClasses = (data, count) => {
  const classes = [...data.classes];
  while (classes.length < count) classes.push(freshLabel(classes));
  return classes.length === data.classes.length ? data : { ...data, classes };
};

export const clamped = (window, { x, y }) => ({
  x: rounded(Math.min(Math.max(x, window[0]), window[1])),
  y: rounded(Math.min(Math.max(y, window[2]), window[3])),
});

// A class that is not there yet is the next one: no others are made on the way to it.
const within = (data, c) => Math.min(c, data.classes.length);

export const added = (data, place, wished) => {
  const c = within(data, wished);
  const grown = withClasses(data, c + 1);
  return { ...grown, points: [...grown.points, { ...clamped(data.window, place), c }] };
};

export const moved = (data, i, place) => replaced(data, i, clamped(data.window, place));

export const relabelled = (data, i, wished) => {
  const c = within(data, wished);
  return replaced(withClasses(data, c + 1), i, { c });
};

export const cleared = (data) => ({ ...data, points: [], classes: data.classes.slice(0, 2) });

export const removed = (data, i) => ({ ...data, points: data.points.filter((_, j) => j !== i) });

export const replaced = (data, i, fields) => ({
  ...data,
  points: data.points.map((point, j) => (j === i ? { ...point, ...fields } : point)),
});

// A window that has all points in it, no smaller than it was.
export const grown = (data) => {
  const [a, b, c, d] = data.window;
  const xs = data.points.map((point) => point.x);
  const ys = data.points.map((point) => point.y);
  const window = [Math.min(a, ...xs), Math.max(b, ...xs), Math.min(c, ...ys), Math.max(d, ...ys)];
  return { ...data, window };
};

// What the service calls X and y.
export function asRequest(data) {
  const curve = data.task === "curve";
  return {
    task: data.task,
    X: data.points.map((point) => (curve ? [point.x] : [point.x, point.y])),
    y: data.points.map((point) => (curve ? point.y : data.classes[point.c])),
    window: data.window,
  };
}

const inOrder = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1);

// The answer of /api/sample and /api/csv as points.
export function fromAnswer({ task, X, y, window }) {
  if (task === "curve") {
    return { ...EMPTY, task, window, points: X.map(([x], i) => ({ x, y: y[i], c: 0 })) };
  }
  const found = [...new Set(y)].sort(inOrder);
  const classes = withClasses({ classes: found }, 2).classes;
  const points = X.map(([x, above], i) => ({ x, y: above, c: classes.indexOf(y[i]) }));
  return { task, window, classes, points };
}

// Enough to learn from? If not, the sentence that says what is missing.
export function missing(data) {
  if (data.points.length < 2) return "Put at least two points on the plane, or take a sample.";
  if (data.task === "labels" && new Set(data.points.map((point) => point.c)).size < 2) {
    return "All points have one label. Give at least one point another (keys 1 to 6, or the class buttons).";
  }
  return null;
}
