"""Jobs of the GPU benchmark in which K is a matrix: exact ridge, tables with next to no λ, λ paths.

Times go from NumPy arrays in to coefficients (or residuals) out, after one small fit that compiles. Residuals
are measured apart from the library: K in float64 by torch, in rows.
"""

from __future__ import annotations

import math
import time
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import real
from benchmarks.gpu_jobs import Options, _engine, _fit, _gpu_memory, _tensor, _wait, reset

TABLES = ("elevators", "parkinsons", "pol")


def jobs(o: Options) -> dict:
    """Name → function, Mercer and who stands beside it one after the other."""
    found: dict[str, Any] = {}
    for n in o.dense_n:
        found[f"dense-{n}"] = partial(ridge, o, n)
        found[f"dense-torch-{n}"] = partial(by_hand, o, n)
        if find_spec("gpytorch") is not None:
            found[f"dense-gpytorch-{n}"] = partial(by_gpytorch, o, n)
    for name in TABLES:
        for lam in o.dense_lam:
            found[f"dense-{name}-{lam:g}"] = partial(table, o, name, lam)
    found[f"dense-path-{o.path_n}"] = partial(lambda_path, o)
    found[f"dense-path-torch-{o.path_n}"] = partial(path_by_hand, o)
    return found


def ridge(o: Options, n: int) -> dict:
    """Exact ridge in float64, everything left to "auto" but the kernel and λ."""
    from mercer import KernelRidge
    from mercer.kernels import Gaussian

    X, y = _data(o, n)

    def machine() -> KernelRidge:
        return KernelRidge(Gaussian(o.sigma), lam=o.lam, engine=_engine(o), offset=False)

    machine().fit(X[:2000], y[:2000])  # compiles
    fitted = machine()
    record = {"n": n, "d": X.shape[1], "sigma": o.sigma, "lam": o.lam} | _fit(o, fitted, X, y)
    return record | {"residual": _residual(o, X, y, fitted.dual_coef_, o.sigma, o.lam)}


def by_hand(o: Options, n: int) -> dict:
    """What one would write in torch: K in place, its own Cholesky, two triangular solves."""
    import torch

    X, y = _data(o, n)

    def run() -> np.ndarray:
        K = _gram(_tensor(X, o), o.sigma)
        K.diagonal().add_(o.lam * n)
        L = torch.linalg.cholesky(K)
        del K
        return torch.cholesky_solve(_tensor(y, o)[:, None], L)[:, 0].cpu().numpy()

    few, n_few = X[:2000], min(n, 2000)
    torch.linalg.cholesky(_gram(_tensor(few, o), o.sigma) + torch.eye(n_few, device=o.device))
    seconds, c = _clocked(o, run)
    record = {"who": "torch by hand", "n": n, "d": X.shape[1], "seconds": seconds}
    record["residual"] = _residual(o, X, y, c, o.sigma, o.lam)
    return record | {"gpu_memory": _gpu_memory(o)}


def by_gpytorch(o: Options, n: int) -> dict:
    """The mean of an exact Gaussian process with the same kernel and noise, GPyTorch's own way of solving."""
    import gpytorch
    import torch

    X, y = _data(o, n)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, *data):
            super().__init__(*data)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    def run(n: int = n) -> np.ndarray:
        likelihood = gpytorch.likelihoods.GaussianLikelihood(
            noise_constraint=gpytorch.constraints.GreaterThan(0.0)
        )
        model = Model(_tensor(X[:n], o), _tensor(y[:n], o), likelihood).double().to(o.device)
        model.covar_module.lengthscale, likelihood.noise = o.sigma, o.lam * n
        model.eval()
        with torch.no_grad():
            model(_tensor(X[:1], o))
            cache = model.prediction_strategy.mean_cache
        return cache.cpu().numpy()

    run(min(n, 2000))
    seconds, c = _clocked(o, run)
    record = {"who": "GPyTorch", "n": n, "d": X.shape[1], "seconds": seconds}
    record["residual"] = _residual(o, X, y, c, o.sigma, o.lam)
    return record | {"gpu_memory": _gpu_memory(o)}


