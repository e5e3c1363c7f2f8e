"""Which parameters of a process may move, by the names that users give them, and how far."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import Constant, LengthScales, Mahalanobis, OnColumns, Power, Product, PullBack, Scale
from mercer.kernels.base import Kernel
from mercer.kernels.declared import Declared
from mercer.posterior import Observations
from mercer.posterior.likelihood import Named, labels_of
from mercer.selection.priors import Belief

# Logarithms: how far parameters may leave their starting point, and the noise relative to k(x,x).
_AWAY, _RESTART = 8.0, 2.0
_LEAST_NOISE = 1e-8
# And where it begins when a search begins again: from a ten-thousandth of it to all of it.
_NOISES = math.log(1e-4), 0.0


def profiled(scale: Any) -> bool:
    """Is s at its best for every θ?

    >>> profiled("likelihood"), profiled(1.0)
    (True, False)
    """
    return isinstance(scale, str) and scale == "likelihood"


@dataclass(frozen=True, eq=False)
class Movable:
    """What may move, how far, and what is known of it beforehand: all by number of the parameter.

    Attributes
    ----------
    labels : names of all parameters, "noise" last
    free : which of them move
    box : (number of parameters, 2) bounds of the logarithms
    beliefs : priors
    redundant : names of factors of the whole kernel that don't move since s says the same
    size : log k(x,x), by which the noise goes
    """

    labels: tuple[str, ...]
    free: np.ndarray
    box: np.ndarray
    beliefs: dict[int, Belief]
    redundant: tuple[str, ...]
    size: float

    @classmethod
    def of(
        cls,
        seen: Observations,
        scale: Any,
        fixed: Iterable[str],
        priors: dict[str, Belief],
        bounds: dict[str, tuple[float, float]],
    ) -> Movable:
        labels = (*labels_of(seen.names), "noise")
        overall = set() if not profiled(scale) or seen.kernel is None else _factors(seen.kernel)
        redundant = tuple(label for label in labels if label in overall)
        said = [] if seen.kernel is None else declared(seen.kernel, seen.names)
        free = np.array([label not in overall for label in labels])
        free[[i for i, value in enumerate(said) if value is not None and not value.moves]] = False
        for name in (fixed,) if isinstance(fixed, str) else tuple(fixed):
            free[_matching(name, labels, "fixed")] = False
        if not free.any():
            raise ValueError("all parameters are fixed: there is nothing to move")
        for what, names in (("priors", priors), ("bounds", bounds)):
            for name in names:
                _refuse_redundant(name, labels, redundant, what)
        size = math.log(_mean_square(seen))
        beliefs = {i: value.prior for i, value in enumerate(said) if value is not None and value.prior}
        beliefs |= _beliefs(labels, priors)
        box = _box(seen, size, labels, bounds, said)
        return cls(labels, free, box, {i: b for i, b in beliefs.items() if free[i]}, redundant, size)

    @property
    def limits(self) -> list[tuple[float, float]]:
        """Bounds of what is free."""
        return [(float(low), float(high)) for low, high in self.box[self.free]]

    def at_bounds(self, theta: np.ndarray) -> tuple[str, ...]:
        """Names of what is free and at a bound."""
        at = self.free & ((theta <= self.box[:, 0]) | (theta >= self.box[:, 1]))
        return tuple(label for label, there in zip(self.labels, at) if there)

    def starts(self, first: np.ndarray, restarts: int, rng: np.random.Generator) -> list[np.ndarray]:
        """The first, and others."""
        starts = [first]
        for _ in range(restarts):
            theta = first + rng.uniform(-_RESTART, _RESTART, len(first))
            theta[-1] = self.size + rng.uniform(*_NOISES)
            for i, belief in self.beliefs.items():
                theta[i] = belief.draw(rng)
            starts.append(np.clip(theta, *self.box.T))
        return starts


def declared(kernel: Kernel, names: list[Named]) -> list[Declared | None]:
    """What was said of each of these values in the kernel itself.

    >>> from mercer.kernels import Gaussian, bounded, fixed
    >>> declared(2.0 * Gaussian(1.0).scaled([fixed(1.0), bounded(2.0, 1.0, 3.0)]), [("kernel__lengths", 2)])
    [fixed(1.0), bounded(2.0, 1.0, 3.0)]
    """
    given = kernel.get_params()
    values = [v for name, _ in names for v in (given[name] if name.endswith("lengths") else [given[name]])]
    return [v if isinstance(v, Declared) else None for v in values]


def within(box: np.ndarray, said: list[Declared | None]) -> np.ndarray:
    """Bounds of logarithms, where a parameter has none of its own; one that is fixed has both at its value.

    >>> from mercer.kernels import fixed
    >>> within(np.array([[-1.0, 1.0], [-1.0, 1.0]]), [None, fixed(1.0)])
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    box = np.array(box)
    for i, value in enumerate(said):
        if value is not None and not value.moves:
            box[i] = math.log(value)
        elif value is not None:
            box[i, 0] = math.log(value.low) if value.low > 0 else box[i, 0]
            box[i, 1] = math.log(value.high) if value.high < math.inf else box[i, 1]
    return box


