"""Indicator matrices and several columns of labels: every column as a machine of its own would do it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import SVC

import mercer
from mercer import KernelClassifier, KernelLogistic, KernelRidge, KernelSVC, KernelSVR
from mercer.kernels import Gaussian
from mercer.onnx import to_onnx

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2))
NEW = RNG.standard_normal((20, 2))
Y = np.column_stack([X[:, 0] > 0, X.sum(axis=1) > 1, np.abs(X[:, 1]) > 0.5]).astype(int)
G = Gaussian(1.0)

MACHINES = {
    "logistic": KernelLogistic(G, lam=0.01),
    "svc": KernelSVC(G, lam=0.01),
    "squared": KernelClassifier(G, loss="squared", lam=0.01),
    "squared hinge, centres": KernelClassifier(
        G, loss="squared_hinge", lam=0.01, representation=mercer.representations.Nystrom(centres=X[:20])
    ),
}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("weights", [None, RNG.integers(0, 3, 80)], ids=["plain", "weighted"])
def test_every_column_is_learned_by_itself(machine, weights):
    machine = clone(machine).fit(X, Y, weights)
    scores, said = machine.decision_function(NEW), machine.predict(NEW)
    assert said.shape == scores.shape == (20, 3)
    assert said.dtype.kind == "i" and ((scores > 0) == said).all()
    assert machine.classes_.tolist() == [0, 1, 2]
    for j in range(3):
        alone = type(machine)(**machine.get_params(deep=False)).fit(X, Y[:, j], weights)
        # The same problem, solved together with others.
        assert np.abs(scores[:, j] - alone.decision_function(NEW)).max() < 2e-3
    machine.fit(X, Y)
    assert machine.score(X, Y) == pytest.approx(accuracy_score(Y, machine.predict(X)))


def test_probabilities_are_those_of_each_label():
    machine = KernelLogistic(G, lam=0.01).fit(X, Y)
    P = machine.predict_proba(NEW)
    assert P.shape == (20, 3) and ((P > 0.5) == machine.predict(NEW)).all()
    assert np.allclose(P, 1 / (1 + np.exp(-machine.decision_function(NEW))))
    assert np.allclose(machine.predict_log_proba(NEW), np.log(P))
    # scikit-learn's one against the rest, of machines with one column each.
    peer = OneVsRestClassifier(KernelLogistic(G, lam=0.01)).fit(X, Y)
    assert np.abs(P - peer.predict_proba(NEW)).max() < 1e-6
    assert roc_auc_score(Y, machine.predict_proba(X)) > 0.95
    assert cross_val_score(machine, X, Y).mean() > 0.5


def test_as_scikit_learns_support_vector_machines():
    machine = KernelSVC.from_C(2.0, kernel=G).fit(X, Y)
    peer = OneVsRestClassifier(SVC(C=2.0, gamma=0.5, tol=1e-6)).fit(X, Y)
    assert (machine.predict(NEW) == peer.predict(NEW)).mean() > 0.98
    assert np.abs(machine.decision_function(NEW) - peer.decision_function(NEW)).max() < 0.01
    counts = [np.count_nonzero(c) for c in machine.dual_coef_.T]
    assert machine.n_support_.tolist() == counts


def test_sparse_lists_truth_values_and_floats_are_the_same_matrix():
    expected = KernelLogistic(G, lam=0.01).fit(X, Y).predict(NEW)
    for given in (csr_array(Y), Y.tolist(), Y.astype(bool), Y.astype(float)):
        machine = KernelLogistic(G, lam=0.01).fit(X, given)
        assert (machine.predict(NEW) == expected).all()
        assert machine.score(X, given) == machine.score(X, Y)


def test_columns_that_never_change_are_answered_as_they_are():
    Z = np.column_stack([np.zeros(80, int), Y[:, 0], np.ones(80, int)])
    machine = KernelLogistic(G, lam=0.01).fit(X, Z)
    assert machine.predict(NEW)[:, [0, 2]].tolist() == [[0, 1]] * 20
    assert machine.predict_proba(NEW)[:, [0, 2]].tolist() == [[0.0, 1.0]] * 20
    assert machine.decision_function(NEW)[:, [0, 2]].tolist() == [[-1.0, 1.0]] * 20
    with pytest.raises(ValueError, match="no column of y has two labels"):
        KernelLogistic(G, lam=0.01).fit(X, Z[:, [0, 2]])


def test_weight_0_is_absent():
    Z, w = Y.copy(), np.ones(80)
    Z[:40, 2], w[:40] = 1, 0
    Z[40:, 2] = 0  # set in absent examples only
    machine = KernelLogistic(G, lam=0.01).fit(X, Z, w)
    assert not machine.predict(NEW)[:, 2].any()
    alone = KernelLogistic(G, lam=0.01).fit(X[40:], Z[40:])
    assert np.abs(machine.predict_proba(NEW) - alone.predict_proba(NEW)).max() < 1e-6


def test_columns_with_classes_of_their_own():
    labels = np.column_stack([np.where(X[:, 0] > 0, "a", "b"), np.digitize(X[:, 1], [-0.5, 0.5]).astype(str)])
    machine = KernelLogistic(G, lam=0.01).fit(X, labels)
    assert [c.tolist() for c in machine.classes_] == [["a", "b"], ["0", "1", "2"]]
    P = machine.predict_proba(NEW)
    assert [p.shape for p in P] == [(20, 2), (20, 3)]
    assert all(np.allclose(p.sum(axis=1), 1) for p in P)
    peer = MultiOutputClassifier(KernelClassifier(G, loss="logistic", lam=0.01)).fit(X, labels)
    assert (machine.predict(NEW) == peer.predict(NEW)).all()
    assert all(np.abs(a - b).max() < 1e-6 for a, b in zip(P, peer.predict_proba(NEW), strict=True))
    assert machine.score(X, labels) == (machine.predict(X) == labels).all(axis=1).mean()
    assert all(np.isfinite(p).all() for p in machine.predict_log_proba(NEW))


def test_what_is_kept_in_a_file_answers_the_same(tmp_path):
    labels = np.column_stack([Y[:, 0] + 5, Y[:, 1] - Y[:, 2]])
    for given in (Y, labels):
        machine = KernelLogistic(G, lam=0.01).fit(X, given)
        mercer.save(machine, tmp_path / "m.mercer")
        again = mercer.load(tmp_path / "m.mercer")
        assert (again.predict(NEW) == machine.predict(NEW)).all()
        assert np.array_equal(again.predict_proba(NEW)[0], machine.predict_proba(NEW)[0])


def test_changing_y_afterwards_changes_nothing():
    y = Y.copy()
    machine = KernelLogistic(G, lam=0.01).fit(X, y)
    before = machine.predict(NEW)
    y[:] = 0
    assert (machine.predict(NEW) == before).all()


def test_auto_chooses_one_lam_for_all():
    machine = KernelSVC(G).fit(X, Y)
    assert machine.lam_ > 0 and machine.score(X, Y) > 0.7


@pytest.mark.parametrize(
    "machine, y, words",
    [
        (KernelClassifier(loss="multinomial"), Y, "scores the classes of one label together"),
        (KernelSVC(probability=True), Y, "KernelLogistic has probabilities of each"),
        (KernelLogistic(class_weight="balanced"), Y, "give weights of examples"),
        (KernelLogistic(), Y + 0.25, "Unknown label type"),
        (KernelLogistic(), np.where(Y == 1, np.nan, 0.0), "NaN"),
        (KernelLogistic(), Y[:50], "inconsistent numbers of samples"),
        (KernelLogistic(), Y[:, :, None], "dim"),
    ],
    ids=["joint", "calibrated", "class_weight", "numbers", "NaN", "rows", "dimensions"],
)
def test_refusals(machine, y, words):
    with pytest.raises(ValueError, match=words):
        machine.set_params(lam=0.1).fit(X, y)
    machine = KernelLogistic(lam=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="y has shape"):
        machine.score(X, Y[:, :2])
    with pytest.raises(TypeError, match="several labels an example have no ONNX version"):
        to_onnx(machine)


@pytest.mark.parametrize("machine", [KernelRidge(G, lam=0.01), KernelSVR(G, lam=0.01)], ids=["ridge", "svr"])
def test_regressors_take_several_targets(machine):
    T = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    said = machine.fit(X, T).predict(NEW)
    assert said.shape == (20, 2)
    for j in range(2):
        assert np.abs(type(machine)(G, lam=0.01).fit(X, T[:, j]).predict(NEW) - said[:, j]).max() < 5e-3
    assert 0 < machine.score(X, T) <= 1
