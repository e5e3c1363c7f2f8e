"""What `Passes` refuses, promises and costs."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelClassifier, KernelOneClass, KernelRegressor, KernelRidge, KernelSVC
from mercer.engines import Tiled
from mercer.estimators.plan import make_plan
from mercer.kernels import Gaussian
from mercer.losses import FunctionLoss, Hinge, Logistic, Squared
from mercer.operators import Elsewhere, Matrix
from mercer.representations import Lasso, Nystrom
from mercer.rows import ArrayRows
from mercer.solvers import IncompatibleError, Passes
from mercer.solvers.coordinates import Primal
from mercer.solvers.cost import Shape
from mercer.solvers.passes import minimise

rng = np.random.default_rng(0)
X = rng.standard_normal((100, 2))
t = X[:, 0] + 0.1 * rng.standard_normal(100)


def test_refusals():
    def pieces(y, s):
        return np.maximum(np.abs(y - s) - 0.1, 0)

    with pytest.raises(IncompatibleError, match="neither"):
        KernelRegressor(loss=FunctionLoss(pieces), lam=0.1, solver="passes").fit(X, t)
    with pytest.raises(IncompatibleError):
        KernelRegressor(representation=Lasso(), lam=0.1, solver="passes").fit(ArrayRows(X, t))
    with pytest.raises(IncompatibleError, match="price"):
        KernelOneClass(solver="passes").fit(X)
    for wrong in (Passes(tol=-1.0), Passes(max_iter=0)):
        with pytest.raises(ValueError):
            KernelRidge(lam=0.1, solver=wrong).fit(ArrayRows(X, t))


def test_tolerance():
    problem, _ = KernelRidge(lam=0.1).problem(ArrayRows(X, t))
    single = replace(problem, A=Matrix(np.ones((3, 2), np.float32)))
    kinks, _ = KernelSVC(lam=0.1).problem(ArrayRows(X, t > 0))
    assert [Passes().tolerance(p) for p in (problem, single, kinks)] == [1e-8, 1e-5, 1e-4]
    assert Passes(tol=1e-3).tolerance(problem) == Passes(tol=1e-3).tolerance(kinks) == 1e-3


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_the_gap_that_is_asked_for(tol):
    machine = KernelSVC(
        Gaussian(1.0), lam=1e-2, representation=Nystrom(10), solver=Passes(tol=tol), random_state=0
    )
    said = machine.fit(ArrayRows(X, t > 0, rows=30)).solution_.certificate
    assert said.gap <= 1.01 * tol * said.objective


def test_too_few_passes_are_said():
    machine = KernelSVC(
        Gaussian(1.0), lam=1e-4, representation=Nystrom(10), solver=Passes(tol=1e-9, max_iter=3)
    )
    with pytest.warns(ConvergenceWarning, match="the duality gap is"):
        machine.fit(ArrayRows(X, t > 0, rows=30))
    assert machine.solution_.status == "max_iter" and machine.solution_.iterations <= 6


def test_what_is_kept_is_said():
    """Features take 8 bytes, and 4 from 128 MB on; where there are too many they are not kept."""

    def kept(p, kind="centres", **sizes):
        return Passes().keeps(Shape(10**8, 9, 1, p, kind, elsewhere=True, **sizes))

    assert kept(100) == "a sample of 20,000 examples is kept, with its features (up to 16 MB)"
    assert kept(2000) == "a sample of 80,000 examples is kept, with its features (up to 640 MB)"
    without = "a sample of 80,000 examples is kept, without its features"
    assert kept(2000, free=2e9) == kept(2000, remote=True) == without
    assert "without" in kept(9000) and "without" not in kept(9000, "features")
    assert Passes().keeps(Shape(100, 9, 1, 10, "centres")) is None
    plan = KernelSVC(lam=0.1, representation=Nystrom(10)).plan(ArrayRows(X, t > 0))
    assert "a sample of 100 examples is kept, with its features (up to 8.0 kB)" in plan.reasons
    # Windows come besides, in float64.
    shape = Shape(10**8, 9, 1, 2000, "centres", elsewhere=True)
    assert Passes().memory(replace(shape, smooth=False)) == Passes().memory(shape) + 1280e6


def operations(n, m=300, loss=None, **sizes):
    """What a plan says of n rows and m centres."""
    loss = Squared() if loss is None else loss
    sizes = Shape(n, 9, 1, 0, "", elsewhere=True, **sizes)
    return make_plan(Gaussian(1.0), loss, Nystrom(m), None, Tiled(), sizes, 8 << 30).flops


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()])
def test_work_grows_with_rows_and_centres(loss):
    rows = [10**4, 10**5, 2 * 10**6, 10**7, 10**9]
    centres = [10, 100, 300, 1000, 2000, 2600, 5000]
    table = np.array([[operations(n, m, loss) for m in centres] for n in rows])
    assert (np.diff(table, axis=0) > 0).all() and (np.diff(table, axis=1) > 0).all()
    # Of many rows all work is in the passes.
    assert operations(2 * 10**9, loss=loss) == pytest.approx(2 * operations(10**9, loss=loss), rel=0.01)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()])
def test_work_is_what_was_counted(loss, monkeypatch):
    """Kernel values and products of all passes, features and Hessians of the sample, one by one."""
    monkeypatch.setattr(minimise, "_SAMPLED_LEAST", 1000)
    n, m, d, done = 6000, 25, 2, [0.0]
    adding, factor, primal = Elsewhere.adding, Primal.hessian_factor, Primal.__init__

    def counted_adding(self, work):
        total = adding(self, work)

        def one(*vectors):
            done[0] += n * m * (2 * d + 20 + 4)
            return total(*vectors)

        return one

    def counted_factor(self, ridge, weights):
        done[0] += self.Phi.shape[0] * m * m + m**3 / 3
        return factor(self, ridge, weights)

    def counted_primal(self, Phi, *args, **options):
        done[0] += Phi.shape[0] * m * (2 * d + 20 + m)
        primal(self, Phi, *args, **options)

    monkeypatch.setattr(Elsewhere, "adding", counted_adding)
    monkeypatch.setattr(Primal, "hessian_factor", counted_factor)
    monkeypatch.setattr(Primal, "__init__", counted_primal)
    x = np.random.default_rng(1).standard_normal((n, d))
    y = np.sin(2 * x[:, 0]) + x[:, 1] + 0.3 * np.random.default_rng(2).standard_normal(n)
    kind = KernelClassifier if loss.classification else KernelRegressor
    machine = kind(loss=loss, kernel=Gaussian(1.0), lam=1e-4, representation=Nystrom(m), random_state=0)
    machine.fit(ArrayRows(x, y > 0 if loss.classification else y))
    assert done[0] / 3 < machine.plan_.flops < 3 * done[0]


def test_memory_does_not_grow_with_rows():
    def memory(n, p=500):
        return Passes().memory(Shape(n, 9, 1, p, "centres", elsewhere=True))

    assert memory(10**7) == memory(10**9) < 400e6
    assert memory(10**7, 2000) < 1.1e9
    assert (np.diff([memory(10**7, m) for m in range(10, 8001, 10)]) > 0).all()
    assert Passes().refusal(Hinge(), Nystrom().penalty) is None
