"""Labels, one example at a time."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer import _resolve
from mercer._state import COUNT
from mercer.estimators.answers import Likely
from mercer.estimators.inputs import checked_labels
from mercer.losses.coding import LabelCoding
from mercer.online.river import RiverMixin
from mercer.online.turns import in_turn


@dataclass(eq=False, repr=False)
class OnlineKernelClassifier(Likely, RiverMixin):
    """Classification one example at a time: f ← (1 − 2ηλ) f − η V'(y, f(x)) k(x,·).

    Two classes are coded ±1; more are done one against the rest, or jointly by Multinomial(). A class that
    turns up later gets a function of its own, which begins at 0. `partial_fit` takes batches, `learn_one` and
    `predict_one` one example (a dict of features, as river's pipelines hand over), `fit` begins anew.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    loss : Loss or str
        Logistic(), Hinge(), SquaredHinge(), ModifiedHuber(), Multinomial(), Squared(),
        mercer.online.PerceptronLoss() (a perceptron), … Squared() needs a step below 1/k(x,x), such as 0.25.
    lam, step, budget, representation, offset, averaging, passes, engine, random_state, stopping, warm_start :
        as in `OnlineKernelRegressor`

    Attributes
    ----------
    classes_ : the labels seen or named so far
    n_mistakes_ : labels that were predicted wrongly before they were learned
    function_, dual_coef_, coef_, intercept_, kernel_ : as in `OnlineKernelRegressor`
    n_seen_, n_updates_, n_passes_, cumulative_loss_ : as in `OnlineKernelRegressor`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).standard_normal((2000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")
    >>> machine = OnlineKernelClassifier(Gaussian(0.5), budget=100).fit(X, y)
    >>> machine.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'different'], dtype='<U9')
    >>> machine.n_mistakes_ < 250
    True
    """

    loss: Any = "logistic"
    step: Any = 1.0

    holds = {"n_mistakes_": COUNT}

    def loss_for(self, y=None):
        return _resolve.loss_of(self.loss, classification=True)

    def _check_targets(self, y):
        plain = self.begun and isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iubU"
        shape: tuple[int, ...] = np.shape(y) if isinstance(y, (list, tuple)) else getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"y has {shape[1]} columns, and a stream has one label an example; a machine a column "
                f"is sklearn.multioutput.MultiOutputClassifier({type(self).__name__}(…))"
            )
        return y if plain else checked_labels(y)

    def forget(self):
        super().forget()
        self.n_mistakes_ = 0

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        check_is_fitted(self)
        return self.coding_.classes

    def _code_targets(self, y, classes):
        loss = self.rule_.loss
        seen = np.unique(y)
        if not hasattr(self, "coding_"):
            known = seen if classes is None else np.unique(checked_labels(classes))
            if len(unknown := np.setdiff1d(seen, known)):
                raise ValueError(f"y holds {unknown.tolist()}, not among classes={known.tolist()}")
            if len(known) == 1:
                raise ValueError(
                    f"y holds one class only, {known.tolist()[0]!r}, and a classifier needs at least two: "
                    "name those to come in the first call, partial_fit(X, y, classes=[…]), or begin with "
                    "learn_one"
                )
            _, self.coding_ = loss.encode_labels(known)
        else:
            known = self.coding_.classes
            same = classes is None or np.array_equal(classes, known)
            if not same and not np.array_equal(np.unique(checked_labels(classes)), known):
                raise ValueError(
                    f"classes={np.asarray(classes).tolist()} is not the same as on the last call, "
                    f"{known.tolist()}"
                )
            _require_one_kind(known, seen)
            if len(unseen := np.setdiff1d(seen, known)):
                self._more_classes(np.union1d(known, unseen))
        return self.coding_.encode(y)

    def _meet(self, label: Any) -> None:
        """A label that comes by itself; the first one makes a problem of a single class."""
        known = self.coding_.classes if hasattr(self, "coding_") else checked_labels([label])[:0]
        fresh = checked_labels([label])
        _require_one_kind(known, fresh)
        classes = np.union1d(known, fresh)
        if len(known):
            self._more_classes(classes)
        else:
            self.coding_ = LabelCoding(self.rule_.loss, classes)

    def _more_classes(self, classes: np.ndarray) -> None:
        """Functions for classes nobody has named before; those of the others stay."""
        before, after = self.coding_, LabelCoding(self.rule_.loss, classes)
        old, new = _by_class(before), _by_class(after)
        place = np.searchsorted(classes, before.classes)
        scores = np.zeros((len(classes), before.n_outputs))
        scores[place] = old
        # Where two classes share a function (only one of them was known before), it is that of the second.
        self.learner_.spread(new.T @ scores)
        self.coding_ = after

    @in_turn
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from some more examples, in their order.

        classes : labels to expect, needed in the first call only if its examples are all of one class
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def _follow(self, scores, targets, weight):
        super()._follow(scores, targets, weight)
        if scores.shape[1] == 1 and len(self.coding_.classes) == 2:
            right = (scores > 0) == (targets > 0)
        else:
            right = self.coding_.decode(targets) == self.coding_.decode(scores)
        self.n_mistakes_ += len(right) - int(np.count_nonzero(right))

    def _target(self, y):
        if y is None or y != y:
            raise ValueError(f"y is {y!r}: leave out examples whose label is not known")
        row = self._by_label().get(y)
        if row is None:
            self._meet(y)
            row = self._by_label()[y]
        return row

    def _stretches(self, y):
        # A class that nobody has met before begins where it turns up, as if row came after row.
        labels, first = np.unique(y, return_index=True)
        known = set(self._by_label())
        fresh = sorted(i for label, i in zip(labels.tolist(), first.tolist()) if label not in known)
        starts = [*fresh] if fresh[:1] == [0] else [0, *fresh]
        for start, stop in zip(starts, [*starts[1:], len(y)]):
            if start in fresh:
                self._meet(y[start : start + 1].tolist()[0])
            _require_one_kind(self.coding_.classes, y[start:stop])
            yield slice(start, stop), self.coding_.encode(y[start:stop])

    def _by_label(self) -> dict:
        """Targets of each label."""
        coding = self.__dict__.get("coding_")
        if coding is None:
            return {}
        kept = self.__dict__.get("_one")
        if kept is None or kept[0] is not coding:
            rows = coding.encode(coding.classes)
            kept = coding, {label: rows[i : i + 1] for i, label in enumerate(coding.classes.tolist())}
            self._one = kept
        return kept[1]

    def _chances(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the labels met so far (n, classes); 1 for the best where the loss has none."""
        if self.rule_.loss.has_probability:
            return self.coding_.probability(scores)
        return (self.coding_.decode(scores)[:, None] == self.coding_.classes).astype(np.float64)

    @in_turn
    def predict_proba_one(self, x) -> dict:
        """Probabilities of the labels met so far; of a loss that has none, 1 for the best label."""
        scores = self._score_one(x)
        return (
            {}
            if scores is None
            else dict(zip(self.coding_.classes.tolist(), self._chances(scores)[0].tolist()))
        )

    @in_turn
    def predict_proba_many(self, X) -> Any:
        """Probabilities, as `predict_proba_one` has them, for a data frame: a column for each label."""
        pd: Any = import_module("pandas")
        scores = self._score_many(X)
        if scores is None:
            return pd.DataFrame(index=getattr(X, "index", None))
        return pd.DataFrame(
            self._chances(scores), columns=self.coding_.classes.tolist(), index=getattr(X, "index", None)
        )

    @in_turn
    def predict_one(self, x) -> Any:
        """The label for one example; None before anything is learned."""
        scores = self._score_one(x)
        return None if scores is None else self.coding_.decode(scores)[0].item()

    @in_turn
    def predict_many(self, X) -> Any:
        """Labels for a data frame of examples, as a series; None before anything is learned."""
        pd: Any = import_module("pandas")
        scores = self._score_many(X)
        labels = np.full(len(X), None) if scores is None else self.coding_.decode(scores)
        return pd.Series(labels, index=getattr(X, "index", None))


def _by_class(coding: LabelCoding) -> np.ndarray:
    """What the outputs are to each class: one function serves two classes as −f and f."""
    outputs, classes = coding.n_outputs, len(coding.classes)
    return np.array([[-1.0], [1.0]]) if outputs == 1 and classes == 2 else np.eye(classes)


def _require_one_kind(known: np.ndarray, fresh: np.ndarray) -> None:
    """1 and "1" are two labels, and have no order; NumPy would make words of both."""

    def kind(labels: np.ndarray) -> str:
        if labels.dtype.kind != "O":
            return {"b": "truth value", "U": "word", "S": "word"}.get(labels.dtype.kind, "number")
        return "word" if isinstance(labels[0], str) else type(labels[0]).__name__

    if len(known) and len(fresh) and kind(known) != kind(fresh):
        raise ValueError(
            f"labels must be of one kind, got {fresh.tolist()[0]!r} after {known.tolist()}: make all of them "
            "words, or all of them numbers"
        )
