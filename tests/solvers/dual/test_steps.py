"""The compiled loop takes the steps that NumPy takes, and they are the right ones."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mercer import KernelSVC, KernelSVR
from mercer.codegen.llvm import code
from mercer.codegen.llvm.processor import host
from mercer.kernels import Gaussian
from mercer.solvers import Dual
from mercer.solvers.dual import block, columns, solver
from mercer.solvers.dual.block import Block

KINDS = ("box", "kink", "extra", "infinite", "all")
SIZES = (1, 2, 5, 31, 32, 33, 100, 257)


def problem(n, kind, paired, seed=0):
    """(K, c, g, lower, upper, extra, kink): a start inside its box, and the gradient there."""
    rng = np.random.default_rng([seed, n, len(kind)])
    X = rng.standard_normal((n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    centre = rng.standard_normal(n) + np.sin(3 * X[:, 0])
    lower, upper = -rng.uniform(0.1, 1, n), rng.uniform(0.1, 1, n)
    extra, kink = np.zeros(n), 0.0
    if kind in ("kink", "all"):
        kink = 0.2
    if kind in ("extra", "infinite", "all"):
        extra = rng.uniform(0.1, 1, n)
    if kind in ("infinite", "all"):
        lower[::3], upper[1::3] = -np.inf, np.inf
    c = rng.uniform(0, 0.05, n) * rng.choice([-1, 0, 1], n)
    return K, c, K @ c + extra * c - centre, lower, upper, extra, kink


def solve(parts, paired, dtype=np.float64, tol=1e-9, limit=10**6):
    K, c, g, lower, upper, extra, kink = parts
    b = Block(len(c), dtype)
    b.matrix(len(c))[...] = K
    return b.solve(c, g, (lower, upper, extra), kink, paired, tol=tol, limit=limit)


def by_numpy(monkeypatch, *args, **options):
    with monkeypatch.context() as patch:
        patch.setattr(block, "_compiled", lambda *_: None)
        return solve(*args, **options)


def value(parts, c):
    """½cᵀKc + bᵀc + κΣ|c| + ½Σ extra c², from the dense matrix."""
    K, start, g, _, _, extra, kink = parts
    linear = g - K @ start - extra * start
    return 0.5 * c @ K @ c + linear @ c + kink * np.abs(c).sum() + 0.5 * extra @ c**2


def assert_optimal(parts, c, paired, tol):
    """One multiplier, −b, separates the slopes to the right from those to the left; for singles it is 0."""
    K, start, g, lower, upper, extra, kink = parts
    now = g + K @ (c - start) + extra * (c - start)
    assert ((c >= lower) & (c <= upper)).all()
    right = np.where(c < upper, now + np.where(c >= 0, kink, -kink), np.inf)
    left = np.where(c > lower, now + np.where(c > 0, kink, -kink), -np.inf)
    if paired:
        assert c.sum() == pytest.approx(start.sum(), abs=1e-12 * len(c))
        assert left.max() - right.min() <= tol
    else:
        assert left.max() <= tol and right.min() >= -tol


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_the_same_steps_as_numpy(n, kind, paired, monkeypatch):
    parts = problem(n, kind, paired)
    # After a step the slopes of its pair are equal but for rounding, which may then choose the next one.
    for limit in (0, 1) if paired else (0, 1, 2, 3, 10, 40):
        c, outcome = solve(parts, paired, limit=limit)
        expected, other = by_numpy(monkeypatch, parts, paired, limit=limit)
        assert outcome.steps == other.steps <= limit
        assert np.abs(c - expected).max() < 1e-13
        assert outcome.before == pytest.approx(other.before, abs=1e-13)
        assert outcome.after == pytest.approx(other.after, abs=1e-12)


def longest(parts, c, k, sign):
    """How far c_k can go that way: to its bound, or to 0 on the way if there is a kink."""
    _, _, _, lower, upper, _, kink = parts
    end = upper[k] if sign > 0 else lower[k]
    end = 0.0 if kink and sign * c[k] < 0 else end
    return abs(end - c[k])


@pytest.mark.parametrize("llvm", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_step_is_the_best_of_its_kind(kind, paired, llvm, monkeypatch):
    """One step after the other, against the rule written out with the dense matrix."""
    if not llvm:
        monkeypatch.setattr(block, "_compiled", lambda *_: None)
    parts = problem(40, kind, paired)
    K, start, g0, lower, upper, extra, kink = parts
    H = K + np.diag(extra)
    c = start
    for count in range(1, 40):
        g = g0 + H @ (c - start)
        right = np.where(c < upper, g + np.where(c >= 0, kink, -kink), np.inf)
        left = np.where(c > lower, g + np.where(c > 0, kink, -kink), -np.inf)
        new, outcome = solve(parts, paired, limit=count)
        if outcome.steps < count:
            break
        moved = np.flatnonzero(new != c)
        if paired:
            i, j = sorted(moved, key=lambda k: c[k] - new[k])
            assert right[i] <= right.min() + 1e-12
            curvature = np.maximum(H[i, i] + H.diagonal() - 2 * K[i], 1e-12)
            slope = left - right[i]
            signs = ((i, 1), (j, -1))
        else:
            (j,) = moved
            slope, curvature = np.maximum(-right, left), H.diagonal()
            signs = ((j, np.sign(new[j] - c[j])),)
            assert signs[0][1] == (1 if -right[j] > left[j] else -1)
        gain = np.maximum(slope, 0) ** 2 / curvature
        assert gain[j] >= gain.max() * (1 - 1e-9)
        length = min(slope[j] / curvature[j], *(longest(parts, c, k, sign) for k, sign in signs))
        for k, sign in signs:
            assert new[k] - c[k] == pytest.approx(sign * length, rel=1e-8, abs=1e-13)
        c = new
    assert count > 5


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_it_ends_at_the_minimum(n, kind, paired, monkeypatch):
    parts = problem(n, kind, paired)
    c, outcome = solve(parts, paired)
    assert outcome.after <= 1e-9 <= max(outcome.before, 1e-9)
    assert_optimal(parts, c, paired, 2e-9)
    expected, _ = by_numpy(monkeypatch, parts, paired)
    assert_optimal(parts, expected, paired, 2e-9)
    assert value(parts, c) == pytest.approx(value(parts, expected), abs=1e-10)
    # Bounds and the kink are met exactly, not nearly.
    _, _, _, lower, upper, _, kink = parts
    near = [np.abs(c - edge) < 1e-12 for edge in (lower, upper, np.zeros(n))]
    exact = [c == edge for edge in (lower, upper, np.zeros(n))]
    for k in range(3 if kink else 2):
        assert np.array_equal(near[k], exact[k])


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_values(kind, paired, monkeypatch):
    parts = problem(100, kind, paired)
    c, outcome = solve(parts, paired, np.float32, tol=1e-4)
    expected, other = by_numpy(monkeypatch, parts, paired, np.float32, tol=1e-4)
    assert outcome.after <= 1e-4 and other.after <= 1e-4
    # Errors of the entries, about 6e-8, times Σ|c|; and those of as many updates of g as there are steps.
    limit = 1e-4 + 1e-6 * np.sqrt(outcome.steps) * max(np.abs(c).sum(), 1)
    assert_optimal(parts, c, paired, limit)
    assert value(parts, c) == pytest.approx(value(parts, expected), abs=1e-3)


@pytest.mark.parametrize("first, second", [(0, 1), (8, 16), (16, 8 + 16), (24, 32), (24, 48), (63, 64)])
@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_equals_the_first_moves(first, second, paired, dtype):
    """Whatever the width of vectors, so that processors agree."""
    n = 96
    g = np.zeros(n)
    g[[first, second]] = -1
    parts = np.eye(n), np.zeros(n), g, np.full(n, -2.0), np.full(n, 2.0), np.zeros(n), 0.0
    c, outcome = solve(parts, paired, dtype, limit=1)
    assert outcome.steps == 1
    assert np.argmax(c) == first and c[second] == 0
    if paired:
        assert np.argmin(c) == next(k for k in range(n) if k not in (first, second))
    # And downwards.
    c, _ = solve((parts[0], parts[1], -g, *parts[3:]), paired, dtype, limit=1)
    assert np.argmin(c) == first and c[second] == 0


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
def test_what_is_optimal_is_left_alone(paired):
    parts = problem(40, "all", paired)
    c, outcome = solve(parts, paired, tol=1e9)
    assert outcome.steps == 0 and np.array_equal(c, parts[1])
    # Nothing can move: no way up, no way down.
    K, c0, g, _, _, extra, kink = parts
    c, outcome = solve((K, c0, g, c0, c0, extra, kink), paired)
    assert outcome.steps == 0 and np.array_equal(c, c0) and outcome.before == 0


def test_steps_stop_at_the_kink():
    """From 1 the way down leads past 0; there the slope changes sign, and 0 is the minimum."""
    parts = np.eye(1), np.array([1.0]), np.array([0.9]), np.array([-5.0]), np.array([5.0]), np.zeros(1), 0.4
    c, outcome = solve(parts, False)
    assert c[0] == 0.0 and outcome.steps == 1 and outcome.after <= 0


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
def test_no_curvature_means_a_step_to_the_bound(paired):
    """Where k(x, x) = 0, or points coincide, the problem is linear."""
    n = 4
    g = np.array([-1.0, 1.0, 0.0, 0.0])
    parts = np.zeros((n, n)), np.zeros(n), g, np.full(n, -3.0), np.full(n, 3.0), np.zeros(n), 0.0
    c, outcome = solve(parts, paired)
    assert outcome.after <= 0
    assert c[0] == 3 and c[1] == -3


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
def test_a_block_serves_problems_of_all_sizes(paired):
    """What an earlier, larger problem left behind does not matter."""
    b = Block(100, np.float64)
    for n in (100, 7, 64, 1, 33):
        parts = problem(n, "all", paired, seed=n)
        K, c, g, lower, upper, extra, kink = parts
        b.matrix(n)[...] = K
        found, _ = b.solve(c, g, (lower, upper, extra), kink, paired, tol=1e-10, limit=10**6)
        fresh, _ = solve(parts, paired, tol=1e-10)
        assert np.array_equal(found, fresh)


# -- processors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [128, 256])
def test_narrower_vectors_take_the_same_steps(bits):
    """In a process that is told to use them: the coordinates after a few steps, and where they end."""
    if bits >= host().bits:
        pytest.skip("no narrower than this processor's own")
    here = str(Path(__file__).parent)
    script = f"""
