"""What a fitted machine answers follows from its fit alone, whatever parameters are set to afterwards."""

import copy
import inspect

import numpy as np
import pytest

import mercer
from mercer import online
from mercer.estimators.lam import FromC
from mercer.kernels import Finite, FunctionKernel, Gaussian, Linear, Precomputed
from mercer.losses import Hinge, Huber, Logistic, Multinomial, Quantile, Squared
from mercer.representations import Nystrom

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
NUMBERS = X[:, 0] * X[:, 1]
LABELS = np.array(["low", "mid", "top"])[np.digitize(NUMBERS, [-0.3, 0.3])]
NEW = RNG.standard_normal((20, 2))


def shared(a, b):
    return float(a == b)


# Other valid values of each parameter: every one of them is set after the fit.
OTHERS = {
    "kernel": [
        Linear(),
        Gaussian(9.0),
        "laplacian",
        Precomputed(),
        FunctionKernel(shared),
        Finite(np.eye(60)),
    ],
    "loss": {
        "number": [Squared(), Huber(0.1), Quantile([0.1, 0.9])],
        "label": [Logistic(), Hinge(), Multinomial(), "squared"],
    },
    "lam": [10.0, FromC(3.0)],
    "representation": ["full", "features", Nystrom(5)],
    "solver": ["newton", "dual", "smoothing", "descent"],
    "engine": [mercer.engines.Tiled(threads=1)],
    "offset": [True, False],
    "multiclass": ["ovo", "ovr"],
    "class_weight": ["balanced", None],
    "probability": [True, False],
    "warm_start": [True],
    "random_state": [7],
    "epsilon": [2.0],
    "indefinite": ["clip", "flip"],
    "metric": ["manhattan"],
    "metric_params": [{"p": 3}],
    "empty": ["drop"],
    "teleports": [1],
    "nu": [0.9],
    "n_neighbors": [1, "auto"],
    "weights": ["distance", "uniform", np.ones_like],
    "max_neighbors": [2],
    "search": ["blocks", "tree"],
    "max_iter": [1],
    "prediction": ["last", "averaged", "voted"],
    "shuffle": [True],
    "n_clusters": [2],
    "init": ["random"],
    "n_init": [1],
    "tol": [0.5],
    "normalized": [True, False],
    "n_components": [1],
    "preimage": ["fixed_point"],
    "step": [0.01, online.PegasosStep()],
    "budget": [3, online.Oldest(4)],
    "averaging": [True],
    "passes": [3],
    "stopping": [online.Stopping()],
}
MACHINES = [
    mercer.KernelRidge(),
    mercer.KernelRegressor(loss="absolute", representation=Nystrom(10), random_state=0),
    mercer.KernelClassifier(loss="hinge"),
    mercer.KernelClassifier(loss="logistic"),
    mercer.KernelLogistic(offset=True),
    mercer.KernelSVC(),
    mercer.KernelSVC(probability=True, class_weight="balanced"),
    mercer.KernelSVC(multiclass="ovr", kernel="linear"),
    mercer.KernelSVR(),
    mercer.KernelOneClass(),
    mercer.KernelPerceptron(prediction="voted", max_iter=5),
    mercer.KernelNeighborsClassifier(n_neighbors=4, weights="distance"),
    mercer.KernelNeighborsRegressor(n_neighbors=4),
    mercer.KernelKMeans(n_clusters=3, random_state=0),
    mercer.KernelKMeans(Gaussian(1.0), n_clusters=3, normalized=True, random_state=0),
    mercer.KernelPCA(n_components=3),
    mercer.OnlineKernelRegressor(Gaussian(1.0)),
    mercer.OnlineKernelClassifier(Gaussian(1.0), loss="hinge"),
    mercer.OnlineKernelClassifier(Gaussian(1.0), loss="logistic"),
]
ASKED = ["predict", "predict_proba", "decision_function", "transform", "score_samples", "kneighbors"]
ASKED += ["pair_decision_function", "reconstruction_error"]


def answers(machine, points):
    """All that it says of points; None for what it does not have."""
    found = {}
    for name in ASKED:
        try:
            method = getattr(machine, name, None)
            found[name] = None if method is None else np.asarray(method(points))
        except (AttributeError, ValueError) as error:
            found[name] = str(error)
    return found


def other_values(machine, name):
    values = OTHERS[name]
    kind = "label" if hasattr(machine, "classes_") else "number"
    return values[kind] if isinstance(values, dict) else values


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_answers_follow_from_the_fit(machine):
    y = LABELS if hasattr(machine, "decision_function") or "Classifier" in repr(machine) else NUMBERS
    fitted = copy.deepcopy(machine).fit(X, y)
    before = answers(fitted, NEW)
    assert any(isinstance(found, np.ndarray) for found in before.values())
    for name in inspect.signature(type(machine)).parameters:
        for value in other_values(fitted, name):
            changed = copy.deepcopy(fitted).set_params(**{name: value})
            after = answers(changed, NEW)
            for method, expected in before.items():
                said = f"{method} after {name}={value!r}"
                if isinstance(expected, np.ndarray):
                    assert isinstance(after[method], np.ndarray), f"{said}: {after[method]}"
                    np.testing.assert_array_equal(after[method], expected, err_msg=said)
                else:
                    assert after[method] == expected, said


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "machine",
    [
        mercer.KernelRidge(Precomputed()),
        mercer.KernelSVC(Precomputed()),
        mercer.KernelKMeans(Precomputed(), n_clusters=3, random_state=0),
        mercer.KernelPCA(Precomputed(), n_components=2),
        mercer.KernelPerceptron(Precomputed(), max_iter=5),
    ],
    ids=repr,
)
def test_a_precomputed_matrix_stays_one(machine):
    K, rows = Gaussian(1.0)(X, X), Gaussian(1.0)(NEW, X)
    y = LABELS if hasattr(machine, "decision_function") else NUMBERS
    fitted = copy.deepcopy(machine).fit(K, y)
    before = answers(fitted, rows)
    after = answers(fitted.set_params(kernel=Gaussian(1.0)), rows)
    for method, expected in before.items():
        np.testing.assert_array_equal(after[method], expected)
    with pytest.raises(ValueError, match="features"):
        (fitted.predict if hasattr(fitted, "predict") else fitted.transform)(rows[:, :10])


def test_probabilities_are_those_of_the_fit():
    machine = mercer.KernelSVC().fit(X, LABELS)
    assert not hasattr(machine.set_params(probability=True), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        _ = machine.predict_proba
    assert "fitted without; fit it again" in str(caught.value.__cause__)
    expected = machine.fit(X, LABELS).predict_proba(NEW)
    np.testing.assert_array_equal(machine.set_params(probability=False).predict_proba(NEW), expected)
    assert not hasattr(machine.fit(X, LABELS), "predict_proba")
    assert hasattr(mercer.KernelSVC(probability=True), "predict_proba")  # before any fit: what was asked for
    hinge = mercer.KernelClassifier(loss="hinge").fit(X, LABELS).set_params(loss="logistic")
    with pytest.raises(AttributeError) as caught:
        _ = hinge.predict_proba
    assert "Hinge() has no probabilities" in str(caught.value.__cause__)


def test_a_fit_to_objects_forgets_features():
    machine = mercer.KernelRidge(Gaussian(1.0)).fit(X, NUMBERS)
    machine.set_params(kernel=Finite(np.eye(60))).fit(np.arange(60), NUMBERS)
    assert not hasattr(machine, "n_features_in_")
    assert machine.predict([3, 4]).shape == (2,)
