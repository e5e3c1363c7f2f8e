"""The posterior by functions drawn from it: linear systems, products with K, and no n×n array."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mercer._params import is_integer
from mercer._xp import n_points
from mercer.features.base import generator
from mercer.kernels.points import double
from mercer.posterior import likelihood
from mercer.posterior.base import Posterior, blocks_of, checked_count, require_memory
from mercer.posterior.observations import in_precision_of
from mercer.posterior.prior import BUNDLE, FEATURES, PriorDraws
from mercer.posterior.stochastic import (
    PROBES,
    Estimate,
    LikelihoodSlopes,
    Probed,
    Weights,
    likelihood_slopes,
    probed,
)
from mercer.posterior.system import System

# Functions from which deviations are taken: their standard errors are 4.4 per cent then.
SAMPLES = 256
TOLERANCE = 1e-5
_LIMIT = 1000
# Functions and probes have random numbers of their own, whichever are asked for first.
_SOURCES = {"functions": 1, "probes": 2}
# Terms of a sum whose rounding adds up.
_SUMMED = 30.0


class Deviations:
    """f − E f for functions f of the posterior at s = 1, offsets included: callable anywhere, one a column.

    Matheron's rule: with f₀ from the prior and ε₀ from the noise, f₀ − k(·)ᵀc − b for (c, b) that fit f₀(X) +
    ε₀.

    Attributes
    ----------
    residuals : relative residual of the linear system behind each function
    prior_error : root mean square error of the prior's covariance between examples, relative to k(x,x)
    """

    def __init__(self, system: System, count: int, features: int, rng: np.random.Generator):
        K = self.K = system.K
        width = K.X.shape[1] if getattr(K.X, "ndim", 1) == 2 else 0
        self.count = count
        self.prior = PriorDraws(K.kernel, width, count, rng, K.engine, features)
        noise = rng.standard_normal((system.n, count)) * (np.sqrt(system.mu) / system.root)
        self.coef, self.offsets, self.residuals = system.coefficients(self.prior(K.X) + noise)

    @cached_property
    def prior_error(self) -> float:
        return self.prior.error(self.K.X)

    def __call__(self, points: Any) -> np.ndarray:
        """(m, count) at points as the kernel takes them."""
        update = self.K.facing(in_precision_of(self.K, points)) @ self.coef
        return self.prior(double(points)) - update - self.offsets


class Paths:
    """Functions f + b drawn from a posterior: call them anywhere, as often as you like, at the price of a
    product.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> paths = KernelRidge(lam=1e-3).fit(X, np.sin(X[:, 0])).posterior("pathwise").paths(5, random_state=0)
    >>> far = np.array([[9.0], [12.0]])
    >>> paths(far).shape, bool(np.allclose(paths(far)[1:], paths(far[1:])))
    ((2, 5), True)
    """

    def __init__(self, posterior: PathwisePosterior, deviations: Deviations):
        self.posterior, self.deviations = posterior, deviations

    @property
    def residuals(self) -> np.ndarray:
        """Relative residual of the linear system behind each function."""
        return self.deviations.residuals

    def __call__(self, X: Any) -> np.ndarray:
        """(m, n_samples), or (m, t, n_samples)."""
        return self.at_points(self.posterior.seen.door(X))

    def at_points(self, points: Any) -> np.ndarray:
        """The same, at points as the kernel takes them."""
        posterior, t = self.posterior, len(self.posterior.scale)
        parts = []
        for some in blocks_of(points, self.deviations.count):
            off = self.deviations(some).reshape(n_points(some), t, -1)
            parts.append(posterior.means_at(some)[:, :, None] + np.sqrt(posterior.scale)[:, None] * off)
        values = np.concatenate(parts)
        return values[:, 0] if posterior.seen.single else values


class PathwisePosterior(Posterior):
    """The posterior for many examples: functions drawn by pathwise conditioning, deviations from such
    functions.

    A function of the posterior is one of the prior, a sum of cosines, plus Σ c_i k(x_i,·) + b that corrects
    it where there are data; all functions' linear systems are solved together by conjugate gradients on K,
    which is never in memory. `std` and `covariance` are root mean squares over `n_samples` functions about
    the known mean: the standard error of a deviation is about 1/√(2·n_samples) of it, whatever n; `std_error`
    measures it. The likelihood and its gradient are stochastic, with standard errors (see
    `mercer.posterior.stochastic`).

    Parameters
    ----------
    seen, scale : as in `Posterior`
    random_state : as in `Posterior`; a whole number also says which functions and probes are behind `std`,
        `covariance` and the likelihood
    n_samples : int, default=256
        Functions behind `std` and `covariance`.
    n_features : int, default=2048
        Cosines and sines of each 16 functions of the prior.
    probes : int, default=32
        Random vectors behind the likelihood.
    tol : float, default=1e-5
        Relative residual of linear systems; of float32 points on a GPU at least 2⁻²²√n, which rounding
        leaves.
    max_iter : int, default=1000

    Attributes
    ----------
    residual : the largest relative residual of a linear system so far
    prior_error : root mean square error of the prior's covariance between examples, relative to k(x,x)
    gradient_error : standard errors of the entries of the gradient of the likelihood

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> machine = KernelRidge(lam=1e-3).fit(X, np.sin(X[:, 0]))
    >>> some, all_pairs = machine.posterior("pathwise", random_state=0), machine.posterior("exact")
    >>> far = [[9.0]]
    >>> bool(abs(some.std(far) - all_pairs.std(far)) < 4 * some.std_error(far))
    True
    >>> value = some.log_marginal_likelihood()
    >>> bool(abs(value - all_pairs.log_marginal_likelihood()) < 4 * value.standard_error + 1e-6 * abs(value))
    True

    References
    ----------
    Wilson, Borovitskiy, Terenin, Mostowsky and Deisenroth, Pathwise conditioning of Gaussian processes, 2021.
    Ubaru, Chen and Saad, Fast estimation of tr f(A) via stochastic Lanczos quadrature, 2017.
    """

    method = "pathwise"

    def __init__(
        self,
        seen: Any,
        scale: Any = "likelihood",
        random_state: Any = None,
        n_samples: int = SAMPLES,
        n_features: int = FEATURES,
        probes: int = PROBES,
        tol: float = TOLERANCE,
        max_iter: int = _LIMIT,
    ):
        super().__init__(seen, scale, random_state)
        self.n_samples, self.n_features, self.probes = n_samples, n_features, probes
        self.tol, self.max_iter = tol, max_iter
        self._kept["system"] = self._system()

    def _system(self) -> System:
        return System(self.seen, self.tol, self.max_iter, np.random.default_rng(0))

    @property
    def system(self) -> System:
        """The linear systems, and their preconditioner."""
        if "system" not in self._kept:  # after unpickling
            self._kept["system"] = self._system()
        return self._kept["system"]

    def _once(self, what: str, make: Callable[[np.random.Generator], Any]) -> Any:
        """What is kept for every scale; random numbers follow from `random_state`, if that is a number."""
        seed = int(self.random_state) if is_integer(self.random_state) else 0
        if (what, seed) not in self._kept:
            self._kept[what, seed] = make(np.random.default_rng([seed, _SOURCES.get(what, 0)]))
        return self._kept[what, seed]

    # -- functions --------------------------------------------------------------------------------

    def paths(self, n_samples: int = 1, random_state: Any = None) -> Paths:
        """Functions f + b drawn from the posterior, which can be called anywhere."""
        rng = generator(self.random_state if random_state is None else random_state)
        return self._paths(self._room_for(checked_count(n_samples)), rng)

    def _room_for(self, count: int, points: int = 0) -> int:
        """The number of functions, if memory holds their coefficients and their values at so many points."""
        n, t = self.seen.y.shape
        need = 8.0 * count * t * (4 * n + 3 * points)
        require_memory(need, f"{count:,} functions of {n:,} examples", "fewer of them at a time")
        return count

    def _paths(self, count: int, rng: np.random.Generator) -> Paths:
        return Paths(self, Deviations(self.system, count * self.seen.y.shape[1], self.n_features, rng))

    def _draw(self, points, count, rng):
        return self._paths(self._room_for(count, n_points(points)), rng).at_points(points)

    @property
    def deviations(self) -> Deviations:
        """The functions behind `std` and `covariance`, at s = 1."""
        return self._once(
            "functions", lambda rng: Deviations(self.system, self.n_samples, self.n_features, rng)
        )

    @property
    def prior_error(self) -> float:
        """Root mean square error of the prior's covariance between some examples, relative to k(x,x)."""
        return self.deviations.prior_error

    @property
    def residual(self) -> float:
        """The largest relative residual among the linear systems of the functions behind `std`."""
        return float(self.deviations.residuals.max())

    # -- answers ----------------------------------------------------------------------------------

    def _in_blocks(self, points, answer):
        return np.concatenate([answer(some) for some in blocks_of(points, self.n_samples)])

    def means_at(self, points: Any) -> np.ndarray:
        """(m, t) posterior means at points as the kernel takes them."""
        K = self.system.K
        return K.facing(in_precision_of(K, points)) @ self._solved.coef + self._solved.intercept

    _means = means_at

    def _variances(self, points):
        return np.square(self.deviations(points)).mean(axis=1)

    def _covariances(self, points):
        D = self.deviations(points)
        return D @ D.T / D.shape[1]

    def _bytes_a_point(self):
        return 24 * self.n_samples

    def std_error(self, X: Any, noise: bool = False) -> np.ndarray:
        """Standard errors of `std`, from how bundles of functions differ: shaped like it."""
        points = self.seen.door(X)
        error = self._in_blocks(points, lambda some: _spread(np.square(self.deviations(some))))
        deviation = np.sqrt(self._variance(points, noise))
        scaled = error[:, None] * self.scale
        return self._shaped(np.divide(scaled, 2 * deviation, out=np.zeros_like(scaled), where=deviation > 0))

    def covariance_error(self, X: Any) -> np.ndarray:
        """Standard errors of `covariance`, from how bundles of functions differ: shaped like it."""
        D = self.deviations(self.seen.door(X))
        groups = _bundles(D.shape[1])
        C = np.stack([D[:, g] @ D[:, g].T / (g.stop - g.start) for g in groups])
        error = C.std(axis=0, ddof=1) / np.sqrt(len(groups))
        return error * self.scale[0] if self.seen.single else error[:, :, None] * self.scale

    # -- likelihood -------------------------------------------------------------------------------

    @property
    def _solved(self) -> Weights:
        return self._once("solved", lambda _: self._solve())

    def _solve(self) -> Weights:
        system, y = self.system, self.seen.y
        coef, intercept, _ = system.coefficients(y)
        # cᵀGc + 2cᵀ(y − b − Gc): off from yᵀPy by the square of what c is off only.
        rest = y - intercept
        G = system.K @ coef + system.mu / system.root**2 * coef
        form = np.einsum("ij,ij->j", coef, 2 * rest - G)
        left = system.root * (rest - G)
        lost = np.einsum("ij,ij->j", left, system.below.inverse(left))
        # What rounding of K does to cᵀKc: errors of its entries are independent, but not those of sums.
        eps = float(np.finfo(system.K.dtype).eps) * float(system.K.diag().max(initial=0.0))
        lost = lost + eps * min(np.sqrt(system.n), _SUMMED) * np.einsum("ij,ij->j", coef, coef)
        return Weights(coef, intercept, np.maximum(form, 0.0), float(lost.max(initial=0.0)))

    @property
    def _probed(self) -> Probed:
        return self._once("probes", lambda rng: probed(self.system, self.probes, rng))

    def _forms(self):
        log_det = self._probed.log_det - 2 * float(np.log(self.system.root).sum())
        if self.system.offset:
            log_det += float(np.log(self.system.of_ones[1]))
        return self._solved.form, log_det

    def _quadratic_form(self):
        # The determinant, which takes longer, is left for when it is asked for.
        return self._solved.form

    @property
    def slopes(self) -> LikelihoodSlopes:
        """What the gradient of the likelihood is made of."""
        return self._once(
            "slopes", lambda _: likelihood_slopes(self.system, self.seen, self._solved.coef, self._probed)
        )

    def _slopes(self):
        gradient = self.slopes.gradient(self.scale)
        return gradient[:-1], gradient[-1]

    @property
    def gradient_error(self) -> np.ndarray:
        """Standard errors of the entries of the likelihood's gradient, from the spread of probes."""
        return self.slopes.standard_errors(len(self.scale))

    def log_marginal_likelihood(self, *, eval_gradient: bool = False) -> Any:
        """log p(y), as in `Posterior`, with its `standard_error`; with `eval_gradient` (it, its gradient in
        theta).

        The error holds the spread of probes, that of quadrature, and what linear systems may lack.
        """
        self._require_scale()
        form, log_det = self._forms()
        value = likelihood.log_likelihood(form, log_det, self.seen.degrees, self.scale)
        lacking = 0.5 * float(np.sum(self._solved.lost / np.where(self.scale > 0, self.scale, np.inf)))
        error = float(np.hypot(0.5 * len(self.scale) * self._probed.standard_error, lacking))
        estimate = Estimate(value, error)
        if not eval_gradient:
            return estimate
        return estimate, self.slopes.gradient(self.scale)


def _bundles(count: int) -> list[slice]:
    """Functions that share frequencies; single ones where they are too few to tell their spread.

    Functions of one bundle are not independent: where few frequencies matter, as between examples with little
    noise, they err alike.
    """
    size = BUNDLE if count >= 8 * BUNDLE else 1
    return [slice(i, min(i + size, count)) for i in range(0, count, size)]


def _spread(values: np.ndarray) -> np.ndarray:
    """Standard errors of the means of rows, columns being functions."""
    means = np.stack([values[:, g].mean(axis=1) for g in _bundles(values.shape[1])])
    if len(means) < 2:
        return np.full(len(values), np.inf)
    # Few bundles may agree by chance; squares of so many independent normal values would not.
    least = np.sqrt(2 / values.shape[1]) * values.mean(axis=1)
    return np.maximum(means.std(axis=0, ddof=1) / np.sqrt(len(means)), least)
