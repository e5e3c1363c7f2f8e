"""Kernel ridge regression, against scikit-learn and against linear algebra."""

import pickle

import numpy as np
import pytest
import scipy.linalg
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.linear_model import Ridge

from mercer import KernelRidge
from mercer.kernels import (
    ArcCosine,
    ChiSquared,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from mercer.representations import Nystrom
from mercer.solvers import CG, ConvergenceWarning
from oracles import gaussian

DIABETES = load_diabetes(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
RNG = np.random.default_rng(0)


def peer(X, y, alpha, kernel="rbf", w=None, **parameters):
    return SklearnKernelRidge(alpha=alpha, kernel=kernel, **parameters).fit(X, y, sample_weight=w)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [1e-2, 1e-5])
def test_equals_scikit_learn_on_diabetes(lam, weighted):
    """alpha = λn; with weights alpha = λ Σw."""
    X, y = DIABETES
    w = np.random.default_rng(1).uniform(0, 3, len(y)) if weighted else None
    total = len(y) if w is None else w.sum()
    ours = KernelRidge(Gaussian(0.2), lam=lam, representation="full", offset=False).fit(X, y, w)
    theirs = peer(X, y, lam * total, gamma=1 / (2 * 0.2**2), w=w)
    new = X[::3] + 0.01
    for points in (X, new):
        expected = theirs.predict(points)
        assert np.abs(ours.predict(points) - expected).max() < 1e-8 * np.abs(expected).max()
    assert np.abs(ours.dual_coef_ - theirs.dual_coef_).max() < 1e-8 * np.abs(theirs.dual_coef_).max()


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn_on_digits(weighted):
    """Ten targets at once."""
    X, labels = DIGITS
    X, Y = X[:1200] / 16, np.eye(10)[labels[:1200]]
    w = np.random.default_rng(1).uniform(0, 3, 1200) if weighted else None
    total = 1200 if w is None else w.sum()
    ours = KernelRidge(Gaussian(1.5), lam=1e-6, offset=False).fit(X, Y, w)
    theirs = peer(X, Y, 1e-6 * total, gamma=1 / (2 * 1.5**2), w=w)
    assert ours.dual_coef_.shape == (1200, 10)
    assert np.abs(ours.predict(X) - theirs.predict(X)).max() < 1e-8


@pytest.mark.parametrize(
    "ours, name, parameters",
    [
        (Linear(), "linear", {}),
        (Polynomial(degree=3, c=2.0), "polynomial", {"degree": 3, "gamma": 1.0, "coef0": 2.0}),
        (Laplacian(0.5, norm="l1"), "laplacian", {"gamma": 2.0}),
    ],
    ids=["linear", "polynomial", "laplacian"],
)
@pytest.mark.parametrize("representation", ["full", "auto"])
def test_other_kernels_equal_scikit_learns(ours, name, parameters, representation):
    X, y = DIABETES
    found = KernelRidge(ours, lam=1e-3, representation=representation, offset=False).fit(X, y).predict(X)
    expected = peer(X, y, 1e-3 * len(y), name, **parameters).predict(X)
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()


KERNELS = [Matern(1.5, 0.7), RationalQuadratic(1.0), ArcCosine(), ChiSquared(), Gaussian(1.0) * Linear() + 1]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("offset", [False, True])
def test_solves_the_linear_system(kernel, offset):
    """(K + λnI)c + b1 = y, 1ᵀc = 0, by SciPy on the whole matrix."""
    X = RNG.uniform(0.1, 1, (80, 4))
    y = np.sin(4 * X[:, 0]) + 5
    K = kernel.resolve(X)(X)
    M = K + 1e-3 * 80 * np.eye(80)
    machine = KernelRidge(kernel, lam=1e-3, offset=offset).fit(X, y)
    if offset:
        bordered = np.block([[M, np.ones((80, 1))], [np.ones((1, 80)), np.zeros((1, 1))]])
        solved = scipy.linalg.solve(bordered, np.append(y, 0), assume_a="sym")
        c, b = solved[:-1], solved[-1]
        assert machine.intercept_ == pytest.approx(b, rel=1e-8)
    else:
        c, b = scipy.linalg.solve(M, y, assume_a="pos"), 0.0
        assert machine.intercept_ == 0.0
    assert np.abs(machine.dual_coef_ - c).max() < 1e-8 * np.abs(c).max()
    assert np.abs(machine.predict(X) - K @ c - b).max() < 1e-8


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("n, p, where", [(200, 10, "features"), (30, 30, "full"), (20, 60, "full")])
def test_linear_kernel_is_ridge_regression(n, p, where, offset):
    """Primal if there are fewer features than examples, dual otherwise; the same function."""
    X = RNG.standard_normal((n, p))
    Y = X[:, :2] @ [[1.0, 2.0], [0.0, -1.0]] + RNG.standard_normal((n, 2)) + 3
    w = RNG.uniform(0, 2, n)
    machine = KernelRidge(Linear(), lam=0.05, offset=offset).fit(X, Y, w)
    assert machine.plan_.representation.name == where
    theirs = Ridge(alpha=0.05 * w.sum(), fit_intercept=offset).fit(X, Y, w)
    assert np.abs(machine.predict(X) - theirs.predict(X)).max() < 1e-8
    if where == "features":
        assert np.abs(machine.coef_ - theirs.coef_).max() < 1e-8
        if offset:
            assert np.abs(machine.intercept_ - theirs.intercept_).max() < 1e-8


def test_from_alpha():
    X, y = DIABETES
    ours = KernelRidge.from_alpha(0.7, kernel=Gaussian(0.2), offset=False).fit(X, y)
    assert np.allclose(ours.predict(X), peer(X, y, 0.7, gamma=1 / (2 * 0.2**2)).predict(X), rtol=1e-8)


def test_integer_weights_are_repeated_rows():
    X, y = RNG.standard_normal((30, 2)), RNG.standard_normal(30)
    times = np.arange(30) % 3
    weighted = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False).fit(X, y, times)
    repeated = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert np.abs(weighted.predict(X) - repeated.predict(X)).max() < 1e-9


