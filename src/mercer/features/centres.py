"""Choosing the centres of a Nyström approximation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer._params import Params, is_number
from mercer._units import equal_rows
from mercer.operators import KernelOperator

# Rounds in which mixed centres are drawn by distance: distances are brought up to date after each.
_ROUNDS = 16
# Values of a kernel that come from a GPU while centres are chosen: a few seconds.
_MOST_FETCHED = 1 << 30


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

    def words(self, n: int, m: int, dear: bool = False, remote: bool = False) -> str:
        """How m of n points are chosen, for a plan; `dear`, `remote` as operators say it."""
        return f"centres are chosen by {self!r}"


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

    def words(self, n, m, dear=False, remote=False):
        return "centres are drawn uniformly"


class Mixed(Centres):
    """Three quarters of the centres uniform, the others where these are far: the default.

    Uniform centres go where the examples are, which is best for the average error, and miss the few that lie
    apart: there f would be 0. So the others are taken in rounds by the squared kernel distance
    k(x,x) + k(z,z) − 2k(x,z) to the nearest centre: each round the farthest point, and some drawn ∝ that
    distance, as in k-means++. Equal points are taken once, as long as there are others.

    The price is n·m kernel values, that of one product with K(X, Z), of which a fit takes many. Where
    values are dear (points that are not vectors) or have to come from a GPU, the others are drawn from
    a uniform sample of the points (`looked_at`).

    Parameters
    ----------
    share : float
        The share of centres that are drawn by distance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> X = np.append(np.linspace(0, 1, 999), 9.0)[:, None]       # the last one lies apart
    >>> K = Tiled().operator(Gaussian(1.0), X)
    >>> bool(999 in Mixed().choose(K, 10, np.random.default_rng(0)))
    True
    >>> Mixed().words(1000, 10)
    'of 10 centres 8 are drawn uniformly, the others where these are far, as in k-means++'
    """

    def __init__(self, share=0.25):
        self.share = share

    def choose(self, K, m, rng):
        n, far = K.shape[0], self._far(m)
        # Equal objects (graphs, strings) have distance 0, which does as well.
        different = np.unique(equal_rows(K.X), return_index=True)[1] if K.kernel.vectors else np.arange(n)
        if len(different) <= m:
            rest = np.setdiff1d(np.arange(n), different)
            return np.sort(np.append(different, rng.choice(rest, m - len(different), replace=False)))
        chosen = rng.choice(different, m - far, replace=False)
        looked = self.looked_at(n, m, K.dear, K.remote)
        if looked < len(different):
            others = np.setdiff1d(different, chosen)
            different = np.append(chosen, rng.choice(others, looked - len(chosen), replace=False))
        some = np.sort(different)
        part = K if len(some) == n else K.among(some, some)
        return some[_farther(part, np.searchsorted(some, chosen), m, rng)]

    def _far(self, m: int) -> int:
        """How many of m centres are drawn by distance: the first can't be."""
        if not is_number(self.share) or not 0 <= self.share <= 1:
            raise ValueError(f"Mixed: share must be between 0 and 1, got {self.share!r}")
        return min(int(self.share * m), m - 1)

    def looked_at(self, n: int, m: int, dear: bool = False, remote: bool = False) -> int:
        """How many of n points the distance to the nearest centre is computed of."""
        most = max(2 * m, n // 8) if dear else max(2 * m, _MOST_FETCHED // m) if remote else n
        return min(n, most)

    def words(self, n, m, dear=False, remote=False):
        looked, far = self.looked_at(n, m, dear, remote), self._far(m)
        among = f" of {looked:,} points" if looked < n else ""
        return (
            f"of {m:,} centres {m - far:,} are drawn uniformly, the others{among} where these are far, "
            "as in k-means++"
        )


def _farther(K: KernelOperator, chosen: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """m indices in increasing order: those chosen, and others by their squared distance to the nearest.

    The farthest of every round is taken, since draws ∝ distance may pass over a single outlier.
    """
    diagonal = K.diag()
    nearest = np.full(K.shape[0], np.inf)
    count, fresh = -(-(m - len(chosen)) // _ROUNDS), chosen
    while len(chosen) < m:
        own = diagonal[fresh].astype(K.dtype)

        def step(rows, values, own=own):
            gap = diagonal[rows] - (2 * values - own).max(axis=1)
            nearest[rows] = np.minimum(nearest[rows], gap)

        with np.errstate(invalid="ignore", over="ignore"):  # of values that aren't finite others speak
            K.among(columns=fresh).reduce(step)
            known = nearest > 16 * np.finfo(K.dtype).eps * np.abs(diagonal)
        weights = np.where(known & np.isfinite(nearest), nearest, 0.0)
        farthest = int(np.argmax(weights))
        first = np.array([farthest] if weights[farthest] > 0 else [], dtype=int)
        weights[first] = 0.0
        taken = np.append(chosen, first)
        fresh = np.append(first, _draw(weights, min(count, m - len(chosen)) - len(first), taken, rng))
        chosen = np.append(chosen, fresh)
    return np.sort(chosen)


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
    "mixed": Mixed,
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
        new = solve_triangular(factor, G[:, kept].T.astype(np.float64), lower=True, overwrite_b=True).T
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
