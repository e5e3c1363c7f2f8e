"""The laws of machines that learn one example at a time."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from mercer.testing.common import fail, require_close

_N, _BATCH = 60, 7


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
    X, y, more = _examples(machine, random_state)
    whole = clone(machine).partial_fit(X, y, **more)
    _predicting(machine, whole, X)
    _batches(machine, whole, X, y, more, tol)
    _before_learning(machine, X, y, more, tol)
    _weights(machine, X, y, more, tol)
    _errors(machine, X, y, more)
    _copies(machine, X, y, more)
    _beginning(machine, X, y, more, tol)


def _examples(machine: Any, seed: int) -> tuple[np.ndarray, np.ndarray, dict]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (_N, 2))
    score = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(_N)
    if is_classifier(machine):
        y = np.digitize(score, [-0.4, 0.4])
        return X, y, {"classes": np.arange(3)}
    return X, np.abs(score), {}  # nonnegative: losses for counts take them too


def _answers(machine: Any, X: np.ndarray) -> np.ndarray:
    """Numbers that tell two functions apart."""
    name = "decision_function" if is_classifier(machine) else "predict"
    return np.asarray(getattr(machine, name)(X), float)


def _size(a: np.ndarray) -> float:
    return max(float(np.abs(a).max()), 1.0)


def _same(machine: Any, law: str, found: np.ndarray, expected: np.ndarray, tol: float, how: str) -> None:
    words = f"{how} the answer at ({{}}) is {{}}, not {{}}"
    require_close(machine, law, found, expected, tol * _size(expected), words)


def _predicting(machine: Any, learned: Any, X: np.ndarray) -> None:
    seen = learned.n_seen_
    before = _answers(learned, X)
    if learned.n_seen_ != seen or not np.array_equal(before, _answers(learned, X)):
        fail(machine, "predicting must change nothing", "the second time the answers differ")


def _batches(machine: Any, whole: Any, X: Any, y: Any, more: dict, tol: float) -> None:
    law, expected = "batches must not matter", _answers(whole, X)
    sevens = clone(machine)
    for i in range(0, _N, _BATCH):
        sevens.partial_fit(X[i : i + _BATCH], y[i : i + _BATCH], **more)
    _same(machine, law, _answers(sevens, X), expected, tol, f"in batches of {_BATCH}")
    others = [("in batches", sevens)]
    if hasattr(machine, "learn_one"):
        # The first one names all the classes.
        ones = clone(machine).partial_fit(X[:1], y[:1], **more)
        for i in range(1, _N):
            ones.learn_one(X[i], y[i].item())
        _same(machine, law, _answers(ones, X), expected, tol, "one by one")
        others.append(("one by one", ones))
    for how, other in others:
        if other.n_seen_ != _N or whole.n_seen_ != _N:
            fail(machine, law, f"n_seen_ is {other.n_seen_} {how} and {whole.n_seen_} at once, not {_N}")


def _before_learning(machine: Any, X: Any, y: Any, more: dict, tol: float) -> None:
    if getattr(machine, "averaging", False):
        return  # the mean predicts, but the last function is what learns
    steps = clone(machine).partial_fit(X[:1], y[:1], **more)
    loss, total = steps.loss_, steps.cumulative_loss_
    if is_classifier(machine):
        targets = loss.encode_labels(more["classes"])[1].encode(y)
    else:
        targets = loss.encode_targets(y)[0]
    for i in range(1, _N):
        scores = steps.function_(X[i : i + 1]).reshape(1, -1) + steps.intercept_
        total += float(np.sum(loss.value(targets[i : i + 1], scores)))
        steps.partial_fit(X[i : i + 1], y[i : i + 1])
    if not abs(steps.cumulative_loss_ - total) <= 1e3 * tol * max(abs(total), 1.0):
        fail(
            machine,
            "an example is predicted before it is learned",
            f"predictions cost {total:.8g}, but cumulative_loss_ is {steps.cumulative_loss_:.8g}",
        )


def _weights(machine: Any, X: Any, y: Any, more: dict, tol: float) -> None:
    kept = np.arange(_N) % 3 != 1
    some = clone(machine).partial_fit(X, y, **more, sample_weight=kept.astype(float))
    without = clone(machine).partial_fit(X[kept], y[kept], **more)
    _same(machine, "weight 0 must mean absent", _answers(some, X), _answers(without, X), tol, "with them")


def _errors(machine: Any, X: Any, y: Any, more: dict) -> None:
    law, half = "after an error it must be what it was", _N // 2
    learned = clone(machine).partial_fit(X[:half], y[:half], **more)
    before, seen, cost = _answers(learned, X), learned.n_seen_, learned.cumulative_loss_
    bad = X[half:].copy()
    bad[-1, 0] = np.nan
    for what, rows, targets in (("NaN in X", bad, y[half:]), ("too few y", X[half:], y[half:-1])):
        try:
            learned.partial_fit(rows, targets)
        except ValueError:
            pass
        else:
            fail(machine, "nonsense must be refused", f"{what} goes through")
        same = np.array_equal(_answers(learned, X), before)
        if not same or learned.n_seen_ != seen or learned.cumulative_loss_ != cost:
            fail(machine, law, f"{what} is refused, but changed it")
    learned.partial_fit(X[half:], y[half:])
    unhurt = clone(machine).partial_fit(X[:half], y[:half], **more).partial_fit(X[half:], y[half:])
    if not np.array_equal(_answers(learned, X), _answers(unhurt, X)):
        fail(machine, law, "it goes on in another way than one that met no error")


def _copies(machine: Any, X: Any, y: Any, more: dict) -> None:
    half = _N // 2
    learned = clone(machine).partial_fit(X[:half], y[:half], **more)
    before = _answers(learned, X)
    for how, again in (("copy", copy.deepcopy(learned)), ("pickle", pickle.loads(pickle.dumps(learned)))):
        again.partial_fit(X[half:], y[half:])
        if not np.array_equal(_answers(learned, X), before):
            fail(machine, "copies must stand on their own", f"what a {how} learns changes the original")
        straight = clone(machine).partial_fit(X[:half], y[:half], **more).partial_fit(X[half:], y[half:])
        if not np.array_equal(_answers(again, X), _answers(straight, X)):
            fail(machine, "copies must go on where the original was", f"a {how} does not")


def _beginning(machine: Any, X: Any, y: Any, more: dict, tol: float) -> None:
    used = clone(machine).partial_fit(X[::-1], y[::-1], **more).fit(X, y)
    fresh = clone(machine).fit(X, y)
    _same(machine, "fit must begin anew", _answers(used, X), _answers(fresh, X), tol, "after other examples")
    if used.n_seen_ != fresh.n_seen_:
        fail(machine, "fit must begin anew", f"n_seen_ is {used.n_seen_}, not {fresh.n_seen_}")
