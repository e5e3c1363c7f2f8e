"""Machines that learn one example at a time, with scikit-learn's interface and river's."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
)

from mercer import _resolve
from mercer.estimators.inputs import KernelInputs, Labelled, checked_labels
from mercer.estimators.tensors import engine_for, follows_data, on_host
from mercer.features.base import generator
from mercer.functions import Function
from mercer.kernels import Gaussian, Precomputed
from mercer.kernels.base import Kernel
from mercer.kernels.points import as_objects
from mercer.losses import Loss, Squared
from mercer.losses.coding import LabelCoding
from mercer.online.budgets import Budget, Unlimited, budget_of
from mercer.online.coordinates import Centres, Coordinates, Mapped, Span
from mercer.online.expansion import Expansion
from mercer.online.learner import Learner, Rule
from mercer.online.one import OneLabel, OneNumber
from mercer.online.steps import Recursive, Step, step_of
from mercer.representations import Features, Full, Nystrom
from mercer.solvers.primal import whitening

_GAUSSIAN = Gaussian()
# Points of a made-up sample that a kernel's width is found from, where there is one example only.
_MADE_UP = 200


class OnlineMachine(KernelInputs):
    """Predict, receive the loss, f ← (1 − 2ηλ) f − η V'(y, f(x)) k(x,·): one example after another.

    fit / partial_fit:  check X, y → encode y → learner.learn, chunk by chunk
    predict:            check X → learner.scores → decode
    """

    kernel: Any
    loss: Any
    lam: float
    step: Any
    budget: Any
    representation: Any
    offset: bool
    averaging: bool
    passes: int
    engine: Any
    random_state: Any

    _rule_: Rule
    _learner: Learner
    _coding: Any
    cumulative_loss_: float

    def _check_targets(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _code_targets(self, y: np.ndarray, classes: Any) -> np.ndarray:
        """Targets (n, t) of y; learns the coding, or extends it, where need be."""
        raise NotImplementedError

    # -- what was asked for ------------------------------------------------------------------------

    def _rule(self) -> Rule:
        lam = self.lam
        if isinstance(lam, bool) or not isinstance(lam, numbers.Real) or not 0 <= float(lam) < math.inf:
            raise ValueError(f"lam must be a number of at least 0, got {lam!r}")
        for name in ("offset", "averaging"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if isinstance(self.passes, bool) or not isinstance(self.passes, numbers.Integral) or self.passes < 1:
            raise ValueError(f"passes must be a whole number of at least 1, got {self.passes!r}")
        step: Step = clone(step_of(self.step))
        step.validate_for(float(lam))
        loss = clone(self._loss())
        loss.validate()
        if isinstance(step, Recursive) and (not isinstance(loss, Squared) or self.offset or self.averaging):
            raise ValueError(
                "Recursive() steps are those of least squares: use loss='squared', no offset and no averaging"
            )
        seed = int(generator(self.random_state).integers(2**31 - 1))
        return Rule(loss, step, float(lam), bool(self.offset), bool(self.averaging), seed)

    def _budget(self) -> Budget:
        budget: Budget = clone(budget_of(self.budget))
        budget.validate()
        return budget

    def _learner_for(self, kernel: Kernel, points: Any, outputs: int, X: Any) -> Learner:
        """An empty f of the form asked for."""
        rule, budget = self._rule_, self._budget()
        engine = _resolve.engine_of(engine_for(self.engine, X)).for_many(1 << 40)
        engine.validate()
        form = _resolve.representation_of(self.representation) or Full()
        form.validate()
        if isinstance(form, (Features, Nystrom)):
            if not isinstance(budget, Unlimited) and self.budget is not _default(self, "budget"):
                raise ValueError(
                    f"{form!r} has a fixed number of coordinates, and no use for budget={self.budget!r}"
                )
            return Coordinates(self._basis(form, kernel, points, engine), rule, outputs)
        if budget.projects:
            empty = Span(kernel, points[:0], np.zeros((0, 0)), engine)
            return Coordinates(empty, rule, outputs, int(budget.size), float(budget.threshold))
        if isinstance(rule.step, Recursive):
            raise ValueError(
                "Recursive() steps need coordinates: budget=Projection(500), or representation='features'"
            )
        return Expansion(kernel, points, rule, outputs, budget, engine)

    def _basis(self, form: Any, kernel: Kernel, points: Any, engine: Any) -> Any:
        rng = np.random.default_rng(self._rule_.seed)
        if isinstance(form, Features):
            map, Phi = form._features(kernel, points, rng)
            return Mapped(map, Phi.shape[1])
        given = (
            form.centres is not None
            and not isinstance(form.centres, str)
            and hasattr(form.centres, "__len__")
        )
        if not given and form.m is not None and points.shape[0] < form.m:
            raise ValueError(
                f"{form!r} takes its centres from the first batch, which has {points.shape[0]} examples: "
                "begin with a larger one, give the points (Nystrom(centres=Z)), or use "
                f"budget=Projection({form.m}), which finds them on the way"
            )
        built = form.build(kernel, points, rng, engine)
        function: Any = built.lift(np.zeros(built.B.shape[0]))
        T = whitening(np.asarray(built.B.dense(), np.float64), np.dtype(getattr(points, "dtype", np.float64)))
        return Centres(kernel, function.points, T, engine)

    # -- learning ----------------------------------------------------------------------------------

    def _points(self, X: Any, *, reset: bool) -> Any:
        kernel = _resolve.kernel_of(self.kernel)
        if isinstance(kernel, Precomputed):
            raise ValueError(
                "an online machine meets examples nobody knew before, so there is no precomputed matrix of "
                "them; use a FunctionKernel, or Finite(matrix) with indices as points"
            )
        kernel.validate()
        return as_objects(self._check_X(on_host(X), kernel, reset=reset))

    def _start(self, points: Any, X: Any, targets: np.ndarray) -> None:
        kernel = clone(_resolve.kernel_of(self.kernel))
        sample = points
        if kernel.unresolved() and kernel.vectors and len(points[:2].shape) == 2 and points.shape[0] == 1:
            # One example tells nothing of distances: take them to be those of standardised features.
            width = points.shape[1]
            sample = np.random.default_rng(0).standard_normal((_MADE_UP, width)).astype(points.dtype)
        self.kernel_ = kernel.resolve(sample)
        if not np.isfinite(self.kernel_.diagonal(points)).all():
            raise ValueError(
                f"{self.kernel_!r} gives NaN or infinity for k(x,x) on these points; are they too large?"
            )
        self._learner = self._learner_for(self.kernel_, points, targets.shape[1], X)

    def fit(self, X, y, sample_weight=None):
        """Forget everything, and go through the examples in their order, `passes` times."""
        self._forget()
        self._learn(X, y, None, sample_weight, int(self.passes) if self._rule() else 1)
        return self

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, passes: int = 1) -> np.ndarray:
        """Learn; the scores each example (of weight above 0) had just before."""
        first = not self._begun
        rule = self._rule() if first else self._rule_
        points = self._points(X, reset=first)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = self._check_targets(on_host(y))
        check_consistent_length(points, y)
        weight = self._weights(on_host(sample_weight), points)
        if first:
            self._rule_ = rule
        try:
            targets = self._code_targets(y, classes)
            if first:
                self._start(points, X, targets)
        except BaseException:
            if first:
                self._forget()
            raise
        used = np.flatnonzero(weight)
        if len(used) < len(weight):
            points, targets, weight = points[used], targets[used], weight[used]
        for _ in range(passes):
            scores = self._learner.learn(points, targets, weight)
            self._follow(scores, targets, weight)
        return scores

    def _follow(self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> None:
        """Keep count of what was lost on the way."""
        with np.errstate(over="ignore"):
            value = self._rule_.loss.value(targets, scores)
        total = value if value.ndim == 1 else value.sum(axis=1)
        self.cumulative_loss_ += float(weight @ total)

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_one"}  # made again when needed

    @property
    def _begun(self) -> bool:
        return hasattr(self, "_learner")

    def _forget(self) -> None:
        for name in ("_learner", "_coding", "_rule_", "kernel_", "_names", "_one"):
            self.__dict__.pop(name, None)
        self.cumulative_loss_ = 0.0

    @staticmethod
    def _weights(sample_weight: Any, points: Any) -> np.ndarray:
        n = points.shape[0]
        if sample_weight is None:
            return np.ones(n)
        weight = _check_sample_weight(sample_weight, np.empty((n, 0)), dtype=np.float64)
        if (weight < 0).any():
            raise ValueError("sample_weight must be nonnegative")
        return np.ascontiguousarray(weight)

    # -- what was learned --------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self._begun

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the function that predicts, shape (terms,) or (terms, outputs)."""
        self._require()
        coef = self._learner.coefficients()
        return coef[:, 0] if coef.shape[1] == 1 else coef

    @property
    def function_(self) -> Function:
        """The function that predicts, without the offset: the last one or, with averaging, the mean of
        all."""
        return self._learner.function(self.coef_)

    @property
    def intercept_(self) -> Any:
        """b: a number, or one for each output."""
        self._require()
        offset = self._learner.offset
        return float(offset[0]) if len(offset) == 1 else offset.copy()

    @property
    def n_seen_(self) -> int:
        """Examples learned from so far."""
        return self._learner.seen if self._begun else 0

    @property
    def n_updates_(self) -> int:
        """Examples that changed f, apart from shrinking it."""
        return self._learner.updates if self._begun else 0

    def _require(self) -> None:
        check_is_fitted(self)

    @property
    def loss_(self) -> Loss:
        """The loss, as it is used."""
        self._require()
        return self._rule_.loss

    def _scores(self, X: Any) -> np.ndarray:
        self._require()
        points = self._points(X, reset=False)
        scores = self._learner.scores(points)
        return scores.astype(np.float32) if getattr(points, "dtype", None) == np.float32 else scores


