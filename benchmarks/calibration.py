"""Do 90 % intervals hold 90 % of new values? Posteriors on twenty tables, beside other Gaussian processes.

``python -m benchmarks.calibration [--rows 1000] [--only NAME,…] [--json FILE]``

Every table: one fold for the test, up to ``--rows`` rows of the others for training (the same rows for
everyone), columns and targets standardised by the training rows. Everybody has a Gaussian kernel with one
length scale a column, its scale and the noise found by the marginal likelihood. Printed for each: root mean
squared error, the share of test values inside their 90 % interval, the negative log likelihood of a test
value (of the standardised target; a constant has about 1.419), seconds. "mercer, all rows" takes the kernel
of the small fit to all training rows: exactly up to 6,000, with 2,000 centres (FITC) beyond. GPyTorch is
asked where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks import real

_UCI = ("airfoil", "autompg", "bike", "concrete", "elevators", "energy", "housing", "machine", "parkinsons")
_UCI += ("pendulum", "servo", "skillcraft", "sml", "stock", "wine", "yacht")
TABLES = (
    *(f"uci/{name}" for name in _UCI),
    *("openml_like/bank8FM", "openml_like/cpu_act", "openml_like/cal_housing", "pmlb/503_wind"),
)
_LEVEL = 0.9
_EXACT, _CENTRES = 6_000, 2_000
_STEPS = 100


@dataclass(frozen=True)
class Split:
    """Training and test rows, standardised; `X_all`, `y_all` are all training rows."""

    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    u: np.ndarray
    X_all: np.ndarray
    y_all: np.ndarray


# Means and standard deviations of new values, noise included.
Predicted = tuple[np.ndarray, np.ndarray]


def split(file: Path, rows: int) -> Split:
    """Fold 0 is the test; the file's own folds, where it has them."""
    rng = np.random.default_rng(0)
    with np.load(file, allow_pickle=False) as data:
        X, y = data["X"].astype(np.float64), data["y"].astype(np.float64)
        fold = data["fold"] if "fold" in data else rng.permutation(np.arange(len(y)) % 10)
    train, test = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    used = np.sort(rng.permutation(train)[:rows])
    centre, width = X[used].mean(axis=0), X[used].std(axis=0)
    varies = width > 0
    X = (X[:, varies] - centre[varies]) / width[varies]
    y = (y - y[used].mean()) / y[used].std()
    return Split(X[used], y[used], X[test], y[test], X[train], y[train])


def mercer_small(s: Split) -> tuple[Predicted, Any]:
    from mercer import KernelRidge
    from mercer.kernels import Gaussian
    from mercer.selection import maximum_likelihood

    start = KernelRidge(
        Gaussian(1.0).scaled(np.full(s.X.shape[1], np.sqrt(s.X.shape[1]))), lam=0.1 / len(s.y)
    )
    found = maximum_likelihood(start, s.X, s.y, max_iter=_STEPS)
    machine = found.machine.fit(s.X, s.y)
    return _of(machine.posterior(), s.T), machine


def mercer_all(s: Split, small: Any) -> Predicted:
    """The kernel and the noise of the small fit, all rows; λn is the noise, whatever n."""
    from sklearn.base import clone

    from mercer.representations import Nystrom

    machine = clone(small).set_params(kernel=small.kernel_, lam=small.lam_ * len(s.y) / len(s.y_all))
    if len(s.y_all) <= _EXACT:
        return _of(machine.fit(s.X_all, s.y_all).posterior(), s.T)
    machine.set_params(representation=Nystrom(_CENTRES), random_state=0)
    return _of(machine.fit(s.X_all, s.y_all).posterior(method="fitc"), s.T)


def _of(posterior: Any, T: np.ndarray) -> Predicted:
    return posterior.mean(T), posterior.std(T, noise=True)


