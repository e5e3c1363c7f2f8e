"""benchmarks/accuracy: its rows, ranks and noise, on tables made here, and the ranks that its page prints."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import real
from benchmarks.accuracy import (
    boosted_trees,
    curves,
    kernel_machines,
    known,
    ours,
    page,
    runner,
    score,
    sets,
)
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.other_machines import Missing
from benchmarks.accuracy.report import TITLES, markdown
from benchmarks.accuracy.results import Results
from benchmarks.accuracy.store import Store

ROOT = Path(__file__).resolve().parents[1]
DATA = real.folder()


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data folder with three small tables under the names of real ones."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(400)
    for folder in ("uci", "pmlb", "libsvm"):
        (tmp_path / "data" / folder).mkdir(parents=True)
    np.savez(tmp_path / "data/uci/yacht.npz", X=X, y=y, fold=np.arange(400) % 10)
    np.savez(tmp_path / "data/pmlb/churn.npz", X=np.tile(X, 4)[:, :8], y=(y > 0).astype(int))
    np.savez(tmp_path / "data/libsvm/heart_scale.npz", X=X[:300], y=np.sign(y[:300]).astype(int))
    monkeypatch.setenv("MERCER_DATA", str(tmp_path / "data"))
    sets.test_answers.cache_clear()
    yield tmp_path / "data"
    sets.test_answers.cache_clear()


def record(name, method, error, **more):
    """A result as a run leaves it; of all 100 rows, if nothing else is said."""
    task = sets.SETS[name].task
    head = {"set": name, "fold": 0, "method": method, "rows": 100, "minutes": None, "version": "1", "of": 100}
    head |= {"minutes": 2.0} if method == "mercer" else {}
    scored = {} if error is None else {score.ERROR[task]: error}
    status = "timeout" if error is None else "ok"
    return {**head, "task": task, "status": status, "n": 100, "d": 3, **scored, **more}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", runner.FIELDS)


def test_test_rows_are_the_same_and_training_rows_nested(data):
    for name in ("yacht", "churn"):
        few, more, everything = (sets.load(name, 1, most) for most in (50, 200, None))
        assert len(few.y) == 50 and len(more.y) == 200
        assert len(everything.y) == few.of == sets.training_rows(name, 1) > 200
        for other in (more, everything):
            assert np.array_equal(few.X_test, other.X_test) and np.array_equal(few.y_test, other.y_test)
            assert {row.tobytes() for row in few.X} <= {row.tobytes() for row in other.X}
        assert not {row.tobytes() for row in everything.X} & {row.tobytes() for row in few.X_test}


def test_halves_are_by_the_first_byte_of_the_digest():
    """`printf NAME | b2sum` begins with 10, 65, 3f and 84."""
    halves = [sets.half(name) for name in ("servo", "tamielectric", "MNIST", "magic")]
    assert halves == ["develop", "judge", "judge", "develop"]
    assert len(sets.FORTY) == 40 and set(sets.GROUPS["large"]) <= set(sets.SETS)


def test_standard_errors():
    wrong = np.repeat([1.0, 0.0], [30, 70])
    assert np.isclose(score.standard_error("classification", wrong), np.sqrt(0.3 * 0.7 / 99))
    rng = np.random.default_rng(0)
    squares = rng.standard_normal((4000, 500)) ** 2
    found = np.mean([score.standard_error("regression", row) for row in squares[:400]])
    assert np.isclose(found, np.std(np.sqrt(squares.mean(axis=1))), rtol=0.05)


def test_ranks_among_those_present(store):
    for method, error in {"mercer": 1, "svm": 2, "linear": 3, "lightgbm": 4, "catboost": None}.items():
        store.add(record("yacht", method, error))
    for method, error in {"mercer": 2, "svm": 2, "linear": 1}.items():
        store.add(record("servo", method, error))
    results = Results(store)
    ranks = results.ranks(["yacht", "servo"], ["mercer", "svm", "linear", "lightgbm", "catboost"])
    # On servo rank r of three counts as 1 + (r − 1) 4/2; too slow is last.
    expected = {
        "mercer": (1 + 4) / 2,
        "svm": (2 + 4) / 2,
        "linear": (3 + 1) / 2,
        "lightgbm": 4,
        "catboost": 5,
    }
    assert ranks == expected
    assert results.wins(["yacht", "servo"], ["mercer", "linear"]) == {"mercer": 1, "linear": 1}
    assert results.rankable(["yacht", "servo"]) == ["mercer", "svm", "linear"]


def test_a_cap_counts_for_smaller_tables_too(store):
    store.add(record("yacht", "mercer", 1.0))
    store.add(record("adult", "mercer", 0.2, rows=5_000, of=39_000))
    store.add(record("adult", "mercer", 0.1, rows=39_000, of=39_000))
    assert Results(store, 5_000).value("adult", "mercer") == 0.2
    assert Results(store, None).value("adult", "mercer") == 0.1
    assert Results(store, 15_000).value("adult", "mercer") is None
    assert all(Results(store, most).value("yacht", "mercer") == 1.0 for most in (5_000, 15_000, None))
    assert Results(store, None, minutes=1.0).value("adult", "mercer") is None


def test_folds_of_two_versions_are_not_mixed(store):
    for fold in range(3):
        store.add(record("yacht", "mercer", 1.0, fold=fold))
        store.add(record("yacht", "svm", 3.0, fold=fold))
    for fold in range(2):
        store.add(record("yacht", "mercer", 2.0, fold=fold, version="2"))
    assert Results(store).value("yacht", "mercer") is None
    assert Results(store, version="1").value("yacht", "mercer") == 1.0
    store.add(record("yacht", "mercer", 2.0, fold=2, version="2"))
    assert Results(store).value("yacht", "mercer") == 2.0 and Results(store).value("yacht", "svm") == 3.0


def test_a_duel_is_paired_where_predictions_are_there(data, store):
    y = sets.test_answers("heart")
    ours, theirs = y.copy(), y.copy()
    ours[:6], theirs[:2] = -ours[:6], -theirs[:2]
    for method, prediction in (("mercer", ours), ("svm", theirs)):
        losses = score.losses("classification", y, prediction)
        se = score.standard_error("classification", losses)
        store.add(record("heart", method, losses.mean(), se=se), prediction)
    (duel,) = Results(store).duels(["heart"])
    d = np.repeat([0.0, 1.0, 0.0], [2, 4, len(y) - 6])
    assert duel.paired and np.isclose(duel.ratio, 3)
    assert np.isclose(duel.standard_errors, d.mean() / (d.std(ddof=1) / len(y) ** 0.5))
    store.add(record("heart", "svm", 2 / len(y), se=0.01, version="2"))
    (duel,) = Results(store).duels(["heart"])
    mine = score.standard_error("classification", score.losses("classification", y, ours))
    assert not duel.paired and np.isclose(duel.standard_errors, (4 / len(y)) / np.hypot(mine, 0.01))


def test_more_rows_that_make_it_worse(data, store):
    y = sets.test_answers("yacht")
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(len(y))
    for rows, wrong in ((50, 0.2 * noise), (100, 0.2 * noise + 1e-3 * noise[::-1]), (200, 0.5 * noise)):
        losses = score.losses("regression", y, y + wrong)
        se = score.standard_error("regression", losses)
        store.add(record("yacht", "mercer", losses.mean() ** 0.5, rows=rows, of=360, se=se), y + wrong)
    store.add(record("yacht", "svm", 0.3, rows=50, of=360))
    found = curves.points(Results(store))
    assert [p.rows for p in found] == [50, 100, 200] and {p.method for p in found} == {"mercer"}
    assert [p.is_worse for p in found] == [False, False, True] and found[0].rise is None
    lines = curves.as_csv(found).splitlines()
    assert len(lines) == 4 and lines[3].startswith("yacht,mercer,200,") and lines[3].endswith(",1")
    assert "worse beyond noise: Mercer on yacht" in markdown(Results(store, 200))


PAGE = """\
### Regression: RMSE on the test rows