def _default(machine: Any, name: str) -> Any:
    import inspect

    return inspect.signature(type(machine)).parameters[name].default


class OnlineKernelRegressor(OneNumber, MultiOutputMixin, RegressorMixin, OnlineMachine):
    """Regression one example at a time: f ← (1 − 2ηλ) f − η V'(y, f(x)) k(x,·).

    `partial_fit` takes batches, `learn_one` and `predict_one` one example (a dict of features, as river's
    pipelines hand over), `fit` begins anew and goes through the rows in their order.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
        A width that is left open is found from the first batch. One example alone can't tell it: then it is
        that of standardised features.
    loss : Loss or str
        Squared(), Huber(), Absolute(), EpsilonInsensitive(), Quantile(0.9), Poisson(), … or one of your own.
    lam : float ≥ 0
        λ: f is multiplied by 1 − 2ηλ in every step.
    step : float or a Step
        η: a constant, `InverseRoot`, `Pegasos`, `PassiveAggressive`, or `Recursive` (least squares of second
        order).
    budget : int, a Budget or None
        How many terms f may have, and what happens then: `Merge` (an int means this one), `Projection`,
        `Oldest`, `Smallest`, `AtRandom`, `Window`, `Forgetron`; None: no limit, and every step costs more
        than the last.
    representation : "full", "features", "nystrom" or a Representation
        Coordinates in place of kernels at examples: random or explicit features, or centres from the first
        batch. The cost of a step is then constant, and there is no budget.
    offset : bool
        Learn a constant b beside f.
    averaging : bool
        Predict with the mean of all functions so far instead of the last.
    passes : int
        How often `fit` goes through the rows.
    engine : "auto" or an Engine
    random_state : int, RandomState or None
        For AtRandom and random features.

    Attributes
    ----------
    function_ : Function
        What predicts, in H_K (without b).
    coef_, intercept_ : its coefficients, and b
    kernel_ : the kernel with its parameters found
    n_seen_, n_updates_ : examples so far, and those that changed f
    cumulative_loss_ : float
        Σ V(y_t, f_t(x_t)) of predictions made before the example was learned.

    References
    ----------
    J. Kivinen, A. Smola, R. Williamson, Online learning with kernels, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(0, 6, (2000, 1))
    >>> machine = OnlineKernelRegressor(Gaussian(1.0), budget=50)
    >>> for batch in np.split(X, 20):
    ...     machine = machine.partial_fit(batch, np.sin(batch[:, 0]))
    >>> bool(abs(machine.predict([[1.0]])[0] - np.sin(1.0)) < 0.05)
    True
    """

    def __init__(
        self,
        kernel=_GAUSSIAN,
        loss="squared",
        lam=1e-6,
        step=0.25,
        budget=500,
        representation="full",
        offset=False,
        averaging=False,
        passes=1,
        engine="auto",
        random_state=None,
    ):
        self.kernel = kernel
        self.loss = loss
        self.lam = lam
        self.step = step
        self.budget = budget
        self.representation = representation
        self.offset = offset
        self.averaging = averaging
        self.passes = passes
        self.engine = engine
        self.random_state = random_state

    def _loss(self):
        return _resolve.loss_of(self.loss)

    def _check_targets(self, y):
        return check_array(
            y, ensure_2d=False, allow_nd=False, dtype=None, input_name="y", ensure_min_samples=0
        )

    def _code_targets(self, y, classes):
        targets, coding = self._rule_.loss.encode_targets(y)
        known = self.__dict__.setdefault("_coding", coding)
        if coding.n_outputs != known.n_outputs:
            raise ValueError(f"y has {coding.n_outputs} columns, and had {known.n_outputs} before")
        return targets

    def partial_fit(self, X, y, sample_weight=None):
        """Learn from some more examples, in their order."""
        if not self._begun:
            self._forget()
        self._learn(X, y, None, sample_weight)
        return self

    @follows_data
    def predict(self, X):
        """Predictions for X, shaped as y was."""
        scores = self._scores(X)
        return self._coding.decode(scores)


