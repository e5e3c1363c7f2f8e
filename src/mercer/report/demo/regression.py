"""Kernel ridge regression, tuned by leave-one-out, beside scikit-learn's models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.preprocessing import StandardScaler

from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian
from mercer.report.demo.scores import Score, timed, widths
from mercer.selection import Path, path

_LAMS = np.logspace(-7, 1, 33)


@dataclass(frozen=True, eq=False)
class Regression:
    """What the page needs: all scores, and the first split in detail."""

    scores: list[Score]
    machine: KernelRidge
    paths: dict[float, Path]
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def diabetes(seed: int, splits: int, progress: Callable[[str], None]) -> Regression:
    """Diabetes: 442 patients, ten measurements each, the progression of the disease a year later."""
    X, y = load_diabetes(return_X_y=True)
    parts = []
    for i, (train, test) in enumerate(ShuffleSplit(splits, test_size=0.25, random_state=seed).split(X)):
        progress(f"Diabetes, split {i + 1} of {splits}")
        scaler = StandardScaler().fit(X[train])
        Xs = scaler.transform(X)
        parts.append(_compare("diabetes", Xs[train], y[train], Xs[test], y[test], (0.5, 1.0, 2.0, 4.0)))
    return _together(parts)


def truth(x: np.ndarray) -> np.ndarray:
    """The curve of the made example."""
    return np.sin(2.5 * x) * np.exp(-0.12 * x * x) + 0.25 * x


def curve(seed: int, n: int) -> Regression:
    """n noisy points on a known curve."""
    rng = np.random.default_rng(seed)
    X, X_test = rng.uniform(-4, 4, (n, 1)), np.linspace(-4, 4, 500)[:, None]
    y = truth(X[:, 0]) + 0.3 * rng.standard_normal(n)
    y_test = truth(X_test[:, 0]) + 0.3 * rng.standard_normal(500)
    return _compare("noisy curve", X, y, X_test, y_test, (0.125, 0.25, 0.5, 1.0))


def _compare(data, X, y, X_test, y_test, factors) -> Regression:
    sigmas = widths(X, factors)
    (machine, paths), ours = timed(lambda: _tuned(X, y, sigmas))
    models = [("Mercer KernelRidge", "leave-one-out", machine, ours)]
    fitted, seconds = timed(lambda: _grid(sigmas, len(y)).fit(X, y))
    models.append(("scikit-learn KernelRidge", "5-fold grid search", fitted, seconds))
    fitted, seconds = timed(lambda: RidgeCV(alphas=np.logspace(-3, 4, 29)).fit(X, y))
    models.append(("scikit-learn Ridge (linear)", "leave-one-out", fitted, seconds))
    scores = []
    for name, tuning, model, seconds in models:
        predicted = model.predict(X_test)
        r2, rmse = r2_score(y_test, predicted), root_mean_squared_error(y_test, predicted)
        scores.append(Score(data, name, tuning, (r2,), (rmse,), (seconds,), name.startswith("Mercer")))
    return Regression(scores, machine, paths, X, y, X_test, y_test)


def _tuned(X, y, sigmas) -> tuple[KernelRidge, dict[float, Path]]:
    """The width and λ with the smallest leave-one-out error; each width costs one eigendecomposition."""
    paths = {s: path(KernelRidge(Gaussian(s), offset=True), X, y, _LAMS) for s in sigmas}
    sigma = min(paths, key=lambda s: paths[s].loo_mse.min())
    machine = KernelRidge(Gaussian(sigma), lam=paths[sigma].best_lam, offset=True)
    return machine.fit(X, y), paths


def _grid(sigmas, n) -> GridSearchCV:
    """The same widths and a grid as wide: gamma = 1/(2σ²), alpha = λn. It has no offset, so y is centred."""
    model = TransformedTargetRegressor(SklearnKernelRidge(kernel="rbf"), transformer=StandardScaler())
    grid = {
        "regressor__gamma": [1 / (2 * s * s) for s in sigmas],
        "regressor__alpha": _LAMS[::4] * n,
    }
    return GridSearchCV(model, grid, cv=5, scoring="neg_mean_squared_error")


def _together(parts: list[Regression]) -> Regression:
    """Scores of several splits in one; the rest from the first."""
    first = parts[0]
    scores = []
    for i, s in enumerate(first.scores):
        same = [part.scores[i] for part in parts]
        scores.append(
            Score(
                s.data,
                s.model,
                s.tuning,
                tuple(v for o in same for v in o.score),
                tuple(v for o in same for v in o.error),
                tuple(v for o in same for v in o.seconds),
                s.ours,
            )
        )
    return Regression(scores, first.machine, first.paths, first.X, first.y, first.X_test, first.y_test)
