"""Prediction intervals that hold whatever the machine: conformal prediction for regressors.

Errors on examples that a machine has not seen say how far from its predictions new targets may be. What they
promise is about the average over new examples, drawn as the old ones were, and about nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._params import is_number, require_count
from mercer._state import ArraySpec, require
from mercer._units import count, folds, units_of
from mercer.estimators.inputs import checked_weights, like
from mercer.estimators.tensors import on_host
from mercer.kernels import Precomputed
from mercer.posterior import Observations
from mercer.representations import Features
from mercer.solvers.jackknife import Jackknife

# Numbers in a table of predictions by machines that have not seen an example, at a time.
_ENTRIES = 1 << 22
_METHODS = ("auto", "split", "cv+", "jackknife+")


def rank_of(n: int, coverage: float) -> int:
    """Which of n sorted errors, counted from 1, bounds such a share of new ones; n + 1: they are too few.

    >>> rank_of(99, 0.9), rank_of(8, 0.9)
    (90, 9)
    """
    if not is_number(coverage) or not 0 < coverage < 1:
        raise ValueError(f"coverage must lie between 0 and 1, such as 0.9 for 90 %; got {coverage!r}")
    # 100·0.55 is a little more than 55 in binary.
    return min(math.ceil((n + 1) * coverage * (1 - 1e-12)), n + 1)


def bound_of(errors: np.ndarray, coverage: float) -> float:
    """The bound itself, from sorted errors; infinite where they are too few.

    >>> bound_of(np.arange(1.0, 100.0), 0.9)
    90.0
    """
    rank = rank_of(len(errors), coverage)
    return float("inf") if rank > len(errors) else float(errors[rank - 1])


@dataclass(frozen=True, eq=False)
class Band:
    """What a machine says the target lies between: its prediction, or its lowest and highest quantile."""

    lower: np.ndarray  # (m, t)
    upper: np.ndarray

    @classmethod
    def of(cls, machine: Any, X: Any) -> Band:
        said = np.asarray(machine.predict(X), dtype=np.float64)
        said = said[:, None] if said.ndim == 1 else said
        if not getattr(machine.loss_, "several", False):
            return cls(said, said)
        order = np.argsort(machine.loss_.levels)
        return cls(said[:, order[:1]], said[:, order[-1:]])

    def errors(self, y: np.ndarray) -> np.ndarray:
        """By how much targets lie outside; negative inside."""
        return np.maximum(self.lower - y, y - self.upper)


@dataclass(frozen=True, eq=False)
class ConformalErrors:
    """Errors on examples not fitted to, and what makes intervals of them.

    Attributes
    ----------
    method : "split", "cv+" or "jackknife+"
    errors : (n, t), sorted if the method is "split"
    machines, fold : of "cv+": machines fitted without a fold, and the fold of each example
    """

    method: str
    errors: np.ndarray
    machines: tuple[Any, ...] = ()
    fold: np.ndarray | None = None

    holds = {"method": str, "errors": ArraySpec("f", "n", "t"), "fold": (None, ArraySpec("", "n"))}

    def check_state(self) -> None:
        """Refuse errors without the machines that made them."""
        require(self.method in ("split", "cv+"), f"there are no intervals by {self.method!r} without data")
        if self.method == "cv+":
            fold = self.fold
            inside = (
                fold is not None and fold.min(initial=0) >= 0 and fold.max(initial=0) < len(self.machines)
            )
            require(inside, "an example is of a fold that has no machine")
        else:
            require(bool((np.diff(self.errors, axis=0) >= 0).all()), "errors are not in order")

    def promise(self, coverage: float) -> float:
        """The share of new targets that intervals hold at least, on average, whatever the distribution.

        "split": the coverage itself. "jackknife+": 1 − 2α for a coverage of 1 − α. "cv+" with K folds:
        1 − 2α − min(2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)). The last two usually hold about 1 − α; these
        are what can be proved (Barber, Candès, Ramdas and Tibshirani, 2021).

        >>> round(ConformalErrors("cv+", np.zeros((100, 1)), (None,) * 10).promise(0.9), 3)
        0.718
        """
        rank_of(1, coverage)
        n, K = len(self.errors), len(self.machines)
        if self.method == "split":
            return coverage
        plus = 2 * coverage - 1
        if self.method == "cv+":
            plus -= min(2 * (1 - 1 / K) / (n / K + 1), (1 - K / n) / (K + 1))
        return max(plus, 0.0)

    def between(
        self, band: Band, left_out: Callable[[slice], Band] | None, coverage: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper), each (m, t), about what the machine says; `left_out` of others, (m, n, t)."""
        n, t = self.errors.shape
        rank = rank_of(n, coverage)
        lower, upper = np.full(band.lower.shape, -np.inf), np.full(band.upper.shape, np.inf)
        if rank > n:
            return lower, upper
        if self.method == "split":
            bounds = np.array([bound_of(self.errors[:, j], coverage) for j in range(t)])
            low, high = band.lower - bounds, band.upper + bounds
            # Quantiles that are too wide come closer, but never past each other.
            middle = 0.5 * (low + high)
            return np.minimum(low, middle), np.maximum(high, middle)
        assert left_out is not None
        step = max(_ENTRIES // (n * t), 1)
        for i in range(0, len(lower), step):
            rows = slice(i, i + step)
            others = left_out(rows)
            lower[rows] = -np.partition(self.errors - others.lower, rank - 1, axis=1)[:, rank - 1]
            upper[rows] = np.partition(self.errors + others.upper, rank - 1, axis=1)[:, rank - 1]
        return lower, upper


class WithIntervals:
    """A regressor with `predict_interval`."""

    loss_: Any
    coding_: Any
    kernel_: Any
    lam: Any
    plan_: Any
    check_new: Any
    predict: Any
    conformal_: ConformalErrors
    _left_out: Jackknife

    def _fit(self, X: Any, y: Any, sample_weight: Any):
        problem = super()._fit(X, y, sample_weight)  # type: ignore[misc]
        for name in ("conformal_", "_left_out"):  # they were of the last fit
            self.__dict__.pop(name, None)
        return problem

    def conformalize(self, X, y, sample_weight=None, method="auto", n_folds=10):
        """Learn from errors how wide intervals must be; `predict_interval` then has them.

        Parameters
        ----------
        X, y : examples in memory
            For "split" such as `fit` has not seen; otherwise those that it was fitted to.
        sample_weight : weights, optional
            As in `fit`. In intervals every example counts once, but those of weight 0, which are absent.
        method : "auto", "split", "cv+" or "jackknife+"
            "split" takes one machine, and promises the coverage itself. "cv+" fits one without each of
            `n_folds` parts of the examples (equal rows stay together), choosing parameters that are
            not given anew each time. "jackknife+" leaves out one at a time, in closed form, with the squared
            loss; copies of a row vouch for each other there: where rows are repeated take "cv+". "auto" is
            "jackknife+" where it can be had and λ was given, and else "cv+".
        n_folds : int

        Returns
        -------
        self, with ``conformal_``, whose `promise` says what is proved of the coverage

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-3, 3, (200, 1))
        >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
        >>> machine = KernelRegressor(loss="huber", lam=1e-3).fit(X[:100], y[:100])
        >>> machine = machine.conformalize(X[100:], y[100:], method="split")
        >>> lower, upper = machine.predict_interval([[0.0]], coverage=0.9)
        >>> bool(lower[0] < 0 < upper[0]), machine.conformal_.promise(0.9)
        (True, 0.9)
        """
        check_is_fitted(self, "function_")
        if method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
        require_count(n_folds, "n_folds", 2)
        X, y = on_host(X), np.asarray(on_host(y))
        n = _num_samples(X)
        if len(y) != n:
            raise ValueError(f"X holds {n} examples and y {len(y)}")
        w = checked_weights(sample_weight, X)
        rows = np.flatnonzero(w > 0)
        if len(rows) < 2:
            raise ValueError("intervals need two examples of positive weight at least")
        if method == "auto":
            given = not isinstance(self.lam, str)
            method = "jackknife+" if given and self._why_not_closed() is None else "cv+"
        targets = self._targets(y)
        if method == "jackknife+":
            self._closed(targets)
            self.conformal_ = ConformalErrors(method, np.abs(self._left_out.residuals))
        elif method == "split":
            some, kept = _safe_split(self, X, y, rows)[0] if len(rows) < n else X, targets[rows]
            self.conformal_ = ConformalErrors(method, np.sort(Band.of(self, some).errors(kept), axis=0))
        else:
            self.conformal_ = self._crossed(
                X, y, targets, None if sample_weight is None else w, rows, n_folds
            )
        return self

    def predict_interval(self, X, coverage=0.9):
        """(lower, upper): intervals that hold new targets, each shaped as predictions.

        They hold such a share of new examples on average, if these come from where the old ones did: see
        `conformalize`, which comes first. Machines of least squares whose examples are in memory need not
        wait for that: they leave out their examples in closed form ("jackknife+"). With several quantiles
        there is one interval, about the lowest and the highest.

        Parameters
        ----------
        X : points
        coverage : float, default=0.9
            Infinite intervals say that there are too few examples for it.
        """
        check_is_fitted(self, "function_")
        rank_of(1, coverage)
        X = on_host(X)
        if "conformal_" not in vars(self):
            reason = self._why_not_closed()
            if reason is not None:
                raise ValueError(
                    f"intervals come from errors on examples that were not fitted to, and {reason}: call "
                    "conformalize(X, y) with the examples of the fit, or conformalize(X, y, method='split') "
                    "with others, first"
                )
            self._closed(None)
            known = ConformalErrors("jackknife+", np.abs(self._left_out.residuals))
        else:
            known = self.conformal_
        if known.method == "jackknife+" and "_left_out" not in vars(self):
            self._closed(None)
        lower, upper = known.between(Band.of(self, X), self._others(known, X), coverage)
        if self.coding_.one_dimensional or getattr(self.loss_, "several", False):
            lower, upper = lower[:, 0], upper[:, 0]
        return like(lower, X), like(upper, X)

    # -- how ------------------------------------------------------------------------------------------

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """y as floats (n, t), once even where it stands for several quantiles."""
        several = getattr(self.loss_, "several", False)
        targets = np.repeat(y.reshape(len(y), -1), len(self.loss_.levels), axis=1) if several else y
        encoded = np.asarray(self.coding_.encode(targets), dtype=np.float64)
        return encoded[:, :1] if several else encoded

    def _why_not_closed(self) -> str | None:
        """Why examples can't be left out in closed form; None if they can."""
        problem = vars(self).get("_problem")
        if not self.loss_.quadratic:
            return "only the squared loss leaves them out in closed form"
        if problem is None:
            return "this machine doesn't hold its examples (they go into no file)"
        return Jackknife.refusal(problem)

    def _closed(self, targets: np.ndarray | None) -> None:
        """Leave out each example that the machine holds; it must hold those that were given."""
        reason = self._why_not_closed()
        if reason is not None:
            raise ValueError(f"method='jackknife+': {reason}; use method='cv+'")
        problem = vars(self)["_problem"]
        if targets is not None and not np.array_equal(targets, problem.y):
            raise ValueError(
                "method='jackknife+' leaves out the examples of the fit, and y are other targets; "
                "method='split' takes examples that were not fitted to"
            )
        self._left_out = Jackknife(problem)

    def _others(self, known: ConformalErrors, X: Any) -> Callable[[slice], Band] | None:
        """What machines that have not seen an example say of points, (m, n, t)."""
        if known.method == "split":
            return None
        if known.method == "cv+":
            assert known.fold is not None
            bands = [Band.of(machine, X) for machine in known.machines]
            lower = np.stack([band.lower for band in bands], axis=1)
            upper = np.stack([band.upper for band in bands], axis=1)
            fold = known.fold
            return lambda rows: Band(lower[rows][:, fold], upper[rows][:, fold])
        problem = vars(self)["_problem"]
        function = self.function_ if isinstance(self.plan_.representation, Features) else None  # type: ignore[attr-defined]
        seen = Observations.of(problem, function, self.check_new, True)
        points = self.check_new(X)

        def left_out(rows: slice) -> Band:
            said = self._left_out.at(seen.cross(points[rows]))
            return Band(said, said)

        return left_out

    def _crossed(
        self, X: Any, y: np.ndarray, targets: np.ndarray, w: np.ndarray | None, rows: np.ndarray, n_folds: int
    ) -> ConformalErrors:
        """Machines fitted without a fold, and their errors there."""
        if isinstance(self.input_kernel_, Precomputed):  # type: ignore[attr-defined]
            raise ValueError(
                "method='cv+' would need the kernel's values between new points and some of the examples "
                "only; of a precomputed matrix use method='split'"
            )
        units = units_of(X)[rows]
        errors, fold, machines = np.empty((len(rows), targets.shape[1])), np.empty(len(rows), np.intp), []
        if count(units) < 2:
            raise ValueError("all examples are equal, so that none can be left out without the others")
        for k, (train, test) in enumerate(folds(units, min(n_folds, count(units)))):
            other = clone(self)
            here, y_here = _safe_split(other, X, y, rows[train])
            there, _ = _safe_split(other, X, y, rows[test], rows[train])
            other.fit(here, y_here) if w is None else other.fit(here, y_here, w[rows[train]])
            for name in ("_problem", "_view"):  # it is to predict only
                other.__dict__.pop(name, None)
            errors[test] = Band.of(other, there).errors(targets[rows[test]])
            fold[test] = k
            machines.append(other)
        return ConformalErrors("cv+", errors, tuple(machines), fold)