def _gives_probability(machine) -> bool:
    loss = machine._loss()
    if loss.has_probability:
        return True
    raise AttributeError(f"{loss!r} has no probabilities; use loss='logistic' for predict_proba")


class OnlineKernelClassifier(OneLabel, Labelled, OnlineMachine):
    """Classification one example at a time: f ← (1 − 2ηλ) f − η V'(y, f(x)) k(x,·).

    Two classes are coded ±1; more are done one against the rest, or jointly by Multinomial(). A class that
    turns up later gets a function of its own, which begins at 0. `partial_fit` takes batches, `learn_one` and
    `predict_one` one example (a dict of features, as river's pipelines hand over), `fit` begins anew.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    loss : Loss or str
        Logistic(), Hinge(), SquaredHinge(), Multinomial(), Squared(), mercer.online.Mistakes() (a
        perceptron), …
    lam, step, budget, representation, offset, averaging, passes, engine, random_state
        As in `OnlineKernelRegressor`.

    Attributes
    ----------
    classes_ : the labels seen or named so far
    function_, coef_, intercept_, kernel_, n_seen_, n_updates_, cumulative_loss_
        As in `OnlineKernelRegressor`.
    n_mistakes_ : int
        Labels that were predicted wrongly before they were learned.

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

    def __init__(
        self,
        kernel=_GAUSSIAN,
        loss="logistic",
        lam=1e-6,
        step=1.0,
        budget=500,
        representation="full",
        offset=False,
        averaging=False,
        passes=1,
        engine="auto",
        random_state=None,
    ):
        self.kernel = kernel
        self.loss = loss
        self.lam = lam
        self.step = step
        self.budget = budget
        self.representation = representation
        self.offset = offset
        self.averaging = averaging
        self.passes = passes
        self.engine = engine
        self.random_state = random_state

    def _loss(self):
        return _resolve.loss_of(self.loss, classification=True)

    def _check_targets(self, y):
        plain = self._begun and isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iubU"
        return y if plain else checked_labels(y)

    def _forget(self):
        super()._forget()
        self.n_mistakes_ = 0

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        self._require()
        return self._coding.classes

    def _code_targets(self, y, classes):
        loss = self._rule_.loss
        seen = np.unique(y)
        if not hasattr(self, "_coding"):
            known = seen if classes is None else np.unique(checked_labels(classes))
            _require_all(seen, known)
            _, self._coding = loss.encode_labels(known)
        else:
            known = self._coding.classes
            if classes is not None and not np.array_equal(np.unique(checked_labels(classes)), known):
                raise ValueError(
                    f"classes={np.asarray(classes).tolist()} is not the same as on the last call, "
                    f"{known.tolist()}"
                )
            if len(unseen := np.setdiff1d(seen, known)):
                self._more_classes(np.union1d(known, unseen))
        return self._coding.encode(y)

    def _meet(self, label: Any) -> None:
        """A label that comes by itself; the first one makes a problem of a single class."""
        known = self._coding.classes if hasattr(self, "_coding") else checked_labels([label])[:0]
        fresh = checked_labels([label])
        if (
            len(known)
            and known.dtype.kind != fresh.dtype.kind
            and "O" not in (known.dtype.kind, fresh.dtype.kind)
        ):
            raise ValueError(f"labels must be of one kind, got {label!r} after {known.tolist()}")
        classes = np.union1d(known, fresh)
        if len(known):
            self._more_classes(classes)
        else:
            self._coding = LabelCoding(self._rule_.loss, classes)

    def _more_classes(self, classes: np.ndarray) -> None:
        """Functions for classes nobody has named before; those of the others stay."""
        before, after = self._coding, LabelCoding(self._rule_.loss, classes)
        old, new = _by_class(before), _by_class(after)
        place = np.searchsorted(classes, before.classes)
        scores = np.zeros((len(classes), before.n_outputs))
        scores[place] = old
        # Where two classes share a function (only one of them was known before), it is that of the second.
        self._learner.spread(new.T @ scores)
        self._coding = after

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from some more examples, in their order.

        classes : labels to expect, needed in the first call only if its examples are all of one class
        """
        if not self._begun:
            self._forget()
        self._learn(X, y, classes, sample_weight)
        return self

    def _follow(self, scores, targets, weight):
        super()._follow(scores, targets, weight)
        right = self._coding.decode(targets) == self._coding.decode(scores)
        self.n_mistakes_ += len(right) - int(np.count_nonzero(right))

    @available_if(_gives_probability)
    @follows_data
    def predict_proba(self, X):
        """Probability of each class, rows summing to one."""
        scores = self._scores(X)
        return self._coding.probability(scores)


def _by_class(coding: LabelCoding) -> np.ndarray:
    """What the outputs are to each class: one function serves two classes as −f and f."""
    outputs, classes = coding.n_outputs, len(coding.classes)
    return np.array([[-1.0], [1.0]]) if outputs == 1 and classes == 2 else np.eye(classes)


def _require_all(seen: np.ndarray, known: np.ndarray) -> None:
    if len(unknown := np.setdiff1d(seen, known)):
        raise ValueError(f"y holds {unknown.tolist()}, not among classes={known.tolist()}")
