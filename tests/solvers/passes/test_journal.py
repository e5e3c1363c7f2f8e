"""Checkpoints: interrupted and resumed to the same bits; nothing a file holds does any harm."""

import contextlib
import io
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.features import RandomFourierFeatures
from mercer.kernels import Gaussian
from mercer.losses import Absolute, FunctionLoss, Logistic
from mercer.operators import Elsewhere
from mercer.representations import Features, Nystrom
from mercer.rows import ArrayRows
from mercer.solvers import Checkpoint, CheckpointError, Passes, journal, smooth
from mercer.solvers.journal import Journal, digest

pytestmark = pytest.mark.usefixtures("small_samples")

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (300, 2))
t = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(300)
two, three = np.where(t > 0, "b", "a"), np.digitize(t, [-0.7, 0.7])
MACHINES = {
    "ridge": (KernelRidge, {}, np.stack([t, t**2], axis=1)),
    "logistic": (KernelLogistic, {}, three),
    "hinge": (KernelSVC, {}, two),
    "pairs": (KernelSVC, {}, three),
    "absolute": (KernelRegressor, {"loss": Absolute()}, t),
}


def made(name="logistic", **params):
    cls, own, y = MACHINES[name]
    standard = {"kernel": Gaussian(1.0), "lam": 1e-3, "representation": Nystrom(12), "random_state": 1}
    return cls(**{**standard, **own, **params}), ArrayRows(X, y, rows=70)


def always(path):
    return Checkpoint(path, minutes=0)


def interrupted(monkeypatch, machine, rows, path, passes):
    """Begin a fit, and press Ctrl-C in a pass."""
    adding, left = Elsewhere.adding, [passes]

    def counting(self, work):
        total = adding(self, work)

        def one(*vectors):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return total(*vectors)

        return one

    with monkeypatch.context() as patch:
        patch.setattr(Elsewhere, "adding", counting)
        with pytest.raises(KeyboardInterrupt) as caught:
            machine.fit(rows, checkpoint=always(path))
    [note] = caught.value.__notes__
    assert str(path) in note and path.exists()


@pytest.fixture
def begun(monkeypatch, tmp_path):
    """The bytes of a checkpoint in mid-fit, and its path."""
    path = tmp_path / "fit.checkpoint"
    machine, rows = made()
    interrupted(monkeypatch, machine, rows, path, 5)
    return path.read_bytes(), path


@pytest.mark.parametrize("name", MACHINES)
def test_resumed_to_the_same_bits(name, monkeypatch, tmp_path):
    machine, rows = made(name)
    whole, path = machine.fit(rows).solution_, tmp_path / "a"
    for passes in ((2, 2), (whole.iterations - 2,), (whole.iterations - 1,)):
        for k in passes:  # interrupted once, and once more; in the last step, and in the pass after it
            interrupted(monkeypatch, made(name)[0], rows, path, k)
            assert path.exists()
        again = made(name)[0].fit(rows, checkpoint=path).solution_
        assert not path.exists()
        assert np.array_equal(again.coef, whole.coef) and np.array_equal(again.intercept, whole.intercept)
        assert again.history == whole.history and again.iterations == whole.iterations
        assert again.status == whole.status == "converged"


def test_windows_draw_the_same_again(monkeypatch, tmp_path):
    """… where steps within a window come from a sample of it, as in large ones."""
    monkeypatch.setattr(smooth, "DIRECT_FEATURES", 0)
    monkeypatch.setattr(smooth, "sampled_rows", lambda p: 8)
    machine, rows = made("absolute", solver=Passes(tol=1e-6))
    whole = machine.fit(rows).solution_
    interrupted(monkeypatch, clone(machine), rows, tmp_path / "a", whole.iterations - 3)
    again = clone(machine).fit(rows, checkpoint=tmp_path / "a").solution_
    assert np.array_equal(again.coef, whole.coef) and again.history == whole.history


def test_random_centres_are_the_same_again(monkeypatch, tmp_path):
    machine, rows = made(random_state=None)
    interrupted(monkeypatch, machine, rows, tmp_path / "a", 4)
    with np.load(tmp_path / "a") as state:
        seed = int(state["seed"])
    again = made(random_state=None)[0].fit(rows, checkpoint=tmp_path / "a")
    whole = made(random_state=seed)[0].fit(rows)
    assert np.array_equal(again.dual_coef_, whole.dual_coef_)


