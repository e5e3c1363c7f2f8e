"""The laws of engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.engines import Engine
from mercer.kernels import FunctionKernel, Gaussian, Kernel, Laplacian, Matern, Polynomial
from mercer.kernels.points import as_objects
from mercer.testing.common import fail, require_close, scale, value_object

# Beside the trivial sizes, ones that are no multiple of anything, on either side of a tile's edge.
_SIZES = ((0, 3), (3, 0), (1, 1), (1, 7), (7, 1), (17, 255), (257, 17), (385, 1030), (700, 2100))
# Numbers of coordinates: engines take differences for few of them, loops for more, BLAS for many.
_DIMENSIONS = (1, 7, 20, 50)
# An entry of K may be wrong by this part of the largest one.
_PRECISION = {np.dtype(np.float32): 5e-6, np.dtype(np.float64): 1e-12}


def check_engine(
    engine: Engine, kernel: Kernel | None = None, X: Any = None, *, random_state: int = 0
) -> None:
    """Raise `LawViolation` if an engine breaks a law.

    The laws: what its operators compute (`fill`, `product`, `normal`, `reduce`, and operators made of them)
    is what the whole matrix k(X, Z) gives, for every kernel on vectors and sums, products, … of them; for
    point sets of any size, empty ones included, in float64 and float32, sparse, strided, reversed, read-only
    or not vectors at all, huge, tiny, far from the origin or all in one place; `fill` fills any `out` and
    nothing beside it;
    float32 stays float32 in products; inputs are left alone; the engine is a value.

    Parameters
    ----------
    engine : Engine
    kernel, X : optional
        A kernel and points of its kind, to try the engine on these instead of the built-in cases.
    random_state : int
        Seed of the points.

    Examples
    --------
    >>> from mercer.engines import Engine, Tiled
    >>> from mercer.operators import KernelOperator
    >>> from mercer.testing import LawViolation, check_engine
    >>> check_engine(Tiled(threads=1))
    >>> class WrongOperator(KernelOperator):
    ...     def product(self, V):
    ...         return super().product(abs(V))
    >>> class Wrong(Engine):
    ...     makes = WrongOperator
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
        cases = [(kernel, points, points[::2])]
    else:
        cases = list(_cases(rng))
    for k, A, B in cases:
        _gram(engine, k, A, B)
        _product(engine, k, A, B, rng, (None, 1, 3))
        _reduce(engine, k, A, B)
        _normal(engine, k, A, B, rng)
    for k, A, B in cases:
        _forms(engine, k, A, B, rng)
    if kernel is None:
        for k, A, B in _kernels(rng):
            _gram(engine, k, A, B)
            _product(engine, k, A, B, rng, (None,))
        for k, A, B in _places(rng):
            _gram(engine, k, A, B)
            _product(engine, k, A, B, rng, (None, 2))
        _layouts(engine, rng)
        _refusals(engine, rng)


def _cases(rng: np.random.Generator) -> Iterator[tuple[Kernel, Any, Any]]:
    from scipy.sparse import csr_array

    for n, m in _SIZES:
        yield Gaussian(1.5), rng.standard_normal((n, 3)), rng.standard_normal((m, 3))
    A, B = rng.standard_normal((90, 3)), rng.standard_normal((70, 3))
    yield Laplacian(2.0) + 0.5 * Polynomial(2), A, B
    yield Gaussian(1.5), A.astype(np.float32), B.astype(np.float32)
    yield Gaussian(1.5), csr_array(np.where(A > 0, A, 0)), csr_array(np.where(B > 0, B, 0))
    words = as_objects(["".join(rng.choice(list("abc"), size=4)) for _ in range(40)])
    yield FunctionKernel(lambda a, b: float(sum(x == y for x, y in zip(a, b)))), words, words[:15]


def _kernels(rng: np.random.Generator) -> Iterator[tuple[Kernel, np.ndarray, np.ndarray]]:
    """Every kernel on vectors, composites of them, and every way to treat coordinates."""
    import mercer.kernels

    P = rng.uniform(0.1, 2, (79, 3)).astype(np.float32)  # positive: histograms too
    for name in mercer.kernels.__all__:
        found = getattr(mercer.kernels, name)
        if isinstance(found, type) and issubclass(found, Kernel):
            try:
                kernel = found().resolve(P)
                kernel(P[:2])
            except (TypeError, ValueError, AttributeError, NotImplementedError):
                continue  # a contract, or not made for such points
            yield kernel, P[:37], P[30:]
    A = rng.standard_normal((61, 3))
    for kernel in (
        0.5 * Gaussian(1.5) + Laplacian(2.0, norm="l1") * Polynomial(2),
        (Gaussian(1.5).on([0]) * Laplacian(0.7).on([2, 1]) + 1).normalize(),
        (Gaussian(2.0).scaled([1.0, 2.0, 0.5]) ** 2).exp(),
    ):
        yield kernel, A[:17], A[9:]
    for d in _DIMENSIONS:
        B = rng.standard_normal((161, d)) / np.sqrt(d)
        yield Matern(1.5, 0.8) * (Polynomial(2) + Gaussian(0.5)), B[:33], B[20:]
        yield Gaussian(0.5), B[:33].astype(np.float32), B[20:].astype(np.float32)


