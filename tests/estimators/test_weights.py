"""Weight 0 means absent, and a whole weight that many equal rows: whatever is counted on the way."""

import numpy as np
import pytest
from sklearn.svm import SVC

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.lam import FromC
from mercer.kernels import Gaussian, Precomputed
from mercer.losses import SquaredHinge
from mercer.representations import Nystrom
from mercer.solvers import Dual

RNG = np.random.default_rng(3)
X = RNG.standard_normal((90, 2))
TWO = np.where(X[:, 0] + 0.5 * RNG.standard_normal(90) > 0.5, "1", "0")  # words that look like numbers
THREE = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.6])
W = RNG.integers(0, 4, 90).astype(float)
# Rows of weight 0 that would tip any count: far away, many, and most of one class.
EXTRA = RNG.standard_normal((60, 2)) + 50

TIGHT = Dual(tol=1e-10)
MACHINES = {
    "logistic": KernelLogistic(lam=0.01, class_weight="balanced", offset=False),
    "squared hinge": KernelClassifier(loss=SquaredHinge(), lam=0.01, offset=True, class_weight="balanced"),
    "centres": KernelLogistic(
        representation=Nystrom(15), lam=0.01, offset=True, class_weight="balanced", random_state=0
    ),
    "ovo": KernelSVC(lam=FromC(1.0), solver=TIGHT, class_weight="balanced"),
    "ovr": KernelSVC(lam=0.01, multiclass="ovr", solver=TIGHT, class_weight="balanced"),
    "calibrated": KernelSVC(lam=0.01, solver=TIGHT, class_weight="balanced", probability=True),
    "by hand": KernelLogistic(lam=0.01, class_weight={"0": 3.0, 0: 3.0}, offset=False),
}


def answers(machine):
    probable = hasattr(machine, "predict_proba")
    return machine.predict_proba(X) if probable else machine.decision_function(X)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", MACHINES)
def test_rows_of_weight_zero_are_absent(name, y):
    machine = MACHINES[name]
    if name == "by hand":
        machine = KernelLogistic(lam=0.01, class_weight={y[0]: 3.0}, offset=False)
    labels = np.r_[np.full(50, np.unique(y)[-1]), np.full(10, np.unique(y)[0])]
    a = machine.fit(np.r_[X, EXTRA], np.r_[y, labels], np.r_[W, np.zeros(60)])
    found, classes = answers(a), a.classes_
    kept = W > 0
    b = machine.fit(X[kept], y[kept], W[kept])
    np.testing.assert_array_equal(classes, b.classes_)
    np.testing.assert_allclose(found, answers(b), atol=2e-6)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", [m for m in MACHINES if m not in ("calibrated", "by hand", "centres")])
def test_a_whole_weight_is_that_many_rows(name, y):
    machine = MACHINES[name].set_params(kernel=Gaussian(1.0))  # the median distance is one of distinct points
    found = answers(machine.fit(X, y, W))
    rows = np.repeat(np.arange(90), W.astype(int))
    np.testing.assert_allclose(found, answers(machine.fit(X[rows], y[rows])), atol=2e-6)


@pytest.mark.parametrize("name", MACHINES)
def test_a_class_without_weight_is_none(name):
    machine = MACHINES[name]
    if name == "by hand":
        machine = KernelLogistic(lam=0.01, class_weight={0: 1.0, 1: 0.0, 2: 2.0}, offset=False)
    w = np.where(THREE == 1, 0.0, 1.0)
    a = machine.fit(X, THREE, None if name == "by hand" else w)
    found, classes = answers(a), a.classes_
    b = machine.fit(X[w > 0], THREE[w > 0])
    np.testing.assert_array_equal(classes, [0, 2])
    np.testing.assert_allclose(found, answers(b), atol=2e-6)


def test_balanced_as_scikit_learn_balances():
    """Without weights; its SVC has n·C/(k·n_class) for C."""
    for y in (TWO, THREE):
        theirs = SVC(C=2.0, gamma=0.5, tol=1e-8, class_weight="balanced", decision_function_shape="ovo").fit(
            X, y
        )
        ours = KernelSVC.from_C(2.0, kernel=Gaussian(1.0), solver=TIGHT, class_weight="balanced").fit(X, y)
        np.testing.assert_allclose(
            ours.scores(X), np.reshape(theirs.decision_function(X), (90, -1)), atol=1e-5
        )


def test_calibration_with_a_precomputed_matrix_and_one_weight_for_all():
    K = Gaussian(1.0)(X, X)
    w = np.where(np.arange(90) < 20, 0.0, 1.0)
    a = KernelSVC(Precomputed(), lam=0.01, solver=TIGHT, probability=True).fit(K, TWO, w)
    b = KernelSVC(Gaussian(1.0), lam=0.01, solver=TIGHT, probability=True).fit(X[20:], TWO[20:], 1.0)
    np.testing.assert_allclose(a.predict_proba(K), b.predict_proba(X), atol=2e-6)


def test_which_labels_class_weights_may_name():
    assert KernelLogistic(class_weight={"1": 2.0}, offset=False).fit(X, TWO).classes_.tolist() == ["0", "1"]
    fold = TWO[:30], X[:30]
    KernelLogistic(class_weight={"0": 1.0, "1": 2.0, "2": 1.0}, offset=False).fit(
        fold[1], fold[0]
    )  # a fold lacks one
    for wrong, words in (
        ({"up": 2.0}, "'up'.*y does not hold"),
        ({"0": -1.0}, "at least 0"),
        ({"0": "many"}, "at least 0"),
        ("even", "'balanced'"),
        ([1.0, 2.0], "dict"),
    ):
        with pytest.raises(ValueError, match=f"class_weight.*{words}"):
            KernelLogistic(class_weight=wrong, offset=False).fit(X, TWO)


@pytest.mark.parametrize(
    "machine", [KernelRidge(lam=0.01, offset=False), KernelRegressor(loss="absolute", lam=0.01, offset=False)]
)
def test_targets_without_weight_are_absent(machine):
    y = X[:, 0] + 5
    a = machine.fit(np.r_[X, EXTRA], np.r_[y, np.full(60, 1e6)], np.r_[W, np.zeros(60)])
    found = a.predict(X)
    b = machine.fit(X[W > 0], y[W > 0], W[W > 0])
    np.testing.assert_allclose(
        found, b.predict(X), atol=1e-2 if machine.__class__ is KernelRegressor else 1e-7
    )
