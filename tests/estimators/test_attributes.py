"""Looking at a machine (tab completion does) costs nothing and never fails."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer.engines import Tiled
from mercer.engines.tiled import TiledOperator
from mercer.kernels import Gaussian
from mercer.representations import Features, Lasso, Nystrom
from mercer.solvers import Smoothing

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = X[:, 0] + 0.1 * RNG.standard_normal(60)
CLASSES = {
    name: value
    for name in mercer.__all__
    if inspect.isclass(value := getattr(mercer, name)) and issubclass(value, BaseEstimator)
}
REPRESENTATIONS = ("full", Nystrom(n_centres=10), Features(n_features=20), Lasso(n_features=20))


class CountingOperator(TiledOperator):
    def fill(self, out):
        self.engine.calls += 1
        return super().fill(out)

    def product(self, V):
        self.engine.calls += 1
        return super().product(V)

    def _sandwich(self, V, middle):
        self.engine.calls += 1
        return super()._sandwich(V, middle)

    def reduce(self, step):
        self.engine.calls += 1
        return super().reduce(step)


class Counting(Tiled):
    """Counts the requests for kernel values."""

    makes = CountingOperator

    def __init__(self, threads=None):
        super().__init__(threads=threads)
        self.calls = 0


def look(thing) -> None:
    """What tab completion does; anything but an AttributeError, which hasattr understands, would escape."""
    for name in dir(thing):
        hasattr(thing, name)


def variants():
    for name, kind in CLASSES.items():
        taken = inspect.signature(kind).parameters
        yield name, kind()
        if "representation" in taken and name != "KernelOneClass":
            yield from ((f"{name}-{r!r}", kind(representation=r)) for r in REPRESENTATIONS)
    yield "squares with ℓ1", mercer.KernelRegressor(representation=Lasso(n_features=20))
    yield "SVC by smoothing", mercer.KernelSVC(representation=Nystrom(n_centres=10), solver=Smoothing())
    yield "SVC with probability", mercer.KernelSVC(probability=True)
    yield "a loss that is none", mercer.KernelClassifier(loss="nonsense")
    yield "an online loss that is none", mercer.OnlineKernelClassifier(loss="nonsense")
    yield "a kernel that is none", mercer.KernelRidge("nonsense")


VARIANTS = list(variants())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "machine"), VARIANTS, ids=[name for name, _ in VARIANTS])
def test_looking_is_free(name, machine, monkeypatch):
    look(machine)
    engine = Counting()
    if "engine" in machine.get_params():
        machine.set_params(engine=engine)
    if "kernel" in machine.get_params() and machine.kernel != "nonsense":
        machine.set_params(kernel=Gaussian(1.0))
    y = Y if getattr(machine, "_estimator_type", "") == "regressor" or name.endswith("Regressor") else (Y > 0)
    try:
        machine.fit(X, y.astype(float))
    except (ValueError, TypeError):
        return  # a combination that can't be fitted: looked at above
    before = vars(machine).copy()
    engine.calls = 0
    # Dense factors and spectra are work, too.
    for work in ("cholesky", "eigh", "svd", "solve"):
        monkeypatch.setattr(np.linalg, work, None)
    look(machine)
    look(getattr(machine, "function_", None))
    assert engine.calls == 0
    assert vars(machine).keys() == before.keys()  # nothing was computed and kept, either


def test_work_is_a_method():
    ridge = mercer.KernelRidge(Gaussian(1.0), lam=0.1).fit(X, Y)
    assert ridge.loo_residuals().shape == (60,) and not hasattr(ridge, "loo_residuals_")
    lasso = mercer.KernelRidge(Gaussian(1.0), lam=0.1, representation=Lasso(n_features=20)).fit(X, Y)
    with pytest.raises(ValueError, match="need the squared loss and the penalty λ‖f‖²"):
        lasso.loo_residuals()
    svc = mercer.KernelSVC(Gaussian(1.0), lam=0.1).fit(X, Y > 0)
    assert svc.margin() == pytest.approx(1 / np.sqrt(svc.function_ @ svc.function_)) and not hasattr(
        svc, "margin_"
    )
