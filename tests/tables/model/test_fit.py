"""One call, on tables as people have them: it works and warns of nothing, or says what is wrong."""

import itertools
import math
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mercer
from mercer.tables.model.effort import Effort
from mercer.tables.model.large import LargeTable
from mercer.tables.reading import Table, TableError

RNG = np.random.default_rng(0)
N = 60
X1 = RNG.uniform(0, 6, N)
X2 = RNG.standard_normal(N)
Y = np.sin(X1) + 0.1 * RNG.standard_normal(N)
TABLE = {"x": X1, "z": X2}
LABELS = np.where(Y > 0, "up", "down")
SHORT = {"x": X1[:12], "z": X2[:12]}


@pytest.fixture
def quick(hasty):
    return lambda X, y=None, **asked: mercer.fit(X, y, **{"minutes": 1.0, **asked})


@pytest.fixture
def at_once(quick, monkeypatch):
    """Without the descents, for tests of what is read and said: the best kernel at first sight is taken."""

    def first(search, tried):
        return [lambda: [replace(search.screened(tried)[0], stage="last look")]]

    monkeypatch.setattr("mercer.tables.model.search.KernelSearch._by_folds", first)
    return quick


def sound(model, X):
    """Whatever was learned, answers are numbers and agree, and the summary can be read."""
    predicted = model.predict(X)
    if model.task == "regression":
        assert np.isfinite(predicted).all()
        assert not np.isnan(model.predict_interval(X)).any()
    else:
        P = model.predict_proba(X)
        assert np.allclose(P.sum(axis=1), 1) and (model.classes_[P.argmax(axis=1)] == predicted).all()
    text = model.summary()
    assert "nan" not in text and "None" not in text
    return model


def error_beside_constant(model):
    """Of the model and of a constant, in the same units."""
    return (model.evidence.contenders[i].scores[0].value for i in (0, 1))


def rare(count):
    labels = LABELS.astype("<U5")
    labels[:count] = "other"
    return labels


