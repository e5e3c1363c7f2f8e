"""The leave-one-out error as a function of a kernel's parameters and λ, its gradient, and its descent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.optimize import minimize
from sklearn.base import clone

from mercer._threads import stopping_point
from mercer._units import by_size, equal_rows, units_of
from mercer.engines import Engine, Tiled
from mercer.estimators.base import KernelMachine
from mercer.kernels.base import Kernel
from mercer.operators import KernelOperator, NotPositiveDefinite
from mercer.operators.factor import mirror_upper
from mercer.posterior.likelihood import (
    free_parameters,
    likelihood_slopes,
    logs_of,
    restricted_inverse,
    slopes_as_vector,
    with_logs,
)
from mercer.selection.parameters import declared, within

# Logarithms: length scales may leave their starting point by this much (a factor of 150 to 3000 or so).
_SHORTER, _LONGER = 5.0, 8.0
_TINY = 1e-300
_SMALLEST_SHIFT = 1e-6


@dataclass(frozen=True, eq=False)
class LooSurface:
    """(n/2) log L(θ, μ) and its gradient in log θ and log μ; L is the leave-one-out error of kernel ridge.

    With P = (K + μI)⁻¹ and a = Py the residuals are e_i = a_i/P_ii and L is their mean square. A change dK
    changes L by ⟨M, dK⟩ with M = (2/nt) (P diag(s) P − sym Σ_t a_t (P(a_t/p²))ᵀ), s_i = Σ_t a_it²/P_ii³: one
    factorisation and one product, however many parameters the kernel has; the rest is
    `Kernel.vjp_log_params`.

    A share of the objective can be −log of the marginal likelihood of a Gaussian process with covariance
    a²(K + μI), a² at its best, (n/2) log(yᵀPy/n) − ½ log det P. It is in the same units, and steadier where
    examples are few: leaving one out of few tells little about many length scales.

    Rows of one unit (equal ones, or those of a group) are left out together: with D the blocks of P that
    belong to units, E = D⁻¹a and V = D⁻¹E, the residuals are E and M = (2/nt)(P S P − sym P V aᵀ), S the
    blocks of sym V Eᵀ. Such rows are no independent observations, so n in front of the logarithms is the
    number of units, and the likelihood is that of one row of each; m copies of it stand for the mean of their
    targets, known to μ/m.

    Attributes
    ----------
    X : (n, d) points
    Y : (n, t) targets
    likelihood : share of the marginal likelihood, from 0 to 1
    units : (n,) numbers of the units, or None where every row is one
    offset : an unpenalised constant b beside f, refitted with every unit that is left out. It is the limit
        of c·11ᵀ added to K as c grows, so P − P11ᵀP/(1ᵀP1) takes the place of P in all of the above.
    engine : where it is computed, if not on the CPU: `Cuda` takes kernels of the usual statistics, rows that
        are units of their own, and no share of the likelihood. What it does not take is computed here.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> surface = LooSurface(np.array([[0.0], [1.0], [2.0]]), np.array([[-1.0], [0.0], [1.0]]))
    >>> error, objective, slopes, slope_mu = surface.value_and_slopes(Gaussian(1.0), mu=0.1)
    >>> bool(np.isclose(objective, 1.5 * np.log(error))), list(slopes)
    (True, ['sigma'])
    """

    X: np.ndarray
    Y: np.ndarray
    likelihood: float = 0.0
    units: np.ndarray | None = None
    offset: bool = False
    engine: Engine | None = None

    @cached_property
    def _blocks(self) -> list[np.ndarray]:
        """Rows of the units, one array (units, size) for each size."""
        return by_size(np.arange(len(self.Y)) if self.units is None else self.units)

    @property
    def count(self) -> int:
        """How many units there are."""
        return sum(len(rows) for rows in self._blocks)

    @property
    def kept(self) -> float:
        """How many rows are left on average when a unit is left out; a machine's λ means μ = λ·kept there."""
        return len(self.Y) * (1 - 1 / self.count)

    @cached_property
    def _one_each(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One row of every unit, how many copies of it there are, and the mean of their targets."""
        first = np.sort(np.concatenate([rows[:, 0] for rows in self._blocks]))
        if len(first) == len(self.Y):
            return first, np.ones(len(first)), self.Y
        same = equal_rows(self.X)
        copies = np.bincount(same).astype(float)
        means = np.column_stack([np.bincount(same, column) / copies for column in self.Y.T])
        return first, copies[same[first]], means[same[first]]

    def value_and_slopes(self, kernel: Kernel, mu: float) -> tuple[float, float, dict[str, Any], float]:
        """(L, the objective, its slopes in log θ by name of the kernel's parameter, its slope in log μ)."""
        share = self.likelihood
        if self.engine is not None and share == 0 and self.count == len(self.Y):
            found = self.engine.left_out(kernel, self.X, self.Y, mu, self.offset)
            if found is not None:
                error, slopes, slope = found
                scale = self.count / (2 * error)
                slopes = {name: scale * value for name, value in slopes.items()}
                return error, float(0.5 * self.count * np.log(error)), slopes, scale * slope * mu
        G = np.asarray(Tiled(threads=1).operator(kernel, self.X).dense(), dtype=np.float64)
        # The smallest shift at which an inverse in double precision means something.
        shift = max(mu, 1e-12 * float(np.mean(np.diag(G))))
        first, copies, means = self._one_each
        reduced = None
        if share > 0 and self.count < len(G):
            reduced = restricted_inverse(G[np.ix_(first, first)], shift / copies, self.offset)
        P, log_det = restricted_inverse(G, shift, self.offset)
        error, M = self._left_out(P)
        value = 0.5 * self.count * np.log(error) * (1 - share)
        M *= (1 - share) * self.count / (2 * error)
        slope = float(np.trace(M))
        if share > 0:
            likely, cells = _likelihood(*(reduced or (P, log_det)), means)
            value += share * likely
            M[np.ix_(first, first)] += share * cells
            slope += share * float(np.diag(cells) @ (1 / copies))
        return error, float(value), kernel.vjp_log_params(self.X, M), slope * mu

    def _left_out(self, P: np.ndarray) -> tuple[float, np.ndarray]:
        """L, and M with dL = ⟨M, dK⟩."""
        n, t = self.Y.shape
        A = P @ self.Y
        if self.count == n:
            p = np.diag(P).copy()
            E = A / p[:, None]
            R = P * np.sqrt((A**2).sum(axis=1) / p**3)[None, :]
            # Half of a symmetric product is enough, and R is not needed again.
            inner, V = dsyrk(1.0, R.T, trans=1, lower=1).T, E / p[:, None]
            mirror_upper(inner)
        else:
            E, V, SP = np.empty_like(A), np.empty_like(A), np.empty_like(P)
            for rows in self._blocks:
                D = P[rows[:, :, None], rows[:, None, :]]
                E[rows] = np.linalg.solve(D, A[rows])
                V[rows] = np.linalg.solve(D, E[rows])
                outer = V[rows] @ E[rows].transpose(0, 2, 1)
                SP[rows] = 0.5 * (outer + outer.transpose(0, 2, 1)) @ P[rows]
            inner = P @ SP
        AB = A @ (P @ V).T
        return max(float(np.mean(E**2)), _TINY), (inner - 0.5 * (AB + AB.T)) * (2 / (n * t))


def _likelihood(P: np.ndarray, log_det: float, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """−log of the marginal likelihood, of one scale and a mean over outputs, and its slopes in cells of K."""
    (n, t), A = Y.shape, P @ Y
    scale = max(float(np.vdot(A, Y)) / (n * t), _TINY)
    return 0.5 * (n * np.log(scale) + log_det), likelihood_slopes(P.copy(), A, scale) / -t


@dataclass(frozen=True, eq=False, repr=False)
class Refined:
    """A machine whose kernel and λ were moved down the leave-one-out error.

    Attributes
    ----------
    machine : the machine with those values, not fitted
    loo_mse : leave-one-out mean squared error at the end: the mean square of what `loo` gives for the
        machine, if that is one of least squares with a coefficient for every example (representation="full")
    loo_mse_before : and at the start
    objective, objective_before : (n/2) log of that error, with the share of the likelihood and the distance
        from the start: what was minimised
    evaluations : how often error and gradient were computed
    status : "converged", "max_iter", "out of time", or "stalled" where no step led further down

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import refine
    >>> X = np.random.default_rng(0).uniform(-3, 3, (50, 1))
    >>> found = refine(KernelRidge(Gaussian(5.0), lam=0.1), X, np.sin(2 * X[:, 0]))
    >>> found.status, bool(found.loo_mse < found.loo_mse_before), bool(found.machine.kernel.sigma < 5)
    ('converged', True, True)
    """

    machine: KernelMachine
    loo_mse: float
    loo_mse_before: float
    objective: float
    objective_before: float
    evaluations: int
    status: str

    def __repr__(self) -> str:
        return (
            f"<leave-one-out error {self.loo_mse_before:.4g} → {self.loo_mse:.4g} in {self.evaluations} "
            f"evaluations, {self.status}>"
        )


class _OutOfTime(Exception):
    pass


def refine(
    machine: KernelMachine,
    X: Any,
    y: Any,
    *,
    likelihood: float = 0.0,
    spread: float = 1.0,
    max_iter: int = 40,
    minutes: float | None = None,
    groups: Any = None,
) -> Refined:
    """Move a kernel's continuous parameters and λ down the gradient of the exact leave-one-out error.

    Minimises (n/2) log L + Σ (log θ_j − c)²/2s² by L-BFGS, where L is the leave-one-out mean squared error of
    least squares with one coefficient an example, and with an offset if the machine has one. The second term,
    with c the starting value, keeps the many length scales of few examples from following the noise. One
    length scale a feature is asked for by ``kernel.scaled(…)``. What the kernel says of its parameters holds:
    `mercer.kernels.fixed`, `bounded`, and of `believed` ones the prior in place of that term.

    Parameters
    ----------
    machine : a machine with a kernel of vectors and a starting λ
        Whatever its loss, least squares is what is measured; labels are coded as for that loss.
    X, y : as in ``machine.fit``; time grows like n³, so a few thousand rows at most; with a GPU
        (``engine="cuda"``) some ten thousand
    likelihood : float from 0 to 1
        Share of the marginal likelihood in the objective, which helps where examples are few.
    spread : float > 0
        s above, in units of log θ.
    max_iter : int
    minutes : float, optional
        Stop after so long, with the best found.
    groups : (n,) labels, optional
        Rows of one group are left out together. So are equal rows, in any case: one of them would give the
        other away.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 3))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(80)     # the other two features are noise
    >>> found = refine(KernelRidge(Gaussian(1.0).scaled([1.0, 1.0, 1.0]), lam=1e-3), X, y)
    >>> found.loo_mse < 0.2 * found.loo_mse_before
    True
    >>> bool(np.argmin(found.machine.kernel.lengths) == 0)
    True
    """
    if not 0 <= likelihood <= 1 or not spread > 0:
        raise ValueError(
            f"likelihood must lie in [0, 1] and spread above 0, got {likelihood!r} and {spread!r}"
        )
    problem, _ = clone(machine).set_params(representation="full").problem(X, y)
    points = problem.A.X if isinstance(problem.A, KernelOperator) else None
    if not isinstance(points, np.ndarray) or points.dtype.kind != "f":
        raise ValueError(
            f"{machine.kernel!r} on these points has no continuous parameters to move: refine needs a kernel "
            "of vectors, and X as an array (X.toarray() if it is sparse)"
        )
    if np.ndim(problem.lam) or not problem.lam > 0:
        raise ValueError(f"refine moves one λ > 0: lam must be a positive number, got {machine.lam!r}")
    kernel, points, Y = problem.A.kernel, points.astype(np.float64), problem.y
    if problem.offset:
        Y = Y - Y.mean(axis=0)  # the offset takes that up; this only saves digits
    units, engine = units_of(points, groups), problem.A.engine
    surface = LooSurface(points, Y, likelihood, units, problem.offset, engine)
    if surface.count < 2:
        raise ValueError(
            "there is one example only (or equal ones, or one group), and nothing is left when it is left out"
        )
    seconds = None if minutes is None else 60 * minutes
    return descend(surface, machine, kernel, problem.lam * surface.kept, spread, max_iter, seconds)


def descend(
    surface: LooSurface,
    machine: KernelMachine,
    kernel: Kernel,
    mu: float,
    spread: float,
    max_iter: int,
    seconds: float | None,
    lengths: bool = True,
) -> Refined:
    """`refine` for points and targets at hand; without `lengths` only weights of kernels and λ move."""
    kept = surface.kept
    names = [(name, n) for name, n in free_parameters(kernel) if lengths or name.split("__")[-1] == "factor"]
    first = np.append(logs_of(kernel, names), np.log(mu))
    said = declared(kernel, names)
    priors = {i: value.prior for i, value in enumerate(said) if value is not None and value.prior}
    pulled = np.array([i not in priors for i in range(len(said))], dtype=bool)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray, float]:
        k, m = with_logs(kernel, names, theta), float(np.exp(theta[-1]))
        error, value, slopes, slope_mu = surface.value_and_slopes(k, m)
        gradient = np.append(slopes_as_vector(slopes, names), slope_mu)
        away = np.where(pulled, theta[:-1] - first[:-1], 0.0)
        gradient[:-1] += away / spread**2
        value += 0.5 * float(away @ away) / spread**2
        for i, prior in priors.items():
            density, slope = prior.log_density(float(theta[i]))
            value, gradient[i] = value - density, gradient[i] - slope
        return value, gradient, error

    # Below a millionth of k(x,x) a shift is no noise any more, only a way to follow rounding.
    size = float(np.mean(kernel.diag(surface.X)))
    floor = min(np.log(_SMALLEST_SHIFT * size), first[-1]) if size > 0 else first[-1]
    wide = np.column_stack([first[:-1] - _SHORTER, first[:-1] + _LONGER])
    bounds = [*map(tuple, within(wide, said)), (floor, first[-1] + 12)]
    found = lowest(objective, first, bounds, max_iter, seconds)
    if found is None:
        raise np.linalg.LinAlgError(
            f"K + λnI is not positive definite at the start, with {kernel!r} and λ = {mu / kept:.2g}: a "
            "larger λ may help, if this is a kernel (mercer.kernels.check)"
        )
    chosen = clone(machine).set_params(
        kernel=with_logs(kernel, names, found.theta), lam=float(np.exp(found.theta[-1]) / kept)
    )
    return Refined(
        chosen, found.beside, found.before[1], found.value, found.before[0], found.count, found.status
    )


@dataclass(frozen=True, eq=False)
class Lowest:
    """Where L-BFGS found the smallest value.

    Attributes
    ----------
    theta, value, beside : the point, its value, and what the objective gave beside it
    before : value, and what was beside it, at the first point that had one
    count : evaluations
    status : "converged", "max_iter", "out of time", or "stalled" where no step led further down
    """

    theta: np.ndarray
    value: float
    beside: Any
    before: tuple[float, Any]
    count: int
    status: str


def lowest(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray, Any]],
    first: np.ndarray,
    bounds: list[tuple[float, float]],
    max_iter: int,
    seconds: float | None,
) -> Lowest | None:
    """The lowest point that L-BFGS met, of an objective that gives (value, gradient, something beside).

    Where a matrix can't be factored the objective counts as very large; None if it was so everywhere.

    Examples
    --------
    >>> found = lowest(lambda x: (float(x @ x), 2 * x, "beside"), np.ones(2), [(-2.0, 2.0)] * 2, 20, None)
    >>> found.status, bool(found.value < 1e-10), found.before
    ('converged', True, (2.0, 'beside'))
    """
    started = time.monotonic()
    best: list[tuple[float, np.ndarray, Any]] = []
    before: list[tuple[float, Any]] = []
    count = 0

    def watched(theta: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal count
        stopping_point()
        if seconds is not None and count and time.monotonic() - started > seconds:
            raise _OutOfTime
        count += 1
        try:
            value, gradient, beside = objective(theta)
        except (np.linalg.LinAlgError, NotPositiveDefinite):
            return 1e10, np.zeros_like(theta)
        if not before:
            before.append((value, beside))
        if not best or value < best[0][0]:
            best[:] = [(value, theta.copy(), beside)]
        return value, gradient

    try:
        found = minimize(
            watched,
            first,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": max_iter, "maxfun": 2 * max_iter},
        )
        status = {0: "converged", 1: "max_iter"}.get(found.status, "stalled")
    except _OutOfTime:
        status = "out of time"
    if not best:
        return None
    value, theta, beside = best[0]
    return Lowest(theta, value, beside, before[0], count, status)
