"""A table that does not fit: about the model of the table in memory, by a sample and passes."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import mercer
from hasty import in_haste
from mercer._notice import Notice
from mercer.engines import Dask
from mercer.rows import open_rows
from mercer.solvers import CheckpointError
from mercer.tables import read
from mercer.tables.model.large import LargeTable
from mercer.tables.model.large import road as the_road
from mercer.tables.model.large.timing import Timetable
from mercer.tables.reading import Table, TableError

N = 1500


def _columns(n=N):
    """Late in the file there is a city that did not occur before; some values, and targets, are missing."""
    rng = np.random.default_rng(0)
    x, z = rng.uniform(-3, 3, n), rng.standard_normal(n)
    city = rng.choice(["Bonn", "Kiel", "Ulm"], n).astype(object)
    city[-n // 5 :] = "Rome"
    y = np.sin(x) + 2.0 * (city == "Rome") + 0.1 * rng.standard_normal(n)
    kind = np.where(y > 0.5, "high", "low").astype(object)
    z[::25], y[7] = np.nan, np.nan
    z[:400] = np.clip(z[:400], -1, 1)
    return {"x": x, "z": z, "city": city, "y": y, "kind": kind}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "big.parquet"
    columns = _columns()
    content = {name: pa.array(v, from_pandas=True) for name, v in columns.items()}
    pq.write_table(pa.table(content), path, row_group_size=400)
    return path


@pytest.fixture(scope="module")
def few():
    """Samples of few rows, that a fit takes no time."""
    with in_haste(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.tables.model.large.allowance._FEWEST", 150)
        patch.setattr("mercer.tables.reading.parts._VALUES", 1000)
        yield patch


@pytest.fixture(scope="module")
def said():
    return []


@pytest.fixture(scope="module")
def model(file, few, said):
    source = LargeTable(file, without=["kind"])
    return mercer.fit(source, target="y", memory="100kB", minutes=0.05, progress=said.append)


def test_a_category_of_many_levels(few, tmp_path):
    """Codes are those of the sample: its own rows must not know their targets, and new levels are told."""
    rng = np.random.default_rng(3)
    n, effect = 3000, rng.standard_normal(200)
    place = rng.integers(0, 200, n)
    noise = [f"n{i}" for i in rng.integers(0, 300, n)]
    columns = {"shop": [f"s{i}" for i in place], "noise": noise, "luck": rng.standard_normal(n)}
    y = 2 * effect[place] + 0.5 * rng.standard_normal(n)
    path = tmp_path / "shops.parquet"
    pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=400)
    found = mercer.fit(path, "y", memory="100kB", minutes=0.05)
    assert found.columns.coded == ("shop", "noise") and not found.evidence.dropped
    scores = {c.name: c.scores[2].value for c in found.evidence.contenders}
    assert scores["mercer"] > 0.4 and scores["linear model"] > 0.4
    place = rng.integers(0, 200, 1000)
    new = {
        "shop": [f"s{i}" for i in place],
        "noise": [f"n{i}" for i in rng.integers(0, 300, 1000)],
        "luck": np.zeros(1000),
    }
    truth = 2 * effect[place] + 0.5 * rng.standard_normal(1000)
    assert found.score(new, truth) == pytest.approx(scores["mercer"], abs=0.12)
    low, high = found.predict_interval(new).T
    assert 0.84 < np.mean((low <= truth) & (truth <= high)) < 0.96
    [remark] = [r for r in found.evidence.remarks if r.startswith("'noise': ")]
    assert "have a level that is not among the rows drawn at random" in remark


def test_it_is_as_good_as_a_fit_in_memory(model, file, few):
    """On fresh rows, against what is known of them: the noise has a deviation of 0.1."""
    rng = np.random.default_rng(1)
    x, city = rng.uniform(-2.9, 2.9, 500), rng.choice(["Bonn", "Rome"], 500)
    new = Table.of({"x": x, "z": rng.standard_normal(500), "city": city})
    truth = np.sin(x) + 2.0 * (city == "Rome")
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.06
    (rmse, *_), held = model.evidence.scores, dict(model.evidence.coverage)[0.9]
    assert 0.09 < rmse.value < 0.12 and 0.85 < held < 0.95
    inside = model.predict_interval(new)
    noisy = truth + 0.1 * rng.standard_normal(500)
    assert 0.85 < np.mean((inside[:, 0] < noisy) & (noisy < inside[:, 1])) < 0.96


def test_it_says_how_it_was_done(model, said):
    remarks = "\n".join(model.evidence.remarks)
    for words in (
        "read part by part",
        "looked for on 150 rows drawn at random",
        "fitted to ",
        "by passes over them",
        "1 rows without 'y' were left out, the first of them row 8",
        "not enough for a fit",
    ):
        assert words in remarks, words
    assert model.evidence.rows == N - 1 and model.machine.plan_.examples > 0.6 * N
    assert "Passes" in type(model.machine.plan_.solver).__name__
    assert any(text.startswith("Fitting to all rows") and "pass 2, " in text for text in said)
    assert model.evidence.risk.absent[0][1] == "the rows that were learned from are not in memory"


def test_all_rows_are_looked_at(model, file):
    """Ranges, gaps and words are those of the whole table, the last rows' too."""
    whole, columns = read(file), {c.name: c for c in model.schema.columns}
    assert columns["z"].low == np.nanmin(whole["z"]) and columns["z"].high == np.nanmax(whole["z"])
    assert abs(columns["z"].missing - np.isnan(whole["z"]).mean()) < 0.001
    words, counts = np.unique(whole["city"][~np.isnan(whole["y"])].astype(str), return_counts=True)
    assert list(columns["city"].categories) == words[np.argsort(-counts, kind="stable")].tolist()
    assert model.outside(whole.drop("y")) == ()


