"""lam="auto": what it chooses, what may not influence it, and where it works."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC, KernelSVR
from mercer.estimators import auto_lam
from mercer.kernels import FunctionKernel, Gaussian, Linear, Precomputed
from mercer.losses import Huber, Quantile
from mercer.representations import Features, Lasso, Nystrom
from mercer.selection import path
from mercer.solvers.loo import FactoredErrors, residuals, spectral_errors

RNG = np.random.default_rng(16)
X = RNG.standard_normal((160, 3))
F = np.sin(2 * X[:, 0]) + X[:, 1]
Y = F + 0.3 * RNG.standard_normal(160)
LABELS = np.where(Y > 0, "b", "a")
MACHINES = [
    (KernelRidge(offset=False), Y),
    (KernelRidge(offset=True), np.column_stack([Y, -2 * Y])),
    (KernelRegressor(loss=Huber(0.5), offset=False), Y),
    (KernelRegressor(loss="absolute", offset=True), Y),
    (KernelRegressor(loss=Quantile([0.1, 0.9]), offset=True), Y),
    (KernelClassifier(loss="squared", offset=False), LABELS),
    (KernelClassifier(loss="squared_hinge", class_weight="balanced", offset=False), LABELS),
    (KernelLogistic(offset=True), LABELS),
    (KernelLogistic(offset=False), np.digitize(Y, [-0.5, 0.5])),
    (KernelSVC(), LABELS),
    (KernelSVC(), np.digitize(Y, [-0.5, 0.5])),
    (KernelSVR(), Y),
]


def known_by(machine):
    return f"{type(machine).__name__}-{getattr(machine, 'loss', '')}"


@pytest.mark.parametrize(
    ("machine", "y"), MACHINES, ids=[f"{known_by(m)}-{i}" for i, (m, _) in enumerate(MACHINES)]
)
def test_every_machine_chooses_by_default(machine, y):
    assert machine.lam == "auto"
    fitted = clone(machine).fit(X, y)
    assert isinstance(fitted.lam_, float) and 0 < fitted.lam_ < np.inf
    assert f"lam = {fitted.lam_:.3g}" in fitted.plan_.reasons[-1]
    assert "lam = 'auto'" in clone(machine).plan(X, y).reasons[-1]
    # The same again, and the same machine as with that λ given.
    same = clone(machine).set_params(lam=fitted.lam_).fit(X, y)
    assert clone(machine).fit(X, y).lam_ == fitted.lam_
    assert np.array_equal(same.predict(X), fitted.predict(X))


def test_ridge_takes_the_least_leave_one_out_error_or_a_larger_lam_that_can_not_be_told_from_it():
    machine = KernelRidge(Gaussian(1.0), offset=True)
    chosen = clone(machine).fit(X, Y).lam_
    lams = auto_lam._GRID
    found = path(machine, X, Y, lams)
    assert np.isclose(lams, chosen, rtol=1e-12).any() and chosen >= found.best_lam
    at = found.loo_residuals[np.argmin(np.abs(lams - chosen))] ** 2 - found.loo_residuals[found.best] ** 2
    assert at.mean() <= 0.5 * at.std() / np.sqrt(len(Y))
    # The next larger one can be told.
    above = (
        found.loo_residuals[np.argmin(np.abs(lams - chosen)) - 1] ** 2 - found.loo_residuals[found.best] ** 2
    )
    assert above.mean() > 0.5 * above.std() / np.sqrt(len(Y))


@pytest.mark.parametrize("machine", [KernelRidge(offset=False), KernelSVC()], ids=known_by)
def test_defaults_follow_the_number_of_examples(machine):
    """The reason for "auto": with a fixed λ more examples hardly helped."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-2, 2, (1500, 3))
    y = np.sin(3 * points[:, 0]) + points[:, 1] * points[:, 2] + 0.2 * rng.standard_normal(1500)
    y = y if isinstance(machine, KernelRidge) else y > 0
    some, rest = slice(0, 800), slice(800, None)
    auto = clone(machine).fit(points[some], y[some]).score(points[rest], y[rest])
    for fixed in (1e-3, 1 / 800):  # the old default; scikit-learn's alpha
        alone = clone(machine).set_params(lam=fixed).fit(points[some], y[some]).score(points[rest], y[rest])
        assert auto > alone + 0.02


