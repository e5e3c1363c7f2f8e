"""Files of earlier formats, brought up to date one version at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.io.errors import ModelFileError

# The format this mercer writes.
VERSION = 2

# Attributes that another room needs have public names since format 2.
_ATTRIBUTES = {
    "_coding": "coding_",
    "_calibration": "calibration_",
    "_squared_mean": "mean_squared_norm_",
    "_learner": "learner_",
    "_rule_": "rule_",
}
# `coef_` follows from `function_`.
_DROPPED = {"coef_"}


# Since format 2 no two classes have the same name, and classes are called by what they are.
_CLASSES = {
    "kernels.Columns": "kernels.OnColumns",
    "estimators.Coordinates": "estimators.OrthonormalCoordinates",
    "online.Centres": "online.CentreBasis",
    "online.Span": "online.SpanBasis",
    "online.Mapped": "online.FeatureBasis",
    "online.Expansion": "online.ExpansionLearner",
    "online.Coordinates": "online.CoordinateLearner",
    "online.Rule": "online.UpdateRule",
    "online.Constant": "online.ConstantStep",
    "online.InverseRoot": "online.InverseRootStep",
    "online.Pegasos": "online.PegasosStep",
    "online.PassiveAggressive": "online.PassiveAggressiveStep",
    "online.Recursive": "online.RecursiveStep",
    "online.Mistakes": "online.PerceptronLoss",
    "online.Tally": "online.Metrics",
}
_PARAMETERS: dict[tuple[Any, str], str] = {
    ("online.Metrics", "recent"): "last",
    ("model.Streamed", "tally"): "metrics",
}


def _new_names(structure: dict[str, Any]) -> dict[str, Any]:
    """Format 1 → 2: other names of classes, of their attributes and parameters."""

    def renamed(row: Any) -> Any:
        if not isinstance(row, dict) or not isinstance(row.get("state"), dict):
            return row
        name: Any = _CLASSES.get(row["class"], row["class"])
        state = {_ATTRIBUTES.get(key, key): v for key, v in row["state"].items() if key not in _DROPPED}
        given = {_PARAMETERS.get((name, key), key): v for key, v in row["parameters"].items()}
        return {**row, "class": name, "parameters": given, "state": state}

    return {**structure, "objects": [renamed(row) for row in structure["objects"]]}


# From version v: a function of what model.json says (a dict of plain data) that returns what a file of
# version v + 1 would say. Arrays stay as they are.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _new_names}


def up_to_date(structure: dict[str, Any]) -> dict[str, Any]:
    """The structure as this mercer would have written it."""
    version, writer = structure.get("version"), str(structure.get("mercer"))[:40]
    if type(version) is not int or version < 1:
        raise ModelFileError("it does not say of which format it is")
    if version > VERSION:
        raise ModelFileError(
            f"it is of format {version}, written by mercer {writer}, and this mercer reads up to {VERSION}: "
            "install a newer mercer"
        )
    for v in range(version, VERSION):
        structure = {**MIGRATIONS[v](structure), "version": v + 1}
    return structure
