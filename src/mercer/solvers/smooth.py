"""What all coordinate systems of smooth problems share: a point, the objective along a line, moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.solvers.certify import DOUBT, scale_of
from mercer.solvers.coordinates import Primal
from mercer.solvers.problem import Problem

INNER_ITERATIONS = 400
# Examples without curvature are left out of a Hessian if no more than this share is left.
FEW = 0.5


@dataclass
class Direction:
    """A way to move, with what a line search needs: scores along it and, output by output, the penalty's
    coefficients."""

    coef: np.ndarray
    offset: np.ndarray
    scores: np.ndarray
    cross: np.ndarray
    square: np.ndarray


class Form:
    """State of a minimisation; subclasses hold the coordinates."""

    coef: np.ndarray
    offset: np.ndarray
    scores: np.ndarray
    g: np.ndarray
    penalty: float
    norm: float
    jitter = 0.0

    # Coordinates of a problem with centres or features.
    coordinates: Primal | None = None

    def __init__(self, problem: Problem):
        # As it was given: forms may put it otherwise.
        self.problem = self.given = problem
        self.ridge = 2 * problem.lam
        self._scale = scale_of(problem) if problem.loss.convex else np.inf

    @property
    def value(self) -> float:
        return self.problem.data_value(self.scores) + self.problem.lam * self.penalty

    def near(self, tol: float) -> bool:
        """Is the objective no more than tol above its minimum, next to that of the best constant?"""
        return self.norm**2 <= 4 * self.problem.lam * 0.5 * max(tol, DOUBT) * self._scale

    def line(self, d: Direction) -> tuple[float, Callable[[float], float]]:
        """Slope at 0 and the objective as a function of the step."""
        lam = self.problem.lam
        cross, square = float(d.cross.sum()), float(d.square.sum())
        slope = float((self.g * d.scores).sum()) / self.problem.n + 2 * lam * cross

        def objective(t: float) -> float:
            quadratic = self.penalty + 2 * t * cross + t * t * square
            return self.problem.data_value(self.scores + t * d.scores) + lam * quadratic

        return slope, objective

    def slope(self, d: Direction, t: float) -> float:
        """That of the objective after the step t."""
        data = float((self.problem.data_grad(self.scores + t * d.scores) * d.scores).sum()) / self.problem.n
        return data + 2 * self.problem.lam * float((d.cross + t * d.square).sum())

    def move(self, d: Direction, t: float) -> None:
        self.advance(d, t)
        self.measure()

    def advance(self, d: Direction, t: float | np.ndarray) -> None:
        """Move without measuring; a step for all outputs, or one for each."""
        self.coef = self.coef + t * d.coef
        self.offset = self.offset + t * d.offset
        self.scores = self.scores + t * d.scores
        self.penalty = self.penalty + float((2 * t * d.cross + t * t * d.square).sum())
        self._moved(d, t)

    def shift(self, b: np.ndarray) -> None:
        """Add to the offset, without measuring."""
        self.offset = self.offset + b
        self.scores = self.scores + b

    def switch(self, loss: Any) -> None:
        """Go on, from here, with another loss."""
        self.problem = replace(self.problem, loss=loss)
        self.measure()

    def refresh(self) -> None:
        """Scores and penalty anew from the coefficients, without measuring."""
        raise NotImplementedError

    def _moved(self, d: Direction, t: float | np.ndarray) -> None:
        pass

    def start(self, coef: np.ndarray, offset: np.ndarray) -> None:
        """Begin elsewhere than at 0."""
        raise NotImplementedError

    def measure(self) -> None:
        """Gradient and its norm at the current point."""
        raise NotImplementedError

    def newton(self, tol: float) -> Direction:
        raise NotImplementedError

    def steepest(self) -> Direction:
        raise NotImplementedError

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(coefficients, offset)"""
        raise NotImplementedError

    def representer_residual(self) -> float | None:
        return None

    def alternative(self) -> Form | None:
        """Another form of the same problem, at the same point, for when no step decreases the objective."""
        return None
