"""Which columns matter, how the prediction depends on them, and what they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer import plot
from mercer.plot.text import plain, shortened
from mercer.tables.model import Model
from mercer.tables.model.evidence import Importance
from mercer.tables.model.places import middle, places
from mercer.tables.model.schema import Column
from mercer.tables.model.texts import Text
from mercer.tables.model.weights import Word
from mercer.tables.reading import Table
from mercer.tables.report.model.directions import metrics_of
from mercer.tables.report.model.words import MOST, amount, counted, listed, more, percent
from mercer.tables.report.page import Report

_CURVES = 3
_NAME = 60
# Words of one label and column that are shown.
_WORDS = 15


def matter(page: Report, model: Model) -> None:
    """Permutation importance, and length scales beside."""
    page.section("Which columns matter")
    e = model.evidence
    read = {encoder.name for encoder in model.columns.encoders_}
    ranked = [i for i in e.importance if i.column in read]
    shown = ranked[:MOST]
    unit = "RMSE" if model.task == "regression" else "error rate"
    height = 0.85 + 0.235 * len(shown)
    page.text(_weighty(ranked))
    figures = [
        (
            plot.importance(shown, plot.axes(3.9, height), unit=unit),
            f"By how much the {unit} on test rows grows when the values of one column are shuffled, which "
            "breaks its tie with the target. Lines show the spread of several shuffles. Columns that say "
            "the same thing stand in for each other, and each then looks less important than it is.",
        )
    ]
    if any(i.length is not None for i in shown):
        figures.append(
            (
                plot.length_scales(shown, plot.axes(3.9, height)),
                "The length scale of each column (the shortest, where it has several), in units of its "
                "spread. Over a distance well below it the prediction hardly changes; a long one means "
                "that the column hardly counts, or counts as a straight line.",
            )
        )
    page.figures(figures)
    if len(figures) == 1 and metrics_of(model):
        page.text("Distances are measured by a learned metric, below, and not column by column.")
    elif len(figures) == 1:
        page.text("There is one length scale for all columns: separate ones did not pay on this table.")
    rest = more(len(ranked), "column")
    if rest:
        page.text(f"The {MOST} most important columns are shown, {rest} follow.")


def _weighty(items: list[Importance]) -> str:
    clear = [i for i in items if i.increase > 2 * i.spread and i.increase > 0]
    if not clear:
        return "No column stands out: shuffling any of them changes the test error no more than chance would."
    names = [shortened(i.column, _NAME) for i in clear[:3]]
    verb = "matters" if len(names) == 1 else "matter"
    total = (
        f" Of {counted(len(items), 'column')}, {len(clear)} make a difference that several shuffles agree on."
    )
    return f"{listed(names)} {verb} most." + (total if len(items) > 3 else "")


def words(page: Report, model: Model) -> None:
    """Words of texts, by their weights."""
    found = model.evidence.words
    if not found:
        return
    page.section("Which words carry it")
    labels = model.classes_ is not None
    page.text(
        "A text counts by its words or parts of words: each has a weight, and what a text adds to the "
        + ("score of a label" if labels else "prediction")
        + " is the sum of the weights of what is in it, rare ones counting more and long texts no more than "
        "short ones. A weight says what comes with a word in this table, not what causes what."
    )
    shown = _by_side(found)
    page.table(
        (
            "for" if labels else "which way",
            "column",
            "words and parts of words, those that change most first",
        ),
        [(side, shortened(column, _NAME), listing) for side, column, listing in shown],
        "Parts of words are in quotes; ␣ is the beginning or the end of a word."
        if any(word.of != "words" for word in found)
        else "A word that is in every text changes nothing, however much it weighs.",
    )


def _by_side(found: tuple[Word, ...]) -> list[tuple[str, str, str]]:
    """(label or direction, column, words), each label's heaviest words first."""
    out: dict[tuple[str, str], list[str]] = {}
    for word in found:
        side = str(word.label) if word.label is not None else "raises" if word.weight > 0 else "lowers"
        text = word.text if word.of == "words" else f"“{word.text.replace(' ', '␣')}”"
        out.setdefault((side, word.column), []).append(shortened(text, _NAME))
    return [(side, column, ", ".join(listed[:_WORDS])) for (side, column), listed in sorted(out.items())][
        :MOST
    ]


def dependence(page: Report, model: Model) -> None:
    """Predictions along the most important columns."""
    used = {e.name for e in model.columns.encoders_ if not isinstance(e, Text)}
    top = [i.column for i in model.evidence.importance if i.increase > 0 and i.column in used]
    views = [v for v in (along(model, name) for name in top[:_CURVES]) if len(v.values) > 1]
    if not views:
        return
    page.section("How it depends on them")
    regression = model.task == "regression"
    page.text(
        "Each figure follows one column over its values while all the others are held at their middle: "
        "numbers at their mean or median, words at the most frequent one, dates halfway. It shows one cut "
        "through the model, for a row that may not exist: elsewhere a curve can look different, and one "
        "that is flat here need not be flat there."
    )
    if any(view.column.kind == "date" for view in views):
        page.text("Over a long time dates go in whole weeks, so that days of the week stay out of the curve.")
    limits = _limits(views) if regression else None
    page.figures([_view(model, view, limits) for view in views])


