"""The model itself: in a line, as a formula, with its parameters."""

from __future__ import annotations

import numpy as np

from mercer.kernels import Gaussian, Kernel, Laplacian, Matern
from mercer.kernels.transforms import LengthScales
from mercer.plot.style import number
from mercer.tables.model import Model
from mercer.tables.model.model import kernel_terms
from mercer.tables.report.model.words import counted
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
        "kernel k that is largest for equal rows and falls with their distance. Each xᵢ votes with its "
        "coefficient cᵢ:"
    )
    several = model.classes_ is not None and len(model.classes_) > 2
    page.formula(
        "f(x) = b + Σᵢ cᵢ k(xᵢ, x)" + (",   one f for each label" if several else ""), *formula(m.kernel_)
    )
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


def _used(model: Model) -> str:
    used = len(model.columns.encoders_)
    total = len(model.schema.columns)
    return counted(used, "column") if used == total else f"{used:,} of {counted(total, 'column')}"


_PRIMES = ("", "′", "″", "‴")


def formula(kernel: Kernel) -> list[str]:
    """k(x, z) and what its letters are, a line each. Kernels it has no formula for are shown by their repr.

    >>> print("\\n".join(formula(0.5 * Gaussian(1.0).scaled([2.0, 8.0]) + Laplacian(1.0, norm="l1"))))
    k(x, z) = 0.5 exp(−r²/2) + exp(−Σⱼ |xⱼ − zⱼ|)
    r² = Σⱼ ((xⱼ − zⱼ)/ℓⱼ)²,   ℓ from 2 to 8
    """
    terms, notes = [], []
    for i, (factor, part) in enumerate(kernel_terms(kernel)):
        text, note = _term(part, _PRIMES[i] if i < len(_PRIMES) else f"_{i + 1}")
        terms.append(text if factor == 1 else f"{factor:.2g} {text}")
        notes += [note] if note else []
    return ["k(x, z) = " + " + ".join(terms), *notes]


def _term(kernel: Kernel, prime: str) -> tuple[str, str]:
    """A kernel in r, and what r is."""
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
        a = {0.5: r, 1.5: f"√3 {r}", 2.5: f"√5 {r}"}[kernel.nu] + _over(kernel.sigma)
        front = {0.5: "", 1.5: f"(1 + {a}) ", 2.5: f"(1 + {a} + ({a})²/3) "}[kernel.nu]
        return f"{front}exp(−{a})", note
    return f"{kernel!r}{'(x/' + ell + ', z/' + ell + ')' if ell else ''}", told


def _over(width: float) -> str:
    return "" if width == 1 else f"/{width:.3g}"