def _places(rng: np.random.Generator) -> Iterator[tuple[Kernel, np.ndarray, np.ndarray]]:
    """Points where rounding, overflow or underflow would show."""
    for d in (3, 7):
        A = rng.standard_normal((70, d))
        for dtype in (np.float32, np.float64):
            tiny = 1e-15 if dtype == np.float32 else 1e-20  # squares must not underflow
            P, far = A.astype(dtype), (A + 1e4).astype(dtype)
            large, small = (1e8 * A).astype(dtype), (tiny * A).astype(dtype)
            yield Gaussian(1e8), large, large[:30]
            yield Laplacian(1.0), large, large[:30]  # 0 but for x = z
            yield Laplacian(tiny), small, small[:30]
            yield Laplacian(1.0), far, far[:30]
            yield Gaussian(1.0), np.repeat(P[:5], 14, axis=0), np.repeat(P[3:8], 6, axis=0)
            near = (A + 1e-5 * rng.standard_normal(A.shape)).astype(dtype)[:30]
            yield Laplacian(1.0), P, near
            yield Laplacian(0.1), near, near


def _refusals(engine: Engine, rng: np.random.Generator) -> None:
    """What fits nothing must be refused, not computed from whatever lies beside it in memory."""
    X, k = rng.standard_normal((9, 3)), Gaussian(1.0)
    V = np.ones(9)
    cases: tuple[tuple[str, Any], ...] = (
        ("points of another width", lambda: engine.operator(k, X, X[:, :2]).product(V)),
        ("a V with too few rows", lambda: engine.operator(k, X).product(V[:4])),
        ("a V with one row", lambda: engine.operator(k, X).product(V[:1])),
        ("a V with too many rows", lambda: engine.operator(k, X).normal(np.ones((12, 2)))),
        ("an `out` of another shape", lambda: engine.operator(k, X).fill(np.empty((9, 8)))),
    )
    for what, call in cases:
        try:
            call()
        except (ValueError, IndexError):
            continue
        fail(engine, "what does not fit must be refused", f"{what} raised no ValueError")


def _matrix(k: Kernel, X: Any, Z: Any) -> np.ndarray:
    """k(X, Z) whole and in float64, from the same points."""
    X, Z = (P.astype(np.float64) if P.dtype == np.float32 else P for P in (X, Z))
    return k.pairwise(X, Z) if X.shape[0] and Z.shape[0] else np.zeros((X.shape[0], Z.shape[0]))


def _close(engine: Engine, law: str, k: Kernel, X: Any, found: Any, expected: np.ndarray, size: Any) -> None:
    """Is `found` what is expected, up to rounding of terms whose absolute values add up to `size`?"""
    limit = _PRECISION.get(X.dtype, 1e-12) * size
    require_close(engine, law, found, expected, limit, f"for {k!r} at ({{}}) it is {{}}, not {{}}")


def _largest(K: np.ndarray) -> float:
    return scale(K) if K.size else 1.0


def _single(engine: Engine, law: str, X: Any, found: Any) -> None:
    if X.dtype == np.float32 and found.dtype != np.float32:
        fail(engine, law, f"float32 must stay float32, but the result is {found.dtype}")


def _gram(engine: Engine, k: Kernel, X: Any, Z: Any) -> None:
    law = "fill must give K"
    K = _matrix(k, X, Z)
    found = engine.operator(k, X, Z).dense()
    _close(engine, law, k, X, found, K, _largest(K))
    _single(engine, law, X, found)
    out = np.full(K.shape, np.nan, found.dtype)
    _out(engine, k, X, Z, out, K)
    symmetric, own = engine.operator(k, X).dense(), _matrix(k, X, X)
    _close(engine, "fill for one point set must give K(X, X)", k, X, symmetric, own, _largest(own))
    if np.array_equal(own, own.T) and not np.array_equal(symmetric, symmetric.T):
        fail(engine, "fill for one point set must give K(X, X)", "it is not symmetric to the last bit")


def _out(engine: Engine, k: Kernel, X: Any, Z: Any, out: np.ndarray, K: np.ndarray) -> None:
    if engine.operator(k, X, Z).fill(out) is not out:
        fail(engine, "fill must give K", "`out` was given, but another array came back")
    _close(engine, "fill must fill `out`", k, X, out, K, _largest(K))


