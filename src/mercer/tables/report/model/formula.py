"""A kernel as one would write it on a blackboard."""

from __future__ import annotations

import numpy as np

from mercer.kernels import Gaussian, Kernel, Laplacian, Matern
from mercer.kernels.algebra import Sum
from mercer.kernels.transforms import LengthScales
from mercer.kernels.unary import Scale
from mercer.plot.style import number

_PRIMES = ("", "′", "″", "‴")


def formula(kernel: Kernel) -> list[str]:
    """k(x, z) and what its letters are, a line each. Kernels it has no formula for are shown by their repr.

    >>> print("\\n".join(formula(0.5 * Gaussian(1.0).scaled([2.0, 8.0]) + Laplacian(1.0, norm="l1"))))
    k(x, z) = 0.5 exp(−r²/2) + exp(−Σⱼ |xⱼ − zⱼ|)
    r² = Σⱼ ((xⱼ − zⱼ)/ℓⱼ)²,   ℓ from 2 to 8
    """
    terms, notes = [], []
    for i, (factor, part) in enumerate(_terms(kernel, 1.0)):
        text, note = _term(part, _PRIMES[i] if i < len(_PRIMES) else f"_{i + 1}")
        terms.append(text if factor == 1 else f"{factor:.2g} {text}")
        notes += [note] if note else []
    return ["k(x, z) = " + " + ".join(terms), *notes]


def _terms(kernel: Kernel, factor: float) -> list[tuple[float, Kernel]]:
    if isinstance(kernel, Sum):
        return _terms(kernel.left, factor) + _terms(kernel.right, factor)
    if isinstance(kernel, Scale):
        return _terms(kernel.kernel, factor * kernel.factor)
    return [(factor, kernel)]


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
