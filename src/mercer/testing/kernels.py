"""The laws of kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.kernels import FunctionKernel, Kernel, check
from mercer.testing.common import (
    fail,
    require_close,
    require_slope,
    scale,
    value_object,
    with_param,
)

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
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"check_kernel takes a Kernel, got {type(kernel).__name__}; wrap functions in FunctionKernel"
        )
    tol = 1e-8 if tol is None else tol
    rng = np.random.default_rng(random_state)
    value_object(kernel)
    sampled = X is None
    kernel, X = _sampled_points(kernel, rng) if sampled else _given_points(kernel, X, rng)
    _leaves_inputs_alone(kernel, X)
    _shapes(kernel, X)
    _symmetry(kernel, X, tol)
    _diagonal(kernel, X, tol)
    _blocks(kernel, X, tol, rng)
    _layouts(kernel, X, tol)
    _positive(kernel, X, tol, random_state, sampled)
    _single_precision(kernel, X, tol)
    _gradient_x(kernel, X, tol)
    _gradient_log_params(kernel, X, tol)


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
        f"{kernel!r} could not be evaluated on sampled points ({type(first).__name__}: {first}); "
        f"give points of its own kind: check_kernel(kernel, X)"
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


def _halves(X: Any) -> tuple[Any, Any]:
    """Two point sets with no point in common, if there are two points."""
    return X[::2].copy(), (X[1::2] if X.shape[0] > 1 else X).copy()


def _leaves_inputs_alone(kernel: Kernel, X: Any) -> None:
    A, B = _halves(X)
    a, b = A.copy(), B.copy()
    for call, words in (
        (lambda: kernel(a), "k(X)"),
        (lambda: kernel(a, b), "k(X, Z)"),
        (lambda: kernel.diag(a), "k.diag(X)"),
    ):
        call()
        if not (np.array_equal(a, A) and np.array_equal(b, B)):
            fail(kernel, "inputs must be left alone", f"{words} changed its points")


def _shapes(kernel: Kernel, X: Any) -> None:
    A, B = X[: X.shape[0] // 3 + 1], X  # of different sizes
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
            fail(
                kernel, "results are arrays of floats", f"{words} is {getattr(K, 'dtype', type(K).__name__)}"
            )
        if K.shape != shape:
            fail(kernel, "wrong shape", f"{words} has shape {K.shape}, not {shape}")
        if not np.isfinite(K).all():
            fail(kernel, "values must be finite", f"{words} contains NaN or infinity")


def _symmetry(kernel: Kernel, X: Any, tol: float) -> None:
    K = kernel(X, X.copy())
    words = "k(x_i, x_j) at (i, j) = ({}) is {} but {} the other way round"
    require_close(kernel, "not symmetric", K, K.T, tol * scale(K), words)


def _diagonal(kernel: Kernel, X: Any, tol: float) -> None:
    K = kernel(X)
    words = "k.diag(X)[{}] is {} but the Gram matrix has {} there"
    require_close(kernel, "wrong diag", kernel.diag(X), np.diag(K), tol * scale(K), words)


def _blocks(kernel: Kernel, X: Any, tol: float, rng: np.random.Generator) -> None:
    K = kernel(X)
    n = X.shape[0]
    i, j = rng.integers(n, size=n // 2 + 1), rng.integers(n, size=n)
    words = "k(X[i], X[j]) at ({}) is {} but k(X)[i, j] is {}"
    require_close(
        kernel, "k(X, Z) must agree with k(X)", kernel(X[i], X[j]), K[np.ix_(i, j)], tol * scale(K), words
    )
    require_close(kernel, "k(X, Z) must agree with k(X)", kernel(X[:1], X), K[:1], tol * scale(K), words)


def _layouts(kernel: Kernel, X: Any, tol: float) -> None:
    K = kernel(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    layouts = {"read-only points": frozen, "every second row of an array": np.repeat(X, 2, axis=0)[::2]}
    if X.ndim == 2:
        layouts["points in Fortran order"] = np.asfortranarray(X)
        layouts["every second column of an array"] = np.repeat(X, 2, axis=1)[:, ::2]
    for words, same in layouts.items():
        try:
            again = kernel(same)
        except Exception as error:
            fail(kernel, "any memory layout must do", f"{words} raise {type(error).__name__}: {error}")
        require_close(
            kernel, "any memory layout must do", again, K, tol * scale(K), words + " at ({}) give {}, not {}"
        )


def _positive(kernel: Kernel, X: Any, tol: float, random_state: int, sampled: bool) -> None:
    # As a function, so that the kernel's own rule isn't taken at its word.
    function = FunctionKernel(lambda A, B: kernel(A, B), vectorized=True)
    verdicts = [check(function, X)]
    if sampled:
        # A kernel on other things than vectors can't be sampled: then the points above have to do.
        with contextlib.suppress(ValueError):
            verdicts.append(check(function, random_state=random_state))
    for verdict in verdicts:
        if not verdict and (verdict.value is None or verdict.value < -tol * scale(kernel(X))):
            fail(kernel, "not positive semidefinite", f"{verdict}")


def _single_precision(kernel: Kernel, X: Any, tol: float) -> None:
    if not kernel.vectors or X.dtype != np.float64:
        return
    X32 = X.astype(np.float32)
    K32, K64 = kernel(X32), kernel(X32.astype(np.float64))
    for words, result in (("k(X)", K32), ("k.diag(X)", kernel.diag(X32))):
        if result.dtype != np.float32:
            fail(kernel, "float32 must stay float32", f"{words} is {result.dtype}")
    limit = max(tol, 1e-3) * scale(K64)
    require_close(kernel, "float32 must agree with float64", K32, K64, limit, "k(X) at ({}) is {}, not {}")


def _gradient_x(kernel: Kernel, X: Any, tol: float) -> None:
    if X.ndim != 2 or X.dtype != np.float64:
        return
    A, B = _halves(X)
    try:
        slope = kernel.gradient_x(A, B)
    except NotImplementedError:
        return
    if slope.shape != (A.shape[0], B.shape[0], A.shape[1]):
        fail(
            kernel,
            "wrong shape",
            f"gradient_x has shape {slope.shape}, not {(A.shape[0], B.shape[0], A.shape[1])}",
        )
    K = kernel.pairwise(A, B)
    limit = max(1e3 * tol, 1e-5) * (scale(K) + scale(slope))
    h = max(1e-6 * (float(X.std()) or 1.0), 1e-10 * float(np.abs(X).max()))
    for j in range(A.shape[1]):
        quotients = []
        for step in (-h, h):
            moved = A.copy()
            moved[:, j] += step
            taken = (moved - A)[:, j, None]  # what the step came to in floating point
            with np.errstate(all="ignore"):  # a step may leave the kernel's domain; the other one counts
                quotients.append((kernel.pairwise(moved, B) - K) / taken)
        words = f"∂k(x_i, z_j)/∂x_i[{j}] at (i, j) = ({{}}) is {{}}"
        require_slope(kernel, "gradient_x is not the derivative", slope[:, :, j], quotients, limit, words)


def _gradient_log_params(kernel: Kernel, X: Any, tol: float) -> None:
    A, B = _halves(X)
    try:
        slopes = kernel.gradient_log_params(A, B)
    except NotImplementedError:
        return
    K = kernel.pairwise(A, B)
    h = 1e-6
    for name, slope in slopes.items():
        if name not in kernel.get_params():
            fail(kernel, "gradient_log_params goes by parameter name", f"there is no parameter {name!r}")
        value = np.asarray(kernel.get_params()[name], float)
        if slope.shape != K.shape + value.shape:
            fail(
                kernel,
                "wrong shape",
                f"gradient_log_params[{name!r}] has shape {slope.shape}, not {K.shape + value.shape}",
            )
        limit = max(1e3 * tol, 1e-5) * (scale(K) + scale(slope))
        for at in np.ndindex(value.shape):
            quotients = []
            for step in (-h, h):
                moved = value.copy()
                moved[at] *= np.exp(step)
                changed = with_param(kernel, name, moved if value.shape else float(moved))
                quotients.append((changed.pairwise(A, B) - K) / step)
            words = f"∂k/∂log {name}{list(at) if at else ''} at ({{}}) is {{}}"
            law = "gradient_log_params is not the derivative"
            require_slope(kernel, law, slope[(..., *at)], quotients, limit, words)
