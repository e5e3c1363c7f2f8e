"""What must hold of online machines, so that a file can't lead their compiled loops astray.

The loops look up terms by number and stop at marks (see `online.loops`): shapes, places and sizes are checked
to the last one, because there is nothing between a wrong one and foreign memory.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer import _resolve
from mercer._xp import n_points, take
from mercer.engines import Engine
from mercer.estimators.inputs import Labelled
from mercer.functions import KernelFunction
from mercer.io.checks import MOST_FEATURES, _inputs, conditions, require, trial, usable
from mercer.kernels import Kernel
from mercer.losses import Loss, Squared
from mercer.losses.coding import LabelCoding, TargetCoding
from mercer.online import loops
from mercer.online.budgets import Budget
from mercer.online.coordinates import Basis, CentreBasis, CoordinateLearner, FeatureBasis, SpanBasis
from mercer.online.expansion import GONE, ExpansionLearner
from mercer.online.learner import Learner, UpdateRule
from mercer.online.machine import OnlineMachine
from mercer.online.steps import RecursiveStep, Step

# Counts in the loops are 64-bit integers, and examples are counted in doubles, too.
_MOST = 1 << 53


def _whole(n: Any, least: int, most: int = _MOST) -> bool:
    return type(n) is int and least <= n <= most


def _doubles(a: Any, *shape: int) -> bool:
    """An array of finite doubles of this shape."""
    return _array(a, np.float64, *shape) and bool(np.isfinite(a).all())


def _array(a: Any, dtype: Any, *shape: int) -> bool:
    return isinstance(a, np.ndarray) and a.dtype == dtype and a.shape == shape


@conditions.register
def _rule(x: UpdateRule) -> None:
    require(isinstance(x.loss, Loss) and isinstance(x.step, Step), "a rule has no loss or no step")
    require(type(x.lam) is float and 0 <= x.lam < math.inf, "lam is no number of at least 0")
    require(type(x.offset) is bool and type(x.averaging) is bool, "offset and averaging are not said")
    require(_whole(x.seed, 0, 2**31), "the seed is none")
    x.step.validate_for(x.lam)
    if isinstance(x.step, RecursiveStep):
        plain = isinstance(x.loss, Squared) and not x.offset and not x.averaging
        require(plain, "recursive steps are those of least squares alone")


# -- what they have learned -----------------------------------------------------------------------


def _learner(x: Learner) -> int:
    """What all have in common; how many outputs there are."""
    require(isinstance(x.rule, UpdateRule), "there is no rule")
    # Not more than there are numbers for: checked before anything of that size is made.
    t = len(x.offset) if isinstance(x.offset, np.ndarray) and x.offset.ndim == 2 else 0
    require(_whole(x.outputs, 1) and x.outputs == t and _doubles(x.offset, t, 2), "offsets are wrong")
    require(_whole(x.seen, 0) and _doubles(x.tallies, 3), "examples are miscounted")
    return t


@conditions.register
def _expansion(x: ExpansionLearner) -> None:
    t, m = _learner(x), len(x.birth) if isinstance(x.birth, np.ndarray) and x.birth.ndim == 1 else 0
    budget = x.budget
    require(isinstance(budget, Budget) and not budget.projects, "there is no budget")
    budget.validate()
    require(_whole(int(budget.n_terms), 0), "the budget is larger than any memory")
    require(_array(x.birth, np.int64, m), "terms have no age")
    held = x.birth != GONE
    births = x.birth[held]
    require(
        budget.policy == loops.NOBODY or len(births) <= budget.n_terms, "there are more terms than allowed"
    )
    in_order = not len(births) or (births[0] >= 1 and births[-1] <= x.seen and (np.diff(births) > 0).all())
    require(in_order, "terms are not in the order of their age")
    require(_doubles(x.A, t, m) and _doubles(x.U, t, m if x.rule.averaging else 0), "coefficients are wrong")
    require(not x.A[:, ~held].any(), "terms that are gone have coefficients")
    require(_doubles(x.diagonal, m), "k(x,x) is wrong")
    x.points = _points(x, m)
    pairs = m if budget.pairs else 0
    square = _array(x.K, x.dtype_for(x.points), pairs, pairs) and np.isfinite(x.K).all()
    require(square, "kernel values between terms are wrong")
    _partners(x, held, m if budget.policy == loops.MERGE else 0)
    x.__dict__.setdefault("_room", {})  # made when needed


def _partners(x: ExpansionLearner, held: np.ndarray, m: int) -> None:
    require(_array(x.partner, np.int64, m) and _array(x.near, np.float64, m), "partners of terms are wrong")
    if m:
        partner = x.partner[held]
        alone = partner == -1
        there = ((partner >= 0) & (partner < m) | alone).all() and held[partner[~alone]].all()
        require(there and np.isfinite(x.near[held]).all(), "partners of terms are wrong")


def _points(x: Any, m: int) -> Any:
    """Points that a kernel can take, m of them."""
    require(isinstance(x.kernel, Kernel) and isinstance(x.engine, Engine), "there is no kernel or no engine")
    x.engine = usable(x.engine)
    require(
        hasattr(x.points, "shape") and n_points(x.points) == m, "points and coefficients differ in number"
    )
    return KernelFunction(x.kernel, x.points, np.zeros(m)).points if m else x.points


@conditions.register
def _mapped(x: FeatureBasis) -> None:
    require(isinstance(x.map, BaseEstimator), "the features are not those of a feature map")
    fits = _whole(x.width, 0, MOST_FEATURES) and x.width == getattr(x.map, "_n_features_out", None)
    require(fits, "the feature map has another number of features")


@conditions.register
def _centres(x: CentreBasis) -> None:
    rows = len(x.T) if isinstance(x.T, np.ndarray) and x.T.ndim == 2 else 0
    require(rows and _doubles(x.T, rows, x.T.shape[1]), "centres are not made orthonormal")
    x.points = _points(x, rows)


@conditions.register
def _span(x: SpanBasis) -> None:
    m = len(x.L) if isinstance(x.L, np.ndarray) and x.L.ndim == 2 else -1
    require(_doubles(x.L, m, m) and (np.diagonal(x.L) > 0).all(), "the span of the points is wrong")
    x.points = _points(x, m)


@conditions.register
def _coordinates(x: CoordinateLearner) -> None:
    t = _learner(x)
    require(isinstance(x.basis, Basis), "there are no coordinates")
    w = x.basis.width
    require(_whole(x.most, 0) and (x.most == 0) == (type(x.basis) is not SpanBasis), "coordinates can't grow")
    require(x.most == 0 or w <= x.most, "there are more coordinates than the budget allows")
    require(type(x.threshold) is float and 0 <= x.threshold < math.inf, "the threshold is no distance")
    require(_doubles(x.A, t, w), "coefficients are wrong")
    u = w if x.rule.averaging or not isinstance(x.U, np.ndarray) else x.U.shape[-1]
    require(_doubles(x.U, t, u), "the sum of functions is wrong")
    p = w if isinstance(x.rule.step, RecursiveStep) else 0
    require(_doubles(x.P, p, p), "the matrix of recursive steps is wrong")


# -- machines -------------------------------------------------------------------------------------


@conditions.register
def _online(x: OnlineMachine) -> None:
    width, state = _inputs(x), vars(x)
    _resolve.kernel_of(x.kernel).validate()
    _resolve.engine_of(x.engine)
    _resolve.representation_of(x.representation)
    _names(state.get("_names"), width)
    if "learner_" not in state:
        return
    labelled = isinstance(x, Labelled)
    counted = isinstance(state.get("cumulative_loss_"), float)
    require(counted and (not labelled or _whole(state.get("n_mistakes_"), 0)), "losses are miscounted")
    learner: Any = state["learner_"]
    rule: Any = state.get("rule_")
    require(isinstance(learner, Learner) and learner.rule is rule, "it follows another rule")
    coding: Any = state.get("coding_")
    wanted = LabelCoding if labelled else TargetCoding
    require(type(coding) is wanted and coding.loss is rule.loss, "the coding of answers is another's")
    require(coding.n_outputs == learner.outputs, "there is not one function for each output")
    place = learner if isinstance(learner, ExpansionLearner) else learner.basis
    if isinstance(place, FeatureBasis):
        require(isinstance(x.kernel_, Kernel) and place.map.n_features_in_ == width, "other features")
    else:
        require(place.kernel is x.kernel_, "it learned with another kernel")
        held = n_points(place.points)
        require(not x.kernel_.vectors or not held or place.points.shape[1] == width, "other features")
    require(not x.kernel_.vectors or _whole(width, 0, MOST_FEATURES), "n_features_in_ is missing")


def _names(names: Any, width: Any) -> None:
    if names is not None:
        fits = isinstance(names, dict) and list(names.values()) == list(range(len(names)))
        require(fits and len(names) == width, "features are not numbered by their names")


@trial.register
def _try_online(x: OnlineMachine) -> None:
    if "learner_" not in vars(x) or not x.kernel_.vectors:
        return
    learner: Any = x.learner_
    place = learner if isinstance(learner, ExpansionLearner) else learner.basis
    own = not isinstance(place, FeatureBasis) and n_points(place.points)
    point = take(place.points, slice(0, 1)) if own else np.zeros((1, x.n_features_in_))
    machine = copy.copy(x)
    machine.__dict__.pop("feature_names_in_", None)  # or a point without names would be warned of
    with np.errstate(all="ignore"):
        for method in ("predict", "predict_proba", "decision_function"):
            if hasattr(machine, method):
                getattr(machine, method)(point)
