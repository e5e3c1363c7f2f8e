"""The model itself, as a formula and with its parameters, and what was tried on the way to it."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from mercer import plot
from mercer.kernels import Dot, Forest, Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial
from mercer.kernels.transforms import LengthScales, Mahalanobis
from mercer.losses import Squared
from mercer.plot.style import number
from mercer.tables.model import Model
from mercer.tables.model.families import Trial
from mercer.tables.model.kernel_names import meaning, name_of
from mercer.tables.model.text_search import AGAIN
from mercer.tables.model.texts import bag_of, kernel_terms
from mercer.tables.report.model.words import MOST, amount, counted, more, percent
from mercer.tables.report.page import Report

_LOSSES = {
    "Squared": "squared: large errors count most",
    "Huber": "Huber's: squared for small errors, absolute for large ones, so that outliers pull less",
    "Hinge": "hinge: a support vector machine",
    "Logistic": "logistic: fits probabilities",
    "Multinomial": "multinomial logistic: fits probabilities",
}


def machine(page: Report, model: Model) -> None:
    """Kernel, λ, loss, centres."""
    page.section("The model")
    m = model.machine
    n, unknowns = m.plan_.examples, m.plan_.unknowns
    page.code(str(model))
    page.text(
        "It predicts by comparing: a new row x is measured against rows xᵢ it has learned from, with a "
        f"kernel k{_alike(m.kernel_)}. Each xᵢ votes with its coefficient cᵢ:"
    )
    several = model.classes_ is not None and len(model.classes_) > 2
    page.formula(
        "f(x) = b + Σᵢ cᵢ k(xᵢ, x)" + (",   one f for each label" if several else ""),
        *formula(m.kernel_, model.columns.get_feature_names_out()),
    )
    _averaged(page, model)
    where = "each divided by its spread" if model.columns.outliers == "keep" else (
        "each scaled by its quartiles, values far out drawn in"
    )  # fmt: skip
    loss = type(m.loss_).__name__
    exact = unknowns == n
    page.facts(
        [
            ("Rows", f"{n:,} were learned from"),
            (
                "Coefficients" if exact else "Centres",
                f"{unknowns:,}: one a row, nothing is approximated"
                if exact
                else f"{unknowns:,} rows stand for all {n:,} (Nyström's method)",
            ),
            ("Coordinates", f"{len(model.columns.origin_):,}, from {_used(model)}; numbers {where}"),
            ("Loss", f"{m.loss_!r}: {_LOSSES[loss].split(': ', 1)[1]}" if loss in _LOSSES else repr(m.loss_)),
            ("λ", f"{number(m.lam_)}: the price of a function that bends, against that of an error"),
        ]
    )


def _alike(kernel: Kernel) -> str:
    """What large values mean; nothing of kernels of inner products, which need not be largest at x = z."""
    terms = [term for _, term in kernel_terms(kernel)]
    plain = [term.kernel if isinstance(term, (LengthScales, Mahalanobis)) else term for term in terms]
    if any(isinstance(term, Dot) for term in plain):
        return ", their likeness"
    return " that is largest for equal rows and falls with their distance"


def _averaged(page: Report, model: Model) -> None:
    """The parts of an average, and what each is good at."""
    parts = model.evidence.parts
    if not parts:
        return
    beside = " Texts are beside them." if model.columns.texts else ""
    page.text(
        f"Its kernel is an average of {len(parts)} that did about as well as each other, or better together: "
        "what one of them gets wrong another may not. Shares are of kernels in units of their noise, so that "
        f"those with equal shares have an equal say.{beside}"
    )
    page.table(
        ("share", "kernel", "what it is good at"),
        [(percent(share, 0), name, meaning(name) or "—") for name, share in parts],
        "What was averaged: shares grew one step at a time, as long as the error on rows that took no part "
        "fell.",
    )


def _used(model: Model) -> str:
    used = len(model.columns.encoders_)
    total = len(model.schema.columns)
    return counted(used, "column") if used == total else f"{used:,} of {counted(total, 'column')}"


_PRIMES = ("", "′", "″", "‴")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def formula(kernel: Kernel, names: Any = ()) -> list[str]:
    """k(x, z) and what its letters are, a line each. Kernels it has no formula for are shown by their repr.

    `names` are those of coordinates, of which some may be texts.

    >>> print("\\n".join(formula(0.5 * Gaussian(1.0).scaled([2.0, 8.0]) + Laplacian(1.0, norm="l1"))))
    k(x, z) = 0.5 exp(−r²/2) + exp(−Σⱼ |xⱼ − zⱼ|)
    r² = Σⱼ ((xⱼ − zⱼ)/ℓⱼ)²,   ℓ from 2 to 8
    """
    terms, notes = [], []
    for i, (factor, part) in enumerate(kernel_terms(kernel)):
        prime, bag = _PRIMES[i] if i < len(_PRIMES) else f"_{i + 1}", bag_of(part)
        if bag is None:
            text, note = _term(part, prime)
        else:
            what = f"of {bag[0]} in {names[bag[1]]!r}: sublinear counts times inverse document frequency"
            text, note = f"φ{prime}(x)·φ{prime}(z)/‖φ{prime}(x)‖‖φ{prime}(z)‖", f"φ{prime} {what}"
        terms.append(text if factor == 1 else f"{factor:.2g} {text}")
        notes += [note] if note else []
    return ["k(x, z) = " + " + ".join(terms), *notes]


def _term(kernel: Kernel, prime: str) -> tuple[str, str]:
    """A kernel in r, and what r is."""
    if isinstance(kernel, Forest):
        return f"(1/T{prime}) Σₜ [leafₜ(x) = leafₜ(z)]", f"T{prime} = {kernel.trees:,} trees of a forest"
    if isinstance(kernel, Mahalanobis):
        text, _ = _term(kernel.kernel, prime)
        d, r = len(kernel.matrix), f"r{prime}"
        return text, f"{r}² = (x − z)ᵀM{prime}(x − z),   M{prime} learned, {d:,} × {d:,}"
    if isinstance(kernel, LengthScales) and kernel.lengths is not None:
        lengths = np.asarray(kernel.lengths, dtype=float)
        same = bool(np.allclose(lengths, lengths[0]))
        ell = f"ℓ{prime}" if same else f"ℓ{prime}ⱼ"
        low, high = number(float(lengths.min())), number(float(lengths.max()))
        told = f"ℓ{prime} = {low}" if same else f"ℓ{prime} from {low} to {high}"
        kernel = kernel.kernel
    else:
        ell, told = "", ""
    r = f"r{prime}"
    if isinstance(kernel, (Linear, Polynomial)):
        inner = f"Σⱼ xⱼzⱼ/{ell}²" if ell else "Σⱼ xⱼzⱼ"
        if isinstance(kernel, Linear):
            return inner, told
        return f"({inner} + {kernel.c:.3g}){str(kernel.degree).translate(_RAISED)}", told
    if isinstance(kernel, Laplacian) and kernel.norm == "l1":
        inside = f"|xⱼ − zⱼ|/{ell}" if ell else "|xⱼ − zⱼ|"
        return f"exp(−Σⱼ {inside}{_over(kernel.sigma)})", told
    distance = f"{r}² = Σⱼ ((xⱼ − zⱼ)/{ell})²" if ell else f"{r}² = Σⱼ (xⱼ − zⱼ)²"
    note = f"{distance},   {told}" if told else distance
    if isinstance(kernel, Gaussian):
        return f"exp(−{r}²/{'2' if kernel.sigma == 1 else f'(2·{kernel.sigma:.3g}²)'})", note
    if isinstance(kernel, Laplacian):
        return f"exp(−{r}{_over(kernel.sigma)})", note
    if isinstance(kernel, Matern):
        a = (r if kernel.nu == 0.5 else f"√{2 * kernel.nu:.3g} {r}") + _over(kernel.sigma)
        front = {0.5: "", 1.5: f"(1 + {a}) ", 2.5: f"(1 + {a} + ({a})²/3) "}.get(kernel.nu)
        if front is None:
            order = f"{kernel.nu:.3g}"
            return f"a^{order} K(a) with a = {a} and the Bessel function K of order {order}, 1 at 0", note
        return f"{front}exp(−{a})", note
    return f"{kernel!r}{'(x/' + ell + ', z/' + ell + ')' if ell else ''}", told


def _over(width: float) -> str:
    return "" if width == 1 else f"/{width:.3g}"


def tried(page: Report, model: Model) -> None:
    """The leave-one-out curve, the kernels, the losses."""
    page.section("What was tried")
    e = model.evidence
    rows = f"{e.loo_rows:,} of {e.rows:,} rows" if e.loo_rows < e.rows else f"all {e.rows:,} rows"
    chosen = _chosen(model)
    with page.beside():
        page.text(*_explained(model, chosen))
        page.figure(
            plot.loo_curve(e.lams, e.loo, chosen, plot.axes(3.9, 3.1)),
            f"Leave-one-out error of least squares with the chosen kernel, on {rows}, as a share of the "
            "variance of the target.",
        )
    _kernels(page, model)
    _losses(page, model)
    took = f"{e.seconds:.0f} seconds" if e.seconds < 100 else f"{e.seconds / 60:.1f} minutes"
    page.text(f"Search, tests and fits together took {took}.")


def _chosen(model: Model) -> float | None:
    """The model's λ on the scale of the curve; None if the model has another loss than the curve."""
    e = model.evidence
    if not isinstance(model.machine.loss_, Squared):
        return None
    # What is kept from one number of rows to another is λ times that number.
    lam = float(model.machine.lam_) * model.machine.plan_.examples / e.loo_rows
    return lam if e.lams.min() <= lam <= e.lams.max() else None


