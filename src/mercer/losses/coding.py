"""The way from what people write (labels, numbers) to targets (n, t), and from scores back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._state import ONE_OR_MORE, ArraySpec, require

if TYPE_CHECKING:
    from mercer.losses.base import Loss

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TargetCoding:
    """How numeric targets of a regression were given, so that predictions come back the same way.

    Parameters
    ----------
    loss : Loss
        The loss whose `link` turns scores into predictions.
    one_dimensional : bool
        y came as (n,) rather than (n, t), so predictions are (n,) too.
    n_outputs : int, default=1
        t, the number of targets an example has.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> targets, coding = Squared().encode_targets([3, 1, 2])
    >>> targets.shape
    (3, 1)
    >>> coding.decode(targets)
    array([3., 1., 2.])
    """

    loss: Loss
    one_dimensional: bool
    n_outputs: int = 1

    classes = None

    holds = {"one_dimensional": bool, "n_outputs": ONE_OR_MORE}

    def check_state(self) -> None:
        """Refuse a coding without a loss, or of other outputs than its loss has."""
        _require_loss(self.loss)
        require(not self.one_dimensional or self.n_outputs == 1, "several outputs can't be one-dimensional")
        levels = getattr(self.loss, "levels", None)
        require(
            levels is None or len(levels) in (1, self.n_outputs), "quantiles and outputs differ in number"
        )

    @classmethod
    def learn(cls, loss: Loss, y: ArrayLike) -> tuple[Array, TargetCoding]:
        """Return the targets for y, and the coding."""
        y = numbers(y)
        coding = cls(loss, y.ndim == 1, 1 if y.ndim == 1 else y.shape[1])
        return coding.encode(y), coding

    def encode(self, y: ArrayLike) -> Array:
        """Return the targets (n, t) for y, which may be new."""
        y = _columns(numbers(y), self.n_outputs, "y")
        self.loss.check_targets(y)
        return y

    def decode(self, scores: ArrayLike) -> Array:
        """Return predictions, shaped as y was."""
        predictions = self.loss.link(_columns(np.asarray(scores), self.n_outputs, "the array of scores"))
        return predictions[:, 0] if self.one_dimensional else predictions


@dataclass(frozen=True, eq=False)
class LabelCoding:
    """How the classes of a classification became targets.

    Two classes make one column, −1 for the first class in sorted order and +1 for the second. More
    make one column a class, +1 for the class and −1 for the rest. A joint loss always has one column
    a class, 1 for the class and 0 for the rest.

    Parameters
    ----------
    loss : Loss
        The loss the scores are fitted with.
    classes : array of shape (k,)
        The labels, sorted, each once.

    Examples
    --------
    >>> from mercer.losses import Logistic
    >>> targets, coding = Logistic().encode_labels(["ham", "spam", "ham"])
    >>> targets.ravel()
    array([-1.,  1., -1.])
    >>> print(coding.decode([[2.0], [-2.0]]))
    ['spam' 'ham']
    """

    loss: Loss
    classes: Array

    holds = {"classes": ArraySpec("", "k")}
    # One class: a machine that learns example by example begins with that.
    _fewest = 1

    def check_state(self) -> None:
        """Refuse a coding without a loss or classes."""
        _require_loss(self.loss)
        require(len(self.classes) >= self._fewest, f"there are {len(self.classes)} classes")

    @classmethod
    def learn(cls, loss: Loss, y: ArrayLike) -> tuple[Array, LabelCoding]:
        """Return the targets for y, and the coding."""
        classes, index = distinct(y)
        if len(classes) == 0:
            raise ValueError("y is empty; a classifier needs examples of at least two classes.")
        if len(classes) == 1:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}, and a classifier needs at least two: "
                "add examples of another class, or predict this one always."
            )
        coding = cls(loss, classes)
        return coding.targets(index), coding

    @property
    def n_outputs(self) -> int:
        """The number of columns of targets and scores."""
        return 1 if self._one_column else len(self.classes)

    @property
    def _one_column(self) -> bool:
        return len(self.classes) == 2 and not self.loss.joint

    def encode(self, y: ArrayLike) -> Array:
        """Return the targets for further labels; all must be of the known classes."""
        return self.targets(self.index(y))

    def index(self, y: ArrayLike) -> Array:
        """Return the position in `classes` of each of these labels; all must be known."""
        y = np.asarray(y)
        if y.ndim == 1 and y.dtype.kind in "iuf" and self.classes.dtype.kind in "iuf":
            place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
            if (self.classes[place] == y).all():  # no need to sort them
                return place
        values, index = distinct(y)
        position = {label: i for i, label in enumerate(self.classes.tolist())}
        unseen = [label for label in values.tolist() if label not in position]
        if unseen:
            raise ValueError(
                f"y holds {_named(unseen)}, not among the known classes {_named(list(position))}."
            )
        return np.array([position[label] for label in values.tolist()], dtype=np.intp)[index]

    def decode(self, scores: ArrayLike) -> Array:
        """Return the label of the best score; of equal ones, the first."""
        return self.classes[self._best(self.decision(scores))]

    def decision(self, scores: ArrayLike) -> Array:
        """Return (n,) numbers, positive for the second class, if there are two; else (n, k)."""
        scores = self._scores(scores)
        if self._one_column:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if len(self.classes) == 2 else scores

    def probability(self, scores: ArrayLike) -> Array:
        """Return the probability of each class, (n, k): rows sum to one, the largest is decode's choice.

        With one column a class and a loss that isn't joint, each column is a yes-or-no question of
        its own, and its probabilities are divided by their sum.
        """
        scores = self._scores(scores)
        p = self.loss.probability(scores)
        best = self._best(self.decision(scores))
        if self._one_column:
            p = np.hstack([1 - p, p])
        elif not self.loss.joint:
            p = _normalised(p, best)
        return favouring(p, best)

    def targets(self, index: Array) -> Array:
        """Return the targets of classes given by their positions."""
        if self._one_column:
            return np.where(index == 1, 1.0, -1.0)[:, np.newaxis]
        targets = np.full((len(index), len(self.classes)), 0.0 if self.loss.joint else -1.0)
        targets[np.arange(len(index)), index] = 1.0
        return targets

    def _scores(self, scores: ArrayLike) -> Array:
        return _columns(np.asarray(scores), self.n_outputs, "the array of scores")

    @staticmethod
    def _best(decision: Array) -> Array:
        return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)


def _require_loss(loss: Any) -> None:
    from mercer.losses.base import Loss  # which imports this file

    require(isinstance(loss, Loss), "a coding has no loss")


def numbers(y: ArrayLike) -> Array:
    """Return y as finite floats, (n,) or (n, t): float32 as it is, all else float64."""
    y = np.asarray(y)
    words = y.dtype.kind in "US" or (y.dtype.kind == "O" and any(isinstance(v, (str, bytes)) for v in y.flat))
    try:
        if words or y.dtype.kind == "c":
            raise TypeError
        y = y.astype(np.float32 if y.dtype == np.float32 else np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"y must hold real numbers, but its dtype is {y.dtype}; for labels use a classifier such as "
            "KernelLogistic, KernelSVC or KernelClassifier."
        ) from None
    if y.ndim not in (1, 2):
        raise ValueError(f"y must have shape (n,) or (n, t), but it has shape {y.shape}.")
    if y.size == 0:
        raise ValueError(f"y is empty: it has shape {y.shape}.")
    if not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; drop those examples or fill in their targets.")
    return y


def distinct(y: ArrayLike) -> tuple[Array, Array]:
    """Return the distinct labels in y, sorted, and for each example the position of its label."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"labels must have shape (n,), but y has shape {y.shape}; y.ravel() may be meant.")
    # NaN and NaT are the values that differ from themselves; each would become a class of its own.
    if y.dtype.kind in "fcmMO" and np.any(y != y):
        raise ValueError("y contains NaN where a label should be; drop those examples.")
    try:
        classes, index = np.unique(y, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y.tolist()})
        raise ValueError(
            f"labels must be sortable, but y mixes {', '.join(kinds)}; make them all of one type."
        ) from None
    return classes, index


