"""Support vector machines: hinge and ε-insensitive loss, and what their users expect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._params import require_flag
from mercer._state import require_held
from mercer._xp import take
from mercer.engines import available_memory
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.estimators.classification import Classifier
from mercer.estimators.inputs import GAUSSIAN
from mercer.estimators.lam import FromC, is_auto, is_zero
from mercer.estimators.nu import HardMargin, NuHinge, NuTube, require_share
from mercer.estimators.regression import Regressor
from mercer.estimators.tensors import follows_data, on_host
from mercer.functions import KernelFunction
from mercer.losses import EpsilonInsensitive, Hinge, Loss
from mercer.losses.pairs import PairCoding

_SHARE = 0.6


class SupportVectors(KernelMachine):
    """What a machine with a sparse solution tells about it."""

    warm_start: bool
    _if_indefinite = ""  # the dual solver warns, and says what such a solution is

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the support vectors, (n_sv,) or (n_sv, outputs); |c| ≤ C."""
        c = self._dual()[self.support_]
        return c[:, 0] if c.shape[1] == 1 else c

    @property
    def support_(self) -> np.ndarray:
        """Positions of the support vectors among the examples: those with a coefficient that is not 0."""
        return np.flatnonzero(self._dual().any(axis=1))

    @property
    def n_support_(self) -> np.ndarray:
        """How many support vectors each output has."""
        return np.count_nonzero(self._dual(), axis=0)

    @property
    def support_vectors_(self) -> Any:
        """The support vectors themselves."""
        self._dual()
        if isinstance(self.function_, KernelFunction) and self._vectors is None:
            return self.function_.points
        return self._vectors

    def margin(self) -> np.ndarray | float:
        """1/‖f‖: how far from the boundary, in feature space, scores reach ±1 (for each output)."""
        check_is_fitted(self, "function_")
        if getattr(self.plan_.representation, "indefinite", None) and self.solution_.dual_coef is not None:
            # In the space of the changed kernel, where f is Σ c_i k̃(x_i, ·).
            values = np.asarray(self.function_(self.support_vectors_)).reshape(len(self.support_), -1)
            size = np.squeeze((self._dual()[self.support_] * values).sum(axis=0))
        else:
            size = self.function_ @ self.function_
        size = np.sqrt(np.maximum(np.asarray(size), 0))
        with np.errstate(divide="ignore"):
            margin = 1 / size
        return float(margin) if margin.ndim == 0 else margin

    def _dual(self) -> np.ndarray:
        c = None if not hasattr(self, "solution_") else self.solution_.dual_coef
        if c is None:
            raise AttributeError("support vectors are known after a fit with solver='dual' only")
        return c

    def _fit(self, X, y, sample_weight):
        problem = super()._fit(X, y, sample_weight)
        # Centres and features do not keep the examples.
        self._vectors = None
        repaired = getattr(self.plan_.representation, "indefinite", None) is not None
        if (repaired or not problem.full) and self.solution_.dual_coef is not None:
            points = self.check_new(X)
            self._vectors = take(points, self.support_)
        return problem


