"""From a kernel to a machine: which loss; and probabilities for those that have none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import kurtosis
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._units import alone, count, fewest_in_a_class, folds
from mercer._warnings import unheard
from mercer.estimators import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.kernels import Kernel
from mercer.losses import Huber
from mercer.selection.crew import HERE, Crew
from mercer.selection.path import loo_of_units
from mercer.selection.search import Clock, Stage, search
from mercer.tables.model.decision import row_weights
from mercer.tables.model.forests import has_forest, regrown, without_forests
from mercer.tables.model.tabulated import Tabulated

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
    """A machine with λ for all rows, neither represented nor fitted, with what was tried."""

    machine: KernelMachine
    trials: tuple[LossTrial, ...]
    # Seconds of one fit to all rows, by what fits to some took; 0 for least squares, which is forecast.
    seconds: float = 0.0


def choose(
    question: Any,
    kernel: Kernel,
    mu: float,
    X: np.ndarray,
    clock: Clock,
    seed: int,
    crew: Crew = HERE,
) -> Chosen:
    """The loss that does best by the question's metric in cross-validation on some of the rows.

    A kernel that has seen the targets of its rows says more about them than about others: what it is given
    here are rows it has not seen.
    """
    y, units = question.y, question.units
    rows, n = some_rows(y, question.task, seed), len(y)
    judged_by = _with_other_forests(kernel, question, X, rows, seed)
    compared, points = Tabulated.of(judged_by, X[rows]), np.arange(len(rows))
    some = points, y[rows], units[rows]
    numbers = question.classes is None
    chosen, *others = (_for_numbers if numbers else _for_labels)(compared, mu, *some)
    trials: list[_Tried] = []
    if others:
        judge = _judge(*some, question, seed)

        def stage(tried: list[_Tried]) -> Stage:
            return lambda _: [partial(judge, t) for t in tried]

        with unheard(ConvergenceWarning):  # what has not converged is left out, as its error is infinite
            search([stage([chosen]), stage(others)], trials, clock, crew=crew)
        chosen = _worth_it(trials, question.metric, len(rows))
    machine = chosen.on(n).set_params(kernel=kernel, random_state=seed)
    if isinstance(machine, KernelSVC):
        # It calibrates itself by folds of rows; where rows belong together, or are texts, `calibrated` does.
        machine.set_params(probability=alone(units) and kernel.vectors)
    told = [LossTrial(t.loss, t.lam(n), t.error, len(rows)) for t in trials if np.isfinite(t.error)]
    # Three fits to two thirds of the rows; a machine that calibrates itself is fitted some six times.
    once = (
        chosen.seconds / 3 * (n / (len(rows) * 2 / 3)) ** 2.2 * (6 if isinstance(machine, KernelSVC) else 1)
    )
    return Chosen(machine, tuple(told), 0.0 if chosen.loss == "squared" else once)


def least_squares(question: Any, kernel: Kernel, mu: float, seed: int) -> KernelMachine:
    """The machine of the squared loss, for all rows."""
    machine = KernelRidge(kernel) if question.classes is None else KernelClassifier(kernel, "squared")
    return machine.set_params(lam=mu / len(question.y), offset=True, random_state=seed)


def _with_other_forests(kernel: Kernel, question: Any, X: np.ndarray, rows: np.ndarray, seed: int) -> Kernel:
    """The kernel with forests of the rows that are not looked at, if there are any forests, and such rows."""
    if not has_forest(kernel):
        return kernel
    others = ~np.isin(question.units, question.units[rows])
    if others.sum() < len(rows) / 4:
        return without_forests(kernel)
    codes, labels = question.codes()[others], question.classes is not None
    return regrown(kernel, X[others], codes, labels, question.units[others], seed)


def some_rows(y: np.ndarray, task: str, seed: int, most: int | None = None) -> np.ndarray:
    """Rows drawn at random; three of every class, if there are as many, are among them."""
    most = _ROWS if most is None else most
    order = np.random.default_rng(seed).permutation(len(y))
    if task == "regression" or len(y) <= most:
        return order[:most]
    _, place, counts = np.unique(y[order], return_inverse=True, return_counts=True)
    rank = np.empty(len(y), dtype=np.intp)  # how many of its class come before a row
    rank[np.argsort(place, kind="stable")] = np.arange(len(y)) - np.repeat(counts.cumsum() - counts, counts)
    needed = rank < 3
    others = np.flatnonzero(~needed)[: max(most - int(needed.sum()), 0)]
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


def _judge(X: np.ndarray, y: np.ndarray, units: np.ndarray, question: Any, seed: int) -> Any:
    """What predictions of a machine cost in three folds, by the metric that is asked for."""
    numbers, metric = question.classes is None, question.metric
    labels = None if numbers else np.unique(y, return_inverse=True)[1]
    parts = folds(units, min(3, count(units)), labels, seed)

    def judged(tried: _Tried) -> list[_Tried]:
        predicted, scores = y.copy(), []
        for train, test in parts:
            fitted = tried.on(len(train)).fit(X[train], y[train])
            if not fitted.solution_.converged:
                return [tried]
            predicted[test] = fitted.predict(X[test])
            if metric.judges == "probabilities":
                scores.append(fitted.scores(X[test]))
                coding = fitted.coding_
        tested = np.concatenate([test for _, test in parts])
        P = None
        if metric.judges == "probabilities":
            P = _probabilities(np.concatenate(scores), y[tested], coding, question.classes)
        cost = metric.cost(y[tested], predicted[tested], P)
        return [replace(tried, error=cost if np.isfinite(cost) else np.inf)]

    return judged


def _probabilities(scores: np.ndarray, y: np.ndarray, coding: Any, classes: np.ndarray) -> np.ndarray:
    """Of rows that took no part, from their scores; a slope or two that are fitted to all of them."""
    P = np.zeros((len(y), len(classes)))
    known = np.searchsorted(classes, coding.classes)
    slopes = Calibration.of_scores(scores, np.searchsorted(coding.classes, y), coding)
    P[:, known] = slopes.probability(scores, coding)
    return P


def _worth_it(trials: list[_Tried], metric: Any, rows: int) -> _Tried:
    """The best, if it is clearly better than least squares: with that the kernel was found."""
    p, best = trials[0].error, min(trials, key=lambda t: t.error)
    # The smallest of many noisy errors is too small: of error rates by about their standard error.
    enough = np.sqrt(p * (1 - p) / rows) if metric.name == "accuracy" else 0.01 * p
    return best if best.error <= p - enough or not np.isfinite(p) else trials[0]


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
    rows = some_rows(y, "classification", seed + 1)
    here: np.ndarray = X[rows]
    part = clone(machine)
    if not vectors:
        part.set_params(kernel=Tabulated.of(machine.kernel_, here))
        here = np.arange(len(rows))
    if by_folds:
        weights = row_weights(machine, y[rows])
        return Calibration.learn(part.fit(here, y[rows]), here, y[rows], None, weights, units[rows])
    part.set_params(lam=machine.lam_ * len(y) / len(rows), representation="full")
    problem, coding = part.problem(here, y[rows])
    left = loo_of_units(part, here, y[rows], None, units[rows])
    scores = problem.y - np.reshape(left, problem.y.shape)
    labels = np.searchsorted(coding.classes, y[rows])
    return Calibration.of_scores(scores, labels, coding, row_weights(machine, y[rows]))
