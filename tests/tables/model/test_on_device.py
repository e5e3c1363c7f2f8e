"""`mercer.fit` with the GPU's engine (without a GPU in Triton's interpreter): against dense solutions."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer import KernelClassifier, KernelLogistic, KernelRidge
from mercer.engines import Cuda, Tiled
from mercer.kernels import Gaussian, Laplacian
from mercer.representations import Full, Nystrom
from mercer.tables.model import device, evaluation, on_device, search
from mercer.tables.model.device import Device
from mercer.tables.model.effort import Effort
from mercer.tables.model.on_device import both_on, one_on

HAVE = all(importlib.util.find_spec(name) is not None for name in ("torch", "triton"))
pytestmark = pytest.mark.skipif(not HAVE, reason="needs torch and triton")
DEVICE = "cpu"
if HAVE:
    import torch

    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
    if DEVICE == "cpu":
        os.environ.setdefault("TRITON_INTERPRET", "1")

N, PART, MU = 120, 90, 0.3
RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (N, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(N) + 50.0
LABELS = np.array(["low", "mid", "top"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
KERNEL = 0.5 * Laplacian(2.0).scaled([1.0, 2.0]) + 0.5 * Gaussian(1.5)
NEW = RNG.uniform(-2, 2, (30, 2))


def gpu(**more):
    return Device(Cuda(device=DEVICE), 1e12, **more)


def ridge():
    return KernelRidge(KERNEL, lam=MU / N, offset=True, random_state=0)


def by_hand(rows, Y=Y[:, None]):
    """Least squares with an offset that costs nothing, from one dense system in float64."""
    A, one = X[rows], np.ones((len(X[rows]), 1))
    system = np.block([[KERNEL(A) + MU * np.eye(len(A)), one], [one.T, np.zeros((1, 1))]])
    found = np.linalg.solve(system, np.vstack([Y[rows], np.zeros((1, Y.shape[1]))]))
    return KERNEL(NEW, A) @ found[:-1] + found[-1]


def test_both_exact():
    both = both_on(gpu(), ridge(), X, Y, PART, 1e6)
    for machine, rows in ((both.part, slice(0, PART)), (both.whole, slice(None))):
        assert isinstance(machine.plan_.engine, Cuda) and machine.plan_.solver.name == "cholesky"
        assert np.allclose(machine.predict(NEW), by_hand(rows)[:, 0], atol=1e-7)
        assert machine.engine == "auto" and machine.solver == "auto"
    assert both.remarks == ("fitted on the GPU, exactly: a factor of 120 × 120 numbers in its memory",)
    assert both.whole.lam == pytest.approx(both.part.lam * PART / N)


def test_labels_too():
    machine = KernelClassifier(KERNEL, "squared", lam=MU / N, offset=True, random_state=0)
    both = both_on(gpu(), machine, X, LABELS, PART, 1e6)
    codes = 2.0 * (LABELS[:, None] == np.unique(LABELS)) - 1
    for made, rows in ((both.part, slice(0, PART)), (both.whole, slice(None))):
        assert np.allclose(made.scores(NEW), by_hand(rows, codes), atol=1e-6)


def test_the_error_by_rows(monkeypatch):
    monkeypatch.setattr("mercer.tables.model.fitting._FEWEST", 10)
    curve = both_on(gpu(), ridge(), X, Y, PART, 1e6).curve
    assert [rows for rows, _ in curve] == [PART // 8, PART // 4, PART // 2, PART]
    assert all(error > 0 for _, error in curve) and curve[-1][1] < curve[0][1]


def test_centres_where_a_factor_takes_too_long(monkeypatch):
    """As many as there are rows are exact, in float32."""
    monkeypatch.setattr(Device, "rows_fitted", lambda self, seconds, d, times, most: 20)
    both = both_on(gpu(), ridge(), X, Y, PART, 1e6)
    assert isinstance(both.whole.representation, Nystrom) and both.whole.plan_.unknowns == PART
    assert both.remarks == ("fitted on the GPU: 90 centres stand for 120 rows",)
    assert np.allclose(both.part.predict(NEW), by_hand(slice(0, PART))[:, 0], atol=2e-2)


def test_exact_on_fewer_rows_where_centres_would_be_too_few(monkeypatch):
    monkeypatch.setattr(Device, "rows_fitted", lambda self, seconds, d, times, most: min(80, most))
    monkeypatch.setattr(Device, "centres_within", lambda self, seconds, n, d: 3)
    both = both_on(gpu(), ridge(), X, Y, PART, 1e6)
    rows = np.r_[:60, PART : PART + 20]
    assert np.allclose(both.part.predict(NEW), by_hand(slice(0, 60))[:, 0], atol=1e-7)
    assert np.allclose(both.whole.predict(NEW), by_hand(rows)[:, 0], atol=1e-7)
    assert "exactly, to 80 of the 120 rows" in both.remarks[0]


@pytest.mark.parametrize("error", [MemoryError("full"), np.linalg.LinAlgError("not definite")])
def test_what_fails_there_is_left_to_the_cpu(error, monkeypatch):
    def fails(*_):
        raise error

    monkeypatch.setattr(on_device, "_fitted", fails)
    assert both_on(gpu(), ridge(), X, Y, PART, 1e6) is None and one_on(gpu(), ridge(), X, Y, 1e6) is None


def test_far_from_done_is_left_to_the_cpu(monkeypatch):
    monkeypatch.setattr(on_device, "GOOD", -1.0)
    assert both_on(gpu(), ridge(), X, Y, PART, 1e6) is None and one_on(gpu(), ridge(), X, Y, 1e6) is None


def test_one_by_itself(monkeypatch):
    machine, said = one_on(gpu(), ridge(), X, Y, 1e6)
    assert np.allclose(machine.predict(NEW), by_hand(slice(None))[:, 0], atol=1e-7)
    assert said == ("fitted on the GPU, exactly",) and isinstance(machine.representation, Full)
    assert one_on(gpu(), KernelLogistic(KERNEL), X, LABELS, 1e6) is None
    monkeypatch.setattr(Device, "rows_fitted", lambda self, seconds, d, times, most: 1)
    machine, said = one_on(gpu(), ridge(), X, Y, 1e6)
    assert said == ("fitted on the GPU: 120 centres stand for 120 rows",)


# What makes a Python of one that has no torch.
WITHOUT = """
import sys

