// Loss, λ and offset of the machine.

import { html } from "../../vendor/preact.js";
import { Choice, Explained, Section, Tick } from "../parts/controls.js";
import { Problem } from "../parts/notice.js";
import { Parameters, Slider } from "../parts/slider.js";
import { withDefaults } from "../state/kernel_tree.js";

// The loss that is chosen, or the first there is: tasks have different ones.
export const lossOf = (wished, choices) => {
  const known = choices.find((choice) => choice.kind === wished?.kind) ?? choices[0];
  return known.kind === wished?.kind ? wished : withDefaults({ kind: known.kind }, known.parameters);
};

export function LossChoice({ loss, choices, onChange }) {
  const known = choices.find((choice) => choice.kind === loss.kind);
  const choose = (kind) => onChange(lossOf({ kind: null }, choices.filter((choice) => choice.kind === kind)));
  return html`<${Choice} label="Loss" value=${loss.kind} options=${choices} onChange=${choose} />
    ${known?.formula ? html`<span class="formula">V(y, s) = ${known.formula}</span>` : null}
    <${Parameters} parameters=${known?.parameters} values=${loss} onChange=${onChange} />`;
}

// The slider goes over what is of use; the field takes all that the service does.
export const LAMBDA = { low: 1e-8, high: 10, scale: "log", typed: { low: 1e-12, high: 1e6 } };

// The sentence of the whole page: what every machine minimises.
function Objective({ offset }) {
  const b = offset ? " + b" : "";
  return html`<p class="formula objective">min over f${offset ? ", b" : ""}: (1/n) Σᵢ V(yᵢ, f(xᵢ)${b}) + λ‖f‖²</p>
    <${Explained} title="What is this?">V is the loss: what a score s = f(x)${b} costs where y is right. λ is the weight of the
      penalty ‖f‖²: a large one makes f smooth and small, a small one lets it follow every example.
      ${offset ? " b shifts all scores and costs nothing." : ""}<//>`;
}

export function MachinePanel({ machine, setMachine, choices, found, error }) {
  const loss = lossOf(machine.loss, choices);
  const auto = machine.lam === "auto";
  const shown = auto ? Math.min(Math.max(found ?? 0.01, LAMBDA.low), LAMBDA.high) : machine.lam;
  return html`<${Section} title="Machine">
    <${Objective} offset=${machine.offset} />
    <${LossChoice} loss=${loss} choices=${choices} onChange=${(next) => setMachine({ ...machine, loss: next }, "loss")} />
    <${Slider} label="λ" value=${shown} ...${LAMBDA} disabled=${auto}
      onChange=${(lam) => setMachine({ ...machine, lam }, "lam")} />
    <p class="row">
      <${Tick} label="λ from the data" checked=${auto}
        onChange=${(yes) => setMachine({ ...machine, lam: yes ? "auto" : Number((found ?? 0.01).toPrecision(3)) })} />
      <${Tick} label="offset b" checked=${machine.offset} onChange=${(offset) => setMachine({ ...machine, offset })} />
    </p>
    <${Problem} error=${error} />
  <//>`;
}
