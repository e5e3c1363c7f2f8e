"""The kernel perceptron: learning from mistakes only."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer import _resolve
from mercer._xp import take
from mercer.engines import Engine
from mercer.engines.tiled import result_dtype
from mercer.estimators.base import KernelMachine
from mercer.estimators.classification import Classifier
from mercer.estimators.tensors import engine_for, follows_data, frozen, on_host, remember
from mercer.features.base import generator
from mercer.functions import KernelFunction
from mercer.kernels import Gaussian, Kernel, Precomputed
from mercer.kernels.points import as_objects
from mercer.losses import Hinge
from mercer.losses.coding import LabelCoding
from mercer.solvers.base import _frames_inside

_GAUSSIAN = Gaussian()

# Kernel values kept: all of K where it fits here, else columns of those who err most.
_COLUMN_BYTES = 256 << 20
# Examples visited together where K does not fit.
_BLOCK = 1024
# Scores of intermediate functions held at once while they vote, 16 MB of doubles a thread.
_VOTE_ENTRIES = 1 << 21

_PREDICTIONS = ("last", "averaged", "voted")

# Of every mistake in turn: the example, the class it was taken for (with more than two), and the step.
_Path = tuple[np.ndarray, np.ndarray, np.ndarray]


class KernelPerceptron(ClassifierMixin, BaseEstimator):
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
    max_iter : int
        Most passes over the examples.
    prediction : "last", "averaged" or "voted"
        Which of the functions f_1, f_2, … met on the way predicts. Each was the current one after c_j of the
        examples visited, T = Σ c_j. "last" is the classical one; "averaged" is Σ (c_j/T) f_j, again one
        function on the same points; "voted" is Σ (c_j/T) sign f_j(x), with more classes the share of votes
        for each, and evaluates every f_j. The last two do better on data that overlap.
    shuffle : bool
        Visit the examples in a new random order each pass.
    engine : "auto" or an Engine
    random_state : int, RandomState or None
        For shuffle.

    Attributes
    ----------
    classes_ : the labels
    function_ : KernelFunction
        The last function, or their average, on the examples that were ever mistaken.
    coef_ : array, shape (n,) or (n, classes)
        Its coefficients for all examples.
    mistakes_ : int array, shape (n,)
        Mistakes made on each example; for two classes and the last function, |coef_|.
    history_ : int array, shape (n_iter_,)
        Mistakes in each pass.
    n_iter_ : int
        Passes made.
    converged_ : bool
        Whether the last function makes no mistake on any example, so that passes would change nothing.
    margin_ : float
        γ = min_i y_i f(x_i)/‖f‖ of the last function; positive where it separates the examples. With
        more classes y_i f(x_i) is the score of the label minus the best other, and ‖f‖² = Σ_l ‖f_l‖².
    mistake_bound_ : float
        Novikoff's bound on the number of mistakes, (R/γ)² with R² = max_i k(x_i,x_i), and 2(R/γ)² with
        more classes; infinite where γ ≤ 0.
    kernel_ : the kernel, with parameters found from the data

    Notes
    -----
    Nothing changes between mistakes, so the scores of all examples are kept and the next mistake is looked
    up; only mistakes cost kernel evaluations, n each, and the result is that of the plain loop. K is stored
    where it takes no more than 256 MB. Beyond that, vectors are visited in blocks that catch up on the
    mistakes made since by one product; for other points, columns of K are kept for those who err most.

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

    def __init__(
        self,
        kernel=_GAUSSIAN,
        max_iter=100,
        prediction="last",
        shuffle=False,
        engine="auto",
        random_state=None,
    ):
        self.kernel = kernel
        self.max_iter = max_iter
        self.prediction = prediction
        self.shuffle = shuffle
        self.engine = engine
        self.random_state = random_state

    # The same doors as the machines that minimise something.
    _check_X: Any = KernelMachine._check_X
    _check_y: Any = Classifier._check_y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            kernel = _resolve.kernel_of(self.kernel)
        except (TypeError, ValueError):
            return tags  # fit will say what is wrong
        tags.input_tags.pairwise = isinstance(kernel, Precomputed)
        tags.input_tags.sparse = bool(kernel.sparse)
        return tags

    def _validate(self) -> None:
        if not isinstance(self.max_iter, numbers.Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number of at least 1, got {self.max_iter!r}")
        if not (isinstance(self.prediction, str) and self.prediction in _PREDICTIONS):
            raise ValueError(
                f"prediction must be one of {', '.join(map(repr, _PREDICTIONS))}, got {self.prediction!r}"
            )
        if not isinstance(self.shuffle, (bool, np.bool_)):
            raise ValueError(f"shuffle must be True or False, got {self.shuffle!r}")

    # -- fit --------------------------------------------------------------------------------------

    def fit(self, X, y):
        """Go through labelled examples until none is mistaken, max_iter times at most."""
        given, kernel = X, clone(_resolve.kernel_of(self.kernel))
        engine = _resolve.engine_of(engine_for(self.engine, X))
        kernel.validate()
        engine.validate()
        self._validate()
        if y is None:
            raise ValueError("KernelPerceptron requires y to be passed, but the target y is None")
        X = self._check_X(on_host(X), kernel, reset=True)
        y = self._check_y(on_host(y))
        check_consistent_length(X, y)
        # The perceptron has no loss; the coding asks one only whether several columns are one question.
        targets, self._coding = LabelCoding.learn(Hinge(), y)
        self.classes_ = self._coding.classes
        self.kernel_, points = kernel.resolve(X).bind(X)
        diagonal = np.asarray(self.kernel_.diagonal(points), np.float64)
        if not np.isfinite(diagonal).all():
            raise ValueError(
                f"{self.kernel_!r} gives NaN or infinity for k(x,x) on these points; are they too large?"
            )
        points = as_objects(points)
        if engine.remote:
            points = frozen(points)
            remember(engine, points, given)

        rule = _TwoClasses(targets) if targets.shape[1] == 1 else _MoreClasses(targets)
        scores, path = self._run(rule, _sweeps(engine, self.kernel_, points), len(targets))
        last = self._measure(rule, scores, path, diagonal)
        self._keep(rule, last, path, points, engine)
        if not self.converged_:
            self._warn(len(targets))
        return self

    def _run(self, rule: _Rule, sweeps: _Sweeps, n: int) -> tuple[np.ndarray, _Path]:
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
            if not found:
                break
        self.history_ = np.array(history)
        self.n_iter_ = len(history)
        return scores, (np.concatenate(index), np.concatenate(rivals), np.concatenate(steps))

    def _measure(self, rule: _Rule, scores: np.ndarray, path: _Path, diagonal: np.ndarray) -> np.ndarray:
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

    def _keep(self, rule: _Rule, coef: np.ndarray, path: _Path, points: Any, engine: Engine) -> None:
        """The function that predicts, on the examples that were ever mistaken."""
        index, rivals, steps = path
        total = self.n_iter_ * len(coef)
        if self.prediction == "averaged":
            # A change made at step t is part of all functions from there on: T − t of T.
            coef = np.zeros_like(coef)
            np.add.at(coef, index, rule.changes(index, rivals) * (total - steps)[:, None])
            coef /= total
        self.coef_ = coef[:, 0] if rule.outputs == 1 else coef
        support = np.flatnonzero(self.mistakes_)
        self.function_ = KernelFunction(self.kernel_, take(points, support), self.coef_[support], engine)
        self._votes = None
        if self.prediction == "voted":
            changes = rule.changes(index, rivals).astype(np.int8)
            self._votes = (np.searchsorted(support, index), changes, np.diff(steps, append=total))

    def _warn(self, n: int) -> None:
        other = "" if self.prediction != "last" else "; prediction='averaged' does better on such data"
        warnings.warn(
            f"KernelPerceptron stopped at its limit of {self.n_iter_} passes, with {self.history_[-1]} "
            f"mistakes on {n} examples in the last. Raise max_iter, or take a kernel that separates the "
            f"classes, such as a narrower Gaussian; equal points with different labels never are{other}.",
            ConvergenceWarning,
            stacklevel=_frames_inside(),
        )

    # -- predict ----------------------------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        """What predicts, shape (n, outputs)."""
        check_is_fitted(self, "function_")
        given, X = X, self._check_X(on_host(X), _resolve.kernel_of(self.kernel), reset=False)
        remember(self.function_.engine, X, given)
        scores = self.function_(X) if self._votes is None else _vote(self.function_, X, *self._votes)
        if getattr(X, "dtype", None) == np.float32:
            scores = scores.astype(np.float32)
        return scores[:, None] if scores.ndim == 1 else scores

    @follows_data
    def decision_function(self, X):
        """Scores or votes: one column for two classes (positive: the second), one per class otherwise."""
        scores = self._scores(X)
        return self._coding.decision(scores)

    @follows_data
    def predict(self, X):
        """The label of the largest score; of equal ones, the first."""
        scores = self._scores(X)
        return self._coding.decode(scores)


# -- what a mistake is, and what it changes ----------------------------------------------------------


class _Rule:
    """Scores are (outputs, examples). `where` says which of their columns, `who` which examples those are."""

    outputs: int
    spread: int  # a mistake on x changes f by a function of squared norm spread·k(x,x)

    def margins(self, scores: np.ndarray, where: Any, who: Any) -> tuple[np.ndarray, np.ndarray]:
        """(margin, rival) of each example; a margin ≤ 0 is a mistake."""
        raise NotImplementedError

    def update(self, scores: np.ndarray, column: np.ndarray, i: int, rival: int) -> None:
        """Take in a mistake on example i; `column` holds its kernel values with the rest."""
        raise NotImplementedError

    def changes(self, index: np.ndarray, rivals: np.ndarray) -> np.ndarray:
        """What mistakes add to the coefficients of their examples, (mistakes, outputs)."""
        raise NotImplementedError


class _TwoClasses(_Rule):
    outputs = spread = 1

    def __init__(self, targets: np.ndarray):
        self.sign = targets[:, 0]

    def margins(self, scores, where, who):
        margin = self.sign[who] * scores[0, where]
        return margin, np.zeros(len(margin), np.intp)

    def update(self, scores, column, i, rival):
        if self.sign[i] > 0:
            scores[0] += column
        else:
            scores[0] -= column

    def changes(self, index, rivals):
        return self.sign[index, None]


class _MoreClasses(_Rule):
    spread = 2

    def __init__(self, targets: np.ndarray):
        self.outputs = targets.shape[1]
        self.label = targets.argmax(axis=1)

    def margins(self, scores, where, who):
        others, each = scores[:, where], np.arange(len(who))
        own = others[self.label[who], each]
        others[self.label[who], each] = -np.inf
        rival = others.argmax(axis=0)
        return own - others[rival, each], rival

    def update(self, scores, column, i, rival):
        scores[self.label[i]] += column
        scores[rival] -= column

    def changes(self, index, rivals):
        changes, each = np.zeros((len(index), self.outputs)), np.arange(len(index))
        changes[each, self.label[index]] = 1
        changes[each, rivals] = -1
        return changes


def _through(
    rule: _Rule, scores: np.ndarray, where: np.ndarray, who: np.ndarray, column: Callable[[int], np.ndarray]
) -> list[tuple[int, int]]:
    """Visit examples in order, jumping from mistake to mistake: (position, rival) of each."""
    found = []
    start, width = 0, 64
    while start < len(who):
        part = slice(start, start + width)
        margin, rival = rule.margins(scores, where[part], who[part])
        wrong = margin <= 0
        hit = int(wrong.argmax())
        if wrong[hit]:
            rule.update(scores, column(start + hit), who[start + hit], rival[hit])
            found.append((start + hit, int(rival[hit])))
            start, width = start + hit + 1, 64
        else:
            start, width = start + width, min(2 * width, 1 << 14)
    return found


# -- where kernel values come from -------------------------------------------------------------------


class _Sweeps:
    """One pass over all examples."""

    def __init__(self, engine: Engine, kernel: Kernel, points: Any):
        self.engine, self.kernel, self.points = engine, kernel, points

    def sweep(self, rule: _Rule, scores: np.ndarray, order: np.ndarray) -> list[tuple[int, int]]:
        """Bring the scores to where they are after the pass; return (position, rival) of each mistake."""
        raise NotImplementedError


def _sweeps(engine: Engine, kernel: Kernel, points: Any) -> _Sweeps:
    n = points.shape[0]
    if not kernel.vectors:
        return _Columns(engine, kernel, points)
    if n * n * result_dtype(kernel, points, points).itemsize <= _COLUMN_BYTES:
        return _Matrix(engine, kernel, points)
    return _Blocks(engine, kernel, points)


class _Matrix(_Sweeps):
    """All of K at once: for kernels on vectors that costs as much as a few hundred columns one by one."""

    def __init__(self, engine, kernel, points):
        super().__init__(engine, kernel, points)
        self.K = engine.gram(kernel, points)

    def sweep(self, rule, scores, order):
        return _through(rule, scores, order, order, lambda p: self.K[order[p]])


class _Columns(_Sweeps):
    """Columns of K when they are asked for, those of the examples that err most being kept.

    For kernels on strings, graphs, … whose values are dear. Passes come by in much the same order each
    time, so keeping what was used last would always have dropped what comes next.
    """

    def __init__(self, engine, kernel, points):
        super().__init__(engine, kernel, points)
        n = points.shape[0]
        room = min(_COLUMN_BYTES // (8 * n), n)
        self.kept = np.empty((room, n))
        self.owner = np.full(room, -1)
        self.slot: dict[int, int] = {}
        self.asked = np.zeros(n, np.intp)

    def sweep(self, rule, scores, order):
        return _through(rule, scores, order, order, lambda p: self._column(int(order[p])))

    def _column(self, i: int) -> np.ndarray:
        self.asked[i] += 1
        if (slot := self.slot.get(i)) is not None:
            return self.kept[slot]
        column = self.engine.gram(self.kernel, self.points, self.points[i : i + 1])[:, 0]
        slot = len(self.slot)
        if slot == len(self.kept):
            # Full: the one asked for least makes way, if for less than this one.
            if not slot:
                return column
            slot = int(self.asked[self.owner].argmin())
            if self.asked[self.owner[slot]] >= self.asked[i]:
                return column
            del self.slot[int(self.owner[slot])]
        self.kept[slot], self.owner[slot], self.slot[i] = column, i, slot
        return column


class _Blocks(_Sweeps):
    """Nothing kept: examples in blocks, each brought up to date by one product when its turn comes.

    As many kernel values as columns would take, but in products, which are many times faster than
    columns one at a time, about as fast as reading them from memory.
    """

    def sweep(self, rule, scores, order):
        found: list[tuple[int, int]] = []
        ends = []
        starts = range(0, len(order), _BLOCK)
        for start in starts:
            who = order[start : start + _BLOCK]
            self._catch_up(rule, scores, who, order, found)
            block = scores[:, who]
            mistakes = _through(rule, block, np.arange(len(who)), who, self._inside(rule, block, who))
            scores[:, who] = block
            found += [(start + p, rival) for p, rival in mistakes]
            ends.append(len(found))
        for start, end in zip(starts, ends):
            self._catch_up(rule, scores, order[start : start + _BLOCK], order, found[end:])
        return found

    def _catch_up(self, rule, scores, who, order, found):
        """Add to the scores of some examples what these mistakes, not yet seen there, change."""
        if not found:
            return
        where, rivals = np.array(found).T
        index = order[where]
        changes = rule.changes(index, rivals)
        X, Z = take(self.points, who), take(self.points, index)
        scores[:, who] += self.engine.product(self.kernel, X, Z, changes).T

    def _inside(self, rule, block, who):
        """Columns of K(block, block), at once for the examples that would err as things stand."""
        X = take(self.points, who)
        likely = np.flatnonzero(rule.margins(block, np.arange(len(who)), who)[0] <= 0)
        K = self.engine.gram(self.kernel, X, X[likely]) if len(likely) else None
        slot = {int(p): j for j, p in enumerate(likely)}

        def column(p):
            if K is not None and p in slot:
                return K[:, slot[p]]
            return self.engine.gram(self.kernel, X, X[p : p + 1])[:, 0]

        return column


# -- voting ------------------------------------------------------------------------------------------


def _vote(
    f: KernelFunction, X: Any, where: np.ndarray, changes: np.ndarray, survival: np.ndarray
) -> np.ndarray:
    """Σ_j c_j sign f_j(X) / T, or Σ_j c_j [l is the best class of f_j(X)] / T in column l.

    f_j is the sum of the first j changes, change j being to coefficient where[j] of the points of f.
    """
    X = as_objects(f.kernel.points(X))
    outputs = changes.shape[1]
    weights = survival.astype(np.float64)  # whole numbers, so that votes that cancel do so exactly
    votes = np.zeros((X.shape[0], outputs))

    def step(rows, K):
        height = min(len(K), 256)
        width = max(_VOTE_ENTRIES // (height * outputs), 1)
        for i in range(0, len(K), height):
            some = K[i : i + height]
            count = votes[rows][i : i + height]
            last = np.zeros((outputs, len(some)))
            for j in range(0, len(where), width):
                now = slice(j, j + width)
                values = np.empty((outputs, len(some), len(where[now])))
                np.multiply(some[:, where[now]], changes[now].T[:, None, :], out=values)
                values[:, :, 0] += last
                np.cumsum(values, axis=2, out=values)
                last = values[:, :, -1].copy()
                if outputs == 1:
                    count[:, 0] += np.sign(values[0]) @ weights[now]
                else:
                    best = values.argmax(axis=0)
                    for label in range(outputs):
                        count[:, label] += (best == label) @ weights[now]

    f.engine.reduce(f.kernel, X, f.points, step)
    return votes / survival.sum()