def test_the_scale_of_weights_does_not_matter():
    X, y, w = RNG.standard_normal((30, 2)), RNG.standard_normal(30), RNG.uniform(1, 2, 30)
    a, b = (KernelRidge(Gaussian(1.0), offset=False).fit(X, y, c * w).predict(X) for c in (1.0, 1e6))
    assert np.abs(a - b).max() < 1e-10
    plain = KernelRidge(Gaussian(1.0), offset=False).fit(X, y).predict(X)
    for equal in (np.full(30, 7.0), 3.0):
        assert np.array_equal(KernelRidge(Gaussian(1.0), offset=False).fit(X, y, equal).predict(X), plain)


def test_weight_zero_is_absent_from_the_kernel_too():
    """An outlier of weight 0 must not move the median heuristic."""
    X = np.vstack([RNG.standard_normal((30, 2)), 1e3 * np.ones((10, 2))])
    y, w = RNG.standard_normal(40), np.r_[np.ones(30), np.zeros(10)]
    with_them, without = KernelRidge(offset=False).fit(X, y, w), KernelRidge(offset=False).fit(X[:30], y[:30])
    assert with_them.kernel_ == without.kernel_
    assert np.abs(with_them.predict(X[:30]) - without.predict(X[:30])).max() < 1e-9


@pytest.mark.parametrize("m", [8, 35, None])
@pytest.mark.parametrize("how", ["uniform", "k-means++", "leverage", "pivoted_cholesky"])
def test_weight_zero_is_absent_from_the_centres_too(how, m):
    X = np.vstack([RNG.standard_normal((30, 2)), 50 + RNG.standard_normal((10, 2))])
    y, w = RNG.standard_normal(40), np.r_[np.ones(30), np.zeros(10)]
    machine = KernelRidge(
        Gaussian(1.0), representation=Nystrom(n_centres=m, centres=how), random_state=0, offset=False
    )
    with_them, without = clone(machine).fit(X, y, w), clone(machine).fit(X[:30], y[:30])
    assert with_them.function_.points.max() < 20
    assert np.abs(with_them.predict(X[:30]) - without.predict(X[:30])).max() < 1e-7


def test_function_and_its_norm():
    X, y = RNG.standard_normal((40, 2)), RNG.standard_normal(40)
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, offset=True).fit(X, y)
    f, K = machine.function_, gaussian(X, X)
    assert f(X).shape == (40,) and f.outputs is None
    assert np.allclose(f(X) + machine.intercept_, machine.predict(X))
    assert f.squared_norm() == pytest.approx(machine.dual_coef_ @ K @ machine.dual_coef_)
    objective = np.mean((y - machine.predict(X)) ** 2) + 1e-2 * f.squared_norm()
    assert machine.solution_.certificate.objective == pytest.approx(objective, rel=1e-10)


