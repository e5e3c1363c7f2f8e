"""Machines that learn one example at a time, with scikit-learn's interface and river's."""

from __future__ import annotations

import numbers
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer import _resolve
from mercer._params import require_count, require_flag, require_nonnegative
from mercer._state import require
from mercer._warnings import frames_inside
from mercer._xp import frozen
from mercer.estimators.answers import Coefficients
from mercer.estimators.inputs import KernelInputs, finite_scores, like, nonnegative_weights
from mercer.estimators.plan import Plan
from mercer.estimators.tensors import engine_for, on_host
from mercer.features.base import generator
from mercer.functions import Function
from mercer.functions.terms import stack
from mercer.kernels import Precomputed
from mercer.kernels.base import Kernel
from mercer.kernels.door import by_rule
from mercer.kernels.points import as_objects
from mercer.losses import Loss
from mercer.losses.coding import LabelCoding, TargetCoding
from mercer.online import loops
from mercer.online.budgets import Budget, Unlimited, budget_of
from mercer.online.coordinates import CentreBasis, CoordinateLearner, FeatureBasis, SpanBasis
from mercer.online.expansion import ExpansionLearner
from mercer.online.learner import Learner, UpdateRule
from mercer.online.passes import InPasses
from mercer.online.steps import RecursiveStep, step_of
from mercer.online.turns import in_turn
from mercer.representations import Features, Full, Nystrom
from mercer.solvers.coordinates import whitening

# When steps that fall have fallen.
_LATE = 1e6
# Points of a made-up sample that a kernel's width is found from, where there is one example only.
_MADE_UP = 200
# Of the first examples so many show whether the kernel is one.
_LOOKED_AT = 64


