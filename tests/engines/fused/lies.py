"""Calls of the compiled entry points with arrays that lie about themselves, by seed.

`run(count, seed)` makes so many of them: each ends in an exception of a kind that is raised on purpose, or in
the answer that NumPy gives. A crash is for the process that runs this to see (benchmarks/fuzz_compiled.py).
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np

from mercer.codegen.subset.compiled import compiled
from mercer.codegen.symbols import NotTraceable
from mercer.engines import Tiled
from mercer.engines.fused.layout import Layout
from mercer.engines.fused.run import Fused
from mercer.kernels import ChiSquared, Gaussian, Laplacian, Linear, Matern, Periodic, Polynomial
from mercer.kernels.formula import trace
from mercer.losses import Hinge, Huber, Squared
from mercer.online.code import LossCode, loop
from mercer.online.linear_loops import Directions
from mercer.online.loops import Chunk, Course, Keeping, Terms
from mercer.solvers.dual.block import Block
from mercer.solvers.dual.columns import combine

# An AttributeError is what None and lists get where only other code of the package calls.
REFUSALS = (ValueError, TypeError, IndexError, OverflowError, NotTraceable, AttributeError)
DTYPES = (np.float64, np.float32)


class WrongAnswer(AssertionError):
    """Neither an exception nor what NumPy gives."""


# -- lies -------------------------------------------------------------------------------------------


def _shifted(a: np.ndarray) -> np.ndarray:
    """The same numbers, one byte off where numbers begin."""
    room = np.zeros(a.nbytes + 1, np.uint8)
    room[1:] = np.frombuffer(np.ascontiguousarray(a).tobytes(), np.uint8)
    return room[1:].view(a.dtype).reshape(a.shape)


def _frozen(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


def _with(a: np.ndarray, rng: Any, value: float) -> np.ndarray:
    a = a.copy()
    if a.size and a.dtype.kind == "f":
        with np.errstate(over="ignore"):
            a.flat[rng.integers(a.size)] = value
    return a


def lie(a: np.ndarray, rng: np.random.Generator) -> Any:
    """Something that looks like `a`, and may not be it."""
    n = rng.integers(-1, 4)
    few = a[: max(len(a) - abs(int(n)), 0)] if a.ndim else a
    choices: list[Any] = [
        lambda: a,
        lambda: few,
        lambda: np.concatenate([a, a]) if a.ndim else a,
        lambda: a[..., : max(a.shape[-1] - 1, 0)] if a.ndim else a,
        lambda: np.repeat(a, 2, axis=-1) if a.ndim else a,
        lambda: a[::-1],
        lambda: a[..., ::-1],
        lambda: np.repeat(a, 2, axis=-1)[..., ::2],
        lambda: np.repeat(a, 2, axis=0)[::2],
        lambda: np.asfortranarray(a),
        lambda: np.broadcast_to(a[:1], a.shape) if a.ndim else a,
        lambda: np.lib.stride_tricks.as_strided(a, a.shape, (0,) * a.ndim),
        lambda: _shifted(a),
        lambda: a.astype(np.float32 if a.dtype == np.float64 else np.float64),
        lambda: a.astype(a.dtype.newbyteorder()),
        lambda: a.astype(np.int64) if a.dtype.kind == "f" and np.isfinite(a).all() else a,
        lambda: a.astype(np.float16) if a.dtype.kind == "f" else a.astype(np.int32),
        lambda: a.astype(complex),
        lambda: a.astype(object),
        lambda: a.tolist(),
        lambda: None,
        lambda: np.float64(1.5),
        lambda: np.zeros(()),
        lambda: a[None],
        lambda: a.ravel(),
        lambda: np.zeros((0, *a.shape[1:]), a.dtype),
        lambda: np.zeros((*a.shape[:-1], 0), a.dtype),
        lambda: np.ma.array(a),
        lambda: _frozen(a),
        *(lambda v=v: _with(a, rng, v) for v in (np.nan, np.inf, -np.inf, 1e300, -1e38, 1e-310, 1e-30)),
        lambda: a * 0,
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return choices[rng.integers(len(choices))]() if rng.random() < 0.6 else a


def number(value: Any, rng: np.random.Generator) -> Any:
    """A number that may be another."""
    if rng.random() < 0.7:
        return value
    odd = [
        0,
        -1,
        value + 1,
        value - 1,
        10 * value,
        2**31,
        2**62,
        -(2**63),
        2**64,
        1.5,
        float("nan"),
        float("inf"),
        None,
        "3",
    ]
    return odd[rng.integers(len(odd))]


# -- right answers ----------------------------------------------------------------------------------


def _kernel(rng: np.random.Generator, d: int) -> Any:
    lengths = rng.uniform(0.5, 2.0, d)
    return [
        Gaussian(1.3), Laplacian(2.0), Laplacian(3.0, norm="l1"), Matern(1.5, 2.0), Polynomial(2, 1.0),
        Linear(), Periodic(2.0, 3.0), ChiSquared(1.0), Gaussian(1.0).scaled(lengths),
        Laplacian(2.0, norm="l1").scaled(lengths),
        Gaussian(1.0) + Linear(), Gaussian(1.5).on([0]), Gaussian(1.0).pullback(np.tanh),
        Gaussian(1.0).pullback(lambda A: A[:, : 1 + len(A) % 3]), Linear().pullback(lambda A: np.eye(len(A))),
        Gaussian(1.0).pullback(lambda A: np.repeat(A, 1 + int(abs(A[0, 0])) % 3, axis=1)),
    ][rng.integers(16)]  # fmt: skip


def _close(found: Any, expected: np.ndarray, dtype: Any, size: float) -> None:
    """Equal to rounding; where NumPy has no number either, whatever it is."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape:
        raise WrongAnswer(f"shape {found.shape}, not {expected.shape}")
    known = np.isfinite(expected) & (np.abs(expected) < 1e30) & np.isfinite(size)
    bound = (2e-4 if dtype == np.float32 else 1e-9) * (1 + size)
    with np.errstate(invalid="ignore"):
        wrong = known & ~(np.abs(found - expected) <= bound)
    if wrong.any():
        raise WrongAnswer(f"off by {np.abs(found - expected)[known].max():.3g}, {size:.3g} large")