def table(o: Options, name: str, lam: float) -> dict:
    """A real table, standardised, width √d, with an offset."""
    from mercer import KernelRidge
    from mercer.kernels import Gaussian

    with np.load(real.folder(o.data) / "uci" / f"{name}.npz") as held:
        X, y, fold = held["X"].astype(np.float64), held["y"].astype(np.float64), held["fold"]
    train = fold != 0
    centre, spread = X[train].mean(axis=0), X[train].std(axis=0)
    X, y = (X - centre) / np.where(spread > 0, spread, 1), (y - y[train].mean()) / y[train].std()
    X, y, T, u = X[train][: o.table_n], y[train][: o.table_n], X[~train], y[~train]
    sigma = math.sqrt(X.shape[1])
    machine = KernelRidge(Gaussian(sigma), lam=lam, engine=_engine(o))
    machine.fit(X[:500], y[:500])
    record = {"n": len(X), "d": X.shape[1], "sigma": sigma, "lam": lam} | _fit(o, machine, X, y)
    record["residual"] = _residual(o, X, y - machine.intercept_, machine.dual_coef_, sigma, lam)
    return record | {"rmse": float(np.sqrt(np.mean((machine.predict(T) - u) ** 2)))}


def lambda_path(o: Options) -> dict:
    """Fifty λ with their leave-one-out residuals."""
    from mercer import KernelRidge
    from mercer.kernels import Gaussian
    from mercer.selection import path

    X, y = _data(o, o.path_n)
    machine = KernelRidge(Gaussian(o.sigma), engine=_engine(o), offset=False)
    path(machine, X[:1000], y[:1000], _lams())
    seconds, found = _clocked(o, lambda: path(machine, X, y, _lams()))
    return {
        "who": "Mercer",
        "n": o.path_n,
        "d": X.shape[1],
        "seconds": seconds,
        "rmse": float(np.sqrt(found.loo_mse.min())),
        "best": found.best_lam,
        "gpu_memory": _gpu_memory(o),
    }


def path_by_hand(o: Options) -> dict:
    """The same by torch: one factor, one triangular inverse and one solve for every λ."""
    import torch

    X, y = _data(o, o.path_n)
    n = len(X)

    def run() -> list[float]:
        K, target, errors = _gram(_tensor(X, o), o.sigma), _tensor(y, o)[:, None], []
        identity = torch.eye(n, dtype=torch.float64, device=o.device)
        for lam in _lams():
            shifted = K.clone()
            shifted.diagonal().add_(float(lam) * (n - 1))
            L = torch.linalg.cholesky(shifted)
            root = torch.linalg.solve_triangular(L, identity, upper=False, out=shifted)
            left = torch.cholesky_solve(target, L)[:, 0] / root.square_().sum(0)
            errors.append(float(left.square().mean()))
        return errors

    seconds, errors = _clocked(o, run)
    record = {"who": "torch by hand", "n": n, "d": X.shape[1], "seconds": seconds}
    record |= {"rmse": math.sqrt(min(errors)), "best": float(_lams()[int(np.argmin(errors))])}
    return record | {"gpu_memory": _gpu_memory(o)}


# -- what they share ------------------------------------------------------------------------------------


def _lams() -> np.ndarray:
    return np.logspace(-7, 1, 50)


def _data(o: Options, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal points in float64, a smooth function of them, a little noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, o.exact_d))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)


def _clocked(o: Options, call: Any) -> tuple[float, Any]:
    reset(o)
    start = time.perf_counter()
    found = call()
    _wait(o)
    return time.perf_counter() - start, found


def _gram(X: Any, sigma: float) -> Any:
    squares = (X * X).sum(1)
    K = (X @ X.T).mul_(-2).add_(squares[:, None]).add_(squares)
    return K.clamp_(min=0).mul_(-0.5 / sigma**2).exp_()


def _residual(o: Options, X: Any, y: Any, c: Any, sigma: float, lam: float) -> float:
    """‖y − Kc − λnc‖/‖y‖, K computed anew from differences of coordinates, a few hundred rows at a time."""
    import torch

    A, v, total = _tensor(X, o), _tensor(np.array(c, np.float64).ravel(), o), 0.0
    height = max((1 << 27) // max(len(A), 1), 1)
    for i in range(0, len(A), height):
        B = A[i : i + height]
        r2 = torch.zeros((len(B), len(A)), dtype=torch.float64, device=A.device)
        for k in range(A.shape[1]):
            r2 += (B[:, k, None] - A[None, :, k]).square_()
        left = _tensor(y[i : i + height], o) - r2.mul_(-0.5 / sigma**2).exp_() @ v
        total += float((left - lam * len(A) * v[i : i + height]).square().sum())
    return math.sqrt(total) / float(np.linalg.norm(y))
