// A number by a slider and by typing it. The slider may be logarithmic; what is typed is taken exactly.

import { Fragment, html, useEffect, useId, useState } from "../../vendor/preact.js";
import { Choice, Tick } from "./controls.js";
import { number } from "./format.js";

const STEPS = 240;

// Where only some values have a meaning, the nearest of them.
const snapped = (value, { low, step }) => (step ? low + step * Math.round((value - low) / step) : value);

const position = (value, { low, high, scale }) => {
  if (scale === "log") return (STEPS * Math.log(value / low)) / Math.log(high / low);
  return (STEPS * (value - low)) / (high - low);
};

const at = (place, { low, high, scale }) => {
  if (scale === "integer") return Math.round(low + ((high - low) * place) / STEPS);
  const value = scale === "log" ? low * (high / low) ** (place / STEPS) : low + ((high - low) * place) / STEPS;
  return Number(value.toPrecision(3));
};

const atStep = (place, range) => snapped(at(place, range), range);

// While it is being typed, a number may be none: the field keeps the text, the value stays.
function Exact({ label, value, range, onChange }) {
  const [text, setText] = useState(String(value));
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    setText(String(value));
    setWrong("");
  }, [value]);
  const take = (typed) => {
    setText(typed);
    const found = Number(typed.replace(",", "."));
    if (typed.trim() === "" || !Number.isFinite(found)) return setWrong("a number, please");
    if (found < range.low || found > range.high) return setWrong(`${number(range.low)} to ${number(range.high)}, please`);
    if (range.scale === "integer" && !Number.isInteger(found)) return setWrong("a whole number, please");
    setWrong("");
    return onChange(snapped(found, range));
  };
  return html`<span class="exact">
    <input
      type="text"
      inputmode="decimal"
      aria-label=${`${label}, exactly`}
      aria-invalid=${wrong !== ""}
      value=${text}
      onInput=${(event) => take(event.target.value)}
    />
    ${wrong ? html`<span class="wrong" role="alert">${wrong}</span>` : null}
  </span>`;
}

// `typed` is how far the field goes, where that is further than the slider.
export function Slider({ label, value, low, high, scale = "linear", step = null, typed = null, onChange, disabled = false, fixed = null, hint }) {
  const id = useId();
  const range = { low, high, scale, step };
  const whole = scale === "integer";
  const input = whole
    ? { min: low, max: high, step: 1, value }
    : { min: 0, max: STEPS, step: 1, value: Math.round(position(value, range)) };
  const move = (event) => onChange(whole ? Number(event.target.value) : atStep(Number(event.target.value), range));
  return html`<div class="slider" title=${hint}>
    <label for=${id}>${label}</label>
    <input type="range" id=${id} ...${input} aria-valuetext=${String(value)} disabled=${disabled} onInput=${move} />
    ${disabled ? html`<span class="exact fixed">${fixed ?? number(value)}</span>` : html`<${Exact} label=${label} value=${value}
      range=${{ ...range, ...typed }} onChange=${onChange} />`}
  </div>`;
}

// The sliders of whatever has parameters: a kernel, a loss, a step. Those with `choices` are chosen, not slid.
export function Parameters({ parameters, values, onChange }) {
  return (parameters ?? []).map((parameter) => {
    const value = values[parameter.name] ?? parameter.default;
    const change = (next) => onChange({ ...values, [parameter.name]: next });
    if (parameter.choices) {
      const options = parameter.choices.map((kind) => ({ kind, title: String(kind) }));
      return html`<${Choice} key=${parameter.name} label=${parameter.title} value=${value} options=${options}
        onChange=${change} />`;
    }
    const open = value === "auto";
    return html`<${Fragment} key=${parameter.name}>
      <${Slider} label=${parameter.title} ...${parameter} value=${open ? parameter.default : value} disabled=${open} fixed="auto"
        onChange=${change} />
      ${parameter.from_data ? html`<${Tick} label=${`${parameter.title} from the data`} checked=${open}
        onChange=${(yes) => change(yes ? "auto" : parameter.default)} />` : null}
    <//>`;
  });
}