@dataclass(eq=False, repr=False)
class KernelSVC(SupportVectors, Classifier):
    """Support vector classification: minimise (1/n) Σ w_i max(0, 1 − y_i (f(x_i) + b)) + λ‖f‖².

    In the usual words, C = 1/(2λn): see `from_C`. More than two classes are told apart pair by pair and by
    vote ("ovo", as LIBSVM does; ties go to the larger sum of scores), with the same C in every pair, or one
    against the rest ("ovr"). With several columns of labels every column is learned by itself, "ovr".

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    lam : "auto", float > 0, FromC(C) or FromAlpha(alpha)
        λ. "auto" begins with C = 1 (where k(x,x) = 1; with fewer than 40 rows it stays there) and goes down
        or up as long as the loss on rows not fitted to falls; the value is `lam_`, the reason in `plan_`.
        ``FromC(C)`` is λ = 1/(2 C Σw), whatever the number of examples turns out to be. No penalty, 0 or
        C = ∞, is the hard margin: the f of least norm with y_i (f(x_i) + b) ≥ 1 for all examples. Where there
        is none, fit says so. It is that of every C from some value on, and `lam_` is the λ of that value.
    solver : "auto", "dual", "smoothing" or a Solver
    representation, engine, offset, random_state : as in `KernelRidge`
    multiclass : "ovo" or "ovr"
    class_weight, indefinite : as in `KernelClassifier`
    nu : float, 0 < ν ≤ 1, or None
        ν in place of λ: at most this share of the examples, by weight, is on the wrong side of its margin,
        and at least this share are support vectors. `lam_` is the λ that comes to (with pairs, one for each).
    probability : bool
        Learn probabilities from five-fold out-of-sample scores at fit. They never contradict `predict`.
    warm_start : bool
        Start from the last fit, if that was on as many examples: for a path of λ, C or kernel parameters.

    Attributes
    ----------
    classes_ : the labels
    support_, support_vectors_, n_support_, dual_coef_ : the support vectors, their number in each class, c
    function_, coef_, intercept_, kernel_, lam_, solution_, plan_ : as in `KernelRidge`; ``solution_.support``
        counts free and bounded coefficients, ``solution_.certificate.gap`` is the duality gap

    Examples
    --------
    >>> from mercer import KernelSVC
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], list("aabb")
    >>> machine = KernelSVC.from_C(C=1.0, kernel=Gaussian(1.0)).fit(X, y)
    >>> machine.predict([[0.4], [4.4]]).tolist()
    ['a', 'b']
    >>> print(machine.solution_.support)
    4 support vectors, 0 of them at their bound
    """

    kernel: Any = GAUSSIAN
    lam: Any = "auto"
    representation: Any = "auto"
    solver: Any = "auto"
    engine: Any = "auto"
    offset: bool = True
    multiclass: str = "ovo"
    class_weight: Any = None
    nu: float | None = None
    probability: bool = False
    warm_start: bool = False
    indefinite: str | None = None
    random_state: Any = None

    def loss_for(self, y) -> Loss:
        if self.nu is not None:
            return NuHinge()
        return HardMargin() if is_zero(self.lam) else Hinge()

    def _asked_lam(self):
        if self.nu is not None:
            require_share(self.nu)
            if not is_auto(self.lam):
                raise ValueError(
                    f"nu and lam both say how much errors cost: leave out lam={self.lam!r}, or nu"
                )
        elif not is_zero(self.lam):
            return super()._asked_lam()
        if not self.offset:
            what = f"nu={self.nu!r}" if self.nu is not None else f"lam={self.lam!r}"
            raise ValueError(f"{what} is of a margin on both sides of an offset; it needs offset=True")
        return FromC(1.0)  # which only sets the scale of what is divided by the margin in the end

    def _adapt(self, problem):
        problem = super()._adapt(problem)
        if not problem.loss.prices_kink:
            return problem
        nu = 1.0 if self.nu is None else float(self.nu)
        if self.nu is not None:
            sums = np.stack([problem.w @ (problem.y == sign) for sign in (1, -1)])
            most = float((2 * sums.min(axis=0) / sums.sum(axis=0)).min())
            if nu > most * (1 + 1e-12):
                few = " of a pair" if problem.y.shape[1] > 1 else ""
                raise ValueError(
                    f"nu={self.nu!r} is infeasible: with classes as unequal as these it is at most "
                    f"{most:.4g}, twice the share (by weight) of the smaller class{few}"
                )
        return replace(problem, kink_price=nu)

    def _encode(self, loss, y):
        if self.multiclass not in ("ovo", "ovr"):
            raise ValueError(f"multiclass must be 'ovo' or 'ovr', got {self.multiclass!r}")
        if np.ndim(y) == 2:
            if self.probability:
                raise ValueError(
                    "probability=True calibrates one label, and y has several columns: KernelLogistic has "
                    "probabilities of each"
                )
            return super()._encode(loss, y)
        k = len(np.unique(y))
        if self.multiclass == "ovo" and k > 2:
            # Targets, coefficients and a copy: one number for every example and pair.
            need = 3 * 8 * len(y) * k * (k - 1) // 2
            if need > _SHARE * available_memory():
                raise ValueError(
                    f"{k} classes make {k * (k - 1) // 2:,} pairs, whose coefficients would take "
                    f"{need / 1e9:.1f} GB; use multiclass='ovr', one machine a class"
                )
            return PairCoding.learn(loss, y)
        return super()._encode(loss, y)

    def fit(self, X, y=None, sample_weight=None, *, checkpoint=None):
        """Fit to labelled examples; parameters as in `KernelRidge.fit`."""
        require_flag(self.probability, "probability")
        if self.probability and self.learns_elsewhere(X):
            raise ValueError("probability=True needs the examples in memory; use KernelLogistic here")
        super().fit(X, y, sample_weight, checkpoint=checkpoint)
        self.__dict__.pop("calibration_", None)
        if self.learns_elsewhere(X):
            return self
        labels, sample_weight = self._check_y(on_host(y)), on_host(sample_weight)
        if labels.ndim == 2:
            if self.solution_.dual_coef is not None:
                self._counts = np.count_nonzero(self.solution_.dual_coef, axis=0)
            return self
        if self.solution_.dual_coef is not None:
            places = np.searchsorted(self.classes_, labels)[self.support_]
            self._counts = np.bincount(places, minlength=len(self.classes_))
            self._group(places)
        if self.probability:
            weights = self._example_weights(y, sample_weight)
            self.calibration_ = Calibration.learn(self, self.check_new(X), labels, sample_weight, weights)
        return self

    @property
    def n_support_(self) -> np.ndarray:
        """How many support vectors each class has; with several labels an example, each output."""
        self._dual()
        return self._counts

    def _group(self, labels: np.ndarray) -> None:
        """A support vector has a say in the pairs of its own class only: of use where pairs are many."""
        f = self.function_
        if self.indefinite in ("clip", "flip"):
            return
        if isinstance(f, KernelFunction) and isinstance(self.coding_, PairCoding) and len(f) == len(labels):
            width = f.points.shape[1] if f.kernel.vectors else np.inf
            if self.coding_.n_outputs > 2 * width:
                self.function_ = f.in_groups(labels)

    @follows_data
    def pair_decision_function(self, X):
        """Scores of every pair of classes, (n, k(k−1)/2), positive for the first: what votes are made of."""
        if not isinstance(self.coding_, PairCoding):
            raise AttributeError(
                "there are no pairs: two classes, or multiclass='ovr'; use decision_function"
            )
        return self.scores(X)

    def _has_probability(self):
        fitted = "function_" in vars(self)
        if "calibration_" in vars(self) if fitted else self.probability:
            return True
        again = "this machine was fitted without; fit it again" if self.probability else "set it, and fit"
        raise AttributeError(
            f"probabilities are calibrated at fit only if probability=True: {again}. KernelLogistic has them "
            "without"
        )

    def check_state(self) -> None:
        super().check_state()
        if "calibration_" in vars(self):
            require_held(self, {"calibration_": Calibration})
            self.calibration_.check_for(self.coding_)

    def _probability(self, scores, coding):
        return self.calibration_.probability(scores, coding)