def test_it_is_saved_written_and_served_as_any_other(model, file, tmp_path):
    mercer.save(model, tmp_path / "m.mercer")
    found, table = mercer.load(tmp_path / "m.mercer"), read(file)
    np.testing.assert_array_equal(found.predict(table), model.predict(table))
    assert found.write(file, tmp_path / "out.parquet") == N
    out = read(tmp_path / "out.parquet")
    assert out.names == ("prediction", "low", "high")
    # Some rows at a time: sums are rounded in another order, and coefficients may be of the order of 10⁶.
    np.testing.assert_allclose(out["prediction"], model.predict(table), rtol=1e-8)
    np.testing.assert_allclose(
        np.column_stack([out["low"], out["high"]]), model.predict_interval(table), rtol=1e-8
    )
    with pytest.raises(FileExistsError):
        found.write(file, tmp_path / "out.parquet")


def test_over_a_cluster(model, file, few, cluster, monkeypatch):
    """The search, and the passes if workers see the points; if they don't, that is said."""
    asked = {"target": "y", "memory": "100kB", "minutes": 0.05, "client": cluster}
    there, table = mercer.fit(LargeTable(file, without=["kind"]), **asked), read(file)
    assert there.machine.engine == Dask(cluster) and model.machine.engine != Dask(cluster)
    assert there.machine.plan_.unknowns == model.machine.plan_.unknowns
    np.testing.assert_allclose(there.predict(table), model.predict(table), atol=1e-4)
    monkeypatch.setattr("mercer.selection.crew.ClusterCrew.sees", lambda crew, path: False)
    alone = mercer.fit(LargeTable(file, without=["kind"]), **asked)
    assert alone.machine.engine == model.machine.engine and any("TMPDIR" in r for r in alone.evidence.remarks)
    np.testing.assert_allclose(alone.predict(table), model.predict(table), atol=1e-4)


def test_labels(file, few, monkeypatch):
    """Probabilities are those of rows kept aside; the machine of all rows is the better one."""
    monkeypatch.setattr("mercer.tables.model.machines._CS", ())
    model = mercer.fit(
        LargeTable(file, without=["y"]), target="kind", memory="100kB", minutes=0.05, random_state=1
    )
    table = read(file)
    assert np.mean(model.predict(table) != table["kind"]) < 0.06
    assert model.classes_.tolist() == ["high", "low"] and model.machine.plan_.examples > 0.6 * N
    P = model.predict_proba(table)
    right = model.classes_[P.argmax(axis=1)] == table["kind"]
    assert abs(P.max(axis=1).mean() - right.mean()) < 0.05


