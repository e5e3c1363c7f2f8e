"""`run_stream`: predictions before learning, what is kept, where it goes on."""

import io
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mercer
from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer._state import check
from mercer.io import ModelFileError, load, save
from mercer.kernels import BagOfWords, Finite, Gaussian, columns
from mercer.online import Encoding, MeanShift, Oldest, progressive
from mercer.tables.reading import Table, TableError, write
from mercer.tables.stream import run_stream

RNG = np.random.default_rng(0)
X = RNG.standard_normal((700, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
WORDS = np.where(Y > 0, "up", "down")


def regressor(**options):
    return OnlineKernelRegressor(Gaussian(1.0), budget=Oldest(50), **options)


def classifier(**options):
    return OnlineKernelClassifier(Gaussian(1.0), budget=Oldest(50), **options)


def lines(path):
    return [line.split(",") for line in path.read_text().splitlines()]


def test_predictions_are_made_before_the_row_is_learned(tmp_path):
    machine = regressor()
    state = run_stream(machine, (X, Y), standardise=False, batch=64, predictions=tmp_path / "p.csv")
    one = regressor()
    said = []
    for x, y in zip(X, Y):
        said.append(one.predict_one(x) if one.n_seen_ else 0.0)
        one.learn_one(x, y)
    table = lines(tmp_path / "p.csv")
    assert table[0] == ["row", "y", "prediction"] and [row[0] for row in table[1:]] == list(
        map(str, range(1, 701))
    )
    np.testing.assert_allclose([float(row[2]) for row in table[1:]], said, atol=1e-10)
    assert state.metrics.total["MAE"] == pytest.approx(np.abs(np.array(said) - Y).mean())
    assert state.position == machine.n_seen_ == 700
    np.testing.assert_allclose(
        state.metrics.recent["MAE"], np.abs(np.array(said) - Y).mean()
    )  # of up to 1000


def test_labels_and_probabilities(tmp_path):
    machine = classifier()
    state = run_stream(machine, (X, WORDS), standardise=False, batch=50, predictions=tmp_path / "p.csv")
    expected = progressive(classifier(), X, WORDS)
    table = lines(tmp_path / "p.csv")[1:]
    assert np.mean([row[2] == e for row, e in zip(table, expected)]) > 0.99  # rounding may turn a near tie
    assert state.metrics.total["accuracy"] == pytest.approx(np.mean([row[1] == row[2] for row in table]))
    p = np.array([float(row[3]) if row[1] == row[2] else 1 - float(row[3]) for row in table])
    assert state.metrics.total["log loss"] == pytest.approx(-np.log(p).mean())
    assert machine.n_mistakes_ == sum(row[1] != row[2] for row in table)


def test_with_averaging_the_mean_predicts(tmp_path):
    run_stream(regressor(averaging=True), (X, Y), standardise=False, batch=50, predictions=tmp_path / "p.csv")
    machine, said = regressor(averaging=True), []
    for i in range(300):
        said.append(machine.predict(X[i : i + 1])[0] if i else 0.0)
        machine.partial_fit(X[i : i + 1], Y[i : i + 1])
    found = [float(row[2]) for row in lines(tmp_path / "p.csv")[1:]]
    np.testing.assert_allclose(found[50:300], said[50:], atol=1e-9)  # from the second batch on


def test_no_prediction_knows_a_label_before_it_comes(tmp_path):
    labels = WORDS.astype("U9")
    labels[300:][X[300:, 0] > 1] = "sideways"
    first = int(np.flatnonzero(labels == "sideways")[0])
    state = run_stream(classifier(), (X, labels), batch=128, predictions=tmp_path / "p.csv")
    table = lines(tmp_path / "p.csv")[1:]
    assert "sideways" not in [row[2] for row in table[: first + 1]]
    assert "sideways" in [row[2] for row in table[first + 1 :]]
    assert state.machine.classes_.tolist() == ["down", "sideways", "up"]


def test_one_class_for_a_long_time():
    order = np.argsort(WORDS, kind="stable")
    state = run_stream(classifier(), (X[order], WORDS[order]), batch=32)
    assert state.machine.classes_.tolist() == ["down", "up"]
    known = run_stream(classifier(), (X[order], WORDS[order]), batch=32, classes=["down", "up"])
    assert known.machine.classes_.tolist() == ["down", "up"]
    with pytest.raises(ValueError, match="rows 1 to 32: the target 'y' holds 0.5"):
        run_stream(classifier(), (X, np.full(700, 0.5)), batch=32)


@pytest.fixture
def table(tmp_path):
    """A file with gaps, also in the target."""
    y = np.where(np.arange(700) % 13 == 5, np.nan, Y)
    size = np.where(np.arange(700) % 7 == 0, np.nan, 100 + 30 * X[:, 0])
    columns = {"size": size, "b": X[:, 1], "word": WORDS.astype(object), "y": y}
    return write(Table.of(columns), tmp_path / "t.csv")


def test_sources_say_the_same(table, tmp_path):
    def through(source, **options):
        machine = regressor(random_state=0)
        state = run_stream(machine, source, batch=64, **options)
        return state.position, machine.function_.coef.tobytes(), state.metrics.total

    whole = mercer.tables.read(table)
    rows = [{name: whole[name][i] for name in whole.names} for i in range(700)]
    pairs = [({k: v for k, v in row.items() if k != "y"}, row["y"]) for row in rows]
    first = through(table)
    assert first[0] == 700
    for source in (
        write(whole, tmp_path / "t.parquet"),
        write(whole, tmp_path / "t.jsonl"),
        io.BytesIO(table.read_bytes()),
        whole,
        iter(rows),
        iter(pairs),
        iter([whole.take(slice(i, i + 64)) for i in range(0, 700, 64)]),
    ):
        assert through(source) == first, source


def test_x_and_y_apart():
    def through(source):
        machine = regressor()
        return run_stream(machine, source, batch=64).position, machine.function_.coef.tobytes()

    first = through(iter([({"x1": a, "x2": b}, y) for (a, b), y in zip(X.tolist(), Y.tolist())]))
    frame = pd.DataFrame(X, columns=["x1", "x2"])
    for source in ((X, Y), (frame, pd.Series(Y)), (sparse.csr_array(X), Y), (X.tolist(), Y.tolist())):
        assert through(source) == first

    class Endless:  # as river's data sets: to be iterated over, and no iterator
        def __iter__(self):
            return zip(({"x1": a, "x2": b} for a, b in X.tolist()), Y.tolist())

    assert through(Endless()) == first
    with pytest.raises(ValueError, match="X has 700 rows, and y has 30"):
        run_stream(regressor(), (X, Y[:30]))
    with pytest.raises(ValueError, match="X has a column 'x1'"):
        run_stream(regressor(), (frame, Y), target="x1")


def test_rows_without_a_target_are_predicted_and_not_learned(table, tmp_path):
    machine = regressor()
    state = run_stream(machine, table, batch=64, predictions=tmp_path / "p.csv")
    gaps = sum(i % 13 == 5 for i in range(700))
    assert state.position == 700 and machine.n_seen_ == state.metrics.count == 700 - gaps
    without = [row for row in lines(tmp_path / "p.csv")[1:] if row[1] == ""]
    assert len(without) == gaps and all(row[2] for row in without[10:])


def test_new_rows_are_predicted_from_tables(table):
    state = run_stream(regressor(), table)
    whole = mercer.tables.read(table)
    found = state.predict(whole.drop("y"))
    assert np.abs(found - Y).mean() < 0.7 * np.abs(Y - Y.mean()).mean()
    row = {"size": None, "b": 0.0, "word": "never met"}
    assert state.predict([row]).shape == (1,)
    labels = run_stream(classifier(), table, target="word")
    assert labels.predict_proba(whole).shape == (700, 2)
    with pytest.raises(ValueError, match="no column 'b'"):
        state.predict(whole.drop("b"))
    assert str(state).startswith("OnlineKernelRegressor after 700 rows: MAE 0.")


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_numbers_far_from_zero_are_standardised(loss, tmp_path):
    def through(y, **options):
        return run_stream(OnlineKernelRegressor(loss=loss), (X, y), batch=100, **options)

    near, path = through(Y), tmp_path / "far.mercer"
    far = through(1e6 + 50 * Y, checkpoint=path, predictions=tmp_path / "p.csv")
    assert far.metrics.total["MAE"] == pytest.approx(50 * near.metrics.total["MAE"], rel=1e-6)
    assert far.centre == pytest.approx(1e6 + 50 * Y[:100].mean()) and far.scale == pytest.approx(
        50 * Y[:100].std()
    )
    rows = {"x1": X[:5, 0], "x2": X[:5, 1]}
    np.testing.assert_allclose(far.predict(rows), 1e6 + 50 * near.predict(rows), rtol=1e-10)
    np.testing.assert_array_equal(load(path).predict(rows), far.predict(rows))
    late = [float(row[2]) for row in lines(tmp_path / "p.csv")[-50:]]
    assert np.abs(np.array(late) - 1e6).max() < 500


def test_where_numbers_are_left_as_they_are():
    counts = np.round(np.exp(Y))
    assert run_stream(OnlineKernelRegressor(loss="poisson", step=0.05), (X, counts)).scale == 1.0
    assert run_stream(regressor(), (X, Y), standardise=False).scale == 1.0
    assert run_stream(regressor().fit(X, Y), (X, 9 + Y)).centre == 0.0  # it has begun in these units
    alike = run_stream(regressor(), (X, np.full(700, 0.1)))
    assert alike.scale == 1.0 and alike.predict({"x1": X[:3, 0], "x2": X[:3, 1]}) == pytest.approx([0.1] * 3)


def test_objects_of_a_kernel():
    machine = OnlineKernelRegressor(Finite(np.eye(5)), lam=0.0, step=0.5)
    state = run_stream(machine, ((i % 5, float(i % 5)) for i in range(300)), batch=7)
    assert state.encoding is None
    np.testing.assert_allclose(state.predict(np.arange(5)), np.arange(5), atol=1e-6)


def test_ignored_columns_and_limits(table):
    state = run_stream(regressor(), table, ignore=["word"], limit=101, batch=20)
    assert state.encoding.names == ("size", "b") and state.position == 101
    with pytest.raises(TableError, match="no column 'wrod'"):
        run_stream(regressor(), table, ignore=["wrod"])
    with pytest.raises(ValueError, match="no column but 'y'"):
        run_stream(regressor(), iter([{"y": 1.0}]))


# -- change ---------------------------------------------------------------------------------------


def test_changes_are_found_and_begun_again_from():
    turned = np.where(np.arange(700) < 400, Y, 5 - Y)
    report = run_stream(regressor(step=0.02), (X, turned), drift=MeanShift(window=60), batch=20)
    assert len(report.drifts) == 1 and 400 < report.drifts[0] < 480 and report.restarts == 0
    machine = regressor(step=0.02)
    again = run_stream(machine, (X, turned), drift=MeanShift(window=60), on_drift="restart", batch=20)
    assert again.drifts == report.drifts and again.restarts == 1
    assert machine.n_seen_ == 700 - 20 * -(-again.drifts[0] // 20)


def test_labels_are_not_forgotten_when_it_begins_again():
    class AtRow:
        count, drift_detected = 0, False

        def update(self, value):
            assert value in (0.0, 1.0)
            self.count += 1
            self.drift_detected = self.count == 333

    order = np.argsort(WORDS, kind="stable")  # one label alone after that row
    state = run_stream(
        classifier(), (X[order], WORDS[order]), drift=AtRow(), on_drift="restart", batch=20, limit=360
    )
    assert state.drifts == [333] and state.restarts == 1 and state.machine.n_seen_ == 20
    assert state.machine.classes_.tolist() == sorted(set(WORDS[order][:360]))


def test_rivers_detectors(tmp_path):
    river = pytest.importorskip("river.drift")
    turned = np.where(np.arange(700) < 400, Y, 5 - Y)
    state = run_stream(regressor(step=0.02), (X, turned), drift=river.ADWIN(), batch=20)
    assert state.drifts and all(d > 400 for d in state.drifts[-1:])
    with pytest.raises(ValueError, match="a ADWIN can't be kept in a checkpoint"):
        run_stream(regressor(), (X, Y), drift=river.ADWIN(), checkpoint=tmp_path / "c.mercer")


# -- checkpoints ----------------------------------------------------------------------------------


def test_it_goes_on_where_it_was(table, tmp_path):
    def options(name, **more):
        return {
            "batch": 32,
            "every": 100,
            "checkpoint": tmp_path / f"{name}.mercer",
            "predictions": tmp_path / f"{name}.csv",
            **more,
        }

    run_stream(regressor(random_state=1), table, **options("whole", drift=True))
    for limit in (32, 320, 640):
        run_stream(regressor(random_state=1), table, **options("part", drift=True, resume=True, limit=limit))
    with open(tmp_path / "part.csv", "a") as out:
        out.write("what came after the last checkpoint\n")
    machine = regressor(random_state=1)
    state = run_stream(machine, table, **options("part", drift=True, resume=True))
    assert state.machine is machine and machine.n_seen_ > 600
    for ending in ("mercer", "csv"):
        assert (tmp_path / f"part.{ending}").read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()
    # At the end there is nothing to do, unless all rows are new.
    more = options("part", drift=True, resume=True)
    assert run_stream(regressor(random_state=1), table, **more).position == 700
    assert run_stream(regressor(random_state=1), table, **more, skip=False).position == 1400


def test_iterators_are_skipped_too(tmp_path):
    checkpoint = tmp_path / "c.mercer"
    options = {"batch": 32, "checkpoint": checkpoint, "resume": True}
    run_stream(regressor(random_state=1), zip(X, Y), limit=320, **options)
    state = run_stream(regressor(random_state=1), zip(X, Y), **options)
    whole = run_stream(regressor(random_state=1), zip(X, Y), batch=32)
    assert state.machine.function_.coef.tobytes() == whole.machine.function_.coef.tobytes()


def test_checkpoints_of_something_else(tmp_path):
    path = tmp_path / "c.mercer"
    run_stream(regressor(), (X, Y), checkpoint=path)

    def refused(match, machine=None, error=ValueError, **options):
        with pytest.raises(error, match=match):
            run_stream(machine or regressor(), (X, Y), **{"checkpoint": path, "resume": True, **options})

    refused("target was y, and is z", target="z")
    refused("batch was 256, and is 64", batch=64)
    refused("the machine's lam was 1e-06, and is 0.1. Ask for the same again", regressor(lam=0.1))
    refused("drift was NoneType, and is MeanShift", drift=True)
    refused("window was 1000", window=10)
    save(Gaussian(1.0), path)
    refused("holds a Gaussian", error=ModelFileError)
    path.write_bytes(b"PK")
    refused("not a model", error=ModelFileError)
    refused("resume=True needs checkpoint=", checkpoint=None)


@pytest.mark.filterwarnings("ignore:steps of .* overshoot")
def test_what_is_asked_for_must_make_sense():
    for options, match in (
        ({"on_drift": "panic"}, "on_drift must"),
        ({"every": 0}, "every must"),
        ({"batch": 0}, "size must|batch"),
    ):
        with pytest.raises(ValueError, match=match):
            run_stream(regressor(), (X, Y), **options)
    with pytest.raises(TypeError, match="drift must be True"):
        run_stream(regressor(), (X, Y), drift="ADWIN")
    with pytest.raises(TypeError, match="machine must be"):
        run_stream(mercer.KernelRidge(offset=False), (X, Y))
    with pytest.raises(ValueError, match="pairs"):
        run_stream(regressor(), iter([1, 2]))
    with pytest.raises(ValueError, match="name of y"):
        run_stream(regressor(), iter([({"y": 1}, 2)]))
    with pytest.raises(ValueError, match="rows 1 to 256: the target 'y' holds words"):
        run_stream(regressor(), (X, WORDS))
    with pytest.raises(ValueError, match="rows 257 to 512: f has grown beyond all bounds"):
        run_stream(regressor(step=1e9, lam=0.0), (X, np.where(np.arange(700) < 256, 0.0, 1e30)))


def test_ctrl_c_waits_for_the_batch_and_says_how_to_go_on(tmp_path):
    path = tmp_path / "c.mercer"

    def interrupting(state):
        if state.position == 128:
            os.kill(os.getpid(), signal.SIGINT)

    options = {"batch": 64, "checkpoint": path}
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match=r"128 rows are learned and kept in .*c.mercer; resume=True"):
        run_stream(regressor(random_state=1), (X, Y), progress=interrupting, **options)
    assert signal.getsignal(signal.SIGINT) is before and load(path).position == 128
    state = run_stream(regressor(random_state=1), (X, Y), resume=True, **options)
    whole = run_stream(regressor(random_state=1), (X, Y), batch=64)
    assert state.machine.function_.coef.tobytes() == whole.machine.function_.coef.tobytes()


def test_ctrl_c_does_not_wait_for_input(tmp_path):
    path = tmp_path / "c.mercer"

    def endless():
        yield from zip(X[:100], Y)
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(20)
        raise AssertionError("it waited")

    with pytest.raises(KeyboardInterrupt, match="64 rows are learned and kept"):
        run_stream(regressor(), endless(), batch=64, checkpoint=path)
    assert load(path).position == 64
    with pytest.raises(KeyboardInterrupt, match="no checkpoint was asked for"):
        run_stream(regressor(), endless(), batch=64)


def test_in_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(run_stream(regressor(), (X, Y))))
    thread.start()
    thread.join()
    assert found[0].position == 700


def test_files_that_lie():
    state = run_stream(regressor(), (X, Y))
    check(state)
    for change in (
        {"position": -1},
        {"batch": 0},
        {"drift": "adwin"},
        {"drifts": ["x"]},
        {"machine": classifier()},
    ):
        with pytest.raises(ValueError, match="makes no sense| is not "):
            check(replace(state, **change))
    with pytest.raises(ValueError, match="other points"):
        check(replace(state, encoding=Encoding.begin({"a": np.zeros(1)})))


def test_rows_with_text_for_a_kernel_on_named_columns(tmp_path):
    """Strings are learned from by a kernel that takes them; for vectors it is said what becomes of them."""
    rng = np.random.default_rng(0)
    words = ["tea", "cake", "rain", "sun", "fog"]
    notes = [f"{' '.join(rng.choice(words, 3))} {mood}" for mood in rng.choice(["fine", "dull"], 300)]
    moods = [note.split()[-1] for note in notes]
    rows = Table.of({"note": [*notes[:-1], None], "size": rng.standard_normal(300), "mood": moods})
    kernel = columns("note", BagOfWords().normalize()) + 0.1 * columns(["size"], Gaussian(1.0))
    kept = tmp_path / "s.mercer"
    streamed = run_stream(OnlineKernelClassifier(kernel), rows, target="mood", checkpoint=kept)
    assert streamed.metrics.recent["accuracy"] > 0.9 and streamed.encoding is None and not streamed.remarks
    new = [{"note": note, "size": 0.0} for note in ("sun sun fine", "tea dull", None)]
    assert streamed.predict(new)[:2].tolist() == ["fine", "dull"]
    assert load(kept).predict(new).tolist() == streamed.predict(new).tolist()
    plain = run_stream(classifier(), rows, target="mood")
    assert len(plain.remarks) == 1 and "column 'note' has many different words" in plain.remarks[0]
