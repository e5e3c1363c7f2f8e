"""Elementary functions in vectors, against NumPy's in float64, for every width a processor may have."""

import ctypes
import math
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")
from llvmlite import ir

from mercer.codegen.llvm.emitter import I64, Emitter
from mercer.codegen.llvm.processor import Loaded, Processor, compile_ir, host
from mercer.codegen.llvm.vectors import Vectors, _fitted

DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
# Units in the last place: float64 polynomials carry the rounding of their own coefficients.
ULPS = {np.dtype(np.float32): 4, np.dtype(np.float64): 20}
_compiled = {}


def widths():
    """This machine's own target, and those of lesser ones."""
    own = host()
    return [own] + [Processor(b, False, own.cpu, own.features) for b in (128, 256, 512) if b < own.bits]


def compiled(target, dtype, operations):
    """A module with one function `name`(x, y, out, count) for each operation(vectors, x, y)."""
    module = ir.Module()
    pointer = ir.PointerType()
    for name, operation in operations.items():
        loops = Emitter()
        signature = ir.FunctionType(ir.VoidType(), [pointer] * 3 + [I64])
        loops.function = ir.Function(module, signature, name)
        loops.b = ir.IRBuilder(loops.function.append_basic_block())
        v = Vectors(loops.b, target, dtype)
        x, y, out, count = loops.function.args

        def step(i, _, v=v, x=x, y=y, out=out, loops=loops, operation=operation):
            value = operation(v, v.load(v.at(x, i)), v.load(v.at(y, i)))
            loops.b.store(value, v.at(out, i)).align = dtype.itemsize

        loops.loop(loops.k(0), count, v.lanes, step)
        loops.b.ret_void()
    return Loaded(compile_ir(str(module)))


UNARY = ("exp2", "log2", "sqrt", "sin", "cos", "tanh", "arccos", "abs", "neg")
BINARY = ("add", "sub", "mul", "div", "max", "min")
OPERATIONS = {
    **{name: (lambda v, x, y, name=name: getattr(v, name)(x)) for name in UNARY},
    **{name: (lambda v, x, y, name=name: getattr(v, name)(x, y)) for name in BINARY},
    "fma": lambda v, x, y: v.fma(x, y, v.const(0.1)),
    "total": lambda v, x, y: v.splat(v.total(x)),
}


