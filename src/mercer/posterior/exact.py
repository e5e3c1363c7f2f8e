"""The posterior with one coefficient an example, from one Cholesky factor."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._memory import available_memory
from mercer._threads import interruptible, one_blas_thread, stopping_point
from mercer._warnings import frames_inside
from mercer.operators import Factor, KernelOperator
from mercer.operators.resident import column_dots
from mercer.posterior import likelihood
from mercer.posterior.base import Posterior, require_memory
from mercer.posterior.observations import slope_operators

# Bytes a pair of examples takes: the factor, and what lies beside it while it is made.
PAIR_BYTES = 10
# Columns of an inverse, and of a product of large matrices, that are computed together.
_PANEL = 1024
# Up to so many examples an inverse is made by LAPACK, which some builds of OpenBLAS don't survive beyond.
INVERTED_TO = 8000
_ONE_THREAD = 2048
_INSTEAD = "posterior(method='pathwise') works without them, representation='nystrom' with few centres"


@dataclass(frozen=True, eq=False)
class _Factored:
    factor: Factor  # L of A = S K S + μI, S = √W: G⁻¹ = S A⁻¹ S
    root: np.ndarray  # (n, 1) S
    ones: np.ndarray  # L⁻¹S1
    total: float  # 1ᵀG⁻¹1
    coef: np.ndarray  # (n, t) G⁻¹(y − b)
    intercept: np.ndarray  # (t,) b
    form: np.ndarray  # (t,) yᵀPy
    log_det: float


class ExactPosterior(Posterior):
    """The posterior of a machine with representation Full: variance k(x,x) − k(x)ᵀG⁻¹k(x), G = K + λnW⁻¹.

    With an offset (1 − 1ᵀG⁻¹k(x))²/(1ᵀG⁻¹1) is added, which is what b does not know. One factorisation, n³/3
    operations and 8n² bytes, in the memory of the GPU where that computes K, when first something is asked;
    kept for all that follows.

    Parameters
    ----------
    seen, scale, random_state : as in `Posterior`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> machine = KernelRidge(Gaussian(1.0), lam=0.5, offset=False).fit([[0.0], [2.0]], [1.0, -1.0])
    >>> posterior = machine.posterior("exact", scale=1.0)
    >>> k = np.exp([[-0.5 * 1.0, -0.5 * 1.0]])                      # between 1 and both examples
    >>> G = np.array([[2.0, np.exp(-2.0)], [np.exp(-2.0), 2.0]])    # K + λnI, λn = 1
    >>> bool(np.allclose(posterior.covariance([[1.0]]), 1 - k @ np.linalg.solve(G, k.T)))
    True
    """

    method = "exact"
    # What may be added to the diagonal of G, as a share of it, where rounding leaves G indefinite.
    max_jitter = 1e-2

    @property
    def _solved(self) -> _Factored:
        return self._once("solved", self._solve)

    def _solve(self) -> _Factored:
        seen, n = self.seen, len(self.seen.y)
        root = np.sqrt(seen.w)[:, None]
        factor = self._factored(None if bool((seen.w == 1).all()) else root[:, 0])
        if factor.jitter:
            _warn_of_jitter(factor.jitter, seen.noise)
        shift = seen.y.mean(axis=0) if seen.offset else np.zeros(seen.y.shape[1])
        z = factor.solve_lower(root * (seen.y - shift))
        ones = factor.solve_lower(root[:, 0].copy()) if seen.offset else np.zeros(n)
        total, intercept = float(ones @ ones), np.zeros_like(shift)
        log_det = factor.log_determinant() - 2 * float(np.log(root).sum())
        if seen.offset:
            intercept = ones @ z / total
            z = z - ones[:, None] * intercept
            log_det += float(np.log(total))
        form = np.einsum("ij,ij->j", z, z)
        coef = root * factor.solve_upper(z)
        return _Factored(factor, root, ones, total, coef, intercept + shift, form, log_det)

    def _factored(self, scale: np.ndarray | None) -> Any:
        """The factor of S K S + μI, where K is computed."""
        seen, n = self.seen, len(self.seen.y)
        if seen.precise.remote:
            return seen.precise.factor(seen.noise, self.max_jitter, scale)
        require_memory(PAIR_BYTES * n * n, f"the covariances of {n:,} examples and their factor", _INSTEAD)
        K = np.ascontiguousarray(seen.precise.dense(), dtype=np.float64)
        if not np.isfinite(K).all():
            raise ValueError(f"{seen.kernel!r} gives NaN or infinity between the examples")
        return interruptible(lambda: Factor(K, seen.noise, scale, self.max_jitter))

    @property
    def jitter(self) -> float:
        """What had to be added to λn for the factorisation to succeed: 0 as a rule."""
        return self._solved.factor.jitter

    def _forms(self):
        return self._solved.form, self._solved.log_det

    def _means(self, points):
        return self.seen.cross(points) @ self._solved.coef + self._solved.intercept

    def _halves(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """(L⁻¹S K(X, points), 1 − 1ᵀG⁻¹K(X, points))."""
        done = self._solved
        V = done.factor.solve_lower(np.ascontiguousarray(done.root * self.seen.cross(points).T))
        return V, 1 - done.ones @ V

    def _variances(self, points):
        squares = self.seen.squares(points)
        V, left = self._halves(points)
        explained = np.einsum("ij,ij->j", V, V)
        return squares - explained + (left**2 / self._solved.total if self.seen.offset else 0.0)

    def _covariances(self, points):
        K = self.seen.gram(points)
        V, left = self._halves(points)
        for i in range(0, len(K), _PANEL):  # a product at a time may be long
            stopping_point()
            K[i : i + _PANEL] -= V[:, i : i + _PANEL].T @ V
        return K + np.outer(left, left / self._solved.total) if self.seen.offset else K

    def _slopes(self):
        seen, n = self.seen, len(self.seen.y)
        if seen.precise.remote or n > INVERTED_TO or 40 * n * n > available_memory():
            return self._slopes_by_panels()
        K = np.asfortranarray(seen.precise.dense(), dtype=np.float64)
        shift = (seen.noise + self.jitter) / seen.w
        # LAPACK's threads and those of NumPy's BLAS would wait for each other longer than they work.
        with one_blas_thread() if n <= _ONE_THREAD else nullcontext():
            P, _ = interruptible(lambda: likelihood.restricted_inverse(K, shift, seen.offset))
        M = likelihood.likelihood_slopes(P, self._solved.coef, self.scale)
        in_noise = float(M.diagonal() @ (seen.noise / seen.w))
        return kernel_slopes(seen, M), in_noise

    def _slopes_by_panels(self):
        """The same without any n×n array beside the factor: tr P ∂K from columns of A⁻¹ and of ∂K.

        P = S A⁻¹ S − uuᵀ/(1ᵀG⁻¹1) with u = G⁻¹1.
        """
        seen, done, n, t = self.seen, self._solved, len(self.seen.y), self.seen.y.shape[1]
        u = done.root * done.factor.solve_upper(done.ones)[:, None] if seen.offset else np.zeros((n, 0))
        share = 1 / done.total if seen.offset else 0.0
        K = seen.precise
        slopes = slope_operators(seen, K) if isinstance(K, KernelOperator) else []
        traces = np.zeros(len(slopes))
        for i in range(0, n if slopes else 0, _PANEL):
            stopping_point()
            columns = np.arange(i, min(i + _PANEL, n))
            unit = np.zeros((n, len(columns)))
            unit[columns, np.arange(len(columns))] = done.root[columns, 0]
            parts = [slope.among(columns=columns).resident() for slope in slopes]
            inverse = parts[0].place(done.root) * done.factor.solve(parts[0].place(unit))
            traces += [float(column_dots(inverse, part.entries()).sum()) for part in parts]

        def slope(products: np.ndarray, trace: float) -> float:
            forms = np.einsum("ij,ij->j", done.coef, products[:, :t])
            trace -= share * float((u * products[:, t:]).sum())
            return 0.5 * float((forms / self.scale).sum()) - 0.5 * t * trace

        both = np.hstack([done.coef, u])
        in_kernel = np.array([slope(one @ both, trace) for one, trace in zip(slopes, traces, strict=True)])
        noise = seen.noise / seen.w
        in_noise = slope(noise[:, None] * both, float(done.factor.inverse_diagonal() @ (seen.w * noise)))
        return in_kernel, in_noise


def _warn_of_jitter(jitter: float, noise: float) -> None:
    warnings.warn(
        f"K + λnI is not positive definite in float64, so {jitter:.1e} was added to its diagonal, where the "
        f"noise λn is {noise:.1e}: this is the posterior with that noise, and its mean is not quite the "
        "machine's. A larger λ, or points nearer to 0, avoid it",
        ConvergenceWarning,
        stacklevel=frames_inside(),
    )


def kernel_slopes(seen: Any, M: np.ndarray) -> np.ndarray:
    """⟨M, dK(X, X)/d log θ⟩ for the kernel's parameters."""
    if not seen.names:
        return np.zeros(0)
    points = differentiable_points(seen)
    return likelihood.slopes_as_vector(seen.kernel.vjp_log_params(points, M), seen.names)


def differentiable_points(seen: Any) -> np.ndarray:
    """The examples, if kernels have derivatives there."""
    A = seen.precise
    points = A.X if isinstance(A, KernelOperator) else None
    if not isinstance(points, np.ndarray) or points.dtype.kind != "f":
        raise ValueError(
            f"{seen.kernel!r} on these points has no derivatives in its parameters: the gradient needs a "
            "kernel of vectors, and X as an array (X.toarray() if it is sparse)"
        )
    return points
