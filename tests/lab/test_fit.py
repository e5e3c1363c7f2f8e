"""/api/fit: the numbers are the library's, and scikit-learn's where it fits the same machine."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.svm import SVC

from mercer import KernelClassifier, KernelRidge
from mercer.kernels import Gaussian

EVERYTHING = ["spectrum", "loo", "bumps"]
GRID = 9


def asked(X, y, task="labels", **more):
    return {
        "task": task,
        "X": np.asarray(X).tolist(),
        "y": np.asarray(y).tolist(),
        "kernel": {"kind": "gaussian", "sigma": 0.7},
        "lam": 0.01,
        "window": [-2, 2, -1, 1],
        "resolution": GRID,
        "wanted": EVERYTHING,
    } | more


def grid():
    x, y = np.linspace(-2, 2, GRID), np.linspace(-1, 1, GRID)
    return np.array([[a, b] for b in y for a in x])


def test_a_support_vector_machine_is_scikit_learns(lab, plane):
    X, y, _ = plane
    status, found = lab("/api/fit", asked(X, y, loss={"kind": "hinge"}))
    assert status == 200 and found["classes"] == ["down", "up"] and found["n"] == 40
    theirs = SVC(C=1 / (2 * 0.01 * 40), gamma=1 / (2 * 0.7**2), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(found["fitted"], theirs.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(found["grid"]["scores"][0], theirs.decision_function(grid()), atol=1e-4)
    assert found["support"] == sorted(theirs.support_.tolist())
    assert found["accuracy"] == theirs.score(X, y)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 0.7**2))
    c = np.zeros(40)
    c[theirs.support_] = theirs.dual_coef_[0]
    norm = np.sqrt(c @ K @ c)
    assert found["norm"] == [pytest.approx(norm, rel=1e-4)] and found["margin"] == pytest.approx(
        1 / norm, rel=1e-4
    )
    assert found["offset"] == [pytest.approx(theirs.intercept_[0], abs=1e-4)]
    assert found["grid"]["probability"] is None and found["loo"] is None and found["loo_why"]
    for bump in found["bumps"]:
        assert bump["c"] == pytest.approx(c[bump["i"]], abs=1e-4) and bump["x"] == X[bump["i"]].tolist()
    sizes = [abs(bump["c"]) for bump in found["bumps"]]
    assert sizes == sorted(sizes, reverse=True)


def test_a_ridge_regression_is_scikit_learns(lab, line):
    X, y = line
    status, found = lab("/api/fit", asked(X, y, "curve", loss={"kind": "squared"}, offset=False))
    theirs = TheirRidge(alpha=0.01 * 30, kernel="rbf", gamma=1 / (2 * 0.7**2)).fit(X, y)
    assert status == 200 and found["offset"] == [0.0]
    np.testing.assert_allclose(found["fitted"], theirs.predict(X), atol=1e-8)
    x = np.array(found["curve"]["x"])
    assert x[0] == -2 and x[-1] == 2
    np.testing.assert_allclose(found["curve"]["f"], theirs.predict(x[:, None]), atol=1e-6)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((theirs.predict(X) - y) ** 2)))
    left_out = [
        y[i]
        - TheirRidge(alpha=0.01 * 29, kernel="rbf", gamma=1 / (2 * 0.7**2))
        .fit(np.delete(X, i, 0), np.delete(y, i))
        .predict(X[i : i + 1])[0]
        for i in range(30)
    ]
    np.testing.assert_allclose(found["loo"]["residuals"], left_out, atol=1e-8)
    assert found["loo"]["error"] == pytest.approx(np.sqrt(np.mean(np.square(found["loo"]["residuals"]))))
    K = np.exp(-((X - X.T) ** 2) / (2 * 0.7**2))
    values = np.linalg.eigvalsh(K / 30)[::-1]
    np.testing.assert_allclose(found["spectrum"], values, atol=1e-12)
    assert found["effective_dimension"] == pytest.approx(np.trace(K @ np.linalg.inv(K + 0.3 * np.eye(30))))
    curves = np.array(found["bump_curves"])
    assert curves.shape == (10, 400)
    first = found["bumps"][0]
    expected = first["c"] * np.exp(-((x - first["x"][0]) ** 2) / (2 * 0.7**2))
    np.testing.assert_allclose(curves[0], expected, atol=1e-5)


@pytest.mark.parametrize(
    "loss", ["logistic", "multinomial", "squared", "squared_hinge", "exponential", "hinge"]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_loss_of_labels(lab, plane, loss, classes):
    X, y = plane[0], plane[classes - 1]
    status, found = lab("/api/fit", asked(X, y, loss={"kind": loss}))
    machine = KernelClassifier(Gaussian(0.7), loss, lam=0.01, random_state=0).fit(X, y)
    assert status == 200 and found["warnings"] == []
    scores = machine.scores(grid())
    np.testing.assert_allclose(
        np.transpose(found["grid"]["scores"]), scores, atol=1e-4 * np.abs(scores).max()
    )
    assert found["accuracy"] == machine.score(X, y)
    assert found["certificate"]["status"] == "converged" == machine.solution_.status
    if loss not in ("logistic", "exponential"):  # which stop a step earlier here
        assert found["certificate"]["text"] == str(machine.solution_)
        assert found["plan"] == list(machine.plan_.reasons)
    if loss != "multinomial":  # of which the library gives no gap where there is an offset
        assert found["certificate"]["gap"] < 1e-6
    assert len(found["norm"]) == scores.shape[1] == len(found["offset"])
    if loss in ("logistic", "multinomial"):
        likely = machine.predict_proba(grid())
        expected = likely[:, 1:] if scores.shape[1] == 1 else likely
        np.testing.assert_allclose(np.transpose(found["grid"]["probability"]), expected, atol=1e-4)
    if loss == "squared":
        assert found["loo"]["error"] > 0


@pytest.mark.parametrize(
    "loss",
    [
        {"kind": "absolute"},
        {"kind": "huber", "delta": 0.1},
        {"kind": "epsilon_insensitive", "epsilon": 0.2},
        {"kind": "quantile", "q": 0.9},
    ],
)
def test_every_loss_of_curves(lab, line, loss):
    X, y = line
    status, found = lab("/api/fit", asked(X, y, "curve", loss=loss))
    assert status == 200 and found["certificate"]["status"] == "converged" and found["loo"] is None
    if loss["kind"] == "quantile":  # one in ten lies above
        assert np.mean(y > np.array(found["fitted"]) + 1e-6) <= 0.1
    if loss["kind"] == "epsilon_insensitive":
        inside = set(range(30)) - set(found["support"])
        assert all(abs(y[i] - found["fitted"][i]) <= 0.2 + 1e-4 for i in inside)


def test_lam_and_sigma_may_be_left_to_the_library(lab, line):
    X, y = line
    body = asked(X, y, "curve", lam="auto", kernel={"kind": "gaussian", "sigma": None})
    status, found = lab("/api/fit", body)
    machine = KernelRidge(Gaussian(), random_state=0).fit(X, y)
    assert status == 200 and found["lam"] == machine.lam_ and found["kernel"] == repr(machine.kernel_)


def test_what_is_not_asked_for_is_not_made(lab, plane):
    found = lab("/api/fit", asked(*plane[:2], wanted=[]))[1]
    assert not {"spectrum", "loo", "bumps", "bump_curves"} & set(found)


def test_a_fit_that_stops_early_says_so_in_the_answer(lab, line):
    X, y = line
    body = asked(X, y, "curve", lam=1e-12, loss={"kind": "absolute"}, kernel={"kind": "linear"})
    status, found = lab("/api/fit", body)
    assert status == 200 and isinstance(found["warnings"], list)


def test_points_on_one_spot_are_told_apart(lab):
    X = [[0.0, 0.0]] * 2 + [[1.0, 1.0]] * 2
    found = lab("/api/fit", asked(X, ["a", "a", "b", "b"], loss={"kind": "squared"}))[1]
    assert sorted(bump["i"] for bump in found["bumps"]) == [0, 1, 2, 3]