def test_labels_by_costs_and_weights(file, few, monkeypatch):
    monkeypatch.setattr("mercer.tables.model.machines._CS", ())
    wanted = {"metric": "auc", "class_weight": {"high": 3}, "costs": {("low", "high"): 5}}
    source = LargeTable(file, without=["y"])
    model = mercer.fit(source, target="kind", memory="100kB", minutes=0.05, random_state=1, **wanted)
    weights, table = model.machine.class_weight, read(file)
    assert weights["high"] == pytest.approx(3 * weights["low"])
    P = model.predict_proba(table)  # of labels as frequent as they are
    assert abs(P[:, 0].mean() - np.mean(table["kind"] == "high")) < 0.05
    expected = np.where(P[:, 0] > 5 * P[:, 1], "high", "low")
    np.testing.assert_array_equal(model.predict(table), expected)
    assert model.evidence.scores[0].name == "AUC" and model.evidence.scores[0].value > 0.9


def test_the_sample_s_model_is_kept_if_it_is_better_or_the_only_one(file, few, monkeypatch):
    monkeypatch.setattr(the_road, "error_on", lambda learned, rows: float(learned.machine.plan_.examples))
    model = mercer.fit(LargeTable(file, without=["kind"]), "y", memory="100kB", minutes=0.05)
    assert model.machine.plan_.examples == 150
    assert any("the first was kept" in remark for remark in model.evidence.remarks)
    assert model.learned_from == f"learned from 150 of {N - 1:,} rows"
    assert model.learned_from in model.summary()
    monkeypatch.setattr(the_road, "share_on_disk", lambda folder, rows, width: 0.0)
    model = mercer.fit(LargeTable(file, without=["kind"]), "y", memory="100kB", minutes=0.05)
    assert any("the disk has no room" in remark for remark in model.evidence.remarks)


@pytest.mark.parametrize("target", ["y", "kind"])
def test_passes_that_can_not_win_are_left_out(file, few, monkeypatch, target):
    """One reading, the machine of the sample, tests on other rows of it; what to do is said at once."""
    monkeypatch.setattr(the_road, "Timetable", lambda minutes, reading, apart: Timetable(0.05, 2.0, apart))
    monkeypatch.setattr("mercer.tables.model.large.timing.Prospect.fewest", 101)
    monkeypatch.setattr("mercer.tables.model.large.allowance._FEWEST", 400)
    monkeypatch.setattr("mercer.tables.model.machines._CS", ())
    monkeypatch.setattr(the_road, "_ENOUGH_TESTED", 50)
    told, other = [], {"y": "kind", "kind": "y"}[target]
    source = LargeTable(file, without=[other])
    model = mercer.fit(source, target, memory="100kB", minutes=0.05, progress=told.append)
    assert not any("Preparing" in text or "pass 1" in text for text in told)
    (notice,) = (text for text in told if isinstance(text, Notice))
    assert notice.startswith("to read the file twice takes about 4 s, more than the 0.05 minutes given")
    assert "100 centres are too few" in notice and "(--minutes 1)" in notice and "memory" not in notice
    assert notice.seconds == 3.0 and notice in model.evidence.remarks
    assert any("another run may end elsewhere" in remark for remark in model.evidence.remarks)
    rows = N - (target == "y")
    assert model.machine.plan_.examples == 400 and model.evidence.rows == rows
    assert model.learned_from == f"learned from 400 of {rows:,} rows"
    assert 100 < len(model.evidence.truth) < 300
    error = model.evidence.scores[0]
    whole = read(file)
    whole = whole.take(~np.isnan(whole["y"]))
    wrong = model.predict(whole) != whole[target] if target == "kind" else model.predict(whole) - whole["y"]
    fresh = wrong.mean() if target == "kind" else np.sqrt(np.mean(wrong**2))
    assert error.low - 0.02 < fresh < error.high + 0.02


