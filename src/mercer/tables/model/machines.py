"""From a kernel to a fitted machine: which loss, exact or with centres."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import kurtosis
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._units import alone, count, fewest_in_a_class, folds
from mercer._warnings import unheard
from mercer.engines import available_memory
from mercer.estimators import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.kernels import Kernel
from mercer.losses import Huber
from mercer.representations import Full, Nystrom, Representation
from mercer.selection.crew import HERE, Crew
from mercer.selection.path import loo_of_units
from mercer.selection.search import Clock, Stage, search
from mercer.tables.model.decision import row_weights
from mercer.tables.model.effort import centres_within, fit_seconds
from mercer.tables.model.tabulated import Tabulated
from mercer.tables.model.texts import letters_a_row

# Rows on which losses are compared, and scores are turned into probabilities.
_ROWS = 2000
_CS = (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
# λ of the logistic loss is no smaller.
LEAST_LOGISTIC = 1e-6
# Errors with longer tails than these are worth a try with Huber's loss.
_HEAVY = 8.0


@dataclass(frozen=True)
class LossTrial:
    """One loss that was tried."""

    loss: str  # in words
    lam: float
    error: float  # root mean squared error, or error rate, in cross-validation
    rows: int  # number of examples


@dataclass(frozen=True, eq=False)
class Chosen:
    """A machine, not fitted, with what was tried and what is to be said about it."""

    machine: KernelMachine
    trials: tuple[LossTrial, ...]
    remarks: tuple[str, ...] = ()


def choose(
    task: str,
    kernel: Kernel,
    mu: float,
    X: np.ndarray,
    y: np.ndarray,
    seconds: float,
    clock: Clock,
    seed: int,
    units: np.ndarray | None = None,
    crew: Crew = HERE,
) -> Chosen:
    """The loss with the smallest error in cross-validation on some of the rows, and λ for all of them."""
    rows, n = _some_rows(y, task, seed), len(y)
    units = np.arange(n) if units is None else units
    compared, points = _compared(kernel, X[rows])
    some = points, y[rows], units[rows]
    numbers = task == "regression"
    chosen, *others = (_for_numbers if numbers else _for_labels)(compared, mu, *some)
    trials: list[_Tried] = []
    if others:
        judge = _judge(*some, numbers, seed)

        def stage(tried: list[_Tried]) -> Stage:
            return lambda _: [partial(judge, t) for t in tried]

        with unheard(ConvergenceWarning):  # what has not converged is left out, as its error is infinite
            search([stage([chosen]), stage(others)], trials, clock, crew=crew)
        chosen = _worth_it(trials, numbers, len(rows))
    machine = chosen.on(n).set_params(kernel=kernel)
    representation, remarks = _representation(machine, X, 0.4 * seconds)
    machine.set_params(representation=representation, random_state=seed)
    if isinstance(machine, KernelSVC):
        # It calibrates itself by folds of rows; where rows belong together, or are texts, `calibrated` does.
        machine.set_params(probability=alone(units) and kernel.vectors)
    told = [LossTrial(t.loss, t.lam(n), t.error, len(rows)) for t in trials if np.isfinite(t.error)]
    return Chosen(machine, tuple(told), remarks)


def _compared(kernel: Kernel, X: np.ndarray) -> tuple[Kernel, np.ndarray]:
    """A kernel and points for many machines; values between texts take longer than all else, once will do."""
    return (kernel, X) if kernel.vectors else (Tabulated.of(kernel, X), np.arange(len(X)))


def _some_rows(y: np.ndarray, task: str, seed: int) -> np.ndarray:
    """Rows drawn at random; three of every class, if there are as many, are among them."""
    order = np.random.default_rng(seed).permutation(len(y))
    if task == "regression" or len(y) <= _ROWS:
        return order[:_ROWS]
    _, place, counts = np.unique(y[order], return_inverse=True, return_counts=True)
    rank = np.empty(len(y), dtype=np.intp)  # how many of its class come before a row
    rank[np.argsort(place, kind="stable")] = np.arange(len(y)) - np.repeat(counts.cumsum() - counts, counts)
    needed = rank < 3
    others = np.flatnonzero(~needed)[: max(_ROWS - int(needed.sum()), 0)]
    return order[np.sort(np.concatenate([np.flatnonzero(needed), others]))]


@dataclass(frozen=True, eq=False)
class _Tried:
    """A machine with its μ = λn (None for an SVM, which has C instead), and its error."""

    loss: str
    mu: float | None
    machine: KernelMachine
    error: float = np.inf
    seconds: float = 0.0

    def lam(self, rows: int) -> float:
        """λ for so many rows."""
        if self.mu is None:
            return self.machine.lam.value(rows)
        return max(self.mu / rows, LEAST_LOGISTIC if isinstance(self.machine, KernelLogistic) else 0.0)

    def on(self, rows: int) -> KernelMachine:
        """The machine for so many rows."""
        return clone(self.machine).set_params(**{} if self.mu is None else {"lam": self.lam(rows)})


def _judge(X: np.ndarray, y: np.ndarray, units: np.ndarray, numbers: bool, seed: int) -> Any:
    """The root mean squared error, or the error rate, of a machine in three folds."""
    labels = None if numbers else np.unique(y, return_inverse=True)[1]
    parts = folds(units, min(3, count(units)), labels, seed)

    def judged(tried: _Tried) -> list[_Tried]:
        costs = []
        for train, test in parts:
            fitted = tried.on(len(train)).fit(X[train], y[train])
            if not fitted.solution_.converged:
                return [tried]
            predicted = fitted.predict(X[test])
            costs.append((y[test] - predicted) ** 2 if numbers else y[test] != predicted)
        mean = float(np.mean(np.concatenate(costs)))
        return [replace(tried, error=math.sqrt(mean) if numbers else mean)]

    return judged


def _worth_it(trials: list[_Tried], numbers: bool, rows: int) -> _Tried:
    """The best, if it is clearly better than least squares: with that the kernel was found."""
    p, best = trials[0].error, min(trials, key=lambda t: t.error)
    # The smallest of many noisy errors is too small: of error rates by about their standard error.
    enough = 0.01 * p if numbers else 0.5 * np.sqrt(p * (1 - p) / rows)
    return best if best.error <= p - enough else trials[0]


def _for_numbers(kernel: Kernel, mu: float, X: np.ndarray, y: np.ndarray, units: np.ndarray) -> list[_Tried]:
    squared = _Tried("squared", mu, KernelRidge(kernel, offset=True))
    left = loo_of_units(squared.on(len(y)), X, y, None, units)
    tube = float(f"{1.5 * np.median(np.abs(left)) / 0.6745:.3g}")  # more digits would say nothing
    # Where half of the rows are met to rounding, no loss does better.
    if len(y) < 50 or not tube > 1e-6 * np.std(y) or not kurtosis(left) > _HEAVY:
        return [squared]
    huber = KernelRegressor(kernel, loss=Huber(tube), offset=True, representation="full")
    # Huber's loss is half the square near 0.
    return [squared, *(_Tried(f"huber, {tube:.3g}", part * mu, huber) for part in (0.5, 0.15))]


def _for_labels(kernel: Kernel, mu: float, X: np.ndarray, y: np.ndarray, units: np.ndarray) -> list[_Tried]:
    tried = [_Tried("squared", mu, KernelClassifier(kernel, "squared", offset=True))]
    if fewest_in_a_class(y, units) < 3:
        return tried
    tried += [_Tried(f"hinge, C = {C:g}", None, KernelSVC.from_C(C, kernel=kernel)) for C in _CS]
    # Three classes at once take several times as long as two, and more are not worth it.
    factors = {2: (0.01, 0.03, 0.1, 0.3), 3: (0.03, 0.3)}.get(len(np.unique(y)), ())
    return tried + [
        _Tried("logistic", factor * mu, KernelLogistic(kernel, offset=True)) for factor in factors
    ]


def _representation(
    machine: KernelMachine, X: np.ndarray, seconds: float
) -> tuple[Representation | str, tuple[str, ...]]:
    """Exact, or with centres; and a remark where free memory, which nobody can foresee, decided."""
    # By the forecast, not by the clock: a busy machine shall take longer, not make a worse model.
    n = len(X)
    if isinstance(machine, KernelSVC) or machine.kernel.has_counts:  # texts alone: sparse features
        return "auto", ()
    if isinstance(machine, (KernelLogistic, KernelRegressor)) and not isinstance(machine, KernelRidge):
        return (Full() if n <= 3000 else Nystrom(min(n, 1500))), ()
    seconds = max(seconds, 1.0)  # what takes a second is worth it, however few there are
    letters = letters_a_row(X)
    if fit_seconds(n, X.shape[1], letters) > seconds:
        return Nystrom(centres_within(seconds, n, letters)), ()
    need, free = 1.5 * 8 * n * n, available_memory()
    if need <= 0.5 * free:
        return Full(), ()
    remark = (
        f"an exact fit needs about {need / 1e9:.2g} GB, too much of the {free / 1e9:.2g} GB that were free: "
        "there are centres instead"
    )
    return Nystrom(centres_within(seconds, n, letters)), (remark,)


def calibrated(
    machine: KernelMachine, X: np.ndarray, y: np.ndarray, seed: int, units: np.ndarray | None = None
) -> Calibration | None:
    """Probabilities for a classifier without any, from scores of rows by machines that have not seen them.

    Least squares has them by leave-one-out, in closed form, of some rows; support vectors by folds.
    """
    units = np.arange(len(y)) if units is None else units
    vectors, by_folds = machine.kernel_.vectors, isinstance(machine, KernelSVC) and not machine.probability
    if by_folds and vectors:
        return Calibration.learn(machine, X, y, None, row_weights(machine, y), units)
    if not by_folds and not isinstance(machine, KernelClassifier):
        return None
    rows = _some_rows(y, "classification", seed + 1)
    kernel, here = _compared(machine.kernel_, X[rows])
    part = clone(machine).set_params(kernel=machine.kernel if vectors else kernel)
    if by_folds:
        weights = row_weights(machine, y[rows])
        return Calibration.learn(part.fit(here, y[rows]), here, y[rows], None, weights, units[rows])
    part.set_params(lam=machine.lam_ * len(y) / len(rows), representation="full")
    problem, coding = part.problem(here, y[rows])
    left = loo_of_units(part, here, y[rows], None, units[rows])
    scores = problem.y - np.reshape(left, problem.y.shape)
    labels = np.searchsorted(coding.classes, y[rows])
    return Calibration.of_scores(scores, labels, coding, row_weights(machine, y[rows]))
