// What stands above the plane: which class a click gives, what a click does, undo, redo, clear.

import { html } from "../../vendor/preact.js";
import { Action, Segments } from "../parts/controls.js";
import { colour, shape } from "../parts/palette.js";
import { cleared, named, withClasses } from "../state/points.js";

const TOOLS = [
  { kind: "add", title: "Add · move", hint: "click adds, drag moves" },
  { kind: "relabel", title: "Relabel", hint: "click gives a point the chosen class" },
  { kind: "erase", title: "Erase", hint: "click deletes a point" },
];

function Classes({ data, current, setCurrent, most, add }) {
  return html`<fieldset class="classes">
    <legend class="unseen">Class of new points</legend>
    ${data.classes.map(
      (label, c) => html`<label key=${c} title=${`class ${label} (key ${c + 1})`}>
        <input type="radio" name="class" checked=${c === current} onChange=${() => setCurrent(c)}
          aria-label=${`class ${label}`} />
        <span><svg width="14" height="14" viewBox="-8 -8 16 16" aria-hidden="true"><path d=${shape(c, 5)}
          fill=${colour(c)} /></svg>${named(label)}</span>
      </label>`,
    )}
    ${data.classes.length < most ? html`<${Action} label="One class more" onClick=${add}>+<//>` : null}
  </fieldset>`;
}

export function PlaneTools({ lab, tool, setTool, current, setCurrent }) {
  const { data, setData, history, options } = lab;
  const labels = data.task === "labels";
  const most = options.limits?.classes ?? 6;
  const addClass = () => {
    setData(withClasses(data, data.classes.length + 1));
    setCurrent(data.classes.length);
  };
  const clear = () => {
    setData(cleared(data));
    setCurrent?.(Math.min(current, 1));
  };
  return html`<div class="tools">
    ${labels ? html`<${Classes} data=${data} current=${current} setCurrent=${setCurrent} most=${most} add=${addClass} />` : null}
    <${Segments} label="What a click does" value=${tool} options=${labels ? TOOLS : [TOOLS[0], TOOLS[2]]} onChange=${setTool} />
    <span class="row">
      <${Action} label="Undo" disabled=${!history.canUndo} onClick=${history.undo}>↶<//>
      <${Action} label="Redo" disabled=${!history.canRedo} onClick=${history.redo}>↷<//>
      <${Action} label="Clear: remove all points" disabled=${!data.points.length}
        onClick=${clear}>Clear<//>
    </span>
  </div>`;
}
