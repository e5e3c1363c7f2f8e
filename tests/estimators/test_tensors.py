"""torch tensors in, torch tensors out; and every solver on the cuda engine, in Triton's interpreter."""

import os
import sys

import numpy as np
import pytest

from mercer import KernelClassifier, KernelLogistic, KernelRidge, KernelSVC, KernelSVR
from mercer.engines import Cuda, Tiled
from mercer.estimators.tensors import frozen, is_tensor, on_host
from mercer.kernels import Gaussian, Laplacian
from mercer.representations import Nystrom
from mercer.solvers import CG, Dual, Newton, Smoothing

if "triton" not in sys.modules:
    os.environ.setdefault("TRITON_INTERPRET", "1")


def data(dtype=np.float32):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3)).astype(dtype)
    return X, np.sin(2 * X[:, 0]).astype(dtype)


def test_arrays_pass_untouched():
    X, _ = data()
    assert not is_tensor(X)
    assert on_host(X) is X
    copy = frozen(X)
    assert copy is not X
    assert not copy.flags.writeable
    assert frozen(copy) is copy
    assert frozen(["a"]) == ["a"]


def test_tensors_in_tensors_out():
    torch = pytest.importorskip("torch", reason="needs torch")
    X, y = data()
    expected = KernelRidge(Gaussian(1.0), offset=False).fit(X, y).predict(X)
    machine = KernelRidge(Gaussian(1.0), offset=False).fit(torch.tensor(X), torch.tensor(y))
    found = machine.predict(torch.tensor(X))
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.float32
    assert np.array_equal(found.numpy(), expected)
    assert isinstance(machine.predict(X), np.ndarray)
    classifier = KernelLogistic(Gaussian(1.0), offset=False).fit(
        torch.tensor(X), torch.tensor((y > 0).astype(int))
    )
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert isinstance(getattr(classifier, method)(torch.tensor(X)), torch.Tensor)
    words = KernelLogistic(Gaussian(1.0), offset=False).fit(torch.tensor(X), np.where(y > 0, "up", "down"))
    assert set(words.predict(torch.tensor(X))) <= {"up", "down"}


LINES = {
    "centres": (KernelRidge, {"representation": Nystrom(n_centres=40)}),
    "exact": (KernelRidge, {"representation": "full", "solver": CG(rank=30)}),
    "factored": (KernelRidge, {"representation": "full"}),
    "offset": (KernelRidge, {"representation": Nystrom(n_centres=40), "offset": True}),
    "logistic": (KernelLogistic, {"representation": Nystrom(n_centres=40), "solver": Newton()}),
    "logistic exact": (KernelLogistic, {"representation": "full"}),
    "multinomial": (KernelClassifier, {"loss": "multinomial", "representation": Nystrom(n_centres=30)}),
}


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(2.0)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("line", LINES)
def test_every_solver_runs_on_cuda(line, dtype, kernel):
    pytest.importorskip("torch", reason="needs torch and triton")
    triton = pytest.importorskip("triton", reason="needs torch and triton")
    if not triton.runtime.interpreter.__name__ or os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton runs natively here")
    if kernel != Gaussian(1.5) and line not in ("centres", "exact"):
        pytest.skip("one kernel says it for the others")
    machine, params = LINES[line]
    X, y = data(dtype)
    y = y if machine is KernelRidge else y > 0 if machine is KernelLogistic else np.digitize(y, [-0.5, 0.5])
    scores = []
    for engine in (Tiled(), Cuda(device="cpu")):
        fitted = machine(kernel, lam=1e-3, engine=engine, random_state=0, **{"offset": False, **params})
        fitted.fit(X, y)
        assert fitted.solution_.status == "converged"
        scores.append(fitted.scores(X).astype(float))
    gap = np.abs(scores[0] - scores[1]).max() / np.abs(scores[0]).max()
    assert gap < (1e-4 if dtype == np.float32 else 1e-6)


KINKED = {
    "exact": (KernelSVC, {"representation": "full", "solver": Dual(tol=1e-4, working_set=48)}),
    "exact, no offset": (KernelSVC, {"representation": "full", "solver": Dual(tol=1e-4), "offset": False}),
    "pairs": (KernelSVC, {"representation": "full", "solver": Dual(tol=1e-4, working_set=48)}),
    "tube": (KernelSVR, {"representation": "full", "solver": Dual(tol=1e-4, working_set=48)}),
    "centres": (KernelSVC, {"representation": Nystrom(n_centres=20), "solver": Smoothing(tol=1e-4)}),
}


@pytest.mark.parametrize("line", KINKED)
def test_losses_with_kinks_on_cuda(line, monkeypatch):
    """The same objective as on the CPU, to the gaps both state, by working sets."""
    pytest.importorskip("torch", reason="needs torch and triton")
    pytest.importorskip("triton", reason="needs torch and triton")
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton runs natively here")
    monkeypatch.setattr("mercer.solvers.dual.solver._FEW", 10)
    machine, params = KINKED[line]
    X, y = data(np.float32)
    y = y if line == "tube" else np.digitize(y, [-0.5, 0.5]) if line == "pairs" else y > 0
    found = []
    for engine in (Tiled(), Cuda(device="cpu")):
        fitted = machine(Gaussian(1.5), lam=1e-2, engine=engine, random_state=0, **params).fit(X, y)
        assert fitted.solution_.status == "converged"
        found.append(fitted.solution_.certificate)
    assert abs(found[0].objective - found[1].objective) <= found[0].gap + found[1].gap + 1e-6
    assert found[1].gap < 1e-2 * found[1].objective
