"""The answer first: how far off predictions are, and how that compares."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mercer import plot
from mercer.tables.model import Model
from mercer.tables.model.evidence import Contender, Score
from mercer.tables.report.model.words import amount, counted, listed, percent
from mercer.tables.report.page import Report


def asked(model: Model, source: str | None) -> str:
    """What was asked, in a sentence."""
    e = model.evidence
    if model.task == "regression":
        what = "a number"
    else:
        what = f"one of {counted(len(model.classes_ if model.classes_ is not None else ()), 'label')}"
    table = f"{source}, " if source else "a table of "
    return (
        f"Asked: what is {model.target}, {what}, given {counted(len(model.schema.columns), 'other column')} "
        f"of {table}{counted(e.rows, 'row')}?"
    )


def answer(page: Report, model: Model) -> None:
    """Headline, and the comparison with simpler and different models."""
    page.section("The answer")
    regression = model.task == "regression"
    page.text(_regression_words(model) if regression else _classification_words(model))
    page.tiles(_regression_tiles(model) if regression else _classification_tiles(model))
    e = model.evidence
    constant = "always the mean" if regression else "always the likeliest"
    names = ["this model", *(constant if c.name == "constant" else c.name for c in e.contenders[1:])]
    ax = plot.contenders(names, [c.scores[0] for c in e.contenders], plot.axes(3.9, 0.75 + 0.47 * len(names)))
    caption = "Each model on the same test rows; lines are 95 % confidence intervals."
    with page.beside():
        page.text(*_compared(e.contenders, regression), f"Tested by {e.how}.")
        page.figure(ax, caption)


def _regression_words(model: Model) -> str:
    e = model.evidence
    size = np.abs(e.truth - e.predicted)
    rmse = e.scores[0]
    return (
        f"On rows it had not seen, the model is typically off by {amount(rmse.value)}; with 95 % confidence "
        f"this lies between {amount(rmse.low)} and {amount(rmse.high)}. Half of its predictions are off by "
        f"less than {amount(float(np.median(size)))}, one in ten by more than "
        f"{amount(float(np.quantile(size, 0.9)))}. For comparison, {model.target} itself runs from "
        f"{amount(float(e.truth.min()))} to {amount(float(e.truth.max()))}."
    )


def _classification_words(model: Model) -> str:
    e = model.evidence
    wrong = e.scores[0]
    n, errors = len(e.truth), int(np.sum(e.truth != e.predicted))
    return (
        f"Of {n:,} rows it had not seen, the model gave {errors:,} the wrong label: "
        f"{_in_a_hundred(wrong.value)}. With 95 % confidence its error rate lies between "
        f"{percent(wrong.low)} and {percent(wrong.high)}."
    )


def _in_a_hundred(share: float) -> str:
    """About 3 in 100."""
    if share == 0:
        return "none at all"
    if share < 0.005:
        return f"about {max(round(1000 * share), 1)} in 1,000"
    return f"about {round(100 * share)} in 100"


def _regression_tiles(model: Model) -> list[tuple[str, str, str]]:
    rmse, mae, r2 = model.evidence.scores
    tiles = [
        _tile(rmse, "typical error (RMSE)", amount),
        _tile(mae, "average error (MAE)", amount),
        _tile(r2, "of variation explained (R²)", partial(percent, places=0 if r2.high < 0.98 else 2)),
    ]
    held = dict(model.evidence.coverage).get(0.9)
    if held is not None:
        tiles.append((percent(held), "of test rows inside", "the 90 % prediction intervals"))
    return tiles


def _classification_tiles(model: Model) -> list[tuple[str, str, str]]:
    wrong, right, log_loss = model.evidence.scores
    value, name, sure = _tile(log_loss, "log loss", amount)
    return [
        _tile(wrong, "error rate", percent),
        _tile(right, "accuracy", percent),
        (value, name, f"judges probabilities; {sure}"),
    ]


def _tile(score: Score, name: str, show: Callable[[float], str]) -> tuple[str, str, str]:
    """A score, what it is, and how sure it is."""
    return show(score.value), name, f"95 % interval {show(score.low)} to {show(score.high)}"


def _compared(contenders: tuple[Contender, ...], regression: bool) -> list[str]:
    """Sentences: better than which, worse than which, and where it may be chance."""
    ours = contenders[0].scores[0]
    constant = "always predicting the mean" if regression else "always giving the most frequent label"
    names = {"constant": constant, "linear model": "a linear model"}
    better, equal, worse = [], [], []
    for c in contenders[1:]:
        theirs, name = c.scores[0], names.get(c.name, c.name)
        if ours.low <= theirs.high and theirs.low <= ours.high:
            equal.append(f"{name} ({_apart(ours.value, theirs.value)})")
        elif ours.value < theirs.value:
            better.append(f"that of {name} ({_apart(ours.value, theirs.value)})")
        else:
            worse.append(f"that of {name} ({_apart(ours.value, theirs.value)})")
    out = []
    what = "root mean squared error" if regression else "error rate"
    if better:
        out.append(f"Its {what} is clearly below {listed(better)}.")
    if equal:
        out.append(f"It is close to {listed(equal)}: the intervals overlap, so the difference may be chance.")
    if worse:
        out.append(
            f"Its {what} is clearly above {listed(worse)}. On this table that model is the better choice; "
            "more minutes for the search, or columns in a form that says more, may change this."
        )
    return out


def _apart(ours: float, theirs: float) -> str:
    if ours == theirs:
        return "the same error"
    if theirs == 0 or ours == 0:
        return f"error {amount(ours)} against {amount(theirs)}"
    change = ours / theirs - 1
    size = f"{100 * abs(change):.0f}" if abs(change) >= 0.01 else f"{100 * abs(change):.1f}"
    return f"error {size} % {'smaller' if change < 0 else 'larger'}"
