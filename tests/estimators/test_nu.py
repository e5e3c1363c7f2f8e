"""ν in place of λ and of ε, and hard margins, against LIBSVM."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, NuSVC, NuSVR

import mercer
from mercer import KernelSVC, KernelSVR
from mercer.kernels import Gaussian, Linear
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.solvers import Dual, IncompatibleError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 3))
LABEL = np.where(X[:, 0] + 0.7 * RNG.standard_normal(120) > 0, "b", "a")
THREE = np.digitize(X[:, 0] + 0.5 * RNG.standard_normal(120), [-0.5, 0.6])
Y = X[:, 0] ** 2 + 0.3 * RNG.standard_normal(120)
W = RNG.uniform(0.2, 2, 120)
W[:5] = 0
NEW = RNG.standard_normal((40, 3))
K = Gaussian.from_gamma(0.5)
TIGHT = Dual(tol=1e-8)


def near(ours, libsvm):
    """Equal, but for LIBSVM's kernel values, which are float32."""
    np.testing.assert_allclose(ours, libsvm, atol=5e-5 * np.abs(libsvm).max())


def theirs(cls, **parameters):
    return cls(gamma=0.5, tol=1e-10, **parameters)


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
@pytest.mark.parametrize("nu", [0.2, 0.5, 0.7])
def test_decisions_are_those_of_libsvm(nu, weights):
    ours = KernelSVC(K, nu=nu, solver=TIGHT).fit(X, LABEL, weights)
    libsvm = theirs(NuSVC, nu=nu).fit(X, LABEL, weights)
    assert ours.solution_.converged
    near(ours.decision_function(NEW), libsvm.decision_function(NEW))
    np.testing.assert_array_equal(ours.predict(NEW), libsvm.predict(NEW))


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
@pytest.mark.parametrize("nu", [0.2, 0.6, 1.0])
def test_predictions_are_those_of_libsvm(nu, weights):
    ours = KernelSVR.from_C(2.0, kernel=K, nu=nu, solver=TIGHT).fit(X, Y, weights)
    libsvm = theirs(NuSVR, nu=nu, C=2.0).fit(X, Y, weights)
    assert ours.solution_.converged
    near(ours.predict(NEW), libsvm.predict(NEW))


def test_pairs_have_margins_of_their_own():
    ours = KernelSVC(K, nu=0.3, solver=TIGHT).fit(X, THREE)
    libsvm = theirs(NuSVC, nu=0.3, decision_function_shape="ovo").fit(X, THREE)
    near(ours.pair_decision_function(NEW), libsvm.decision_function(NEW))
    np.testing.assert_array_equal(ours.predict(NEW), libsvm.predict(NEW))
    assert ours.lam_.shape == (3,)
    np.testing.assert_array_equal(ours.n_support_, libsvm.n_support_)


def test_one_against_the_rest():
    ours = KernelSVC(K, nu=0.2, multiclass="ovr", solver=TIGHT).fit(X, THREE)
    for j in range(3):
        libsvm = theirs(NuSVC, nu=0.2).fit(X, j == THREE)
        near(ours.scores(NEW)[:, j], libsvm.decision_function(NEW))


@pytest.mark.parametrize("nu", [0.15, 0.4])
def test_nu_bounds_the_share_of_errors_and_of_support_vectors(nu):
    machine = KernelSVC(K, nu=nu, solver=TIGHT).fit(X, LABEL)
    margins = np.where(LABEL == "b", 1, -1) * machine.decision_function(X)
    assert (margins < 1 - 1e-6).mean() <= nu <= len(machine.support_) / len(X)
    machine = KernelSVR.from_C(1.0, kernel=K, nu=nu, solver=TIGHT).fit(X, Y)
    outside = np.abs(Y - machine.predict(X)) > machine.loss_.epsilon + 1e-6
    assert outside.mean() <= nu <= len(machine.support_) / len(X)


def test_the_same_machine_with_the_number_that_was_found():
    """What ν comes to: the ordinary machine with that λ, or ε, is the same, and is certified as such."""
    by_nu = KernelSVC(K, nu=0.4, solver=TIGHT).fit(X, LABEL, W)
    again = KernelSVC(K, lam=by_nu.lam_, solver=TIGHT).fit(X, LABEL, W)
    assert by_nu.loss_ == Hinge()
    np.testing.assert_allclose(by_nu.decision_function(NEW), again.decision_function(NEW), atol=1e-6)
    here, there = by_nu.solution_.certificate, again.solution_.certificate
    assert here.objective == pytest.approx(there.objective, rel=1e-9)
    assert 0 <= here.gap < 1e-9
    by_nu = KernelSVR(K, lam=0.01, nu=0.4, solver=TIGHT).fit(X, Y)
    again = KernelSVR(K, lam=0.01, epsilon=by_nu.loss_.epsilon, solver=TIGHT).fit(X, Y)
    assert isinstance(by_nu.loss_, EpsilonInsensitive)
    np.testing.assert_allclose(by_nu.predict(NEW), again.predict(NEW), atol=1e-6)
    assert by_nu.solution_.certificate.objective == pytest.approx(
        again.solution_.certificate.objective, rel=1e-8
    )


