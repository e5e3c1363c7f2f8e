"""What a setting of the parameters is worth: the exact leave-one-out error, or a score on held-out folds."""

from __future__ import annotations

import copy
import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier, is_clusterer
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_sample_weight, _num_samples, has_fit_parameter

from mercer._params import is_number
from mercer._resolve import representation_of
from mercer._units import Split, alone, count, folds, units_of
from mercer.estimators.answers import Judged
from mercer.estimators.base import KernelMachine
from mercer.estimators.tensors import on_host
from mercer.kernels.declared import Declared
from mercer.representations import Representation
from mercer.selection.dimensions import Choice, Dimension
from mercer.selection.path import leave_one_out_error, path_of_units
from mercer.selection.tuning import TuningTrial

# Values of λ in a trial. With unequal weights each costs a pass over the eigenvectors.
_LAMS, _LAMS_WEIGHTED = 100, 40
# What a machine may be asked to change while its leave-one-out errors stay in closed form.
_CLOSED_FORM = {"kernel", "lam", "offset", "representation", "engine", "random_state"}


@dataclass(frozen=True)
class Data:
    """The examples, an order in which subsamples take those of positive weight, and the units of rows that
    stay together."""

    X: Any
    y: Any
    weights: np.ndarray | None
    order: np.ndarray
    units: np.ndarray

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, seed: int = 0
    ) -> Data:
        """As they are given to `tune` or `fold_path`."""
        X, y = indexable(on_host(X), on_host(y))
        n, weights = _num_samples(X), on_host(sample_weight)
        if weights is not None:
            weights = _check_sample_weight(weights, np.zeros((n, 1)), dtype=np.float64)
        # Weight 0 means absent: neither fitted to, nor counted in a score, nor a reason for a range.
        seen = np.arange(n) if weights is None else np.flatnonzero(weights)
        labels = np.asarray(y) if y is not None and is_classifier(estimator) else None
        labels = labels[seen] if labels is not None and labels.ndim == 1 else None
        return cls(X, y, weights, seen[row_order(len(seen), labels, seed)], units_of(X, groups))

    @property
    def n(self) -> int:
        return _num_samples(self.X)

    def fit(self, model: Any, fit: Callable[..., Any] | None = None) -> Any:
        """The model, fitted to all of them by its own `fit` or by this one."""
        fit = model.fit if fit is None else fit
        known = () if self.y is None else (self.y,)
        weigh = {} if self.weights is None else {_fit_weight_name(model): self.weights}
        return fit(self.X, *known, **weigh)

    def rows(self, count: int) -> np.ndarray:
        """Positions of the first so many in that order, ascending."""
        return np.sort(self.order[:count])


class LeaveOneOut:
    """The exact leave-one-out mean squared error of a least squares machine, minimised over λ on the way.

    For one kernel, one eigendecomposition gives the errors for all λ, so λ takes no part in the search: `lam`
    says its values, "auto" those of `selection.path`, None the machine's own and no other.
    """

    words = "exact leave-one-out mean squared error"
    minimised = True
    # How the time of a trial grows with the rows, and up to how many it is short.
    power, few = 3, 1500

    def __init__(self, machine: KernelMachine, data: Data, lam: Dimension | str | None):
        self.machine, self.data, self.lam = machine, data, lam
        if not alone(data.units):
            self.words += ", equal rows and groups left out together"

    @staticmethod
    def applies(estimator: Any, y: Any, names: Any) -> bool:
        """Is there a closed form, whatever values these parameters take?"""
        if not isinstance(estimator, KernelMachine) or y is None:
            return False
        if not {name.partition("__")[0] for name in names} <= _CLOSED_FORM:
            return False
        representation = representation_of(estimator.representation)
        ridge = representation is None or representation.penalty == Representation.penalty
        return ridge and bool(clone(estimator).loss_for(np.asarray(y)).quadratic)

    def __call__(self, params: Mapping[str, Any], rows: int) -> TuningTrial:
        machine = configured(self.machine, params)
        some, w = self.data.rows(rows), self.data.weights
        X, y = _safe_split(machine, self.data.X, self.data.y, some)
        w, units = None if w is None else w[some], self.data.units[some]
        if self.lam is None:
            return TuningTrial(copies(params), -leave_one_out_error(machine, X, y, w, units), rows=rows)
        found = path_of_units(machine, X, y, self._lams(w), w, units)
        return TuningTrial(
            {**copies(params), "lam": found.best_lam},
            -float(found.loo_mse[found.best]),
            rows=rows,
            lams=found.lams,
            lam_scores=-found.loo_mse,
        )

    def _lams(self, weights: np.ndarray | None) -> Any:
        count = _LAMS if weights is None else _LAMS_WEIGHTED
        if not isinstance(self.lam, Dimension):
            return count
        if isinstance(self.lam, Choice):
            return self.lam.options
        return np.unique([self.lam.value(u) for u in np.linspace(0, 1, count)])


