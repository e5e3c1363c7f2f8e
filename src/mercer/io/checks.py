"""What must hold of an object, so that a file that was made by hand fails when it is loaded, not later.

Values say themselves what they allow (`validate`), dataclasses by the types of their fields. What `fit`
leaves on an estimator is checked here, family by family. A class of a room above may have a method
``_check_restored`` for what it requires of its own attributes.
"""

from __future__ import annotations

import copy
import dataclasses
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer import _resolve
from mercer._params import Params
from mercer._xp import n_points, take
from mercer.engines import Engine, Tiled
from mercer.estimators import KernelPCA, KernelPerceptron
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.estimators.inputs import KernelInputs, Labelled
from mercer.estimators.scatter import Moments, OrthonormalCoordinates
from mercer.features import ExplicitFeatures, NystromFeatures, RandomFourierFeatures, explicit
from mercer.functions import FeatureFunction, KernelFunction
from mercer.io.hints import misfit
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.losses.coding import LabelCoding, TargetCoding
from mercer.losses.pairs import PairCoding
from mercer.solvers import Solution

# A point that is made for a trial has as many numbers; nothing in the file need be as large.
MOST_FEATURES = 1 << 22


def usable(engine: Any) -> Any:
    """The engine, or the CPU's in its place where there is no such device."""
    if not isinstance(engine, Engine) or not engine.remote:
        return engine
    from mercer.engines._triton.call import require

    try:
        require(engine.device)  # type: ignore[attr-defined]
    except (ImportError, RuntimeError):
        return Tiled()
    return engine


def check(x: Any) -> None:
    """Raise ValueError (or what a wrong type causes) if the object can not be what it says it is."""
    if isinstance(x, Params):
        x.validate()
    elif dataclasses.is_dataclass(x):
        name = misfit(x)
        require(name is None, f"the field {name} of a {type(x).__name__} is of another type than declared")
    conditions(x)
    own = getattr(type(x), "_check_restored", None)  # of the class: an attribute may come from the file
    if own is not None:
        own(x)


def require(fine: Any, what: str) -> None:
    """Raise ValueError, saying what, unless it is fine."""
    if not fine:
        raise ValueError(what)


def floats(a: Any, *dimensions: int) -> bool:
    """An array of real numbers with one of these numbers of dimensions."""
    return isinstance(a, np.ndarray) and a.dtype.kind == "f" and a.ndim in dimensions


def positions(a: Any, size: int) -> bool:
    """An index array into something of this size."""
    fine = isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype.kind in "iu"
    return fine and (len(a) == 0 or (int(a.min()) >= 0 and int(a.max()) < size))


@singledispatch
def conditions(x: Any) -> None:
    """What holds for a class and is not said by its fields or parameters."""


# -- answers --------------------------------------------------------------------------------------


@conditions.register
def _labels(x: LabelCoding) -> None:
    require(isinstance(x.loss, Loss), "the coding of labels has no loss")
    require(isinstance(x.classes, np.ndarray) and x.classes.ndim == 1, "the classes are no list of labels")
    # One class: a machine that learns example by example begins with that.
    least = 3 if isinstance(x, PairCoding) else 1
    require(len(x.classes) >= least, f"there are {len(x.classes)} classes")


@conditions.register
def _targets(x: TargetCoding) -> None:
    require(isinstance(x.loss, Loss) and x.n_outputs >= 1, "the coding of targets makes no sense")
    require(not x.one_dimensional or x.n_outputs == 1, "several outputs can not be one-dimensional")
    levels = getattr(x.loss, "levels", None)
    require(levels is None or len(levels) in (1, x.n_outputs), "quantiles and outputs differ in number")


@conditions.register
def _solution(x: Solution) -> None:
    require(floats(x.coef, 2) and floats(x.intercept, 1), "coefficients and offsets are not numbers")
    require(len(x.intercept) == x.coef.shape[1], "there is not one offset for each output")
    require(x.dual_coef is None or floats(x.dual_coef, 2), "dual coefficients are not numbers")


# -- functions ------------------------------------------------------------------------------------