def test_interrupted_before_the_first_step(monkeypatch, tmp_path):
    machine, rows = made()
    interrupted(monkeypatch, machine, rows, tmp_path / "a", 0)
    assert np.array_equal(
        made()[0].fit(rows, checkpoint=tmp_path / "a").dual_coef_, machine.fit(rows).dual_coef_
    )


KILLED = """
import os, sys
import numpy as np
import mercer.solvers.passes.minimise as minimise
from mercer import KernelLogistic
from mercer.kernels import Gaussian
from mercer.operators import Elsewhere
from mercer.representations import Nystrom
from mercer.rows import ArrayRows
from mercer.solvers import Checkpoint

minimise._SAMPLED, minimise._SAMPLED_LEAST = 3, 60
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (300, 2))
t = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(300)
adding = Elsewhere.adding

def fit(left):
    def dying(self, work):
        def total(*vectors):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), 9)
            return adding(self, work)(*vectors)

        return total

    Elsewhere.adding = dying
    machine = KernelLogistic(Gaussian(1.0), lam=1e-3, representation=Nystrom(12), random_state=1)
    rows = ArrayRows(X, np.digitize(t, [-0.7, 0.7]), rows=70)
    machine.fit(rows, checkpoint=Checkpoint(sys.argv[1], minutes=0))

for passes in (4, 3):  # in a process each, which need not import everything anew
    child = os.fork()
    if not child:
        fit([passes])
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 9
    assert os.path.exists(sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no kill -9")
def test_killed(tmp_path):
    path = tmp_path / "a"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True)
    assert list(tmp_path.iterdir()) == [path]
    machine, rows = made()
    again = made()[0].fit(rows, checkpoint=path)
    assert np.array_equal(again.solution_.coef, machine.fit(rows).solution_.coef)


def other_fits():
    y = MACHINES["logistic"][2]
    yield "another lam", made(lam=2e-3)
    yield "another kernel", made(kernel=Gaussian(1.001))
    yield "another loss", made(offset=False)
    yield "other centres", made(random_state=2)
    yield "other weights", made(class_weight="balanced")
    yield "another machine", made("ridge")
    yield "other features", made(representation=Features(RandomFourierFeatures(n_features=12)))
    yield "other points", (made()[0], ArrayRows(X + 1, y, rows=70))
    yield "other targets", (made()[0], ArrayRows(X, (y + 1) % 3, rows=70))
    yield "fewer rows", (made()[0], ArrayRows(X[:-1], y[:-1], rows=70))
    yield "weights", (made()[0], ArrayRows(X, y, np.arange(1.0, 301), rows=70))
    yield "float32", (made()[0], ArrayRows(X.astype(np.float32), y, rows=70))


def test_of_another_fit(begun):
    data, path = begun
    for what, (machine, rows) in other_fits():
        with pytest.raises(CheckpointError, match="another fit"):
            machine.fit(rows, checkpoint=path)
        assert path.read_bytes() == data, what


def test_features_and_losses_of_ones_own(monkeypatch, tmp_path):
    """What has the same name may still be something else."""
    params = {"representation": Features(RandomFourierFeatures(n_features=12, random_state=0))}
    machine, rows = made(**params)
    interrupted(monkeypatch, machine, rows, tmp_path / "a", 4)
    with pytest.raises(CheckpointError, match="another fit"):
        made(kernel=Gaussian(1.01), **params)[0].fit(rows, checkpoint=tmp_path / "a")

    def own(factor):
        loss = FunctionLoss(
            lambda y, s: factor * np.logaddexp(0, -y * s),
            lambda y, s: -factor * y / (1 + np.exp(y * s)),
            classification=True,
        )
        kernel, representation = Gaussian(1.0), Nystrom(centres=X[:4])
        return KernelClassifier(kernel, loss=loss, lam=1e-3, representation=representation, random_state=1)

    few = ArrayRows(X, two, rows=300)
    interrupted(monkeypatch, own(1.0), few, tmp_path / "b", 3)
    with pytest.raises(CheckpointError, match="another fit"):
        own(2.0).fit(few, checkpoint=tmp_path / "b")
    again = own(1.0).fit(few, checkpoint=tmp_path / "b")
    one = KernelClassifier(Gaussian(1.0), loss=Logistic(), lam=1e-3, representation=Nystrom(centres=X[:4]))
    assert np.allclose(again.scores(X), one.fit(X, two).scores(X), atol=1e-5)


@pytest.mark.parametrize("name", ["ridge", "logistic", "hinge"])
def test_other_data_among_rows_that_nobody_looked_at(name, monkeypatch, tmp_path):
    """Neither the sample nor a fingerprint tells them apart: the objective does, also after a recurrence."""
    monkeypatch.setattr(ArrayRows, "fingerprint", lambda self: "")
    drawn, take = [], ArrayRows.take
    monkeypatch.setattr(ArrayRows, "take", lambda self, index: (drawn.append(index), take(self, index))[1])
    path = tmp_path / "a"
    for single in (False, True):
        machine, rows = made(name)
        given = X.astype(np.float32) if single else X
        drawn.clear()
        interrupted(monkeypatch, machine, ArrayRows(given, rows.y, rows=70), path, 5)
        data, y = path.read_bytes(), rows.y.copy()
        hidden = np.setdiff1d(np.arange(300), drawn[0])
        y[hidden[:5]] = y[hidden[5:10]]
        with pytest.raises(CheckpointError, match="other data: at its point"):
            made(name)[0].fit(ArrayRows(given, y, rows=70), checkpoint=path)
        assert path.read_bytes() == data
        if name == "logistic":  # a point that nobody measured
            path.write_bytes(packed({**arrays(data), "u": -arrays(data)["u"]}))
            with pytest.raises(CheckpointError, match="damaged"):
                made(name)[0].fit(ArrayRows(given, rows.y, rows=70), checkpoint=path)
            path.write_bytes(data)
        if name == "hinge":
            path.write_bytes(packed({**arrays(data), "mu": 0 * arrays(data)["mu"]}))
            with pytest.raises(CheckpointError, match="damaged"):
                made(name)[0].fit(ArrayRows(given, rows.y, rows=70), checkpoint=path)
            path.write_bytes(data)
        assert made(name)[0].fit(ArrayRows(given, rows.y, rows=70), checkpoint=path).solution_.converged


def test_another_tolerance_goes_on(begun):
    _, path = begun
    machine, rows = made(solver=Passes(tol=1e-4))
    assert machine.fit(rows, checkpoint=path).solution_.status == "converged"


# -- files that do harm ------------------------------------------------------------------------------------


def refused(path, data, word=None):
    path.write_bytes(data)
    machine, rows = made()
    with pytest.raises(CheckpointError, match=word):
        machine.fit(rows, checkpoint=path)
    assert path.read_bytes() == data


def arrays(data):
    with np.load(io.BytesIO(data)) as file:
        return dict(file)


def packed(state, compression=zipfile.ZIP_STORED, **raw):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, value in state.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(value))
            archive.writestr(f"{name}.npy", member.getvalue())
        for name, content in raw.items():
            archive.writestr(f"{name}.npy", content)
    return out.getvalue()


class Evil:
    def __reduce__(self):
        return os.abort, ()


def header(text):
    text = text.encode() + b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def test_what_can_be_in_a_file(begun):
    data, path = begun
    state = arrays(data)
    assert packed(state) and made()[0] is not None
    less = {name: value for name, value in state.items() if name != "u"}
    objects = io.BytesIO()
    np.lib.format.write_array(objects, np.array([Evil()], dtype=object), allow_pickle=True)
    hostile = {
        "empty": b"",
        "text": b"not a checkpoint",
        "pickle": pickle.dumps(Evil()),
        "npy": objects.getvalue(),
        "objects": packed(less, u=objects.getvalue()),
        "pickle inside": packed(less, u=pickle.dumps(Evil())),
        "compressed": packed({**state, "more": np.zeros(1 << 20)}, zipfile.ZIP_DEFLATED),
        "huge": packed(
            less, u=header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,)}")
        ),
        "negative": packed(less, u=header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -8)}")),
        "no shape": packed(less, u=header("{'descr': '<f8', 'fortran_order': False}")),
        "code": packed(less, u=header("{'descr': __import__('os').abort(), 'shape': ()}")),
        "deep": packed(less, u=header("(" * 100)),
        "structured": packed(
            less, u=header("{'descr': [('a','<f8')], 'fortran_order': False, 'shape': (0,)}")
        ),
        "without seed": packed({name: value for name, value in state.items() if name != "seed"}),
        "seeds": packed({**state, "seed": [1, 2]}),
        "no seed": packed({**state, "seed": np.nan}),
        "bad seed": packed({**state, "seed": -1}),
        "version": packed({**state, "version": 3}),
        "version of words": packed({**state, "version": "2"}),
    }
    for content in hostile.values():
        refused(path, content, "no checkpoint that can be read")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../outside.npy", b"x")
    refused(path, path.read_bytes())


def test_what_numbers_can_be(begun):
    """Of the right fit, but not what a fit would write."""
    data, path = begun
    state, u = arrays(data), arrays(data)["u"]
    way = state["way"]
    for name, value in {
        "u": u[:-1],
        "gradient": np.full(u.shape, np.nan),
        "best_u": u.astype(np.float32),
        "numbers": np.zeros(3),
        "way": np.where(np.arange(len(way)) == len(way) - 2, np.inf, way),
        "mu": np.ones(3),
        "trust": "x",
        "history": np.zeros((2, 2)),
        "hessian_at": u.T,
        "steps": np.zeros((3, 1)),
        "changes": np.full(state["changes"].shape, np.inf),
        "passes": -1,
        "imbalance": -1 - state["imbalance"],
        "noted_u": np.full(u.shape, np.inf),
        "noted": np.nan,
    }.items():
        refused(path, packed({**state, name: value}), "damaged")
    # More passes than steps can have taken, or fewer than steps.
    for passes in (10**18, len(state["history"]), 1 + 12 * len(state["history"]) + 1):
        refused(path, packed({**state, "passes": passes}), "how far")
    refused(path, packed({**state, "gradient": 0 * u}), "contradict")
    refused(path, packed({**state, "noted": 1.001 * state["noted"]}), "other data")
    for name in ("u", "gradient", "numbers", "way", "reach", "history", "steps", "noted"):
        refused(path, packed({key: value for key, value in state.items() if key != name}), "damaged")


def test_mutations(begun):
    data, path = begun
    machine, rows = made()
    whole = made()[0].fit(rows).solution_.coef
    draw = np.random.default_rng(0)
    for _ in range(60):
        mutant = bytearray(data)
        if draw.random() < 0.3:
            del mutant[draw.integers(len(data)) :]
        else:
            for at in draw.integers(0, len(data), draw.integers(1, 4)):
                mutant[at] = draw.integers(256)
        path.write_bytes(mutant)
        with contextlib.suppress(CheckpointError):
            assert np.array_equal(machine.fit(rows, checkpoint=path).solution_.coef, whole)


# -- places --------------------------------------------------------------------------------------------------


def full_disk(*args, **kwargs):
    raise OSError(28, "No space left on device")


def test_places_that_cannot_be_written_to(monkeypatch, tmp_path):
    machine, rows = made()
    with pytest.raises(CheckpointError, match="can't be written"):
        machine.fit(rows, checkpoint=tmp_path / "none" / "a")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        machine.fit(rows, checkpoint=tmp_path)
    if hasattr(os, "mkfifo"):  # nobody waits for a writer
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(CheckpointError, match="no ordinary file"):
            machine.fit(rows, checkpoint=tmp_path / "pipe")
    monkeypatch.setattr(journal, "replacing", full_disk)
    with pytest.raises(CheckpointError, match="No space left on device"):
        machine.fit(rows, checkpoint=tmp_path / "a")
    assert not (tmp_path / "a").exists()


class Unread(ArrayRows):
    """Rows that end the fit when they are looked at."""

    def shard(self, k):
        raise KeyboardInterrupt


def test_a_place_is_tried_before_the_first_look(tmp_path):
    machine, rows = made()
    unread = Unread(X, three, rows=70)
    with pytest.raises(CheckpointError, match="can't be written"):
        machine.fit(unread, checkpoint=tmp_path / "none" / "a")
    # A fit that ends in its first look leaves nothing; one that was killed there, a file that says no more
    # than a seed, with which any fit may begin.
    with pytest.raises(KeyboardInterrupt):
        machine.fit(unread, checkpoint=tmp_path / "a")
    assert not list(tmp_path.iterdir())
    Journal(tmp_path / "a").try_out()
    assert machine.fit(rows, checkpoint=tmp_path / "a").solution_.converged
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(tmp_path):
    machine, rows = made()
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CheckpointError, match="can't be written"):
            machine.fit(rows, checkpoint=tmp_path / "a")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_disk_full_in_mid_fit(name, monkeypatch, tmp_path):
    machine, rows = made(name)
    begin = Journal.begin

    def fills(self):
        begin(self)
        monkeypatch.setattr(journal, "replacing", full_disk)

    monkeypatch.setattr(Journal, "begin", fills)
    with pytest.warns(RuntimeWarning, match="could not be renewed") as seen:
        machine.fit(rows, checkpoint=always(tmp_path / "a"))
    assert len(seen) == 1 and not (tmp_path / "a").exists()
    assert np.array_equal(machine.solution_.coef, made(name)[0].fit(rows).solution_.coef)


def test_not_removed(monkeypatch, tmp_path):
    """What can't be deleted does not cost the solution."""
    monkeypatch.setattr(Path, "unlink", full_disk)
    machine, rows = made()
    with pytest.warns(RuntimeWarning, match="could not be removed"):
        machine.fit(rows, checkpoint=tmp_path / "a")
    assert machine.solution_.status == "converged"