@dataclass(eq=False, repr=False)
class KernelSVR(SupportVectors, Regressor):
    """Support vector regression: minimise (1/n) Σ w_i max(0, |y_i − f(x_i) − b| − ε) + λ‖f‖².

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    lam : "auto", float > 0, FromC(C) or FromAlpha(alpha)
        λ; C = 1/(2λn): see `from_C`. "auto" as in `KernelSVC`, beginning with C = the spread of y.
    epsilon : float ≥ 0
        The error that costs nothing, in the units of y.
    representation, solver, engine, offset, warm_start, random_state : as in `KernelSVC`
    nu : float, 0 < ν ≤ 1, or None
        ν in place of ε, which is then found: at most this share of the examples, by weight, is outside the
        tube, and at least this share are support vectors. lam="auto" goes by absolute errors then.
    indefinite : as in `KernelClassifier`

    Attributes
    ----------
    loss_ : EpsilonInsensitive, with the ε that was used
    support_, support_vectors_, dual_coef_ : the examples outside the tube or on its edge, their coefficients
    function_, coef_, intercept_, kernel_, lam_, solution_, plan_ : as in `KernelRidge`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelSVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = KernelSVR(lam=1e-3, epsilon=0.1).fit(X, np.sin(X[:, 0]))
    >>> len(machine.support_) < 25, bool(np.abs(machine.predict(X) - np.sin(X[:, 0])).max() < 0.15)
    (True, True)
    """

    kernel: Any = GAUSSIAN
    lam: Any = "auto"
    epsilon: float = 0.1
    representation: Any = "auto"
    solver: Any = "auto"
    engine: Any = "auto"
    offset: bool = True
    nu: float | None = None
    warm_start: bool = False
    indefinite: str | None = None
    random_state: Any = None

    def loss_for(self, y) -> Loss:
        return EpsilonInsensitive(self.epsilon) if self.nu is None else NuTube()

    def _encode(self, loss, y):
        if self.nu is not None:
            require_share(self.nu)
            if not self.offset:
                raise ValueError(
                    f"nu={self.nu!r} is of errors on both sides of an offset; it needs offset=True"
                )
            if y.ndim == 2 and y.shape[1] > 1:
                raise ValueError(
                    f"nu={self.nu!r} finds one ε, and y has {y.shape[1]} columns: fit a machine for each "
                    "(sklearn.multioutput.MultiOutputRegressor), or say epsilon"
                )
        return super()._encode(loss, y)

    def _adapt(self, problem):
        problem = super()._adapt(problem)
        return problem if self.nu is None else replace(problem, kink_price=float(self.nu))
