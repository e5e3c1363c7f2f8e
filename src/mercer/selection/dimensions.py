"""One parameter's values: ranges, choices and distributions, each a function of a number from 0 to 1."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import Params, same_value

# A pair of positive numbers at least so far apart is a range on a logarithmic scale.
_LOG_FROM = 10.0
# How much of each tail of an unbounded distribution is left out.
_TAIL = 1e-4


class Dimension(Params):
    """One parameter's values, as a function of u in [0, 1]."""

    # Do equal steps of u multiply the value (rather than add to it)?
    log = False
    # Are the values numbers in order?
    ordered = True
    # How many different values there are.
    size: float = math.inf

    def value(self, u: float) -> Any:
        """The value at u."""
        raise NotImplementedError

    def unit(self, value: Any) -> float | None:
        """The u of a value; None if it is not one of this dimension's."""
        raise NotImplementedError

    def snap(self, u: float) -> float:
        """The u that stands for all that give the same value."""
        return float(u)

    def features(self, u: np.ndarray) -> np.ndarray:
        """Columns in which near means similar, for a model of the objective."""
        return u[:, None]


class Real(Dimension):
    """Real numbers from low to high.

    Parameters
    ----------
    low, high : float
    log : bool
        Any order of magnitude is as likely as another, not any number; low must be positive.

    Examples
    --------
    >>> Real(0.0, 4.0).value(0.25), round(Real(0.01, 100.0, log=True).value(0.5), 12)
    (1.0, 1.0)
    """

    def __init__(self, low, high, log=False):
        self.low = low
        self.high = high
        self.log = log

    def validate(self):
        ends = (self.low, self.high)
        if not all(isinstance(x, numbers.Real) and math.isfinite(x) for x in ends) or not ends[0] < ends[1]:
            raise ValueError(f"{self!r}: a range needs two finite numbers, the smaller one first")
        if self.log and not self.low > 0:
            raise ValueError(f"{self!r}: a logarithmic range must start above 0")

    def _ends(self) -> tuple[float, float]:
        return self.low, self.high

    def _number(self, u: float) -> float:
        low, high = self._ends()
        return float(min(low * (high / low) ** u, high) if self.log else low + u * (high - low))

    def _place(self, x: float) -> float | None:
        low, high = self._ends()
        if not self.log:
            return (x - low) / (high - low)
        return math.log(x / low) / math.log(high / low) if x > 0 else None

    def value(self, u):
        return self._number(u)

    def unit(self, value):
        return _inside(value, self._place)


class Integer(Real):
    """Whole numbers from low to high, both included.

    Parameters
    ----------
    low, high, log : as in `Real`

    Examples
    --------
    >>> [Integer(1, 3).value(u) for u in (0.0, 0.5, 1.0)]
    [1, 2, 3]
    """

    def validate(self):
        super().validate()
        if not all(isinstance(x, numbers.Integral) for x in (self.low, self.high)):
            raise ValueError(f"{self!r}: both ends must be whole numbers")

    @property
    def size(self):  # type: ignore[override]
        return self.high - self.low + 1

    def _ends(self):
        # Every number owns the half unit on each side of it.
        return self.low - 0.5, self.high + 0.5

    def value(self, u):
        return int(min(max(round(self._number(u)), self.low), self.high))

    def unit(self, value):
        whole = isinstance(value, numbers.Real) and self.low <= value <= self.high and value == round(value)
        return super().unit(value) if whole else None

    def snap(self, u):
        return self.unit(self.value(u))


