"""The laws of kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._params import same_value
from mercer._xp import issparse
from mercer.kernels import FunctionKernel, Kernel, check
from mercer.testing.common import LawTrial, require_kind, scale, with_param

_MOST_POINTS = 40


def check_kernel(kernel: Kernel, X: Any = None, *, tol: float | None = None, random_state: int = 0) -> None:
    """Raise `LawViolation` if a kernel breaks a law.

    The laws: inputs are left alone and may be read-only or strided; k(X) and k(X, Z) have the right
    shapes, agree with each other and with ``diag``, are symmetric and positive semidefinite; float32
    stays float32; `gradient_x` and `gradient_log_params`, where they are defined, are the derivatives; the
    kernel is a value (its constructor only stores, ``==`` and ``repr`` go by content, `set_params` sets).

    Parameters
    ----------
    kernel : Kernel
    X : points to try it on, optional
        At most 40 of them are used. None samples vectors in several dimensions; a kernel on other
        things needs points of its own kind.
    tol : float, optional
        Tolerance of comparisons, relative to the largest entry of the Gram matrix. By default 1e-8;
        derivatives are compared with difference quotients to 1e-5 and float32 with float64 to 1e-3.
    random_state : int
        Seed of the sampling.

    Examples
    --------
    >>> from mercer.kernels import FunctionKernel, Gaussian
    >>> from mercer.testing import LawViolation, check_kernel
    >>> check_kernel(Gaussian(1.0))
    >>> try:
    ...     check_kernel(FunctionKernel(lambda x, z: x @ z + x[0]))
    ... except LawViolation as violation:
    ...     print(str(violation).split(":")[1])
     not symmetric
    """
    require_kind(kernel, Kernel, "check_kernel", "; wrap functions in FunctionKernel")
    rng = np.random.default_rng(random_state)
    sampled = X is None
    kernel, X = _sampled_points(kernel, rng) if sampled else _given_points(kernel, X, rng)
    trial = _KernelTrial(kernel, X, 1e-8 if tol is None else tol)
    trial.leaves_inputs_alone()
    trial.shapes()
    trial.agreement(rng)
    trial.layouts()
    trial.positive(random_state, sampled)
    trial.single_precision()
    trial.gradient_x()
    trial.gradient_log_params()


def _candidates(rng: np.random.Generator) -> Iterator[np.ndarray]:
    for d in (3, 2, 1, *range(4, 11)):
        yield rng.standard_normal((12, d))
    for d in (3, 2, 1, *range(4, 11)):
        yield np.abs(rng.standard_normal((12, d)))
    for size in range(12, 0, -1):
        yield np.arange(size)


def _sampled_points(kernel: Kernel, rng: np.random.Generator) -> tuple[Kernel, Any]:
    first = None
    for X in _candidates(rng):
        try:
            resolved = kernel.resolve(X)
            resolved(X.copy())
        except Exception as error:  # not made for such points; the next ones may do
            first = first or error
        else:
            return resolved, resolved.points(X)
    raise ValueError(
        f"{kernel!r} could not be evaluated on sampled points ({type(first).__name__}: {first}): mend that "
        f"or, if it is not made for vectors, give points of its own kind: check_kernel(kernel, X)"
    ) from first


def _given_points(kernel: Kernel, X: Any, rng: np.random.Generator) -> tuple[Kernel, Any]:
    X = X.toarray() if issparse(X) else X
    X = kernel.points(X).copy()
    if X.shape[0] == 0:
        raise ValueError("check_kernel needs at least one point")
    kernel = kernel.resolve(X)
    if X.shape[0] > _MOST_POINTS:
        X = X[np.sort(rng.choice(X.shape[0], _MOST_POINTS, replace=False))]
    return kernel, X.astype(np.float64) if X.dtype == np.float32 else X


def _same_points(a: np.ndarray, b: np.ndarray) -> bool:
    """Are they equal? Objects, of which some are arrays, one by one."""
    return same_value(list(a), list(b)) if a.dtype == object else np.array_equal(a, b)


class _KernelTrial(LawTrial):
    """A kernel on some points."""

    def __init__(self, kernel: Kernel, X: Any, tol: float):
        super().__init__(kernel)
        self.kernel, self.X, self.tol = kernel, X, tol
        # Two point sets with no point in common, if there are two points.
        self.A, self.B = X[::2].copy(), (X[1::2] if X.shape[0] > 1 else X).copy()

    def leaves_inputs_alone(self) -> None:
        kernel, a, b = self.kernel, self.A.copy(), self.B.copy()
        for call, words in (
            (lambda: kernel(a), "k(X)"),
            (lambda: kernel(a, b), "k(X, Z)"),
            (lambda: kernel.diag(a), "k.diag(X)"),
        ):
            call()
            if not (_same_points(a, self.A) and _same_points(b, self.B)):
                self.fail("inputs must be left alone", f"{words} changed its points")

    def shapes(self) -> None:
        kernel, A, B = self.kernel, self.X[: self.X.shape[0] // 3 + 1], self.X  # of different sizes
        n, m = A.shape[0], B.shape[0]
        calls = (
            ("k(X)", kernel(A), (n, n)),
            ("k(X, Z)", kernel(A, B), (n, m)),
            ("k(Z, X)", kernel(B, A), (m, n)),
            ("k of one point", kernel(A[:1]), (1, 1)),
            ("k.diag(X)", kernel.diag(A), (n,)),
        )
        for words, K, shape in calls:
            if not isinstance(K, np.ndarray) or K.dtype.kind != "f":
                kind = getattr(K, "dtype", type(K).__name__)
                self.fail("results are arrays of floats", f"{words} is {kind}")
            self.require_shape(words, K, shape)
            if not np.isfinite(K).all():
                self.fail("values must be finite", f"{words} contains NaN or infinity")

    def require_shape(self, words: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
        if array.shape != shape:
            self.fail("wrong shape", f"{words} has shape {array.shape}, not {shape}")

    def agreement(self, rng: np.random.Generator) -> None:
        """k(X, Z) with its transpose, k(X) with its diagonal and its parts."""
        kernel, X, n = self.kernel, self.X, self.X.shape[0]
        K, both = kernel(X), kernel(X, X.copy())
        words = "k(x_i, x_j) at (i, j) = ({}) is {} but {} the other way round"
        self.close("not symmetric", both, both.T, self.tol * scale(both), words)
        limit = self.tol * scale(K)
        words = "k.diag(X)[{}] is {} but the Gram matrix has {} there"
        self.close("wrong diag", kernel.diag(X), np.diag(K), limit, words)
        i, j = rng.integers(n, size=n // 2 + 1), rng.integers(n, size=n)
        law, words = "k(X, Z) must agree with k(X)", "k(X[i], X[j]) at ({}) is {} but k(X)[i, j] is {}"
        self.close(law, kernel(X[i], X[j]), K[np.ix_(i, j)], limit, words)
        self.close(law, kernel(X[:1], X), K[:1], limit, words)

    def layouts(self) -> None:
        law, X, K = "any memory layout must do", self.X, self.kernel(self.X)
        frozen = X.copy()
        frozen.flags.writeable = False
        layouts = {"read-only points": frozen, "every second row of an array": np.repeat(X, 2, axis=0)[::2]}
        if X.ndim == 2:
            layouts["points in Fortran order"] = np.asfortranarray(X)
            layouts["every second column of an array"] = np.repeat(X, 2, axis=1)[:, ::2]
        for words, same in layouts.items():
            try:
                again = self.kernel(same)
            except Exception as error:
                self.fail(law, f"{words} raise {type(error).__name__}: {error}")
            self.close(law, again, K, self.tol * scale(K), words + " at ({}) give {}, not {}")

    def positive(self, random_state: int, sampled: bool) -> None:
        # As a function, so that the kernel's own rule isn't taken at its word.
        function = FunctionKernel(lambda A, B: self.kernel(A, B), vectorized=True)
        verdicts = [check(function, self.X)]
        if sampled:
            # A kernel on other things than vectors can't be sampled: then the points above have to do.
            with contextlib.suppress(ValueError):
                verdicts.append(check(function, random_state=random_state))
        least = -self.tol * scale(self.kernel(self.X))
        for verdict in verdicts:
            if not verdict and (verdict.value is None or verdict.value < least):
                self.fail("not positive semidefinite", f"{verdict}")

    def single_precision(self) -> None:
        kernel = self.kernel
        if not kernel.vectors or self.X.dtype != np.float64:
            return
        X32 = self.X.astype(np.float32)
        K32, K64 = kernel(X32), kernel(X32.astype(np.float64))
        for words, result in (("k(X)", K32), ("k.diag(X)", kernel.diag(X32))):
            if result.dtype != np.float32:
                way = "compute in np.result_type(X, Z)"
                self.fail("float32 must stay float32", f"{words} is {result.dtype} for float32 points; {way}")
        limit = max(self.tol, 1e-3) * scale(K64)
        self.close("float32 must agree with float64", K32, K64, limit, "k(X) at ({}) is {}, not {}")

    def gradient_x(self) -> None:
        X, A, B = self.X, self.A, self.B
        if X.ndim != 2 or X.dtype != np.float64:
            return
        try:
            slope = self.kernel.gradient_x(A, B)
        except NotImplementedError:
            return
        self.require_shape("gradient_x", slope, (A.shape[0], B.shape[0], A.shape[1]))
        K = self.kernel.pairwise(A, B)
        h = max(1e-6 * (float(X.std()) or 1.0), 1e-10 * float(np.abs(X).max()))
        for j in range(A.shape[1]):
            quotients = []
            for step in (-h, h):
                moved = A.copy()
                moved[:, j] += step
                taken = (moved - A)[:, j, None]  # what the step came to in floating point
                with np.errstate(all="ignore"):  # a step may leave the kernel's domain; the other one counts
                    quotients.append((self.kernel.pairwise(moved, B) - K) / taken)
            words = f"∂k(x_i, z_j)/∂x_i[{j}] at (i, j) = ({{}}) is {{}}"
            law = "gradient_x is not the derivative"
            self.slope(law, slope[:, :, j], quotients, self.slope_limit(K, slope), words)

    def slope_limit(self, K: np.ndarray, slope: np.ndarray) -> float:
        return max(1e3 * self.tol, 1e-5) * (scale(K) + scale(slope))

    def gradient_log_params(self) -> None:
        kernel, A, B = self.kernel, self.A, self.B
        try:
            slopes = kernel.gradient_log_params(A, B)
        except NotImplementedError:
            return
        K = kernel.pairwise(A, B)
        h = 1e-6
        for name, slope in slopes.items():
            if name not in kernel.get_params():
                self.fail("gradient_log_params goes by parameter name", f"there is no parameter {name!r}")
            value = np.asarray(kernel.get_params()[name], float)
            self.require_shape(f"gradient_log_params[{name!r}]", slope, K.shape + value.shape)
            for at in np.ndindex(value.shape):
                quotients = []
                for step in (-h, h):
                    moved = value.copy()
                    moved[at] *= np.exp(step)
                    changed = with_param(kernel, name, moved if value.shape else float(moved))
                    quotients.append((changed.pairwise(A, B) - K) / step)
                words = f"∂k/∂log {name}{list(at) if at else ''} at ({{}}) is {{}}"
                law, limit = "gradient_log_params is not the derivative", self.slope_limit(K, slope)
                self.slope(law, slope[(..., *at)], quotients, limit, words)