@conditions.register
def _kernel_function(f: KernelFunction) -> None:
    require(isinstance(f.engine, Engine), "a function has no engine")
    for group in f._groups:
        rows, columns = group
        require(positions(rows, len(f)) and positions(columns, f.outputs or 0), "groups of terms are wrong")


@conditions.register
def _feature_function(f: FeatureFunction) -> None:
    require(isinstance(f.map, BaseEstimator), "the features of a function are not those of a feature map")
    width = getattr(f.map, "_n_features_out", None)
    require(width == len(f), f"there are {len(f)} coefficients for {width} features")


# -- estimators -----------------------------------------------------------------------------------


def _inputs(x: BaseEstimator) -> Any:
    """What every fitted estimator remembers of its input; how many features it takes, if it says so."""
    state = vars(x)
    width, names = state.get("n_features_in_"), state.get("feature_names_in_")
    require(width is None or (type(width) is int and width >= 0), "n_features_in_ is no number of features")
    if names is not None:
        fine = isinstance(names, np.ndarray) and names.ndim == 1 and all(isinstance(n, str) for n in names)
        require(fine and len(names) == width, "feature_names_in_ does not name the features")
    return width


@conditions.register
def _explicit(x: ExplicitFeatures) -> None:
    width = _inputs(x)
    if "monomials_" not in vars(x):
        return
    monomials, weights = x.monomials_, x.weights_
    require(isinstance(monomials, list) and width is not None, "there is no list of monomials")
    for a in monomials:
        whole = type(a) is tuple and all(type(k) is int and 0 <= k < width for k in a)
        require(whole, f"{str(a)[:40]} is no product of features")
    rising = all((len(a), a) < (len(b), b) for a, b in pairwise(monomials))
    require(rising, "the monomials are not in order")
    require(
        floats(weights, 1) and len(weights) == len(monomials) and (weights >= 0).all(), "weights are wrong"
    )
    x._plan = explicit._plan(monomials)  # follows from them


@conditions.register
def _fourier(x: RandomFourierFeatures) -> None:
    width = _inputs(x)
    if "frequencies_" in vars(x):
        require(floats(x.frequencies_, 2) and x.frequencies_.shape[1] == width, "frequencies are wrong")
        require(len(x.frequencies_) and type(x._amplitude) is float and x._amplitude >= 0, "k(0) is wrong")


@conditions.register
def _nystrom(x: NystromFeatures) -> None:
    width = _inputs(x)
    if "whitening_" not in vars(x):
        return
    require(isinstance(x.kernel, Kernel) and isinstance(x.kernel_, Kernel), "there is no kernel")
    require(floats(x.whitening_, 2) and x._n_features_out == x.whitening_.shape[1], "the whitening is wrong")
    require(n_points(x.centres_) == len(x.whitening_), "centres and whitening differ in number")
    require(not x.kernel.vectors or x.centres_.shape[1] == width, "the centres have other features")
    KernelFunction(x.kernel_, x.centres_, np.zeros(len(x.whitening_)))  # checks points and kernel


@conditions.register
def _machine(x: KernelInputs) -> None:
    f = _fitted_function(x)
    if f is None:
        return
    coding: Any = getattr(x, "coding_", None)
    wanted = LabelCoding if isinstance(x, Labelled) else TargetCoding
    require(isinstance(coding, wanted), "the coding of answers is missing")
    require(coding.classes is None or len(coding.classes) > 1, "there is one class only")
    outputs = 1 if f.outputs is None else f.outputs
    require(coding.n_outputs == outputs, f"{coding.n_outputs} outputs are made of {outputs} functions")
    require(
        getattr(x, "classes_", None) is getattr(coding, "classes", None), "classes_ are others than coded"
    )
    if isinstance(x, KernelMachine):
        fits = isinstance(x.solution_, Solution) and len(x.solution_.intercept) == outputs
        require(fits, "solution_ is not that of as many functions")
        require(isinstance(x.loss_, Loss), "loss_ is no loss")
        _calibrated(x)
    if isinstance(x, KernelPerceptron):
        _votes(x, outputs)


