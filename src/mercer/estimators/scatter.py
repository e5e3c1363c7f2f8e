"""How points scatter in orthonormal coordinates of feature space: it adds up over blocks and batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import ArraySpec
from mercer.estimators.unpenalised import parts_of


@dataclass(frozen=True, eq=False)
class Moments:
    """Number, mean and scatter of points seen so far, in coordinates of their own.

    Attributes
    ----------
    count : n
    mean : (p,)
    scatter : (p, p) Σ (φ_i − mean)(φ_i − mean)ᵀ
    squares : Σ k(x_i, x_i)
    """

    count: int
    mean: np.ndarray
    scatter: np.ndarray
    squares: float

    holds = {"mean": ArraySpec("f", "p"), "scatter": ArraySpec("f", "p", "p")}

    @classmethod
    def of(cls, Phi: np.ndarray, squares: float) -> Moments:
        """Those of a few rows."""
        mean = Phi.mean(axis=0)
        centred = Phi - mean
        return cls(len(Phi), mean, centred.T @ centred, squares)

    def and_of(self, other: Moments) -> Moments:
        """Those of both together: no large numbers are subtracted from each other."""
        n = self.count + other.count
        apart = other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter += np.outer(apart, apart) * (self.count * other.count / n)
        return Moments(n, self.mean + apart * (other.count / n), scatter, self.squares + other.squares)


@dataclass(frozen=True, eq=False)
class OrthonormalCoordinates:
    """Orthonormal coordinates of the span of centres (by a whitening matrix) or of features.

    Attributes
    ----------
    zero : Function, whose coefficients are 0: it knows the centres or the feature map
    whitening : (centres, p) matrix; None for features
    """

    zero: Any
    whitening: np.ndarray | None

    def __len__(self) -> int:
        return len(self.zero.coef) if self.whitening is None else self.whitening.shape[1]

    def lift(self, coef: np.ndarray) -> Any:
        return self.zero.with_coef(coef)

    def coefficients(self, v: np.ndarray) -> np.ndarray:
        """Of the function with coordinates v."""
        return v if self.whitening is None else self.whitening @ v

    def blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """(rows, coordinates of X[rows]), a bounded number at a time."""
        whole = None if self.whitening is None else self.lift(self.whitening)
        for rows in parts_of(X.shape[0], len(self)):
            Phi = self.zero.map.transform(X[rows]) if whole is None else whole(X[rows])
            yield rows, np.asarray(Phi.toarray() if hasattr(Phi, "toarray") else Phi, dtype=np.float64)
