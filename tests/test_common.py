"""scikit-learn's own checks over every estimator the library exports."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import features
from mercer.kernels import Linear, Polynomial
from mercer.losses import Huber, Quantile, SquaredHinge
from mercer.online import Merge, Oldest, PegasosStep, Projection, RecursiveStep, perceptron
from mercer.representations import Features, Nystrom


def exported_estimators():
    """Every public class with fit, found rather than listed."""
    found = {}
    for room in (mercer, features):
        for name in room.__all__:
            value = getattr(room, name)
            # scikit-learn's checks are of tables of numbers; what takes strings has tests of its own.
            if inspect.isclass(value) and issubclass(value, BaseEstimator) and name != "CountedFeatures":
                found[name] = value
    return found


# These search for minutes: tests/tables/model/test_table_estimators.py checks them in haste.
OF_TABLES = ("TableClassifier", "TableRegressor")
VARIANTS = [
    mercer.KernelRidge(kernel=Linear()),
    mercer.KernelRidge(representation="nystrom", solver="cg", random_state=0),
    mercer.KernelRidge(representation=Features(n_features=100), offset=True, random_state=0),
    mercer.KernelRegressor(loss=Huber(1.0)),
    mercer.KernelRegressor(kernel=Polynomial(2), lam=0.1, offset=True),
    mercer.KernelClassifier(loss=SquaredHinge(), offset=True),
    mercer.KernelClassifier(loss="squared"),
    mercer.KernelLogistic(representation=Nystrom(n_centres=10), offset=True, random_state=0),
    mercer.KernelSVC(multiclass="ovr", offset=False),
    mercer.KernelSVC(probability=True, class_weight="balanced"),
    mercer.KernelSVC(kernel=Linear()),
    mercer.KernelSVC(representation=Nystrom(n_centres=10), solver="smoothing", random_state=0),
    mercer.KernelRegressor(loss=Quantile(0.3), offset=True),
    mercer.KernelRegressor(loss="absolute", representation=Nystrom(n_centres=10), random_state=0),
    mercer.KernelKMeans(kernel=Linear()),
    mercer.KernelKMeans(representation=Nystrom(n_centres=10), init="greedy"),
    mercer.KernelNeighborsClassifier(kernel=Polynomial(2), n_neighbors=3, weights="distance"),
    mercer.KernelNeighborsRegressor(n_neighbors=2, search="blocks"),
    mercer.KernelNeighborsClassifier(n_neighbors=3, metric="manhattan"),
    mercer.KernelRadiusNeighborsClassifier(metric="cosine", outlier_label="most_frequent"),
    mercer.KernelRadiusNeighborsRegressor(metric="euclidean", radius=1e3, weights="distance"),
    mercer.KernelNearestNeighbors(metric="chebyshev", n_neighbors=2),
    mercer.KernelKMeans(kernel=Linear(), empty="drop", teleports=3),
    mercer.KernelPerceptron(prediction="voted"),
    mercer.KernelPerceptron(prediction="averaged", shuffle=True, random_state=0),
    mercer.NetworkKernelRegressor(combine="glue", random_state=0),
    mercer.OnlineKernelRegressor(budget=Oldest(190)),
    mercer.OnlineKernelRegressor(loss=Huber(1.0), budget=Merge(30), offset=True, averaging=True),
    mercer.OnlineKernelRegressor(lam=0.0, step=RecursiveStep(0.1), budget=Projection(30, 0.01)),
    mercer.OnlineKernelRegressor(representation="features", random_state=0),
    mercer.OnlineKernelClassifier(
        loss="hinge", lam=0.01, step=PegasosStep(), budget=Merge(30), averaging=True
    ),
    mercer.OnlineKernelClassifier(loss="multinomial", budget=Projection(30), offset=True, passes=2),
    mercer.OnlineKernelClassifier(representation=Nystrom(n_centres=10), random_state=0),
    perceptron("gaussian", Oldest(30)),
]


def expected_failures(estimator):
    if isinstance(estimator, mercer.KernelKMeans):
        reason = "starts are drawn among the rows, and repeating rows changes which"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if isinstance(getattr(estimator, "step", None), RecursiveStep):
        return {}  # least squares, whose weights are repetitions
    if isinstance(estimator, (mercer.OnlineKernelRegressor, mercer.OnlineKernelClassifier)):
        reason = "a weight lengthens a step, and two steps are not one longer step"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if getattr(estimator, "probability", False):
        reason = "copies of a row fall into different folds of the calibration"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    return {}


# A perceptron says so when its examples can't be separated; those of the checks often can't.
@pytest.mark.filterwarnings("ignore:KernelPerceptron:sklearn.exceptions.ConvergenceWarning")
# Some checks have fewer different points than clusters.
@pytest.mark.filterwarnings("ignore:KernelKMeans. only:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [cls() for name, cls in exported_estimators().items() if name not in OF_TABLES] + VARIANTS,
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_all_machines_are_found():
    """Discovery must not silently come back empty."""
    known = {"KernelRidge", "KernelLogistic", "KernelRegressor", "KernelClassifier", "KernelSVC", "KernelSVR"}
    assert known | {"KernelOneClass", "KernelPerceptron"} <= set(exported_estimators())


@pytest.mark.parametrize("cls", exported_estimators().values(), ids=lambda c: c.__name__)
def test_constructor_only_stores(cls):
    signature = inspect.signature(cls.__init__)
    given = {name: object() for name in list(signature.parameters)[1:]}
    stored = cls(**given).get_params(deep=False)
    assert all(stored[name] is value for name, value in given.items())
