"""Do two samples come from one distribution? Do two measurements depend on each other? Tests by a kernel.

Seen through a kernel a distribution is the mean of its points' feature vectors. The maximum mean discrepancy
(MMD) of two distributions is the distance of their means; the Hilbert–Schmidt independence criterion (HSIC)
of two measurements that of their joint distribution from the product of both. With a kernel such as the
Gaussian one they are 0 only where nothing is to be found, whatever the distributions are (Gretton et al.,
2005, 2012).

Where there is nothing to be found, samples may be exchanged: among B random exchanges and the data as they
are, each is as likely to have the largest statistic. So p = (1 + #{at least as large})/(1 + B) is at most α
with probability at most α, for any kernel and any number of points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr

from mercer import _resolve
from mercer._params import require_count
from mercer._xp import n_points
from mercer.engines import Engine, Tiled
from mercer.functions import KernelFunction
from mercer.functions.terms import stack
from mercer.kernels import Gaussian, Kernel, Precomputed
from mercer.kernels.door import admit
from mercer.kernels.points import as_objects, double
from mercer.kernels.separation import paired
from mercer.operators import KernelOperator
from mercer.theory.orders import Centred, traces_in_orders

# Numbers that exchanges take at a time: 128 MB of doubles.
_ENTRIES = 1 << 24
# Statistics that differ by such a share of centred values, or of the values themselves, differ by rounding.
_CENTRED, _PLAIN = 1e-13, 4e-15
_NO_SPACE = "there is no feature space, and this statistic is no distance"
_ESTIMATORS = ("unbiased", "biased")


@dataclass(frozen=True, eq=False)
class MMDTest:
    """What `mmd_test` found.

    Attributes
    ----------
    statistic : MMD², as `estimator` estimates it; "unbiased" and "linear" may be below 0
    p_value : the probability of at least as much, were both samples drawn from one distribution
    estimator : "unbiased", "biased" or "linear"
    kernel : the kernel, with what was left to the data
    n, m : sizes of the samples
    null : statistics of exchanged samples; empty for "linear", whose p-value is that of a normal distribution
    witness : f = (1/n) Σ k(x_i,·) − (1/m) Σ k(y_j,·), large where X has more points than Y, and negative
        where it has fewer; ‖f‖² is the biased MMD²

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import mmd_test
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> found = mmd_test(x, x + 1.0)
    >>> found.p_value < 0.05, bool(found.witness([[-1.0]])[0] > 0)      # the first has more points there
    (True, True)
    """

    statistic: float
    p_value: float
    estimator: str
    kernel: Kernel
    n: int
    m: int
    null: np.ndarray = field(repr=False)
    witness: KernelFunction = field(repr=False)

    def __str__(self) -> str:
        how = f"{len(self.null):,} exchanges" if len(self.null) else "normal approximation"
        said = _said(self.p_value, "the samples differ", "no difference found")
        return (
            f"Two samples of {self.n:,} and {self.m:,} points, {self.kernel!r}\n"
            f"MMD² = {self.statistic:.4g} ({self.estimator}), p = {self.p_value:.4g} ({how}): {said}"
        )


@dataclass(frozen=True, eq=False)
class HSICTest:
    """What `hsic_test` found.

    Attributes
    ----------
    statistic : HSIC, as `estimator` estimates it; "unbiased" may be below 0
    p_value : the probability of at least as much, were X and Y independent
    estimator : "unbiased" or "biased"
    kernel_x, kernel_y : the kernels, with what was left to the data
    n : number of pairs
    null : statistics of pairs that were exchanged

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import hsic_test
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> found = hsic_test(x, np.cos(3 * x))
    >>> found.p_value < 0.05, found.estimator
    (True, 'unbiased')
    """

    statistic: float
    p_value: float
    estimator: str
    kernel_x: Kernel
    kernel_y: Kernel
    n: int
    null: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        said = _said(self.p_value, "they depend on each other", "no dependence found")
        return (
            f"{self.n:,} pairs, {self.kernel_x!r} and {self.kernel_y!r}\n"
            f"HSIC = {self.statistic:.4g} ({self.estimator}), p = {self.p_value:.4g} "
            f"({len(self.null):,} exchanges): {said}"
        )


def _said(p: float, found: str, nothing: str) -> str:
    return f"{found if p <= 0.05 else nothing} (at the level of 5%)"


def mmd_test(
    X: Any,
    Y: Any,
    kernel: Any = None,
    *,
    estimator: str = "unbiased",
    n_permutations: int = 1000,
    random_state: Any = 0,
    engine: Engine | None = None,
) -> MMDTest:
    """Are X and Y drawn from one distribution? The maximum mean discrepancy, and its p-value.

    Parameters
    ----------
    X, Y : points of two samples, as the kernel takes them
    kernel : Kernel, name or function, optional
        By default ``Gaussian()``; what it leaves to the data is found from both samples together.
    estimator : "unbiased", "biased" or "linear"
        "biased" is ‖mean of k(x,·) − mean of k(y,·)‖²; "unbiased" leaves k(x,x) out. Both look at all pairs
        of points. "linear" looks at each point twice, in pairs that are drawn at random: for samples so large
        that nothing else will do.
    n_permutations : int
        Random exchanges of points between the samples; all of them take one product with K.
    random_state : int, Generator or None
    engine : Engine, optional
        Where products with K are computed; None is ``Tiled()``.

    Returns
    -------
    MMDTest

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((100, 1)), 2 * rng.standard_normal((80, 1))
    >>> found = mmd_test(X, Y)
    >>> found.p_value < 0.01, bool(found.witness([[0.0]])[0] > 0)       # X has more points near 0
    (True, True)
    >>> from mercer.kernels import Spectrum
    >>> print(mmd_test(["abab", "ab", "aba", "bab"], ["bbbb", "bb", "aab", "bbb"], Spectrum(2).normalize()))
    Two samples of 4 and 4 points, Normalized(kernel=Spectrum(length=2))
    MMD² = 1.075 (unbiased), p = 0.02098 (1,000 exchanges): the samples differ (at the level of 5%)
    """
    if estimator not in (*_ESTIMATORS, "linear"):
        raise ValueError(f"estimator must be 'unbiased', 'biased' or 'linear', got {estimator!r}")
    require_count(n_permutations, "n_permutations")
    k = _kernel(kernel)
    A, B = _points(k, X), _points(k, Y)
    k.require_same_width(A, B)
    n, m = n_points(A), n_points(B)
    least = 4 if estimator == "linear" else 2
    if min(n, m) < least:
        raise ValueError(f"the {estimator} test needs {least} points of each sample, got {n} and {m}")
    both = stack(A, B)
    k = _found(k, both)
    engine = Tiled() if engine is None else engine
    rng = np.random.default_rng(random_state)
    weights = np.where(np.arange(n + m) < n, 1 / n, -1 / m)
    witness = KernelFunction(k, both, weights, engine)
    if estimator == "linear":
        statistic, p = _in_linear_time(k, both, n, rng)
        return MMDTest(statistic, p, estimator, k, n, m, np.zeros(0), witness)
    values = _discrepancies(engine.operator(k, both), n, estimator, n_permutations, rng)
    return MMDTest(float(values[0]), _p_value(values), estimator, k, n, m, values[1:], witness)


def _kernel(kernel: Any) -> Kernel:
    k = Gaussian() if kernel is None else _resolve.kernel_of(kernel)
    k.validate()
    if isinstance(k, Precomputed):
        raise ValueError("points of a matrix K are the numbers of its rows: give Finite(K), and such numbers")
    return k


def _points(kernel: Kernel, X: Any) -> Any:
    return double(as_objects(kernel.points(X)))


def _found(kernel: Kernel, points: Any) -> Kernel:
    """The kernel with what is left to the data, which must not know which sample a point came from."""
    in_order = points
    if isinstance(points, np.ndarray) and points.ndim == 2 and points.dtype != object:
        in_order = points[np.lexsort(points.T)] if points.shape[1] else points
    kernel = kernel.resolve(in_order)
    admit(kernel, points, _NO_SPACE, 3)
    return kernel


def _p_value(values: np.ndarray) -> float:
    """From the statistic and those of exchanged samples; infinities and the like are refused."""
    if not np.isfinite(values).all():
        raise ValueError("the kernel gives NaN or infinity between these points: are they too large?")
    return float(np.mean(values >= values[0]))


def _tied(values: np.ndarray, centred: float, plain: float) -> np.ndarray:
    """The same, where what differs from the first by rounding only is equal to it.

    The values between points have these sizes; sums in another order are then not quite the same.
    """
    near = np.abs(values - values[0]) <= _CENTRED * centred + _PLAIN * plain
    return np.where(near, values[0], values)


# -- two samples ------------------------------------------------------------------------------------


def _discrepancies(K: KernelOperator, n: int, estimator: str, exchanges: int, rng: Any) -> np.ndarray:
    """MMD² of the first n points and the others, and of exchanged ones.

    MMD² stays the same if a_i + a_j is taken from k(x_i,x_j). With row sums taken away in this way all sums
    of parts are one, S = uᵀKu, where u is 1 at points of the first sample and 0 elsewhere.
    """
    N, squares = K.shape[0], K.diag()
    m = N - n
    first = (np.arange(N) < n).astype(np.float64)
    step = max(_ENTRIES // N, 1)
    parts = []
    for done in range(0, exchanges + 1, step):
        count = min(step, exchanges + 1 - done)
        U = rng.permuted(np.tile(first, (count, 1)), axis=1).T
        if not done:
            U[:, 0] = first
            U = np.column_stack([U, np.ones(N)])
        V = K @ U
        if not done:
            rows, U, V = V[:, -1], U[:, :-1], V[:, :-1]
            a = (rows - rows.mean() / 2) / N
            centred = squares - 2 * a
        S = np.einsum("ij,ij->j", U, V) - 2 * n * (a @ U)
        if estimator == "biased":
            parts.append(S * (N / (n * m)) ** 2)
        else:
            own = centred @ U
            others = centred.sum() - own
            parts.append((S - own) / (n * (n - 1)) + (S - others) / (m * (m - 1)) + 2 * S / (n * m))
    return _tied(np.concatenate(parts), np.abs(centred).max(), np.abs(squares).max())


def _in_linear_time(kernel: Kernel, both: Any, n: int, rng: Any) -> tuple[float, float]:
    """MMD² from independent terms k(x,x′) + k(y,y′) − k(x,y′) − k(x′,y), and their normal p-value."""
    N = n_points(both)
    pairs = min(n, N - n) // 2
    points = kernel.prepared(both)
    x, y = rng.permutation(n)[: 2 * pairs], n + rng.permutation(N - n)[: 2 * pairs]
    A, B, C, D = (points[rows] for rows in (x[:pairs], x[pairs:], y[:pairs], y[pairs:]))
    terms = paired(kernel, A, B) + paired(kernel, C, D) - paired(kernel, A, D) - paired(kernel, B, C)
    if not np.isfinite(terms).all():
        raise ValueError("the kernel gives NaN or infinity between these points: are they too large?")
    mean, error = float(terms.mean()), float(terms.std(ddof=1)) / math.sqrt(pairs)
    if error == 0 and mean <= 0:
        return mean, 1.0
    p = float(ndtr(-mean / error)) if error > 0 else 0.0
    # Exchanging x and y changes the sign of a term: all of them are positive with this probability, at best.
    return mean, max(p, 0.5**pairs)


# -- two measurements -------------------------------------------------------------------------------


def hsic_test(
    X: Any,
    Y: Any,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    estimator: str = "unbiased",
    n_permutations: int = 1000,
    random_state: Any = 0,
    engine: Engine | None = None,
) -> HSICTest:
    """Are x and y independent, where (x_i, y_i) are pairs? The Hilbert–Schmidt criterion, and its p-value.

    Parameters
    ----------
    X, Y : n points each, as their kernels take them; they need not be of one kind
    kernel_x, kernel_y : Kernel, name or function, optional
        By default ``Gaussian()``; what one leaves to the data is found from its own points.
    estimator : "unbiased" or "biased"
        "biased" is tr(KHLH)/n², K and L the matrices of both kernels, H = I − 11ᵀ/n; "unbiased" leaves their
        diagonals out (Song et al., 2012).
    n_permutations : int
        Random orders of Y.
    random_state : int, Generator or None
    engine : Engine, optional
        Where kernel values are computed; None is ``Tiled()``.

    Notes
    -----
    Where K = FFᵀ and L = GGᵀ with few columns, as for smooth kernels in few dimensions, an exchange takes a
    product of F with G in another order. Otherwise K and L are made, and an exchange takes n² operations.

    Returns
    -------
    HSICTest

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (100, 1))
    >>> y = x**2 + 0.1 * rng.standard_normal((100, 1))
    >>> print(abs(np.corrcoef(x[:, 0], y[:, 0])[0, 1]).round(2))        # correlation sees little
    0.1
    >>> hsic_test(x, y).p_value < 0.01
    True
    """
    if estimator not in _ESTIMATORS:
        raise ValueError(f"estimator must be 'unbiased' or 'biased', got {estimator!r}")
    require_count(n_permutations, "n_permutations")
    k, h = _kernel(kernel_x), _kernel(kernel_y)
    A, B = _points(k, X), _points(h, Y)
    n = n_points(A)
    if n_points(B) != n:
        raise ValueError(f"X and Y are pairs, one y for each x; got {n} and {n_points(B)} points")
    if n < 4:
        raise ValueError(f"a test of independence needs at least four pairs, got {n}")
    k, h = _found(k, A), _found(h, B)
    engine = Tiled() if engine is None else engine
    rng = np.random.default_rng(random_state)
    K, L = Centred(engine.operator(k, A)), Centred(engine.operator(h, B))
    products, traces = traces_in_orders(K, L, n_permutations, rng)
    if estimator == "biased":
        values = products / n**2
    else:
        sums = K.squares.sum() * L.squares.sum() / ((n - 1) * (n - 2))
        values = (products - traces + sums - 2 * traces / (n - 2)) / (n * (n - 3))
    values = _tied(values, K.squares.max() * L.squares.max(), K.largest * L.largest)
    return HSICTest(float(values[0]), _p_value(values), estimator, k, h, n, values[1:])