def _forms(engine: Engine, k: Kernel, X: Any, Z: Any, rng: np.random.Generator) -> None:
    """Parts of an operator, other points, other precision, its transpose."""
    law = "operators made of an operator must be parts of K"
    n, m = X.shape[0], Z.shape[0]
    A, K = engine.operator(k, X, Z), _matrix(k, X, Z)
    rows, columns = rng.permutation(n)[: n // 2 + 1], rng.permutation(m)[: m // 3 + 1]
    for part, values in (
        (A.among(rows), K[rows]),
        (A.among(columns=columns), K[:, columns]),
        (A.among(rows, columns), K[np.ix_(rows, columns)]),
        (A.facing(X[::2]), K[::2]),
        (A.T, K.T),
        (A.against(A), _matrix(k, X, X)),
        (A.single_threaded(), K),
        (A.expecting(1e12), K),
    ):
        _close(engine, law, k, X, part.dense(), values, _largest(K))
    U = _vectors(rng, (n, 2), X)
    _close(engine, "adjoint must be Kᵀ U", k, X, A.adjoint(U), K.T @ U, _largest(K) * np.abs(U).sum(axis=0))
    double = A.at(np.float64)
    if double is not None and double.dtype != np.float64:
        fail(engine, "at(dtype) must be of that precision", f"it is of {double.dtype}")


def _vectors(rng: np.random.Generator, shape: tuple[int, ...], X: Any) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32 if X.dtype == np.float32 else np.float64)


def _product(
    engine: Engine, k: Kernel, X: Any, Z: Any, rng: np.random.Generator, columns: tuple[int | None, ...]
) -> None:
    law = "product must be K V"
    K, m = _matrix(k, X, Z), Z.shape[0]
    for count in columns:
        V = _vectors(rng, (m,) if count is None else (m, count), X)
        before = V.copy()
        V.flags.writeable = False
        found = engine.operator(k, X, Z).product(V)
        _close(engine, law, k, X, found, K @ before, _largest(K) * np.abs(V).sum(axis=0))
        _single(engine, law, X, found)


def _normal(engine: Engine, k: Kernel, X: Any, Z: Any, rng: np.random.Generator) -> None:
    law = "normal must be Kᵀ(w∘(K V))"
    K, (n, m) = _matrix(k, X, Z), (X.shape[0], Z.shape[0])
    size = _largest(K) ** 2
    for shape in ((m,), (m, 2)):
        V = _vectors(rng, shape, X)
        w = abs(_vectors(rng, (n,), X))
        column, each = w if V.ndim == 1 else w[:, None], size * np.abs(V).sum(axis=0)
        _close(engine, law, k, X, engine.operator(k, X, Z).normal(V), K.T @ (K @ V), n * each)
        found = engine.operator(k, X, Z).normal(V, w)
        _close(engine, law, k, X, found, K.T @ (column * (K @ V)), w.sum() * each)
    w2 = abs(_vectors(rng, (n, 2), X))
    found = engine.operator(k, X, Z).normal(V, w2)
    _close(engine, law, k, X, found, K.T @ (w2 * (K @ V)), w2.sum(axis=0) * each)


def _layouts(engine: Engine, rng: np.random.Generator) -> None:
    """Memory in any order, on either side."""
    k, wide = Gaussian(1.5), rng.standard_normal((91, 6))
    A, B = wide[:, :3], rng.standard_normal((70, 3))
    frozen = A.copy()
    frozen.flags.writeable = False
    for X, Z in (
        (frozen, frozen),
        (wide[:, ::2], np.asfortranarray(B)),
        (wide[::-1, :3], B[:, ::-1]),
        (wide[::3, 5:2:-1], np.repeat(B, 2, axis=0)[::2]),
        (A, B.astype(np.float32)),
    ):
        _gram(engine, k, X, Z)
        _product(engine, k, X, Z, rng, (None, 3))
    K = _matrix(k, A, B)
    for t in (2, 5, 10):
        V = rng.standard_normal((70, t))
        for W in (V, np.asfortranarray(V), V[::-1], np.repeat(V, 2, axis=1)[:, ::2], V[:, ::-1], V[:, 0]):
            size = _largest(K) * np.abs(W).sum(axis=0)
            _close(engine, "product must be K V", k, A, engine.operator(k, A, B).product(W), K @ W, size)
    for part in (np.s_[3:94, 5:75], np.s_[93:2:-1, 5:75], np.s_[3:94, 5:145:2], np.s_[3:94, 74:4:-1]):
        board = np.full((100, 150), np.nan)
        _out(engine, k, A, B, board[part], K)
        board[part] = np.nan
        if not np.isnan(board).all():
            fail(engine, "fill must fill `out`", "and leave what lies beside it alone")


def _reduce(engine: Engine, k: Kernel, X: Any, Z: Any) -> None:
    law = "reduce must see every row of K once"
    K, (n, m) = _matrix(k, X, Z), (X.shape[0], Z.shape[0])
    seen, times = np.zeros((n, m)), np.zeros(n, int)

    def step(rows, block):
        seen[rows] = block
        times[rows] += 1
        return block.sum(axis=0, dtype=np.float64)

    parts = [p for p in engine.operator(k, X, Z).reduce(step) if p is not None]
    if not (times == 1).all():
        i = int(np.argmax(times != 1))
        fail(engine, law, f"row {i} of {n} came {times[i]} times")
    _close(engine, law, k, X, seen, K, _largest(K))
    total = sum(parts) if parts else np.zeros(m)
    _close(engine, "reduce must add up", k, X, total, K.sum(axis=0), n * _largest(K))
    nothing = [p for p in engine.operator(k, X, Z).reduce(lambda rows, block: None) if p is not None]
    if nothing:
        fail(engine, "reduce must add up", "a step that returns None left something in the list")
