"""`mercer.fit` as estimators: scikit-learn's checks, its tools, tables of mixed columns, files."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import TableClassifier, TableRegressor
from mercer.io import ModelFileError
from mercer.tables import Table


@pytest.fixture(autouse=True)
def in_no_time(hasty):
    """No test here asks what a search finds: with next to no minutes it ends after its first candidates."""


@parametrize_with_checks([TableRegressor(minutes=1e-6), TableClassifier(minutes=1e-6)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def frame():
    """Mixed columns with gaps, of which two matter; and a number and a label of each row."""
    rng = np.random.default_rng(0)
    size, city = rng.uniform(0, 1, 70), rng.choice(["Bonn", "Kiel"], 70)
    price = 3 * size + (city == "Bonn") + 0.05 * rng.standard_normal(70)
    shown = np.where(np.arange(70) % 9 == 0, np.nan, size)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 70), "D")
    table = pd.DataFrame({"size": shown, "city": city, "day": day, "id": [f"row {i}" for i in range(70)]})
    return table, price, np.where(price > 2, "dear", "cheap")


def test_is_what_mercer_fit_gives(frame):
    table, price, label = frame
    model = mercer.fit(table, price, minutes=1e-6, random_state=3)
    made = TableRegressor(minutes=1e-6, random_state=3).fit(table, price)
    np.testing.assert_array_equal(made.predict(table), model.predict(table))
    np.testing.assert_array_equal(made.predict_interval(table, 0.8), model.predict_interval(table, 0.8))
    labels = mercer.fit(table, label, minutes=1e-6, metric="auc", threshold="auto")
    classifier = TableClassifier(minutes=1e-6, metric="auc", threshold="auto").fit(table, label)
    np.testing.assert_array_equal(classifier.predict(table), labels.predict(table))
    np.testing.assert_array_equal(classifier.predict_proba(table), labels.predict_proba(table))
    assert classifier.feature_names_in_.tolist() == ["size", "city", "day", "id"]
    assert classifier.n_features_in_ == 4 and classifier.classes_.tolist() == ["cheap", "dear"]


def test_scikit_learns_tools(frame):
    table, price, label = frame
    regressor = TableRegressor(minutes=1e-6)
    assert cross_val_score(regressor, table, price, cv=2).min() > 0.5
    search = GridSearchCV(TableClassifier(minutes=1e-6), {"metric": ["accuracy", "log_loss"]}, cv=2)
    assert search.fit(table, label).best_score_ > 0.7
    held = cross_val_predict(TableClassifier(minutes=1e-6), table, label, cv=2, method="predict_proba")
    np.testing.assert_allclose(held.sum(axis=1), 1)
    X = np.c_[price, price**2]
    piped = make_pipeline(StandardScaler(), regressor).fit(X, price)
    assert clone(piped).fit(X, price).score(X, price) == piped.score(X, price) > 0.9


def test_tables_of_every_form(frame):
    table, price, _ = frame
    made = TableRegressor(minutes=1e-6, ignore=["id"]).fit(table, price)
    wanted = made.predict(table)
    columns = {name: table[name].to_numpy() for name in table}
    records = table.astype(object).to_dict("records")
    for form in (columns, records, Table.of(table)):
        np.testing.assert_allclose(made.predict(form), wanted, rtol=1e-12)
        again = clone(made).fit(form, price)
        assert again.feature_names_in_.tolist() == list(table)
        np.testing.assert_allclose(again.predict(table), wanted, rtol=1e-12)
    np.testing.assert_allclose(made.predict(records[1]), wanted[1:2], rtol=1e-12)
    assert "id" not in made.model_.schema.names


def test_rows_of_words_and_numbers_have_places(frame):
    table, price, _ = frame
    rows = table[["size", "city"]].to_numpy(dtype=object)
    listed = rows.tolist()
    made = TableRegressor(minutes=1e-6).fit(listed, price)
    assert made.names_ == ("x1", "x2") and not hasattr(made, "feature_names_in_")
    assert [c.kind for c in made.model_.schema.columns] == ["number", "category"]
    np.testing.assert_array_equal(made.predict(listed), made.predict(rows))
    named = TableRegressor(minutes=1e-6).fit(table[["size", "city"]], price)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_allclose(named.predict(rows), made.predict(rows), rtol=1e-12)
    with pytest.raises(ValueError, match="X has 1 features, but TableRegressor is expecting 2"):
        made.predict(rows[:, :1])


@pytest.mark.parametrize(
    "labels",
    [[True, False], [0.5, 10.5, 2.5], [3, 20, 100], np.array(["ä", "b"], dtype=object), [-1.0, 1.0]],
    ids=str,
)
def test_labels_stay_what_they_are(labels):
    rng = np.random.default_rng(1)
    labels = np.asarray(labels)
    y = labels[np.arange(45) % len(labels)]
    X = np.c_[np.arange(45) % len(labels), np.arange(45)] + 0.05 * rng.standard_normal((45, 2))
    try:
        made = TableClassifier(minutes=1e-6).fit(X, y)
    except ValueError as error:  # scikit-learn takes such numbers for amounts
        assert labels.dtype.kind == "f" and "Unknown label type" in str(error)
        return
    assert made.classes_.dtype == labels.dtype and made.classes_.tolist() == np.unique(labels).tolist()
    assert made.score(X, y) > 0.8
    best = made.classes_[made.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(best, made.predict(X))


def test_a_label_of_one_row_is_left_out():
    X, y = np.random.default_rng(0).standard_normal((30, 2)), np.arange(30) % 2
    y[7] = 5
    made = TableClassifier(minutes=1e-6).fit(X, y)
    assert made.classes_.tolist() == [0, 1] and made.predict_proba(X).shape == (30, 2)


def test_random_state_and_groups(frame):
    table, price, _ = frame
    a = TableRegressor(minutes=1e-6, random_state=np.random.RandomState(0)).fit(table, price)
    b = TableRegressor(minutes=1e-6, random_state=np.random.RandomState(0)).fit(table, price)
    np.testing.assert_array_equal(a.predict(table), b.predict(table))
    TableRegressor(minutes=1e-6, random_state=None).fit(table, price)
    made = TableRegressor(minutes=1e-6).fit(table, price, groups=np.arange(70) // 5)
    assert "of one group kept together" in made.model_.evidence.how
    by_name = TableRegressor(minutes=1e-6).fit(table.assign(batch=np.arange(70) // 5), price, groups="batch")
    assert "batch" not in by_name.model_.schema.names and by_name.n_features_in_ == 5


def test_what_is_refused(frame):
    table, price, _ = frame
    with pytest.raises(
        TypeError, match="sparse: give X.toarray.. if it fits, or take a machine for sparse X"
    ):
        TableRegressor().fit(sp.csr_array(np.eye(20)), np.arange(20.0))
    with pytest.raises(TypeError, match="tables in memory: mercer.fit reads files"):
        TableRegressor().fit("houses.csv", price)
    with pytest.raises(ValueError, match="requires y to be passed"):
        TableClassifier().fit(table, None)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        TableRegressor().fit(table, np.where(price > 2, np.nan, price))
    with pytest.raises(ValueError, match="minutes must be a positive number"):
        TableRegressor(minutes=0).fit(table, price)
    with pytest.raises(ValueError, match="y has one class: 'dear'"):
        TableClassifier().fit(table, np.full(70, "dear"))
    with pytest.raises(ValueError, match="there is no column 'cty'"):
        TableRegressor(kinds={"cty": "text"}).fit(table, price)
    with pytest.raises(NotFittedError):
        TableRegressor().predict_interval(table)
    with pytest.raises(TypeError, match="TableRegressor has no parameter 'verbose'.*mercer.progress"):
        TableRegressor(verbose=1)


def test_callers_may_change_what_they_gave():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X[:, 0].copy()
    new = X.copy()
    made = TableRegressor(minutes=1e-6).fit(X, y)
    before = made.predict(new)
    X[:], y[:] = 0, 0
    np.testing.assert_array_equal(made.predict(new), before)


def test_progress(frame):
    table, price, _ = frame
    lines = []
    with mercer.progress(lines.append, every=0):
        TableRegressor(minutes=1e-6).fit(table, price)
    assert any("Testing" in line for line in lines) and any("What is known of it" in line for line in lines)


def test_files(frame, tmp_path):
    table, price, label = frame
    path = tmp_path / "a.mercer"
    for made in (
        TableRegressor(minutes=1e-6).fit(table, price),
        TableClassifier(minutes=1e-6).fit(table, label),
    ):
        mercer.save(made, path)
        again = mercer.load(path)
        np.testing.assert_array_equal(again.predict(table), made.predict(table))
        assert repr(again) == repr(made)
    made.classes_ = np.array(["a", "b"])
    with pytest.raises(ModelFileError, match="its labels are not those of its model"):
        mercer.save(made, path)
