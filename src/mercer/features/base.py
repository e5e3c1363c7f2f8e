"""What the feature maps share: kernels at the door, randomness, blocks of rows over threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._threads import cpu_count, parallel_map
from mercer._words import Worded
from mercer._xp import as_csr
from mercer.kernels import Kernel

# A block of features and the temporaries behind it should stay in a core's cache.
_BLOCK_ENTRIES = 1 << 17
_ENTRIES_WORTH_THREADS = 1 << 17


class FeatureMap(Worded, TransformerMixin, BaseEstimator):
    """A scikit-learn transformer x ↦ φ(x) made from a kernel.

    A subclass finds the map in `fit`, from what `_start` returns, and says in `transform` how to
    compute it.
    """

    kernel: Any
    # Is Φ(X) a sparse matrix, whatever X is?
    sparse_rows = False

    def _start(self, X: Any) -> tuple[Kernel, Any]:
        """(resolved kernel, checked points) at fit."""
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                "kernel must be a mercer.kernels.Kernel, such as Polynomial(2) or Gaussian(), which "
                f"scikit-learn calls 'rbf'; got {self.kernel!r}"
            )
        X = self._checked(X)
        return self.kernel.resolve(X), X

    def _check(self, X: Any) -> Any:
        """Points at transform."""
        check_is_fitted(self)
        return self._checked(X, reset=False)

    def _checked(self, X: Any, **how: Any) -> Any:
        if not self.kernel.vectors:
            return X
        sparse = "csr" if self._takes_sparse() else False
        return as_csr(validate_data(self, X, accept_sparse=sparse, dtype=(np.float64, np.float32), **how))

    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def over_rows(fill: Callable[[slice], None], n: int, width: int) -> None:
    """fill(rows) for blocks of rows of an n × width result, on all cores if there is enough to do."""
    height = max(_BLOCK_ENTRIES // max(width, 1), 16)
    blocks = [slice(i, min(i + height, n)) for i in range(0, n, height)]
    parallel_map(fill, blocks, cpu_count() if n * width > _ENTRIES_WORTH_THREADS else 1)


def generator(random_state: Any) -> np.random.Generator:
    """NumPy's generator for what scikit-learn users pass: None, a seed, a RandomState, a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint64))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be None, a whole number, a RandomState or a Generator, got {random_state!r}"
        ) from None
