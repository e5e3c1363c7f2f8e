"""The door of every machine: is what it is given a kernel on these points, as far as a few of them show?

A kernel that is one by construction (`Kernel.rule`) passes at no cost. Of any other function the values
between a few of the points are looked at, of a matrix some principal submatrices and a few steps of Lanczos'
method for its smallest eigenvalue (that it is symmetric is seen when it is bound). That finds what is badly
wrong, not every flaw: `mercer.kernels.check` looks harder.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from mercer.codegen.formula import overridden
from mercer.kernels.base import Kernel
from mercer.kernels.finite import Finite
from mercer.kernels.psd import every_pair, in_rows, pick
from mercer.kernels.witness import Verdict, objection

# Points whose values are compared; fewer where even they would be a good part of the work.
_MOST, _LEAST, _SHARE = 64, 10, 4
# Of matrices: decomposed whole up to here; else so many parts of so many rows, and steps of Lanczos.
_WHOLE, _PARTS, _PART_ROWS, _LANCZOS = 400, 3, 200, 24
# Rounding, relative to ‖K‖, that nobody should be refused for: values may be float32 under a float64 name.
_NOISE, _NOISE_SINGLE = 1e-6, 1e-3


class NotAKernel(ValueError):
    """What was given as a kernel is none; `verdict` holds the witness."""

    def __init__(self, message: str, verdict: Verdict):
        super().__init__(message)
        self.verdict = verdict


def by_rule(kernel: Kernel) -> bool:
    """Is it a kernel by construction, without looking at a matrix?"""
    return not isinstance(kernel, Finite) and not _own_values(kernel) and kernel.rule() is not None


def _own_values(kernel: Kernel) -> bool:
    """Does a subclass give other values than the class whose rule it inherits?"""
    rule = "made" if hasattr(kernel, "made") else "rule"  # of kernels made of kernels
    if any(overridden(kernel, rule, values) for values in ("pairwise", "profile")):
        return True
    return any(map(_own_values, kernel.children().values()))


def doubt(kernel: Kernel, points: Any) -> Verdict | None:
    """What speaks against a resolved kernel on checked points; None if nothing was found."""
    if by_rule(kernel):
        return None
    if isinstance(kernel, Finite) and np.ndim(points) == 1:
        found = _of_matrix(kernel.values(), kernel.rows(np.unique(points)))
        return None if found is None else kernel.named(found)
    n = points.shape[0]
    count = min(n, max(_LEAST, min(_MOST, n // _SHARE)))
    rows = np.sort(np.random.default_rng(0).permutation(n)[:count])
    some = points[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        K = every_pair(kernel, some)
    single = np.float32 in (K.dtype, getattr(points, "dtype", None))
    against = objection(K, partial(pick, some), _NOISE_SINGLE if single else _NOISE)
    return None if against is None else in_rows(against, rows)


def _of_matrix(M: np.ndarray, used: np.ndarray) -> Verdict | None:
    """What speaks against a symmetric matrix, of which only the rows `used` matter."""
    noise = _NOISE_SINGLE if M.dtype == np.float32 else _NOISE
    rng, n = np.random.default_rng(0), len(used)
    if n <= _WHOLE:
        return _of_part(M, used, noise)
    c, value, size = _lanczos(M, used, rng)
    likely = np.sort(used[np.argsort(-np.abs(c))[:_PART_ROWS]])
    for rows in (likely, *(np.sort(rng.choice(used, _PART_ROWS, False)) for _ in range(_PARTS))):
        against = _of_part(M, rows, noise)
        if against is not None:
            return against
    if value >= -noise * size:
        return None
    reason = f"not positive semidefinite: cᵀKc = {value:.3g} < 0 for a c of length 1 over all {n:,} points"
    return Verdict(False, "witness", reason, None, c, None, used)


def _of_part(M: np.ndarray, rows: np.ndarray, noise: float) -> Verdict | None:
    against = objection(M[np.ix_(rows, rows)], lambda i: [int(j) for j in rows[i]], noise)
    return None if against is None else in_rows(against, rows)


def _lanczos(M: np.ndarray, used: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float, float]:
    """c of length 1 with a small cᵀMc, that number, and about the largest |eigenvalue|: from few products."""
    padded = np.zeros(len(M), M.dtype)

    def apply(v: np.ndarray) -> np.ndarray:
        padded[used] = v
        return np.asarray((M @ padded)[used], dtype=np.float64)

    v = rng.standard_normal(len(used))
    basis: list[np.ndarray] = [v / np.linalg.norm(v)]
    images: list[np.ndarray] = []
    while len(images) < _LANCZOS:
        images.append(apply(basis[-1]))
        v = images[-1].copy()
        for _ in range(2):  # twice is enough to be orthogonal
            Q = np.array(basis)
            v -= Q.T @ (Q @ v)
        size = float(np.linalg.norm(v))
        if size <= 1e-10 * float(np.linalg.norm(images[-1])):
            break
        basis.append(v / size)
    Q = np.array(basis[: len(images)])
    T = Q @ np.array(images).T
    values, vectors = np.linalg.eigh(0.5 * (T + T.T))
    return Q.T @ vectors[:, 0], float(values[0]), float(np.abs(values).max())


def admit(
    kernel: Kernel, points: Any, consequence: str, stacklevel: int = 2, *, allowed: bool = False
) -> bool:
    """Refuse what is no kernel on these points; warn, if that is the wish. Is it one, as far as is known?

    `consequence` says what a machine makes of such a function; without any, nothing is said. `stacklevel` is
    that of a warning by whoever calls this. `allowed`: the wish is the machine's, not only the kernel's.
    """
    against = doubt(kernel, points)
    if against is None:
        return True
    if against.c is None or not (kernel.indefinite or allowed):
        raise NotAKernel(_refusal(kernel, against), against)
    if consequence:
        said = f"{kernel!r} is {against.reason} on these points: {consequence}"
        warnings.warn("\n".join([said, *against.witness()]), UserWarning, stacklevel=stacklevel + 1)
    return False


def require_symmetry(kernel: Kernel, points: Any) -> bool:
    """Refuse an asymmetric function, or one that is no number; any other will do."""
    against = doubt(kernel, points)
    if against is not None and against.c is None:
        raise NotAKernel(_refusal(kernel, against), against)
    return True


def _refusal(kernel: Kernel, against: Verdict) -> str:
    what = f"{kernel!r} is no kernel: {against.reason}."
    if "symmetric" in against.reason:
        advice = "A kernel has k(x,z) = k(z,x): take the mean of both, for example."
    elif against.c is None:
        what, advice = f"{kernel!r} gives NaN or infinity on these points: {against.reason}.", ""
    else:
        how = "indefinite=True in FunctionKernel, Precomputed or Finite, or as an attribute of a class,"
        advice = f"If you want it even so, say so: {how} lets it pass with a warning."
    return "\n".join(filter(None, [what, *against.witness(), advice]))
