"""The adversarial game: one side places points, the other labels them, the first looks for a hypothesis.

The placer claims that the class shatters the points. The adversary answers with a labelling; if the placer
finds a hypothesis that gives it, the placer wins the round, else the adversary does. The class has VC
dimension d if the placer can win every round with some d points, and never with d + 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, Literal

import numpy as np

from mercer._params import require_count
from mercer.theory.learnability.classes import Hypothesis, HypothesisClass, require_class
from mercer.theory.learnability.inputs import as_labels, show_point, signs
from mercer.theory.learnability.shattering import shatters

_MOST_POINTS = 10

Stage = Literal["place", "label", "answer", "over"]
_WAITING = {
    "place": "points must be placed first",
    "label": "the points must be labelled next",
    "answer": "the labelling must be answered next",
    "over": "the round is over",
}


class WrongMove(ValueError):
    """A move that the rules do not allow; the message says why.

    Examples
    --------
    >>> from mercer.theory.learnability import Game, Intervals, WrongMove
    >>> try:
    ...     Game(Intervals(), 2).label("+-")
    ... except WrongMove as error:
    ...     print(error)
    points must be placed first
    """


@dataclass(frozen=True, eq=False)
class Game:
    """A state of the game. Moves return the next state; nothing changes.

    n points are placed, of which H, a `HypothesisClass`, has to give every labelling.

    `points`, `labels` and `hypothesis` are what has been played in this round, None before; `met` are
    labellings of these points that were met in earlier rounds.

    Examples
    --------
    >>> from mercer.theory.learnability import Game, Intervals
    >>> game = Game(Intervals(), n=3).place([1, 2, 3])
    >>> game.stage, game.devise_labels()                       # the machine finds the evil labelling
    ('label', '+-+')
    >>> game = game.label("+-+").surrender()
    >>> game.winner, print(game.verdict)
    No hypothesis of Intervals() labels these points +-+: the adversary wins.
    ('adversary', None)
    """

    H: HypothesisClass
    n: int
    points: Any = None
    labels: str | None = None
    hypothesis: Hypothesis | None = None
    surrendered: bool = False
    met: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_class(self.H)
        if require_count(self.n, "n") > _MOST_POINTS:
            raise ValueError(f"the game is played with at most {_MOST_POINTS} points, got {self.n}")

    # -- where it stands --------------------------------------------------------------------------

    @property
    def stage(self) -> Stage:
        """What is to be done next: "place", "label", "answer", or nothing, "over"."""
        if self.points is None:
            return "place"
        if self.labels is None:
            return "label"
        return "over" if self.surrendered or self.hypothesis is not None else "answer"

    @property
    def winner(self) -> Literal["placer", "adversary"] | None:
        """Who won this round; None while it goes on."""
        if self.stage != "over":
            return None
        return "placer" if self.hypothesis is not None else "adversary"

    @property
    def shattered(self) -> bool:
        """Has every labelling of the points been met?"""
        met = {*self.met, self.labels} if self.winner == "placer" else set(self.met)
        return len(met) == 2**self.n

    @property
    def verdict(self) -> str:
        """How the round ended, in words; empty while it goes on."""
        if self.winner == "placer":
            more = f" All {2**self.n} labellings are met: the points are shattered." if self.shattered else ""
            return f"{self.hypothesis} labels the points {self.labels}: the placer wins.{more}"
        if self.winner == "adversary":
            missed = self.devise_hypothesis()
            if missed is None:
                return f"No hypothesis of {self.H!r} labels these points {self.labels}: the adversary wins."
            return f"The adversary wins, though {missed} would have labelled the points {self.labels}."
        return ""

    def to_dict(self) -> dict[str, Any]:
        """The state in plain values, for a page or a file."""
        points = None if self.points is None else np.asarray(self.points).tolist()
        return {
            "class": repr(self.H),
            "n": self.n,
            "stage": self.stage,
            "points": points,
            "labels": self.labels,
            "hypothesis": None if self.hypothesis is None else str(self.hypothesis),
            "met": list(self.met),
            "winner": self.winner,
            "verdict": self.verdict,
        }

    # -- moves ------------------------------------------------------------------------------------

    def place(self, points: Any) -> Game:
        """The placer puts down n points."""
        with self._move("place"):
            X = self.H.points(points)
        if len(X) != self.n:
            raise WrongMove(f"place {self.n} points, not {len(X)}")
        return replace(self, points=X)

    def label(self, labels: Any) -> Game:
        """The adversary labels them."""
        with self._move("label"):
            given = signs(as_labels(labels, self.n))
        if given in self.met:
            raise WrongMove(f"{given} has been met already: choose another labelling")
        return replace(self, labels=given)

    def answer(self, hypothesis: Hypothesis | list[float]) -> Game:
        """The placer names a hypothesis, or the numbers that stand for one."""
        with self._move("answer"):
            if isinstance(hypothesis, list | tuple):
                if not all(map(math.isfinite, hypothesis)):
                    raise ValueError("a hypothesis is made of finite numbers")
                hypothesis = self.H.from_numbers(list(hypothesis))
        given = signs(np.asarray(hypothesis(self.points)))
        if given != self.labels:
            wrong = next(i for i in range(self.n) if given[i] != self.labels[i])  # type: ignore[index]
            raise WrongMove(
                f"{hypothesis} labels the points {given}, not {self.labels}: "
                f"look at point {wrong + 1}, {show_point(self.points[wrong])}"
            )
        return replace(self, hypothesis=hypothesis)

    def surrender(self) -> Game:
        """The placer gives up this labelling."""
        with self._move("answer"):
            return replace(self, surrendered=True)

    def again(self) -> Game:
        """After a win of the placer: the same points, another labelling."""
        if self.winner != "placer":
            raise WrongMove("another round needs a placer who won this one")
        if self.shattered:
            raise WrongMove("every labelling of these points has been met")
        assert self.labels is not None
        return replace(self, labels=None, hypothesis=None, met=(*self.met, self.labels))

    @contextmanager
    def _move(self, stage: Stage) -> Iterator[None]:
        """A move that belongs to this stage; what is wrong with it is a wrong move."""
        if self.stage != stage:
            raise WrongMove(_WAITING[self.stage])
        try:
            yield
        except (TypeError, ValueError) as error:
            raise WrongMove(str(error)) from None

    # -- the machine's moves ----------------------------------------------------------------------

    def devise_points(self, random_state: Any = None) -> Any:
        """Points that the class shatters, if a search finds some; else any."""
        sets = list(islice(self.H.candidates(self.n, np.random.default_rng(random_state)), 10))
        if not sets:
            raise ValueError(f"{self.H!r} has no {self.n} points")
        return next((points for points in sets if shatters(self.H, points)), sets[0])

    def devise_labels(self, random_state: Any = None) -> str:
        """A labelling that defeats the class, if there is one; else one that has not been met."""
        if self.points is None:
            raise WrongMove("points must be placed first")
        answer = shatters(self.H, self.points)
        if answer.defeat is not None:
            return answer.defeat
        left = [s for s in map(signs, product((False, True), repeat=self.n)) if s not in self.met]
        return left[int(np.random.default_rng(random_state).integers(len(left)))]

    def devise_hypothesis(self) -> Hypothesis | None:
        """A hypothesis that gives the labelling, or None."""
        if self.labels is None:
            raise WrongMove("there is no labelling yet")
        return self.H.find(self.points, as_labels(self.labels, self.n))