def scikit_learn(s: Split) -> Predicted:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    d = s.X.shape[1]
    kernel = ConstantKernel(1.0) * RBF(np.full(d, np.sqrt(d)), (1e-3, 1e5)) + WhiteKernel(0.1, (1e-8, 1e2))
    machine = GaussianProcessRegressor(kernel, n_restarts_optimizer=0).fit(s.X, s.y)
    return machine.predict(s.T, return_std=True)


def gpytorch(s: Split) -> Predicted:
    import gpytorch as gp
    import torch

    X, y, T = (torch.tensor(a) for a in (s.X, s.y, s.T))

    class Exact(gp.models.ExactGP):
        def __init__(self, likelihood: Any):
            super().__init__(X, y, likelihood)
            self.mean_module = gp.means.ConstantMean()
            self.covar_module = gp.kernels.ScaleKernel(gp.kernels.RBFKernel(ard_num_dims=X.shape[1]))

        def forward(self, x: Any) -> Any:
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gp.likelihoods.GaussianLikelihood()
    model = Exact(likelihood).double()
    model.covar_module.base_kernel.lengthscale = float(np.sqrt(X.shape[1]))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gp.mlls.ExactMarginalLogLikelihood(likelihood, model)
    with gp.settings.fast_computations(False, False, False):
        model.train()
        for _ in range(_STEPS):
            optimiser.zero_grad()
            loss = -objective(model(X), y)
            loss.backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            found = likelihood(model(T))
    return found.mean.numpy(), found.stddev.numpy()


def judged(predicted: Predicted, u: np.ndarray) -> dict[str, float]:
    mean, std = (np.asarray(a, dtype=np.float64) for a in predicted)
    inside = np.abs(u - mean) <= norm.ppf(0.5 + _LEVEL / 2) * std
    return {
        "rmse": float(np.sqrt(np.mean((u - mean) ** 2))),
        "inside": float(inside.mean()),
        "nll": float(-norm.logpdf(u, mean, std).mean()),
    }


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers' remarks on bounds and steps
        result = call()
    return result, time.perf_counter() - began


def table(name: str, rows: int) -> dict[str, dict[str, float]]:
    """What everybody reaches on a table."""
    s = split(real.folder() / f"{name}.npz", rows)
    (predicted, small), seconds = _timed(lambda: mercer_small(s))
    found = {"mercer": judged(predicted, s.u) | {"seconds": seconds}}
    if len(s.y_all) > len(s.y):
        predicted, seconds = _timed(lambda: mercer_all(s, small))
        found["mercer, all rows"] = judged(predicted, s.u) | {"seconds": seconds}
    peers = {"scikit-learn": scikit_learn}
    if importlib.util.find_spec("gpytorch") is not None:
        peers["GPyTorch"] = gpytorch
    for peer, call in peers.items():
        predicted, seconds = _timed(lambda call=call: call(s))
        found[peer] = judged(predicted, s.u) | {"seconds": seconds}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", default="")
    asked = parser.parse_args()
    names = [name for name in TABLES if not asked.only or name.split("/")[-1] in asked.only.split(",")]
    results: dict[str, dict[str, dict[str, float]]] = {}
    print(f"{'table':22} {'':18} {'RMSE':>8} {'inside':>8} {'NLL':>8} {'seconds':>8}")
    for name in names:
        results[name] = table(name, asked.rows)
        for who, got in results[name].items():
            figures = f"{got['rmse']:8.3f} {got['inside']:8.3f} {got['nll']:8.3f} {got['seconds']:8.1f}"
            print(f"{name:22} {who:18} {figures}", flush=True)
    for who in ("mercer", "mercer, all rows", "scikit-learn", "GPyTorch"):
        rows = [found[who] for found in results.values() if who in found]
        if rows:
            mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
            worst = min(row["inside"] for row in rows)
            figures = f"{mean['rmse']:8.3f} {mean['inside']:8.3f} {mean['nll']:8.3f} {mean['seconds']:8.1f}"
            print(f"{f'mean of {len(rows)}':22} {who:18} {figures}   smallest share {worst:.3f}")
    if asked.json:
        Path(asked.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
