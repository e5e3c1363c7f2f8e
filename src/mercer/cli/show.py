"""A model in a terminal, and as a dict for ``--json``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mercer.cli.console import printable
from mercer.tables.model import Model
from mercer.tables.model.schema import Column
from mercer.tables.model.scores import Contender, Score
from mercer.tables.model.weights import spoken_for

_MOST = 8
# Scores beside each other: with their intervals no more fit on a line.
_SCORES = 3


def show_model(console: Console, model: Model) -> None:
    """What was found, how good it is beside others, what matters, and what is certain."""
    e = model.evidence
    what, width = f"{model.task.capitalize()} of {model.target}", len(model.schema.columns)
    line(console, f"{what}: {model.learned_from}, {width:,} columns", "bold")
    line(console, str(model))
    console.print()
    for i in range(0, len(e.shown), _SCORES):
        names = e.shown[i : i + _SCORES]
        console.print(
            table(
                "" if i else f"Tested by {e.how}",
                ["", *(f"{name} (95 %)" for name in names)],
                [[c.name, *(_score(s) for s in c.scores if s.name in names)] for c in e.contenders],
                strong=0,
            )
        )
    for sentence in e.sentences:
        line(console, f"{sentence[:1].upper()}{sentence[1:]}.", "bold")
    if (held := dict(e.coverage).get(0.9)) is not None:
        line(console, f"Intervals of 90 % held {100 * held:.1f} % of the test rows.")
    if matter := e.weighty[:_MOST]:
        measure = "error rate" if model.task == "classification" else "RMSE"
        console.print()
        console.print(
            table(
                "What matters",
                ["column", f"{measure} grows by, if shuffled"],
                [[i.column, f"{number(i.increase)} ± {number(i.spread, 1)}"] for i in matter],
            )
        )
    if top := model.words(_MOST):
        rows = [[w.text, w.column, spoken_for(w).strip(), number(w.weight), number(w.effect)] for w in top]
        console.print()
        console.print(
            table("Words that matter", ["word, or part", "column", "speaks for", "weight", "effect"], rows)
        )
    console.print()
    for name, why in list(e.dropped.items())[:_MOST]:
        line(console, f"Left out: {name} ({why})", "dim")
    if len(e.dropped) > _MOST:
        line(console, f"Left out: {len(e.dropped) - _MOST:,} more", "dim")
    for remark in e.notes:
        line(console, f"Note: {remark}", "dim")
    line(console, f"Solver: {e.certificate}", "dim")
    for bound in e.telling:  # the report has the others, too, and says why
        line(console, str(bound), "dim")


def show_columns(console: Console, columns: Sequence[Column], dropped: Iterable[str]) -> None:
    """What a table must have."""
    left_out = set(dropped)
    rows = [
        [
            c.name,
            f"{c.kind} {c.order}" if c.order else c.kind,
            _range(c),
            f"{c.missing:.1%}" if c.missing else "",
            "no" if c.name in left_out else "",
        ]
        for c in columns
    ]
    console.print(table("Columns", ["column", "kind", "seen", "missing", "needed"], rows))


def _score(score: Score) -> str:
    values = (score.value, score.low, score.high)
    value, low, high = (f"{v:.3f}" if score.name == "R²" else number(v) for v in values)
    return f"{value} [{low}, {high}]"


def _range(column: Column) -> str:
    if column.kind == "category":
        words = column.categories or ()
        return ", ".join(words[:4]) + (f", … {len(words):,}" if len(words) > 4 else "")
    if column.low is None:
        return ""
    if column.kind == "number":
        return f"{number(column.low, 4)} to {number(column.high, 4)}"
    return " to ".join(str(v).removesuffix("T00:00:00.000000") for v in (column.low, column.high))


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], strong: int = -1) -> Table:
    """A table without lines; text is shown as it is, never taken for markup."""
    made = Table(
        title=Text(printable(title)), title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    for name in header:
        made.add_column(Text(printable(name)), overflow="fold")
    for i, row in enumerate(rows):
        made.add_row(*(Text(printable(cell)) for cell in row), style="bold" if i == strong else None)
    return made


def line(console: Console, text: str, style: str = "") -> None:
    """A line of text, as it is."""
    console.print(Text(printable(text), style=style), soft_wrap=not console.is_terminal)


def number(value: float, digits: int = 3) -> str:
    """So many digits, and no exponent where people would not write one.

    >>> number(156789.0), number(0.012345), number(1.2e-9)
    ('157,000', '0.0123', '1.2e-09')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.10g}" if 1e-4 <= abs(rounded) < 1e9 or not rounded else f"{rounded:g}"


def size(count: int) -> str:
    """Bytes, as people say them."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} bytes"


def facts(model: Model) -> dict[str, Any]:
    """What is known of a model."""
    e = model.evidence
    return {
        "task": model.task,
        "target": model.target,
        "classes": model.classes_,
        "decision": _decision(model),
        "model": str(model),
        "rows": e.rows,
        "learned_from": min(model.machine.plan_.examples, e.rows),
        "repeated": e.repeated,
        "groups": e.groups,
        "columns": [_column(c, c.name not in e.dropped) for c in model.schema.columns],
        "tested": {
            "how": e.how,
            "rows": len(e.truth),
            "metric": e.metric,
            "better": [c.name for c in e.contenders if c.better],
            "scores": _scores(e.contenders[0]),
            "others": {c.name: _scores(c) for c in e.contenders[1:]},
        },
        "importance": [asdict(i) for i in e.importance],
        "words": [asdict(word) for word in e.words],
        "coverage": [{"nominal": nominal, "measured": measured} for nominal, measured in e.coverage],
        "certificate": e.certificate,
        "bounds": [asdict(bound) for bound in e.bounds],
        "dropped": e.dropped,
        "remarks": e.remarks,
        "seed": e.seed,
        "seconds": e.seconds,
    }


def _decision(model: Model) -> dict[str, Any] | None:
    """How labels are decided on, if it is not the likeliest that is predicted."""
    decided = model.decision
    if decided is None:
        return None
    return {"threshold": decided.threshold, "costs": decided.costs, "words": decided.words(model.classes_)}


def _column(column: Column, needed: bool) -> dict[str, Any]:
    # Words of a column that was left out may be a name or a text in every row.
    categories = column.categories if needed else None
    return asdict(column) | {"categories": categories, "needed": needed}


def _scores(contender: Contender) -> dict[str, Any]:
    return {s.name: {"value": s.value, "low": s.low, "high": s.high} for s in contender.scores}
