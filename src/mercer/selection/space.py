"""What may be tuned: dimensions by parameter name, seen by a search as a cube."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.selection.dimensions import Choice, Dimension, dimension_of


@dataclass(frozen=True)
class Axis:
    """A dimension by its parameter's name; it may matter for one option of an earlier axis only."""

    name: str
    dimension: Dimension
    parent: int | None = None
    option: int = 0


@dataclass(frozen=True)
class Space:
    """Parameters to tune, as a cube: one coordinate in [0, 1] an axis.

    Examples
    --------
    >>> space = Space.of({"C": (0.01, 100.0), "shrinking": [True, False]})
    >>> space.params([0.5, 0.0])
    {'C': 1.0, 'shrinking': True}
    """

    axes: tuple[Axis, ...]

    @staticmethod
    def of(spec: Mapping[str, Any]) -> Space:
        """From a dictionary of parameter names; a dictionary for a value gives each option its own space."""
        axes: list[Axis] = []
        _collect(spec, "", None, 0, axes)
        return Space(tuple(axes))

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters, each once."""
        return tuple(dict.fromkeys(axis.name for axis in self.axes))

    @property
    def size(self) -> float:
        """How many different settings there are (more than there are, where axes depend on others)."""
        return math.prod(axis.dimension.size for axis in self.axes)

    def _matters(self, axis: Axis, u: Sequence[float] | np.ndarray) -> bool:
        if axis.parent is None:
            return True
        above = self.axes[axis.parent]
        assert isinstance(above.dimension, Choice)
        return above.dimension.index(u[axis.parent]) == axis.option and self._matters(above, u)

    def active(self, u: Sequence[float] | np.ndarray) -> list[bool]:
        """Which axes matter at u."""
        return [self._matters(axis, u) for axis in self.axes]

    def params(self, u: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """The parameters at u."""
        return {
            axis.name: axis.dimension.value(float(x))
            for axis, x, on in zip(self.axes, u, self.active(u), strict=True)
            if on
        }

    def unit(self, params: Mapping[str, Any]) -> np.ndarray | None:
        """The point of these parameters; None if they are not in the space."""
        u = self._point(params)
        return None if np.isnan(u).any() else u

    def near(self, params: Mapping[str, Any]) -> np.ndarray:
        """The point of these parameters, in the middle along axes on which they have no place."""
        u = self._point(params)
        return np.where(np.isnan(u), 0.5, u)

    def _point(self, params: Mapping[str, Any]) -> np.ndarray:
        u = np.full(len(self.axes), 0.5)
        for j, axis in enumerate(self.axes):
            if self._matters(axis, np.nan_to_num(u, nan=0.5)):  # parents come first
                x = axis.dimension.unit(params[axis.name]) if axis.name in params else None
                u[j] = np.nan if x is None else x
        return u

    def snap(self, u: Sequence[float] | np.ndarray) -> np.ndarray:
        """The point that stands for all with the same parameters."""
        on = self.active(u)
        return np.array([axis.dimension.snap(x) if a else 0.5 for axis, x, a in zip(self.axes, u, on)])

    def features(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns for a model of the objective, and the axis each of them belongs to."""
        blocks = [axis.dimension.features(U[:, j]) for j, axis in enumerate(self.axes)]
        owner = np.repeat(np.arange(len(blocks)), [b.shape[1] for b in blocks])
        return (np.hstack(blocks) if blocks else np.zeros((len(U), 0))), owner

    def position(self, name: str, u: Sequence[float] | np.ndarray) -> int | None:
        """Which axis of this name matters at u."""
        on = self.active(u)
        return next((j for j, axis in enumerate(self.axes) if on[j] and axis.name == name), None)


def _collect(spec: Mapping[str, Any], prefix: str, parent: int | None, option: int, axes: list[Axis]) -> None:
    if not isinstance(spec, Mapping):
        raise ValueError(f"a space is a dictionary from parameter names to values, got {spec!r}")
    for key, value in spec.items():
        name = prefix + key
        if not isinstance(value, Mapping):
            axes.append(Axis(name, dimension_of(name, value), parent, option))
            continue
        here = len(axes)
        axes.append(Axis(name, dimension_of(name, list(value)), parent, option))
        for i, inner in enumerate(value.values()):
            _collect(inner, f"{name}__", here, i, axes)
