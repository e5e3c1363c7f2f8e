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
    """The other terms; the kernel as it is if there are none."""
    rest = _rest(kernel)
    return kernel if rest is None else rest


def _rest(kernel: Kernel) -> Kernel | None:
    if isinstance(kernel, Sum):
        left, right = _rest(kernel.left), _rest(kernel.right)
        if left is None or right is None:
            return right if left is None else left
        return left + right
    if isinstance(kernel, Scale):
        rest = _rest(kernel.kernel)
        return None if rest is None else kernel.factor * rest
    return None if isinstance(kernel, Forest) else kernel
