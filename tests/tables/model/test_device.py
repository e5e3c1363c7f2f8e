"""Which engine a fit has, what is said where it is not there, and how much more a GPU is given to do."""

import importlib
import sys
from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer import KernelRidge
from mercer.engines import Cuda, Engine, Tiled
from mercer.kernels import Gaussian
from mercer.selection.crew import Crew as InThisThread
from mercer.selection.gradient import LooSurface
from mercer.selection.search import Clock
from mercer.tables.model import device, search
from mercer.tables.model.device import Device, at_home, checked, gpu_for
from mercer.tables.model.effort import Effort
from mercer.tables.model.learn import Question, learn
from mercer.tables.model.search import KernelSearch, silent
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
N = 260
X = RNG.standard_normal((N, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(N)


class Elsewhere(Engine):
    """A GPU in NumPy, which counts what it is asked for; `full`: others have taken its memory."""

    name, remote, single_faster = "elsewhere", True, False

    def __init__(self, full=False):
        self.full = full
        self.asked = []

    def free_bytes(self):
        return 10**11

    def left_out(self, kernel, X, Y, mu, offset):
        self.asked.append(("left out", len(X)))
        if self.full:
            raise MemoryError("others have it")
        error, _, slopes, slope = LooSurface(X, Y, offset=offset).value_and_slopes(kernel, mu)
        scale = len(Y) / (2 * error)
        return error, {name: value / scale for name, value in slopes.items()}, slope / (scale * mu)

    def ridge_scores(self, kernel, X, Y, mu, new):
        self.asked.append(("scores", len(X)))
        if self.full:
            raise MemoryError("others have it")
        return kernel(new, X) @ np.linalg.solve(kernel(X) + mu * np.eye(len(X)), Y)


# -- which engine ------------------------------------------------------------------------------------


def test_what_is_no_engine():
    for wrong in ("gpu", 1, None, Tiled()):
        with pytest.raises(ValueError, match="engine must be 'auto', 'cpu', 'cuda' or a mercer.engines.Cuda"):
            mercer.fit({"x": X[:, 0]}, Y, engine=wrong)


@pytest.mark.parametrize("engine", ["cuda", Cuda()])
def test_what_is_missing_is_said_before_anything_is_read(engine, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ImportError, match=r"needs torch .*pip install 'mercer\[gpu\]'; engine='cpu' does without"
    ):
        mercer.fit("no such file.csv", "y", engine=engine)


def test_a_gpu_and_a_cluster():
    with pytest.raises(ValueError, match="give one of them"):
        checked("cuda", client=object())
    checked("auto", client=object())
    assert gpu_for("auto", 1e9, client=object()) is None


def test_auto_imports_nothing_for_little_or_without_a_driver(monkeypatch):
    monkeypatch.setattr(Cuda, "lacking", lambda self: pytest.fail("torch was imported"))
    assert gpu_for("cpu", 1e9) is None and gpu_for("auto", 4999) is None
    monkeypatch.setattr(device, "_driver", lambda: False)
    assert gpu_for("auto", 1e9) is None


@pytest.mark.parametrize("there", [True, False])
def test_auto_takes_a_gpu_if_there_is_one(there, monkeypatch):
    monkeypatch.setattr(device, "_driver", lambda: True)
    monkeypatch.setattr(Cuda, "lacking", lambda self: None if there else RuntimeError("none"))
    found = gpu_for("auto", 5000)
    assert isinstance(found, Cuda) if there else found is None
    assert gpu_for("cuda", 10) == Cuda() and gpu_for(Cuda(device="cuda:1"), 10).device == "cuda:1"


def test_the_driver_is_looked_for_beside_torch(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None if name == "triton" else object())
    assert not device._driver()
    monkeypatch.setattr(device, "find_spec", lambda name: object())
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(device.os.path, "exists", lambda path: path == "/dev/nvidiactl")
    assert device._driver()
    monkeypatch.setattr(device.os.path, "exists", lambda path: False)
    assert not device._driver()


# -- forecasts ---------------------------------------------------------------------------------------

LARGE = Device(Elsewhere(), 1.3e11)


def test_few_rows_are_not_worth_it():
    engine = Elsewhere()
    assert Device.of(None, 10**6) is None and Device.of(engine, device.FEWEST - 1) is None
    assert Device.of(engine, device.FEWEST).engine is engine
    graphics = Elsewhere()
    graphics.single_faster = True
    assert Device.of(graphics, 10**4).doubles < 0.1 * Device.of(engine, 10**4).doubles


def test_what_fits_is_within_memory_and_time():
    for seconds in (0.1, 2.0, 1e9):
        refined = LARGE.rows_refined(seconds, 20, 1, 40, 10**6)
        assert LARGE.gradient_seconds(refined, 20, 1) * 40 <= seconds or refined == 1
        assert 4 * 8 * refined**2 <= LARGE.bytes
        fitted, scored = (of(seconds, 20, 2, 10**6) for of in (LARGE.rows_fitted, LARGE.rows_scored))
        assert max(8 * fitted**2, 8 * scored**2) <= LARGE.bytes
        assert fitted == 1 or 2 * LARGE.fit_seconds(fitted, 20) <= seconds
        centres = LARGE.centres_within(seconds, 10**6, 20)
        assert 8 * centres**2 <= LARGE.bytes and centres <= 100_000
    assert 120_000 < LARGE.rows_fitted(1e9, 20, 2, 10**6) < 130_000
    assert LARGE.centres_within(1e9, 10**6, 20) == 100_000 and LARGE.centres_within(1e9, 300, 20) == 300


@pytest.mark.parametrize("n, d", [(5000, 5), (36_000, 20), (1_000_000, 30)])
@pytest.mark.parametrize("seconds", [0.0, 10.0, 60.0, 600.0])
def test_a_gpu_is_given_more_and_the_cpu_what_it_had(n, d, seconds):
    before = Effort.within(seconds, n, d, 1)
    made = before.with_device(LARGE, seconds, n, d, 1)
    assert made.here == before and before.here is before
    assert made.refine_rows >= before.refine_rows and made.final_rows >= before.final_rows
    assert made.most_rows >= max(made.final_rows, before.most_rows)
    assert made.refine_rows <= made.final_rows <= 40_000 and made.most_rows <= 40_000
    # Rows remain to judge by.
    assert n - made.final_rows >= min(0.19 * n, n - before.final_rows, 2999)
    if seconds == 60.0 and n > 30_000:
        assert made.refine_rows > 3000 and made.final_rows > 8000 and made.most_rows > 20_000


def test_few_rows_stay_with_the_cpu():
    few = Effort.within(1e6, 3000, 5, 1)
    assert few.by_folds and few.with_device(LARGE, 1e6, 3000, 5, 1) is few


# -- the search --------------------------------------------------------------------------------------

HERE = Effort(60, 80, 100, 6, 4, 2, by_folds=False, metrics=True, most_rows=110, average_rows=100)
MORE = replace(HERE, refine_rows=120, final_rows=140, most_rows=210, host=HERE)


def found(engine, effort=MORE):
    run = KernelSearch(
        {"keep": X}, Y[:, None], effort, Clock(1e6), 0, silent, crew=InThisThread(), engine=engine
    )
    return run, run.run()


@pytest.fixture
def from_few(monkeypatch):
    monkeypatch.setattr(search, "FEWEST", 100)
    monkeypatch.setattr(search, "_FRESH_ROWS", 40)
    monkeypatch.setattr(search, "likelihood_share", lambda rows: 0.0)


def test_a_search_there_finds_what_one_here_finds(from_few):
    there = Elsewhere()
    (_, ours), (_, theirs) = found(None), found(there)
    assert [t.kernel for t in ours.trials] == [t.kernel for t in theirs.trials]
    assert [t.rows for t in ours.trials] == [t.rows for t in theirs.trials]
    assert theirs.best.fresh == pytest.approx(ours.best.fresh, rel=1e-3)
    # Descents, and what is judged, are there; metrics and averages here, on fewer rows.
    assert {rows for what, rows in there.asked if what == "left out"} == {120, 140}
    assert {rows for what, rows in there.asked if what == "scores"} == {120, 140, 210}
    assert {t.rows for t in theirs.trials if t.stage == "average"} <= {100, 210}


def test_memory_that_others_have_taken(from_few):
    """Then the CPU goes on, on as many rows as it would have taken."""
    run, ours = found(Elsewhere(full=True))
    assert (
        run.no_room and ours.best.fresh < 0.05 and {t.stage for t in ours.trials} >= {"last look", "average"}
    )


def test_rows_that_belong_together_are_left_out_by_the_cpu(monkeypatch):
    monkeypatch.setattr(device, "FEWEST", 100)
    monkeypatch.setattr("mercer.tables.model.learn.one_on", lambda *_: None)
    engine, units = Elsewhere(), np.arange(N) // 2
    question = Question(Table.of({"x": X[:, 0]}), Y, "regression", None, units, engine=engine)
    assert question.device is not None
    learned = learn(question, 0.2, 0, silent)
    assert engine.asked == [] and not [remark for remark in learned.remarks if "GPU" in remark]


# -- what remains ------------------------------------------------------------------------------------


def test_machines_come_home():
    machine = KernelRidge(Gaussian(1.0), lam=0.1, engine=Tiled()).fit(X, Y)
    before, machine.function_ = machine.predict(X[:5]), machine.function_.on_engine(Cuda())
    machine.set_params(engine=Cuda())
    assert at_home(machine) is machine
    assert machine.engine == "auto" and isinstance(machine.function_.engine, Tiled)
    assert np.array_equal(machine.predict(X[:5]), before)
    stays = KernelRidge(Gaussian(1.0), lam=0.1, engine=Tiled(threads=1)).fit(X, Y)
    assert at_home(stays).engine == Tiled(threads=1) == stays.function_.engine


def test_a_table_that_is_too_small_for_what_was_asked(monkeypatch, hasty):
    fit = importlib.import_module("mercer.tables.model.fit")  # of the same name as the function
    monkeypatch.setattr(fit, "checked", lambda *_: None)
    monkeypatch.setattr(fit, "gpu_for", lambda *_: Elsewhere())
    model = mercer.fit({"x": X[:60, 0]}, Y[:60], minutes=0.05, engine="cuda")
    assert "the GPU was not used: of 60 rows the CPU is done sooner" in model.evidence.remarks