TABLES = {
    "ten rows": ({"x": X1[:10]}, Y[:10]),
    "twelve rows, two classes": ({"x": X1[:12], "z": X2[:12]}, np.array(["a", "b"] * 6)),
    "twelve rows, three classes": ({"x": X1[:12]}, np.array(["a", "b", "c"] * 4)),
    "five classes of two": ({"x": X1[:10]}, np.array(list("abcde") * 2)),
    "one column": ({"x": X1}, Y),
    "more columns than rows": (RNG.standard_normal((40, 50)), Y[:40]),
    "every row three times": ({"x": np.tile(X1[:20], 3)}, np.tile(Y[:20], 3)),
    "outliers in the target": (TABLE, np.where(np.arange(N) % 17 == 0, 1000.0, Y)),
    "outliers in a column": ({"x": X1, "z": np.where(np.arange(N) % 13 == 0, 1e9, X2)}, Y),
    "integers": (RNG.integers(0, 5, (N, 3)), RNG.integers(0, 50, N)),
    "single precision": (np.column_stack([X1, X2]).astype(np.float32), Y.astype(np.float32)),
    "huge and tiny": ({"x": 1e12 * X1, "z": 1e-12 * X2}, 1e12 * Y),
    "far from 0": ({"x": 1e9 + X1, "z": X2 - 1e6}, 1e9 + Y),
    "tiny target": (TABLE, 1e-12 * Y),
    "mostly zeros": (TABLE, np.where(np.arange(N) % 20 == 3, Y, 0.0)),
    "odd names": ({' a=b; "ü"\n': X1, "__lengths": X2, "x missing": np.where(X2 > 1, np.nan, X2)}, Y),
    "two examples of a class": (TABLE, rare(2)),
    "three examples of a class": (TABLE, rare(3)),
    "truth values": (TABLE, Y > 0),
    "two numbers": (TABLE, np.where(Y > 0, 1.5, -2.5)),
    "three integers": (TABLE, np.digitize(Y, [-0.3, 0.4]) - 1),
    "constants and gaps": (
        {"x": np.where(X2 > 1, np.nan, X1), "c": np.ones(N), "e": [None] * N, "w": ["a", None] * 30},
        Y,
    ),
    "only words": ({"w": np.where(Y > 0.5, "high", np.where(Y < -0.5, "low", "mid"))}, Y),
    "only dates": (
        {"d": np.datetime64("2024-01-01", "us") + (X1 * 100).astype(int) * np.timedelta64(1, "D")},
        Y,
    ),
    "columns that say the same": ({"a": X1, "b": X1, "c": -X1}, Y),
    "the answer in a column": ({"x": X1, "answer": Y}, Y),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_as_they_come(name, quick):
    X, y = TABLES[name]
    model = sound(quick(X, y), X)
    assert model.evidence.rows == len(y) == len(model.evidence.truth)


def test_pure_noise_is_not_explained():
    X = RNG.standard_normal((50, 3))
    model, constant = error_beside_constant(sound(mercer.fit(X, RNG.standard_normal(50), minutes=0.03), X))
    assert model < 1.15 * constant


def test_a_coin_is_not_foreseen(quick):
    X = RNG.standard_normal((80, 3))
    model, constant = error_beside_constant(sound(quick(X, RNG.choice(["heads", "tails"], 80)), X))
    assert model < constant + 0.17  # three standard deviations of a share of 80


def test_a_linear_target():
    X = RNG.standard_normal((50, 3))
    model = sound(mercer.fit(X, X @ [1.0, -2.0, 3.0], minutes=0.03), X)
    assert model.evidence.scores[2].value > 0.95


def test_same_seed_same_model(quick):
    """With time to spare, so that no clock decides."""
    fresh = {"x": X1[40:], "z": X2[40:]}
    table, y = {"x": X1[:40], "z": X2[:40]}, Y[:40]
    a, b, other = (quick(table, y, minutes=3, random_state=s) for s in (4, 4, 5))
    np.testing.assert_array_equal(a.predict(fresh), b.predict(fresh))
    np.testing.assert_array_equal(a.evidence.predicted, b.evidence.predicted)
    np.testing.assert_array_equal(a.predict_interval(fresh), b.predict_interval(fresh))
    assert a.evidence.contenders == b.evidence.contenders and a.summary() == b.summary()
    assert (other.evidence.predicted != a.evidence.predicted).any()


def clock(monkeypatch, seconds):
    """Every look at the clock takes so many seconds; ours, and not one of threads that others have left."""
    began, looks = time.monotonic(), itertools.count()
    held = SimpleNamespace(**{**vars(time), "monotonic": lambda: began + seconds * next(looks)})
    for name, module in list(sys.modules.items()):
        if name.startswith("mercer.") and getattr(module, "time", None) is time:
            monkeypatch.setattr(module, "time", held)


@pytest.mark.parametrize("labels", [False, True])
def test_a_slower_machine_makes_the_same_model(labels, quick, monkeypatch):
    """What is tried does not depend on the clock, as long as the minutes are enough."""
    table, y = {"x": X1[:40], "z": X2[:40]}, np.where(Y[:40] > 0, "up", "down") if labels else Y[:40]
    models = []
    for seconds in (0.0, 0.1):
        with monkeypatch.context() as patch:
            clock(patch, seconds)
            models.append(quick(table, y, minutes=30))
    a, b = models
    assert a.evidence.seconds == 0 and b.evidence.seconds > 10
    assert a.machine.kernel_ == b.machine.kernel_ and a.machine.lam_ == b.machine.lam_
    np.testing.assert_array_equal(a.evidence.predicted, b.evidence.predicted)
    np.testing.assert_array_equal(a.predict(TABLE), b.predict(TABLE))
    assert a.evidence.remarks == b.evidence.remarks


def test_what_the_clock_ended_is_said(quick, monkeypatch):
    """An hour at every look: an answer all the same, with a remark."""
    clock(monkeypatch, 3600.0)
    model = sound(quick(SHORT, Y[:12]), SHORT)
    assert any("the time was up before" in remark for remark in model.evidence.remarks)
    assert "the time was up before" in model.summary()


def test_what_memory_decided_is_said(quick, monkeypatch):
    monkeypatch.setattr("mercer.tables.model.fitting.available_memory", lambda: 1000)
    model = quick(SHORT, Y[:12])
    assert any("there are centres instead" in remark for remark in model.evidence.remarks)


def test_many_rows_hold_some_out(monkeypatch, quick):
    """Above a size one part is held out once, and the machine is fitted again to all rows."""
    monkeypatch.setattr("mercer.tables.model.evaluation._HOLD_OUT_FROM", 200)
    monkeypatch.setattr("mercer.tables.model.evaluation._SMALLEST_TEST", 60)
    rng = np.random.default_rng(1)
    n = 240
    table = {"x": rng.uniform(0, 6, n), "w": rng.choice(list("abcd"), n)}
    y = np.sin(table["x"]) + (table["w"] == "a") + 0.1 * rng.standard_normal(n)
    model = sound(quick(table, y), table)
    assert model.evidence.how == "60 rows held out of search and fit"
    assert len(model.evidence.truth) == 60 and model.evidence.rows == n
    assert model.machine.plan_.examples == n
    labels = np.where(y > 0.5, "high", "low").astype("<U4")
    labels[:2] = "odd"
    for_labels = sound(quick(table, labels), table)
    assert for_labels.classes_.tolist() == ["high", "low", "odd"]
    assert for_labels.evidence.probability.shape == (60, 3)


@pytest.mark.parametrize("how", ["numbers", "labels", "held out"])
def test_over_a_cluster(how, quick, monkeypatch, cluster):
    """Test parts and candidates are tried on the workers, and the model is the same."""
    rng = np.random.default_rng(1)
    table = {"x": rng.uniform(0, 6, 120), "w": rng.choice(list("abc"), 120)}
    y = np.sin(table["x"]) + (table["w"] == "a") + 0.1 * rng.standard_normal(120)
    if how == "labels":
        y = np.where(y > 0.5, "high", "low")
    if how == "held out":
        monkeypatch.setattr("mercer.tables.model.evaluation._HOLD_OUT_FROM", 100)
        monkeypatch.setattr("mercer.tables.model.evaluation._SMALLEST_TEST", 30)
        few = Effort(40, 40, 50, 2, 2, 2, by_folds=False)
        monkeypatch.setattr(Effort, "within", staticmethod(lambda *_: few))
    here, there = quick(table, y), sound(quick(table, y, client=cluster), table)
    assert [(t.stage, t.kernel) for t in here.evidence.trials] == [
        (t.stage, t.kernel) for t in there.evidence.trials
    ]
    assert [t.loss for t in here.evidence.loss_trials] == [t.loss for t in there.evidence.loss_trials]
    predicted = [m.predict_proba(table) if how == "labels" else m.predict(table) for m in (here, there)]
    np.testing.assert_allclose(*predicted, rtol=1e-7, atol=1e-9)
    assert here.evidence.scores[0].value == pytest.approx(there.evidence.scores[0].value)
    assert here.evidence.how == there.evidence.how and here.evidence.remarks == there.evidence.remarks


def test_no_client_but_something_else(quick):
    with pytest.raises(TypeError, match="client must be a distributed.Client, got str"):
        quick(SHORT, Y[:12], client="tcp://nowhere")


# -- which target ------------------------------------------------------------------------------------


def test_ways_to_name_the_target(at_once):
    frame = pd.DataFrame({**SHORT, "gain": Y[:12]})
    by_y, by_name = at_once(frame, "gain"), at_once(frame, target="gain")
    assert by_y.target == by_name.target == "gain" and by_y.schema.names == ("x", "z")
    apart = frame.drop(columns="gain")
    assert at_once(apart, frame[["gain"]]).target == "gain"
    assert at_once(apart, Y[:12]).target == "y"
    assert at_once(apart, Y[:12], target="profit").target == "profit"
    assert at_once(apart, pd.DataFrame({"name": Y[:12]})).target == "name"


def test_columns_called_y(at_once):
    """Coordinates x and y: an array without a name is not taken for one of them."""
    model = at_once({"x": X1, "y": X2}, Y)
    assert model.target == "y" and model.schema.names == ("x", "y")


def test_columns_called_by_numbers(at_once):
    frame = pd.DataFrame(np.column_stack([X1[:12], X2[:12], Y[:12]]))
    model = at_once(frame, "2")
    assert model.schema.names == ("0", "1") and len(model.predict(frame)) == 12


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict], ids=["pandas", "polars", "dict"])
def test_truth_values_stay_what_they_are(make, at_once):
    model = at_once(make({**SHORT, "up": np.arange(12) % 2 == 0}), "up")
    assert model.classes_.tolist() == [False, True] and model.predict(SHORT).dtype == bool