class Without:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("torch", "triton"):
            raise ImportError(name)

sys.meta_path.insert(0, Without())
"""


# -- one call ----------------------------------------------------------------------------------------


@pytest.fixture
def small(hasty, monkeypatch):
    """A table of some hundred rows goes the way of a large one."""
    few = Effort(60, 60, 80, 2, 2, 2, by_folds=False, most_rows=80, average_rows=60)
    monkeypatch.setattr(Effort, "within", staticmethod(lambda *_: few))
    monkeypatch.setattr(evaluation, "_HOLD_OUT_FROM", 100)
    monkeypatch.setattr(evaluation, "_SMALLEST_TEST", 40)
    monkeypatch.setattr(search, "_FRESH_ROWS", 30)
    monkeypatch.setattr(search, "likelihood_share", lambda rows: 0.0)
    for module in (device, search):
        monkeypatch.setattr(module, "FEWEST", 50)


def table(n):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 6, n)
    return {"x": x, "w": rng.choice(list("abc"), n)}, np.sin(x) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("labels", [False, True])
def test_fit_save_and_predict_without_torch(small, tmp_path, labels):
    columns, y = table(200)
    y = np.where(y > 0, "up", "down") if labels else y
    model = mercer.fit(columns, y, minutes=1.0, engine=Cuda(device=DEVICE))
    said = "\n".join(model.evidence.remarks)
    assert "looked for length scales on up to" in said and "the GPU was not used" not in said
    assert isinstance(model.machine.function_.engine, Tiled) and model.machine.engine == "auto"
    truth, predicted = model.evidence.truth, model.evidence.predicted
    assert np.mean(truth != predicted) < 0.2 if labels else np.sqrt(np.mean((truth - predicted) ** 2)) < 0.2
    mercer.save(model, tmp_path / "model.mercer")
    new = {"x": [0.5, 2.0, 4.0], "w": ["a", "b", "c"]}
    code = f"{WITHOUT}import mercer\nmodel = mercer.load({str(tmp_path / 'model.mercer')!r})\n"
    code += f"print(model.predict({new!r}).tolist(), 'torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    expected = model.predict(new)
    if labels:
        assert out.strip() == f"{expected.tolist()} False"
    else:
        numbers, said = out.strip().split("]")
        assert np.allclose([float(v) for v in numbers[1:].split(",")], expected, rtol=1e-12)
        assert said == " False"


def test_the_gpu_finds_what_the_cpu_finds(small, monkeypatch):
    """The same search of the same rows, in other hands."""
    columns, y = table(200)
    monkeypatch.setattr(Effort, "with_device", lambda self, *_: replace(self, host=self))
    there, here = (mercer.fit(columns, y, minutes=1.0, engine=e) for e in (Cuda(device=DEVICE), "cpu"))
    assert [t.kernel for t in there.evidence.trials] == [t.kernel for t in here.evidence.trials]
    assert np.allclose(there.predict(columns), here.predict(columns), atol=1e-3)
    assert not [r for r in here.evidence.remarks if "GPU" in r]


def test_a_table_that_is_read_by_parts(small, tmp_path):
    columns, y = table(900)
    path = tmp_path / "table.csv"
    rows = zip(columns["x"], columns["w"], y, strict=True)
    path.write_text("x,w,y\n" + "".join(f"{x},{w},{v}\n" for x, w, v in rows))
    model = mercer.fit(path, "y", minutes=0.2, memory="100kB", engine=Cuda(device=DEVICE))
    assert isinstance(model.machine.function_.engine, Tiled) and model.machine.engine == "auto"
    assert np.sqrt(np.mean((model.predict(columns) - np.sin(columns["x"])) ** 2)) < 0.2
