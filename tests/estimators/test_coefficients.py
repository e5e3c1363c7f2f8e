"""dual_coef_ and coef_ mean the same on every machine, and are absent where they mean nothing."""

import numpy as np
import pytest

import mercer
from mercer.kernels import Gaussian, Linear
from mercer.online import Projection
from mercer.representations import Features, Nystrom

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = X[:, 0] - X[:, 1] * X[:, 2]
THREE = np.digitize(Y, [-0.5, 0.5])

MACHINES = {
    "ridge": lambda **o: mercer.KernelRidge(lam=0.1, **o),
    "logistic": lambda **o: mercer.KernelLogistic(lam=0.1, **o),
    "svm": lambda **o: mercer.KernelSVC(lam=0.01, multiclass="ovr", **o),
    "online": lambda **o: mercer.OnlineKernelRegressor(step=0.01, **o),
    "online classes": lambda **o: mercer.OnlineKernelClassifier(budget=Projection(10), **o),
}


def fitted(name, kernel, y=None, **options):
    target = Y if name in ("ridge", "online") else (THREE if y is None else y)
    return MACHINES[name](kernel=kernel, **options).fit(X, target)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("y", [THREE, THREE > 1], ids=["three", "two"])
def test_kernels_at_points(name, y):
    machine = fitted(name, Gaussian(1.0), y)
    K = Gaussian(1.0)(X, machine.function_.points)
    np.testing.assert_allclose(K @ machine.dual_coef_, machine.function_(X), atol=1e-9)
    assert not hasattr(machine, "coef_")


@pytest.mark.parametrize("name", ["ridge", "logistic", "online"])
def test_features(name):
    form = {"budget": None} if name == "online" else {}
    machine = fitted(name, Gaussian(1.0), representation=Features(n_features=20), random_state=0, **form)
    Phi = machine.function_.map.transform(X)
    np.testing.assert_allclose(Phi @ machine.coef_.T, machine.function_(X), atol=1e-9)
    assert not hasattr(machine, "dual_coef_")


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("representation", ["full", "nystrom", "features"])
def test_a_linear_machine_has_weights_whatever_it_is_made_of(name, representation):
    options = (
        {} if name == "online classes" and representation != "full" else {"representation": representation}
    )
    machine = fitted(name, Linear(), **options)
    np.testing.assert_allclose(X @ machine.coef_.T, machine.function_(X), atol=1e-9)
    assert machine.coef_.shape[-1] == 3


def test_centres_are_points():
    machine = fitted("ridge", Gaussian(1.0), representation=Nystrom(7), random_state=0)
    assert machine.dual_coef_.shape == (7,) and machine.function_.points.shape == (7, 3)


def test_nothing_before_fit():
    for make in MACHINES.values():
        assert not hasattr(make(), "coef_") and not hasattr(make(), "dual_coef_")


def test_every_machine_has_a_plan():
    machines = [
        *(fitted(name, Gaussian(1.0)) for name in MACHINES),
        mercer.KernelPerceptron(Linear()).fit(X, X[:, 0] > 0),
        mercer.KernelOneClass().fit(X),
        mercer.KernelPCA(n_components=2).fit(X),
        mercer.KernelKMeans(n_clusters=2).fit(X),
        mercer.KernelNeighborsClassifier(n_neighbors=3).fit(X, THREE),
        mercer.KernelNeighborsRegressor(n_neighbors=3).fit(X, Y),
    ]
    for machine in machines:
        plan = machine.plan_
        assert isinstance(plan, mercer.estimators.Plan) and plan.examples == 40 and plan.reasons
        assert "40 examples" in str(plan) and "None" not in str(plan)


@pytest.mark.parametrize("make", [mercer.KernelRidge, mercer.KernelLogistic, mercer.KernelSVR])
def test_other_words_for_lam(make):
    y = THREE if make is mercer.KernelLogistic else Y
    weights = RNG.integers(1, 3, 40).astype(float)
    assert make.from_C(2.0).fit(X, y, weights).lam_ == pytest.approx(1 / (4 * weights.sum()))
    assert make.from_alpha(2.0, kernel=Gaussian(1.0)).fit(X, y, weights).lam_ == pytest.approx(
        2 / weights.sum()
    )
    with pytest.raises(ValueError, match="alpha must be a number of at least 0"):
        make.from_alpha(-1.0).fit(X, y)
