"""What every posterior of a Gaussian process answers, and what it is made from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from mercer._memory import available_memory
from mercer._params import is_number
from mercer._threads import interruptible
from mercer._warnings import frames_inside
from mercer._xp import n_points, take
from mercer.features.base import generator
from mercer.kernels.base import Kernel
from mercer.posterior import likelihood
from mercer.posterior.observations import Observations
from mercer.solvers.cost import bytes_in_words

# Values at new points, of kernels or of functions, that are held at a time: 64 MB.
_AT_ONCE = 1 << 23


class Posterior:
    """f + b given the data, where f is a Gaussian process a priori.

    The model is y_i = f(x_i) + b + ε_i, f ~ GP(0, s·k), ε_i ~ N(0, s·λn/w_i): then the machine's minimiser is
    the posterior mean. With an offset b has a flat prior, and is uncertain with f.

    Made by ``machine.posterior()``. The subclass says how: `ExactPosterior`, `ProjectedPosterior`.

    Parameters
    ----------
    seen : Observations
    scale : "likelihood", float > 0, or one for each output
        s. "likelihood": where the likelihood is largest, s = yᵀPy/ν with P = G⁻¹ − G⁻¹11ᵀG⁻¹/(1ᵀG⁻¹1) (only
        G⁻¹ without an offset), G = K + λnW⁻¹ and ν = n − 1 (or n). 1.0: the kernel as it is.
    random_state : for samples where nothing else is said

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> posterior = KernelRidge(lam=1e-3).fit(X, np.sin(X[:, 0])).posterior()
    >>> near, far = posterior.std([[3.0], [60.0]])
    >>> bool(near < 0.1 * far)
    True
    >>> posterior.method, posterior.scale.shape
    ('exact', (1,))
    """

    method = ""

    def __init__(self, seen: Observations, scale: Any = "likelihood", random_state: Any = None):
        self.seen, self._given, self.random_state = seen, _checked_scale(scale, seen.y.shape[1]), random_state
        # What was factored, shared with the same posterior at other scales.
        self._kept: dict[Any, Any] = {}

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, made when first asked for."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def __getstate__(self):
        # What was factored is made anew where it is needed: a file holds the examples, no n×n array.
        return {**self.__dict__, "_kept": {}}

    # -- what a subclass says, at s = 1 and for points as the kernel takes them -----------------------

    def _means(self, points: Any) -> np.ndarray:
        """(m, t) posterior means of f + b."""
        raise NotImplementedError

    def _variances(self, points: Any) -> np.ndarray:
        """(m,) variances of f + b; rounding may leave them below 0."""
        raise NotImplementedError

    def _covariances(self, points: Any) -> np.ndarray:
        """(m, m) covariances of f + b."""
        raise NotImplementedError

    def _forms(self) -> tuple[np.ndarray, float]:
        """((t,) yᵀPy, log det G with an offset + log(1ᵀG⁻¹1))."""
        raise NotImplementedError

    def _quadratic_form(self) -> np.ndarray:
        """(t,) yᵀPy alone."""
        return self._forms()[0]

    def _slopes(self) -> tuple[np.ndarray, float]:
        """Slopes of the log likelihood in log θ, in the order of the names, and in log μ."""
        raise NotImplementedError

    def _bytes_a_point(self) -> int:
        """Bytes that each of several points takes whose covariance is asked for."""
        return 16 * self.seen.A.shape[1]

    # -- scale and noise ----------------------------------------------------------------------------

    def scaled(self, scale: Any) -> Any:
        """The same posterior with another s; what was factored is shared."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._given = _checked_scale(scale, self.seen.y.shape[1])
        other.__dict__.pop("scale", None)
        return other

    @cached_property
    def scale(self) -> np.ndarray:
        """(t,) s of each output, the variance of f being s·k(x,x) a priori."""
        if self._given is not None:
            return self._given
        if self.seen.degrees < 1:
            raise ValueError(
                "one example and an offset say nothing about the scale: scale=1.0 leaves the kernel as it is"
            )
        if self.seen.constant:
            warnings.warn(
                "the targets are constant, so their most likely scale is 0, and so are all standard "
                "deviations: give scale=..., the variance that f may have",
                UserWarning,
                stacklevel=frames_inside(),
            )
        return np.where(self.seen.varied, self._quadratic_form() / self.seen.degrees, 0.0)

    @property
    def noise(self) -> np.ndarray:
        """(t,) s·λn: the variance of ε of an example of weight 1, weights having mean 1."""
        return self.scale * self.seen.noise

    # -- answers --------------------------------------------------------------------------------------

    def mean(self, X: Any) -> np.ndarray:
        """Posterior mean of f + b at X, shaped as predictions are."""
        points = self.seen.door(X)
        return self._shaped(self._in_blocks(points, self._means))

    def std(self, X: Any, noise: bool = False) -> np.ndarray:
        """Standard deviation of f + b at X, (m,) or (m, t); with `noise` that of a new y there."""
        return self._shaped(np.sqrt(self._variance(self.seen.door(X), noise)))

    def covariance(self, X: Any) -> np.ndarray:
        """Covariances of f + b between points of X, (m, m) or (m, m, t)."""
        C = self._covariance(self.seen.door(X))
        return C * self.scale[0] if self.seen.single else C[:, :, None] * self.scale

    def interval(self, X: Any, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) bounds between which a new y lies with probability `level`, noise included.

        s counts as known: with few examples the intervals are a little short.
        """
        if not (is_number(level) and 0 < level < 1):
            raise ValueError(f"level must be a probability between 0 and 1, such as 0.9, got {level!r}")
        half = float(ndtri(0.5 + level / 2)) * self.std(X, noise=True)
        middle = self.mean(X)
        return middle - half, middle + half

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None, noise: bool = False) -> np.ndarray:
        """Functions f + b drawn from the posterior, at X: (m, n_samples), or (m, t, n_samples).

        With `noise` new y of such functions, every one with noise of its own.
        """
        points = self.seen.door(X)
        rng = generator(self.random_state if random_state is None else random_state)
        drawn = self._draw(points, checked_count(n_samples), rng)
        if not noise:
            return drawn
        size = np.sqrt(self.noise[0] if self.seen.single else self.noise[:, None])
        return drawn + size * rng.standard_normal(drawn.shape)

    def log_density(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | data) of new y at X, each by itself, noise included: (m,) or (m, t)."""
        points = self.seen.door(X)
        means = self._in_blocks(points, self._means)
        y = np.asarray(y, dtype=np.float64)
        if y.ndim == 0 or y.size != means.size or len(y) != len(means):
            raise ValueError(f"y has shape {y.shape}, but there are predictions of shape {means.shape}")
        self._require_scale()
        variance = self._variance(points, True)
        off = y.reshape(means.shape) - means
        return self._shaped(-0.5 * (np.log(2 * np.pi * variance) + off * off / variance))

    # -- likelihood -----------------------------------------------------------------------------------

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the entries of theta: continuous parameters of the kernel and, last, "noise", λn."""
        return (*likelihood.labels_of(self.seen.names), "noise")

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of these parameters."""
        return self.seen.theta

    def log_marginal_likelihood(self, *, eval_gradient: bool = False) -> Any:
        """log p(y), outputs added up; with `eval_gradient` (it, its gradient in theta).

        −½ (yᵀPy/s + ν log 2πs + log det G): without an offset ν = n and P = G⁻¹. With one, b is integrated
        over its flat prior, of density 1: ν = n − 1, and log(1ᵀG⁻¹1) is added to log det G. (The likelihood
        of n − 1 orthonormal contrasts of y is larger by ½ log n.) With scale="likelihood" s is at its best,
        for every theta.
        """
        self._require_scale()
        form, log_det = self._forms()
        value = likelihood.log_likelihood(form, log_det, self.seen.degrees, self.scale)
        if not eval_gradient:
            return value
        in_kernel, in_noise = self._slopes()
        return value, np.append(in_kernel, in_noise)

    # -- shared ---------------------------------------------------------------------------------------

    def _require_scale(self) -> None:
        if self._given is None and (self.seen.constant or not (self.scale > 0).all()):
            raise ValueError(
                "the targets are constant, so the most likely scale is 0, and there is no density"
            )

    def _shaped(self, columns: np.ndarray) -> np.ndarray:
        return columns[:, 0] if self.seen.single else columns

    def _in_blocks(self, points: Any, answer: Callable[[Any], np.ndarray]) -> np.ndarray:
        return np.concatenate([answer(some) for some in blocks_of(points, self.seen.A.shape[1])])

    def _variance(self, points: Any, noise: bool) -> np.ndarray:
        """(m, t); what rounding leaves below 0 is 0."""
        base = np.maximum(self._in_blocks(points, self._variances), 0.0)
        return (base + (self.seen.noise if noise else 0.0))[:, None] * self.scale

    def _covariance(self, points: Any) -> np.ndarray:
        m = n_points(points)
        require_memory(
            24 * m * m + m * self._bytes_a_point(), f"covariances between {m:,} points", "fewer points"
        )
        C = self._covariances(points)
        C = 0.5 * (C + C.T)
        C.flat[:: len(C) + 1] = np.maximum(C.diagonal(), 0.0)
        return C

    def _draw(self, points: Any, count: int, rng: np.random.Generator) -> np.ndarray:
        m, t = n_points(points), self.seen.y.shape[1]
        require_memory(
            32 * m * m + 24 * m * t * count, f"{count:,} functions at {m:,} points", "fewer of them at a time"
        )
        means = self._in_blocks(points, self._means)
        out = drawn(means, self._covariance(points), self.scale, count, rng)
        return out[:, 0] if self.seen.single else out

    def __repr__(self) -> str:
        n, t = self.seen.y.shape
        what = self.seen.features.map if self.seen.features is not None else self.seen.kernel
        outputs = f", {t} outputs" if t > 1 else ""
        how = "at its most likely" if self._given is None else "given"
        # Looking at a posterior should not start a factorisation.
        known = "scale" in self.__dict__ or self._given is not None
        scale = f" ({', '.join(f'{s:.4g}' for s in self.scale[:4])})" if known else ""
        noise = f"noise {self.seen.noise:.3g} times the scale"
        return (
            f"<{self.method} posterior of {n:,} examples{outputs}: {what!r}, {noise}, which is {how}{scale}>"
        )


