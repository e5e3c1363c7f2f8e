"""The kernel of a forest: the share of its trees in which two points fall into the same leaf."""

from __future__ import annotations

import copy
import math
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from mercer._params import require_count
from mercer._threads import cpu_count, parallel_map, stopping_point
from mercer.codegen.subset.compiled import compiled
from mercer.kernels import forest_loops
from mercer.kernels.base import Kernel
from mercer.kernels.points import as_vectors
from mercer.kernels.recent import Recent
from mercer.kernels.statistics import Agreement

# Nodes of one tree are counted in float32.
_MOST_NODES = 1 << 24
# Points that fall through all trees together, and where NumPy has to do.
_ROWS, _ROWS_IN_NUMPY = 1024, 128
# Bytes of leaves that are remembered, of a few sets of points.
_REMEMBERED = 64 << 20
# Coordinates that are drawn for every node.
_SHARE = 0.4
# Values of K that are made together.
_ENTRIES = 1 << 20


@lru_cache(maxsize=4)
def _code(name: str, dtype: Any = np.float64) -> Any:
    """One of the loops in machine code; None where there is no LLVM."""
    return compiled([getattr(forest_loops, name)], dtype)


class Forest(Kernel):
    """k(x,z) = the share of the trees of a forest in which x and z fall into the same leaf.

    Parameters
    ----------
    feature, threshold, left, right : (nodes,) arrays int32, float64, int32, int32
        The nodes of all trees, one tree after another: a point goes on to node `left` if its coordinate
        `feature` is at most the threshold, else to `right`. Of leaves all but the threshold are −1. Children
        come after their parents.
    starts : (trees + 1,) int64
        The first node of every tree, and the number of nodes.
    n_features : int

    `Forest.grow` grows one on examples, and `Forest.of` takes one of scikit-learn's. Nothing but these arrays
    is kept, so that a file with a forest in it holds data and no code.

    Notes
    -----
    A tree cuts space into cells, and [same cell] is an inner product of indicators, so K = ZZᵀ/T with a 1 for
    every point and tree in Z (`features`). It is a kernel for any forest; one that has seen targets knows
    which coordinates matter where, and a machine with it fits what stationary kernels don't: steps,
    interactions, coordinates of no use. ``w1 * Laplacian(...) + w2 * forest`` does both.

    **The rows a forest was grown on know their answers.** Between them K has seen the targets, so that
    leave-one-out errors, marginal likelihoods and cross-validation on these rows are far too good. Grow on
    some of the rows, and judge on the others.

    As scikit-learn's trees do, points are rounded to float32 before they are compared with thresholds. k is
    constant within cells and has no slope in x.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 4))
    >>> y = np.floor(4 * X[:, 0]) * (X[:, 1] > 0.5)             # steps, and two coordinates of no use
    >>> forest = Forest.grow(X[:200], y[:200], trees=50)
    >>> forest                                                  # doctest: +ELLIPSIS
    Forest(<50 trees with ... leaves>)
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> machines = [KernelRidge(k).fit(X[:200], y[:200]) for k in (Gaussian(), forest)]
    >>> errors = [float(np.mean((m.predict(X[200:]) - y[200:]) ** 2)) for m in machines]
    >>> errors[1] < 0.5 * errors[0]
    True
    """

    # Arrays that were looked at, by identity: looking at a million nodes takes longer than a small matrix.
    _sound: tuple[Any, ...] = ()
    _memory: Recent | None = None

    def __init__(self, feature, threshold, left, right, starts, n_features):
        self.feature = feature
        self.threshold = threshold
        self.left = left
        self.right = right
        self.starts = starts
        self.n_features = n_features

    def __repr__(self):
        return f"Forest(<{self.trees} trees with {int((np.asarray(self.left) < 0).sum())} leaves>)"

    def __copy__(self):
        other = type(self)(**self.get_params(deep=False))
        other._sound, other._memory = self._sound, self._memory
        return other

    def __sklearn_clone__(self):
        return copy.copy(self)  # the arrays are large, and nobody writes to them

    def __getstate__(self):
        return self.get_params(deep=False)

    # -- forests ----------------------------------------------------------------------------------

    @classmethod
    def grow(
        cls,
        X: Any,
        y: Any,
        *,
        trees: int = 300,
        random_splits: bool = False,
        min_leaf: int = 3,
        max_features: Any = None,
        labels: bool | None = None,
        weights: Any = None,
        random_state: Any = 0,
    ) -> Forest:
        """The kernel of a forest that scikit-learn grows on these examples.

        Parameters
        ----------
        X, y : examples; y may have several columns
        trees : int
        random_splits : bool
            Draw thresholds at random and take the best of these (ExtraTrees). Else the best threshold is
            looked for, for each tree on a sample of the rows with repetitions (RandomForest), which on
            quantities is the better kernel, and on labels no worse.
        min_leaf : int
            Examples that every leaf has at least.
        max_features : as in scikit-learn
            Coordinates that are drawn for every node, a share or a number of them. None: two in five,
            and for labels the root of their number.
        labels : bool, optional
            Are the targets labels, rather than quantities? None: if they are no numbers.
        weights : (n,) numbers, optional
            How much each example counts.
        random_state : as in scikit-learn

        Examples
        --------
        >>> X = np.arange(20.0)[:, None]
        >>> forest = Forest.grow(X, ["low"] * 10 + ["high"] * 10, trees=20)
        >>> forest([[2.0], [4.0]], [[3.0], [17.0]]).round(1)[:, 1]
        array([0., 0.])
        """
        from sklearn import ensemble

        if labels is None:
            labels = np.asarray(y).dtype.kind not in "fiu"
        if max_features is None:
            max_features = "sqrt" if labels else _SHARE
        names = ("RandomForest", "ExtraTrees")
        grower = getattr(ensemble, names[bool(random_splits)] + ("Classifier" if labels else "Regressor"))
        forest = grower(
            n_estimators=require_count(trees, "Forest.grow: trees"),
            min_samples_leaf=require_count(min_leaf, "Forest.grow: min_leaf"),
            max_features=max_features,
            n_jobs=cpu_count(),
            random_state=random_state,
        )
        return cls.of(forest.fit(as_vectors(X, what="Forest.grow"), y, sample_weight=weights))

    @classmethod
    def of(cls, forest: Any) -> Forest:
        """The kernel of a fitted forest of scikit-learn's: RandomForest…, ExtraTrees…, RandomTreesEmbedding.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> X = np.random.default_rng(0).standard_normal((50, 2))
        >>> fitted = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
        >>> bool((Forest.of(fitted).leaves(X) == fitted.apply(X)).all())
        True
        """
        parts: list[Any] = [
            getattr(tree, "tree_", None) for tree in np.ravel(getattr(forest, "estimators_", []))
        ]
        if not parts or any(part is None for part in parts) or not hasattr(forest, "apply"):
            raise TypeError(
                f"Forest.of takes a fitted forest of scikit-learn's, with estimators_; got {forest!r}"
            )
        starts = np.concatenate([[0], np.cumsum([part.node_count for part in parts])]).astype(np.int64)
        first = np.repeat(starts[:-1], np.diff(starts))
        leaf = np.concatenate([part.children_left for part in parts]) < 0

        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(part, name) for part in parts])

        # Of rows without numbers an infinite threshold says where they go, and those are refused here.
        most = np.finfo(np.float64).max
        left, right = (np.where(leaf, -1, joined(f"children_{side}") + first) for side in ("left", "right"))
        return cls(
            feature=np.where(leaf, -1, joined("feature")).astype(np.int32),
            threshold=np.where(leaf, -1.0, np.clip(joined("threshold"), -most, most)),
            left=left.astype(np.int32),
            right=right.astype(np.int32),
            starts=starts,
            n_features=int(forest.n_features_in_),
        )

    # -- what must hold ---------------------------------------------------------------------------

    def validate(self):
        arrays = (self.feature, self.threshold, self.left, self.right, self.starts, self.n_features)
        if len(self._sound) == len(arrays) and all(map(_same, self._sound, arrays)):
            return
        self._require_form(*arrays)
        self._require_trees()
        self._sound, self._memory = arrays, Recent(_REMEMBERED)

    @staticmethod
    def _require_form(feature, threshold, left, right, starts, n_features) -> None:
        require_count(n_features, "Forest: n_features")
        wanted = {
            "feature": (feature, np.int32),
            "threshold": (threshold, np.float64),
            "left": (left, np.int32),
            "right": (right, np.int32),
            "starts": (starts, np.int64),
        }
        for name, (a, dtype) in wanted.items():
            plain = isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype == dtype and a.dtype.isnative
            _require(plain and a.flags.c_contiguous and a.flags.aligned, f"{name} is no array {dtype}")
        nodes = len(feature)
        _require(all(len(a) == nodes for a in (threshold, left, right)), "arrays of nodes differ in length")
        fine = len(starts) >= 2 and starts[0] == 0 and starts[-1] == nodes < 1 << 31
        sizes = np.diff(starts)
        _require(fine and (sizes > 0).all() and (sizes < _MOST_NODES).all(), "starts does not cut the nodes")

    def _require_trees(self) -> None:
        left, right, feature = self.left, self.right, self.feature
        at = np.arange(len(left))
        end = np.repeat(self.starts[1:], np.diff(self.starts))
        leaf = left == -1
        _require(np.isfinite(self.threshold).all(), "a threshold is not finite")
        _require((leaf | ((left > at) & (left < end))).all(), "a child does not come after its parent")
        _require((leaf | ((right > at) & (right < end))).all(), "a child does not come after its parent")
        _require((right[leaf] == -1).all() and (feature[leaf] == -1).all(), "a leaf has children")
        inside = (feature >= 0) & (feature < self.n_features)
        _require((leaf | inside).all(), f"a feature is none of {self.n_features}")

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return len(self.starts) - 1

    # -- leaves -----------------------------------------------------------------------------------

    def points(self, X):
        X = as_vectors(X, what="Forest")
        self._require_width(X.shape[1])
        return X

    def _require_width(self, d: int) -> None:
        if d != self.n_features:
            raise ValueError(f"Forest: points have {d} features, and it was grown on {self.n_features}")

    def leaves(self, X: Any) -> np.ndarray:
        """The leaf in which each point ends in each tree, (n, trees): its node, as scikit-learn's `apply`.

        Examples
        --------
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> Forest.grow(X, X[:, 0], trees=5, min_leaf=1).leaves(X).shape
        (4, 5)
        """
        self.validate()
        return self._fallen(self.points(X)).astype(np.int64)

    def _fallen(self, X: np.ndarray) -> np.ndarray:
        """`leaves` of checked points as float32, not to be written to."""
        self.validate()
        self._require_width(X.shape[1])
        with np.errstate(over="ignore"):
            X = np.ascontiguousarray(X, np.float32)
        memory, key = self._memory, (X.shape, blake2b(X.data, digest_size=16).digest())
        assert memory is not None
        found = memory.get(key)
        if found is None:
            found = self._fall(X)
            memory.put(key, found)
        return found

    def _fall(self, X: np.ndarray) -> np.ndarray:
        out = np.empty((len(X), self.trees), np.float32)
        arrays = (self.starts, self.trees, self.feature, self.threshold, self.left, self.right)
        run = _code("fall")
        rows = _ROWS_IN_NUMPY if run is None else _ROWS
        run = run or forest_loops.fall_in_numpy

        def some(first: int) -> None:
            stopping_point()
            run(X, first, min(first + rows, len(X)), *arrays, out)

        parallel_map(some, range(0, len(X), rows), cpu_count(), blas=False)
        out.flags.writeable = False
        return out

    def features(self, X: Any) -> Any:
        """φ(x) of every point, k(x,z) = φ(x)·φ(z): sparse (n, leaves), with 1/√T for every tree.

        Examples
        --------
        >>> X = np.random.default_rng(0).standard_normal((30, 2))
        >>> forest = Forest.grow(X, X[:, 1], trees=10)
        >>> Z = forest.features(X)
        >>> bool(np.allclose((Z @ Z.T).toarray(), forest(X)))
        True
        """
        Z = self._indicators(self.points(X), np.float64)
        Z.data /= math.sqrt(self.trees)
        return Z

    def _indicators(self, X: np.ndarray, dtype: Any) -> Any:
        """A sparse matrix with a 1 for every point and tree, a column for each leaf of the forest."""
        from scipy.sparse import csr_array

        node = self._fallen(X).astype(np.int64) + self.starts[:-1]
        leaf = self.left < 0
        number = np.cumsum(leaf, dtype=np.int32) - 1
        n, trees = node.shape
        ends = np.arange(0, n * trees + 1, trees)
        short = np.int32 if n * trees < 1 << 31 else np.int64
        parts = np.ones(n * trees, dtype), number[node.ravel()].astype(short), ends.astype(short)
        return csr_array(parts, shape=(n, int(leaf.sum())))

    # -- values -----------------------------------------------------------------------------------

    def child_points(self, X):
        return self._fallen(X).astype(X.dtype, copy=False)

    def formula(self, tracer, view):
        return tracer.statistic(Agreement(), view.then(self)) * (1 / self.trees)

    def pairwise(self, X, Z):
        dtype = np.result_type(X, Z)
        A = self._indicators(X, dtype)
        B = (A if Z is X else self._indicators(Z, dtype)).T.tocsr()
        out = np.empty((X.shape[0], Z.shape[0]), dtype)
        run = _code("meet", dtype) if A.indices.dtype == B.indices.dtype == np.int32 else None
        height = max(_ENTRIES // max(Z.shape[0], 1), 1)

        def some(first: int) -> None:
            stopping_point()
            last = min(first + height, len(out))
            if run is None:
                out[first:last] = (A[first:last] @ B).toarray() / dtype.type(self.trees)
            else:
                run(
                    A.indices, self.trees, first, last, B.indptr, B.indices, 1 / self.trees, out.shape[1], out
                )

        parallel_map(some, range(0, len(out), height), cpu_count() if out.size > _ENTRIES else 1, blas=False)
        return out

    def diagonal(self, X):
        return np.ones(len(X), X.dtype)

    def gradient_log_params(self, X, Z):
        return {}  # there is nothing to vary

    def vjp_log_params(self, X, W):
        return {}

    def rule(self):
        return "a forest: [same leaf] is an inner product of indicators"


def _same(a: Any, b: Any) -> bool:
    return a is b


def _require(fine: Any, what: str) -> None:
    if not fine:
        raise ValueError(f"Forest: {what}")
