"""Where a minimisation is and how it came there, as a checkpoint keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.solvers.passes.descent import TRIALS
from mercer.solvers.passes.points import Point

# After so many steps without a decrease no more is to be had.
IDLE = 4
# What is known of each output where losses have kinks.
_OF_KINKS = ("mu", "reach", "trust", "best_mu")


@dataclass
class Way:
    """Where a minimisation is, the best point so far with the smoothing it had, and how it went."""

    point: Point
    mu: Any = None
    reach: Any = None
    trust: Any = None
    best: Point | None = None
    best_mu: Any = None
    gap: float = np.inf
    least: float = np.inf
    checked: float = np.inf
    start: float = 0.0
    idle: int = 0
    history: list[float] = field(default_factory=list)

    @property
    def found(self) -> Point:
        return self.point if self.best is None else self.best

    def state(self) -> dict[str, Any]:
        """What a checkpoint needs."""
        found = self.found
        return {
            **{name: getattr(self.point, name) for name in ("u", "gradient", "imbalance")},
            "numbers": [self.point.value, self.point.objective, self.point.smoothing, self.point.norm],
            "exact": self.point.exact + 0.0,
            **{name: [] if (v := getattr(self, name)) is None else v for name in _OF_KINKS},
            **{"best_u": found.u, "history": list(self.history)},
            "way": [self.gap, self.least, self.checked, self.start, self.idle, found.objective],
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Way:
        value, objective, smoothing, norm = state["numbers"].tolist()
        gap, least, checked, start, idle, found = state["way"].tolist()
        point = Point(*(state["u"], value, objective, smoothing, state["gradient"], state["imbalance"], norm))
        point = replace(point, exact=bool(state["exact"]))
        mu, reach, trust, best_mu = (state[name] if state[name].size else None for name in _OF_KINKS)
        best = None if mu is None else replace(point, u=state["best_u"], objective=found)
        history = state["history"].tolist()
        return cls(point, mu, reach, trust, best, best_mu, gap, least, checked, start, int(idle), history)

    @staticmethod
    def require(state: dict[str, Any], shape: tuple[int, int], kinks: bool) -> None:
        """Refuse a state that is not one of coordinates of this shape."""
        each = (shape[1],) if kinks else (0,)
        shapes: dict[str, Any] = dict.fromkeys(("u", "gradient", "best_u", "noted_u"), shape)
        shapes |= {"imbalance": shape[1:], "numbers": (4,), "way": (6,), "exact": (), "noted": ()}
        shapes |= dict.fromkeys(_OF_KINKS, each)
        for name, expected in shapes.items():
            array = state[name]
            fine = array.dtype == np.float64 and array.shape == expected
            finite = np.isfinite(array[3:] if name == "way" else array)  # gap and least value: not at first
            if not fine or not finite.all() or np.isnan(array).any():
                raise ValueError("its numbers are not those of this fit")
        lengths = (state["numbers"][2:], state["way"][[0, 2, 3]], *(state[name] for name in _OF_KINKS))
        if any((np.asarray(part) < 0).any() for part in (*lengths, state["imbalance"])):
            raise ValueError("it has lengths below 0")
        if any((state[name] == 0).any() for name in ("mu", "best_mu")):
            raise ValueError("its kinks are not rounded off")
        steps, passes, idle = len(state["history"]), state["passes"].item(), state["way"][4]
        # Every step is a pass at least, and so many at most; there is one before the first.
        if state["history"].ndim != 1 or not 0 <= idle <= IDLE or not steps < passes <= 1 + TRIALS * steps:
            raise ValueError("it does not say how far it was")
