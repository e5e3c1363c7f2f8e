"""What `Passes` refuses, promises and costs."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelOneClass, KernelRegressor, KernelRidge, KernelSVC
from mercer.kernels import Gaussian
from mercer.losses import FunctionLoss, Hinge
from mercer.operators import Matrix
from mercer.representations import Lasso, Nystrom
from mercer.rows import ArrayRows
from mercer.solvers import IncompatibleError, Passes
from mercer.solvers.cost import Shape

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


def test_memory_does_not_grow_with_rows():
    def memory(n, p=500):
        return Passes().memory(Shape(n, 9, 1, p, "centres", elsewhere=True))

    assert memory(10**7) == memory(10**9) < 1 << 30
    assert memory(10**7, 1000) > memory(10**7)
    assert Passes().refusal(Hinge(), Nystrom().penalty) is None
