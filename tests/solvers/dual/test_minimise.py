"""Box-constrained quadratic problems by working sets, against SciPy and the optimality conditions."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.operators import Matrix
from mercer.solvers.dual import minimise as module
from mercer.solvers.dual.columns import Cached, Computed, Factored, KernelColumns, Stored
from mercer.solvers.dual.minimise import BoxQP, State, choose, feasible, minimise


class Dense(KernelColumns):
    """A matrix in memory that is worked on in pieces; remembers which rows were asked for."""

    partial = True

    def __init__(self, K):
        self.K, self.n, self.dtype = K, len(K), K.dtype
        self.asked = []

    def block(self, index, out):
        assert len(np.unique(index)) == len(index), "a coordinate twice in a working set"
        out[...] = self.K[np.ix_(index, index)]

    def add(self, g, rows, index, factors):
        self.asked.append(self.n if rows is None else len(rows))
        rows = np.arange(self.n) if rows is None else rows
        g[rows] += self.K[np.ix_(rows, index)] @ factors


def run(K, qp, tol=1e-6, size=6, max_rounds=10_000, source=Dense, start=None):
    c = feasible(np.zeros(len(K)) if start is None else start, qp, 0.0)
    columns = source(K)
    state = State(c, K @ c + qp.extra * c - qp.centre)
    return minimise(columns, qp, state, tol=tol, max_rounds=max_rounds, size=size), columns


def value(K, qp, c):
    quadratic = 0.5 * c @ K @ c + 0.5 * qp.extra @ c**2
    return quadratic - qp.centre @ c + qp.kink * np.abs(c).sum()


def assert_optimal(K, qp, c, tol, total=0.0):
    """The conditions of Karush, Kuhn and Tucker, from the dense matrix."""
    assert (c >= qp.lower).all() and (c <= qp.upper).all()
    g = K @ c + qp.extra * c - qp.centre
    # Slopes of D along +e_i and −e_i.
    up = np.where(c >= 0, g + qp.kink, g - qp.kink)
    down = np.where(c <= 0, qp.kink - g, -g - qp.kink)
    can_rise, can_fall = c < qp.upper, c > qp.lower
    if qp.paired:
        assert c.sum() == pytest.approx(total, abs=1e-9 * max(np.abs(c).sum(), 1))
        steepest = up[can_rise].min(initial=np.inf) + down[can_fall].min(initial=np.inf)
    else:
        steepest = min(up[can_rise].min(initial=np.inf), down[can_fall].min(initial=np.inf))
    assert steepest >= -tol


def by_scipy(K, qp, total=0.0):
    """The minimum by SLSQP, with c = p − m in two parts of one sign so that |c| = p + m is smooth."""
    n = len(K)
    bounds = [(0, max(u, 0)) for u in qp.upper] + [(0, max(-low, 0)) for low in qp.lower]
    linear = np.concatenate([qp.kink - qp.centre, qp.kink + qp.centre])
    H = K + np.diag(qp.extra)

    def both(z):
        c = z[:n] - z[n:]
        Hc = H @ c
        return 0.5 * c @ Hc + linear @ z, np.concatenate([Hc, -Hc]) + linear

    sums = [{"type": "eq", "fun": lambda z: z[:n].sum() - z[n:].sum() - total}] if qp.paired else []
    start = feasible(np.zeros(n), qp, total)
    z = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
    found = scipy_minimize(
        both,
        z,
        jac=True,
        bounds=bounds,
        constraints=sums,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return found.fun, found.x[:n] - found.x[n:]


def gaussian(n, d, rng, width=1.0):
    X = rng.standard_normal((n, d))
    return X, np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


def svm(n, paired, C=2.0, kind="hinge", seed=0):
    rng = np.random.default_rng([seed, n])
    X, K = gaussian(n, 2, rng)
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    zero = np.zeros(n)
    if kind == "hinge":
        return X, K, BoxQP(y, np.minimum(C * y, 0), np.maximum(C * y, 0), zero, 0.0, paired)
    if kind == "squared hinge":
        far = np.full(n, np.inf)
        return X, K, BoxQP(y, np.where(y > 0, 0, -far), np.where(y > 0, far, 0), zero + 0.5 / C, 0.0, paired)
    target = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    return X, K, BoxQP(target, zero - C, zero + C, zero, 0.1, paired)


# -- random problems --------------------------------------------------------------------------------------


@st.composite
def problems(draw):
    n = draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rank = draw(st.integers(1, n + 2))
    Phi = rng.standard_normal((n, rank))
    if draw(st.booleans()):
        Phi[rng.integers(n)] = Phi[rng.integers(n)]  # a point twice
    K = Phi @ Phi.T
    centre = rng.standard_normal(n) * draw(st.sampled_from([0.1, 1, 10]))
    lower, upper = -rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    lower[rng.random(n) < 0.3], upper[rng.random(n) < 0.3] = 0, 0
    extra, kink = np.zeros(n), draw(st.sampled_from([0.0, 0.05, 1.0]))
    if draw(st.booleans()):
        extra = rng.uniform(0.1, 1, n)
        far = rng.random(n) < 0.3
        lower[far], upper[~far & (rng.random(n) < 0.3)] = -np.inf, np.inf
    return K, BoxQP(centre, lower, upper, extra, kink, draw(st.booleans()))


@settings(max_examples=120)
@given(problem=problems(), size=st.integers(2, 9))
def test_random_problems(problem, size):
    K, qp = problem
    state, _ = run(K, qp, tol=1e-7, size=size)
    assert state.status == "converged" and state.violation <= 1e-7
    assert_optimal(K, qp, state.c, 2e-7 * max(np.abs(K).max(), 1))
    best, other = by_scipy(K, qp)
    scale = max(abs(best), 1)
    assume(np.isfinite(best))
    # SciPy's point may be outside by its own tolerance, so it is no better than to that.
    assert value(K, qp, state.c) <= value(K, qp, np.clip(other, qp.lower, qp.upper)) + 1e-5 * scale
    assert value(K, qp, state.c) == pytest.approx(best, abs=1e-4 * scale)


@settings(max_examples=30)
@given(problem=problems(), size=st.integers(2, 9), seed=st.integers(0, 100))
def test_any_feasible_start_leads_to_the_same_value(problem, size, seed):
    K, qp = problem
    wild = 3 * np.random.default_rng(seed).standard_normal(len(K))
    here, _ = run(K, qp, tol=1e-7, size=size)
    there, _ = run(K, qp, tol=1e-7, size=size, start=wild)
    scale = max(abs(value(K, qp, here.c)), 1)
    assert value(K, qp, here.c) == pytest.approx(value(K, qp, there.c), abs=1e-5 * scale)


# -- larger ones ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 4, 7, 16, 60, 200])
@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
@pytest.mark.parametrize("kind", ["hinge", "squared hinge", "tube"])
def test_working_sets_of_every_size(kind, paired, size):
    _, K, qp = svm(60, paired, kind=kind)
    state, _ = run(K, qp, tol=1e-5, size=size)
    assert state.status == "converged"
    assert_optimal(K, qp, state.c, 2e-5)
    # The state that is handed on is consistent.
    assert np.abs(state.g - (K @ state.c + qp.extra * state.c - qp.centre)).max() < 1e-10
    assert len(state.history) >= state.rounds + 1 and state.history[-1] == state.violation


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_every_source_of_values_gives_the_same(kind, paired):
    X, K, qp = svm(90, paired, kind=kind)
    operator = Tiled(threads=1).operator(Gaussian(1.0), X)
    single = Tiled(threads=1).operator(Gaussian(1.0), X.astype(np.float32))
    root = np.linalg.cholesky(K + 1e-12 * np.eye(90))
    sources = {
        "computed": (Computed(operator), 1e-5),
        "cached": (Cached(operator, 20 * 96 * 8), 1e-5),
        "stored": (Stored(Matrix(K)), 1e-5),
        "factored": (Factored(Matrix(root)), 1e-5),
        "single": (Computed(single), 1e-4),
    }
    expected = value(K, qp, run(K, qp, tol=1e-7)[0].c)
    for name, (columns, tol) in sources.items():
        c = feasible(np.zeros(90), qp, 0.0)
        state = State(c, qp.gradient(columns, c))
        minimise(columns, qp, state, tol=tol, max_rounds=10_000, size=20)
        assert state.status == "converged", name
        assert_optimal(K, qp, state.c, 3 * tol)
        assert value(K, qp, state.c) == pytest.approx(expected, abs=20 * tol * np.abs(state.c).sum()), name


# -- rows that sleep --------------------------------------------------------------------------------------


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("every", [1, 2, 5])
def test_rows_at_their_bounds_sleep_and_catch_up(kind, paired, every, monkeypatch):
    monkeypatch.setattr(module, "_SHRINK_EVERY", every)
    X, K, qp = svm(200, paired, C=0.1, kind=kind)
    state, columns = run(K, qp, tol=1e-6, size=10)
    assert min(columns.asked) < 0.8 * 200, "no row ever slept"
    assert state.status == "converged"
    # Sleepers know what happened meanwhile.
    assert np.abs(state.g - (K @ state.c - qp.centre)).max() < 1e-10
    assert_optimal(K, qp, state.c, 2e-6)
    real = Tiled(threads=1).operator(Gaussian(1.0), X)
    again = State(feasible(np.zeros(200), qp, 0.0), -qp.centre.copy())
    minimise(Computed(real), qp, again, tol=1e-6, max_rounds=10_000, size=10)
    assert_optimal(K, qp, again.c, 2e-6)


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
def test_stopped_while_rows_sleep(paired, monkeypatch):
    """The violation that is reported is that of all rows, even if some should not have slept."""
    monkeypatch.setattr(module, "_SHRINK_EVERY", 1)
    monkeypatch.setattr(module, "_held", lambda qp, right, left: np.arange(len(left)) % 3 > 0)
    _, K, qp = svm(200, paired, C=0.1)
    asked = []
    for limit in (0, 1, 2, 3, 5):
        state, columns = run(K, qp, tol=1e-9, size=10, max_rounds=limit)
        assert state.status in ("max_iter", "stalled") and state.rounds <= limit
        g = K @ state.c - qp.centre
        assert np.abs(state.g - g).max() < 1e-10
        assert state.violation == pytest.approx(qp.violation(*qp.slopes(state.c, g)), abs=1e-9)
        asked += columns.asked
    assert min(asked) < 200


def test_sleep_is_not_for_sources_that_gain_nothing(monkeypatch):
    monkeypatch.setattr(module, "_SHRINK_EVERY", 1)

    class Whole(Dense):
        partial = False

    _, K, qp = svm(200, True, C=0.1)
    _, columns = run(K, qp, size=10, source=Whole)
    assert set(columns.asked) == {200}


def test_groups_of_sleepers_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "_SHRINK_EVERY", 1)
    monkeypatch.setattr(module, "_MOST_GROUPS", 1)
    _, K, qp = svm(200, True, C=0.1)
    state, columns = run(K, qp, tol=1e-6, size=10)
    assert_optimal(K, qp, state.c, 2e-6)
    assert len(set(columns.asked)) > 1


# -- small things -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "single"])
def test_a_working_set_has_the_steepest(paired):
    rng = np.random.default_rng(0)
    _, K, qp = svm(50, paired)
    c = np.clip(rng.standard_normal(50), qp.lower, qp.upper)
    g = K @ c - qp.centre
    right, left = qp.slopes(c, g)
    for size in (2, 3, 5, 10, 49):
        for previous in (np.empty(0, np.intp), rng.permutation(50)[:size]):
            chosen = choose(qp, right, left, previous, size)
            assert len(np.unique(chosen)) == len(chosen) <= size
            assert right[chosen].min() == right.min() or not paired
            assert left[chosen].max() == left.max() or not paired
            steepest = np.maximum(-right, left)
            assert steepest[chosen].max() == steepest.max() or paired
    assert np.array_equal(choose(qp, right, left, np.empty(0, np.intp), 50), np.arange(50))


def test_nothing_moves_means_stalled():
    """A tolerance below rounding can't be reached, and is not tried for ever."""
    for source in (Dense, lambda K: Stored(Matrix(K))):
        _, K, qp = svm(60, True, C=1.0)
        state, _ = run(K, qp, tol=1e-300, size=60, max_rounds=50, source=source)
        assert state.status in ("stalled", "max_iter") and state.rounds <= 50
        assert 0 < state.violation < 1e-12
        assert_optimal(K, qp, state.c, 1e-12)