@dataclass(eq=False, repr=False)
class OnlineMachine(Coefficients, InPasses, KernelInputs, ABC):
    """Predict, receive the loss, f ← (1 − 2ηλ) f − η V'(y, f(x)) k(x,·): one example after another.

    fit / partial_fit:  check X, y → encode y → learner.learn, chunk by chunk
    predict:            check X → learner.scores → decode

    Threads may share a machine: one at a time learns, or asks, and the others wait.
    """

    kernel: Any = "gaussian"  # a word: river wants defaults that nobody can change
    loss: Any = None  # machines have their own
    lam: float = 1e-6
    step: Any = None
    budget: Any = 500
    representation: Any = "full"
    offset: bool = False
    averaging: Any = False
    passes: int = 1
    engine: Any = "auto"
    random_state: Any = None
    stopping: Any = None
    warm_start: bool = False

    @abstractmethod
    def _check_targets(self, y: Any) -> np.ndarray:
        """y as an array, or a ValueError."""

    @abstractmethod
    def loss_for(self, y: Any = None) -> Loss:
        """The loss that a machine that begins would use; targets don't matter."""

    @abstractmethod
    def _code_targets(self, y: np.ndarray, classes: Any) -> np.ndarray:
        """Targets (n, t) of y; learns the coding, or extends it, where need be."""

    # -- what was asked for ------------------------------------------------------------------------

    def validate(self) -> None:
        """Raise ValueError, with the reason, if a parameter is out of range."""
        clone(self)._rule()
        self._budget()

    def _rule(self) -> UpdateRule:
        lam = require_nonnegative(self.lam, "lam")
        for name in ("offset", "warm_start"):
            require_flag(getattr(self, name), name)
        require_count(self.passes, "passes")
        self._stopping()
        step, loss = clone(step_of(self.step)), clone(self.loss_for())
        loss.validate()
        seed = int(generator(self.random_state).integers(2**31 - 1))
        rule = UpdateRule(loss, step, lam, bool(self.offset), self._averaged_from(), seed)
        rule.check_state()
        return rule

    def _averaged_from(self) -> int:
        """The step from which on functions count in the mean; 0: there is none."""
        if isinstance(self.averaging, numbers.Integral) and not isinstance(self.averaging, bool):
            return require_count(self.averaging, "averaging", 0)
        require_flag(self.averaging, "averaging")
        return int(self.averaging)

    def _budget(self) -> Budget:
        budget: Budget = clone(budget_of(self.budget))
        budget.validate()
        return budget

    def _learner_for(self, kernel: Kernel, points: Any, outputs: int, X: Any) -> Learner:
        """An empty f of the form asked for."""
        rule, budget = self.rule_, self._budget()
        engine = _resolve.engine_of(engine_for(self.engine, X)).expecting(1 << 40)
        engine.validate()
        form = _resolve.representation_of(self.representation) or Full()
        form.validate()
        if isinstance(form, (Features, Nystrom)):
            if not isinstance(budget, Unlimited) and self.budget != type(self).budget:
                raise ValueError(
                    f"{form!r} has a fixed number of coordinates, and no use for budget={self.budget!r}"
                )
            return CoordinateLearner(self._basis(form, kernel, points, engine), rule, outputs)
        if budget.projects:
            empty = SpanBasis(kernel, points[:0], np.zeros((0, 0)), engine)
            return CoordinateLearner(empty, rule, outputs, int(budget.n_terms), float(budget.threshold))
        if isinstance(rule.step, RecursiveStep):
            raise ValueError(
                "the steps of RecursiveStep() need coordinates: budget=Projection(500), or "
                "representation='features'"
            )
        return ExpansionLearner(kernel, points, rule, outputs, budget, engine)

    def _basis(self, form: Any, kernel: Kernel, points: Any, engine: Any) -> Any:
        rng = np.random.default_rng(self.rule_.seed)
        if isinstance(form, Features):
            map, Phi = form.mapped(kernel, points, rng)
            return FeatureBasis(map, Phi.shape[1])
        given = hasattr(form.centres, "__len__") and not isinstance(form.centres, str)
        if not given and form.n_centres is not None and points.shape[0] < form.n_centres:
            raise ValueError(
                f"{form!r} takes its centres from the first batch, which has {points.shape[0]} examples: "
                "begin with a larger one, give the points (Nystrom(centres=Z)), or use "
                f"budget=Projection({form.n_centres}), which finds them on the way"
            )
        built = form.build(kernel, points, rng, engine)
        function: Any = built.lift(np.zeros(built.B.shape[0]))
        T = whitening(np.asarray(built.B.dense(), np.float64), np.dtype(getattr(points, "dtype", np.float64)))
        return CentreBasis(kernel, function.points, T, engine)

    # -- learning ----------------------------------------------------------------------------------

    def _points(self, X: Any, *, reset: bool) -> Any:
        kernel = _resolve.kernel_of(self.kernel) if reset else self.kernel_
        if isinstance(kernel, Precomputed):
            raise ValueError(
                "an online machine meets examples nobody knew before, so there is no precomputed matrix of "
                "them; use a FunctionKernel, or Finite(matrix) with indices as points"
            )
        kernel.validate()
        return as_objects(self.check_X(on_host(X), kernel, reset=reset))

    def _start(
        self, points: Any, X: Any, targets: np.ndarray, weight: np.ndarray, *, one_by_one: bool = False
    ) -> None:
        """`one_by_one`: the kernel shall be the one that the first point alone would give."""
        kernel = clone(_resolve.kernel_of(self.kernel))
        sample, alone = points, one_by_one or points.shape[0] == 1
        if kernel.unresolved() and kernel.vectors and len(points[:2].shape) == 2 and alone:
            # One example tells nothing of distances: take them to be those of standardised features.
            width = points.shape[1]
            sample = np.random.default_rng(0).standard_normal((_MADE_UP, width)).astype(points.dtype)
        self.kernel_ = kernel.resolve(sample, weight if sample is points else None)
        if not np.isfinite(self.kernel_.diagonal(points)).all():
            raise ValueError(
                f"{self.kernel_!r} gives NaN or infinity for k(x,x) on these points; are they too large?"
            )
        if not by_rule(self.kernel_):
            self._looked_at = points[:0]
            self._look_at(points)
        self.learner_ = self._learner_for(self.kernel_, points, targets.shape[1], X)
        self._mind_the_step(float(np.max(self.kernel_.diagonal(points))))

    def _look_at(self, points: Any) -> None:
        """Refuse what is no kernel, by the first examples: these may come one by one, so whenever there are
        twice as many as when it was last looked at."""
        held = self.__dict__.get("_looked_at")
        if held is None:
            return
        before = held.shape[0]
        same = before > 0 and held.shape[1:] == points.shape[1:]
        held = frozen((stack(held, points) if same else points)[:_LOOKED_AT])
        n = held.shape[0]
        fine = before.bit_length() == n.bit_length() or self.admit_points(held)
        if fine and n < _LOOKED_AT:
            self._looked_at = held
        else:
            del self._looked_at

    def _mind_the_step(self, power: float) -> None:
        """Warn of steps that go on to overshoot: f(x) moves by η V' k(x,x), and V' by V'' times that."""
        step, curvature = self.rule_.step, self.rule_.loss.curvature
        if curvature is None or step.rate != loops.TOLD or isinstance(step, RecursiveStep):
            return
        late = float(step.checked_sizes(np.array([_LATE]), self.rule_.lam)[0])
        if late * curvature * power >= 2:
            warnings.warn(
                f"steps of {late:g} overshoot: with {self.rule_.loss!r} and k(x,x) up to {power:g} errors "
                f"grow with steps of {2 / (curvature * power):.3g} or more. Take "
                f"step={0.5 / (curvature * power):.2g}, or one that falls: InverseRootStep(…)",
                UserWarning,
                stacklevel=frames_inside(),
            )

    @in_turn
    def fit(self, X, y, sample_weight=None):
        """Forget everything, and go through the examples in their order, `passes` times at most.

        With `warm_start` nothing is forgotten: f, and the lengths of steps, go on from where they are.
        """
        self._rule()  # whatever is wrong is said before anything is forgotten
        self._require_passes()
        if not self.warm_start:
            self.forget()
        self._learn(X, y, None, sample_weight, int(self.passes))
        return self

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, passes: int = 0) -> np.ndarray:
        """Learn; the scores each example (of weight above 0) had just before. `passes`: of a `fit`."""
        first = not self.begun
        rule = self._rule() if first else self.rule_
        points = self._points(X, reset=first)
        y = self._check_targets(self.require_y(y))
        check_consistent_length(points, y)
        weight = np.ascontiguousarray(nonnegative_weights(on_host(sample_weight), points))
        # Weight 0 means absent: such examples say nothing of classes, widths or centres either.
        used = np.flatnonzero(weight)
        if len(used) < len(weight):
            points, y, weight = points[used], y[used], weight[used]
        if first:
            self.forget()
            self.rule_: UpdateRule = rule
        try:
            targets = self._code_targets(y, classes)
            if first:
                self.rule_ = replace(rule, loss=self.coding_.loss)  # as it was found to be
                self._start(points, X, targets, weight)
            else:
                self._look_at(points)
            if passes:
                return self._go_through(points, y, targets, weight, passes)
            scores = self.learner_.learn(points, targets, weight)
            self._follow(scores, targets, weight)
        except BaseException:
            if first:
                self.forget()  # so that another step or kernel can be tried
            raise
        return scores

    def _follow(self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> None:
        """Keep count of what was lost on the way."""
        with np.errstate(over="ignore"):
            value = self.rule_.loss.value(targets, scores)
        total = value if value.ndim == 1 else value.sum(axis=1)
        self.cumulative_loss_ += float(weight @ total)

    @in_turn
    def __getstate__(self):
        state = super().__getstate__()
        # Made again when needed, and only of use in the beginning.
        return {name: value for name, value in state.items() if name not in ("_one", "_looked_at")}

    holds = {"learner_": Learner, "rule_": UpdateRule, "coding_": TargetCoding, "cumulative_loss_": float}
    fitted_by = "learner_"

    def check_parameters(self) -> None:
        super().check_parameters()
        # Names of features are known before anything is learned.
        names, width = vars(self).get("_names", {}), vars(self).get("n_features_in_")
        numbered = isinstance(names, dict) and list(names.values()) == list(range(len(names)))
        require(numbered and len(names) in (0, width), "features are not numbered by their names")

    def check_state(self) -> None:
        super().check_state()
        learner, rule, coding = self.learner_, self.rule_, self.coding_
        require(learner.rule is rule, "it follows another rule")
        plain = type(coding) in (LabelCoding, TargetCoding) and coding.loss is rule.loss
        require(plain, "the coding of answers is another's")
        require(coding.n_outputs == learner.outputs, "there is not one function for each output")
        place = getattr(learner, "basis", learner)
        require(getattr(place, "kernel", self.kernel_) is self.kernel_, "it learned with another kernel")

    # -- for those who feed it, example by example: streams, figures -------------------------------

    @property
    def begun(self) -> bool:
        """Whether it has learned anything; `kernel_` and, of a classifier, `classes_` are known then."""
        return hasattr(self, "learner_")

    def forget(self) -> None:
        """Go back to the beginning. The parameters stay."""
        for name in ("learner_", "coding_", "rule_", "kernel_", "_names", "_one", "_looked_at"):
            self.__dict__.pop(name, None)
        self.cumulative_loss_ = 0.0

    @in_turn
    def predict_then_learn(self, X, y, classes=None) -> tuple[np.ndarray, np.ndarray | None]:
        """Learn examples in their order, each predicted just before it is learned.

        classes : labels to expect, as in `partial_fit` of a classifier

        Returns the predictions, and the probabilities of `classes_` (n, classes) where the loss has some.
        Labels that are new are known to all predictions of the same call: who minds cuts the examples there.
        """
        if self.averaging and self.begun:
            scores = self._one_after_another(X, y)
        else:
            scores = self._learn(X, y, classes, None)
        likely = self.rule_.loss.has_probability and hasattr(self, "classes_")
        return self.coding_.decode(scores), self.coding_.probability(scores) if likely else None

    def _one_after_another(self, X: Any, y: Any) -> np.ndarray:
        """The scores of the mean function, which predicts, and which a loop over many does not compute."""
        points, targets = self._points(X, reset=False), self._code_targets(y, None)
        scores, one = np.empty((len(y), self.learner_.outputs)), np.ones(1)
        for i in range(len(y)):
            point, target = points[i : i + 1], targets[i : i + 1]
            scores[i] = self.learner_.scores(point)
            self._follow(self.learner_.learn(point, target, one), target, one)
        return scores

    # -- what was learned --------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self.begun

    @property
    @in_turn
    def function_(self) -> Function:
        """The function that predicts, without the offset: the last one, or the mean of all if averaging."""
        check_is_fitted(self)
        coef = self.learner_.coefficients()
        return self.learner_.function(coef[:, 0] if coef.shape[1] == 1 else coef)

    @property
    @in_turn
    def intercept_(self) -> Any:
        """b: a number, or one for each output."""
        check_is_fitted(self)
        b = self.learner_.intercept
        return float(b[0]) if len(b) == 1 else b.copy()

    @property
    def plan_(self) -> Plan:
        """What f is made of, and what computes."""
        check_is_fitted(self)
        form, learner = _resolve.representation_of(self.representation) or Full(), self.learner_
        reasons = (f"steps by {self.rule_.step!r}", f"terms within {self._budget()!r}")
        engine = learner.engine or _resolve.engine_of(self.engine)
        return Plan(form, None, engine, learner.seen, learner.size, reasons=reasons)

    @property
    def n_seen_(self) -> int:
        """Examples learned from so far."""
        return self.learner_.seen if self.begun else 0

    @property
    def n_updates_(self) -> int:
        """Examples that changed f, apart from shrinking it."""
        return self.learner_.updates if self.begun else 0

    @property
    def n_terms_(self) -> int:
        """Terms of f, or its coordinates."""
        return self.learner_.size if self.begun else 0

    @property
    def loss_(self) -> Loss:
        """The loss, as it is used."""
        check_is_fitted(self)
        return self.rule_.loss

    # Scores and their coding are those of one moment.
    scored = in_turn(KernelInputs.scored)

    @in_turn
    def scores(self, X: Any) -> np.ndarray:
        """f(x) + b as the loss takes it, shape (n, outputs): what `coding_` decodes to predictions."""
        check_is_fitted(self)
        points = self._points(X, reset=False)
        return finite_scores(like(self.learner_.scores(points), points))