@pytest.mark.parametrize(
    "machine", [KernelRidge(offset=False), KernelSVR(), KernelLogistic(offset=False)], ids=known_by
)
def test_weights(machine):
    """Weight 0 is absence, an integer weight is repetition, and the order of rows is nothing."""
    y = LABELS if isinstance(machine, KernelLogistic) else Y
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(X)), counts))
    kept = counts > 0
    machine = machine.set_params(kernel=Gaussian(1.5))
    by_weight = clone(machine).fit(X, y, counts).lam_
    assert clone(machine).fit(X[rows], y[rows]).lam_ == pytest.approx(by_weight, rel=1e-12)
    assert clone(machine).fit(X[kept], y[kept], counts[kept]).lam_ == pytest.approx(by_weight, rel=1e-12)
    assert clone(machine).fit(X[kept], y[kept], 10.0 * counts[kept]).lam_ == pytest.approx(
        by_weight, rel=1e-12
    )


@pytest.mark.parametrize(
    "machine",
    [KernelRidge(Gaussian(0.5), offset=False), KernelRegressor(Gaussian(0.5), loss=Huber(1.0), offset=False)],
)
def test_repeated_rows_do_not_vouch_for_each_other(machine):
    """Noise that is repeated can be predicted from its copies, and has nothing to say about other points."""
    rng = np.random.default_rng(3)
    points, noise = (np.repeat(rng.standard_normal(s), 4, axis=0) for s in ((150, 2), 150))
    fitted = clone(machine).fit(points, noise)
    assert "450 of the 600 rows repeat another" in fitted.plan_.reasons[-1]
    assert np.std(fitted.predict(rng.standard_normal((300, 2)))) < 0.2  # f is nearly 0
    if isinstance(machine, KernelRidge):
        assert path(machine, points, noise).best_lam > 0.1  # where copies are left out together


@pytest.mark.parametrize(
    ("kernel", "points"),
    [
        (Precomputed(), Gaussian(1.0)(X)),
        (Linear(), csr_matrix(np.where(X > 1, X, 0))),
        (
            FunctionKernel(lambda a, b: float(len(set(a) & set(b)))),
            ["abc"[: 1 + i % 3] + str(i % 50) for i in range(160)],
        ),
        (Gaussian(), X.astype(np.float32)),
    ],
    ids=["precomputed", "sparse", "objects", "float32"],
)
def test_any_kind_of_points(kernel, points):
    for machine, y in ((KernelRidge(kernel, offset=False), Y), (KernelSVC(kernel), LABELS)):
        fitted = machine.fit(points, y)
        assert fitted.lam_ > 0 and np.isfinite(fitted.solution_.coef).all()


