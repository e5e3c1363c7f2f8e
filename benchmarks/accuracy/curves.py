"""Error against the number of training rows, on the same test rows; and where more rows make it worse."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.results import COMPARED_FOLDS, Results, in_standard_errors
from benchmarks.accuracy.score import ERROR

BEYOND_NOISE = 2.0  # standard errors of the difference


@dataclass(frozen=True)
class Point:
    """The error after so many rows; `se` where predictions or their losses were kept.

    `rise` is how much more it is than the smallest error that fewer rows gave, in standard errors.
    """

    set: str
    method: str
    rows: int
    error: float
    se: float | None
    rise: float | None

    @property
    def is_worse(self) -> bool:
        return self.rise is not None and self.rise > BEYOND_NOISE


def points(results: Results) -> list[Point]:
    """Of every table and method with results at two caps of rows or more, by set, method and rows."""
    found: dict[tuple[str, str], dict[int, dict[int | None, dict]]] = {}
    largest: dict[str, int] = {}
    for r in results.everything:
        largest[r["set"]] = max(largest.get(r["set"], 0), r["of"])
    for r in results.everything:
        if r["status"] == "ok" and (r["fold"] is None or r["fold"] in COMPARED_FOLDS):
            # Folds differ by a row or two: where all rows are taken that is one number.
            rows = largest[r["set"]] if r["rows"] == r["of"] else r["rows"]
            found.setdefault((r["set"], r["method"]), {}).setdefault(rows, {})[r["fold"]] = r
    out = []
    for (name, method), levels in sorted(found.items()):
        if len(levels) > 1:
            out += _curve(results, name, method, levels)
    return out


def _curve(
    results: Results, name: str, method: str, levels: dict[int, dict[int | None, dict]]
) -> list[Point]:
    out: list[Point] = []
    before: tuple[float, float | None, dict[int | None, dict]] | None = None  # the best with fewer rows
    for rows in sorted(levels):
        folds = _measured(levels[rows])
        error = float(np.mean([r[ERROR[r["task"]]] for r in folds.values()]))
        spread = [r.get("se") for r in folds.values()]
        se = None if None in spread else float(np.linalg.norm(np.array(spread, float)) / len(spread))
        rise = None if before is None else _rise(results, (error, se, folds), before)
        out.append(Point(name, method, rows, error, se, rise))
        if before is None or error < before[0]:
            before = error, se, folds
    return out


def _measured(folds: dict[int | None, dict]) -> dict[int | None, dict]:
    """Without what a page showed, where something was measured."""
    return {fold: r for fold, r in folds.items() if fold is not None} or folds


def _rise(results: Results, now: tuple, before: tuple) -> float | None:
    (error, se, folds), (least, se_before, folds_before) = now, before
    if folds.keys() == folds_before.keys():
        pairs = [results.row_by_row(folds[fold], folds_before[fold]) for fold in folds]
        if all(d is not None for d in pairs):
            return in_standard_errors(np.concatenate(pairs))
    known = [s for s in (se, se_before) if s]
    if not known:
        return None
    return (error - least) / float(np.hypot(known[0], known[-1]))


def as_csv(found: list[Point]) -> str:
    """For figures: a line a point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["set", "method", "rows", "error", "se", "rise_in_se", "worse"])
    for p in found:
        cells = ["" if x is None else f"{x:.6g}" for x in (p.error, p.se, p.rise)]
        writer.writerow([p.set, p.method, p.rows, *cells, int(p.is_worse)])
    return text.getvalue()
