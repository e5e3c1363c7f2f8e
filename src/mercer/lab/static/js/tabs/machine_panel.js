// Loss, λ and offset of the machine.

import { html } from "../../vendor/preact.js";
import { Choice, Section, Tick } from "../parts/controls.js";
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

export const LAMBDA = { low: 1e-8, high: 10, scale: "log" };

export function MachinePanel({ machine, setMachine, choices, found, error }) {
  const loss = lossOf(machine.loss, choices);
  const auto = machine.lam === "auto";
  const shown = auto ? Math.min(Math.max(found ?? 0.01, LAMBDA.low), LAMBDA.high) : machine.lam;
  return html`<${Section} title="Machine">
    <${LossChoice} loss=${loss} choices=${choices} onChange=${(next) => setMachine({ ...machine, loss: next }, "loss")} />
    <${Slider} label="λ" value=${shown} ...${LAMBDA} disabled=${auto}
      onChange=${(lam) => setMachine({ ...machine, lam }, "lam")} />
    <p class="row">
      <${Tick} label="choose λ by itself" checked=${auto}
        onChange=${(yes) => setMachine({ ...machine, lam: yes ? "auto" : Number((found ?? 0.01).toPrecision(3)) })} />
      <${Tick} label="offset b" checked=${machine.offset} onChange=${(offset) => setMachine({ ...machine, offset })} />
    </p>
    <${Problem} error=${error} />
  <//>`;
}
