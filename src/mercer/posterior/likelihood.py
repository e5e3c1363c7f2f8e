"""Marginal likelihoods: what exact and projected ones share; kernels as vectors of logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.base import clone

from mercer.kernels.base import Kernel
from mercer.kernels.declared import may_move, moved
from mercer.kernels.transforms import LengthScales
from mercer.operators.factor import mirror_upper

# A parameter of a kernel, and how many values it has.
Named = tuple[str, int]


def free_parameters(kernel: Kernel) -> list[Named]:
    """Names of a kernel's continuous parameters that may move, each with its number of values.

    Own parameters come in the order in which the class names them, then those of the kernels inside, left
    before right. What is `fixed` is left out, and the only width there is under length scales, which say the
    same.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Periodic, RationalQuadratic, fixed
    >>> free_parameters(2.0 * Gaussian(1.0).scaled([1.0, 3.0]) + RationalQuadratic(1.0, 2.0))
    [('left__factor', 1), ('left__kernel__lengths', 2), ('right__alpha', 1), ('right__sigma', 1)]
    >>> free_parameters((2.0 * RationalQuadratic(1.0, 2.0)).scaled([1.0, 3.0]))
    [('lengths', 2), ('kernel__factor', 1), ('kernel__kernel__alpha', 1)]
    >>> free_parameters(Periodic(period=fixed(1.0)))
    [('sigma', 1)]
    """
    return _free(kernel, "", frozenset())


def _free(kernel: Kernel, prefix: str, redundant: frozenset[str]) -> list[Named]:
    out: list[Named] = []
    if isinstance(kernel, LengthScales) and may_move(kernel.lengths):
        out.append((prefix + "lengths", len(kernel.lengths)))
        widths = _widths(kernel.kernel, f"{prefix}kernel__")
        if len(widths) == 1 and all(map(may_move, kernel.lengths)):
            redundant |= frozenset(widths)
    for name in kernel.log_params:
        value = getattr(kernel, name)
        if value > 0 and may_move(value) and prefix + name not in redundant:
            out.append((prefix + name, 1))
    for name, child in kernel.children().items():
        out += _free(child, f"{prefix}{name}__", redundant)
    return out


def _widths(kernel: Kernel, prefix: str) -> list[str]:
    """Names of what a common factor of all coordinates says as well, in a kernel and its children."""
    own = [prefix + kernel.width] if kernel.width else []
    if isinstance(kernel, LengthScales):
        return [*own, prefix + "lengths"]
    return own + [w for name, child in kernel.children().items() for w in _widths(child, f"{prefix}{name}__")]


def labels_of(names: list[Named]) -> tuple[str, ...]:
    """One name a value: those of a parameter with several are ``lengths[0]``, ``lengths[1]``, …"""
    return tuple(
        label
        for name, size in names
        for label in ([f"{name}[{i}]" for i in range(size)] if name.endswith("lengths") else [name])
    )


def logs_of(kernel: Kernel, names: list[Named]) -> np.ndarray:
    """Logarithms of these parameters, one after the other."""
    given = kernel.get_params()
    parts = [np.log(np.atleast_1d(np.asarray(given[name], dtype=np.float64))) for name, _ in names]
    return np.concatenate(parts) if parts else np.zeros(0)


def with_logs(kernel: Kernel, names: list[Named], theta: np.ndarray) -> Kernel:
    """The kernel whose parameters have these logarithms; what was said of them is said again."""
    values, at, given = {}, 0, kernel.get_params()
    for name, size in names:
        part = np.exp(theta[at : at + size])
        values[name] = moved(given[name], part if name.endswith("lengths") else float(part[0]))
        at += size
    return clone(kernel).set_params(**values) if values else kernel


def slopes_as_vector(slopes: dict[str, Any], names: list[Named]) -> np.ndarray:
    """What `Kernel.vjp_log_params` gives, in the order of the names."""
    return np.concatenate([np.atleast_1d(slopes[name]) for name, _ in names]) if names else np.zeros(0)


def restricted_inverse(K: np.ndarray, shift: Any, offset: bool) -> tuple[np.ndarray, float]:
    """P = G⁻¹ and log det G for G = K + diag(shift); K is overwritten.

    With an offset P is G⁻¹ − G⁻¹11ᵀG⁻¹/(1ᵀG⁻¹1), and log(1ᵀG⁻¹1) is added to the second: what a flat prior
    on a constant leaves of both.

    Examples
    --------
    >>> P, log_det = restricted_inverse(np.eye(2), 1.0, offset=True)
    >>> P.round(2), bool(np.isclose(log_det, np.log(4.0)))
    (array([[ 0.25, -0.25],
           [-0.25,  0.25]]), True)
    """
    K.flat[:: len(K) + 1] += shift
    # LAPACK takes columns for rows, which of a symmetric matrix are the same, and then copies nothing.
    factor, failed = lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(
            f"K + μI is not positive definite in double precision at μ = {np.min(shift):.2g}"
        )
    log_det = 2 * float(np.log(np.diag(factor)).sum())
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    P = lower.T
    mirror_upper(P)
    if not offset:
        return P, log_det
    sums = P.sum(axis=1)
    total = float(sums.sum())
    P -= np.outer(sums, sums / total)
    return P, log_det + float(np.log(total))


def log_likelihood(form: np.ndarray, log_det: float, degrees: int, scale: np.ndarray) -> float:
    """Σ_j −½ (form_j/s_j + ν log s_j + log det + ν log 2π), over outputs j: ν degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(scale > 0, form / scale, degrees) + degrees * np.log(2 * np.pi * scale) + log_det
    return float(-0.5 * each.sum())


def likelihood_slopes(P: np.ndarray, A: np.ndarray, scale: Any) -> np.ndarray:
    """M with d(log likelihood) = ⟨M, dG⟩: ½ Σ_j (a_j a_jᵀ/s_j − P), a = P Y; P is overwritten."""
    outputs = A.shape[1]
    P *= -outputs
    P += (A / scale) @ A.T
    P *= 0.5
    return P
