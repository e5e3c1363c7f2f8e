// The plane by keyboard: a cursor that arrow keys move; what lies under it can be added, taken up, moved, relabelled, deleted.

import { added, clamped, moved, named, relabelled, removed, withClasses } from "../state/points.js";
import { number } from "../parts/format.js";
import { announce } from "../parts/announce.js";
import { nearest } from "./geometry.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const STEPS = 40;
const LEAP = 5; // times as far with Shift

export const spoken = (data, { x, y, c }) =>
  `${number(x)}, ${number(y)}${data.task === "labels" && c !== undefined ? `, class ${named(data.classes[c])}` : ""}`;

function go(plane, event) {
  const { cursor, data } = plane;
  const [left, right, low, high] = data.window;
  const [dx, dy] = ARROWS[event.key].map((way) => (way * (event.shiftKey ? LEAP : 1)) / STEPS);
  const to = clamped(data.window, { x: cursor.x + dx * (right - left), y: cursor.y + dy * (high - low) });
  plane.setCursor(to);
  if (plane.held >= 0) plane.onChange(moved(data, plane.held, to), "move");
  const under = plane.held >= 0 ? -1 : pointUnder(plane, to);
  announce(under >= 0 ? `point ${under + 1}: ${spoken(data, data.points[under])}` : spoken(data, to), "cursor", 150);
}

// The point that N or P went to, as long as the cursor is at it; otherwise the nearest. Points may lie on one another.
function pointUnder({ data, project, reached }, place) {
  const point = data.points[reached.current];
  if (point && point.x === place.x && point.y === place.y) return reached.current;
  return nearest(data.points, project, project.x(place.x), project.y(place.y));
}

function enter(plane) {
  const { data, cursor, held, canAdd } = plane;
  if (held >= 0) {
    plane.setHeld(-1);
    return announce("put down");
  }
  const under = pointUnder(plane, cursor);
  if (plane.onPick) return under >= 0 ? plane.onPick(under) : announce("no point under the cursor");
  if (under >= 0) {
    plane.setHeld(under);
    plane.setCursor(data.points[under]);
    return announce(`point ${under + 1} taken up: arrow keys move it, Enter puts it down`);
  }
  if (!canAdd) return announce("no more points here");
  const grown = added(data, cursor, plane.current);
  plane.onChange(grown);
  return announce(`point ${grown.points.length} added: ${spoken(grown, grown.points.at(-1))}`);
}

function remove(plane) {
  const under = plane.held >= 0 ? plane.held : pointUnder(plane, plane.cursor);
  if (under < 0) return announce("no point under the cursor");
  plane.setHeld(-1);
  plane.onChange(removed(plane.data, under));
  return announce(`point ${under + 1} deleted, ${plane.data.points.length - 1} left`);
}

// The class of new points, or of the one under the cursor. A digit beyond the classes makes the next one, and no more.
function digit(plane, wished) {
  const { data, most } = plane;
  const c = Math.min(wished, data.classes.length);
  if (data.task !== "labels" || c >= most) return;
  const grown = withClasses(data, c + 1);
  plane.setCurrent(c);
  const under = plane.held >= 0 ? plane.held : pointUnder(plane, plane.cursor);
  if (under >= 0) plane.onChange(relabelled(grown, under, c));
  else if (grown !== data) plane.onChange(grown);
  const name = `${grown === data ? "" : "the new "}class ${named(grown.classes[c])}`;
  announce(under >= 0 ? `point ${under + 1} is of ${name} now` : `new points are of ${name}`);
}

// To the next or previous point, in the order in which they were put down.
function jump(plane, way) {
  const { data, cursor } = plane;
  const count = data.points.length;
  if (!count) return;
  const under = pointUnder(plane, cursor);
  const to = under < 0 ? (way > 0 ? 0 : count - 1) : (under + way + count) % count;
  plane.setHeld(-1);
  plane.reached.current = to;
  plane.setCursor({ x: data.points[to].x, y: data.points[to].y });
  announce(`point ${to + 1} of ${count}: ${spoken(data, data.points[to])}`);
}

const ACTIONS = {
  Enter: enter,
  " ": enter,
  Delete: remove,
  Backspace: remove,
  Escape: (plane) => plane.setHeld(-1),
  n: (plane) => jump(plane, 1),
  p: (plane) => jump(plane, -1),
};

// `plane` is {data, project, cursor, setCursor, reached, held, setHeld, current, setCurrent, most, canAdd, onChange, onPick}.
export function onKey(plane, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key in ARROWS) go(plane, event);
  else if (key in ACTIONS) ACTIONS[key](plane);
  else if (/^[1-9]$/.test(key)) digit(plane, Number(key) - 1);
  else return;
  event.preventDefault();
}
