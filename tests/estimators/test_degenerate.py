"""Support vector machines where there is little to learn, or nothing, or something is wrong."""

import warnings

import numpy as np
import pytest

from mercer import KernelOneClass, KernelRegressor, KernelSVC, KernelSVR
from mercer.estimators.lam import FromC
from mercer.kernels import FunctionKernel, Gaussian, Linear, Precomputed, Sigmoid
from mercer.losses import Quantile
from mercer.operators.factor import NotPositiveDefinite
from mercer.solvers import ConvergenceWarning, Dual
from mercer.solvers.dual import solver

RNG = np.random.default_rng(0)
N = 40
X = RNG.standard_normal((N, 2))
Y = X[:, 0] + 0.3 * RNG.standard_normal(N) > 0
SCORE = X[:, 0] - X[:, 1] ** 2
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
SAME = np.ones((N, 2))


# -- little to learn --------------------------------------------------------------------------------------


def test_one_class_is_no_classification():
    for multiclass in ("ovo", "ovr"):
        with pytest.raises(ValueError, match="one class only, 'a'.*at least two"):
            KernelSVC(multiclass=multiclass).fit(X, ["a"] * N)


def test_one_point_twice_with_both_labels():
    m = KernelSVC(Gaussian(1.0)).fit([[0.0], [0.0]], [0, 1])
    assert m.decision_function([[0.0], [3.0]]) == pytest.approx([0, 0], abs=1e-12)
    assert m.solution_.converged and m.solution_.certificate.objective == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.5, 0.75])
