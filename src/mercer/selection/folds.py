"""Cross-validation along λ, each fit starting from its neighbours."""

from __future__ import annotations

import inspect
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import _safe_split

from mercer._units import Split, alone, count, folds, units_of
from mercer.estimators.base import KernelMachine
from mercer.estimators.tensors import on_host


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
    X, y = on_host(X), np.asarray(on_host(y))
    scorer = check_scoring(machine, scoring)
    units = units_of(X, groups)
    weights = None
    if sample_weight is not None:
        weights = np.broadcast_to(np.asarray(on_host(sample_weight), dtype=np.float64), len(y))
    parts = folds_of_units(cv, units, y if is_classifier(machine) else None, weights)
    if parts is None:
        parts = list(check_cv(cv, y, classifier=is_classifier(machine)).split(np.zeros(len(y)), y, groups))
    if weights is not None:  # weight 0 means absent
        parts = [(train[weights[train] > 0], test[weights[test] > 0]) for train, test in parts]
    weighted = weights is not None and weighs(scorer)
    scores = np.empty((len(lams), len(parts)))
    iterations = np.zeros((len(lams), len(parts) + 1), dtype=int)
    machines: list[Any] = [None] * len(lams)
    last = None
    for a in np.argsort(-lams, kind="stable"):
        whole = clone(machine).set_params(lam=float(lams[a]))
        machines[a] = last = whole.fit_from(last if warm else None, X, y, weights)
        iterations[a, -1] = last.solution_.iterations
        for b, (train, test) in enumerate(parts):
            part = clone(machine).set_params(lam=float(lams[a]))
            here, labels = _safe_split(part, X, y, train)
            there, truth = _safe_split(part, X, y, test, train)
            w = None if weights is None else weights[train]
            part.fit_from(last if warm else None, here, labels, w, train)
            weigh = {"sample_weight": weights[test]} if weights is not None and weighted else {}
            scores[a, b] = scorer(part, there, truth, **weigh)
            iterations[a, b] = part.solution_.iterations
    mean = scores.mean(axis=1)
    ties = np.flatnonzero(mean == mean.max())
    return FoldPath(lams, scores, tuple(machines), int(ties[np.argmax(lams[ties])]), iterations)


def folds_of_units(
    cv: Any, units: np.ndarray, labels: np.ndarray | None, weights: np.ndarray | None = None, seed: int = 0
) -> list[Split] | None:
    """Folds of the units of positive weight, where it is only said how many.

    None if rows are units, or if cv does the splitting.
    """
    rows = np.arange(len(units)) if weights is None else np.flatnonzero(weights)
    if alone(units[rows]) or not (cv is None or isinstance(cv, numbers.Integral)):
        return None
    labels = labels[rows] if labels is not None and np.ndim(labels) == 1 else None
    wanted = min(5 if cv is None else int(cv), count(units[rows]))
    return [(rows[train], rows[test]) for train, test in folds(units[rows], wanted, labels, seed)]


def weighs(scorer: Any) -> bool:
    """Can the score be a weighted one?"""
    if hasattr(scorer, "_accept_sample_weight"):  # scikit-learn's own scorers know what they wrap
        return bool(scorer._accept_sample_weight())
    return "sample_weight" in inspect.signature(scorer).parameters
