"""The answer first: how far off predictions are, and how that compares."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mercer import plot
from mercer.tables.model import Model
from mercer.tables.model.scores import Contender, Score
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
    e = model.evidence
    first = [] if e.scores[0].name in ("RMSE", "error rate") else [_first_words(e.scores[0])]
    page.text(*first, _regression_words(model) if regression else _classification_words(model))
    if e.sentences:
        page.note(*(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in e.sentences))
    if e.cut:
        page.note(*(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in e.cut), warn=True)
    page.tiles(_regression_tiles(model) if regression else _classification_tiles(model))
    constant = "always the mean" if regression else "always the likeliest"
    names = ["this model", *(constant if c.name == "constant" else c.name for c in e.contenders[1:])]
    ax = plot.contenders(names, [c.scores[0] for c in e.contenders], plot.axes(3.9, 0.75 + 0.47 * len(names)))
    caption = "Each model on the same test rows; lines are 95 % confidence intervals."
    with page.beside():
        page.text(*_compared(e.contenders, regression), f"Tested by {e.how}.")
        page.figure(ax, caption)


_MEANING = {
    "AUC": "the share of pairs of rows, one with a label and one without, that are in the right order by "
    "its probability; 0.5 is chance",
    "average precision": "the share of a label among rows at least as likely as each of its own, on average",
    "balanced accuracy": "the share of rows that were given their label, averaged over labels",
    "mean cost": "what errors cost on average, a row",
    "weighted error rate": "the share of wrong labels, rows counting by the weights of their labels",
}


def _first_words(score: Score) -> str:
    """The chosen metric, and what it is."""
    what = f", {_MEANING[score.name]}" if score.name in _MEANING else ""
    return (
        f"Judged by {score.name}{what}: on rows it had not seen it is {amount(score.value)}, with 95 % "
        f"confidence between {amount(score.low)} and {amount(score.high)}."
    )


def _named(scores: tuple[Score, ...], name: str) -> Score:
    return next(s for s in scores if s.name == name)


def _regression_words(model: Model) -> str:
    e = model.evidence
    size = np.abs(e.truth - e.predicted)
    rmse = _named(e.scores, "RMSE")
    return (
        f"On rows it had not seen, the model is typically off by {amount(rmse.value)}; with 95 % confidence "
        f"this lies between {amount(rmse.low)} and {amount(rmse.high)}. Half of its predictions are off by "
        f"less than {amount(float(np.median(size)))}, one in ten by more than "
        f"{amount(float(np.quantile(size, 0.9)))}. For comparison, {model.target} itself runs from "
        f"{amount(float(e.truth.min()))} to {amount(float(e.truth.max()))}."
    )


def _classification_words(model: Model) -> str:
    e = model.evidence
    wrong = _named(e.scores, "error rate")
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
    scores = model.evidence.scores
    rmse, mae, r2 = (_named(scores, name) for name in ("RMSE", "MAE", "R²"))
    tiles = [
        _tile(rmse, "typical error (RMSE)", amount),
        _tile(mae, "average error (MAE)", amount),
        _tile(r2, "of variation explained (R²)", partial(percent, places=0 if r2.high < 0.98 else 2)),
    ]
    tiles.insert(0, tiles.pop([rmse, mae, r2].index(scores[0])))
    held = dict(model.evidence.coverage).get(0.9)
    if held is not None:
        tiles.append((percent(held), "of test rows inside", "the 90 % prediction intervals"))
    return tiles


def _classification_tiles(model: Model) -> list[tuple[str, str, str]]:
    scores, tiles = model.evidence.scores, []
    for score in scores:
        if score.name in ("error rate", "accuracy"):
            tiles.append(_tile(score, score.name, percent))
        else:
            value, name, sure = _tile(score, score.name, amount)
            tiles.append((value, name, f"{_JUDGES[name]}; {sure}"))
    return tiles


_JUDGES = {
    "log loss": "judges probabilities",
    "AUC": "judges order; 0.5 is chance",
    "average precision": "judges the order of the first",
    "balanced accuracy": "all labels count alike",
    "mean cost": "of errors, a row",
    "weighted error rate": "by the weights of labels",
}


def _tile(score: Score, name: str, show: Callable[[float], str]) -> tuple[str, str, str]:
    """A score, what it is, and how sure it is."""
    return show(score.value), name, f"95 % interval {show(score.low)} to {show(score.high)}"


def _compared(contenders: tuple[Contender, ...], regression: bool) -> list[str]:
    """Sentences: better than which, worse than which, and where it may be chance."""
    ours = contenders[0].scores[0]
    constant = "always predicting the mean" if regression else "always giving the most frequent label"
    names = {"constant": constant, "linear model": "a linear model"}
    better: list[str] = []
    equal: list[str] = []
    worse: list[str] = []
    for c in contenders[1:]:
        theirs, name = c.scores[0], names.get(c.name, c.name)
        said = f"{name} ({_apart(ours, theirs)})"
        side = _side(ours, c)
        if side:
            (better if side < 0 else worse).append(f"that of {said}")
        else:
            equal.append(said)
    out = []
    what = "root mean squared error" if ours.name == "RMSE" else ours.name
    above, below = ("above", "below") if ours.larger_is_better else ("below", "above")
    if better:
        out.append(f"Its {what} is clearly {above} {listed(better)}.")
    if equal:
        out.append(f"It is close to {listed(equal)}: the difference may be chance.")
    if worse:
        out.append(
            f"Its {what} is clearly {below} {listed(worse)}. On this table that model is the better choice; "
            "more minutes for the search, or columns in a form that says more, may change this."
        )
    return out


def _side(ours: Score, other: Contender) -> int:
    """1 if another one tested better beyond noise, −1 if worse, else 0."""
    theirs = other.scores[0]
    if other.apart is not None:
        return int(other.better) - int(other.worse)
    # A file of an earlier version knows the intervals only.
    if ours.low <= theirs.high and theirs.low <= ours.high:
        return 0
    return 1 if (theirs.value > ours.value) == ours.larger_is_better else -1


def _apart(ours: Score, theirs: Score) -> str:
    a, b = ours.value, theirs.value
    if ours.name not in ("RMSE", "MAE", "error rate", "log loss"):
        return f"the same {ours.name}" if a == b else f"{amount(a)} against {amount(b)}"
    if a == b:
        return "the same error"
    if a == 0 or b == 0:
        return f"error {amount(a)} against {amount(b)}"
    change = a / b - 1
    size = f"{100 * abs(change):.0f}" if abs(change) >= 0.01 else f"{100 * abs(change):.1f}"
    return f"error {size} % {'smaller' if change < 0 else 'larger'}"
