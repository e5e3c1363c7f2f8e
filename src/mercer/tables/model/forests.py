"""Forests as terms of a kernel: grown on most of the rows, and again on other rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._units import alone, held_out
from mercer.kernels import Forest, Kernel, Scale, Sum
from mercer.tables.model.judging import classes_of

# A forest knows the answers of its own rows; with others among them the machine sees how far to trust it.
_ASIDE = 0.2


def grown(X: np.ndarray, Y: np.ndarray, labels: bool, units: np.ndarray, seed: int, trees: int) -> Forest:
    """A forest of four fifths of the rows, units kept together, for targets or codes of labels."""
    n = len(X)
    if alone(units):
        rows = np.sort(np.random.default_rng(seed).permutation(n)[: max(n - int(_ASIDE * n), 2)])
    else:
        rows, _ = held_out(units, max(int(_ASIDE * n), 1), random_state=seed)
    targets: Any = classes_of(Y) if labels else Y[:, 0] if Y.shape[1] == 1 else Y
    return Forest.grow(X[rows], targets[rows], trees=trees, labels=labels, random_state=seed)


def regrown(
    kernel: Kernel, X: np.ndarray, Y: np.ndarray, labels: bool, units: np.ndarray, seed: int
) -> Kernel:
    """The same kernel with forests of these rows in place of those it has."""
    if isinstance(kernel, Sum):
        left, right = (regrown(k, X, Y, labels, units, seed) for k in (kernel.left, kernel.right))
        return left + right
    if isinstance(kernel, Scale):
        return kernel.factor * regrown(kernel.kernel, X, Y, labels, units, seed)
    return grown(X, Y, labels, units, seed, kernel.trees) if isinstance(kernel, Forest) else kernel


def has_forest(kernel: Kernel) -> bool:
    """Is there a forest among the terms of a kernel?"""
    return isinstance(kernel, Forest) or any(map(has_forest, kernel.children().values()))


def without_forests(kernel: Kernel) -> Kernel:
    """The other terms."""
    if isinstance(kernel, Sum):
        left, right = kernel.left, kernel.right
        if _is_forest(left):
            return without_forests(right)
        if _is_forest(right):
            return without_forests(left)
        return without_forests(left) + without_forests(right)
    return kernel


def _is_forest(kernel: Kernel) -> bool:
    return _is_forest(kernel.kernel) if isinstance(kernel, Scale) else isinstance(kernel, Forest)