def apply(name, x, y=None, target=None):
    """One operation on whole arrays, in their dtype."""
    target = target or host()
    key = target, x.dtype
    if key not in _compiled:
        _compiled[key] = compiled(target, x.dtype, OPERATIONS)
    lanes = target.lanes(x.dtype)
    size = -(-len(x) // lanes) * lanes
    padded = [np.resize(a, size) for a in (x, x if y is None else y)]
    out = np.empty(size, x.dtype)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(_compiled[key].address(name))
    function(*(a.ctypes.data for a in padded), out.ctypes.data, size)
    return out[: len(x)]


def around(low, high, dtype, count=4001):
    """Numbers of both kinds: evenly spread, and drawn."""
    drawn = np.random.default_rng(0).uniform(low, high, count)
    return np.concatenate([np.linspace(low, high, count), drawn]).astype(dtype)


def sizes(low, high, dtype, count=4001):
    """Numbers of all orders of magnitude."""
    return (10.0 ** around(low, high, np.float64, count)).astype(dtype)


every_width = pytest.mark.parametrize("target", widths(), ids=lambda t: f"{t.bits}{'+' * t.avx512}")


def ulps(found, exact, dtype):
    """The largest error in units of the last place of the exact value."""
    exact = np.asarray(exact, np.float64)
    unit = np.maximum(np.abs(exact), np.finfo(dtype).tiny) * np.finfo(dtype).eps
    return np.max(np.abs(found.astype(np.float64) - exact) / unit)


@every_width
@every_dtype
def test_exp2(target, dtype):
    top = 127 if dtype == np.float32 else 1023
    x = np.concatenate([around(-top + 2, top, dtype), around(-1, 1, dtype), [0, -1, 1, 0.5, -0.5]]).astype(
        dtype
    )
    assert (
        ulps(apply("exp2", x, target=target), np.exp2(x.astype(np.longdouble)).astype(np.float64), dtype)
        < ULPS[dtype]
    )
    whole = np.arange(-top + 1, top + 1).astype(dtype)
    assert ulps(apply("exp2", whole, target=target), np.exp2(whole.astype(float)), dtype) < ULPS[dtype]


@every_width
@every_dtype
def test_exp2_at_its_ends(target, dtype):
    low = np.array([-126.5, -140, -150, -200, -1e3, -1e5, -1e10, -1e30, -3e38], dtype)
    if dtype == np.float64:
        low = np.array([-1022.5, -1050, -1080, -1e4, -1e10, -1e30, -1e300])
    found = apply("exp2", low, target=target)
    # 0, or a number too small to matter.
    assert np.isfinite(found).all() and (found >= 0).all() and (found <= 2 * np.finfo(dtype).tiny).all()
    high = np.array([128, 129, 200, 1e3, 1e10, 1e30], dtype)
    if dtype == np.float64:
        high = np.array([1024, 1025, 1e4, 1e10, 1e300])
    found = apply("exp2", high, target=target)
    assert not np.isnan(found).any() and (found > 0.49 * float(np.finfo(dtype).max)).all()


@every_width
@every_dtype
def test_log2(target, dtype):
    x = np.concatenate([sizes(-37, 38, dtype), around(0.5, 2, dtype), 2.0 ** np.arange(-100, 100)]).astype(
        dtype
    )
    exact = np.log2(x.astype(np.longdouble)).astype(np.float64)
    found = apply("log2", x, target=target)
    assert np.max(np.abs(found - exact) / np.maximum(np.abs(exact), 1)) < 3 * np.finfo(dtype).eps
    close = (1 + around(-1e-3, 1e-3, np.float64)).astype(dtype)  # near 1 the error is relative too
    assert (
        ulps(apply("log2", close, target=target), np.log2(close.astype(np.longdouble)), dtype) < ULPS[dtype]
    )
    assert (apply("log2", np.ones(3, dtype), target=target) == 0).all()


@every_width
@every_dtype
def test_sqrt(target, dtype):
    x = np.concatenate([sizes(-37, 38, dtype), around(0, 4, dtype)[1:]]).astype(dtype)
    assert ulps(apply("sqrt", x, target=target), np.sqrt(x.astype(np.float64)), dtype) < 2
    assert (apply("sqrt", np.zeros(3, dtype), target=target) == 0).all()
    tiny = np.array([1e-45, 1e-42, 1e-39, 1.2e-38, 2e-38], dtype)
    found = apply("sqrt", tiny, target=target)
    assert (found >= 0).all() and (found <= 2 * np.sqrt(tiny.astype(float))).all()


@every_width
@every_dtype
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines(target, dtype, name):
    exact = getattr(np, name)
    for reach in (2, 100, 1e4):
        x = around(-reach, reach, dtype)
        found = apply(name, x, target=target)
        assert np.abs(found - exact(x.astype(np.float64))).max() < ULPS[dtype] * np.finfo(dtype).eps
    if name == "sin":
        x = sizes(-30, -1, dtype)
        x = np.concatenate([x, -x])
        assert ulps(apply("sin", x, target=target), np.sin(x.astype(np.float64)), dtype) < ULPS[dtype]
        assert (apply("sin", np.zeros(2, dtype), target=target) == 0).all()


def test_sines_of_large_numbers_in_double_precision():
    x = np.concatenate([around(-1e8, 1e8, np.float64), np.arange(1, 2000) * np.pi])
    exact = np.sin(x.astype(np.longdouble)).astype(np.float64)
    assert np.abs(apply("sin", x) - exact).max() < 4e-15


@every_width
@every_dtype
def test_tanh(target, dtype):
    x = np.concatenate([around(-3, 3, dtype), around(-30, 30, dtype), [0, 1e3, -1e3, 1e30, -1e30]]).astype(
        dtype
    )
    found = apply("tanh", x, target=target)
    assert np.abs(found - np.tanh(x.astype(np.float64))).max() < ULPS[dtype] * np.finfo(dtype).eps
    assert (np.abs(found) <= 1).all() and found[-1] == -1 and found[-2] == 1
    assert np.array_equal(apply("tanh", -x, target=target), -found)


@every_width
@every_dtype
def test_arccos(target, dtype):
    x = np.concatenate([around(-1, 1, dtype), [-1, 1, 0, 0.5, -0.5, 1 - 1e-7, -1 + 1e-7]]).astype(dtype)
    found = apply("arccos", x, target=target)
    assert np.abs(found - np.arccos(x.astype(np.float64))).max() < ULPS[dtype] * np.finfo(dtype).eps
    # Near 1 the angle is small and keeps its digits.
    near = (1 - sizes(-6, -1, np.float64)).astype(dtype)
    assert (
        ulps(apply("arccos", near[near < 1], target=target), np.arccos(near[near < 1].astype(float)), dtype)
        < ULPS[dtype] + 1
    )
    assert apply("arccos", np.ones(1, dtype), target=target)[0] == 0


@every_width
@every_dtype
def test_arithmetic(target, dtype):
    x, y = around(-5, 5, dtype), around(0.1, 7, dtype)[::-1].copy()
    exact = {
        "add": x + y,
        "sub": x - y,
        "mul": x * y,
        "div": x / y,
        "max": np.maximum(x, y),
        "min": np.minimum(x, y),
        "abs": np.abs(x),
        "neg": -x,
    }
    for name, expected in exact.items():
        assert np.array_equal(apply(name, x, y, target=target), expected), name
    found = apply("fma", x, y, target=target)
    exact = x.astype(np.longdouble) * y + dtype.type(0.1)
    assert np.abs(found - exact).max() < 26 * np.finfo(dtype).eps
    lanes = target.lanes(dtype)
    whole = x[: len(x) // lanes * lanes]
    sums = np.repeat(whole.reshape(-1, lanes).astype(float).sum(axis=1), lanes)
    assert np.abs(apply("total", whole, target=target) - sums).max() < 5 * lanes * np.finfo(dtype).eps


@pytest.mark.parametrize(
    "name, degrees", [("2^f", (5, 11)), ("sin(√u)/√u", (4, 8)), ("arcsin(√u)/√u", (5, 13))]
)
def test_polynomials_are_as_good_as_the_precision(name, degrees):
    exact, low, high = {
        "2^f": (np.exp2, -0.5, 0.5),
        "sin(√u)/√u": (lambda u: np.sinc(np.sqrt(u) / np.pi), 0, (math.pi / 2) ** 2),
        "arcsin(√u)/√u": (lambda u: np.arcsin(np.sqrt(u)) / np.sqrt(u), 1e-9, 0.25),
    }[name]
    u = np.linspace(low, high, 2001)
    for degree, bound in zip(degrees, (3 * 2.0**-24, 20 * 2.0**-52), strict=True):
        fitted = np.polynomial.Polynomial(_fitted(name, degree))(u)
        assert np.abs(fitted / exact(u) - 1).max() < bound


SCRIPT = """
import numpy as np
from mercer.engines import Tiled
from mercer.codegen.llvm.processor import host
from mercer.kernels import ArcCosine, ChiSquared, Gaussian, Laplacian, Polynomial, Sigmoid
rng = np.random.default_rng(0)
kernels = [Gaussian(1.0), Laplacian(1.0) * Polynomial(2) + ArcCosine(1), Sigmoid(0.3) * ChiSquared() ** 0.3]
worst, engine = 0, Tiled(threads=1, fused=True)
for d, k in ((3, kernels[0]), (6, kernels[1]), (3, kernels[2]), (45, kernels[0])):
    for dtype, eps in ((np.float32, 2e-6), (np.float64, 1e-14)):
        X, Z = (rng.uniform(0, 2 / np.sqrt(d), (n, d)).astype(dtype) for n in (37, 301))
        V = rng.standard_normal((301, 3)).astype(dtype)
        K = k.pairwise(X.astype(float), Z.astype(float))
        size = np.abs(K) @ np.abs(V) * eps
        assert engine.operator(k, X, Z).loops() is not None
        for W in (V, V[:, :1]):
            off = np.abs(engine.operator(k, X, Z).product(W) - K @ W)
            worst = max(worst, (off / size[:, : W.shape[1]]).max())
print(host().bits, worst)
"""


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_kernels_on_a_lesser_processor(bits):
    """The same kernels in a process that is told to use narrower vectors."""
    if bits >= host().bits:
        pytest.skip("no narrower than this processor's own")
    environment = {**os.environ, "MERCER_VECTOR_BITS": str(bits)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    used, worst = run.stdout.split()
    assert int(used) == bits
    assert float(worst) < 1


def test_kernels_without_fused_multiply_and_add():
    """On a processor from before 2013 products and sums are made by the C library's fma."""
    pretend = (
        "from llvmlite import binding as llvm\n"
        "llvm.get_host_cpu_name = lambda: 'x86-64'\n"
        "class Few(dict):\n"
        "    def flatten(self): return '+sse2'\n"
        "llvm.get_host_cpu_features = lambda: Few(sse2=True)\n"
    )
    import platform

    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("such processors are x86")
    run = subprocess.run(
        [sys.executable, "-c", pretend + SCRIPT], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    used, worst = run.stdout.split()
    assert used == "128" and float(worst) < 1
