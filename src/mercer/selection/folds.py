"""Cross-validation along λ, each fit starting from its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators.base import KernelMachine
from mercer.selection.objectives import CrossValidation, Data, configured


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
