"""What is asked of which table: its target, without rows that have none, and the labels of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.rows import Rows
from mercer.rows.placing import is_of_dask
from mercer.tables.model.task import Target, column_of_target, missing, target_of
from mercer.tables.model.together import Together
from mercer.tables.reading import Table
from mercer.tables.reading.from_memory import with_dates
from mercer.tables.reading.places import Place

FEWEST_ROWS = 10


def columns_ignored(ignore: Any, y: Any, target: str | None, groups: Any) -> tuple[str, ...]:
    """Names of columns that are not looked at; fails if one of them is needed."""
    names = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    if (name := target if y is None else y if isinstance(y, str) else None) in names:
        raise ValueError(f"ignore: {name!r} is the target")
    if isinstance(groups, str) and groups in names:
        raise ValueError(f"ignore: {groups!r} is the column of groups, which is not learned from anyway")
    return names


def table_held(X: Any, kinds: Mapping[str, str] | None) -> Table:
    """The table in memory. What kinds the columns of a Table are was decided by a reader, or who made it."""
    table = _read(X, kinds)
    for name in kinds or ():
        table[name]  # an error: a name that is not there is a slip, and the column would be taken as it looks
    return table


def _read(X: Any, kinds: Mapping[str, str] | None) -> Table:
    if isinstance(X, Place):
        return X.whole(kinds)
    if is_of_dask(X) or isinstance(X, Rows):
        what = "rows of numbers" if isinstance(X, Rows) else "collections of Dask's"
        raise ValueError(
            f"{what} are not taken here, but by machines such as KernelRidge: mercer.fit takes the path of a "
            "file, a folder of Parquet files (to_parquet writes one), or a table that is in memory"
        )
    if isinstance(X, Table):
        return X if not kinds else Table.of(X, kinds=kinds)
    return with_dates(Table.of(X, kinds=kinds), kinds or {})


def what_is_asked(
    X: Any, table: Table, y: Any, target: str | None, task: str | None, groups: Any
) -> tuple[Table, Target, str, np.ndarray | None]:
    """The table, its target and the labels of its groups, without rows that have no target."""
    if isinstance(y, str) or y is None:
        name = y if isinstance(y, str) else target
        if name is None:
            raise ValueError("which column is the target? Give y, an array or the name of a column")
        values, table = _truth_values(X, name, table[name]), table.drop(name)
    else:
        name, values = str(target or name_of_target(y) or "y"), y
        if name in table and _same(table[name], y):
            raise ValueError(
                f"the table still holds the column {name!r}, which is what y is called: it would be learned "
                f"from itself. Say mercer.fit(table, {name!r}), or drop it from the table"
            )
        if len(np.atleast_1d(np.asarray(values))) != len(table):
            raise ValueError(f"the table has {len(table):,} rows, y has {np.size(values):,}")
    if isinstance(groups, str):
        if groups == name:
            raise ValueError(f"{groups!r} is the target: it can't also say which rows belong together")
        groups, table = table[groups], table.drop(groups)
    labels = None if groups is None else np.asarray(groups)
    if labels is not None and labels.shape != (len(table),):
        raise ValueError(f"the table has {len(table):,} rows, groups is an array of shape {labels.shape}")
    table, values, kept = _complete(table, values, name)
    return table, target_of(values, task, name), name, labels if labels is None else labels[kept]


def testable(table: Table, asked: Target, together: Together) -> tuple[Table, Target, Together]:
    """Without labels that can't be on both sides of a split."""
    if asked.task == "regression":
        return table, asked, together
    units = together.units
    labels, place = np.unique(asked.y, return_inverse=True)
    sets = np.array([len(np.unique(units[place == k])) for k in range(len(labels))])
    single = sets[place] == 1
    if not single.any():
        return table, asked, together
    if (sets > 1).sum() < 2:
        label = labels[sets.argmin()].item()
        often = "once" if (place == sets.argmin()).sum() == 1 else "in equal rows, or rows of one group, only"
        raise ValueError(
            f"the label {label!r} occurs {often}: a model can't be tested on it. Drop that row, or merge the "
            "label with another one"
        )
    words = ", ".join(map(repr, np.unique(asked.y[single])[:5].tolist()))
    why = (
        "once" if (np.bincount(place)[place][single] == 1).all() else "once (or in rows that belong together)"
    )
    remark = f"labels that occur {why} can't be tested, so their rows were left out: {words}"
    kept = Target(asked.task, asked.y[~single], asked.remark)
    return _remarked(table.take(~single), remark), kept, together.take(~single)


def _complete(table: Table, values: Any, name: str) -> tuple[Table, Any, np.ndarray]:
    """Without the rows that have no target; and which rows those are that have one."""
    array = column_of_target(values, name)
    absent = missing(array)
    if not absent.any() or absent.all():
        return table, values, np.ones(len(table), dtype=bool)
    first, count = int(absent.argmax()) + 1, int(absent.sum())
    rows = f"row {first:,}, without {name!r}, was" if count == 1 else f"{count:,} rows without {name!r} were"
    remark = f"{rows} left out" + (f", the first of them row {first:,}" if count > 1 else "")
    return _remarked(table.take(~absent), remark), array[~absent], ~absent


def _remarked(table: Table, remark: str) -> Table:
    return Table(table.columns, len(table), (*table.remarks, remark))


def _same(column: np.ndarray, y: Any) -> bool:
    """Does a column hold just what y holds?"""
    return Table({"y": column}) == Table.of({"y": np.ravel(y)})


def name_of_target(y: Any) -> str:
    """What a series, or the one column of a data frame, is called; empty if it has no name."""
    names = list(y.columns) if hasattr(y, "columns") else [getattr(y, "name", None)]
    return "" if len(names) != 1 or names[0] is None else str(names[0])


def _truth_values(X: Any, name: str, words: np.ndarray) -> np.ndarray:
    """The target of a data frame as truth values, if it has them: in a `Table` they are words."""
    try:
        given = np.asarray(X[name])
    except (KeyError, IndexError, TypeError, ValueError):
        return words
    return given if given.dtype.kind == "b" and given.shape == words.shape else words


def require_rows(table: Table) -> None:
    if not table.names:
        raise ValueError("there is no column besides the target")
    if len(table) < FEWEST_ROWS:
        raise ValueError(
            f"{len(table)} rows are too few to choose and test a model on; {FEWEST_ROWS} is the least"
        )