def _explained(model: Model, chosen: float | None) -> list[str]:
    e = model.evidence
    out = [
        "λ weighs smoothness against closeness to the data. Too small, and the model learns noise by "
        "heart; too large, and it sees nothing. Leave-one-out predicts each row from all the others: an "
        "honest error for every λ, computed exactly and without refitting."
    ]
    lam = number(float(model.machine.lam_))
    if not isinstance(model.machine.loss_, Squared):
        out.append(
            "The curve is that of the search, which goes by squared errors. The final model has another "
            f"loss and a λ of its own, {lam}."
        )
    elif chosen is not None and e.loo_rows != model.machine.plan_.examples:
        out.append(
            f"With all rows the same model has λ = {lam}: what is kept from one number of rows to another "
            "is λ times that number."
        )
    near = e.lams[e.loo <= 1.01 * e.loo.min()]
    factor = float(near.max() / near.min())
    if factor >= 10:
        out.append(
            f"The choice is not delicate: over a factor of {amount(factor, 1)} in λ the error stays within "
            "1 % of the lowest."
        )
    return out


def _kernels(page: Report, model: Model) -> None:
    trials = model.evidence.trials
    if not trials:
        return
    shown = trials[-MOST:]
    ours = _kept(model, shown)
    cells = {
        "stage": [t.stage for t in shown],
        "kernel": [t.kernel for t in shown],
        "outliers": [t.outliers for t in shown],
        "rows": [f"{t.rows:,}" for t in shown],
        "leave-one-out": [f"{t.loo:.4f}" for t in shown],
        "fresh rows": ["—" if math.isnan(t.fresh) else f"{t.fresh:.4f}" for t in shown],
        "seconds": [f"{t.seconds:.2f}" for t in shown],
    }
    texts = any(t.stage == "texts" for t in trials)
    fresh = any(not math.isnan(t.fresh) for t in shown)
    if not fresh:
        del cells["fresh rows"]
    page.table(
        list(cells),
        zip(*cells.values(), strict=True),
        "Kernels, in the order they were tried; bold is what was kept. Errors are mean squares as a share "
        "of the variance, 1 being no better than the mean. Outliers: numbers are kept as they are, or "
        f"those far out are squashed. {_stages(trials)}"
        + (" Fresh rows took no part in the trial." if fresh else "")
        + (" Texts were tried beside the best of these, with weights from all rows." if texts else ""),
        strong=ours[-1:],
        more=more(len(trials), "earlier trial"),
    )