def _fitted_function(x: Any) -> Any:
    """function_ of an estimator on points of a kernel, as it should be; None before it is fitted."""
    width = _inputs(x)
    _resolve.kernel_of(x.kernel).validate()
    _resolve.engine_of(x.engine)
    for name in ("representation", "solver"):
        if hasattr(x, name):
            getattr(_resolve, f"{name}_of")(getattr(x, name))
    if "function_" not in vars(x):
        return None
    f: Any = x.function_
    require(isinstance(f, (KernelFunction, FeatureFunction)), "function_ is no function")
    require(isinstance(x.kernel_, Kernel), "kernel_ is no kernel")
    if x.kernel_.vectors:
        require(width is not None, "n_features_in_ is missing")
        points = f.points if isinstance(f, KernelFunction) else None
        require(points is None or not len(f) or points.shape[1] == width, "points have other features")
        require(points is not None or f.map.n_features_in_ == width, "the feature map has other features")
    return f


@conditions.register
def _components(x: KernelPCA) -> None:
    f = _fitted_function(x)
    if f is None:
        return
    k, mean = x.n_components_, x.mean_function_
    require(type(k) is int and f.outputs == k, "there are not as many functions as components")
    require(type(mean) is type(f) and mean.outputs is None and len(mean) == len(f), "the mean is another's")
    for name in ("intercept_", "eigenvalues_", "explained_variance_", "explained_variance_ratio_"):
        value = getattr(x, name)
        require(floats(value, 1) and len(value) == k, f"{name} has not one number a component")
    require(type(x.mean_squared_norm_) is float, "the norm of the mean is no number")
    if "moments_" in vars(x):
        coordinates, moments = x._coordinates, x.moments_
        require(
            isinstance(moments, Moments) and isinstance(coordinates, OrthonormalCoordinates),
            "moments are missing",
        )
        p = len(coordinates)
        fits = floats(moments.mean, 1) and floats(moments.scatter, 2)
        require(fits and moments.mean.shape == (p,) and moments.scatter.shape == (p, p), "moments are wrong")
        require(type(coordinates.zero) is type(f) and len(coordinates.zero) == len(f), "other coordinates")
    if "components_" in vars(x):
        width = x.n_features_in_
        fits = floats(x.components_, 2) and floats(x.mean_, 1)
        require(fits and x.components_.shape == (k, width) and len(x.mean_) == width, "components_ are wrong")


def _calibrated(x: Any) -> None:
    if "calibration_" in vars(x):
        require(isinstance(x.calibration_, Calibration), "the probabilities are not calibrated")
        slopes_fit(x.calibration_, x)
    if hasattr(x, "nu"):
        require(type(x.offset_) is float, "offset_ is no number")


def slopes_fit(calibration: Calibration, machine: Any) -> None:
    """Require one slope for each side of two classes, or one for more."""
    slopes = 2 if machine.coding_.n_outputs == 1 else 1
    require(len(calibration.slopes) == slopes, f"the calibration has not {slopes} slopes")


def _votes(x: KernelPerceptron, outputs: int) -> None:
    if x._votes is None:
        return
    require(type(x._votes) is tuple and len(x._votes) == 3, "the votes are incomplete")
    where, changes, survival = x._votes
    require(positions(where, len(x.function_)), "votes are for other points")
    require(changes.shape == (len(where), outputs) and changes.dtype.kind == "i", "changes are wrong")
    require(survival.shape == where.shape and survival.dtype.kind == "i", "the votes are miscounted")


# -- a trial --------------------------------------------------------------------------------------


@singledispatch
def trial(x: Any) -> None:
    """Call what predicts once: a formula with nothing behind it, or parts of wrong types, show there."""


@trial.register
def _try_function(f: KernelFunction) -> None:
    if len(f):
        with np.errstate(all="ignore"):
            f(take(f.points, slice(0, 1)))


@trial.register
def _try_machine(x: KernelInputs) -> None:
    if "function_" not in vars(x) or not x.kernel_.vectors:
        return
    f, width = x.function_, x.n_features_in_
    require(width <= MOST_FEATURES, "it takes more features than there can be")
    own = isinstance(f, KernelFunction) and len(f)
    point = take(f.points, slice(0, 1)) if own else np.zeros((1, width))
    machine = copy.copy(x)
    machine.__dict__.pop("feature_names_in_", None)  # or a point without names would be warned of
    with np.errstate(all="ignore"):
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(machine, method):
                getattr(machine, method)(point)