def test_a_file(at_once, tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame({**SHORT, "gain": Y[:12]}).to_csv(path, index=False)
    for given in (path, str(path)):
        assert at_once(given, "gain").schema.names == ("x", "z")


def test_columns_that_are_not_looked_at_and_kinds_that_were_said(at_once, tmp_path):
    """Of tables in memory, of files, and of files that are read part by part."""
    path = tmp_path / "table.csv"
    days = [f"2024-01-{i + 1:02}" for i in range(12)]
    whole = pd.DataFrame({**SHORT, "day": days, "code": np.arange(12) % 3, "gain": Y[:12]})
    whole.to_csv(path, index=False)
    for given in (whole, Table.of(whole), path):
        model = at_once(given, "gain", ignore=["z"], kinds={"code": "text", "day": "text"})
        assert model.schema.names == ("x", "day", "code")
        assert [c.kind for c in model.schema.columns] == ["number", "category", "category"]
        assert at_once(given, "gain", ignore="z").schema.columns[1].kind == "date" or given is not path
    assert at_once(whole, Y[:12], target="gain", ignore=["gain"]).target == "gain"
    with pytest.raises(TableError, match="there is no column 'w'"):
        at_once(path, "gain", ignore=["w"])
    for given, y in ((whole, "gain"), (whole[["x"]], Y[:12]), (path, "gain"), (LargeTable(path), "gain")):
        with pytest.raises(TableError, match="there is no column 'w'"):
            at_once(given, y, kinds={"w": "text"})
    with pytest.raises(ValueError, match="ignore: 'gain' is the target"):
        at_once(path, target="gain", ignore=["gain"])
    with pytest.raises(ValueError, match="ignore: 'z' is the column of groups"):
        at_once(path, "gain", groups="z", ignore=["z"])


MISSING = {
    "numbers": np.where(np.arange(20) % 9 == 3, np.nan, Y[:20]),
    "words": np.where(np.arange(20) % 9 == 3, None, np.where(np.arange(20) % 2, "a", "b")),
    "pandas integers": pd.Series([pd.NA if i % 9 == 3 else i for i in range(20)], dtype="Int64"),
    "pandas truth": pd.Series([pd.NA if i % 9 == 3 else i % 2 == 0 for i in range(20)], dtype="boolean"),
    "pandas words": pd.Series([None if i % 9 == 3 else "ab"[i % 2] for i in range(20)]),
    "polars": pl.Series([None if i % 9 == 3 else float(i) for i in range(20)]),
    "arrow": pa.array([None if i % 9 == 3 else float(i) for i in range(20)]),
    "a frame": pd.DataFrame({"y": np.where(np.arange(20) % 9 == 3, np.nan, Y[:20])}),
}


@pytest.mark.parametrize("name", MISSING)
def test_rows_without_a_target_are_left_out(name, at_once):
    model = at_once({"x": X1[:20]}, MISSING[name])
    assert model.evidence.rows == 18
    assert model.evidence.remarks[0] == "2 rows without 'y' were left out, the first of them row 4"


def test_labels_that_occur_once_are_left_out(at_once):
    model = at_once(TABLE, rare(1))
    assert model.evidence.rows == N - 1 and model.classes_.tolist() == ["down", "up"]
    assert "labels that occur once" in model.evidence.remarks[0] and "'other'" in model.evidence.remarks[0]


def test_dates_in_words(at_once):
    days = np.datetime64("2024-01-01") + np.arange(N) * np.timedelta64(3, "D")
    model = at_once({"day": days.astype(str), "x": X1}, Y)
    assert [c.kind for c in model.schema.columns] == ["date", "number"]
    a, b = (model.predict({"day": d, "x": X1}) for d in (days, days.astype(str)))
    np.testing.assert_array_equal(a, b)
    # Almost dates are words.
    words = np.where(np.arange(N) % 2, "2024-01-01", "soon")
    assert at_once({"day": words, "x": X1}, Y).schema.columns[0].kind == "category"


def test_the_task_can_be_said(at_once):
    stars = np.arange(12) % 3 + 1
    assert at_once(SHORT, stars).task == "classification"
    model = at_once(SHORT, stars, task="regression")
    assert model.task == "regression" and model.evidence.remarks[-1] == "regression: as asked"


def test_rows_go_by_place_not_by_index(at_once):
    y = Y[:12]
    frame = pd.DataFrame(SHORT, index=np.arange(12)[::-1])
    a, b = at_once(frame, pd.Series(y)), at_once(frame.reset_index(drop=True), y)
    np.testing.assert_array_equal(a.evidence.truth, b.evidence.truth)


def test_remarks_of_the_reader_are_kept(at_once):
    table = Table(Table.of(SHORT).columns, remarks=["numbers have a decimal comma"])
    model = at_once(table, Y[:12])
    assert model.evidence.remarks[0] == "numbers have a decimal comma"
    assert "Note: numbers have a decimal comma" in model.summary()


def test_progress_is_told(quick):
    said = []
    quick(SHORT, Y[:12], progress=said.append)
    assert any("part 1 of 2" in text for text in said) and said[-1] == "What is known of it"
    assert all(isinstance(text, str) and text for text in said)


def test_inputs_are_left_as_they_were(quick):
    frame = pd.DataFrame({**SHORT, "w": ["a", None] * 6})
    before, y = frame.copy(), Y[:12].copy()
    quick(frame, y)
    pd.testing.assert_frame_equal(frame, before)
    np.testing.assert_array_equal(y, Y[:12])


def test_random_numbers_of_others_are_left_alone(quick):
    np.random.seed(7)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    quick(SHORT, Y[:12])
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


# -- refusals ----------------------------------------------------------------------------------------

REFUSED = {
    "no rows": ({"x": []}, [], {}, "is empty"),
    "one row": ({"x": [1.0]}, [1.0], {}, "the same value in every row"),
    "nine rows": ({"x": X1[:9]}, Y[:9], {}, "9 rows are too few.*10 is the least"),
    "no target at all": (TABLE, np.full(N, np.nan), {}, "is missing in 60 rows, first in row 1"),
    "the target among the columns": ({**TABLE, "t": Y}, pd.Series(Y, name="t"), {}, "learned from itself"),
    "the same with gaps": (
        {**TABLE, "t": np.where(X2 > 1, np.nan, Y)},
        pd.Series(np.where(X2 > 1, np.nan, Y), name="t"),
        {},
        "learned from itself",
    ),
    "the named target among the columns": (TABLE, X2, {"target": "z"}, "still holds the column 'z'"),
    "one number": (TABLE, 3.0, {}, "the table has 60 rows, y has 1"),
    "one class": (TABLE, ["a"] * N, {}, "the same value in every row"),
    "a class of one": (TABLE, np.where(np.arange(N) == 7, "a", "b"), {}, "label 'a' occurs once"),
    "fewer targets": (TABLE, Y[:50], {}, "the table has 60 rows, y has 50"),
    "an unknown column": (TABLE, "price", {}, "there is no column 'price'. There are: x, z"),
    "no target": (TABLE, None, {}, "which column is the target"),
    "only the target": ({"x": X1}, "x", {}, "no column besides the target"),
    "no time": (TABLE, Y, {"minutes": 0}, "minutes must be a positive number, got 0"),
    "less than no time": (TABLE, Y, {"minutes": -1}, "minutes must be a positive number"),
    "no number of minutes": (TABLE, Y, {"minutes": math.nan}, "minutes must be a positive number"),
    "a wrong task": (TABLE, Y, {"task": "clustering"}, "task must be 'regression' or 'classification'"),
    "no seed": (
        TABLE,
        Y,
        {"random_state": None},
        "random_state must be a whole number from 0 to .*, got None",
    ),
    "a negative seed": (TABLE, Y, {"random_state": -1}, "random_state must be a whole number"),
    "nothing to learn from": ({"x": np.ones(N)}, Y, {}, r"no column is left to learn from \(x: constant\)"),
    "infinite numbers": ({"x": np.where(X1 > 5, np.inf, X1)}, Y, {}, "'x': inf is not a finite number"),
    "no such file": ("table.csv", Y, {}, "table.csv: there is no such file"),
    "two columns of one name": (pd.DataFrame([[1, 2]] * N, columns=["a", "a"]), Y, {}, "the same name"),
    "words for numbers": (TABLE, LABELS, {"task": "regression"}, "is no number everywhere"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, quick):
    X, y, asked, match = REFUSED[name]
    with pytest.raises(ValueError, match=match):
        quick(X, y, **asked)


def test_an_unknown_column_is_an_error_of_tables(quick):
    with pytest.raises(TableError):
        quick(TABLE, "price")


# -- what came up in trials -----------------------------------------------------------------------


def test_few_rows_may_lack_what_all_have(at_once):
    """The first model is of some rows: there a column may be constant, or each of its words another one."""
    x = np.zeros(1500)
    x[[5, 700]] = 3.0, 4.0
    sound(at_once({"x": x}, x + 0.1 * RNG.standard_normal(1500)), {"x": x[:9]})


def test_an_array_that_changes_meanwhile_changes_nothing(at_once):
    A, told = RNG.standard_normal((N, 2)), []

    def spoil(text):
        told.append(text)
        if len(told) == 2:
            A[:] = 1e9

    before = at_once(A.copy(), Y)
    after = at_once(A, Y, progress=spoil)
    assert len(told) > 2 and (A == 1e9).all()
    np.testing.assert_array_equal(after.predict(np.ones((3, 2))), before.predict(np.ones((3, 2))))


def test_a_threshold_of_any_real_kind(at_once):
    asked = {"threshold": np.float32(0.25), "minutes": 1.0}
    assert at_once(TABLE, LABELS, **asked).decision.threshold == 0.25


def test_few_groups_are_all_tested(at_once, monkeypatch):
    monkeypatch.setattr("mercer.tables.model.evaluation._HOLD_OUT_FROM", 40)
    groups = np.arange(N) % 6
    model = at_once(TABLE, Y, groups=groups)
    assert len(model.evidence.truth) == N and "cross-validation" in model.evidence.how


def test_seeds_are_those_of_scikit_learn(at_once):
    with pytest.raises(ValueError, match="2\\*\\*32"):
        at_once(TABLE, Y, random_state=2**32)


def test_an_interruption_at_the_last_moment_keeps_the_model(at_once):
    told = []

    def interrupt(text):
        told.append(text)
        if text == "What is known of it" and told.count(text) == 1:
            raise KeyboardInterrupt

    sound(at_once(TABLE, Y, progress=interrupt), TABLE)
    assert told.count("What is known of it") == 2