def test_an_interrupted_fit_goes_on_from_its_checkpoint(file, few, tmp_path, monkeypatch):
    """Interrupted in the last pass, the same call ends at the same model; its file is gone then."""
    # With a small sample for the solver, too, there are steps to be taken.
    monkeypatch.setattr("mercer.solvers.passes.minimise._SAMPLED", 2)
    monkeypatch.setattr("mercer.solvers.passes.minimise._SAMPLED_LEAST", 50)
    kept = tmp_path / "fit.checkpoint"

    def passes(stop=np.inf):
        said = []

        def tell(text):
            said.extend([text] * ("pass" in text))
            if len(said) == stop:
                raise KeyboardInterrupt

        more = {"memory": "100kB", "minutes": 0.05, "checkpoint": kept, "progress": tell}
        return mercer.fit(LargeTable(file, without=["kind"]), target="y", **more), len(said)

    undisturbed, whole = passes()
    assert whole > 5 and not kept.exists()
    with pytest.raises(KeyboardInterrupt):
        passes(whole)
    assert kept.exists()
    again, rest = passes()
    assert not kept.exists() and 0 < rest < whole
    np.testing.assert_allclose(again.predict(read(file)), undisturbed.predict(read(file)), atol=1e-4)


def test_texts_are_learned_from_in_memory_only(few, tmp_path):
    rng = np.random.default_rng(2)
    good = rng.random(300) < 0.5
    text = [f"{'lovely' if g else 'dreadful'} tea number {i}" for i, g in enumerate(good)]
    path = tmp_path / "reviews.parquet"
    pq.write_table(pa.table({"review": text, "stars": 2.0 + 3 * good + 0.1 * rng.standard_normal(300)}), path)
    model = mercer.fit(path, "stars", memory="1kB", minutes=0.05)
    assert model.columns.texts == ("review",) and model.evidence.scores[0].value < 1
    assert any("texts are compared in memory only" in remark for remark in model.evidence.remarks)


def test_a_file_that_fits_is_read_as_a_whole(file, few, monkeypatch):
    called = []
    monkeypatch.setitem(mercer.fit.__globals__, "fit_large", called.append)
    mercer.fit(str(file), "y", memory="100kB")
    assert called[0].why.startswith("the whole table would take about") and called[0].target == "y"
    mercer.fit(LargeTable(file, without=["kind"]), "y", ignore=["z"], kinds={"x": "text"}, memory="100kB")
    assert called[1].source.without == ("kind", "z") and called[1].source.kinds == {"x": "text"}
    with pytest.raises(ValueError, match="checkpoint is for tables in files that do not fit"):
        mercer.fit(file, "y", checkpoint="here")
    with pytest.raises(ValueError, match="memory is for tables in files"):
        mercer.fit({"x": [1.0]}, "x", memory="1GB")
    with pytest.raises(ValueError, match="rows of numbers are not taken here"):
        mercer.fit(open_rows(np.zeros((9, 1)), np.zeros(9)), "y")
    with pytest.raises(ValueError, match="y must be the name"):
        mercer.fit(file, np.zeros(N), memory="100kB")
    with pytest.raises(ValueError, match="groups must be the name"):
        mercer.fit(file, "y", groups=np.zeros(N), memory="100kB")


def test_what_is_wrong_is_said(file, few, tmp_path):
    def attempt(target="y", **more):
        return mercer.fit(LargeTable(file), target=target, memory="100kB", minutes=0.05, **more)

    with pytest.raises(TableError, match="there is no column 'price'"):
        attempt("price")
    with pytest.raises(ValueError, match="can't also say which rows belong together"):
        attempt(groups="y")
    with pytest.raises(ValueError, match="rows are of 4 groups"):
        attempt(groups="city")
    with pytest.raises(CheckpointError, match="can't be written"):  # before the search
        attempt(checkpoint=tmp_path / "nowhere" / "fit.checkpoint", progress=pytest.fail)
    spoilt = tmp_path / "cut.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    spoilt.write_bytes(data)
    with pytest.raises(TableError, match="cut.parquet"):
        mercer.fit(spoilt, "y", memory="100kB", minutes=0.05)