class Prior:
    """f ~ GP(0, s·k) before any data.

    Parameters
    ----------
    kernel : Kernel, with no parameter left to the data
    scale : float > 0, s

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> Prior(Gaussian(0.5), scale=4.0).sample(X, 3, random_state=0).shape
    (5, 3)
    >>> Prior(Gaussian(0.5), scale=4.0).std(X)
    array([2., 2., 2., 2., 2.])
    """

    def __init__(self, kernel: Kernel, scale: float = 1.0):
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a mercer.kernels.Kernel, such as Gaussian(1.0), got {kernel!r}")
        kernel.validate()
        kernel.require_resolved()
        if not (is_number(scale) and 0 < scale < np.inf):
            raise ValueError(f"scale must be a positive number, got {scale!r}")
        self.kernel, self.scale = kernel, float(scale)

    def mean(self, X: Any) -> np.ndarray:
        """Zeros."""
        return np.zeros(n_points(self.kernel.points(X)))

    def std(self, X: Any) -> np.ndarray:
        """√(s·k(x,x)), (m,)."""
        return np.sqrt(self.scale * np.maximum(self.kernel.diag(X), 0.0)).astype(np.float64)

    def covariance(self, X: Any) -> np.ndarray:
        """s·K(X, X), (m, m)."""
        m = n_points(self.kernel.points(X))
        require_memory(24 * m * m, f"covariances between {m:,} points", "fewer points")
        return self.scale * np.asarray(self.kernel(X), dtype=np.float64)

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Functions drawn from the prior, at X: (m, n_samples)."""
        K = self.covariance(X)
        rng, count = generator(random_state), checked_count(n_samples)
        least, most = np.linalg.eigvalsh(K)[[0, -1]] if len(K) else (0.0, 0.0)
        if least < -1e-8 * abs(most):
            raise ValueError(
                f"{self.kernel!r} is no kernel: its matrix among these points has the eigenvalue "
                f"{least:.2g}, and there is no Gaussian process with this covariance"
            )
        require_memory(8 * len(K) * (3 * len(K) + 3 * count), f"{count:,} functions", "fewer at a time")
        return drawn(np.zeros((len(K), 1)), K, np.ones(1), count, rng)[:, 0]

    def __repr__(self) -> str:
        return f"Prior({self.kernel!r}, scale={self.scale:g})"


def drawn(
    means: np.ndarray, covariance: np.ndarray, scale: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """(m, t, count) samples of N(means_j, s_j·covariance), which may be singular."""
    values, vectors = interruptible(lambda: np.linalg.eigh(covariance))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    (m, t) = means.shape
    noise = root @ rng.standard_normal((m, t * count))
    return means[:, :, None] + np.sqrt(scale)[None, :, None] * noise.reshape(m, t, count)


def blocks_of(points: Any, width: int) -> Iterator[Any]:
    """Points, as many at a time as have a few megabytes of values with so many others."""
    m = n_points(points)
    step = max(1, _AT_ONCE // max(width, 1))
    for i in range(0, max(m, 1), step):
        yield points if step >= m else take(points, np.arange(i, min(i + step, m)))


def require_memory(need: float, what: str, instead: str) -> None:
    """Refuse what memory does not hold, before it is tried."""
    free = available_memory()
    if need > free:
        raise MemoryError(
            f"{what} take about {bytes_in_words(need)}, and {bytes_in_words(free)} are free: {instead}"
        )


def checked_count(n_samples: Any) -> int:
    """A number of functions to draw, or a refusal."""
    if not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive whole number, got {n_samples!r}")
    return int(n_samples)


def _checked_scale(scale: Any, outputs: int) -> np.ndarray | None:
    """(t,) values, or None where the likelihood says them."""
    if isinstance(scale, str) and scale == "likelihood":
        return None
    try:
        if isinstance(scale, (bool, np.bool_)):
            raise TypeError
        values = np.array(np.broadcast_to(np.asarray(scale, dtype=np.float64), (outputs,)))
    except (TypeError, ValueError):
        values = np.zeros(1)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"scale must be 'likelihood', a positive number, or one for each of {outputs}, got {scale!r}"
        )
    return values