class Choice(Dimension):
    """One of several values: numbers, words, kernels, ….

    Numbers in ascending or descending order are taken to be related as neighbours are; anything else is not.

    >>> Choice(["l1", "l2"]).value(0.9)
    'l2'
    """

    def __init__(self, options):
        self.options = options

    def validate(self):
        if isinstance(self.options, str) or not isinstance(self.options, (Sequence, np.ndarray)):
            raise ValueError(f"Choice needs a list of values, got {self.options!r}")
        if len(self.options) == 0:
            raise ValueError("Choice needs at least one value to choose from")

    @property
    def size(self):  # type: ignore[override]
        return len(self.options)

    @property
    def ordered(self):  # type: ignore[override]
        if not all(isinstance(v, numbers.Real) and not isinstance(v, (bool, np.bool_)) for v in self.options):
            return False
        steps = np.diff(np.asarray(self.options, dtype=float))
        return bool((steps > 0).all() or (steps < 0).all())

    def index(self, u: float) -> int:
        """The position of the option at u."""
        return min(int(u * len(self.options)), len(self.options) - 1)

    def value(self, u):
        option = self.options[self.index(u)]
        return option.item() if isinstance(option, np.generic) else option

    def unit(self, value):
        for i, option in enumerate(self.options):
            if same_value(option, value):
                return (i + 0.5) / len(self.options)
        return None

    def snap(self, u):
        return (self.index(u) + 0.5) / len(self.options)

    def features(self, u):
        if self.ordered:
            return u[:, None]
        which = np.minimum((u * len(self.options)).astype(int), len(self.options) - 1)
        # Any two options are as far apart as the two ends of a range.
        return np.eye(len(self.options))[which] / math.sqrt(2)


class Distribution(Dimension):
    """A frozen distribution of scipy.stats: u is its cumulative probability."""

    def __init__(self, frozen):
        self.frozen = frozen

    def _content(self) -> tuple:
        return self.frozen.dist.name, self.frozen.args, tuple(sorted(self.frozen.kwds.items()))

    def __eq__(self, other):
        return self._content() == other._content() if type(self) is type(other) else NotImplemented

    def __hash__(self):
        return hash(self.frozen.dist.name)

    def __repr__(self):
        name, args, named = self._content()
        return f"{name}({', '.join([*map(repr, args), *(f'{k}={v!r}' for k, v in named)])})"

    @property
    def log(self):  # type: ignore[override]
        return getattr(self.frozen.dist, "name", "") in ("loguniform", "reciprocal", "lognorm")

    @property
    def _discrete(self) -> bool:
        return hasattr(self.frozen.dist, "pmf")

    @property
    def size(self):  # type: ignore[override]
        low, high = self.frozen.support()
        return high - low + 1 if self._discrete else math.inf

    def validate(self):
        if not np.isfinite(self.frozen.ppf(0.5)):
            raise ValueError("the distribution has no median: are its parameters in range?")

    def value(self, u):
        x = self.frozen.ppf(min(max(u, _TAIL), 1 - _TAIL))
        return int(x) if self._discrete else float(x)

    def unit(self, value):
        def probability(x):
            if self._discrete:  # the middle of the step
                return (self.frozen.cdf(x - 1) + self.frozen.cdf(x)) / 2 if self.frozen.pmf(x) > 0 else None
            low, high = self.frozen.support()
            return self.frozen.cdf(x) if low <= x <= high else None

        return _inside(value, probability)

    def snap(self, u):
        return self.unit(self.value(u)) if self._discrete else float(u)


def _inside(value: Any, unit: Any) -> float | None:
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        return None
    u = unit(float(value))
    # Rounding may put an end of the range a little outside.
    return None if u is None or not -1e-9 <= u <= 1 + 1e-9 else float(min(max(u, 0.0), 1.0))


def dimension_of(name: str, value: Any) -> Dimension:
    """A Dimension from what people write: see `tune`."""
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(x, numbers.Real) for x in value):
        low, high = value
        if all(isinstance(x, numbers.Integral) for x in value):
            found: Dimension = Integer(low, high)
        else:
            found = Real(low, high, log=bool(0 < low * _LOG_FROM <= high))
    elif isinstance(value, Dimension):
        found = value
    elif isinstance(value, (list, np.ndarray)):
        found = Choice(list(value))
    elif hasattr(value, "dist") and hasattr(value, "ppf"):
        found = Distribution(value)
    else:
        raise ValueError(
            f"space[{name!r}]: expected (low, high), a list of values, Real, Integer, Choice or a frozen "
            f"distribution of scipy.stats, got {value!r}; a parameter that is not to be tuned is set on the "
            "estimator instead"
        )
    try:
        found.validate()
    except ValueError as error:
        raise ValueError(f"space[{name!r}]: {error}") from None
    return found


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
