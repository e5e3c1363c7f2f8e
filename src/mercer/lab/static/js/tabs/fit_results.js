// What the machine found, in numbers, charts and words.

import { html } from "../../vendor/preact.js";
import { Chart } from "../charts/chart.js";
import { Figures, Section } from "../parts/controls.js";
import { milliseconds, number, percent } from "../parts/format.js";
import { Hint, Warnings } from "../parts/notice.js";
import { COLOURS } from "../parts/palette.js";

const several = (values) => values.map((value) => number(value)).join(", ");

// A function that is held by the weights of a few features has no terms at examples.
const held = (fit) => (fit.support.length ? `${fit.support.length} of ${fit.n}` : "none: held by weights");

export function sentenceOf(fit) {
  if (!fit) return "";
  const labels = fit.accuracy !== undefined;
  const quality = labels ? `${percent(fit.accuracy)} of the examples right` : `root mean square error ${number(fit.rmse)}`;
  const loo = fit.loo ? `, leave-one-out error ${number(fit.loo.error)}` : "";
  return `${quality}, norm of f ${several(fit.norm)}, support vectors: ${held(fit)}${loo}.`;
}

function Numbers({ fit }) {
  const labels = fit.accuracy !== undefined;
  const list = [
    labels && ["right on the examples", percent(fit.accuracy), "share of the examples whose label the function gives", "accuracy"],
    !labels && ["RMSE on the examples", number(fit.rmse), "root of the mean squared error, in the units of y", "rmse"],
    fit.loo ? ["leave-one-out error", number(fit.loo.error), "error on each example, of the machine trained without it", "loo"] : null,
    ["‖f‖", several(fit.norm), "the norm of f in the space of the kernel, ‖f‖² = Σ cᵢ cⱼ k(xᵢ, xⱼ): the rougher f, the larger", "norm"],
    ["λ", number(fit.lam), "the weight of ‖f‖² against the losses: larger means smoother", "lam"],
    ["b", fit.offset?.length ? several(fit.offset) : "none", "a number added to f, which the penalty leaves free", "offset"],
    ["support vectors", held(fit), "examples with a coefficient that is not 0", "support"],
    fit.margin !== null && fit.margin !== undefined ? ["margin", number(fit.margin), "1/‖f‖: half the width of the band |f + b| < 1 in the space of the kernel", "margin"] : null,
    fit.effective_dimension !== null && fit.effective_dimension !== undefined
      ? ["effective dimension", number(fit.effective_dimension), "Σ μⱼ / (μⱼ + λ), where μⱼ are the eigenvalues of K/n: how many directions λ leaves free", "effective_dimension"]
      : null,
    ["time", milliseconds(fit.seconds), "spent in the service", "seconds"],
  ];
  return html`<${Figures} list=${list} />`;
}

function Spectrum({ fit }) {
  const values = fit.spectrum ?? [];
  if (!values.length) return null;
  const words = `Eigenvalues of K/n: the largest ${number(values[0])}, the last shown ${number(values.at(-1))}`;
  const positive = values.map((value) => (value > 1e-16 ? value : null));
  return html`<${Section} title="Spectrum">
    <${Chart} title="eigenvalues of K/n (dashed: λ)" x="number" log=${true} level=${fit.lam}
      series=${[{ name: "eigenvalues", y: positive, colour: COLOURS[0] }]} describe=${words} />
  <//>`;
}

function LeaveOneOut({ fit }) {
  if (!fit.loo) return html`<${Section} title="Leave-one-out" open=${false}><${Hint}>${fit.loo_why}<//><//>`;
  const { residuals } = fit.loo;
  return html`<${Section} title="Leave-one-out" open=${false}>
    <${Chart} title="residuals without the example itself" x="example"
      series=${[{ name: "residuals", y: residuals, colour: COLOURS[2], bars: true }]}
        describe=${`Leave-one-out residuals of ${residuals.length} examples, error ${number(fit.loo.error)}`} />
  <//>`;
}

function Bumps({ fit }) {
  const bumps = fit.bumps ?? [];
  if (!bumps.length) return null;
  const shown = bumps.slice(0, 12);
  return html`<${Section} title=${`Bumps: f = Σ cᵢ k(xᵢ, ·)${fit.norm.length > 1 ? ", first output" : ""}`} open=${false}>
    <table class="numbers">
      <thead><tr><th scope="col">example</th><th scope="col">x</th><th scope="col">c</th></tr></thead>
      <tbody>
        ${shown.map(({ i, x, c }) => html`<tr><td>${i === null ? "–" : i + 1}</td><td>${several(x)}</td><td>${number(c)}</td></tr>`)}
      </tbody>
    </table>
    ${bumps.length > shown.length ? html`<${Hint}>The ${shown.length} largest of ${fit.support.length}.<//>` : null}
  <//>`;
}

export function FitResults({ fit, stale }) {
  return html`<div class=${`results ${stale ? "stale" : ""}`}>
    <${Warnings} list=${fit.warnings} />
    <${Numbers} fit=${fit} />
    <p class="sentence machine-kernel" title="the kernel that was used">${fit.kernel}</p>
    <${Spectrum} fit=${fit} />
    <${Bumps} fit=${fit} />
    <${LeaveOneOut} fit=${fit} />
    <${Section} title=${`Certificate: ${fit.certificate?.status ?? ""}`} open=${false}>
      <pre class="wrapped" tabindex="0" role="region" aria-label="Certificate">${fit.certificate?.text}</pre>
    <//>
    <${Section} title="Plan" open=${false}>
      <ul class="notes">${(fit.plan ?? []).map((reason) => html`<li>${reason}</li>`)}</ul>
    <//>
  </div>`;
}
