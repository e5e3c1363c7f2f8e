"""A whose rows live elsewhere: it is multiplied where they are, and only sums over them come here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.operators.base import Operator
from mercer.operators.composed import FeatureOperator, Shifted
from mercer.rows import Rows, Shard
from mercer.rows.base import Totals

# work(A of a shard, its targets, its weights, the number of its first row, *vectors) → what is added up
Work = Callable[..., Totals]


class FacingColumns:
    """X ↦ K(X, Z) for points of the same form, columns being prepared once wherever this is used.

    It can be sent to another machine: the engine there prepares them anew.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Linear
    >>> from mercer.operators import FacingColumns
    >>> facing = FacingColumns(Tiled(), Linear(), np.array([[1.0], [2.0]]))
    >>> facing(np.array([[3.0]])).dense()
    array([[3., 6.]])
    """

    def __init__(self, engine: Any, kernel: Any, Z: Any):
        self.engine, self.kernel, self.Z = engine, kernel, Z
        self._bound: Any = None
        self._binding = threading.Lock()

    @property
    def at_once(self) -> int:
        return self.engine.at_once

    def __getstate__(self):
        return self.engine, self.kernel, self.Z

    def __setstate__(self, state):
        self.__init__(*state)  # type: ignore[misc]

    def __call__(self, X: np.ndarray) -> Operator:
        with self._binding:
            if self._bound is None:
                # Shards may be small, but there are many of them: a compiled loop pays.
                engine = self.engine.at_rows().expecting(np.inf)
                self._bound = engine.operator(self.kernel, self.Z[:1], self.Z)
        return self._bound.facing(X.astype(self.Z.dtype, copy=False))


@dataclass(frozen=True, eq=False)
class FacingFeatures:
    """X ↦ Φ(X) for a fitted feature map of so many features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourierFeatures
    >>> from mercer.operators import FacingFeatures
    >>> X = np.array([[1.0], [2.0]])
    >>> map = RandomFourierFeatures(n_features=6, random_state=0).fit(X)
    >>> facing = FacingFeatures(map, map.transform(X).shape[1], X.dtype)
    >>> bool(np.allclose(facing(X).dense(), map.transform(X)))
    True
    """

    map: Any
    size: int
    dtype: np.dtype

    def __call__(self, X: np.ndarray) -> Operator:
        return FeatureOperator(self.map, X.astype(self.dtype, copy=False), self.size)


@dataclass(frozen=True, eq=False)
class FacingShifted:
    """X ↦ A(X) − 1 mᵀ for a way of making A.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import FacingShifted, Matrix
    >>> FacingShifted(Matrix, np.array([1.0, 2.0]))(np.array([[1.0, 5.0]])).dense()
    array([[0., 3.]])
    """

    facing: Callable[[np.ndarray], Operator]
    mean: np.ndarray

    @property
    def at_once(self) -> int:
        return getattr(self.facing, "at_once", 1)

    def __call__(self, X: np.ndarray) -> Operator:
        return Shifted(self.facing(X), self.mean)


@dataclass(frozen=True, eq=False)
class OnShards:
    """A task on shards of rows: work on the operator that their points make."""

    facing: Callable[[np.ndarray], Operator]
    work: Work

    @property
    def at_once(self) -> int:
        return getattr(self.facing, "at_once", 1)

    def __call__(self, shard: Shard, *vectors: Any) -> Totals:
        return self.work(self.facing(shard.X), shard.y, shard.w, shard.first, *vectors)


class Elsewhere(Operator):
    """A = K(X, Z) or Φ(X) where the examples X live elsewhere.

    There are no rows, blocks or products with a result as long as y: what can be had is `adding`, sums over
    all examples of what some work makes of A, y and the weights, shard by shard.

    Parameters
    ----------
    rows : Rows
        With encoded targets.
    facing : X ↦ the operator of some points, such as `FacingColumns`
    columns : int, the number of columns
    dtype : that of entries

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> from mercer.rows import ArrayRows
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> A = Elsewhere(ArrayRows(X, rows=20), FacingColumns(Tiled(), Gaussian(1.0), X[:3]), 3, X.dtype)
    >>> sums = A.adding(lambda A, y, w, first, v: (A.adjoint(A @ v),))
    >>> K = Gaussian(1.0)(X, X[:3])
    >>> bool(np.allclose(sums(np.ones(3))[0], K.T @ (K @ np.ones(3))))
    True
    """

    of_kernel = True

    def __init__(self, rows: Rows, facing: Callable[[np.ndarray], Operator], columns: int, dtype: Any):
        self.rows_elsewhere, self.facing = rows, facing
        self.shape, self.dtype = (rows.shape[0], columns), np.dtype(dtype)

    def adding(self, work: Work) -> Callable[..., Totals]:
        """vectors ↦ Σ over shards of work(A, y, w, first, *vectors); a call is a pass over all rows."""
        task = OnShards(self.facing, work)

        def total(*vectors: Any) -> Totals:
            return self.rows_elsewhere.total(task, *vectors)

        return total

    def taken(self, index: np.ndarray) -> tuple[Operator, Any, Any]:
        """(A, y, w) of some rows, given by their numbers in order: in memory."""
        shard = self.rows_elsewhere.take(index)
        return self.facing(shard.X), shard.y, shard.w

    def blocks(self):
        raise TypeError("the rows of this operator live elsewhere: only sums over them can be had (adding)")
