"""From a kernel to a fitted machine: which loss, exact or with centres."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import kurtosis
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._threads import cpu_count, parallel_map
from mercer._units import alone, count, fewest_in_a_class, folds
from mercer.engines import available_memory
from mercer.estimators import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.kernels import Kernel
from mercer.losses import Huber
from mercer.representations import Full, Nystrom, Representation
from mercer.selection.path import loo_of_units
from mercer.selection.search import Clock
from mercer.tables.model.effort import centres_within, fit_seconds

# Rows on which losses are compared, and scores are turned into probabilities.
_ROWS = 2000
_CS = (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
_LOGISTIC_CLASSES = 3
# Errors with longer tails than these are worth a try with Huber's loss.
_HEAVY = 8.0


@dataclass(frozen=True)
class LossTrial:
    """One loss that was tried.

    Attributes
    ----------
    loss : in words
    lam : float
    error : root mean squared error, or error rate, in cross-validation
    rows : number of examples
    """

    loss: str
    lam: float
    error: float
    rows: int


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
) -> Chosen:
    """The loss with the smallest error in cross-validation on some of the rows, and λ for all of them."""
    rows = _some_rows(y, task, seed)
    n, k, m = len(y), kernel, len(rows)
    units = np.arange(n) if units is None else units
    among = _regression if task == "regression" else _classification
    chosen, trials = among(k, mu, X[rows], y[rows], n, clock, seed, units[rows])
    trials = [LossTrial(name, lam, error, m) for name, lam, error in trials if np.isfinite(error)]
    representation, remarks = _representation(chosen, n, X.shape[1], 0.4 * seconds)
    machine = chosen.set_params(representation=representation, random_state=seed)
    if isinstance(machine, KernelSVC):
        # It calibrates itself by folds of rows; where rows belong together `calibrated` does.
        machine.set_params(probability=alone(units))
    return Chosen(machine, tuple(trials), remarks)


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


def _regression(kernel, mu, X, y, n, clock, seed, units):
    squared = KernelRidge(kernel, lam=mu / n, offset=True)
    left = loo_of_units(clone(squared).set_params(lam=mu / len(y)), X, y, None, units)
    tube = float(f"{1.5 * np.median(np.abs(left)) / 0.6745:.3g}")  # more digits would say nothing
    # Where half of the rows are met to rounding, no loss does better.
    if len(y) < 50 or not tube > 1e-6 * np.std(y) or not kurtosis(left) > _HEAVY:
        return squared, []
    huber = KernelRegressor(kernel, loss=Huber(tube), offset=True, representation="full")
    parts = folds(units, min(3, count(units)), random_state=seed)
    # Huber's loss is half the square near 0.
    tried = [("squared", mu, squared), *((f"huber, {tube:.3g}", part * mu, huber) for part in (0.5, 0.15))]

    trials = _compared(tried, n, clock, lambda shift, m: _root_mean_square(m, shift, parts, X, y))
    best = min(trials, key=lambda t: t[2])
    if best[0] == "squared" or best[2] > 0.99 * trials[0][2]:
        return squared, trials
    return huber.set_params(lam=best[1], representation="auto"), trials


def _cross_validated(machine, mu, parts, X, y, cost) -> float:
    """The mean cost(truth, prediction) over folds; infinite for what can't be solved."""
    costs = []
    for train, test in parts:
        fitted = clone(machine).set_params(lam=mu / len(train)).fit(X[train], y[train])
        if not fitted.solution_.converged:
            return float("inf")
        costs.append(cost(y[test], fitted.predict(X[test])))
    return float(np.mean(np.concatenate(costs)))


def _compared(tried, n, clock, error) -> list[tuple[str, float, float]]:
    """(name, λ for n rows, error(μ, machine)) of each trial, on all cores; infinite where time was up."""

    def one(trial: tuple[str, float, KernelMachine]) -> float:
        return error(*trial[1:]) if trial is tried[0] or not clock.up() else float("inf")

    with warnings.catch_warnings():
        # What has not converged is left out, as its error is infinite.
        warnings.simplefilter("ignore", ConvergenceWarning)
        errors = parallel_map(one, tried, cpu_count())
    return [(name, shift / n, e) for (name, shift, _), e in zip(tried, errors, strict=True)]


