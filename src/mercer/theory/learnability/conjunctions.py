"""Conjunctions of Boolean variables, learned by elimination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import require_count, require_flag
from mercer.theory.learnability.classes import TightestFit
from mercer.theory.learnability.inputs import as_points, subscript


@dataclass(frozen=True)
class Conjunction:
    """Literals that must all be true.

    They are i for x_i and −i for ¬x_i, variables counted from 1.

    Examples
    --------
    >>> h = Conjunction((1, -3))
    >>> print(h), h([[1, 0, 0], [1, 1, 1]]).tolist()
    x₁ ∧ ¬x₃
    (None, [True, False])
    >>> print(Conjunction(()), "|", Conjunction((1, -1)))
    true | false
    """

    literals: tuple[int, ...]

    def __call__(self, X: Any) -> np.ndarray:
        X = as_boolean(X)
        wanted = np.array(self.literals, dtype=int)
        columns = np.abs(wanted) - 1
        if len(wanted) and columns.max() >= X.shape[1]:
            raise ValueError(f"{self} needs {columns.max() + 1} variables, the points have {X.shape[1]}")
        return (X[:, columns] == (wanted > 0)).all(axis=1)

    def __str__(self) -> str:
        if any(-i in self.literals for i in self.literals):
            return "false"
        names = [("" if i > 0 else "¬") + "x" + subscript(abs(i)) for i in self.literals]
        return " ∧ ".join(names) or "true"


class Conjunctions(TightestFit):
    """Conjunctions of literals x_i and ¬x_i over n Boolean variables, learned by elimination.

    Begin with the conjunction of all literals; every positive example strikes out those that are false in
    it. Negative examples change nothing. The result is true for as little as any conjunction that is true
    for all positive examples, so if it is true for a negative one, nothing is consistent: there is noise.

    Parameters
    ----------
    n : variables; None takes as many as the points have
    negations : bool
        Are there literals ¬x_i? Without them there are n literals, as in the text, and 2ⁿ conjunctions;
        with them 2n literals, and 3ⁿ + 1 conjunctions that differ (each variable plain, negated or absent;
        or false).

    Examples
    --------
    >>> X = [[1, 1, 1, 0], [1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]]
    >>> print(Conjunctions().learn(X[:3], [1, 1, 0]))
    x₁ ∧ x₃ ∧ ¬x₄
    >>> Conjunctions().learn(X, [1, 1, 0, 0])
    Traceback (most recent call last):
    ...
    mercer.theory.learnability.classes.Inconsistent: Conjunctions() can't explain example 3, ...
    >>> Conjunctions(4).size, Conjunctions(4).vc_dimension
    (82, 4)
    """

    def __init__(self, n=None, negations=True):
        self.n = n
        self.negations = negations

    def validate(self):
        if self.n is not None:
            require_count(self.n, "n")
        require_flag(self.negations, "negations")

    @property
    def vc_dimension(self):
        # One variable: true, false, x and ¬x are all there is to say about its two values.
        return 2 if self.n == 1 and self.negations else self.n

    @property
    def why(self):
        if self.n == 1 and self.negations:
            return "true, false, x₁ and ¬x₁ are all labellings of the two points 0 and 1"
        third = ", or of opposite ones and a third point makes one of them false" if self.negations else ""
        return (
            "n points with a single 0 each, all in different places, are shattered: leave out the x_i "
            "whose point shall be +. If n + 1 points were, each would have a literal that is false at it "
            "and true at all others; two of these would be of one variable: the same literal, which can't "
            f"be{third}"
        )

    @property
    def size(self):
        if self.n is None:
            return None
        return 3**self.n + 1 if self.negations else 2**self.n

    @property
    def parts_each(self):
        return 2 if self.negations else 1

    @property
    def parts(self):
        return None if self.n is None else self.parts_each * self.n

    def points(self, X):
        return as_boolean(X, self.n)

    def candidates(self, n, rng):
        if self.n is None:
            raise ValueError("say how many variables: Conjunctions(n=4)")
        if n == 2 and self.n == 1:
            yield [[0], [1]]
        if n <= self.n:
            yield (1 - np.eye(self.n, dtype=int))[:n]
        while True:
            yield rng.integers(0, 2, (n, self.n))

    def blame(self, h):
        shown = str(h) if len(h.literals) <= 12 else "every literal that all positive examples have in common"
        return (
            f"it satisfies {shown}, and a conjunction that is true for all positive examples is true for "
            "it too. Elimination has no room for noise: correct or drop examples"
        )

    def tightest(self, X):
        """What elimination leaves: the literals that are true in all these points."""
        plain = np.flatnonzero(X.all(axis=0)) + 1
        negated = np.flatnonzero(~X.any(axis=0)) + 1 if self.negations else np.empty(0, int)
        literals = sorted([*plain.tolist(), *(-negated).tolist()], key=lambda i: (abs(i), -i))
        return Conjunction(tuple(literals))

    def from_numbers(self, values):
        literals = [int(v) for v in values]
        if literals != list(values) or 0 in literals or any(self.n and abs(i) > self.n for i in literals):
            raise ValueError("give whole numbers, i for x_i and −i for ¬x_i")
        if not self.negations and min(literals, default=1) < 0:
            raise ValueError("there are no negations in this class")
        return Conjunction(tuple(literals))

    @property
    def numbers(self):
        return "i for x_i" + (", −i for ¬x_i" if self.negations else "") + "; nothing for true"


def as_boolean(X: Any, n: int | None = None) -> np.ndarray:
    """Points as booleans, one row each, from zeros and ones."""
    X = as_points(X, n)
    if not np.isin(X, (0, 1)).all():
        raise ValueError("Boolean variables must be 0 or 1")
    return X == 1