@pytest.mark.parametrize("offset", [True, False])
def test_all_points_alike(share, offset):
    """The label of the majority everywhere; contradictions cost what they must."""
    y = np.arange(N) < share * N
    m = KernelSVC(Gaussian(1.0), lam=1e-3, offset=offset, solver=Dual(tol=1e-8)).fit(SAME, y)
    assert m.solution_.converged and np.isfinite(m.decision_function(X)).all()
    assert m.predict(SAME[:1])[0] == (share > 0.5)
    # (1 − p)·2 with f = 1 for the majority; with an offset f itself is not needed.
    assert m.solution_.certificate.objective == pytest.approx(2 * (1 - share), abs=0 if offset else 2e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_regression_on_points_alike_is_a_median(epsilon):
    y = RNG.exponential(size=N + 1)
    m = KernelSVR(Gaussian(1.0), epsilon=epsilon, solver=Dual(tol=1e-8)).fit(np.ones((N + 1, 2)), y)
    best = min(np.maximum(0, np.abs(y - v) - epsilon).mean() for v in np.linspace(0, 5, 50_001))
    assert m.solution_.certificate.objective == pytest.approx(best, abs=1e-4)
    if epsilon == 0:
        assert m.predict([[1.0, 1.0]])[0] == pytest.approx(np.median(y), abs=1e-6)


def test_one_class_on_points_alike():
    m = KernelOneClass(Gaussian(1.0), nu=0.3).fit(SAME)
    assert (m.predict(SAME) == 1).all() and m.predict([[5.0, 5.0]])[0] == -1
    assert m.offset_ == pytest.approx(0.3 * N)


def test_points_alike_in_pairs():
    """Duplicates can exchange their coefficients, and no step may divide by their distance."""
    P, y = np.repeat(X, 3, axis=0), np.repeat(Y, 3)
    a = KernelSVC.from_C(1.0, kernel=Gaussian(1.0), solver=Dual(tol=1e-8)).fit(P, y)
    b = KernelSVC.from_C(3.0, kernel=Gaussian(1.0), solver=Dual(tol=1e-8)).fit(X, Y)
    assert a.decision_function(X) == pytest.approx(b.decision_function(X), abs=1e-5)


def test_contradictory_labels():
    """Every point with both labels: nothing can be learnt, and f = 0 says so."""
    P, y = np.repeat(X, 2, axis=0), np.tile([0, 1], N)
    for C in (1e-2, 1.0, 1e4):
        m = KernelSVC.from_C(C, kernel=Gaussian(1.0)).fit(P, y)
        assert m.solution_.converged
        assert np.abs(m.decision_function(P)).max() < 1e-2
        assert m.solution_.certificate.objective == pytest.approx(1.0, abs=1e-3)


def test_constant_targets():
    m = KernelSVR().fit(X, np.full(N, 3.0))
    assert m.predict(X) == pytest.approx(np.full(N, 3.0)) and len(m.support_) == 0
    assert m.predict(X).shape == (N,) and m.margin() == np.inf
    several = KernelRegressor(loss=Quantile([0.1, 0.9]), offset=True).fit(X, np.full(N, 3.0))
    assert several.predict(X) == pytest.approx(np.full((N, 2), 3.0))


def test_single_examples():
    assert KernelSVR().fit([[1.0]], [2.0]).predict([[1.0], [5.0]]) == pytest.approx([2.0, 2.0])
    assert KernelOneClass(Gaussian(1.0)).fit([[1.0]]).predict([[1.0], [9.0]]).tolist() == [1, -1]
    assert KernelSVC().fit([[0.0], [1.0]], [0, 1]).predict([[-1.0], [2.0]]).tolist() == [0, 1]


def test_a_kernel_that_is_zero():
    """f can be nothing but 0; the offset decides."""
    m = KernelSVC(FunctionKernel(lambda a, b: 0.0)).fit(X, np.arange(N) < 10)
    assert m.solution_.converged and not m.predict(X).any()
    zero = KernelSVC(Linear()).fit(np.zeros((N, 3)), np.arange(N) < 10)
    assert not zero.predict(np.ones((5, 3))).any()
    assert np.isfinite(KernelSVR(Linear()).fit(np.zeros((N, 3)), SCORE).predict(np.ones((2, 3)))).all()


# -- C → ∞ ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [1e-3, 2.0, 1e3])
def test_two_points_at_the_largest_margin(distance):
    """The hard margin: the boundary half-way, 1/‖f‖ half the distance."""
    P = np.array([[1.0, 0.0], [1.0 + distance, 0.0]])
    m = KernelSVC.from_C(1e10, kernel=Linear(), representation="full").fit(P, [0, 1])
    assert m.solution_.converged and len(m.support_) == 2
    assert m.margin() == pytest.approx(distance / 2, rel=1e-6)
    assert m.decision_function(P) == pytest.approx([-1, 1], abs=1e-6)
    assert m.decision_function(P.mean(axis=0)[None])[0] == pytest.approx(0, abs=1e-6)


def test_gaussian_kernel_on_two_points():
    """c = ±1/(1 − k(x, z)), ‖f‖² = 2/(1 − k)."""
    k = np.exp(-0.5)
    m = KernelSVC.from_C(1e10, kernel=Gaussian(1.0)).fit([[0.0], [1.0]], [0, 1])
    assert m.dual_coef_ == pytest.approx([-1 / (1 - k), 1 / (1 - k)], rel=1e-9)
    assert m.margin() == pytest.approx(np.sqrt((1 - k) / 2), rel=1e-9) and m.intercept_ == pytest.approx(0)


def test_separable_data_at_the_largest_margin():
    """On a line the margin is half the gap; the support vectors are its two ends."""
    x = np.concatenate([np.linspace(-5, -1, 30), np.linspace(0.5, 7, 50)])
    m = KernelSVC.from_C(1e10, kernel=Linear(), representation="full").fit(x[:, None], x > 0)
    assert m.solution_.converged
    assert m.margin() == pytest.approx(0.75, rel=1e-6)
    assert x[m.support_].tolist() == [-1, 0.5]
    boundary = -m.intercept_ / float(m.dual_coef_ @ x[m.support_])
    assert boundary == pytest.approx(-0.25, abs=1e-6)
    assert m.solution_.support.bounded == (0,)


def test_any_labels_are_separable_by_a_gaussian():
    y = RNG.random(N) < 0.5
    m = KernelSVC.from_C(1e10, kernel=Gaussian(0.5)).fit(X, y)
    assert m.solution_.converged and m.score(X, y) == 1
    assert (np.where(y, 1, -1) * m.decision_function(X) >= 1 - 1e-3).all()


def test_not_separable_and_no_patience():
    """Out of iterations: a warning that says what is left and what to do, and a machine all the same."""
    y = Y.copy()
    y[:8] = ~y[:8]
    make = KernelSVC.from_C(1e10, kernel=Linear(), representation="full", solver=Dual(max_iter=5))
    with pytest.warns(ConvergenceWarning, match="stopped at its limit of 5 iterations.*decrease C"):
        m = make.fit(X, y)
    assert m.solution_.status == "max_iter" and m.solution_.certificate.violation > 1e-3
    assert np.isfinite(m.decision_function(X)).all() and m.solution_.certificate.gap >= 0


@pytest.mark.parametrize("C", [1e-10, 1e-300])
def test_c_of_nearly_nothing(C):
    m = KernelSVC.from_C(C, kernel=Gaussian(1.0)).fit(X, Y)
    assert m.solution_.converged and np.isfinite(m.decision_function(X)).all()
    assert np.abs(m.dual_coef_).max() <= C * (1 + 1e-9)


# -- weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["sample", "class"])
@pytest.mark.parametrize("gone", [False, True])
def test_a_class_without_weight(gone, how):
    """Then there is one class only, and that is said."""
    with pytest.raises(ValueError, match=f"only class {not gone} has examples of positive weight"):
        if how == "sample":
            KernelSVC(Gaussian(1.0)).fit(X, Y, (gone != Y).astype(float))
        else:
            KernelSVC(Gaussian(1.0), class_weight={gone: 0.0, not gone: 1.0}).fit(X, Y)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_one_of_three_classes_without_weight(multiclass):
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    make = KernelSVC(Gaussian(1.0), multiclass=multiclass, solver=Dual(tol=1e-8))
    m = make.fit(X, y, (y != 1).astype(float))
    kept = y != 1
    other = KernelSVC(Gaussian(1.0), solver=Dual(tol=1e-8)).fit(X[kept], y[kept])
    assert np.array_equal(m.predict(X * 2), other.predict(X * 2))
    assert np.array_equal(m.classes_, other.classes_)
    assert np.array_equal(m.n_support_, other.n_support_)


def test_rows_without_weight_are_absent():
    w = (np.arange(N) >= 10).astype(float)
    for make, y in ((KernelSVC, Y), (KernelSVR, SCORE)):
        # The kernel's width is found without them, too.
        a = make(solver=Dual(tol=1e-8)).fit(X, y, w)
        b = make(solver=Dual(tol=1e-8)).fit(X[10:], y[10:])
        assert a.kernel_ == b.kernel_
        assert a.scores(X) == pytest.approx(b.scores(X), abs=1e-5)
        assert a.support_.min() >= 10
    a = KernelOneClass(nu=0.3, solver=Dual(tol=1e-8)).fit(X, sample_weight=w)
    b = KernelOneClass(nu=0.3, solver=Dual(tol=1e-8)).fit(X[10:])
    assert a.decision_function(X) == pytest.approx(b.decision_function(X), abs=1e-4)


@pytest.mark.parametrize("cls", [KernelSVC, KernelSVR])
def test_wrong_weights(cls):
    for w, words in (
        (np.zeros(N), "non-zero|zero everywhere"),
        (np.full(N, -1.0), "nonnegative"),
        (np.full(N, np.nan), "NaN"),
        (np.ones(N - 1), "sample_weight"),
    ):
        with pytest.raises(ValueError, match=words):
            cls().fit(X, Y.astype(float), w)
    with pytest.raises(ValueError, match="class_weight"):
        KernelSVC(class_weight="even").fit(X, Y)


# -- kernels that are none --------------------------------------------------------------------------------


def indefinite(shift):
    return K - shift * np.eye(N)


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("cls, y", [(KernelSVC, Y), (KernelSVR, SCORE)])
def test_far_from_positive_definite(cls, y, offset):
    """cᵀKc < 0 where it should be ‖f‖²: an error."""
    A = np.random.default_rng(1).standard_normal((N, N))
    for matrix in (A + A.T, -np.eye(N)):
        with pytest.raises(ValueError, match="is no kernel: not positive semidefinite"):
            cls.from_C(1.0, kernel="precomputed", offset=offset).fit(matrix, y)
        with pytest.raises(NotPositiveDefinite, match="not positive semidefinite.*cᵀKc < 0"):
            cls.from_C(1.0, kernel=Precomputed(indefinite=True), offset=offset).fit(matrix, y)


@pytest.mark.parametrize("few", [True, False], ids=["at once", "working sets"])
@pytest.mark.parametrize("shift", [1e-5, 0.1])
def test_a_little_from_positive_definite(shift, few, monkeypatch):
    """What was found may not be the minimum: a warning, and no claim."""
    if not few:
        monkeypatch.setattr(solver, "_FEW", 0)
    values = np.linalg.eigvalsh(indefinite(shift))
    assert values[0] < -0.5 * shift
    for m, y in (
        (KernelSVC.from_C(1.0, kernel=Precomputed(indefinite=True)), Y),
        (KernelSVR.from_C(1.0, kernel=Precomputed(indefinite=True)), SCORE),
        (KernelOneClass(Precomputed(indefinite=True)), None),
    ):
        with pytest.warns(
            UserWarning, match="not positive semidefinite, so the problem is not convex"
        ) as caught:
            m.fit(indefinite(shift), y)
        assert len(caught) == 1 and caught[0].filename == __file__
        assert m.solution_.certificate.gap is None and not m.solution_.converged
        assert m.solution_.status == "stationary" and "a lower one may exist" in str(m.solution_)
        assert set(np.sign(m.scores(K)[:, 0])) == {-1, 1} or isinstance(m, KernelSVR)


def test_functions_that_are_no_kernels():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            KernelSVC.from_C(1e-3, kernel=Sigmoid(1.0, -1.0)).fit(X, Y)
            said = " ".join(str(w.message) for w in caught)
        except NotPositiveDefinite as error:
            said = str(error)
    assert "not positive semidefinite" in said
    with pytest.raises(ValueError, match="is no kernel: not positive semidefinite"):
        KernelSVC.from_C(1.0, kernel=FunctionKernel(lambda a, b: -float(a @ b))).fit(X, Y)


def test_rounding_is_no_objection():
    """Smallest eigenvalues of −1e-14 are what a good kernel matrix has."""
    wide = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 200)
    assert np.linalg.eigvalsh(wide - 1e-13 * np.eye(N))[0] < 0
    for matrix in (wide - 1e-13 * np.eye(N), np.ones((N, N)), np.zeros((N, N)), wide.astype(np.float32)):
        assert KernelSVC.from_C(1.0, kernel="precomputed").fit(matrix, Y).solution_.converged


