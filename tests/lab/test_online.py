"""/api/online: each step is the library's, replayed from the request."""

import numpy as np
import pytest

from asgi import refused
from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.kernels import Gaussian
from mercer.online import Forgetron, Merge, Oldest, PerceptronLoss, Projection, Smallest, Unlimited

GAUSSIAN, WINDOW = {"kind": "gaussian", "sigma": 0.7}, [-2.0, 2.0, -2.0, 2.0]
BUDGETS = {
    "none": Unlimited(),
    "oldest": Oldest(5),
    "smallest": Smallest(5),
    "forgetron": Forgetron(5),
    "merge": Merge(5),
    "projection": Projection(5),
}


def asked(X, y, t, **more):
    return {
        "task": "labels", "X": X.tolist(), "y": y.tolist(), "kernel": GAUSSIAN, "loss": {"kind": "hinge"},
        "lam": 0.01, "step": {"kind": "constant", "eta": 0.5}, "t": t, "window": WINDOW, "resolution": 5,
    } | more  # fmt: skip


@pytest.mark.parametrize("kind", list(BUDGETS))
@pytest.mark.parametrize("t", [1, 17, 40])
def test_a_machine_after_t_steps(lab, plane, kind, t):
    X, y, _ = plane
    budget = {"kind": kind} | ({} if kind == "none" else {"size": 5})
    status, found = lab("/api/online", asked(X, y, t, budget=budget))
    machine = OnlineKernelClassifier(
        Gaussian(0.7), "hinge", lam=0.01, step=0.5, budget=BUDGETS[kind], random_state=0
    )
    machine.partial_fit(X[:t], y[:t], classes=["down", "up"])
    assert status == 200 and found["t"] == t and found["of"] == 400
    terms = {tuple(term["x"]): term["c"] for term in found["terms"]}
    held = {tuple(x): c for x, c in zip(machine.function_.points.tolist(), machine.dual_coef_)}
    assert terms == pytest.approx(held) and found["size"] == len(held)
    assert all(X[term["i"]].tolist() == term["x"] for term in found["terms"])
    assert found["norm"] == pytest.approx(machine.function_.norm())
    assert found["losses"][-1] == pytest.approx(machine.cumulative_loss_)
    assert found["mistakes"][-1] == machine.n_mistakes_
    assert len(found["steps"]) == t == len(found["sizes"]) == len(found["losses"])
    assert found["sizes"][-1] == found["size"] and found["budget"] == (None if kind == "none" else 5)
    last, i = found["last"], t - 1
    assert last["i"] == i and last["y"] == y[i] and last["x"] == X[i].tolist()
    before = np.diff([0, *found["losses"]])
    assert last["loss"] == pytest.approx(before[-1], abs=1e-12)


def test_terms_that_go_are_named(lab, plane):
    X, y, _ = plane
    went = []
    for t in range(1, 20):
        last = lab("/api/online", asked(X, y, t, budget={"kind": "oldest", "size": 3}))[1]["last"]
        assert len(last["removed"]) <= 1
        went += last["removed"]
    assert went and went == sorted(went)  # the oldest first


def test_no_step_yet(lab, plane):
    found = lab("/api/online", asked(*plane[:2], 0))[1]
    assert found["last"] is None and found["terms"] == [] and found["losses"] == [] and found["norm"] == 0
    assert set(found["grid"]["scores"][0]) == {0}


def test_a_curve_and_a_shuffled_order_over_two_rounds(lab, line):
    X, y = line
    body = {
        "task": "curve", "X": X.tolist(), "y": y.tolist(), "kernel": GAUSSIAN, "loss": {"kind": "squared"},
        "lam": 0.0, "step": {"kind": "inverse_root", "eta": 0.4}, "t": 45, "window": WINDOW,
        "order": "shuffled", "seed": 4,
    }  # fmt: skip
    status, found = lab("/api/online", body)
    order = np.tile(np.random.default_rng(4).permutation(30), 2)[:45]
    from mercer.online import InverseRootStep

    machine = OnlineKernelRegressor(Gaussian(0.7), "squared", lam=0.0, step=InverseRootStep(0.4), budget=None)
    machine.fit(X[order], y[order])
    assert status == 200
    np.testing.assert_allclose(
        found["curve"]["f"], machine.predict(np.array(found["curve"]["x"])[:, None]), atol=1e-5
    )
    assert found["last"]["i"] == order[-1] and found["last"]["mistake"] is False


def test_the_perceptron_makes_the_textbooks_mistakes(lab, plane):
    X, y, _ = plane
    step = {"kind": "constant", "eta": 1.0}
    found = lab("/api/online", asked(X, y, 40, loss={"kind": "perceptron"}, lam=0.0, step=step))[1]
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 0.7**2))
    c, sign, mistakes = np.zeros(40), np.where(y == "up", 1, -1), 0
    for i in range(40):
        if sign[i] * (K[i] @ c) <= 0:
            c[i], mistakes = sign[i], mistakes + 1
    assert {term["i"]: term["c"] for term in found["terms"]} == {i: c[i] for i in np.flatnonzero(c)}
    assert found["mistakes"][-1] in (mistakes, mistakes - 1)  # a score of 0 is one of the labels
    assert PerceptronLoss is not None


def test_long_runs_are_thinned(lab, plane):
    X, y, _ = plane
    found = lab("/api/online", asked(np.tile(X, (20, 1)), np.tile(y, 20), 1600))[1]
    assert len(found["losses"]) <= 500 and found["steps"][-1] == 1600


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"t": -1}, "t"),
        ({"t": 401}, "t"),
        ({"step": {"kind": "leap"}}, "step"),
        ({"step": {"kind": "passive_aggressive"}}, "step"),
        ({"step": {"kind": "pegasos"}, "lam": 0}, "step"),
        ({"budget": {"kind": "oldest", "size": 0}}, "budget"),
        ({"order": "backwards"}, "order"),
        ({"loss": {"kind": "multinomial"}}, "loss"),
        ({"lam": -1}, "lam"),
    ],
)
def test_wrong_requests(lab, plane, more, field):
    refused(lab("/api/online", asked(*plane[:2], 3) | more), field)
