"""What must hold of models of tables, beyond the types of their fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.estimators.inputs import Labelled
from mercer.io.checks import conditions, floats, positions, require, slopes_fit, trial
from mercer.tables.model import Columns, Model, Schema
from mercer.tables.model.columns import Category, Date, Number
from mercer.tables.model.conformal import Conformal
from mercer.tables.reading.dates import ORDERS

_ENCODERS = {Number: "number", Category: "category", Date: "date"}
_CIRCLES = {"year", "week", "day"}


@conditions.register
def _schema(x: Schema) -> None:
    names = [c.name for c in x.columns]
    require(len(set(names)) == len(names), "two columns have one name")
    require(all(c.kind in _ENCODERS.values() for c in x.columns), "a column is of an unknown kind")
    for c in x.columns:
        ordered = c.order is None or (c.kind == "date" and c.order in ORDERS)
        require(ordered, f"the dates of column {c.name!r} are written in an unknown way")


@conditions.register
def _number(x: Number) -> None:
    sizes = (x.centre, x.spread, 1.0 if x.bend is None else x.bend)
    require(all(map(math.isfinite, sizes)) and min(sizes[1:]) > 0, f"the scale of column {x.name!r} is wrong")


@conditions.register
def _category(x: Category) -> None:
    require(0 < len(set(x.levels)) == len(x.levels), f"the levels of column {x.name!r} are wrong")


@conditions.register
def _date(x: Date) -> None:
    known = set(x.circles) <= _CIRCLES and not np.isnat(np.datetime64(x.centre, "us"))
    require(known and 0 < x.spread < math.inf, f"the scale of column {x.name!r} is wrong")


@conditions.register
def _columns(x: Columns) -> None:
    if "encoders_" not in vars(x):
        return
    require(isinstance(x.schema_, Schema), "schema_ is no schema")
    kinds = {c.name: c.kind for c in x.schema_.columns}
    require(isinstance(x.encoders_, tuple) and x.encoders_, "there is no column")
    for e in x.encoders_:
        require(
            type(e) in _ENCODERS and kinds.get(e.name) == _ENCODERS[type(e)],
            "a column is none of the table's",
        )
    outputs = sum(len(e.names_out()) for e in x.encoders_)
    require(positions(x.origin_, len(kinds)) and len(x.origin_) == outputs, "origin_ is wrong")
    require(isinstance(x.dropped_, dict), "dropped_ is no dict")


@conditions.register
def _conformal(x: Conformal) -> None:
    require(floats(x.scores, 1) and len(x.scores), "there are no errors to take intervals from")
    require(bool((np.diff(x.scores) >= 0).all()) and x.low <= x.high, "errors are not in order")


@conditions.register
def _model(x: Model) -> None:
    require("encoders_" in vars(x.columns) and "function_" in vars(x.machine), "it is not fitted")
    require(x.columns.schema_.columns == x.schema.columns, "its columns are not those of its schema")
    width, machine = len(x.columns.get_feature_names_out()), x.machine
    labelled = isinstance(machine, Labelled)
    require(x.task == ("classification" if labelled else "regression"), "its task is not that of its machine")
    require(machine.n_features_in_ == width, "its machine takes other points than its columns make")
    if labelled and x.calibration is None:
        require(hasattr(machine, "predict_proba"), "its classes have no probabilities")
    if x.calibration is not None:
        require(labelled, "a regression has no probabilities")
        slopes_fit(x.calibration, machine)
    spread = None if x.conformal is None else x.conformal.spread
    if spread is not None:
        require(
            "function_" in vars(spread) and spread.n_features_in_ == width,
            "its intervals are of other points",
        )


@trial.register
def _try_model(x: Model) -> None:
    nothing: list[Any] = [{c.name: None for c in x.schema.columns}]
    with np.errstate(all="ignore"):
        x.predict(nothing)
        if x.task == "classification" and (x.calibration is not None or hasattr(x.machine, "predict_proba")):
            x.predict_proba(nothing)
        if x.conformal is not None:
            x.predict_interval(nothing)