def test_targets_that_are_met_need_no_tube():
    """With a large C f goes through all targets, and ε = 0 although ν asks for less than 1."""
    x = np.arange(12.0)[:, None]
    y = np.sin(x[:, 0])
    machine = KernelSVR.from_C(1e4, kernel=Gaussian(1.0), nu=0.5, solver=TIGHT).fit(x, y)
    assert machine.loss_.epsilon < 1e-6
    np.testing.assert_allclose(machine.predict(x), y, atol=1e-5)


@pytest.mark.parametrize("representation", ["auto", "features", "full"])
def test_sparse_rows(representation):
    S = sp.random(150, 40, 0.2, random_state=0, format="csr")
    y = S @ np.random.default_rng(1).standard_normal(40) > 0
    machine = KernelSVC(Linear(), nu=0.3, representation=representation, solver=TIGHT)
    libsvm = NuSVC(nu=0.3, kernel="linear", tol=1e-10).fit(S, y)
    near(machine.fit(S, y).decision_function(S), libsvm.decision_function(S))


def test_many_sparse_rows():
    """More than are solved at once: pairs of classes, and examples that may go either way."""
    S = sp.random(700, 50, 0.1, random_state=0, format="csr")
    s = S @ np.random.default_rng(1).standard_normal(50)
    y = s + 0.1 * np.random.default_rng(2).standard_normal(700)
    machine = KernelSVR.from_C(1.0, kernel=Linear(), nu=0.4, solver=Dual(tol=1e-5), representation="features")
    near(machine.fit(S, y).predict(S), NuSVR(kernel="linear", nu=0.4, C=1.0, tol=1e-6).fit(S, y).predict(S))


def test_single_precision():
    for machine, y in ((KernelSVC(K, nu=0.4), LABEL), (KernelSVR.from_C(1.0, kernel=K, nu=0.4), Y)):
        double = machine.fit(X, y).scores(NEW)
        single = machine.fit(X.astype(np.float32), y).scores(NEW.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, atol=1e-3)


@pytest.mark.parametrize(
    "machine", [KernelSVC(K, nu=0.4), KernelSVR(K, lam=0.002, nu=0.4)], ids=["svc", "svr"]
)
def test_working_sets(machine, monkeypatch):
    """In pieces, with float32 values first, it is what it is all at once."""
    y = LABEL if isinstance(machine, KernelSVC) else Y
    whole = machine.set_params(solver=TIGHT).fit(X, y).scores(NEW)
    monkeypatch.setattr("mercer.solvers.dual.solver._FEW", 10)
    for solver in (Dual(tol=1e-7, working_set=32), Dual(tol=1e-4, working_set=32)):
        parts = machine.set_params(solver=solver).fit(X, y)
        assert parts.solution_.converged
        np.testing.assert_allclose(parts.scores(NEW), whole, atol=20 * solver.tol)


def test_a_warm_start_ends_where_a_cold_one_does():
    machine = KernelSVC(K, nu=0.3, solver=TIGHT, warm_start=True).fit(X, LABEL)
    warm = machine.set_params(nu=0.5).fit(X, LABEL).decision_function(NEW)
    cold = KernelSVC(K, nu=0.5, solver=TIGHT).fit(X, LABEL).decision_function(NEW)
    np.testing.assert_allclose(warm, cold, atol=1e-6)


