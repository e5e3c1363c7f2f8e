// The plane: a picture behind, lines, points before; focusable, so that the keyboard can do all that the mouse can.

import { html, useId, useMemo, useRef, useState } from "../../vendor/preact.js";
import { colour, shape } from "../parts/palette.js";
import { Axes } from "./axes.js";
import { MARGIN, projection, useSize } from "./geometry.js";
import { onKey } from "./keys.js";
import { usePointer } from "./pointer.js";

const KEYS =
  "Arrow keys move the cursor, with Shift further. Enter adds a point, or takes up the one under the cursor and puts it down. " +
  "Delete removes it. Digits choose the class. N and P go to the next and previous point.";

const radius = (count) => (count > 400 ? 2.6 : count > 120 ? 3.6 : 5);

function Points({ data, project, emphasis }) {
  const r = radius(data.points.length);
  const single = data.task === "curve";
  return html`<g class="points">
    ${data.points.map(
      ({ x, y, c }, i) => html`<path
        key=${i}
        d=${shape(single ? 0 : c, r)}
        fill=${colour(single ? 0 : c)}
        class=${emphasis?.(i) ?? ""}
        transform=${`translate(${project.x(x).toFixed(1)},${project.y(y).toFixed(1)})`}
      />`,
    )}
  </g>`;
}

function Cursor({ cursor, project, held }) {
  const [x, y] = [project.x(cursor.x), project.y(cursor.y)];
  return html`<g class=${`cursor ${held ? "held" : ""}`} transform=${`translate(${x},${y})`}>
    <path d="M-14,0H-4M4,0H14M0,-14V-4M0,4V14" />
    <circle r=${held ? 10 : 8} />
  </g>`;
}

// `behind`, `below` and `above` are functions of {project, size}: HTML behind the drawing, SVG below and above the points.
// Without `onChange` the points cannot be changed; with `onPick`, a click or Enter on a point calls that instead of moving it.
export function Plane(props) {
  const { data, label, onChange, current = 0, setCurrent = () => {}, tool = "add", most = 6, limit = 2000 } = props;
  const [ref, size] = useSize(props.ratio ?? 0.92);
  const help = useId();
  const middle = { x: (data.window[0] + data.window[1]) / 2, y: (data.window[2] + data.window[3]) / 2 };
  const [place, setCursor] = useState(null);
  const [held, setHeld] = useState(-1);
  const reached = useRef(-1); // the point that N or P went to
  const project = useMemo(() => projection(data.window, size), [data.window, size.width, size.height]);
  const plane = {
    data, project, tool, current, setCurrent, most, onChange,
    onPick: props.onPick,
    cursor: place ?? middle, setCursor, setHeld, reached,
    held: held < data.points.length ? held : -1,
    canAdd: data.points.length < limit,
  };
  usePointer(ref, plane);
  const cut = useId();
  const layer = { project, size, clip: `url(#${cut})` };
  const points = useMemo(
    () => html`<${Points} data=${data} project=${project} emphasis=${props.emphasis} />`,
    [data, project, props.emphasis],
  );
  return html`<div
    class=${`plane ${onChange ? "" : "fixed"}`}
    ref=${ref}
    tabindex="0"
    role=${onChange ? "application" : "img"}
    aria-label=${`${label}: ${data.points.length} points`}
    aria-describedby=${onChange ? help : undefined}
    style=${{ height: `${size.height}px` }}
    onKeyDown=${(event) => onChange && onKey(plane, event)}
    onBlur=${() => setHeld(-1)}
  >
    ${onChange ? html`<span class="unseen" id=${help}>${KEYS}</span>` : null}
    ${props.behind?.(layer)}
    <svg width=${size.width} height=${size.height} aria-hidden="true">
      <clipPath id=${cut}><rect x=${MARGIN.left} y=${MARGIN.top} width=${project.width} height=${project.height} /></clipPath>
      <${Axes} window=${data.window} project=${project} size=${size} />
      ${props.below?.(layer)} ${points} ${props.above?.(layer)}
      ${onChange ? html`<${Cursor} cursor=${plane.cursor} project=${project} held=${plane.held >= 0} />` : null}
    </svg>
  </div>`;
}
