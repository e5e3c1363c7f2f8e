"""A model as a dict, for ``--json``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mercer.tables.model import Model
from mercer.tables.model.evidence import Contender
from mercer.tables.model.schema import Column


def facts(model: Model) -> dict[str, Any]:
    """What is known of a model."""
    e = model.evidence
    return {
        "task": model.task,
        "target": model.target,
        "classes": model.classes_,
        "model": str(model),
        "rows": e.rows,
        "repeated": e.repeated,
        "groups": e.groups,
        "columns": [_column(c, c.name not in e.dropped) for c in model.schema.columns],
        "tested": {
            "how": e.how,
            "rows": len(e.truth),
            "scores": _scores(e.contenders[0]),
            "others": {c.name: _scores(c) for c in e.contenders[1:]},
        },
        "importance": [asdict(i) for i in e.importance],
        "coverage": [{"nominal": nominal, "measured": measured} for nominal, measured in e.coverage],
        "certificate": e.certificate,
        "bounds": [asdict(bound) for bound in e.bounds],
        "dropped": e.dropped,
        "remarks": e.remarks,
        "seed": e.seed,
        "seconds": e.seconds,
    }


def _column(column: Column, needed: bool) -> dict[str, Any]:
    # Words of a column that was left out may be a name or a text in every row.
    categories = column.categories if needed else None
    return asdict(column) | {"categories": categories, "needed": needed}


def _scores(contender: Contender) -> dict[str, Any]:
    return {s.name: {"value": s.value, "low": s.low, "high": s.high} for s in contender.scores}