class CrossValidation:
    """The mean of a score over held-out folds, the same ones for every setting.

    `cv` and `scoring` as in scikit-learn; cv None: five shuffled folds, with the shares of classes kept.
    `groups` are for splitters; folds that are made here go by the units of the data.
    """

    minimised = False
    power, few = 2, 4000

    def __init__(self, estimator: Any, data: Data, cv: Any, scoring: Any, groups: Any, seed: int = 0):
        if isinstance(scoring, (list, tuple, set, dict)):
            raise ValueError(f"tuning needs one score to compare settings by, got {scoring!r}")
        if scoring is None and is_clusterer(estimator):
            raise ValueError(
                "a clustering has no score to be tuned by: its energy falls with every further cluster, and "
                "as the kernel grows flatter, however well the clusters fit. Give scoring=, such as "
                "'adjusted_rand_score' with y the true clusters, or a function of (machine, X)"
            )
        self.estimator, self.data = estimator, data
        self.scorer = check_scoring(estimator, scoring)
        y = None if data.y is None else np.asarray(data.y)
        splitter = check_cv(5 if cv is None else cv, y, classifier=is_classifier(estimator))
        if cv is None:
            splitter = type(splitter)(5, shuffle=True, random_state=seed)
        elif getattr(splitter, "random_state", 0) is None and getattr(splitter, "shuffle", True):
            splitter = copy.copy(splitter)  # the same seed, the same folds
            splitter.random_state = seed
        labels = y if is_classifier(estimator) else None
        together = _folds_of_units(cv, data.units, labels, data.weights, seed)
        self.folds = list(splitter.split(data.X, y, groups)) if together is None else together
        self.words = f"mean {_score_name(estimator, scoring)} over {len(self.folds)} folds"
        self._fit_weight = _fit_weight_name(estimator) if data.weights is not None else None
        self._weighs = data.weights is not None and _weighs(self.scorer)

        # Of weight 0 there is nothing to see; the order has the others only.
        self.folds = [self._among(fold, len(data.order)) for fold in self.folds]

    def _among(self, fold: Split, rows: int) -> Split:
        """The part of a fold that lies among the first so many rows."""
        used = np.zeros(self.data.n, dtype=bool)
        used[self.data.order[:rows]] = True
        train, test = (np.asarray(part) for part in fold)
        return (train, test) if used.all() else (train[used[train]], test[used[test]])

    def __call__(self, params: Mapping[str, Any], rows: int) -> TuningTrial:
        parts = [self._among(fold, rows) for fold in self.folds]
        scores = tuple(
            self.score(configured(self.estimator, params), train, test)
            for train, test in parts
            if len(train) and len(test)
        )
        return TuningTrial(copies(params), float(np.mean(scores)), scores, rows=rows)

    def score(
        self, model: Any, train: np.ndarray, test: np.ndarray, fit: Callable[..., Any] | None = None
    ) -> float:
        """The score on one part of the model fitted to the other, by its own `fit` or by this one."""
        X, y, w = self.data.X, self.data.y, self.data.weights
        here, labels = _safe_split(model, X, y, train)
        there, truth = _safe_split(model, X, y, test, train)
        fit = model.fit if fit is None else fit
        weigh = {} if w is None or self._fit_weight is None else {self._fit_weight: w[train]}
        fit(here, **weigh) if labels is None else fit(here, labels, **weigh)
        weigh = {"sample_weight": w[test]} if w is not None and self._weighs else {}
        known = () if truth is None else (truth,)
        return float(self.scorer(model, there, *known, **weigh))