def products(rng: np.random.Generator) -> None:
    """product, sandwich, gram and rows of the engine and of the loops below it."""
    dtype, d = DTYPES[rng.integers(2)], int(rng.choice([1, 2, 3, 5, 17, 45, 210]))
    n, m, t = (int(rng.choice(s)) for s in ([1, 7, 33, 70], [1, 5, 40, 65], [1, 2, 3, 7]))
    X, Z = (np.abs(rng.standard_normal((r, d))).astype(dtype) for r in (n, m))
    X = (X * 10.0 ** rng.choice([-30, -12, 0, 0, 0, 0, 4, 12, 30])).astype(dtype)
    kernel, V, W = _kernel(rng, d), rng.standard_normal((m, t)).astype(dtype), rng.standard_normal((n, t))
    Z = X if rng.random() < 0.3 else Z
    X2, Z2, V2 = (
        lie(X, rng),
        lie(Z, rng),
        lie(V[: len(Z)] if len(Z) <= m else rng.standard_normal((len(Z), t)), rng),
    )
    Z2 = X2 if Z is X else Z2
    what = rng.integers(6)
    checked = what < 3
    if checked:  # the engine takes what the kernel's door lets through
        X2 = kernel.points(X2)
        Z2 = X2 if Z is X else kernel.points(Z2)
        V2 = np.asarray(V2)
        engine = Tiled(int(rng.integers(1, 3)), True)
        fill, product = (
            (lambda out: engine.operator(kernel, X2, Z2).fill(out)),
            (lambda: engine.operator(kernel, X2, Z2).product(V2)),
        )
        sandwich = lambda middle: engine.operator(kernel, X2, Z2).sandwich(V2, middle)  # noqa: E731
    else:
        loops = Fused(trace(kernel), X2, Z2, number_type(rng, dtype), int(rng.integers(1, 3)))
        fill, product = loops.fill, lambda: loops.product(V2, bool(rng.integers(2)))
        sandwich = lambda middle: loops.sandwich(V2, middle, bool(rng.integers(2)))  # noqa: E731
    if what % 3 == 0:
        found: Any = product()
    elif what % 3 == 1:
        out = lie(np.zeros((len(X2), len(Z2)), dtype), rng)
        found = fill(out)
    else:
        other = lie(W, rng) if rng.random() < 0.3 else W
        found = sandwich(lambda rows, S: S if other is W else np.asarray(other)[rows])
        if other is not W:
            return
    if not all(isinstance(P, np.ndarray) and P.itemsize > 2 and np.isfinite(P).all() for P in (X2, Z2)):
        return  # points are finite, as `kernel.points` has seen; others must do no harm
    with np.errstate(all="ignore"):
        wide = X2.astype(np.float64)
        K = kernel.pairwise(wide, wide if Z2 is X2 else Z2.astype(np.float64))
        V3 = np.asarray(V2, np.float64)
        expected = {0: lambda: K @ V3, 1: lambda: K, 2: lambda: K.T @ (K @ V3)}[int(what % 3)]()
        size = {
            0: lambda: np.abs(K).sum() * np.abs(V3).max(initial=0),
            1: lambda: np.abs(K).max(initial=0),
            2: lambda: np.abs(K).sum() ** 2 * np.abs(V3).max(initial=0),
        }[int(what % 3)]()
    single = (
        np.float32 in (getattr(found, "dtype", None), X2.dtype, Z2.dtype, V3.dtype) or dtype == np.float32
    )
    # A period of numbers that large is lost in their last digit.
    largest = max(np.abs(P).max(initial=0) for P in (wide, Z2)) if isinstance(kernel, Periodic) else 0.0
    # Coefficients may be asked for in float32, where larger ones are infinite.
    ordinary = np.abs(K).max(initial=0) < 1e15 and np.abs(V3).max(initial=0) < 1e30
    if ordinary and largest < 100:
        _close(found, expected, np.float32 if single else np.float64, size)