def test_a_matrix_that_is_no_gram_matrix():
    with pytest.raises(ValueError, match="must be symmetric"):
        KernelSVC(kernel="precomputed").fit(RNG.standard_normal((N, N)), Y)
    with pytest.raises(ValueError, match="square"):
        KernelSVC(kernel="precomputed").fit(K[:, :5], Y)


# -- wrong input ------------------------------------------------------------------------------------------

MACHINES = [(KernelSVC(), Y), (KernelSVR(), SCORE), (KernelOneClass(), None)]
each = pytest.mark.parametrize("m, y", MACHINES, ids=lambda v: type(v).__name__)


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none(m, y, bad):
    P = X.copy()
    P[3, 1] = bad
    with pytest.raises(ValueError, match="NaN|infinity"):
        m.fit(P, y)
    m.fit(X, y)
    with pytest.raises(ValueError, match="NaN|infinity"):
        m.predict(P)
    if y is not None:
        wrong = np.array(y, dtype=float)
        wrong[0] = bad
        with pytest.raises(ValueError, match="NaN|infinity"):
            m.fit(X, wrong)


@each
def test_nothing(m, y):
    with pytest.raises(ValueError, match="0 sample|empty"):
        m.fit(np.zeros((0, 2)), [] if y is not None else None)
    with pytest.raises(ValueError, match="0 feature"):
        m.fit(np.zeros((N, 0)), y)
    with pytest.raises(ValueError, match="Expected 2D array"):
        m.fit(X[:, 0], y)


