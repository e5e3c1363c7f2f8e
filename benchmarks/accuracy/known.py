"""Results that a page already shows, as records beside those that are measured: peers need not run again.

They are marked (`known`) and are means over the folds of a table, with as many digits as the page shows.
Shares of wrong rows are shares of a known number of rows, so that they are exact again. Where a best number
is printed like one that isn't best, the other is raised by less than a digit: the page's own order is kept.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.accuracy import ours, page, sets
from benchmarks.accuracy.report import HEADS, TITLES
from benchmarks.accuracy.runner import OURS
from benchmarks.accuracy.score import ERROR

STATUS = {"too slow": "timeout", "failed": "error"}
ABOVE = 1 + 1e-8
_METHODS = {title: method for method, title in TITLES.items()}
_TASKS = {title: task for task, (title, _) in HEADS.items()}
_LOSS = "Log loss, where there are probabilities"


def records(path: Path) -> tuple[list[dict], list[str]]:
    """The page's results, and the names of tables that aren't in the data folder."""
    found: dict[tuple[str, str], dict] = {}
    absent: list[str] = []
    for table in page.tables(path.read_text()):
        if table.heading in _TASKS and table.names[:3] == ["table", "n", "d"]:
            for row in table.rows:
                cells = dict(zip(table.names, row))
                if cells["table"] not in sets.SETS or not sets.path(cells["table"]).exists():
                    absent.append(cells["table"])
                else:
                    _errors(_TASKS[table.heading], cells, path.name, found)
        elif table.heading == _LOSS and table.names[:1] == ["table"]:
            for row in table.rows:
                for title, cell in zip(table.names[1:], row[1:]):
                    record = found.get((row[0], _METHODS.get(title, "")))
                    if record and (number := _number(cell)) is not None:
                        record["logloss"] = number
    return list(found.values()), absent


def _errors(task: str, cells: dict[str, str], name: str, found: dict[tuple[str, str], dict]) -> None:
    """One row of a table of errors, a record for every method that is in it."""
    table, n, d = cells["table"], *(int(cells[key].replace(",", "")) for key in "nd")
    numbers = {title: _number(cells[title]) for title in _METHODS if title in cells}
    test = sum(len(sets.test_answers(table, fold)) for fold in sets.folds(table))
    best = min(number for number in numbers.values() if number is not None)
    for title, number in numbers.items():
        method, cell = _METHODS[title], cells[title]
        if number is None and cell not in STATUS:
            continue
        record = {
            "set": table,
            "fold": None,
            "method": method,
            "rows": n,
            "minutes": ours.MINUTES if method == OURS else None,
            "version": name,
            "known": True,
            "folds": list(sets.folds(table)),
            "task": task,
            "of": n if n < sets.MAX_TRAIN else sets.training_rows(table),
            "n": n,
            "d": d,
        }
        if number is None:
            record |= {"status": STATUS[cell], "message": cell}
        else:
            error = number / HEADS[task][1]
            if task == "classification":
                record |= {"status": "ok", **_share(error, test)}
            else:
                level = number == best and "*" not in cell
                record |= {"status": "ok", ERROR[task]: error * (ABOVE if level else 1)}
        found[table, method] = record


def _share(error: float, test: int) -> dict[str, float]:
    """The share of so many test rows that is printed as `error`, and its standard error."""
    share = round(error * test) / test
    if abs(share - error) > 1e-3 * error:  # folds of unequal size: a mean of shares is no share
        share = error
    return {"error": share, "se": (share * (1 - share) / test) ** 0.5}


def _number(cell: str) -> float | None:
    try:
        return float(cell.strip("*"))
    except ValueError:
        return None
