"""The laws of machines that learn one example at a time."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from mercer.testing.common import LawTrial

_N, _BATCH, _HALF = 60, 7, 30


def check_online(machine: Any, *, tol: float = 1e-9, random_state: int = 0) -> None:
    """Raise `LawViolation` if an online machine breaks a law.

    The laws: an example is predicted before it is learned, and `cumulative_loss_` adds up what those
    predictions cost; batches do not matter: all rows at once, seven at a time and one at a time (`learn_one`)
    lead to the same function; predicting changes nothing; an example of weight 0 is as if it had not been;
    after an error the machine is what it was before; copies and pickles go on in the same way; `fit` forgets.

    Parameters
    ----------
    machine : estimator with `partial_fit`
        One on vectors, with all parameters of its kernel given: a width found from the first batch depends
        on it. It is cloned, and not changed itself.
    tol : float
        By how much predictions may differ, relative to the largest.
    random_state : int
        Seed of the examples.

    Examples
    --------
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.testing import LawViolation, check_online
    >>> check_online(OnlineKernelRegressor(Gaussian(1.0), budget=20))
    >>> class Restless(OnlineKernelRegressor):
    ...     def predict(self, X):
    ...         self.partial_fit(X, super().predict(X) + 1)
    ...         return super().predict(X)
    >>> try:
    ...     check_online(Restless(Gaussian(1.0), budget=20))
    ... except LawViolation as violation:
    ...     print(str(violation).rsplit(": ", 2)[1])
    predicting must change nothing
    """
    if not hasattr(machine, "partial_fit"):
        raise TypeError(f"check_online takes a machine with partial_fit, got {type(machine).__name__}")
    trial = _OnlineTrial(machine, tol, random_state)
    for law in (
        trial.predicting,
        trial.batches,
        trial.before_learning,
        trial.weights,
        trial.errors,
        trial.copies,
        trial.beginning,
    ):
        law()


class _OnlineTrial(LawTrial):
    """A machine and a stream of examples; a method for each law."""

    def __init__(self, machine: Any, tol: float, seed: int):
        super().__init__(machine)
        self.machine, self.tol = machine, tol
        rng = np.random.default_rng(seed)
        self.X = rng.uniform(-1.5, 1.5, (_N, 2))
        score = np.sin(2 * self.X[:, 0]) + 0.5 * self.X[:, 1] + 0.1 * rng.standard_normal(_N)
        self.labels = is_classifier(machine)
        self.classes = {"classes": np.arange(3)} if self.labels else {}
        # Targets are nonnegative: losses for counts take them too.
        self.y = np.digitize(score, [-0.4, 0.4]) if self.labels else np.abs(score)

    def learned(self, rows: Any = slice(None), **more: Any) -> Any:
        """A clone that has learned these rows."""
        return clone(self.machine).partial_fit(self.X[rows], self.y[rows], **self.classes, **more)

    def answers(self, machine: Any) -> np.ndarray:
        """Numbers that tell two functions apart."""
        name = "decision_function" if self.labels else "predict"
        return np.asarray(getattr(machine, name)(self.X), float)

    def same(self, law: str, found: Any, expected: Any, how: str) -> None:
        """Do two machines answer alike?"""
        wanted = self.answers(expected)
        limit = self.tol * max(float(np.abs(wanted).max()), 1.0)
        words = f"{how} the answer at ({{}}) is {{}}, not {{}}"
        self.close(law, self.answers(found), wanted, limit, words)

    def predicting(self) -> None:
        learned = self.learned()
        seen, before = learned.n_seen_, self.answers(learned)
        if learned.n_seen_ != seen or not np.array_equal(before, self.answers(learned)):
            self.fail("predicting must change nothing", "the second time the answers differ")

    def batches(self) -> None:
        law, whole, sevens = "batches must not matter", self.learned(), clone(self.machine)
        for i in range(0, _N, _BATCH):
            sevens.partial_fit(self.X[i : i + _BATCH], self.y[i : i + _BATCH], **self.classes)
        others = [(f"in batches of {_BATCH}", sevens)]
        if hasattr(self.machine, "learn_one"):
            ones = self.learned(slice(1))  # the first one names all the classes
            for i in range(1, _N):
                ones.learn_one(self.X[i], self.y[i].item())
            others.append(("one by one", ones))
        for how, other in others:
            self.same(law, other, whole, how)
            if other.n_seen_ != _N or whole.n_seen_ != _N:
                self.fail(law, f"n_seen_ is {other.n_seen_} {how} and {whole.n_seen_} at once, not {_N}")

    def before_learning(self) -> None:
        if getattr(self.machine, "averaging", False):
            return  # the mean predicts, but the last function is what learns
        steps = self.learned(slice(1))
        loss, total = steps.loss_, steps.cumulative_loss_
        if self.labels:
            targets = loss.encode_labels(self.classes["classes"])[1].encode(self.y)
        else:
            targets = loss.encode_targets(self.y)[0]
        for i in range(1, _N):
            x, target = self.X[i : i + 1], targets[i : i + 1]
            scores = steps.function_(x).reshape(1, -1) + steps.intercept_
            total += float(np.sum(loss.value(target, scores)))
            steps.partial_fit(x, self.y[i : i + 1])
        if not abs(steps.cumulative_loss_ - total) <= 1e3 * self.tol * max(abs(total), 1.0):
            words = f"predictions cost {total:.8g}, but cumulative_loss_ is {steps.cumulative_loss_:.8g}"
            self.fail("an example is predicted before it is learned", words)

    def weights(self) -> None:
        kept = np.arange(_N) % 3 != 1
        some = self.learned(sample_weight=kept.astype(float))
        self.same("weight 0 must mean absent", some, self.learned(kept), "with them")

    def errors(self) -> None:
        law, X, y = "after an error it must be what it was", self.X[_HALF:], self.y[_HALF:]
        learned = self.learned(slice(_HALF))
        before, seen, cost = self.answers(learned), learned.n_seen_, learned.cumulative_loss_
        bad = X.copy()
        bad[-1, 0] = np.nan
        for what, rows, targets in (("NaN in X", bad, y), ("too few y", X, y[:-1])):
            try:
                learned.partial_fit(rows, targets)
            except ValueError:
                pass
            else:
                self.fail("nonsense must be refused", f"{what} goes through")
            same = np.array_equal(self.answers(learned), before)
            if not same or learned.n_seen_ != seen or learned.cumulative_loss_ != cost:
                self.fail(law, f"{what} is refused, but changed it")
        unhurt = self.learned(slice(_HALF)).partial_fit(X, y)
        if not np.array_equal(self.answers(learned.partial_fit(X, y)), self.answers(unhurt)):
            self.fail(law, "it goes on in another way than one that met no error")

    def copies(self) -> None:
        X, y, learned = self.X[_HALF:], self.y[_HALF:], self.learned(slice(_HALF))
        before, straight = self.answers(learned), self.learned(slice(_HALF)).partial_fit(X, y)
        for how, again in (("copy", copy.deepcopy(learned)), ("pickle", pickle.loads(pickle.dumps(learned)))):
            again.partial_fit(X, y)
            if not np.array_equal(self.answers(learned), before):
                self.fail("copies must stand on their own", f"what a {how} learns changes the original")
            if not np.array_equal(self.answers(again), self.answers(straight)):
                self.fail("copies must go on where the original was", f"a {how} does not")

    def beginning(self) -> None:
        law, used = "fit must begin anew", self.learned(slice(None, None, -1)).fit(self.X, self.y)
        fresh = clone(self.machine).fit(self.X, self.y)
        self.same(law, used, fresh, "after other examples")
        if used.n_seen_ != fresh.n_seen_:
            self.fail(law, f"n_seen_ is {used.n_seen_}, not {fresh.n_seen_}")