@each
def test_numbers_too_large(m, y):
    from sklearn.base import clone

    with pytest.raises(ValueError, match="NaN or infinity.*too large"):
        clone(m).set_params(kernel=Linear()).fit(X * 1e200, y)


@pytest.mark.parametrize("cls, y", [(KernelSVC, Y), (KernelSVR, SCORE)])
@pytest.mark.parametrize("bad", [-1, -np.inf, np.nan, "1", None, True])
def test_lambda_and_c_are_positive(cls, y, bad):
    with pytest.raises(ValueError, match="lam must be a positive number"):
        cls(lam=bad).fit(X, y)
    with pytest.raises(ValueError, match="C must be a positive number"):
        cls.from_C(bad).fit(X, y)
    with pytest.raises(ValueError, match="C must be a positive number"):
        FromC(bad).value(10)


@pytest.mark.parametrize("nu", [0, -0.1, 1.0001, np.nan, "0.5", None, True])
def test_nu_is_a_share(nu):
    with pytest.raises(ValueError, match="nu must be a number between 0 .* and 1"):
        KernelOneClass(nu=nu).fit(X)


def test_nu_at_its_ends():
    """At 1 every example has coefficient 1, and none need be inside; near 0 all are."""
    one = KernelOneClass(Gaussian(1.0), nu=1).fit(X)
    assert one.dual_coef_ == pytest.approx(np.ones(N)) and np.isfinite(one.offset_)
    assert one.score_samples(X) == pytest.approx(K.sum(axis=1))
    for nu in (1e-3, 1e-6, 1e-9):
        none = KernelOneClass(Gaussian(1.0), nu=nu).fit(X)
        assert (none.predict(X) == 1).all()
        # The scale of f is all that ν still sets.
        assert none.offset_ / nu == pytest.approx(
            KernelOneClass(Gaussian(1.0), nu=1e-4).fit(X).offset_ / 1e-4, rel=1e-3
        )


def test_wrong_choices():
    with pytest.raises(ValueError, match="multiclass must be 'ovo' or 'ovr'"):
        KernelSVC(multiclass="all").fit(X, Y)
    for bad in (-0.1, np.nan, "a"):
        with pytest.raises(ValueError, match="epsilon ≥ 0"):
            KernelSVR(epsilon=bad).fit(X, SCORE)
    with pytest.raises(ValueError, match="requires y to be passed"):
        KernelSVC().fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelSVC().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="features"):
        KernelSVC().fit(X, Y).predict(X[:, :1])