def _root_mean_square(machine, mu, parts, X, y) -> float:
    return float(np.sqrt(_cross_validated(machine, mu, parts, X, y, lambda a, b: (a - b) ** 2)))


def _classification(kernel, mu, X, y, n, clock, seed, units):
    labels = np.unique(y)
    squared = KernelClassifier(kernel, "squared", lam=mu / n, offset=True)
    if fewest_in_a_class(y, units) < 3:
        return squared, []
    y = np.searchsorted(labels, y)
    parts = folds(units, 3, y, seed)
    m = len(parts[0][0])
    tried: list[tuple[str, float, KernelMachine]] = [("squared", mu, squared)]
    machines: list[KernelMachine] = [squared]
    for C in _CS:
        tried.append((f"hinge, C = {C:g}", 1 / (2 * C), KernelSVC(kernel, probability=False)))
        machines.append(KernelSVC.from_C(C, kernel=kernel, probability=True))
    if len(labels) <= _LOGISTIC_CLASSES:
        # Three classes at once take several times as long as two.
        for factor in (0.01, 0.03, 0.1, 0.3) if len(labels) == 2 else (0.03, 0.3):
            tried.append(("logistic", max(factor * mu, 1e-6 * m), KernelLogistic(kernel, offset=True)))
            machines.append(KernelLogistic(kernel, lam=max(factor * mu / n, 1e-6), offset=True))
    trials = _compared(
        tried, n, clock, lambda shift, m: _cross_validated(m, shift, parts, X, y, np.not_equal)
    )
    best = int(np.argmin([t[2] for t in trials]))
    # The kernel was found with the squared loss; the smallest of many noisy errors must be clearly smaller.
    p = trials[0][2]
    if trials[best][2] > p - 0.5 * np.sqrt(p * (1 - p) / len(y)):
        best = 0
    return machines[best], trials


def _representation(
    machine: KernelMachine, n: int, d: int, seconds: float
) -> tuple[Representation | str, tuple[str, ...]]:
    """Exact, or with centres; and a remark where free memory, which nobody can foresee, decided."""
    # By the forecast, not by the clock: a busy machine shall take longer, not make a worse model.
    if isinstance(machine, KernelSVC):
        return "auto", ()
    if isinstance(machine, (KernelLogistic, KernelRegressor)) and not isinstance(machine, KernelRidge):
        return (Full() if n <= 3000 else Nystrom(min(n, 1500))), ()
    seconds = max(seconds, 1.0)  # what takes a second is worth it, however few there are
    if fit_seconds(n, d) > seconds:
        return Nystrom(centres_within(seconds, n)), ()
    need, free = 1.5 * 8 * n * n, available_memory()
    if need <= 0.5 * free:
        return Full(), ()
    remark = (
        f"an exact fit needs about {need / 1e9:.2g} GB, too much of the {free / 1e9:.2g} GB that were free: "
        "there are centres instead"
    )
    return Nystrom(centres_within(seconds, n)), (remark,)


def calibrated(
    machine: KernelMachine, X: np.ndarray, y: np.ndarray, seed: int, units: np.ndarray | None = None
) -> Calibration | None:
    """Probabilities for a classifier without any, from scores of rows by machines that have not seen them.

    Least squares has them by leave-one-out, in closed form, of some rows; support vectors by folds.
    """
    units = np.arange(len(y)) if units is None else units
    if isinstance(machine, KernelSVC) and not machine.probability:
        return Calibration.learn(machine, X, y, None, None, units)
    if not isinstance(machine, KernelClassifier):
        return None
    rows = _some_rows(y, "classification", seed + 1)
    part = clone(machine).set_params(lam=machine.lam_ * len(y) / len(rows), representation="full")
    problem, coding = part.problem(X[rows], y[rows])
    left = loo_of_units(part, X[rows], y[rows], None, units[rows])
    scores = problem.y - np.reshape(left, problem.y.shape)
    return Calibration.of_scores(scores, np.searchsorted(coding.classes, y[rows]), coding)
