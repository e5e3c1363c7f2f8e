"""The laws of engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._laws.common import fail, require_close, scale, value_object
from mercer.engines import Engine
from mercer.kernels import FunctionKernel, Gaussian, Kernel, Laplacian, Polynomial
from mercer.kernels.points import as_objects

# Beside the trivial sizes, ones that are no multiple of anything, on either side of a tile's edge.
_SIZES = ((0, 3), (3, 0), (1, 1), (1, 7), (7, 1), (65, 130), (700, 2100))


def check_engine(
    engine: Engine, kernel: Kernel | None = None, X: Any = None, *, random_state: int = 0
) -> None:
    """Raise `LawViolation` if an engine breaks a law.

    The laws: `gram`, `product`, `normal` and `reduce` give what the whole matrix k(X, Z) gives, for
    point sets of any size, empty ones included, in float64 and float32, sparse, strided, read-only or
    not vectors at all; float32 stays float32 in products; inputs are left alone; the engine is a value.

    Parameters
    ----------
    engine : Engine
    kernel, X : optional
        A kernel and points of its kind, to try the engine on these instead of the built-in cases.
    random_state : int
        Seed of the points.

    Examples
    --------
    >>> from mercer.engines import Tiled
    >>> from mercer.testing import LawViolation, check_engine
    >>> check_engine(Tiled(threads=1))
    >>> class Wrong(Tiled):
    ...     def product(self, kernel, X, Z, V):
    ...         return super().product(kernel, X, Z, abs(V))
    >>> try:
    ...     check_engine(Wrong())
    ... except LawViolation as violation:
    ...     print(str(violation).split(":")[1])
     product must be K V
    """
    if not isinstance(engine, Engine):
        raise TypeError(f"check_engine takes an Engine, got {type(engine).__name__}")
    value_object(engine)
    engine.validate()
    rng = np.random.default_rng(random_state)
    if kernel is not None:
        kernel, points = kernel.resolve(X).bind(X)
        cases = iter([(kernel, points, points[::2])])
    else:
        cases = _cases(rng)
    for k, A, B in cases:
        _gram(engine, k, A, B)
        _product(engine, k, A, B, rng)
        _normal(engine, k, A, B, rng)
        _reduce(engine, k, A, B)


def _cases(rng: np.random.Generator) -> Iterator[tuple[Kernel, Any, Any]]:
    from scipy.sparse import csr_array

    for n, m in _SIZES:
        yield Gaussian(1.5), rng.standard_normal((n, 3)), rng.standard_normal((m, 3))
    A, B = rng.standard_normal((90, 3)), rng.standard_normal((70, 3))
    yield Laplacian(2.0) + 0.5 * Polynomial(2), A, B
    yield Gaussian(1.5), A.astype(np.float32), B.astype(np.float32)
    yield Gaussian(1.5), rng.standard_normal((90, 6))[:, ::2], np.asfortranarray(B)
    frozen = A.copy()
    frozen.flags.writeable = False
    yield Gaussian(1.5), frozen, frozen
    yield Gaussian(1.5), csr_array(np.where(A > 0, A, 0)), csr_array(np.where(B > 0, B, 0))
    words = as_objects(["".join(rng.choice(list("abc"), size=4)) for _ in range(40)])
    yield FunctionKernel(lambda a, b: float(sum(x == y for x, y in zip(a, b)))), words, words[:15]


def _matrix(k: Kernel, X: Any, Z: Any) -> np.ndarray:
    """k(X, Z) whole and in float64, from the same points."""
    X, Z = (P.astype(np.float64) if P.dtype == np.float32 else P for P in (X, Z))
    return k.pairwise(X, Z) if X.shape[0] and Z.shape[0] else np.zeros((X.shape[0], Z.shape[0]))


def _close(
    engine: Engine, law: str, k: Kernel, X: Any, found: Any, expected: np.ndarray, summed: int
) -> None:
    tol = 1e-5 if X.dtype == np.float32 else 1e-11
    limit = tol * max(summed, 1) * (scale(expected) if expected.size else 1.0)
    require_close(engine, law, found, expected, limit, f"for {k!r} at ({{}}) it is {{}}, not {{}}")


def _single(engine: Engine, law: str, X: Any, found: Any) -> None:
    if X.dtype == np.float32 and found.dtype != np.float32:
        fail(engine, law, f"float32 must stay float32, but the result is {found.dtype}")


def _gram(engine: Engine, k: Kernel, X: Any, Z: Any) -> None:
    law = "gram must be K"
    K = _matrix(k, X, Z)
    found = engine.gram(k, X, Z)
    _close(engine, law, k, X, found, K, 1)
    _single(engine, law, X, found)
    out = np.full(K.shape, np.nan, found.dtype)
    if engine.gram(k, X, Z, out=out) is not out:
        fail(engine, law, "`out` was given, but another array came back")
    _close(engine, "gram must fill `out`", k, X, out, K, 1)
    symmetric = engine.gram(k, X)
    _close(engine, "gram of one point set must be K(X, X)", k, X, symmetric, _matrix(k, X, X), 1)
    if not np.array_equal(symmetric, symmetric.T):
        fail(engine, "gram of one point set must be K(X, X)", "it is not symmetric to the last bit")


def _product(engine: Engine, k: Kernel, X: Any, Z: Any, rng: np.random.Generator) -> None:
    law = "product must be K V"
    K, m = _matrix(k, X, Z), Z.shape[0]
    for shape in ((m,), (m, 1), (m, 3)):
        V = rng.standard_normal(shape).astype(np.float32 if X.dtype == np.float32 else np.float64)
        before = V.copy()
        V.flags.writeable = False
        found = engine.product(k, X, Z, V)
        _close(engine, law, k, X, found, K @ before, m)
        _single(engine, law, X, found)


def _normal(engine: Engine, k: Kernel, X: Any, Z: Any, rng: np.random.Generator) -> None:
    law = "normal must be Kᵀ(w∘(K V))"
    K, (n, m) = _matrix(k, X, Z), (X.shape[0], Z.shape[0])
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    for shape in ((m,), (m, 2)):
        V = rng.standard_normal(shape).astype(dtype)
        w = rng.uniform(0, 2, n).astype(dtype)
        column = w if V.ndim == 1 else w[:, None]
        _close(engine, law, k, X, engine.normal(k, X, Z, V), K.T @ (K @ V), n + m)
        _close(engine, law, k, X, engine.normal(k, X, Z, V, w), K.T @ (column * (K @ V)), n + m)
    w2 = rng.uniform(0, 2, (n, 2)).astype(dtype)
    _close(engine, law, k, X, engine.normal(k, X, Z, V, w2), K.T @ (w2 * (K @ V)), n + m)


def _reduce(engine: Engine, k: Kernel, X: Any, Z: Any) -> None:
    law = "reduce must see every row of K once"
    K, (n, m) = _matrix(k, X, Z), (X.shape[0], Z.shape[0])
    seen, times = np.zeros((n, m)), np.zeros(n, int)

    def step(rows, block):
        seen[rows] = block
        times[rows] += 1
        return block.sum(axis=0, dtype=np.float64)

    parts = [p for p in engine.reduce(k, X, Z, step) if p is not None]
    if not (times == 1).all():
        i = int(np.argmax(times != 1))
        fail(engine, law, f"row {i} of {n} came {times[i]} times")
    _close(engine, law, k, X, seen, K, 1)
    _close(engine, "reduce must add up", k, X, sum(parts) if parts else np.zeros(m), K.sum(axis=0), n)
    nothing = [p for p in engine.reduce(k, X, Z, lambda rows, block: None) if p is not None]
    if nothing:
        fail(engine, "reduce must add up", "a step that returns None left something in the list")