def test_rows_that_break(tmp_path):
    """An error of the data's own comes through, and what was reached is kept."""
    machine, rows = made()

    class Breaking(ArrayRows):
        left = 30

        def shard(self, k):
            self.left -= 1
            if self.left < 0:
                raise OSError("the disk is gone")
            return super().shard(k)

    with pytest.raises(OSError, match="the disk is gone"):
        machine.fit(Breaking(X, three, rows=70), checkpoint=Checkpoint(tmp_path / "a", passes=1000))
    with np.load(tmp_path / "a") as state:
        assert "u" in state
    again = made()[0].fit(rows, checkpoint=tmp_path / "a")
    assert np.array_equal(again.solution_.coef, machine.fit(rows).solution_.coef)


def test_how_often(monkeypatch, tmp_path):
    """Every so many passes, but not more often than so many minutes."""
    written, clock = [], [0.0]
    monkeypatch.setattr(Journal, "_write", lambda self: (written.append(clock[0]), _stamp(self, clock[0])))
    monkeypatch.setattr(journal.time, "monotonic", lambda: clock[0])

    def noted(**often):
        written.clear()
        clock[0] = 0.0
        kept = Journal(Checkpoint(tmp_path / "a", **often))
        kept.begin()
        for _ in range(12):
            clock[0] += 30.0
            kept.note({"u": 0})
        return written

    assert noted(passes=1, minutes=0) == [30.0 * i for i in range(13)]
    assert noted(passes=5, minutes=0) == [0.0, 150.0, 300.0]
    assert noted(passes=1, minutes=2) == [0.0, 120.0, 240.0, 360.0]
    assert noted(passes=3, minutes=2) == [0.0, 120.0, 240.0, 360.0]


def _stamp(kept, now):
    kept._written, kept._since = now, 0


def test_parameters(tmp_path):
    machine, rows = made()
    for wrong in (Checkpoint(tmp_path / "a", passes=0), Checkpoint(tmp_path / "a", minutes=-1)):
        with pytest.raises(ValueError, match="Checkpoint: "):
            machine.fit(rows, checkpoint=wrong)
    with pytest.raises(ValueError, match="goes step by step"):
        KernelRidge(lam=0.1, solver="cholesky").fit(X, t, checkpoint=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    # … and nothing of it stays with the machine.
    assert "_journal" not in vars(machine)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(allow_nan=False), max_size=5), st.text(max_size=5))
def test_digest(numbers, word):
    array = np.array(numbers)
    assert digest(array, word) == digest(array.copy(), word)
    assert digest(array, word) != digest(array, word + "x") != digest(np.append(array, 1.0), word)