import sys
sys.path.insert(0, {here!r})
import numpy as np
from mercer.codegen.llvm.processor import host
from test_steps import KINDS, problem, solve
assert host().bits == {bits}
for n in (33, 100):
    for kind in KINDS:
        for paired in (True, False):
            for dtype in (np.float32, np.float64):
                c, outcome = solve(problem(n, kind, paired), paired, dtype, limit=25)
                print(outcome.steps, *c.tolist())
"""
    environment = {**os.environ, "MERCER_VECTOR_BITS": str(bits)}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    lines = iter(run.stdout.splitlines())
    for n in (33, 100):
        for kind in KINDS:
            for paired in (True, False):
                for dtype, close in ((np.float32, 1e-5), (np.float64, 1e-13)):
                    c, outcome = solve(problem(n, kind, paired), paired, dtype, limit=25)
                    steps, *other = map(float, next(lines).split())
                    assert steps == outcome.steps
                    assert np.abs(c - other).max() < close


# -- without LLVM -----------------------------------------------------------------------------------------


def test_no_compiler_means_numpy(monkeypatch):
    def broken(*_):
        raise OSError("no LLVM today")

    monkeypatch.setattr(code, "function", broken)
    assert block._compiled.__wrapped__("float64") is None
    assert columns._compiled.__wrapped__("float64") is None


@pytest.mark.parametrize("machine", [KernelSVC, KernelSVR])
def test_machines_are_the_same_without_llvm(machine, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    y = y > 0 if machine is KernelSVC else y
    make = machine(Gaussian(1.0), lam=1e-2, solver=Dual(tol=1e-6, working_set=32))
    monkeypatch.setattr(solver, "_FEW", 0)
    with_llvm = make.fit(X, y).scores(X)
    monkeypatch.setattr(block, "_compiled", lambda *_: None)
    monkeypatch.setattr(columns, "_compiled", lambda *_: None)
    without = make.fit(X, y).scores(X)
    assert np.abs(with_llvm - without).max() < 1e-5


# -- two sides -------------------------------------------------------------------------------------------


def two_sides(n, dtype=np.float64, endless=False):
    """(K, c, g, lower, upper) of a hinge problem with Σ c = 2 on one side and −2 on the other."""
    rng = np.random.default_rng([n, endless])
    X, y = rng.standard_normal((n, 3)), np.where(np.arange(n) % 2, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    end = np.inf if endless else 1.0
    lower, upper = np.where(y < 0, -end, 0.0), np.where(y > 0, end, 0.0)
    c = y * 2 / np.where(y > 0, (y > 0).sum(), (y < 0).sum())
    return K, c, K @ c - y, lower, upper


@pytest.mark.parametrize("endless", [False, True], ids=["box", "endless"])
@pytest.mark.parametrize("n", [8, 33, 64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_both_sides_stay(n, dtype, endless, monkeypatch):
    K, c, g, lower, upper = two_sides(n, endless=endless)
    tol = 1e-9 if dtype == np.float64 else 1e-4
    found = []
    for run in (None, lambda *_: None):
        with monkeypatch.context() as patch:
            if run is not None:
                patch.setattr(block, "_compiled", run)
            b = Block(n, dtype)
            b.matrix(n)[...] = K
            box = lower, upper, np.zeros(n)
            new, outcome = b.solve(c, g, box, 0.0, True, tol=tol, limit=10**6, sided=True)
            found.append((new, outcome))
    (new, outcome), (by_numpy_, _) = found
    np.testing.assert_allclose(new, by_numpy_, atol=1e-6 if dtype == np.float64 else 2e-2)
    assert outcome.after <= tol
    assert ((new >= lower) & (new <= upper)).all()
    now = K @ new - np.sign(c)
    for side in (c > 0, c < 0):
        assert new[side].sum() == pytest.approx(c[side].sum(), abs=1e-12)
        can_rise, can_fall = side & (new < upper), side & (new > lower)
        assert now[can_fall].max(initial=-np.inf) - now[can_rise].min(initial=np.inf) <= 20 * tol
