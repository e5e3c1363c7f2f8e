"""A fitted model: predictions of every kind agree with one another, whatever the table comes in."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline

import mercer
from mercer.tables.model import Model
from mercer.tables.reading import Table, TableError


@pytest.fixture(params=["price_model", "species_model", "yes_model"])
def asked(request, houses, flowers):
    """(model, table, y) of each task."""
    model = request.getfixturevalue(request.param)
    table, species = flowers
    return model, *{
        "price_model": houses,
        "species_model": flowers,
        "yes_model": (table, np.where(species == "rose", "yes", "no")),
    }[request.param]


def test_what_it_is(asked):
    model, table, y = asked
    assert isinstance(model, Model)
    assert model.schema.names == tuple(table)
    assert len(model.predict(table)) == len(y)
    if model.task == "regression":
        assert model.classes_ is None and model.predict(table).dtype == np.float64
    else:
        assert model.classes_.tolist() == sorted(set(y))
        assert set(model.predict(table)) <= set(y)


def test_names_and_tasks(price_model, species_model, yes_model):
    assert [m.task for m in (price_model, species_model, yes_model)] == ["regression"] + [
        "classification"
    ] * 2
    assert [m.target for m in (price_model, species_model, yes_model)] == ["price", "y", "rose?"]
    assert "rose?" not in yes_model.schema.names


def test_it_has_learned(price_model, species_model, yes_model, houses, flowers):
    assert price_model.evidence.scores[2].value > 0.85
    assert species_model.evidence.scores[0].value < 0.2
    assert yes_model.evidence.scores[0].value < 0.2


def test_score(asked):
    model, table, y = asked
    expected = (r2_score if model.task == "regression" else accuracy_score)(y, model.predict(table))
    assert model.score(table, y) == pytest.approx(expected)


# -- probabilities and intervals ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["species_model", "yes_model"])
def test_probabilities_agree_with_predictions(name, request, flowers):
    model = request.getfixturevalue(name)
    rng = np.random.default_rng(5)
    wide = {"long": rng.normal(0, 4, 500), "wide": rng.normal(0, 4, 500), "luck": rng.normal(0, 4, 500)}
    for table in (flowers[0], wide):
        P = model.predict_proba(table)
        assert P.shape == (len(table["long"]), len(model.classes_))
        assert (P >= 0).all() and np.allclose(P.sum(axis=1), 1)
        assert (model.classes_[P.argmax(axis=1)] == model.predict(table)).all()


def test_intervals(price_model, houses):
    table, y = houses
    middle = price_model.predict(table)
    before = None
    for coverage in (0.3, 0.5, 0.9, 0.95):
        low, high = price_model.predict_interval(table, coverage).T
        assert (low + high) / 2 == pytest.approx(middle)
        assert (low < high).all()
        if before is not None:
            assert (low <= before[0]).all() and (high >= before[1]).all()
        before = low, high
    low, high = price_model.predict_interval(table).T
    assert np.mean((low <= y) & (y <= high)) > 0.85
    # 110 errors are not enough to be sure of 999 in 1000.
    assert np.isinf(price_model.predict_interval(table, 0.999)).all()


def test_what_a_task_has_not(price_model, species_model, houses, flowers):
    with pytest.raises(AttributeError, match="predict_interval gives prediction intervals"):
        price_model.predict_proba(houses[0])
    with pytest.raises(AttributeError, match="predict_proba gives probabilities"):
        species_model.predict_interval(flowers[0])
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        price_model.predict_interval(houses[0], 90)


# -- tables ------------------------------------------------------------------------------------------


def test_any_container(price_model, houses):
    table, _ = houses
    expected = price_model.predict(table)
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    arrow = pa.table({k: pa.array(v, from_pandas=True) for k, v in table.items()})
    for same in (pd.DataFrame(table), pl.DataFrame(table), arrow, records, Table.of(table)):
        np.testing.assert_array_equal(price_model.predict(same), expected)


def test_columns_go_by_name_and_unused_ones_need_not_come(price_model, houses):
    table, _ = houses
    expected = price_model.predict(table)
    assert set(price_model.evidence.dropped) == {"id", "country"}
    few = {name: table[name] for name in ("noise", "garden", "sold", "city", "size")}
    np.testing.assert_array_equal(price_model.predict(few), expected)
    np.testing.assert_array_equal(price_model.predict({**table, "more": [0] * 110}), expected)
    with pytest.raises(TableError, match="needs the columns 'size', 'city'"):
        price_model.predict({"sold": table["sold"], "garden": table["garden"], "noise": table["noise"]})


def test_one_row_at_a_time(asked):
    model, table, _ = asked
    whole, rows = model.predict(table), Table.of(table)
    for i in (0, 7, 60):
        one = model.predict(rows.take([i]))[0]
        assert one == (pytest.approx(whole[i], rel=1e-9) if model.task == "regression" else whole[i])
        record = {name: rows[name][i] for name in rows}
        assert model.predict(record).tolist() == [one]
        if model.task == "regression":
            np.testing.assert_array_equal(
                model.predict_interval(record), model.predict_interval(rows.take([i]))
            )
        else:
            np.testing.assert_array_equal(model.predict_proba(record), model.predict_proba(rows.take([i])))
        assert model.outside(record) == model.outside(rows.take([i]))


def test_arrays_with_a_column_that_says_nothing(hasty):
    """Without names columns go by place, those that are left out included."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(20), np.ones(20), rng.standard_normal(20)])
    model = mercer.fit(X, X[:, 0] + X[:, 2], minutes=0.01)
    assert set(model.evidence.dropped) == {"x2"}
    assert model.predict(X).shape == (20,) and model.predict_interval(X).shape == (20, 2)
    assert model.outside(X) == () and len(model.outside(X + 100)) == 40
    np.testing.assert_array_equal(model.predict({"x1": X[:, 0], "x3": X[:, 2]}), model.predict(X))