Objective = LeaveOneOut | CrossValidation


def configured(estimator: Any, params: Mapping[str, Any]) -> Any:
    """A fresh estimator with these parameters; what its kernel says of some it says of new values, too."""
    model, given = clone(estimator), copies(params)
    known = model.get_params()
    for name, value in given.items():
        whole = any(name.startswith(f"{other}__") for other in given)  # another kernel altogether
        said = None if whole else known.get(name)
        if isinstance(said, Declared) and is_number(value) and said.low <= value <= said.high:
            given[name] = said.moved(float(value))
    return model.set_params(**given)


def copies(params: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, as objects of their own: scikit-learn sets nested parameters in place."""
    return {name: clone(value, safe=False) for name, value in params.items()}


def _fit_weight_name(estimator: Any) -> str:
    """What `fit` calls the weights: a pipeline hands them to its last step."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{_fit_weight_name(last)}"
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(f"{type(estimator).__name__} takes no sample_weight")
    return "sample_weight"


def _score_name(estimator: Any, scoring: Any) -> str:
    if isinstance(scoring, str):
        return scoring
    if scoring is not None:
        function = getattr(scoring, "_score_func", scoring)  # what make_scorer wraps
        return str(getattr(function, "__name__", "score"))
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    own = getattr(type(last), "score", None)
    if own is Judged.score:
        return last.measure.name
    if own is RegressorMixin.score:
        return "r2"
    return "accuracy" if own is ClassifierMixin.score else "score"


def row_order(n: int, labels: np.ndarray | None, seed: int) -> np.ndarray:
    """A random order of rows in which every beginning has about the same share of each class."""
    rng = np.random.default_rng(seed)
    if labels is None:
        return rng.permutation(n)
    place = np.empty(n)
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    for code, size in enumerate(counts):
        place[rng.permutation(np.flatnonzero(codes.ravel() == code))] = (
            np.arange(size) + rng.random()
        ) / size
    return np.argsort(place, kind="stable")


def _folds_of_units(
    cv: Any, units: np.ndarray, labels: np.ndarray | None, weights: np.ndarray | None = None, seed: int = 0
) -> list[Split] | None:
    """Folds of the units of positive weight; None if rows are units, or if cv does the splitting."""
    rows = np.arange(len(units)) if weights is None else np.flatnonzero(weights)
    if alone(units[rows]) or not (cv is None or isinstance(cv, numbers.Integral)):
        return None
    labels = labels[rows] if labels is not None and np.ndim(labels) == 1 else None
    wanted = min(5 if cv is None else int(cv), count(units[rows]))
    return [(rows[train], rows[test]) for train, test in folds(units[rows], wanted, labels, seed)]


def _weighs(scorer: Any) -> bool:
    """Can the score be a weighted one?"""
    if hasattr(scorer, "_accept_sample_weight"):  # scikit-learn's own scorers know what they wrap
        return bool(scorer._accept_sample_weight())
    return "sample_weight" in inspect.signature(scorer).parameters


# -- cross-validation along λ, each fit starting from its neighbours ---------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class FoldPath:
    """Scores of a machine on held-out folds, for many λ.

    Attributes
    ----------
    lams : (L,) values of λ
    scores : (L, folds), the larger the better
    machines : the machines fitted to all examples, one for each λ
    best : index of the largest mean score; of equal ones the largest λ
    iterations : (L, folds + 1) iterations of the solver, the last column for all examples

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> fold_path(KernelRidge(), X, y, [0.1, 0.01, 0.001], cv=2).best_lam
    0.001
    """

    lams: np.ndarray
    scores: np.ndarray
    machines: tuple[KernelMachine, ...]
    best: int
    iterations: np.ndarray

    @property
    def best_lam(self) -> float:
        """The λ with the largest mean score."""
        return float(self.lams[self.best])

    @property
    def best_machine(self) -> KernelMachine:
        """The machine with that λ, fitted to all examples."""
        return self.machines[self.best]

    def __repr__(self) -> str:
        edge = ", at the edge of the grid" if self.best in (0, len(self.lams) - 1) else ""
        mean = self.scores[self.best].mean()
        return (
            f"<{len(self.lams)} values of lam from {self.lams.min():.2g} to {self.lams.max():.2g}; largest "
            f"mean score {mean:.4g} over {self.scores.shape[1]} folds at {self.best_lam:.3g}{edge}>"
        )


def fold_path(
    machine: KernelMachine,
    X: Any,
    y: Any,
    lams: Any,
    *,
    cv: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    warm: bool = True,
) -> FoldPath:
    """Cross-validate a machine for every λ, and fit it to all examples.

    Where the solver has one coefficient per example (`Dual`), the fit to all examples starts from that of the
    next larger λ, and every fold from the fit to all examples, its own coefficients only.

    Parameters
    ----------
    machine : any machine of this library with a λ; its own lam is ignored
    X, y, sample_weight : as in ``machine.fit``
        Weights also count in the score, where it can be a weighted one.
    lams : array of values of λ
    cv : int, splitter or None, as in scikit-learn
        Where the folds are made here (an int, or None), equal rows and rows of one group share a fold.
    scoring : str, callable or None, as in scikit-learn
    groups : (n,) labels, optional
        Also handed to a splitter.
    warm : bool
        False: every fit starts from nothing. The result is the same, to the solver's tolerance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelSVC
    >>> p = fold_path(KernelSVC(), *load_iris(return_X_y=True), lams=[1e-1, 1e-2, 1e-3])
    >>> p.scores.shape, bool(p.scores[p.best].mean() > 0.9)
    ((3, 5), True)
    """
    lams = np.asarray(lams, dtype=np.float64)
    if lams.ndim != 1 or len(lams) == 0 or not (lams > 0).all() or not np.isfinite(lams).all():
        raise ValueError("lams must be a list of positive numbers")
    data = Data.of(machine, X, y, sample_weight, groups)
    judge = CrossValidation(machine, data, 5 if cv is None else cv, scoring, groups)
    scores = np.empty((len(lams), len(judge.folds)))
    iterations = np.zeros((len(lams), len(judge.folds) + 1), dtype=int)
    machines: list[Any] = [None] * len(lams)
    last = None
    for a in np.argsort(-lams, kind="stable"):
        here = configured(machine, {"lam": float(lams[a])})
        machines[a] = last = data.fit(here, _fit_from(here, last if warm else None))
        iterations[a, -1] = last.solution_.iterations
        for b, (train, test) in enumerate(judge.folds):
            part = configured(machine, {"lam": float(lams[a])})
            fit = _fit_from(part, last if warm else None, train)
            scores[a, b] = judge.score(part, train, test, fit)
            iterations[a, b] = part.solution_.iterations
    mean = scores.mean(axis=1)
    ties = np.flatnonzero(mean == mean.max())
    return FoldPath(lams, scores, tuple(machines), int(ties[np.argmax(lams[ties])]), iterations)


def _fit_from(machine: Any, other: Any, rows: np.ndarray | None = None) -> Callable[..., Any]:
    """`machine.fit`, beginning at the coefficients (of some examples) of another machine, if there is one."""
    if other is None:
        return machine.fit

    def fit(X: Any, y: Any, sample_weight: Any = None) -> Any:
        return machine.fit_from(other, X, y, sample_weight, rows)

    return fit
