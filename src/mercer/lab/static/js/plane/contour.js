// Level lines of a grid of numbers, by marching squares: in every square of four neighbours, the line runs straight.

// Which sides of a square a line joins, for each pattern of corners above the level. Sides: 0 low, 1 right, 2 high, 3 left.
const SIDES = [
  [], [[3, 0]], [[0, 1]], [[3, 1]], [[1, 2]], [[3, 0], [1, 2]], [[0, 2]], [[3, 2]],
  [[2, 3]], [[2, 0]], [[0, 1], [2, 3]], [[2, 1]], [[1, 3]], [[1, 0]], [[0, 3]], [],
];

function crossing(side, values, level, i, j) {
  const [a, b, c, d] = values;
  const share = (from, to) => (level - from) / (to - from);
  if (side === 0) return [i + share(a, b), j];
  if (side === 1) return [i + 1, j + share(b, c)];
  if (side === 2) return [i + share(d, c), j + 1];
  return [i, j + share(a, d)];
}

// Segments [[x, y], [x, y]] in steps of the grid, which has nx columns and ny rows, row after row.
export function segments(values, nx, ny, level) {
  const found = [];
  for (let j = 0; j + 1 < ny; j += 1) {
    for (let i = 0; i + 1 < nx; i += 1) {
      const at = j * nx + i;
      const corners = [values[at], values[at + 1], values[at + nx + 1], values[at + nx]];
      const pattern = corners.reduce((sum, value, k) => sum + (value > level ? 1 << k : 0), 0);
      for (const [from, to] of SIDES[pattern]) {
        found.push([crossing(from, corners, level, i, j), crossing(to, corners, level, i, j)]);
      }
    }
  }
  return found;
}

// The same as the path of an SVG. The first and last column of the grid lie on the sides of the window.
export function levelPath(grid, values, level, window, project) {
  const { nx, ny } = grid;
  const x = (i) => project.x(window[0] + ((window[1] - window[0]) * i) / (nx - 1)).toFixed(1);
  const y = (j) => project.y(window[2] + ((window[3] - window[2]) * j) / (ny - 1)).toFixed(1);
  return segments(values, nx, ny, level)
    .map(([[a, b], [c, d]]) => `M${x(a)},${y(b)}L${x(c)},${y(d)}`)
    .join("");
}

// The part of the window where the values are at least 0, as one path of the SVG: of each square, the corner that is.
export function regionPath({ nx, ny, values }, window, project) {
  const x = (i) => project.x(window[0] + ((window[1] - window[0]) * i) / (nx - 1)).toFixed(2);
  const y = (j) => project.y(window[2] + ((window[3] - window[2]) * j) / (ny - 1)).toFixed(2);
  const found = [];
  for (let j = 0; j + 1 < ny; j += 1) {
    for (let i = 0; i + 1 < nx; i += 1) {
      const at = j * nx + i;
      const heights = [values[at], values[at + 1], values[at + nx + 1], values[at + nx]];
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const ring = corners.flatMap((corner, side) => {
        const [here, there] = [heights[side], heights[(side + 1) % 4]];
        const kept = here >= 0 ? [corner] : [];
        return here >= 0 !== there >= 0 ? [...kept, crossing(side, heights, 0, i, j)] : kept;
      });
      if (ring.length > 2) found.push(`M${ring.map(([a, b]) => `${x(a)},${y(b)}`).join("L")}Z`);
    }
  }
  return found.join("");
}

// By how much each class leads all others: where that is zero, two classes meet.
export function leads(scores) {
  return scores.map((own, c) =>
    own.map((score, at) => {
      let best = -Infinity;
      for (let k = 0; k < scores.length; k += 1) if (k !== c && scores[k][at] > best) best = scores[k][at];
      return score - best;
    }),
  );
}
