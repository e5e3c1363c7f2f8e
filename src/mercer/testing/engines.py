"""The laws of engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.engines import Engine
from mercer.kernels import FunctionKernel, Gaussian, Kernel, Laplacian, Matern, Polynomial
from mercer.kernels.points import as_objects
from mercer.testing.common import LawTrial, fail, require_kind, scale

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
    require_kind(engine, Engine, "check_engine")
    rng = np.random.default_rng(random_state)
    if kernel is not None:
        kernel, points = kernel.resolve(X).bind(X)
        cases = [(kernel, points, points[::2])]
    else:
        cases = list(_cases(rng))
    trials = [_EngineTrial(engine, *case, rng) for case in cases]
    for trial in trials:
        trial.gram()
        trial.product((None, 1, 3))
        trial.reduce()
        trial.normal()
    for trial in trials:
        trial.forms()
    if kernel is None:
        for more, columns in ((_kernels, (None,)), (_places, (None, 2))):
            for case in more(rng):
                trial = _EngineTrial(engine, *case, rng)
                trial.gram()
                trial.product(columns)
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


def _largest(K: np.ndarray) -> float:
    return scale(K) if K.size else 1.0


class _EngineTrial(LawTrial):
    """An engine on a kernel and points."""

    def __init__(self, engine: Engine, k: Kernel, X: Any, Z: Any, rng: np.random.Generator):
        super().__init__(engine)
        self.engine, self.k, self.X, self.Z, self.rng = engine, k, X, Z, rng
        self.n, self.m = X.shape[0], Z.shape[0]
        self.K = _matrix(k, X, Z)
        self.largest = _largest(self.K)

    def operator(self) -> Any:
        """A fresh one: nothing is left from the law before."""
        return self.engine.operator(self.k, self.X, self.Z)

    def vectors(self, *shape: int) -> np.ndarray:
        return self.rng.standard_normal(shape).astype(
            np.float32 if self.X.dtype == np.float32 else np.float64
        )

    def near(self, law: str, found: Any, expected: np.ndarray, size: Any) -> None:
        """Is `found` what is expected, up to rounding of terms whose absolute values add up to `size`?"""
        limit = _PRECISION.get(self.X.dtype, 1e-12) * size
        self.close(law, found, expected, limit, f"for {self.k!r} at ({{}}) it is {{}}, not {{}}")

    def single(self, law: str, found: Any) -> None:
        if self.X.dtype == np.float32 and found.dtype != np.float32:
            self.fail(law, f"float32 must stay float32, but the result is {found.dtype}")

    def gram(self) -> None:
        law = "fill must give K"
        found = self.operator().dense()
        self.near(law, found, self.K, self.largest)
        self.single(law, found)
        self.fill(np.full(self.K.shape, np.nan, found.dtype))
        law = "fill for one point set must give K(X, X)"
        symmetric, own = self.engine.operator(self.k, self.X).dense(), _matrix(self.k, self.X, self.X)
        self.near(law, symmetric, own, _largest(own))
        if np.array_equal(own, own.T) and not np.array_equal(symmetric, symmetric.T):
            self.fail(law, "it is not symmetric to the last bit")

    def fill(self, out: np.ndarray) -> None:
        if self.operator().fill(out) is not out:
            self.fail("fill must give K", "`out` was given, but another array came back")
        self.near("fill must fill `out`", out, self.K, self.largest)

    def forms(self) -> None:
        """Parts of an operator, other points, other precision, its transpose."""
        law, A, K = "operators made of an operator must be parts of K", self.operator(), self.K
        rows = self.rng.permutation(self.n)[: self.n // 2 + 1]
        columns = self.rng.permutation(self.m)[: self.m // 3 + 1]
        for part, values in (
            (A.among(rows), K[rows]),
            (A.among(columns=columns), K[:, columns]),
            (A.among(rows, columns), K[np.ix_(rows, columns)]),
            (A.facing(self.X[::2]), K[::2]),
            (A.T, K.T),
            (A.against(A), _matrix(self.k, self.X, self.X)),
            (A.single_threaded(), K),
            (A.expecting(1e12), K),
        ):
            self.near(law, part.dense(), values, self.largest)
        U = self.vectors(self.n, 2)
        self.near("adjoint must be Kᵀ U", A.adjoint(U), K.T @ U, self.largest * np.abs(U).sum(axis=0))
        double = A.at(np.float64)
        if double is not None and double.dtype != np.float64:
            self.fail("at(dtype) must be of that precision", f"it is of {double.dtype}")

    def product(self, columns: tuple[int | None, ...]) -> None:
        law = "product must be K V"
        for count in columns:
            V = self.vectors(self.m) if count is None else self.vectors(self.m, count)
            before = V.copy()
            V.flags.writeable = False
            found = self.operator().product(V)
            self.near(law, found, self.K @ before, self.largest * np.abs(V).sum(axis=0))
            self.single(law, found)

    def normal(self) -> None:
        law, K = "normal must be Kᵀ(w∘(K V))", self.K
        for shape, weights in (((), None), ((), ()), ((2,), None), ((2,), ()), ((2,), (2,))):
            V = self.vectors(self.m, *shape)
            w = None if weights is None else abs(self.vectors(self.n, *weights))
            each = np.ones(self.n) if w is None else w
            column = each if each.ndim == V.ndim else each[:, None]
            size = self.largest**2 * np.abs(V).sum(axis=0) * each.sum(axis=0)
            self.near(law, self.operator().normal(V, w), K.T @ (column * (K @ V)), size)

    def reduce(self) -> None:
        law = "reduce must see every row of K once"
        seen, times = np.zeros((self.n, self.m)), np.zeros(self.n, int)

        def step(rows, block):
            seen[rows] = block
            times[rows] += 1
            return block.sum(axis=0, dtype=np.float64)

        parts = [p for p in self.operator().reduce(step) if p is not None]
        if not (times == 1).all():
            i = int(np.argmax(times != 1))
            self.fail(law, f"row {i} of {self.n} came {times[i]} times")
        self.near(law, seen, self.K, self.largest)
        total = sum(parts) if parts else np.zeros(self.m)
        self.near("reduce must add up", total, self.K.sum(axis=0), self.n * self.largest)
        if any(p is not None for p in self.operator().reduce(lambda rows, block: None)):
            self.fail("reduce must add up", "a step that returns None left something in the list")


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
        trial = _EngineTrial(engine, k, X, Z, rng)
        trial.gram()
        trial.product((None, 3))
    trial = _EngineTrial(engine, k, A, B, rng)
    for t in (2, 5, 10):
        V = rng.standard_normal((70, t))
        for W in (V, np.asfortranarray(V), V[::-1], np.repeat(V, 2, axis=1)[:, ::2], V[:, ::-1], V[:, 0]):
            size = trial.largest * np.abs(W).sum(axis=0)
            trial.near("product must be K V", trial.operator().product(W), trial.K @ W, size)
    for part in (np.s_[3:94, 5:75], np.s_[93:2:-1, 5:75], np.s_[3:94, 5:145:2], np.s_[3:94, 74:4:-1]):
        board = np.full((100, 150), np.nan)
        trial.fill(board[part])
        board[part] = np.nan
        if not np.isnan(board).all():
            trial.fail("fill must fill `out`", "and leave what lies beside it alone")
