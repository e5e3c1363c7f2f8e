"""The kernel perceptron: learning from mistakes only."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._notice import tell_part
from mercer._params import require_count, require_flag
from mercer._state import positions, require
from mercer._warnings import frames_inside
from mercer._xp import take
from mercer.engines import Engine
from mercer.estimators.answers import Coefficients, Labelled
from mercer.estimators.inputs import GAUSSIAN, KernelInputs, finite_scores, like
from mercer.estimators.plan import Plan
from mercer.features.base import generator
from mercer.functions import KernelFunction
from mercer.losses import Hinge
from mercer.losses.coding import LabelCoding
from mercer.representations import Full
from mercer.solvers.perceptron import MistakeRule, MoreClasses, Sweeps, TwoClasses, sweeps_of, vote

_PREDICTIONS = ("last", "averaged", "voted")

# Of every mistake in turn: the example, the class it was taken for (with more than two), and the step.
_Path = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(eq=False, repr=False)
class KernelPerceptron(Labelled, Coefficients, KernelInputs):
    """The kernel perceptron: go through the examples, and where f errs, add y_i k(x_i,·) to it.

    Two classes, coded y = ±1. From f = 0, each example in turn is classified by

        a = f(x_i) = Σ_n α_n k(x_n, x_i),   and if y_i a ≤ 0:   α_i ← α_i + y_i ,

    until a pass over all examples goes by without a mistake. |α_i| counts the mistakes made on example i.

    More classes have a function each. An example of class l is a mistake if f_l(x_i) is not larger than
    every other score; then f_l ← f_l + k(x_i,·), and the best of the others (of equals, the first) loses
    k(x_i,·). For two classes these are f and −f, the machine above.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    max_iter : int, most passes over the examples
    prediction : "last", "averaged" or "voted"
        Which of the functions f_1, f_2, … met on the way predicts. Each was the current one after c_j of the
        examples visited, T = Σ c_j. "last" is the classical one; "averaged" is Σ (c_j/T) f_j, again one
        function on the same points; "voted" is Σ (c_j/T) sign f_j(x), with more classes the share of votes
        for each, and evaluates every f_j. The last two do better on data that overlap.
    shuffle : bool
        Visit the examples in a new random order each pass, which `random_state` decides.
    engine : "auto" or an Engine
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : the labels
    function_ : the last function, or their average, on the examples that were ever mistaken
    support_ : which examples these are
    dual_coef_ : (len(support_),) or (len(support_), classes), their coefficients α
    mistakes_ : (n,) mistakes made on each example; for two classes and the last function, |α|
    n_iter_, history_ : passes made, and (n_iter_,) mistakes in each
    converged_ : whether the last function makes no mistake on any example: passes would change nothing
    margin_ : float
        γ = min_i y_i f(x_i)/‖f‖ of the last function; positive where it separates the examples. With
        more classes y_i f(x_i) is the score of the label minus the best other, and ‖f‖² = Σ_l ‖f_l‖².
    mistake_bound_ : float
        Novikoff's bound on the number of mistakes, (R/γ)² with R² = max_i k(x_i,x_i), and 2(R/γ)² with
        more classes; infinite where γ ≤ 0.
    kernel_ : the kernel, with parameters found from the data
    plan_ : how many examples f is made of, and what computes
    votes_ : tuple or None
        With prediction="voted", of every function on the way: which term of `function_` changed, by how much
        for each output, and for how many examples it lasted.

    Notes
    -----
    Nothing changes between mistakes, so the scores of all examples are kept and the next mistake is looked
    up; only mistakes cost kernel evaluations, n each, and the result is that of the plain loop.

    A score within rounding of 0 may count as a mistake or not. There are no sample weights: the algorithm
    minimises no sum that they could stand in.

    References
    ----------
    A. Novikoff, On convergence proofs on perceptrons, 1962. Y. Freund and R. Schapire, Large margin
    classification using the perceptron algorithm, 1999.

    Examples
    --------
    Exclusive or, with all products of two coordinates as features:

    >>> from mercer import KernelPerceptron
    >>> from mercer.kernels import Polynomial
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "different", "different", "same"]
    >>> machine = KernelPerceptron(Polynomial(2)).fit(X, y)
    >>> print(machine.predict(X))
    ['same' 'different' 'different' 'same']
    >>> machine.converged_, bool(machine.mistakes_.sum() <= machine.mistake_bound_)
    (True, True)
    """

    kernel: Any = GAUSSIAN
    max_iter: int = 100
    prediction: str = "last"
    shuffle: bool = False
    engine: Any = "auto"
    random_state: Any = None

    def _validate(self) -> None:
        require_count(self.max_iter, "max_iter")
        if not (isinstance(self.prediction, str) and self.prediction in _PREDICTIONS):
            raise ValueError(
                f"prediction must be one of {', '.join(map(repr, _PREDICTIONS))}, got {self.prediction!r}"
            )
        require_flag(self.shuffle, "shuffle")

    # -- fit --------------------------------------------------------------------------------------

    def fit(self, X, y):
        """Go through labelled examples until none is mistaken, max_iter times at most."""
        self._validate()
        given, y = X, self.require_y(y)
        kernel, engine, X = self._door(X)
        y = self._check_y(y)
        check_consistent_length(X, y)
        # The perceptron has no loss; the coding asks one only whether several columns are one question.
        targets, self.coding_ = LabelCoding.learn(Hinge(), y)
        self.classes_ = self.coding_.classes
        points, diagonal = self._bind(kernel, X, engine, given)
        rule = TwoClasses(targets) if targets.shape[1] == 1 else MoreClasses(targets)
        scores, path = self._run(rule, sweeps_of(engine.operator(self.kernel_, points)), len(targets))
        last = self._measure(rule, scores, path, diagonal)
        self._keep(rule, last, path, points, engine)
        if not self.converged_:
            self._warn(len(targets))
        return self

    def _run(self, rule: MistakeRule, sweeps: Sweeps, n: int) -> tuple[np.ndarray, _Path]:
        """Passes over the examples; the scores of the last function, and who erred when."""
        rng = generator(self.random_state)
        scores = np.zeros((rule.outputs, n))
        order = np.arange(n)
        index, rivals, steps, history = [], [], [], []
        for epoch in range(self.max_iter):
            if self.shuffle:
                order = rng.permutation(n)
            # What overflows is found below, all at once.
            with np.errstate(over="ignore", invalid="ignore"):
                found = sweeps.sweep(rule, scores, order)
            if not np.isfinite(scores).all():
                raise ValueError(f"{self.kernel_!r} gives NaN or infinity on these points")
            where, rival = np.array(found, dtype=np.intp).reshape(-1, 2).T
            index.append(order[where])
            rivals.append(rival)
            steps.append(epoch * n + where)
            history.append(len(found))
            tell_part(f"perceptron, pass {len(history)}", n - len(found), n, "examples right")
            if not found:
                break
        self.history_ = np.array(history)
        self.n_iter_ = len(history)
        return scores, (np.concatenate(index), np.concatenate(rivals), np.concatenate(steps))

    def _measure(
        self, rule: MistakeRule, scores: np.ndarray, path: _Path, diagonal: np.ndarray
    ) -> np.ndarray:
        """Mistakes and the margin; returns the coefficients of the last function."""
        index, rivals, _ = path
        n = scores.shape[1]
        self.mistakes_ = np.bincount(index, minlength=n)
        last = np.zeros((n, rule.outputs))
        np.add.at(last, index, rule.changes(index, rivals))
        everyone = np.arange(n)
        least = float(rule.margins(scores, everyone, everyone)[0].min())
        self.converged_ = least > 0
        squared_norm = float(np.sum(last.T * scores))
        self.margin_ = least / squared_norm**0.5 if squared_norm > 0 else 0.0
        self.mistake_bound_ = np.inf
        if self.margin_ > 0:
            self.mistake_bound_ = float(rule.spread * diagonal.max() / self.margin_**2)
        return last

    def _keep(self, rule: MistakeRule, coef: np.ndarray, path: _Path, points: Any, engine: Engine) -> None:
        """The function that predicts, on the examples that were ever mistaken."""
        index, rivals, steps = path
        total = self.n_iter_ * len(coef)
        if self.prediction == "averaged":
            # A change made at step t is part of all functions from there on: T − t of T.
            coef = np.zeros_like(coef)
            np.add.at(coef, index, rule.changes(index, rivals) * (total - steps)[:, None])
            coef /= total
        support = self.support_
        kept = coef[support, 0] if rule.outputs == 1 else coef[support]
        self.function_ = KernelFunction(self.kernel_, take(points, support), kept, engine)
        why = f"{len(support):,} of {len(coef):,} examples were ever mistaken: f is made of those"
        self.plan_ = Plan(Full(), None, engine, len(coef), len(support), reasons=(why,))
        self.votes_ = None
        if self.prediction == "voted":
            changes = rule.changes(index, rivals).astype(np.int8)
            self.votes_ = (np.searchsorted(support, index), changes, np.diff(steps, append=total))

    holds = {"function_": KernelFunction, "votes_": (None, tuple[np.ndarray, np.ndarray, np.ndarray])}

    def check_state(self) -> None:
        super().check_state()
        outputs = self.function_.outputs or 1
        self._check_answers(self.coding_, outputs)
        if self.votes_ is not None:
            where, changes, survival = self.votes_
            require(positions(where, len(self.function_)), "votes are for other points")
            fine = changes.shape == (len(where), outputs) and changes.dtype.kind == "i"
            require(fine, "changes are not those of the votes")
            require(survival.shape == where.shape and survival.dtype.kind == "i", "the votes are miscounted")

    @property
    def support_(self) -> np.ndarray:
        """Positions of the examples that were ever mistaken."""
        return np.flatnonzero(self.mistakes_)

    def _warn(self, n: int) -> None:
        other = "" if self.prediction != "last" else "; prediction='averaged' does better on such data"
        warnings.warn(
            f"KernelPerceptron stopped at its limit of {self.n_iter_} passes, with {self.history_[-1]} "
            f"mistakes on {n} examples in the last. Raise max_iter, or take a kernel that separates the "
            f"classes, such as a narrower Gaussian; equal points with different labels never are{other}.",
            ConvergenceWarning,
            stacklevel=frames_inside(),
        )

    # -- predict ----------------------------------------------------------------------------------

    def scores(self, X: Any) -> np.ndarray:
        """What predicts, as `coding_` decodes it, shape (n, outputs)."""
        check_is_fitted(self, "function_")
        f = self.function_
        X = self.check_new(X, f.engine)
        scores = f(X) if self.votes_ is None else vote(f.facing(X), *self.votes_)
        return finite_scores(like(scores[:, None] if scores.ndim == 1 else scores, X))