def number_type(rng: np.random.Generator, dtype: Any) -> Any:
    return dtype if rng.random() < 0.9 else [np.float16, np.int64, object, ">f8"][rng.integers(4)]


def packing(rng: np.random.Generator) -> None:
    dtype, d = DTYPES[rng.integers(2)], int(rng.choice([1, 3, 5, 18]))
    X = np.abs(rng.standard_normal((int(rng.integers(1, 40)), d))).astype(dtype)
    kernel = _kernel(rng, d)
    layout = Layout(trace(kernel), X, X, np.dtype(dtype))
    block = int(number(int(rng.choice([1, 4, 8])), rng))
    rows = int(number(-(-len(X) // max(block, 1)) * max(block, 1), rng))
    out = np.zeros(min(max(rows, 0), 10**6) * layout.width, dtype)
    layout.pack(lie(X, rng), block, rows, str(rng.choice(["x", "z", "y"])), lie(out, rng))


def rows_of(rng: np.random.Generator) -> None:
    dtype = DTYPES[rng.integers(2)]
    X = rng.standard_normal((30, 3)).astype(dtype)
    fill = Fused(trace(Gaussian(1.0)), X, X, np.dtype(dtype), 1).rows()
    index: Any = rng.integers(-40 if rng.random() < 0.3 else 0, 40 if rng.random() < 0.3 else 30, 5)
    index = [index, slice(*sorted(rng.integers(0, 40, 2).tolist())), index.astype(float), 3, None][
        rng.integers(5)
    ]
    out = lie(np.zeros((5, 30), dtype), rng)
    fill(index, out)
    if isinstance(out, np.ndarray) and out.size:
        _close(out, Gaussian(1.0)(X[index].astype(np.float64), X.astype(np.float64)), dtype, 1.0)


def dual(rng: np.random.Generator) -> None:
    dtype, n = DTYPES[rng.integers(2)], int(rng.choice([1, 5, 31, 32, 33, 70]))
    X = rng.standard_normal((n, 2))
    K = Gaussian(1.0)(X).astype(dtype)
    most = -(-n // 32) * 32
    whole = None
    if rng.random() < 0.4:
        whole = np.zeros((most, most), dtype)
        whole[:n, :n] = K
        whole = lie(whole, rng)
    block = Block(int(number(n, rng)) if rng.random() < 0.3 else n, number_type(rng, dtype), whole)
    size = number(n, rng)
    place = block.matrix(size)
    if whole is None:
        place[...] = lie(K, rng) if size == n else 1.0
    c, g = np.zeros(n), rng.standard_normal(n)
    box = (np.zeros(n), np.ones(n), np.zeros(n))
    given = [lie(a, rng) for a in (c, g, *box)]
    kink, tol = (float(number(v, rng) or 0.0) for v in (0.0, 1e-6))
    limit = int(number(200, rng))
    block.solve(
        given[0], given[1], tuple(given[2:]), kink, bool(rng.integers(2)), tol=tol, limit=min(limit, 2000)
    )


def combining(rng: np.random.Generator) -> None:
    dtype = DTYPES[rng.integers(2)]
    rows, out = rng.standard_normal((9, 64)).astype(dtype), np.zeros(64)
    index, factors = rng.integers(0, 9, 6), rng.standard_normal(6)
    if rng.random() < 0.3:
        index = index + rng.integers(-12, 12)
    rows2, index2, factors2, out2 = (lie(a, rng) for a in (rows, index, factors, out))
    expected = np.asarray(rows2, np.float64)[np.asarray(index2)].T @ np.asarray(factors2, np.float64)
    expected = expected + np.asarray(out2, np.float64)
    if rng.random() < 0.1:
        out2 = rows2[0]
    combine(rows2, index2, factors2, out2, int(rng.integers(1, 3)))
    _close(out2, expected, np.float64, float(np.abs(expected).max(initial=0)))


_PRODUCT = """
def product(A: "f64[:,:]", b: "T[:]", out: "f64[:]", n: int, m: int) -> float:
    total = 0.0
    for i in range(n):
        out[i] = 0.0
        for j in range(m):
            out[i] += A[i, j] * b[j]
        total += out[i]
    return total
"""


def subset(rng: np.random.Generator) -> None:
    dtype = DTYPES[rng.integers(2)]
    f = compiled([_PRODUCT], dtype)
    n, m = (int(v) for v in rng.integers(0, 9, 2))
    A, b, out = rng.standard_normal((n, m)), rng.standard_normal(m).astype(dtype), np.zeros(n)
    A, b, out = (lie(a, rng) for a in (A, b, out))
    if rng.random() < 0.1:
        out = A[0]
    n2, m2 = (number(v, rng) for v in (n, m))
    f(A, b, out, n2, m2)
    with np.errstate(all="ignore"):
        expected = A[:n2, :m2] @ b[:m2].astype(np.float64) if n2 > 0 else np.zeros(0)
        size = np.abs(A[: max(n2, 0), : max(m2, 0)]).sum() * np.abs(b).max(initial=0)
    _close(out[: max(n2, 0)], expected if m2 > 0 else np.zeros(max(n2, 0)), np.float64, float(size))


def online(rng: np.random.Generator) -> None:
    """The loops over examples: what they hold of it lies."""
    name = str(rng.choice(["expansion", "coordinates", "recursive"]))
    dtype = DTYPES[rng.integers(2)] if name == "expansion" else np.float64
    n, m, t = int(rng.integers(1, 20)), int(rng.integers(0, 12)), int(rng.choice([1, 3]))
    loss = LossCode([Squared(), Huber(1.0), Hinge()][rng.integers(3)], t).record
    rate, averaged, shifted = int(rng.integers(0, 4)), *(int(v) for v in rng.integers(0, 2, 2))
    a = lambda *shape: rng.standard_normal(shape)  # noqa: E731
    chunk = Chunk(a(n, t), np.zeros((n, t)), np.full(n, 0.1), np.ones(n), n, t)
    state, count = np.array([1.0, 0, 0, 0]), np.array([m, 0, 0, m])
    course = Course(state, count, np.zeros((t, 2)), 0.01, rate, averaged, shifted)
    given: list[Any]
    if name == "expansion":
        c = m + n
        K = Gaussian(1.0)(a(c, 2)).astype(dtype)
        size = np.concatenate([rng.random(m), np.full(n, np.inf)])
        like = rng.integers(-1, c, c), rng.random(c)
        terms = Terms(K, a(t, c), a(t, c), size, np.ones(c), np.arange(c), *like)
        keeping = Keeping(rng.random(n), int(rng.integers(0, 7)), int(rng.integers(1, 12)), m, m)
        given = [terms, chunk, course, keeping, loss]
    else:
        room = m + n
        most = int(rng.integers(0, room + 2))
        span = Directions(a(n, room), a(n, n), a(room, room), np.ones(n), np.zeros(n, int), most, 0.1)
        given = [a(t, room), a(t, room), span, chunk, course, loss]
        if name == "recursive":
            given = [a(t, room), a(room, room), np.zeros(room), span, chunk, count, 1.0, 0.99]
    for _ in range(rng.integers(1, 4)):
        spoil(given, rng)
    loop(name, np.dtype(dtype).name)(*given)


def spoil(given: list[Any], rng: np.random.Generator) -> None:
    """One thing of those given, or of a record among them, becomes a lie."""
    i = int(rng.integers(len(given)))
    if not isinstance(given[i], tuple):
        given[i] = spoiled(given[i], rng)
    elif rng.random() < 0.05:
        given[i] = tuple(given[i])
    else:
        field = str(rng.choice(given[i]._fields))
        given[i] = given[i]._replace(**{field: spoiled(getattr(given[i], field), rng)})


def spoiled(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray):
        return lie(value, rng)
    if isinstance(value, (int, float)):
        return number(value, rng)
    return [value, None, 12345, compiled([_PRODUCT])][rng.integers(4)]


KINDS = (products, products, packing, rows_of, dual, combining, subset, online, online)


def run(count: int, seed: int) -> Counter[str]:
    """So many calls, by kind and end: refused, or right."""
    ends: Counter[str] = Counter()
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        kind = KINDS[rng.integers(len(KINDS))]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                kind(rng)
            except REFUSALS:
                ends[f"{kind.__name__}: refused"] += 1
                continue
            except BaseException as error:
                raise type(error)(f"case {i} of seed {seed}, {kind.__name__}: {error}") from error
        ends[f"{kind.__name__}: right"] += 1
    return ends