def _view(model: Model, view: Along, limits: tuple[float, float] | None) -> tuple:
    regression, words = model.task == "regression", view.values.dtype.kind == "O"
    ax = plot.dependence(
        view.values,
        view.curves,
        view.labels,
        plot.axes(3.0, 2.45 + 0.15 * len(view.labels)),
        band=view.band,
        share=not regression,
    )
    what = plain(model.target, 22) if regression else "probability"
    if len(view.labels) == 1 and not regression:
        what = f"probability of {plain(view.labels[0], 14)}"
    (ax.set_xlabel if words else ax.set_ylabel)(what)
    if not words:
        ax.set_xlabel(plain(view.column.name, 30))
    if limits is not None:
        (ax.set_xlim if words else ax.set_ylim)(*limits)
    caption = shortened(view.column.name, _NAME)
    if regression and view.band is not None:
        caption += ", with 90 % prediction intervals"
    classes = 0 if model.classes_ is None else len(model.classes_)
    if not regression and len(view.labels) < classes and classes > 2:
        caption += f": the {len(view.labels)} of {classes} labels whose probability changes most"
    categories = len(view.column.categories or ())
    if words and categories > len(view.values):
        caption += f"; the {len(view.values)} most frequent of {categories:,} words"
    return ax, caption + "."


def _limits(views: list[Along]) -> tuple[float, float]:
    """One scale for all, so that the figures can be compared."""
    parts = [v.curves.ravel() for v in views] + [v.band.ravel() for v in views if v.band is not None]
    values = np.concatenate(parts)
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def columns(page: Report, model: Model) -> None:
    """Kinds, gaps, ranges; what was left out."""
    page.section("The columns")
    e = model.evidence
    by_name = {c.name: c for c in model.schema.columns}
    coordinates = {c.name: len(c.names_out()) for c in model.columns.encoders_}
    order = [by_name[i.column] for i in e.importance if i.column in coordinates]
    page.table(
        ("column", "kind", "values", "missing", "coordinates"),
        [
            (shortened(c.name, _NAME), c.kind, _values(c), _missing(c.missing), str(coordinates[c.name]))
            for c in order[:MOST]
        ],
        "The columns the model reads, the most important first. A word becomes a coordinate for each "
        "frequent level and, where there are many levels, the mean of the target in its level; a date time "
        "and places on the circles of year, week and day; gaps are filled with the middle and marked. A text "
        "stays what it is, and a missing one is empty.",
        more=more(len(order), "column"),
    )
    if e.dropped:
        dropped = list(e.dropped.items())
        page.table(
            ("column", "why"),
            [(shortened(name, _NAME), why) for name, why in dropped[:MOST]],
            f"Left out, as they say nothing a model could use: {counted(len(dropped), 'column')}.",
            more=more(len(dropped), "column"),
        )


def _values(column: Column) -> str:
    if column.kind == "category":
        words = column.categories or ()
        shown = ", ".join(shortened(w, 16) for w in words[:3])
        return f"{counted(len(words), 'word')}: {shown}" + (", …" if len(words) > 3 else "")
    if column.kind == "text":
        return "free text"
    if column.low is None:
        return "none"
    if column.kind == "date":
        return f"{_date(column.low)} to {_date(column.high)}"
    return f"{amount(column.low)} to {amount(column.high)}"


def _date(text: str) -> str:
    day, _, time = text.partition("T")
    return day if not time or set(time) <= set("0:.") else f"{day} {time[:5]}"


def _missing(share: float) -> str:
    if share == 0 or math.isnan(share):
        return "0 %"
    return percent(share) if share >= 0.001 else "< 0.1 %"


@dataclass(frozen=True, eq=False)
class Along:
    """Predictions along one column."""

    column: Column
    values: np.ndarray  # (m,) values of the column: numbers, dates or words
    curves: np.ndarray  # (m, t) predictions, or probabilities of classes
    labels: tuple[str, ...]  # t names of the curves
    band: np.ndarray | None  # (m, 2) 90 % prediction intervals, or None


def along(model: Model, name: str, most: int = 5) -> Along:
    """Predictions with one column running over its values and every other one at its middle.

    The middle is the mean of numbers (the median where outliers were squashed), the most frequent word, and
    the middle of a span of time. Of many classes those are kept whose probability changes most.

    Examples
    --------
    >>> import mercer, numpy as np
    >>> x = np.linspace(0, 6, 20)
    >>> model = mercer.fit({"x": x, "of": ["a", "b"] * 10}, np.sin(x), minutes=0.05)
    >>> along(model, "x").curves.shape, along(model, "of").values.tolist()
    ((120, 1), ['a', 'b'])
    """
    encoders = {e.name: e for e in model.columns.encoders_}
    column = next(c for c in model.schema.columns if c.name == name)
    values = places(column, encoders[name])
    table = Table(
        {
            c.name: values if c.name == name else np.repeat(middle(encoders[c.name]), len(values))
            for c in model.schema.columns
            if c.name in encoders
        }
    )
    if model.task == "regression":
        band = model.predict_interval(table)
        return Along(
            column,
            values,
            np.reshape(model.predict(table), (-1, 1)),
            (model.target,),
            band if np.isfinite(band).all() else None,
        )
    P, classes = model.predict_proba(table), np.asarray(model.classes_)
    if len(classes) == 2:
        return Along(column, values, P[:, 1:], (str(classes[1]),), None)
    # Those that move most; where nothing moves, those that are most probable.
    order = np.argsort(-(np.ptp(P, axis=0) + 1e-3 * P.mean(axis=0)), kind="stable")[:most]
    kept = np.sort(order)
    return Along(column, values, P[:, kept], tuple(str(c) for c in classes[kept]), None)
