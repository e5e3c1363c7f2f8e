"""Choosing the centres of a Nyström approximation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._params import Params
from mercer.operators import KernelOperator


class Centres(Params):
    """How to choose m of the training points. Contract: `choose` → indices of distinct points.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.representations import Centres, Nystrom
    >>> class First(Centres):
    ...     def choose(self, K, m, rng):
    ...         return np.arange(m)
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> machine = KernelRidge(representation=Nystrom(4, First())).fit(X, X[:, 0])
    >>> machine.function_.points[:, 0].round(2).tolist()
    [0.0, 0.02, 0.04, 0.06]
    """

    def choose(self, K: KernelOperator, m: int, rng: np.random.Generator) -> np.ndarray:
        """Indices of m distinct points of K = K(X, X), in increasing order."""
        raise NotImplementedError


class Uniform(Centres):
    """m points drawn uniformly without replacement.

    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> K = Tiled().operator(Gaussian(1.0), np.arange(10.0)[:, None])
    >>> len(Uniform().choose(K, 4, np.random.default_rng(0)))
    4
    """

    def choose(self, K, m, rng):
        return np.sort(rng.choice(K.shape[0], m, replace=False))


class KMeansPlusPlus(Centres):
    """k-means++ seeding in feature space: each next centre ∝ its squared kernel distance to the nearest one.

    Points come in rounds rather than one by one, each round drawing from the current distances; that
    costs m/32 passes over the data instead of m, for nearly the same spread.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> K = Tiled().operator(Gaussian(1.0), np.array([[0.0], [0.01], [0.02], [0.03], [9.0]]))
    >>> index = KMeansPlusPlus().choose(K, 2, np.random.default_rng(0))
    >>> 4 in index                      # the point far from the others
    True
    """

    def __init__(self, per_round=32):
        self.per_round = per_round

    def choose(self, K, m, rng):
        n, diagonal = K.shape[0], K.diag()
        chosen = [int(rng.integers(n))]
        nearest = np.full(n, np.inf)
        fresh = np.array(chosen)
        while len(chosen) < m:
            gap = diagonal[:, None] + diagonal[fresh][None, :] - 2 * K.columns(fresh)
            nearest = np.maximum(np.minimum(nearest, gap.min(axis=1)), 0)
            nearest[chosen] = 0
            # Early rounds are short: the distances change most while there are few centres.
            count = min(m - len(chosen), self.per_round, len(chosen))
            fresh = _draw(nearest, count, np.array(chosen), rng)
            chosen.extend(int(i) for i in fresh)
        return np.sort(np.array(chosen))


class Leverage(Centres):
    """Approximate ridge leverage scores: points whose removal would matter most for the fit.

    The score ℓ_i = (K(K+λnI)⁻¹)_ii is estimated from a uniform sample of the points, then m
    points are drawn in proportion to it.

    Parameters
    ----------
    lam : float, optional
        Regularisation at which the leverage is taken. None: the one at which the scores add up to
        about m, so that m centres are what the problem calls for.
    sample : int
        Size of the uniform sample (at least; 2m if that is more, up to n).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> K = Tiled().operator(Gaussian(1.0), np.array([[0.0], [0.01], [0.02], [0.03], [9.0]]))
    >>> index = Leverage().choose(K, 2, np.random.default_rng(0))
    >>> 4 in index                      # the point far from the others
    True
    """

    def __init__(self, lam=None, sample=500):
        self.lam = lam
        self.sample = sample

    def choose(self, K, m, rng):
        n = K.shape[0]
        q = min(n, max(self.sample, min(2 * m, 2000)))
        pilot = np.sort(rng.choice(n, q, replace=False))
        G = K.among(pilot, pilot).dense().astype(np.float64)
        # ℓ_i ≈ (k_ii − k_iᵀ(G + λqI)⁻¹k_i)/(λn), with the sample standing for all n points.
        values, vectors = np.linalg.eigh(G)
        values = np.maximum(values, 0)
        if self.lam is None:
            # The sample can't tell apart more directions than it has; half of them are well estimated.
            seen = (values / (values + 1e-6 * values[-1])).sum() if values[-1] > 0 else 0.0
            shift = _shift_with_dimension(values, min(m, seen / 2))
        else:
            shift = self.lam * q
        inverse = (vectors / np.sqrt(values + max(shift, 1e-10 * values[-1]))).T
        explained = np.empty(n)

        def step(rows, values):
            explained[rows] = np.square(values.astype(np.float64) @ inverse.T).sum(axis=1)

        K.among(columns=pilot).reduce(step)
        # Only proportions matter for drawing, so the factor 1/(λn) is left out.
        scores = np.maximum(K.diag() - explained, 0)
        scores = np.maximum(scores, 1e-12 * scores.max(initial=0.0))
        return np.sort(_draw(scores, m, np.array([], dtype=int), rng))


def _shift_with_dimension(values: np.ndarray, dimension: float) -> float:
    """The μ at which Σ σ/(σ+μ) = dimension, by bisection on its logarithm."""
    low, high = 1e-12 * values[-1], 1e3 * values.sum()
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if (values / (values + middle)).sum() > dimension else (low, middle)
    return float(high)


class PivotedCholesky(Centres):
    """Randomly pivoted Cholesky: each next centre ∝ what the earlier ones leave unexplained of k(x,x).

    Parameters
    ----------
    block : int
        Pivots drawn per round.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> K = Tiled().operator(Gaussian(1.0), np.array([[0.0], [0.01], [0.02], [0.03], [9.0]]))
    >>> index = PivotedCholesky(block=1).choose(K, 2, np.random.default_rng(0))
    >>> 4 in index                      # the point far from the others
    True
    """

    def __init__(self, block=64):
        self.block = block

    def choose(self, K, m, rng):
        _, pivots = randomly_pivoted_cholesky(K.diag(), K.columns, m, rng, block=self.block)
        if len(pivots) < m:
            # The kernel matrix has rank below m: any further points add nothing, but m were asked for.
            rest = np.setdiff1d(np.arange(K.shape[0]), pivots)
            pivots = np.concatenate([pivots, rng.choice(rest, m - len(pivots), replace=False)])
        return np.sort(pivots)


_NAMES: dict[str, type[Centres]] = {
    "uniform": Uniform,
    "k-means++": KMeansPlusPlus,
    "leverage": Leverage,
    "pivoted_cholesky": PivotedCholesky,
}


def centres_of(value: Any) -> Centres:
    """A way of choosing centres, or its name."""
    if isinstance(value, Centres):
        return value
    if isinstance(value, str) and value in _NAMES:
        return _NAMES[value]()
    raise ValueError(
        f"centres must be a Centres object or one of {', '.join(map(repr, _NAMES))}; got {value!r}"
    )


def randomly_pivoted_cholesky(
    diagonal: np.ndarray,
    columns: Callable[[np.ndarray], np.ndarray],
    rank: int,
    rng: np.random.Generator,
    *,
    block: int = 64,
    tol: float = 1e-12,
) -> tuple[np.ndarray, np.ndarray]:
    """F (n, r) with K ≈ F Fᵀ and the pivots, from r ≤ rank columns of K.

    Stops early when the unexplained part of the trace falls below tol·trace(K).
    """
    n = len(diagonal)
    residual = diagonal.astype(np.float64).copy()
    total = max(float(residual.sum()), np.finfo(float).tiny)
    F: np.ndarray | None = None
    pivots = np.zeros(0, dtype=int)
    while len(pivots) < min(rank, n):
        residual[pivots] = 0
        if not residual.sum() > tol * total:  # or NaN: a kernel that is not finite, which is not said here
            break
        count = min(block, rank - len(pivots), int((residual > 0).sum()))
        fresh = _draw(residual, count, pivots, rng)
        G = columns(fresh)
        if F is None:
            F = np.empty((n, min(rank, n)), G.dtype)
        done = len(pivots)
        G = G - F[:, :done] @ F[fresh, :done].T
        core = G[fresh].astype(np.float64)
        # Within a block pivots may be nearly dependent; keep those that still add something.
        kept, factor = _greedy_cholesky(core, diagonal[fresh])
        if len(kept) == 0:
            residual[fresh] = 0
            continue
        new = np.linalg.solve(factor, G[:, kept].T.astype(np.float64)).T
        F[:, done : done + len(kept)] = new
        residual = np.maximum(residual - np.einsum("ij,ij->i", new, new), 0)
        residual[fresh] = 0
        pivots = np.concatenate([pivots, fresh[kept]])
    if F is None:
        return np.zeros((n, 0)), pivots
    return F[:, : len(pivots)], pivots


def _greedy_cholesky(core: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices whose pivots stay above rounding, and the Cholesky factor of that part."""
    size = len(core)
    L = np.zeros_like(core)
    rest = core.diagonal().copy()
    kept: list[int] = []
    for i in range(size):
        row = np.zeros(len(kept))
        for a, j in enumerate(kept):
            row[a] = (core[i, j] - row[:a] @ L[a, :a]) / L[a, a]
        pivot = core[i, i] - row @ row
        if pivot > 1e-10 * max(scale[i], rest[i]):
            a = len(kept)
            L[a, :a], L[a, a] = row, np.sqrt(pivot)
            kept.append(i)
    k = len(kept)
    return np.array(kept, dtype=int), L[:k, :k]


def _draw(weights: np.ndarray, count: int, taken: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """`count` distinct indices with probability ∝ weights; uniform over the rest if weights run out."""
    w = weights.copy()
    w[taken] = 0
    positive = int((w > 0).sum())
    fresh = np.zeros(0, dtype=int)
    if positive:
        fresh = rng.choice(len(w), min(count, positive), replace=False, p=w / w.sum())
    if len(fresh) < count:
        rest = np.setdiff1d(np.arange(len(w)), np.concatenate([taken, fresh]))
        fresh = np.concatenate([fresh, rng.choice(rest, count - len(fresh), replace=False)])
    return fresh