def test_files_and_probabilities(tmp_path):
    machine = KernelSVC(K, nu=0.4, probability=True).fit(X, THREE)
    assert np.array_equal(machine.predict_proba(NEW).argmax(axis=1), machine.predict(NEW))
    mercer.save(machine, tmp_path / "nu.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "nu.mercer").predict(NEW), machine.predict(NEW))


@pytest.mark.parametrize("nu", [0, -0.1, 1.2, np.nan, True, "half"])
def test_nu_is_a_share(nu):
    for machine, y in ((KernelSVC(nu=nu), LABEL), (KernelSVR(nu=nu), Y)):
        with pytest.raises(ValueError, match="nu must be a number between 0"):
            machine.fit(X, y)


def test_what_can_not_be_is_refused():
    few = np.where(np.arange(120) < 12, "few", "many")
    with pytest.raises(ValueError, match=r"nu=0.5 is infeasible.* at most 0\.2,.*smaller class"):
        KernelSVC(K, nu=0.5).fit(X, few)
    with pytest.raises(ValueError, match="of a pair"):
        KernelSVC(K, nu=0.9).fit(X, np.where(few == "few", 2, THREE > 0))
    with pytest.raises(ValueError, match="nu is too small for these classes"):
        KernelSVC(Linear(), nu=0.01).fit(X, LABEL)
    with pytest.raises(ValueError, match=r"leave out lam=0\.1, or nu"):
        KernelSVC(K, lam=0.1, nu=0.4).fit(X, LABEL)
    for machine, y in ((KernelSVC(nu=0.4, offset=False), LABEL), (KernelSVR(nu=0.4, offset=False), Y)):
        with pytest.raises(ValueError, match="needs offset=True"):
            machine.fit(X, y)
    with pytest.raises(ValueError, match="fit a machine for each"):
        KernelSVR(nu=0.4).fit(X, np.stack([Y, Y], axis=1))
    with pytest.raises(IncompatibleError, match="or of a kink.*use solver='dual'"):
        KernelSVC(nu=0.4, solver="smoothing").fit(X, LABEL)


# -- hard margins ----------------------------------------------------------------------------------------


def test_the_hard_margin_is_that_of_a_large_C():
    y = np.where(X[:, 0] + 0.2 * X[:, 1] > 0.1, 1, -1)
    far = np.abs(X[:, 0] + 0.2 * X[:, 1] - 0.1) > 0.2
    P, y = X[far], y[far]
    machine = KernelSVC.from_C(np.inf, kernel=Linear(), solver=TIGHT).fit(P, y)
    libsvm = SVC(C=1e6, kernel="linear", tol=1e-9).fit(P, y)
    near(machine.decision_function(NEW), libsvm.decision_function(NEW))
    margins = y * machine.decision_function(P)
    assert margins.min() == pytest.approx(1, abs=1e-6)
    assert machine.margin() == pytest.approx(1 / np.linalg.norm(libsvm.coef_), rel=1e-5)
    # The largest λ with this f: with it the ordinary machine is the same, with four times as much another.
    same = KernelSVC(Linear(), lam=machine.lam_ * (1 - 1e-6), solver=TIGHT).fit(P, y)
    np.testing.assert_allclose(same.decision_function(NEW), machine.decision_function(NEW), atol=1e-5)
    other = KernelSVC(Linear(), lam=4 * machine.lam_, solver=TIGHT).fit(P, y)
    assert np.abs(other.decision_function(NEW) - machine.decision_function(NEW)).max() > 1e-3
    # A margin has the units of the points, whatever these are.
    for size in (1e-9, 1e9):
        for machines in ({"lam": 0}, {"lam": 0, "representation": "full"}, {"nu": 0.05}):
            scaled, plain = (KernelSVC(Linear(), solver=TIGHT, **machines).fit(s * P, y) for s in (size, 1.0))
            np.testing.assert_allclose(
                scaled.decision_function(size * NEW), plain.decision_function(NEW), atol=1e-5
            )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_labelling_of_a_gaussian_has_a_hard_margin(dtype):
    y = np.random.default_rng(3).choice([-1, 1], 60)
    P = X[:60].astype(dtype)
    machine = KernelSVC(Gaussian(0.5), lam=0).fit(P, y)
    assert (y * machine.decision_function(P)).min() > 1 - 2e-3
    libsvm = SVC(C=1e8, gamma=2.0, tol=1e-8).fit(P, y)
    near(machine.decision_function(P), libsvm.decision_function(P))


def test_hard_margins_of_pairs_and_of_sparse_rows():
    centres = np.array([[0.0, 0], [4, 0], [0, 4]])
    y = np.repeat([0, 1, 2], 15)
    P = centres[y] + np.random.default_rng(0).uniform(-1, 1, (45, 2))
    libsvm = SVC(C=1e7, kernel="linear", tol=1e-9, decision_function_shape="ovo").fit(P, y)
    for points in (P, sp.csr_matrix(P)):
        machine = KernelSVC(Linear(), lam=0, solver=TIGHT).fit(points, y)
        near(machine.pair_decision_function(points), libsvm.decision_function(P))


@pytest.mark.parametrize("representation", ["features", "full"])
@pytest.mark.parametrize("twice", [False, True], ids=["overlap", "one point of both classes"])
def test_classes_that_overlap_have_none(representation, twice):
    P, y = X, LABEL
    if twice:
        y = np.where(X[:, 0] > 0, "b", "a")
        P, y = np.vstack([X, X[:1]]), np.append(y, "a" if y[0] == "b" else "b")
    machine = KernelSVC(Linear(), lam=0, representation=representation)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ValueError, match=r"tells these classes apart.*give a finite C"):
            machine.fit(P, y)


def test_other_machines_say_what_lam_0_needs():
    with pytest.raises(ValueError, match="lam must be a positive number"):
        KernelSVR(lam=0).fit(X, Y)
