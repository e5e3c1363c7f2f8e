"""Kernels as mathematics: the formula, evaluated, is the kernel."""

import math
import re

import numpy as np
import pytest

from mercer.kernels import Cosine, Forest, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.tables.report.model.machine import formula

_X, _Z, _L, _M = np.array([0.3, -1.2]), np.array([1.1, 0.4]), np.array([0.5, 2.0]), np.array([3.0, 1.5])


def _value(lines, lengths):
    """The first line, read as Python: r and r′ are distances with the first and the second length scales."""
    scales = {"": lengths[0], "′": lengths[1], None: 1.0}

    def number(value):
        return f"({float(value)!r})"

    text = lines[0].split(" = ", 1)[1]
    text = re.sub(
        r"Σⱼ \|xⱼ − zⱼ\|(?:/ℓ(′?)ⱼ)?", lambda m: number(np.sum(np.abs(_X - _Z) / scales[m[1]])), text
    )
    text = re.sub(r"r(′?)", lambda m: number(np.linalg.norm((_X - _Z) / scales[m[1]])), text)
    for sign, python in (("²", "**2"), ("−", "-"), ("·", "*"), ("√3 ", "3**0.5*"), ("√5 ", "5**0.5*")):
        text = text.replace(sign, python)
    text = re.sub(r"(?<=[\d)]) (?=[(e])", "*", text)  # a blank is a product
    return eval(text, {"__builtins__": {}}, {"exp": math.exp})


@pytest.mark.parametrize(
    "kernel, lengths",
    [
        (Gaussian(1.0).scaled(_L), (_L, 1.0)),
        (Gaussian(2.5), (1.0, 1.0)),
        (Laplacian(1.0).scaled(_L), (_L, 1.0)),
        (Laplacian(2.0, norm="l1"), (1.0, 1.0)),
        (Laplacian(1.0, norm="l1").scaled(_L), (_L, 1.0)),
        (Matern(0.5, 1.0).scaled(_L), (_L, 1.0)),
        (Matern(1.5, 1.0).scaled(_L), (_L, 1.0)),
        (Matern(2.5, 1.5), (1.0, 1.0)),
        (0.5 * Matern(1.5, 1.0).scaled(_L) + 0.25 * Gaussian(1.0).scaled(_M), (_L, _M)),
        (2 * (Gaussian(1.0).scaled(_L) + Laplacian(1.0, norm="l1").scaled(_M)), (_L, _M)),
    ],
)
def test_the_formula_is_the_kernel(kernel, lengths):
    value = _value(formula(kernel), lengths)
    assert value == pytest.approx(float(kernel(_X[None], _Z[None])[0, 0]), rel=1e-6)


def test_letters_are_explained():
    assert formula(Gaussian(1.0).scaled([3.0, 3.0])) == [
        "k(x, z) = exp(−r²/2)",
        "r² = Σⱼ ((xⱼ − zⱼ)/ℓ)²,   ℓ = 3",
    ]
    lines = formula(Gaussian(1.0).scaled([3.0, 300.0]) + Laplacian(1.0, norm="l1").scaled([1.0, 2.0]))
    assert lines[1].endswith("ℓ from 3 to 300") and lines[2] == "ℓ′ from 1 to 2"


def test_other_kernels_are_shown_as_they_are():
    assert formula(Cosine()) == ["k(x, z) = Cosine()"]


@pytest.mark.parametrize(
    "kernel, shown",
    [
        (0.5 * Linear(), "0.5 Σⱼ xⱼzⱼ"),
        (Linear().scaled([2.0, 4.0]), "Σⱼ xⱼzⱼ/ℓⱼ²"),
        (Polynomial(2, c=1.0).scaled([2.0, 2.0]), "(Σⱼ xⱼzⱼ/ℓ² + 1)²"),
        (Polynomial(12, c=0.25), "(Σⱼ xⱼzⱼ + 0.25)¹²"),
    ],
)
def test_inner_products(kernel, shown):
    assert formula(kernel)[0] == f"k(x, z) = {shown}"


def test_metrics_and_forests():
    forest = Forest.grow(np.arange(20.0)[:, None] * [1.0, 1.0], np.arange(20.0), trees=7)
    lines = formula(Laplacian(1.0).metric(np.eye(2)) + 0.5 * forest)
    assert lines == [
        "k(x, z) = exp(−r) + 0.5 (1/T′) Σₜ [leafₜ(x) = leafₜ(z)]",
        "r² = (x − z)ᵀM(x − z),   M learned, 2 × 2",
        "T′ = 7 trees of a forest",
    ]
