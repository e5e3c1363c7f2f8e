// Okabe and Ito's palette without its black and yellow, as in the library's figures. A class has a colour and a shape.

export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

export const colour = (c) => COLOURS[c % COLOURS.length];

export const rgb = (c) => [1, 3, 5].map((at) => parseInt(colour(c).slice(at, at + 2), 16));

export const SHAPES = ["circle", "triangle", "square", "diamond", "plus", "star"];

const around = (radius, corners, turn = -Math.PI / 2) =>
  Array.from({ length: corners }, (_, k) => {
    const angle = turn + (2 * Math.PI * k) / corners;
    const length = Array.isArray(radius) ? radius[k % 2] : radius;
    return `${(length * Math.cos(angle)).toFixed(2)},${(length * Math.sin(angle)).toFixed(2)}`;
  });

const PATHS = {
  circle: (r) => `M${-r},0A${r},${r} 0 1 0 ${r},0A${r},${r} 0 1 0 ${-r},0Z`,
  triangle: (r) => `M${around(1.25 * r, 3).join("L")}Z`,
  square: (r) => `M${around(1.25 * r, 4, -Math.PI / 4).join("L")}Z`,
  diamond: (r) => `M${around(1.3 * r, 4).join("L")}Z`,
  plus: (r) => {
    const [a, b] = [1.25 * r, 0.45 * r];
    return `M${-b},${-a}H${b}V${-b}H${a}V${b}H${b}V${a}H${-b}V${b}H${-a}V${-b}H${-b}Z`;
  },
  star: (r) => `M${around([1.4 * r, 0.6 * r], 10).join("L")}Z`,
};

const memory = new Map();

// The outline of the marker of a class, around the origin.
export function shape(c, radius) {
  const key = `${c % SHAPES.length} ${radius}`;
  if (!memory.has(key)) memory.set(key, PATHS[SHAPES[c % SHAPES.length]](radius));
  return memory.get(key);
}
