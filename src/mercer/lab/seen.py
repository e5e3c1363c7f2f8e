"""What the page draws of a function: scores on a grid of the plane, or a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.lab.fields import LIMITS, Fields, drawn

# Points of a curve.
_ALONG = 400


class PageView:
    """The part of the plane that the page shows, and how finely."""

    def __init__(self, fields: Fields):
        self.window = fields.window()
        self.resolution = fields.count("resolution", 2, LIMITS["resolution"], 64)

    @property
    def plane(self) -> np.ndarray:
        """Points of a grid, row after row, y ascending; on its edges, too."""
        x_low, x_high, y_low, y_high = self.window
        x, y = (np.linspace(a, b, self.resolution) for a, b in ((x_low, x_high), (y_low, y_high)))
        return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])

    @property
    def line(self) -> np.ndarray:
        """Points along x."""
        return np.linspace(self.window[0], self.window[1], _ALONG)

    def of(self, machine: Any, task: str) -> dict[str, Any]:
        """f + b of a machine as the page draws it."""
        if task == "curve":
            scores = np.asarray(machine.scores(self.line[:, None]), np.float64)
            return {"curve": {"x": self.line.tolist(), "f": drawn(scores[:, 0])}}
        scores = np.asarray(machine.scores(self.plane), np.float64)
        likely = machine.coding_.probability(scores) if machine.loss_.has_probability else None
        side = {"nx": self.resolution, "ny": self.resolution}
        return {
            "grid": side
            | {
                "scores": [drawn(column) for column in scores.T],
                # Of two classes the second one's, as there is one score.
                "probability": None if likely is None else _shares(np.asarray(likely), scores.shape[1]),
            }
        }


def _shares(likely: np.ndarray, outputs: int) -> list[Any]:
    """Probabilities to four decimals, which is finer than any screen."""
    return np.round(likely[:, 1:] if outputs == 1 else likely, 4).T.tolist()