TROUBLES = {
    "the target 'y' is missing in all 300 rows": {"y": pa.nulls(300, pa.string())},
    "the target 'y' has the same value in every row": {"y": np.ones(300)},
    "'y' is 'a' in all 250 rows drawn at random, and something else in 1 of 2,000": {
        "x": np.arange(2000.0),
        "y": ["a"] * 1999 + ["b"],
    },
    "the target 'y' goes up to 1e.200": {"y": np.append(np.arange(299.0), 1e200)},
    "row 300, column 'y': inf is not a finite number": {"y": np.append(np.arange(299.0), np.inf)},
    "no column is left to learn from .x: constant.": {"x": np.ones(300)},
    "values of type list.* are no numbers": {"z": [[1.0]] * 300},
    "300 different labels|too many to learn any": {"y": [f"name {i}" for i in range(300)]},
}


@pytest.mark.parametrize("words", TROUBLES)
def test_troubles_are_told_before_the_search(few, tmp_path, words, monkeypatch):
    monkeypatch.setattr(the_road, "Prospect", None)
    content = {"x": np.arange(300.0), "y": np.arange(300.0), **TROUBLES[words]}
    pq.write_table(pa.table(content), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=words):
        mercer.fit(LargeTable(tmp_path / "a.parquet"), "y", memory="1kB", minutes=0.05)


def test_small_tables_and_numbers_that_are_words(few, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "1,2\n3,4\n" * 30)
    with pytest.raises(ValueError, match="60 rows with a target are too few for a fit by parts.*as a whole"):
        mercer.fit(LargeTable(file), "y", minutes=0.05)
    with pytest.raises(ValueError, match="the target 'y' is missing in all 9 rows"):
        file.write_text("x,y\n" + "1,\n" * 9)
        mercer.fit(LargeTable(file), "y", minutes=0.05)
    pq.write_table(pa.table({"x": [1.0], "y": ["one"]}), tmp_path / "b.parquet")
    with pytest.raises(TableError, match="row 1, column 'y': 'one' is not a number"):
        mercer.fit(LargeTable(tmp_path / "b.parquet"), "y", task="regression", minutes=0.05)


def test_other_places(file, few, tmp_path, monkeypatch):
    """Of a folder, a data set and a query the same model; ignored columns may hold anything."""
    monkeypatch.setattr("mercer.tables.model.machines._CS", ())
    folder = tmp_path / "many"
    folder.mkdir()
    whole = pq.read_table(file).append_column("odd", pa.array([[1]] * N))
    for number, start in enumerate((0, 400, 900)):
        part = whole.slice(start, (400, 900, N)[number] - start)
        pq.write_table(part.select(part.column_names[:: 1 - 2 * (number == 1)]), folder / f"{number}.parquet")
    asked = {"target": "y", "ignore": ["kind", "odd"], "memory": "100kB", "minutes": 0.05}
    places = folder, ds.dataset(folder).replace_schema(whole.schema), f"select * from '{folder}/*.parquet'"
    answers = []
    for place in places:
        model = mercer.fit(place, **asked)
        assert model.machine.plan_.examples > 0.6 * N and "part by part" in "".join(model.evidence.remarks)
        answers.append(model.predict(place) if place is not folder else model.predict(file))
        score = model.score(f"select x, z, city, y from '{folder}/*.parquet'", "y")
        assert score == pytest.approx(model.score(file, "y"))
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-9)
    assert model.write(folder, tmp_path / "out.parquet") == N
    np.testing.assert_allclose(read(tmp_path / "out.parquet")["prediction"], answers[0], rtol=1e-9)
    assert model.write({"x": [1.0], "z": [0.0], "city": ["Bonn"]}, tmp_path / "one.csv") == 1