def test_intervals_widen_beyond_what_was_seen(price_model, houses):
    row = {"size": 100.0, "city": "Bonn", "sold": "2022-01-01", "garden": True, "noise": 0.0}
    rows = [{**row, "size": s} for s in (100.0, 200.0, 400.0, 4000.0)]
    low, high = price_model.predict_interval(rows).T
    assert (np.diff(high - low) > 0).all()
    assert (low + high) / 2 == pytest.approx(price_model.predict(rows))
    told = [str(o) for o in price_model.outside(rows)]
    assert len(told) == 3 and all(" size = " in line for line in told) and told[0].startswith("row 2:")


def test_new_words_gaps_and_far_values(price_model):
    odd = [
        {"size": None, "city": None, "sold": None, "garden": None, "noise": None},
        {"size": 1e300, "city": "Atlantis", "sold": "9999-12-31", "garden": True, "noise": -1e300},
        {"size": 0, "city": "", "sold": "0001-01-01", "garden": "perhaps", "noise": 0},
    ]
    assert np.isfinite(price_model.predict(odd)).all()
    assert np.isfinite(price_model.predict_interval(odd)).all()


def test_no_rows_have_no_predictions(asked):
    model, table, _ = asked
    frame = pd.DataFrame(table)
    one = frame[:1]
    nothing = (Table.of(table).take([]), frame[:0], pl.DataFrame(table)[:0], {name: [] for name in table}, [])
    methods = ("predict", "predict_interval" if model.task == "regression" else "predict_proba")
    for empty in (*nothing, np.empty((0, len(table)))):
        for method in methods:
            found, like = getattr(model, method)(empty), getattr(model, method)(one)
            assert (found.shape, found.dtype) == ((0, *like.shape[1:]), like.dtype), method
        assert model.outside(empty) == ()
    # What is not there must still be asked for in the right way.
    with pytest.raises(TableError, match="the model needs the column"):
        model.predict(frame[:0].drop(columns=model.columns.encoders_[0].name))
    with pytest.raises(TableError, match="an array without names must have"):
        model.predict(np.empty((0, len(table) + 1)))


# -- as an object ------------------------------------------------------------------------------------


def test_the_pipeline_predicts_the_same(asked):
    model, table, _ = asked
    pipeline = model.pipeline_
    assert isinstance(pipeline, Pipeline) and [name for name, _ in pipeline.steps] == ["columns", "machine"]
    np.testing.assert_array_equal(pipeline.predict(pd.DataFrame(table)), model.predict(table))
    points = pipeline[:-1].transform(table)
    assert points.shape == (len(table[next(iter(table))]), len(pipeline[:-1].get_feature_names_out()))


def test_copies(asked):
    model, table, _ = asked
    expected = model.predict(table)
    for same in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(same.predict(table), expected)
        assert same.summary() == model.summary()


def test_predicting_changes_nothing(asked):
    model, table, _ = asked
    before = {name: np.array(values, dtype=object) for name, values in table.items()}
    said = model.summary()
    model.predict(table)
    assert model.summary() == said
    for name, values in table.items():
        same = [a == b or a != a for a, b in zip(values, before[name], strict=True)]
        assert all(same)


def test_in_one_line(asked):
    model, _, _ = asked
    line = str(model)
    assert "\n" not in line and "λ = " in line and "coefficients" in line
    assert type(model.machine).__name__ in line
    assert repr(model).startswith(f"<Model of {model.target!r}: ") and "test rows>" in repr(model)