def test_shapes_follow_y():
    X, y = RNG.standard_normal((20, 2)), RNG.standard_normal(20)
    flat, column = KernelRidge(offset=False).fit(X, y), KernelRidge(offset=False).fit(X, y[:, None])
    assert flat.predict(X).shape == (20,) and column.predict(X).shape == (20, 1)
    assert flat.dual_coef_.shape == (20,) and column.dual_coef_.shape == (20, 1)
    assert isinstance(flat.intercept_, float) and column.intercept_.shape == (1,)
    assert flat.loo_residuals().shape == (20,) and column.loo_residuals().shape == (20, 1)
    assert np.array_equal(flat.predict(X), column.predict(X)[:, 0])


@pytest.mark.parametrize(
    "representation, solver, tol",
    [
        ("full", "cholesky", 1e-4),
        ("full", "cg", 1e-4),
        ("nystrom", "cholesky", 1e-3),
        ("nystrom", "cg", 1e-3),
    ],
)
def test_single_precision(representation, solver, tol):
    """float32 in, float32 out, and close to float64 (at λ = 1e-3)."""
    X, y = DIABETES
    machine = KernelRidge(
        Gaussian(0.2), lam=1e-3, representation=representation, solver=solver, random_state=0, offset=False
    )
    double = machine.fit(X, y).predict(X)
    single = clone(machine).fit(X.astype(np.float32), y).predict(X.astype(np.float32))
    assert single.dtype == np.float32
    assert np.abs(single - double).max() < tol * np.abs(double).max()


def test_float32_targets_do_not_lower_the_precision():
    X, y = RNG.standard_normal((30, 2)), RNG.standard_normal(30).astype(np.float32)
    assert np.allclose(
        KernelRidge(offset=False).fit(X, y).dual_coef_,
        KernelRidge(offset=False).fit(X, y.astype(float)).dual_coef_,
        rtol=1e-12,
    )


def test_random_state():
    X, y = RNG.standard_normal((100, 2)), RNG.standard_normal(100)
    a, b, c = (
        KernelRidge(representation=Nystrom(n_centres=10), random_state=s, offset=False).fit(X, y).predict(X)
        for s in (0, 0, 1)
    )
    assert np.array_equal(a, b) and not np.allclose(a, c)


def test_leave_one_out_is_for_the_fitted():
    X, y = RNG.standard_normal((20, 2)), RNG.standard_normal(20)
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False)
    with pytest.raises(AttributeError, match="needs the training data"):
        machine.loo_residuals()
    first = machine.fit(X, y).loo_residuals()
    assert machine.loo_residuals() is first  # computed once
    second = machine.fit(X, 2 * y).loo_residuals()
    assert np.allclose(second, 2 * first)  # and again after another fit


def test_pickles_are_small_and_predict_the_same():
    X, y = RNG.standard_normal((400, 2)), RNG.standard_normal(400)
    for representation in ("full", Nystrom(n_centres=20), "features"):
        machine = KernelRidge(Gaussian(1.0), representation=representation, random_state=0, offset=False).fit(
            X, y
        )
        saved = pickle.dumps(machine)
        again = pickle.loads(saved)
        assert np.array_equal(again.predict(X), machine.predict(X))
        assert again.solution_.status == machine.solution_.status and again.plan_ == machine.plan_
        if isinstance(representation, Nystrom):
            assert len(saved) < 10_000  # 20 centres, not 400 points
        with pytest.raises(AttributeError, match="loo_residuals needs the training data"):
            again.loo_residuals()
        assert machine.loo_residuals().shape == (400,)


def test_unconverged_machines_warn():
    X, y = DIABETES
    with pytest.warns(ConvergenceWarning, match="cg stopped at its limit of 2 iterations"):
        machine = KernelRidge(
            Gaussian(0.05), lam=1e-7, representation="full", solver=CG(max_iter=2, rank=5), offset=False
        ).fit(X, y)
    assert not machine.solution_.converged


def test_singular_data():
    """All points the same: f is a constant, and that is all there is to say."""
    X, y = np.ones((10, 2)), np.arange(10.0)
    machine = KernelRidge(Gaussian(1.0), lam=0.1, offset=False).fit(X, y)
    assert np.allclose(machine.predict(X), y.mean() / 1.1)
    assert np.isfinite(
        KernelRidge(lam=0.1, offset=False).fit(X, y).predict(X)
    ).all()  # the median distance is 0 there


def test_one_example():
    machine = KernelRidge(Gaussian(1.0), lam=0.5, offset=False).fit([[1.0]], [3.0])
    assert machine.predict([[1.0]]) == pytest.approx(3 / 1.5)