| table | n | d | Mercer | SVM | linear |
|---|---|---|---|---|---|
| yacht | 360 | 3 | **1.5** | 1.5 | too slow |
| airfoil | 360 | 3 | **1.5** | 1.5 | 2 |

### Classification: errors in % of the test rows

| table | n | d | Mercer | SVM | linear |
|---|---|---|---|---|---|
| churn | 320 | 8 | 11.25 | **10** | – |

### Log loss, where there are probabilities

| table | Mercer |
|---|---|
| churn | **0.119** |
"""


def test_known_results_of_a_page(data, store, tmp_path):
    (tmp_path / "page.md").write_text(PAGE)
    records, absent = known.records(tmp_path / "page.md")
    assert absent == ["airfoil"] and all(r["known"] for r in records)
    found = {(r["set"], r["method"]): r for r in records}
    assert found["yacht", "mercer"]["rmse"] == 1.5 < found["yacht", "svm"]["rmse"] < 1.5001
    assert found["yacht", "linear"]["status"] == "timeout" and ("churn", "linear") not in found
    assert found["churn", "mercer"]["error"] * 240 == 27 and found["churn", "mercer"]["logloss"] == 0.119
    for r in records:
        store.add(r)
    results = Results(store)
    assert results.ranks(["yacht"], ["mercer", "svm", "linear"]) == {"mercer": 1, "svm": 2, "linear": 3}
    # What was measured counts instead, once all folds are there.
    for fold in range(3):
        assert Results(store).value("churn", "mercer") == 0.1125
        store.add(record("churn", "mercer", 0.05 * fold, fold=fold, rows=320, of=320))
    assert Results(store).value("churn", "mercer") == 0.05
    assert "Better on 1, worse on 0 of 1 tables" in markdown(Results(store))


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="the data sets are not beside this checkout")
def test_the_page_has_the_ranks_of_its_numbers(store):
    path = ROOT / "docs" / "accuracy.md"
    records, absent = known.records(path)
    assert not absent and len({r["set"] for r in records}) == 40
    for r in records:
        store.add(r)
    results = Results(store)
    (printed,) = (t for t in page.tables(path.read_text()) if t.names == ["", "average rank", "best on"])
    methods = {method: title for method, title in TITLES.items() if any(title == r[0] for r in printed.rows)}
    ranks, wins = results.ranks(results.names(), list(methods)), results.wins(results.names(), list(methods))
    for title, rank, best in printed.rows:
        method = next(m for m in methods if methods[m] == title)
        # Numbers that are printed alike aren't always equal.
        assert abs(ranks[method] - float(rank)) < 0.05 and wins[method] == int(best)


def test_a_store_survives_half_a_line(store):
    store.add(record("yacht", "mercer", 1.0), np.arange(3.0))
    with store.file.open("a") as file:
        file.write('{"set": "yacht", "fo')
    store.add(record("yacht", "mercer", 2.0))
    (found,) = store.read().values()
    assert found["rmse"] == 2.0 and np.array_equal(store.prediction(found), np.arange(3.0))


def test_what_is_left_to_run(data, store):
    wanted = runner.jobs(["yacht"], ["mercer", "linear", "svm"], [0], 100, 2.0, "now")
    assert {(job.rows, job.minutes) for job in wanted} == {(100, 2.0), (100, None)}
    assert runner.left(wanted, store) == wanted
    done = {"of": 360, "version": "before"}
    store.add(record("yacht", "mercer", 1.0, **done))
    store.add(record("yacht", "linear", 1.0, **done))
    store.add(record("yacht", "svm", None, **done, status="missing"))
    # Mercer's result is of another version, and the SVM could not be had.
    assert [job.method for job in runner.left(wanted, store)] == ["mercer", "svm"]


def test_mercer_on_a_gpu_stands_beside_mercer_on_the_cpu(data, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(runner, "run", lambda todo, store, how: asked.append((todo, how)) or [])
    common = ["run", "--sets", "yacht", "--folds", "0", "--version", "now", "--store", str(tmp_path)]
    for more in ([], ["--engine", "cuda"], ["--engine", "cuda", "--methods", "linear"]):
        main([*common, *more])
    (here, by_cpu), *there = asked
    assert {job.method for job in here} == set(runner.METHODS) and by_cpu.engine == "cpu"
    for todo, how in there:
        assert [(job.method, job.version) for job in todo] == [("mercer", "now, cuda")]
        assert how.engine == "cuda"


def test_the_engine_reaches_mercer(data, monkeypatch):
    split, asked = sets.load("yacht", 0, 60), []

    def fit(X, y, **more):
        asked.append(more["engine"])
        raise ImportError("no GPU here")

    monkeypatch.setattr("mercer.fit", fit, raising=False)
    for how in (runner.How(), runner.How(engine="cuda")):
        with pytest.raises(ImportError):
            ours.mercer("regression", split, minutes=0.1, **runner.engine_of(how))
    assert asked == ["cpu", "cuda"]


def test_kernel_machines_take_what_they_can(data, monkeypatch):
    split = sets.load("yacht")
    assert kernel_machines.gaussian_ridge("regression", split).rows is None
    monkeypatch.setattr(kernel_machines, "ROWS", 50)
    answer = kernel_machines.gaussian_ridge("regression", split)
    assert answer.rows == 50 and len(answer.prediction) == len(split.y_test)


def test_codes_of_names():
    X, X_test = np.array([[5.0, 1.5], [2.0, 2.5], [5.0, 0.5]]), np.array([[2.0, 5.0], [9.0, 5.0], [1.0, 5.0]])
    found, found_test = boosted_trees.coded(X, X_test, (0,))
    assert found.tolist() == [[1, 1.5], [0, 2.5], [1, 0.5]]
    assert np.array_equal(found_test, [[0, 5], [np.nan, 5], [np.nan, 5]], equal_nan=True)
    assert X[0, 0] == 5 and X_test[1, 0] == 9


@pytest.mark.parametrize("name", ["lightgbm", "catboost"])
def test_a_peer_that_is_not_here(data, name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Missing, match="not installed"):
        runner.METHODS[name]("regression", sets.load("yacht"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["lightgbm", "catboost"])
def test_boosted_trees_know_categories(name):
    """Codes in an order that says nothing; two thirds of the names are right by luck otherwise."""
    pytest.importorskip(name)
    rng = np.random.default_rng(0)
    names = rng.integers(0, 30, 3000)
    X = np.column_stack([names, rng.standard_normal(3000)])
    y = rng.permutation(np.arange(30) % 3)[names]
    split = sets.Split(X[:2000], y[:2000], X[2000:], y[2000:], (0,), 2000)
    answer = runner.METHODS[name]("classification", split)
    assert answer.proba.shape == (1000, 3) and np.allclose(answer.proba.sum(axis=1), 1)
    assert np.mean(answer.prediction != split.y_test) < 0.01
    split = sets.Split(X[:2000], y[:2000] * 1.0, X[2000:], y[2000:] * 1.0, (0,), 2000)
    answer = runner.METHODS[name]("regression", split)
    assert answer.prediction.shape == (1000,) and np.mean((answer.prediction - split.y_test) ** 2) < 0.01


def test_the_command_can_be_interrupted_and_taken_up(data, tmp_path):
    def command(*words):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", *sys.path])}
        run = [sys.executable, "-m", "benchmarks.accuracy", *words, "--store", str(tmp_path / "store")]
        done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    wanted = ("--sets", "yacht,heart,servo", "--folds", "0", "--methods", "linear,boosting-defaults")
    first = command(*wanted, "--rows", "100", "--jobs", "2")
    assert first.startswith("servo is skipped: no uci/servo.npz") and "4 of 4 results" in first
    file = tmp_path / "store" / "results.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {r["status"] for r in lines} == {"ok"} and {r["rows"] for r in lines} == {100}
    file.write_text("".join(json.dumps(r) + "\n" for r in lines[:3]))
    assert "1 of 4 results" in command(*wanted, "--rows", "100")
    assert "4 of 4 results" in command(*wanted, "--rows", "all")
    assert "| yacht | linear | 100: 0" in command("report", "--rows", "all")
    assert "yacht,linear,360," in (tmp_path / "store" / "rows.csv").read_text()
