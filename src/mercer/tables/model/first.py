"""A first model in a few seconds: what remains if there is no time for a better one."""

from __future__ import annotations

import numpy as np

from mercer._units import Split, alone, count, fewest_in_a_class, held_out, in_turn
from mercer.representations import Full
from mercer.tables.model.columns import Columns
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.effort import Effort
from mercer.tables.model.families import FIRST, ROUND, Found
from mercer.tables.model.learn import Learned, Question, Sought
from mercer.tables.model.machines import least_squares, some_rows
from mercer.tables.model.search import KernelSearch, silent

# Rows to learn from and to test, of how many; the time is not looked at.
_ROWS, _TEST = 800, 0.25
_MANY = 300
# To leave out many rows together takes as long as they are many: then fewer have to do.
_LARGE_UNIT, _FEW_ROWS = 100, 300


def first_part(
    question: Question, deadline: Deadline, seed: int
) -> tuple[np.ndarray, np.ndarray, Learned] | None:
    """Rows that were tested, rows that were learned from, and least squares with one width on these.

    None where there are texts and nothing else, or very many labels.
    """
    rows = np.sort(some_rows(question.y, question.task, seed, _ROWS))
    if np.unique(question.units[rows], return_counts=True)[1].max() > _LARGE_UNIT:
        order = np.random.default_rng(seed).permutation(len(question.y))
        rows = np.sort(in_turn(question.units, order)[:_FEW_ROWS])
    some = question.take(rows)
    if count(some.units) < 2 or len(rows) > 2 * _ROWS:
        return None
    train, test = _split(some, seed)
    if not len(test):
        return None
    seen = some.take(train)
    columns = Columns("keep", texts=seen.texts).fit(seen.table, seen.codes())
    if not columns.width:
        return None
    if seen.texts:
        columns = columns.with_texts((), seen.table, "which a first model does not look at")
    X, codes, n = seen.points(columns).astype(float), seen.codes(), len(train)
    effort = Effort(n, n, n, 0, 0, 1, by_folds=True)
    clock = deadline.clock(np.inf)
    search = KernelSearch(
        {"keep": X},
        codes,
        effort,
        clock,
        seed,
        silent,
        question.classes is not None,
        seen.units,
        metric=seen.metric.name,
    )
    # Of very many coordinates sums of differences take long, and lengths are a matter of products.
    [best] = search.widths("keep", FIRST if columns.width <= _MANY else ROUND)
    machine = least_squares(seen, best.kernel, best.mu, seed).set_params(representation=Full())
    sought = Sought(seen, columns, X, machine, Found(best, (best.trial,)), ())
    return rows[test], rows[train], sought.fitted(machine.fit(X, seen.y), seed)


def _split(some: Question, seed: int) -> Split:
    """Rows to learn from, with every label there is, and rows to test."""
    units, labels = some.units, None if some.classes is None else some.y
    size = max(int(_TEST * len(some.y)), 1)
    if labels is None:
        return held_out(units, size, None, seed)
    spread = alone(units) and len(np.unique(labels)) <= size and fewest_in_a_class(labels, units) >= 2
    train, test = held_out(units, size, labels if spread else None, seed)
    unknown = units[test][~np.isin(labels[test], labels[train])]
    moved = np.isin(units[test], unknown)
    return np.concatenate([train, test[moved]]), test[~moved]