_DONE = {
    "screen": "one width for all columns",
    "length scales": "a length scale for each by gradient, or a metric from the slopes of what was fitted",
    "folds": "every way of choosing, in three folds",
    "last look": "the best on more rows",
    "average": "averages of near-ties, and of a forest",
    "more rows": "λ again",
}


def _stages(trials: tuple[Trial, ...]) -> str:
    """What was done, in the order of the stages."""
    made = {t.stage for t in trials}
    last = "the best of these on all rows" if "folds" in made else _DONE["last look"]
    done = [last if stage == "last look" else said for stage, said in _DONE.items() if stage in made]
    return f"Stage by stage: {'; '.join(done)}." if done else ""


def _kept(model: Model, shown: tuple[Trial, ...]) -> list[int]:
    """Places among those shown of the trial that was kept, the last one of several that it may have been."""
    e = model.evidence
    if e.kept is not None:
        place = e.kept - (len(e.trials) - len(shown))
        return [place] if place >= 0 else []
    # A file of an earlier version knows the kernel only.
    family = name_of(model.machine.kernel_)
    ours = [i for i, t in enumerate(shown) if _plain(t) == family and t.outliers == model.columns.outliers]
    if model.columns.texts:  # the same with fewer texts, or other length scales, if that was better
        ours = sorted(ours, key=lambda i: -shown[i].fresh)
    return ours


def _plain(trial: Trial) -> str:
    """The name of a trial's kernel, whichever texts it takes."""
    return re.sub(r" of \d+ of \d+ texts$", "", trial.kernel.removesuffix(AGAIN))


def _losses(page: Report, model: Model) -> None:
    trials = model.evidence.loss_trials
    if not trials:
        why = (
            "no long tails among the errors"
            if model.task == "regression"
            else "a label is too rare to compare"
        )
        page.text(f"Only the squared loss was fitted: {why}.")
        return
    name = type(model.machine.loss_).__name__.lower()
    name = "logistic" if name == "multinomial" else name
    same = [i for i, t in enumerate(trials) if t.loss.split(",")[0] == name]
    best = min(same, key=lambda i: trials[i].error) if same else None
    rate = model.task == "classification"
    page.table(
        ("loss", "λ", "error rate" if rate else "RMSE", "rows"),
        [(t.loss, number(t.lam), _error(t.error, rate), f"{t.rows:,}") for t in trials],
        "Losses compared by cross-validation in three parts, with that kernel; bold is what was kept. "
        "Another loss than the squared one must do clearly better to be taken.",
        strong=[] if best is None else [best],
    )


def _error(value: float, rate: bool) -> str:
    if math.isinf(value):
        return "—"  # not solved
    return percent(value, 2) if rate else amount(value, 4)
