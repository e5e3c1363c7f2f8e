// The plane by keyboard: a cursor that arrow keys move; what lies under it can be added, taken up, moved, relabelled, deleted.

import { added, clamped, moved, relabelled, removed } from "../state/points.js";
import { number } from "../parts/format.js";
import { announce } from "../parts/announce.js";
import { nearest } from "./geometry.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const STEPS = 40;
const LEAP = 5; // times as far with Shift

export const spoken = (data, { x, y, c }) =>
  `${number(x)}, ${number(y)}${data.task === "labels" && c !== undefined ? `, class ${data.classes[c]}` : ""}`;

function go(plane, event) {
  const { cursor, data } = plane;
  const [left, right, low, high] = data.window;
  const [dx, dy] = ARROWS[event.key].map((way) => (way * (event.shiftKey ? LEAP : 1)) / STEPS);
  const to = clamped(data.window, { x: cursor.x + dx * (right - left), y: cursor.y + dy * (high - low) });
  plane.setCursor(to);
  if (plane.held >= 0) plane.onChange(moved(data, plane.held, to), "move");
  const under = plane.held >= 0 ? -1 : pointUnder(plane, to);
  announce(under >= 0 ? `point ${under + 1}: ${spoken(data, data.points[under])}` : spoken(data, to), 150);
}

const pointUnder = ({ data, project }, place) =>
  nearest(data.points, project, project.x(place.x), project.y(place.y));

function enter(plane) {
  const { data, cursor, held, canAdd } = plane;
  if (held >= 0) {
    plane.setHeld(-1);
    return announce("put down", 50);
  }
  const under = pointUnder(plane, cursor);
  if (plane.onPick) return under >= 0 ? plane.onPick(under) : announce("no point under the cursor", 50);
  if (under >= 0) {
    plane.setHeld(under);
    plane.setCursor(data.points[under]);
    return announce(`point ${under + 1} taken up: arrow keys move it, Enter puts it down`, 50);
  }
  if (!canAdd) return announce("no more points here", 50);
  plane.onChange(added(data, cursor, plane.current));
  return announce(`point ${data.points.length + 1} added: ${spoken(data, { ...cursor, c: plane.current })}`, 50);
}

function remove(plane) {
  const under = plane.held >= 0 ? plane.held : pointUnder(plane, plane.cursor);
  if (under < 0) return announce("no point under the cursor", 50);
  plane.setHeld(-1);
  plane.onChange(removed(plane.data, under));
  return announce(`point ${under + 1} deleted, ${plane.data.points.length - 1} left`, 50);
}

function digit(plane, c) {
  if (plane.data.task !== "labels" || c >= plane.most) return;
  plane.setCurrent(c);
  const under = plane.held >= 0 ? plane.held : pointUnder(plane, plane.cursor);
  if (under >= 0) plane.onChange(relabelled(plane.data, under, c));
  announce(under >= 0 ? `point ${under + 1} is of class ${c + 1} now` : `new points are of class ${c + 1}`, 50);
}

// To the next or previous point, in the order in which they were put down.
function jump(plane, way) {
  const { data, cursor } = plane;
  const count = data.points.length;
  if (!count) return;
  const under = pointUnder(plane, cursor);
  const to = under < 0 ? (way > 0 ? 0 : count - 1) : (under + way + count) % count;
  plane.setHeld(-1);
  plane.setCursor({ x: data.points[to].x, y: data.points[to].y });
  announce(`point ${to + 1} of ${count}: ${spoken(data, data.points[to])}`, 50);
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

// `plane` is {data, project, cursor, setCursor, held, setHeld, current, setCurrent, most, canAdd, onChange, onPick}.
export function onKey(plane, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in ARROWS) go(plane, event);
  else if (event.key in ACTIONS) ACTIONS[event.key](plane);
  else if (/^[1-9]$/.test(event.key)) digit(plane, Number(event.key) - 1);
  else return;
  event.preventDefault();
}