def test_no_coordinates():
    qp = BoxQP(*(np.zeros(0) for _ in range(4)), 0.0, True)
    state = minimise(
        Stored(Matrix(np.zeros((0, 0)))), qp, State(np.zeros(0), np.zeros(0)), tol=1e-3, max_rounds=5, size=4
    )
    assert state.status == "converged" and state.rounds == 0


@settings(max_examples=60)
@given(
    n=st.integers(1, 8),
    seed=st.integers(0, 2**32 - 1),
    share=st.floats(0, 1),
    infinite=st.booleans(),
)
def test_feasible_points(n, seed, share, infinite):
    rng = np.random.default_rng(seed)
    lower, upper = -rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    total = float(lower.sum() + share * (upper - lower).sum())
    if infinite:
        upper[0] = np.inf
    qp = BoxQP(np.zeros(n), lower, upper, np.zeros(n), 0.0, True)
    c = feasible(3 * rng.standard_normal(n), qp, total)
    assert (c >= lower - 1e-12).all() and (c <= upper + 1e-12).all()
    assert c.sum() == pytest.approx(total, abs=1e-9)
    inside = np.clip(rng.standard_normal(n), lower, upper)
    assert np.allclose(feasible(inside, qp, float(inside.sum())), inside)


def test_what_is_not_feasible_is_refused():
    qp = BoxQP(np.zeros(3), np.zeros(3), np.ones(3), np.zeros(3), 0.0, True)
    with pytest.raises(ValueError, match="no coefficients within their bounds add up to 4"):
        feasible(np.zeros(3), qp, 4.0)
    free = BoxQP(np.zeros(3), np.zeros(3), np.ones(3), np.zeros(3), 0.0, False)
    assert np.array_equal(feasible(np.array([2.0, -1, 0.5]), free, 99.0), [1, 0, 0.5])