@pytest.mark.parametrize(
    "representation", [Nystrom(n_centres=20), Features(n_features=30), Lasso(n_features=30)]
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_any_representation(representation, loss):
    y = LABELS if loss == "logistic" else Y
    kind = KernelClassifier if loss == "logistic" else KernelRegressor
    fitted = kind(Gaussian(1.5), loss=loss, representation=representation, random_state=0).fit(X, y)
    # What is shrunk to nothing, or not at all, would not predict.
    assert fitted.score(X, y) > 0.5 and fitted.lam_ > 0


@pytest.mark.parametrize("n", [1, 2, 3, 9, 12])
def test_few_examples_and_constant_targets(n):
    few = X[:n]
    for y in (Y[:n], np.zeros(n), np.full(n, 5.0)):
        for machine in (
            KernelRidge(offset=False),
            KernelRidge(offset=True),
            KernelSVR(),
            KernelRegressor(loss=Huber(), offset=False),
        ):
            fitted = clone(machine).fit(few, y)
            assert 0 < fitted.lam_ < np.inf and np.isfinite(fitted.predict(few)).all()
    if n < 9:
        assert KernelRidge(Gaussian(1.0), offset=False).fit(few, Y[:n]).lam_ == pytest.approx(
            1 / n
        )  # alpha = 1
    if n > 1:
        ones = KernelSVC(Gaussian(1.0)).fit(few, np.arange(n) % 2)
        assert ones.lam_ == pytest.approx(1 / (2 * n))  # C = 1


def test_units_do_not_matter():
    """A kernel times a constant has λ times that constant; y in other units the same λ, or C in those."""
    for machine in (KernelRidge(Gaussian(1.0), offset=False), KernelSVR(Gaussian(1.0), epsilon=0.1)):
        lam = clone(machine).fit(X, Y).lam_
        assert clone(machine).set_params(kernel=9.0 * Gaussian(1.0)).fit(X, Y).lam_ == pytest.approx(9 * lam)
    assert KernelRidge(Gaussian(1.0), offset=False).fit(X, 1e6 * Y).lam_ == pytest.approx(
        KernelRidge(Gaussian(1.0), offset=False).fit(X, Y).lam_
    )
    plain, large = KernelSVR(Gaussian(1.0), epsilon=0.1), KernelSVR(Gaussian(1.0), epsilon=1e5)
    assert large.fit(X, 1e6 * Y).lam_ == pytest.approx(plain.fit(X, Y).lam_ / 1e6)


def test_numbers_and_grids_as_before():
    grid = GridSearchCV(KernelRidge(offset=False), {"lam": [1e-4, 1e-2, "auto"]}, cv=3).fit(X, Y)
    assert len(grid.cv_results_["params"]) == 3 and grid.best_estimator_.lam_ > 0
    assert KernelRidge.from_alpha(2.0, offset=False).fit(X, Y).lam_ == 2.0 / len(X)
    assert KernelSVC.from_C(2.0).fit(X, LABELS).lam_ == pytest.approx(1 / (4 * len(X)))
    with pytest.raises(ValueError, match="lam must be a positive number, got 'best'.*lam='auto'"):
        KernelRidge(lam="best", offset=False).fit(X, Y)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_of_many(offset, weighted, monkeypatch):
    """One factor, or one small spectrum, for λn the same throughout: against n refits' closed form."""
    w = np.random.default_rng(4).integers(1, 4, len(X)) if weighted else None
    for machine in (KernelRidge(Gaussian(1.0), offset=offset), KernelRidge(Linear(), offset=offset)):
        problem, _ = machine.set_params(lam=1.0).problem(X, np.column_stack([Y, F]), w)
        weights = np.ones(len(X)) if w is None else problem.weights
        lams = np.array([1e-3, 1e-1])
        exact = (residuals(problem, lams) ** 2).mean(axis=2) * weights
        if problem.full:
            found = np.array([FactoredErrors(problem)(lam) for lam in lams])
        else:
            found = spectral_errors(problem, lams)
        # λ(n − w_i) there, λn here
        assert np.allclose(found, exact, rtol=0.05, atol=1e-3 * exact.mean())


def test_many_examples_choose_nearly_what_all_of_them_would(monkeypatch):
    exact = {
        n: KernelRidge(Gaussian(1.0), representation=r, offset=False).fit(X, Y).lam_
        for n, r in enumerate(("full", Nystrom(n_centres=159)))
    }
    monkeypatch.setattr(auto_lam, "_SPECTRUM", 60)
    monkeypatch.setattr(auto_lam, "_START", 50)
    for n, r in enumerate(("full", Nystrom(n_centres=159))):
        fitted = KernelRidge(Gaussian(1.0), representation=r, random_state=0, offset=False).fit(X, Y)
        assert abs(np.log(fitted.lam_ / exact[n])) < np.log(8)


def test_few_points_with_many_rows_count_their_rows():
    """With too few points to choose by, C and alpha are 1, as in scikit-learn: of all rows, or weights."""
    points, y = np.repeat(X[:6], 50, axis=0), np.tile(np.arange(6) % 2, 50)
    for machine, lam in (
        (KernelRidge(Gaussian(1.0), offset=False), 1 / 300),
        (KernelSVC(Gaussian(1.0)), 1 / 600),
    ):
        repeated = clone(machine).fit(points, y)
        weighed = clone(machine).fit(X[:6], np.arange(6) % 2, np.full(6, 50.0))
        assert repeated.lam_ == pytest.approx(lam) and weighed.lam_ == pytest.approx(lam)


def test_single_precision_can_not_tell_the_smallest_lam(monkeypatch):
    """Noiseless targets want no λ at all; float32 kernel values are rounded to 1e-7 of k(x,x)."""
    monkeypatch.setattr("mercer.representations.base.SMALL", 0)  # such are computed in float64
    # One coefficient per example is always computed in float64 on the CPU; centres are not.
    machine = KernelRidge(Gaussian(3.0), representation=Nystrom(len(X)), offset=False, random_state=0)
    double = clone(machine).fit(X, X[:, 0])
    single = clone(machine).fit(X.astype(np.float32), X[:, 0])
    assert double.lam_ < single.lam_ == pytest.approx(np.finfo(np.float32).eps)
    assert "the rounding of float32" in single.plan_.reasons[-1]
