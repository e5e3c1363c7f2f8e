"""Curves along a column: what the model predicts for rows written down by hand."""

import numpy as np

from mercer.tables.model.places import days
from mercer.tables.report.model.columns import along


def _row(hostile, **other):
    return {"size": np.nan, "kind": "red", "sold": "2023-06-01", hostile: 0.0, "always": 1.0, **other}


def test_a_number(regression_model, hostile):
    view = along(regression_model, "size")
    centre = {e.name: e for e in regression_model.columns.encoders_}
    words = regression_model.schema.columns[1].categories
    rows = [
        _row(hostile, size=v, kind=words[0], sold=centre["sold"].centre, **{hostile: centre[hostile].centre})
        for v in view.values[[0, 60, 119]]
    ]
    np.testing.assert_allclose(view.curves[[0, 60, 119], 0], regression_model.predict(rows))
    np.testing.assert_allclose(view.band[[0, 60, 119]], regression_model.predict_interval(rows))
    column = regression_model.schema.columns[0]
    assert view.values.min() >= column.low and view.values.max() <= column.high


def test_words_and_dates(regression_model, hostile):
    view = along(regression_model, "kind")
    assert set(view.values) == {"red", "blue", hostile} and view.curves.shape == (3, 1)
    # The target was made with 4 more for red.
    red = view.values.tolist().index("red")
    assert view.curves[red] > np.delete(view.curves, red).max() + 1
    view = along(regression_model, "sold")
    assert view.values.dtype == "datetime64[us]"
    # A long span in whole weeks: the days of the week stay out of the curve.
    assert set(np.diff(view.values)) == {np.timedelta64(7, "D")}
    assert str(view.values[0])[:10] == regression_model.schema.columns[2].low[:10]
    assert view.curves[-1] > view.curves[0]  # and a hundredth more a day


def test_probabilities(classification_model, wide_model):
    view = along(classification_model, "pressure")
    assert view.labels == tuple(map(str, classification_model.classes_)) and view.band is None
    np.testing.assert_allclose(view.curves.sum(axis=1), 1)
    view = along(wide_model, "measurement no. 0")
    assert len(view.labels) == view.curves.shape[1] == 5
    order = [wide_model.classes_.tolist().index(label) for label in view.labels]
    assert order == sorted(order)


def testdays():
    first = np.datetime64("2024-01-01T06:00", "us")
    short = days(first, first + np.timedelta64(10, "D"))
    assert len(short) == 120 and short[0] == first and short[-1] == first + np.timedelta64(10, "D")
    long = days(first, first + np.timedelta64(7 * 1000, "D"))
    assert 90 < len(long) <= 121 and set(np.diff(long)) == {np.timedelta64(7 * 9, "D")}
