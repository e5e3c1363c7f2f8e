// Numbers as people write them by hand: 3.2·10⁻⁵, 0.0124, 12.4, 2715.

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

export function number(value, figures = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e-3 && size < 1e4) {
    const text = size >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(figures)));
    return text.replace("-", "−");
  }
  const [mantissa, exponent] = value.toExponential(1).split("e");
  return `${mantissa.replace("-", "−")}·10${raised(Number(exponent))}`;
}

// The texts of ticks, with as many decimals as tell them apart.
export function tickTexts(values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : 0;
  const size = Math.max(...values.map(Math.abs), 0);
  if (!step || !Number.isFinite(step)) return values.map((value) => number(value));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  if (size < 1e5 && decimals <= 4) return values.map((value) => value.toFixed(decimals).replace("-", "−"));
  const exponent = Math.floor(Math.log10(size));
  const figures = Math.min(12, Math.max(0, Math.ceil(exponent - Math.log10(step) - 1e-9)));
  return values.map((value) => value === 0 ? "0" : `${(value / 10 ** exponent).toFixed(figures).replace("-", "−")}·10${raised(exponent)}`);
}

const raised = (exponent) => [...String(exponent)].map((sign) => SUPERSCRIPTS[sign]).join("");

// 10⁻³ for 0.001, as at the ticks of a logarithmic axis.
export function powerOfTen(value) {
  const exponent = Math.round(Math.log10(value));
  const exact = Math.abs(value / 10 ** exponent - 1) < 1e-9;
  return exact && (value < 0.01 || value > 999) ? `10${raised(exponent)}` : number(value);
}

export const percent = (share) => (Number.isFinite(share) ? `${Number((100 * share).toFixed(1))} %` : "–");

export const milliseconds = (seconds) => `${Math.max(1, Math.round(1000 * seconds))} ms`;

// Round numbers between low and high, about `count` of them, for the ticks of an axis.
export function ticks(low, high, count = 5) {
  const rough = (high - low) / count;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * ten).find((candidate) => candidate >= rough) ?? rough;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) {
    found.push(Math.abs(tick) < step * 1e-9 ? 0 : Number(tick.toPrecision(12)));
  }
  return found;
}
