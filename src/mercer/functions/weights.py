"""Which substrings, words or subtrees carry a function: its weights in the kernel's sparse features."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._params import require_count
from mercer.functions.base import Function, as_columns
from mercer.functions.feature import FeatureFunction
from mercer.functions.kernel import KernelFunction
from mercer.kernels import Kernel
from mercer.kernels.algebra import Sum


def feature_weights(f: Any, X: Any = None, count: int = 20) -> list[tuple[str, Any]]:
    """The features with the largest weights w in f = ⟨w, φ(·)⟩, and these weights.

    For f = Σ α_i k(x_i,·) with k(x,z) = φ(x)·φ(z) they are w = Σ α_i φ(x_i). In a sum of kernels, such as one
    of texts and one of numbers, they are those of the terms that have sparse features.

    Parameters
    ----------
    f : a function, or a fitted machine
        Of a kernel with sparse features, such as `Spectrum`.
    X : points, optional
        In which features are looked up to be put in words. Functions of kernels know their points; those of a
        feature map do not, and need some: the examples they were fitted to.
    count : int
        How many, in falling order of |w|; with several outputs, of the length of each feature's row.

    Returns
    -------
    list of (words, weight)
        A weight is a number, or an array with one for each output. Of two classes positive ones speak for
        the second; machines that ask one question a pair of classes (`KernelSVC`) have an output for each
        pair, (0, 1), (0, 2), …, (1, 2), …, and positive ones speak for the first of the two.

    Examples
    --------
    >>> from mercer import KernelSVC
    >>> from mercer.kernels import Spectrum
    >>> words, y = ["banana", "bandana", "kernel", "colonel"], [1, 1, -1, -1]
    >>> machine = KernelSVC(Spectrum(2), lam=0.01).fit(words, y)
    >>> sorted(word for word, w in feature_weights(machine, count=4) if w > 0)
    ['an', 'na']
    """
    require_count(count, "count")
    f = getattr(f, "function_", f)
    if not isinstance(f, Function):
        raise TypeError(
            "f must be a function, or a machine that is fitted (the best_estimator_ of a search, the "
            f"last step of a pipeline), got {f!r}"
        )
    kernel, features, weights = counted_weights(f)
    words = kernel.spelled(f.points) if isinstance(f, KernelFunction) else {}
    if X is not None:
        words |= kernel.spelled(kernel.points(X))
    elif not isinstance(f, KernelFunction):
        raise ValueError(
            "a function of features has forgotten its examples: give them, feature_weights(f, X)"
        )
    size = np.linalg.norm(weights, axis=1)
    first = np.argsort(-size, kind="stable")[:count]
    shown = weights[first, 0].tolist() if f.outputs is None else list(weights[first])
    return [(words.get(int(features[i]), "?"), w) for i, w in zip(first, shown, strict=True)]


def counted_weights(f: Any) -> tuple[Kernel, np.ndarray, np.ndarray]:
    """(the part of the kernel with sparse features, the numbers of those, their weights, a row each)"""
    f = getattr(f, "function_", f)
    if isinstance(f, KernelFunction):
        kernel = _counted(f.kernel)
        if kernel is None:
            raise TypeError(f"{f.kernel!r} has no sparse features that could be put in words")
        counts = kernel.counts(f.points)
        weights = counts.csr(counts.vocabulary).T @ as_columns(f.coef)
        return kernel, counts.vocabulary, np.asarray(weights)
    if isinstance(f, FeatureFunction) and hasattr(f.map, "features_"):
        features, weights = f.map.features_, as_columns(f.coef)
        if len(features) != len(weights):
            raise ValueError("features that were folded into fewer columns have no weights of their own")
        return f.map.kernel_, features, weights
    raise TypeError(f"{f!r} has no sparse features that could be put in words")


def _counted(kernel: Kernel) -> Kernel | None:
    """The terms of a sum that have sparse features; None if there are none."""
    if kernel.has_counts:
        return kernel
    if not isinstance(kernel, Sum):
        return None
    left, right = _counted(kernel.left), _counted(kernel.right)
    return left or right if left is None or right is None else left + right