def _factors(kernel: Kernel, prefix: str = "") -> set[str]:
    """Names of what multiplies the whole kernel, and so says the same as s.

    >>> from mercer.kernels import Gaussian
    >>> sorted(_factors(2.0 * ((3.0 * Gaussian(1.0)) * (Gaussian(2.0) + 4.0))))
    ['factor', 'kernel__left__factor']
    """
    if isinstance(kernel, Constant):
        return {f"{prefix}value"}
    inner: tuple[str, ...] = ()
    if isinstance(kernel, Product):
        inner = "left", "right"
    elif isinstance(kernel, (Scale, Power, LengthScales, Mahalanobis, OnColumns, PullBack)):
        inner = ("kernel",)
    own = {f"{prefix}factor"} if isinstance(kernel, Scale) else set()
    return own.union(*(_factors(getattr(kernel, name), f"{prefix}{name}__") for name in inner))


def _refuse_redundant(name: str, labels: tuple[str, ...], redundant: tuple[str, ...], what: str) -> None:
    held = [labels[i] for i in _matching(name, labels, what) if labels[i] in redundant]
    if held:
        raise ValueError(
            f"{what}: {held[0]!r} multiplies the whole kernel, and so says the same as the scale s, which is "
            "at its best for every kernel: with scale=1.0 it is a parameter like others"
        )


def _mean_square(seen: Observations) -> float:
    """The mean of k(x,x), or of ‖φ(x)‖²."""
    norms = seen.A.row_norms()
    if seen.full:
        size = float(np.mean(seen.A.diag()))
    elif norms is not None:
        size = float(np.mean(np.square(norms, dtype=np.float64)))
    else:
        size = float(seen.A.column_squares().sum() / len(seen.y))
    if not 0 < size < math.inf:
        raise ValueError(f"k(x,x) has the mean {size:g} over the examples: such a kernel explains nothing")
    return size


def _matching(name: str, labels: tuple[str, ...], what: str) -> list[int]:
    """Numbers of the parameters meant by a name, or by the end of one; "lengths" are all lengths[0], …"""

    plain = [label.partition("[")[0] for label in labels]
    found = [i for i, label in enumerate(labels) if name in (label, plain[i])]
    if found:
        return found
    end = f"__{name}"
    found = [i for i, label in enumerate(labels) if label.endswith(end) or plain[i].endswith(end)]
    if not found:
        raise ValueError(f"{what}: there is no parameter {name!r}, only {', '.join(labels)}")
    owners = dict.fromkeys(plain[i] if plain[i].endswith(end) else labels[i] for i in found)
    if len(owners) > 1:
        raise ValueError(f"{what}: {name!r} may be {' or '.join(owners)}: say more of the name")
    return found


def _beliefs(labels: tuple[str, ...], priors: dict[str, Belief]) -> dict[int, Belief]:
    out = {}
    for name, prior in priors.items():
        if isinstance(prior, type) or not hasattr(prior, "log_density"):
            raise ValueError(
                f"priors[{name!r}] must be LogNormal(median, spread) or Gamma(shape, rate), got {prior!r}"
            )
        out.update(dict.fromkeys(_matching(name, labels, "priors"), prior))
    return out


def _box(
    seen: Observations,
    size: float,
    labels: tuple[str, ...],
    bounds: dict[str, tuple[float, float]],
    said: list[Declared | None],
) -> np.ndarray:
    """Bounds of the logarithms: as asked for, else as the kernel says, else wide ones."""
    first = seen.theta
    box = np.column_stack([first - _AWAY, first + _AWAY])
    box[-1] = size + math.log(_LEAST_NOISE), max(first[-1], size) + 1.5 * _AWAY
    box[: len(said)] = within(box[: len(said)], said)
    for name, pair in bounds.items():
        try:
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError):
            low, high = 0.0, 0.0
        if not 0 < low <= high < math.inf:
            raise ValueError(
                f"bounds[{name!r}] must be two positive numbers, the smaller first, got {pair!r}"
            )
        box[_matching(name, labels, "bounds")] = math.log(low), math.log(high)
    return box
