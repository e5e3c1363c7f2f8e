"""Every loss on rows that live elsewhere, against the machine in memory with the same centres or features."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.base import clone

import mercer.representations.base
from mercer import (
    FromAlpha,
    FromC,
    KernelClassifier,
    KernelLogistic,
    KernelRegressor,
    KernelRidge,
    KernelSVC,
    KernelSVR,
)
from mercer.features import RandomFourierFeatures
from mercer.kernels import Gaussian, Linear
from mercer.losses import (
    Absolute,
    Exponential,
    FunctionLoss,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    SquaredHinge,
)
from mercer.operators import Matrix
from mercer.representations import Features, Nystrom
from mercer.rows import ArrayRows
from mercer.solvers import Passes
from mercer.solvers.passes import minimise

pytestmark = pytest.mark.usefixtures("small_samples")

rng = np.random.default_rng(0)
n = 300
X = rng.uniform(-2, 2, (n, 2))
t = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)
two, three = np.where(t > 0, "b", "a"), np.digitize(t, [-0.7, 0.7])
counts = rng.poisson(np.exp(0.5 * t)).astype(float)
w = rng.integers(0, 3, n).astype(float)
nystrom = Nystrom(centres=X[:12])
features = Features(RandomFourierFeatures(n_features=24, random_state=0))


def quartic(y, s):
    return (y - s) ** 2 + 0.1 * (y - s) ** 4


def quartic_slope(y, s):
    return -2 * (y - s) - 0.4 * (y - s) ** 3


def quartic_bend(y, s):
    return 2 + 1.2 * (y - s) ** 2


def welsch(y, s):
    return 1 - np.exp(-((y - s) ** 2))


SMOOTH = {
    "ridge": (KernelRidge(), t),
    "no offset": (KernelRidge(offset=False), t),
    "targets": (KernelRidge(), np.stack([t, counts], axis=1)),
    "huber": (KernelRegressor(loss=Huber(0.3)), t),
    "poisson": (KernelRegressor(loss=Poisson()), counts),
    "logistic": (KernelLogistic(), two),
    "multinomial": (KernelLogistic(class_weight="balanced"), three),
    "one against the rest": (KernelClassifier(loss=Logistic()), three),
    "squared hinge": (KernelClassifier(loss=SquaredHinge(), class_weight={"a": 3.0}), two),
    "exponential": (KernelClassifier(loss=Exponential(), offset=False), two),
    "own": (KernelRegressor(loss=FunctionLoss(quartic, quartic_slope, quartic_bend)), t),
}
KINKED = {
    "absolute": (KernelRegressor(loss=Absolute()), t),
    "no offset": (KernelRegressor(loss=Absolute(), offset=False), t),
    "tube": (KernelSVR(epsilon=0.1), t),
    "quantiles": (KernelRegressor(loss=Quantile((0.1, 0.5, 0.9))), t),
    "hinge": (KernelSVC(), two),
    "pairs": (KernelSVC(class_weight="balanced"), three),
    "rest": (KernelSVC(multiclass="ovr", offset=False), three),
    "machine": (KernelClassifier(loss=Hinge()), three),
}


def both(machine, X, y, w=None, lam=1e-3, representation=nystrom, kernel=None, solver="auto"):
    """(fitted where the rows are, in five shards; fitted in memory)"""
    kernel = Gaussian(1.0) if kernel is None else kernel
    params = {"kernel": kernel, "lam": lam, "representation": representation, "random_state": 1}
    one, other = (clone(machine).set_params(**params) for _ in range(2))
    one.set_params(solver=Passes() if solver == "auto" else solver)
    return one.fit(ArrayRows(X, y, w, rows=70)), other.fit(X, y, w)


def apart(one, other, X=X):
    s = other.scores(X)
    return float(np.abs(one.scores(X) - s).max() / np.abs(s).max())


@pytest.mark.parametrize(
    "representation, weights", [(nystrom, None), (features, w)], ids=["nystrom", "features"]
)
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth(name, representation, weights):
    machine, y = SMOOTH[name]
    one, other = both(machine, X, y, weights, representation=representation)
    assert one.solution_.status == "converged" and one.solution_.solver == "passes"
    assert apart(one, other) < 1e-6
    objective = other.solution_.certificate.objective
    assert one.solution_.certificate.objective == pytest.approx(objective, rel=1e-12)
    if y.dtype.kind != "f":
        assert np.array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("name", KINKED)
def test_kinks(name):
    machine, y = KINKED[name]
    representation = features if name in ("hinge", "absolute") else nystrom
    one, other = both(
        machine, X, y, w if name in ("tube", "pairs", "absolute") else None, 1e-3, representation
    )
    ours, theirs = one.solution_.certificate, other.solution_.certificate
    assert one.solution_.status == "converged" and ours.gap <= 1.01e-4 * ours.objective
    # In memory the minimum is between objective and objective − gap.
    assert theirs.objective - theirs.gap <= ours.objective + 1e-12
    assert ours.objective - ours.gap <= theirs.objective + 1e-12
    # λ‖f − f*‖² is no more than what the objective has too much, and |f(x)| ≤ ‖f‖ where k(x,x) = 1.
    f, g = one.function_, other.function_
    if not machine.offset:
        far = np.asarray((f - g) @ (f - g)).sum()
        assert one.lam_ * far <= 2 * (ours.gap + theirs.gap)


def test_float32():
    for machine, y, tol in (
        (KernelRidge(), t, 1e-5),
        (KernelLogistic(), three, 1e-4),
        (KernelSVC(), two, 0.02),
    ):
        one, other = both(machine, X.astype(np.float32), y)
        assert one.solution_.status == "converged" and apart(one, other) < tol
        assert one.predict(X.astype(np.float32)[:1]).dtype == other.predict(X.astype(np.float32)[:1]).dtype


def bound_by_a_linear_programme(K, y, lower, upper, tilt):
    """min over c and b of the mean of max(lower·r, upper·r), r = y − Kc − b, plus ⟨tilt, c⟩."""
    n = len(y)
    cost = np.concatenate([tilt, [0.0], np.full(n, 1 / n)])  # one ξ ≥ lower·r, upper·r an example
    K = np.column_stack([K, np.ones(n)])
    sides = np.vstack([np.hstack([-slope[:, None] * K, -np.eye(n)]) for slope in (lower, upper)])
    return linprog(cost, sides, np.concatenate([-lower * y, -upper * y]), bounds=(None, None)).fun


@pytest.mark.parametrize("machine, y", [(KernelSVC(), two), (KernelRegressor(loss=Quantile(0.9)), t)])
def test_kinks_in_float32_with_a_small_penalty(machine, y, monkeypatch):
    """What only rounding leaves open is "converged"; what is claimed is true of the problem in float64.

    cᵀBc lies above its tangents, so a linear programme bounds the minimum from below.
    """
    monkeypatch.setattr(mercer.representations.base, "SMALL", 0)  # as with problems too large for float64
    P, lam = X.astype(np.float32), 1e-9
    one = clone(machine).set_params(kernel=Gaussian(1.0), representation=Nystrom(centres=P[:12]), lam=lam)
    one.fit(ArrayRows(P, y, rows=70))
    ours, c = one.solution_.certificate, one.solution_.coef[:, 0]
    assert one.function_.points.dtype == np.float32 and one.solution_.status == "converged"
    assert ours.gap - ours.rounding > 1e-4 * ours.objective  # more than was asked for, were it not rounding
    K, B = Gaussian(1.0)(P.astype(float), P[:12].astype(float)), Gaussian(1.0)(P[:12].astype(float))
    centre = t if y is t else np.where(two == "b", 1.0, -1.0)
    lower, upper = (
        np.full((2, n), [[-0.1], [0.9]]) if y is t else np.clip([centre, centre], [[-1], [0]], [[0], [1]])
    )
    r = centre - K @ c - one.solution_.intercept[0]
    objective = np.maximum(lower * r, upper * r).mean() + lam * c @ B @ c
    bound = bound_by_a_linear_programme(K, centre, lower, upper, 2 * lam * B @ c) - lam * c @ B @ c
    assert abs(objective - ours.objective) <= ours.rounding
    assert bound <= objective + 1e-12 and objective - bound <= ours.gap


@pytest.mark.parametrize("name", ["ridge", "logistic", "hinge"])
def test_features_kept_in_float32(name, monkeypatch):
    """They make steps only: the solution is the same, and no more of them are needed."""
    machine, y = {"ridge": SMOOTH["ridge"], "logistic": SMOOTH["logistic"], "hinge": (KernelSVC(), two)}[name]
    machine = clone(machine).set_params(
        kernel=Gaussian(1.0), lam=1e-6, representation=nystrom, random_state=0
    )
    exact = clone(machine).fit(ArrayRows(X, y, rows=70))
    seen, product = set(), Matrix.__matmul__

    def noting(self, V):
        seen.add(self.dtype)
        return product(self, V)

    monkeypatch.setattr(minimise, "_MOST_DOUBLES", 0)
    monkeypatch.setattr(Matrix, "__matmul__", noting)
    single = clone(machine).fit(ArrayRows(X, y, rows=70))
    assert np.dtype(np.float32) in seen and single.solution_.status == "converged"
    assert single.solution_.iterations <= exact.solution_.iterations + 1
    tol = 1e-4 if name == "hinge" else 1e-8
    found, right = (m.solution_.certificate for m in (single, exact))
    assert abs(found.objective - right.objective) <= tol * right.objective
    assert found.gap <= max(10 * tol * right.objective, 10 * right.gap)


def test_far_from_zero():
    """Points and targets with a large mean; rows that are repeated."""
    far = np.repeat(X[:100], 3, axis=0) + 1e4
    y = np.repeat(t[:100], 3) + 1e4
    one, other = both(KernelRidge(), far, y, representation=Nystrom(centres=far[:30:3]))
    assert one.solution_.status == "converged" and np.abs(one.predict(far) - other.predict(far)).max() < 1e-6
    single = KernelRidge(Gaussian(1.0), lam=1e-3, representation=Nystrom(centres=far[:30:3]))
    single.fit(far[::3], y[::3])
    assert np.abs(one.predict(far) - single.predict(far)).max() < 1e-6
    one, other = both(KernelSVR(epsilon=0.1), far, y, representation=Nystrom(centres=far[:30:3]))
    gaps = one.solution_.certificate.gap + other.solution_.certificate.gap
    objectives = [m.solution_.certificate.objective for m in (one, other)]
    assert one.solution_.status == "converged" and abs(np.subtract(*objectives)) <= gaps


@pytest.mark.parametrize("where", ["rows", "memory"])
def test_quantiles_of_targets_far_from_zero(where):
    """The offset is known to 1e-8 of itself: slopes then add up to 0 no better, and the gap closes still."""
    y = t + 1e8
    near = KernelRegressor(Gaussian(1.0), loss=Quantile(0.9), lam=1e-4, representation=nystrom)
    far = clone(near)
    near.fit(X, y - 1e8)
    far.fit(*((ArrayRows(X, y, rows=70),) if where == "rows" else (X, y)))
    ours, theirs = (m.solution_.certificate for m in (far, near))
    assert far.solution_.status == "converged" and ours.gap <= 1.01e-4 * ours.objective
    assert theirs.objective - theirs.gap <= ours.objective + ours.rounding
    assert ours.objective - ours.gap <= theirs.objective


@pytest.mark.parametrize("machine, y", [(KernelRidge(), t), (KernelLogistic(), three), (KernelSVC(), two)])
def test_weights_are_repetition(machine, y):
    kinks = isinstance(machine, KernelSVC)
    some = np.repeat(np.arange(n), w.astype(int))
    solver = Passes(tol=1e-6) if kinks else "auto"
    one, _ = both(machine, X, y, w, FromAlpha(0.3), solver=solver)
    other, _ = both(machine, X[some], y[some], None, FromAlpha(0.3), solver=solver)
    assert one.lam_ == pytest.approx(0.3 / w.sum()) and one.lam_ == pytest.approx(other.lam_)
    certificates = [m.solution_.certificate for m in (one, other)]
    objectives = [c.objective for c in certificates]
    if kinks:
        assert abs(np.subtract(*objectives)) <= sum(c.gap for c in certificates)
    else:
        assert apart(one, other) < 1e-6 and objectives[0] == pytest.approx(objectives[1], rel=1e-10)


def test_weight_0_is_absent():
    """… even with a label, or a target, that nobody else has."""
    y, weights = three.copy(), np.ones(n)
    y[:40], weights[:40] = 9, 0
    one, other = both(KernelLogistic(), X, y, weights)
    assert one.classes_.tolist() == [0, 1, 2] and apart(one, other) < 1e-6
    values = t.copy()
    values[:40] = 1e6
    one, other = both(KernelRidge(), X, values, weights)
    assert apart(one, other) < 1e-6
    one, _ = both(KernelSVR(), X, values, weights)
    assert one.solution_.status == "converged"


def test_lam():
    one, other = both(KernelSVC(), X, two, lam=FromC(2.0))
    assert one.lam_ == other.lam_ == pytest.approx(1 / (2 * 2.0 * n))
    one, other = both(KernelLogistic(class_weight="balanced"), X, three, w, FromAlpha(0.1))
    assert one.lam_ == pytest.approx(other.lam_) and apart(one, other) < 1e-6
    one, other = both(KernelRidge(), X, t, lam="auto")
    # From a sample of a fifth: λn stays about the same.
    assert other.lam_ / 30 < one.lam_ < 30 * other.lam_
    assert any(f"{n:,} rows; of a sample" in reason for reason in one.plan_.reasons)


def test_not_convex():
    machine = KernelRegressor(loss=FunctionLoss(welsch, convex=False))
    one, _ = both(machine, X[:120], t[:120], lam=1e-2)
    assert one.solution_.status == "stationary" and one.solution_.certificate.gap is None
    # Its gradient is that of finite differences, which vanishes.
    c = np.append(one.dual_coef_, one.intercept_)
    K, B = Gaussian(1.0)(X[:120], X[:12]), Gaussian(1.0)(X[:12], X[:12])

    def objective(c):
        return welsch(t[:120], K @ c[:-1] + c[-1]).mean() + 1e-2 * c[:-1] @ B @ c[:-1]

    for step in 1e-4 * np.eye(13):
        assert abs(objective(c + step) - objective(c - step)) < 1e-9


def test_linear_kernel_has_features_of_its_own():
    """As many as columns: least squares with an offset, whose solution is known."""
    machine = KernelRidge(Linear(), lam=0.1, random_state=0).fit(ArrayRows(X + 5, t, rows=70))
    Xc = X - X.mean(axis=0)
    beta = np.linalg.solve(Xc.T @ Xc / n + 0.1 * np.eye(2), Xc.T @ (t - t.mean()) / n)
    assert np.allclose(machine.predict(X + 5), Xc @ beta + t.mean(), atol=1e-8)


def test_max_iter():
    with pytest.warns(UserWarning, match="max_iter"):
        one, _ = both(KernelLogistic(), X, two, solver=Passes(max_iter=3))
    assert one.solution_.status == "max_iter"


def test_few_rows():
    """Fewer than centres, one shard each; the same point only; one centre."""
    for rows in (1, 5):
        machine = KernelRidge(Gaussian(1.0), lam=1e-2, representation=nystrom).fit(
            ArrayRows(X[:5], t[:5], rows=rows)
        )
        other = KernelRidge(Gaussian(1.0), lam=1e-2, representation=nystrom).fit(X[:5], t[:5])
        assert apart(machine, other) < 1e-6
    same = np.zeros((100, 2))
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, random_state=0).fit(ArrayRows(same, t[:100], rows=30))
    assert machine.predict(same[:1]) == pytest.approx(t[:100].mean())
    svm = KernelSVC(Gaussian(1.0), lam=1e-2, representation=nystrom).fit(ArrayRows(same, two[:100], rows=30))
    assert svm.predict(same[:1])[0] == max("ab", key=two[:100].tolist().count)


def test_examples_in_memory_are_one_shard():
    for machine, y in ((KernelRidge(), t), (KernelLogistic(), three)):
        one, _ = both(machine, X, y)
        params = {"kernel": Gaussian(1.0), "lam": 1e-3, "representation": nystrom, "solver": Passes()}
        other = clone(machine).set_params(**params).fit(X, y)
        assert other.solution_.status == "converged" and apart(one, other) < 1e-6


def test_size_of_a_sample(monkeypatch):
    assert minimise.sampled_examples(1000, 30) == 90
    assert minimise.sampled_examples(1000, 2) == 60
    assert minimise.sampled_examples(50, 30) == 50


def test_more_examples_near_kinks_than_a_window_takes(monkeypatch):
    """Several quantiles with windows of 60 examples for each unknown, of thousands near their kinks."""
    monkeypatch.setattr(minimise, "_SAMPLED", 60)
    monkeypatch.setattr(minimise, "windowed_examples", lambda unknowns: 60 * unknowns)
    draw = np.random.default_rng(0)
    P = draw.standard_normal((6000, 2))
    y = np.sin(2 * P[:, 0]) + P[:, 1] + 0.3 * draw.standard_normal(6000)
    loss = Quantile((0.1, 0.5, 0.9))
    one, other = both(KernelRegressor(loss=loss), P, y, lam=1e-5, representation=Nystrom(centres=P[:15]))
    ours, theirs = one.solution_.certificate, other.solution_.certificate
    assert one.solution_.status == "converged" and one.solution_.iterations <= 20
    assert theirs.objective - theirs.gap <= ours.objective and ours.objective - ours.gap <= theirs.objective
