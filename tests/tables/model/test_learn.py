"""One pass from a table to a machine, and the same again on other rows."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Laplacian
from mercer.tables.model.columns import Columns
from mercer.tables.model.learn import Learned, Question, learn, refit
from mercer.tables.model.search import Candidate, Found
from mercer.tables.reading import Table


def silent(text):
    pass


def question(table, y):
    labels = np.asarray(y).dtype.kind != "f"
    return Question(
        Table.of(table),
        np.asarray(y),
        "classification" if labels else "regression",
        np.unique(y) if labels else None,
    )


def test_codes():
    numbers = question({"a": [1, 2, 3]}, [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(numbers.codes(), [[0.5], [1.5], [2.5]])
    two = question({"a": [1, 2, 3]}, ["no", "yes", "no"])
    np.testing.assert_array_equal(two.codes(), [[-1], [1], [-1]])
    three = question({"a": [1, 2, 3]}, ["b", "a", "c"])
    np.testing.assert_array_equal(three.codes(), [[-1, 1, -1], [1, -1, -1], [-1, -1, 1]])
    part = three.take(np.array([0, 1]))  # classes not among the rows keep their column
    np.testing.assert_array_equal(part.codes(), [[-1, 1, -1], [1, -1, -1]])


def test_one_pass():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 80)
    asked = question({"x": x, "w": rng.choice(["a", "b"], 80)}, np.sin(x))
    found = learn(asked, 1.0, 0, silent)
    assert isinstance(found, Learned) and found.calibration is None
    assert np.mean((found.predict(asked.table) - asked.y) ** 2) < 0.05
    assert found.predict([{"x": 1.5, "w": "new"}]) == pytest.approx([1.0], abs=0.4)


def fitted(asked, lengths):
    """As if a search had ended with these length scales."""
    columns = Columns().fit(asked.table)
    kernel = Laplacian(1.0, norm="l1").scaled(lengths)
    machine = KernelRidge(kernel, lam=1e-3, offset=True).fit(columns.transform(asked.table), asked.y)
    return Learned(columns, machine, None, Found(Candidate("keep", "laplacian l1", kernel, 0.1, 0.1), ()), ())


def test_refit_keeps_n_lambda():
    asked = question({"x": np.linspace(0, 1, 40)}, np.linspace(0, 1, 40))
    half = fitted(asked.take(np.arange(0, 40, 2)), [1.0])
    whole = refit(asked, half, 1.0, 0, silent)
    assert whole.machine.lam * 40 == pytest.approx(half.machine.lam * 20)
    assert whole.machine.kernel_ == half.machine.kernel_ and whole.machine.plan_.examples == 40
    # Centres and spreads are those of all rows.
    assert whole.columns.encoders_[0].centre == pytest.approx(0.5)


def test_length_scales_stay_with_their_categories():
    """Other rows, other frequencies: the order of the categories must not change under the length scales."""
    words = np.array(["a"] * 12 + ["b"] * 8 + ["c"] * 4 + ["b"] * 30)
    y = np.where(words == "a", 5.0, 0.0) + np.linspace(0, 0.1, len(words))
    asked = question({"w": words}, y)
    first = fitted(asked.take(np.arange(24)), [0.1, 50.0, 50.0])  # "a" is what matters
    assert first.columns.encoders_[0].levels == ("a", "b", "c")
    assert Columns().fit(asked.table).encoders_[0].levels == ("b", "a", "c")
    second = refit(asked, first, 1.0, 0, silent)
    assert second.columns.encoders_[0].levels == ("a", "b", "c")
    assert second.predict({"w": ["a"]})[0] == pytest.approx(5.0, abs=0.5)


def test_a_category_that_comes_late():
    words = np.array(["a", "b"] * 15 + ["c"] * 10)
    asked = question({"w": words}, np.arange(40.0))
    second = refit(asked, fitted(asked.take(np.arange(30)), [1.0]), 1.0, 0, silent)
    assert second.columns.encoders_[0].levels == ("a", "b") and len(second.predict(asked.table)) == 40


def test_labels_of_a_constant_part():
    """A class that the rows at hand do not have."""
    rng = np.random.default_rng(0)
    asked = question({"x": rng.standard_normal(60)}, np.repeat(["a", "b", "c"], 20))
    found = learn(asked.take(np.arange(40)), 0.5, 0, silent)
    assert found.machine.classes_.tolist() == ["a", "b"]
    assert found.predict_proba(asked.table).shape == (60, 2)