def _columns(a: Array, t: int, name: str) -> Array:
    """Return `a` with shape (n, t); (n,) is read as (n, 1)."""
    if a.ndim == 1 and t == 1:
        a = a[:, np.newaxis]
    if a.ndim != 2 or a.shape[1] != t:
        raise ValueError(f"{name} has shape {a.shape}, but (n, {t}) is expected.")
    return a


def _named(labels: list[Any], most: int = 10) -> str:
    names = [repr(label) for label in labels[:most]]
    return ", ".join([*names, "…"] if len(labels) > most else names)


def _normalised(p: Array, best: Array) -> Array:
    """Divide each row by its sum; where all of it underflowed to zero, the best score takes the row."""
    total = p.sum(axis=1, keepdims=True)
    p = p / np.where(total > 0, total, 1)
    lost = np.flatnonzero(total == 0)
    p[lost, best[lost]] = 1
    return p


def favouring(p: Array, best: Array) -> Array:
    """Return p with its largest entry in each row at `best`.

    Different scores can round to equal probabilities, such as 1/2 and 1/2 for a score of 1e-20; then
    `predict` and the largest probability would disagree. One unit in the last place settles it.
    """
    wrong = np.flatnonzero(p.argmax(axis=1) != best)
    p[wrong, best[wrong]] = np.nextafter(p[wrong].max(axis=1), np.inf, dtype=p.dtype)
    return p
