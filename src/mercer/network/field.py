"""A field to watch: temperature over a plane, with a source that moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer._params import require_count, require_nonnegative
from mercer.features.base import generator


class Readings(NamedTuple):
    """What sensors read at one time: places (n, 2), temperatures (n,), and whose reading each is (n,).

    Examples
    --------
    >>> from mercer.network import MovingSource
    >>> field = MovingSource()
    >>> readings = field.readings(field.sensors(9, random_state=0), t=0.0, per_node=2, random_state=0)
    >>> X, y, nodes = readings
    >>> X.shape, y.shape, nodes[:4].tolist()
    ((18, 2), (18,), [0, 0, 1, 1])
    """

    X: np.ndarray
    y: np.ndarray
    nodes: np.ndarray


@dataclass(frozen=True)
class MovingSource:
    """Temperature over the unit square at time t: a slope, a warm spot that stays, and a source that moves.

        T(x, t) = base + 3 x₁ + 2 exp(−‖x − (0.75, 0.25)‖²/(2·0.15²)) + heat·exp(−‖x − c(t)‖²/(2 width²))

    The source goes round the middle of the square, c(t) = ½ + radius·(cos 2πt, sin 2πt): once from t = 0 to
    t = 1.

    Examples
    --------
    >>> field = MovingSource()
    >>> field.source(0.0).round(6).tolist()
    [0.8, 0.5]
    >>> bool(field([field.source(0.3)], 0.3)[0] > field([field.source(0.3)], 0.8)[0] + 4)
    True
    >>> readings = field.readings(field.sensors(25, random_state=0), t=0.0, per_node=4, random_state=0)
    >>> readings.X.shape, readings.y.shape, int(readings.nodes.max())
    ((100, 2), (100,), 24)
    """

    base: float = 15.0
    heat: float = 6.0
    width: float = 0.1
    radius: float = 0.3

    def source(self, t: float) -> np.ndarray:
        """(2,) where the source is."""
        angle = 2 * np.pi * t
        return 0.5 + self.radius * np.array([np.cos(angle), np.sin(angle)])

    def __call__(self, X: Any, t: float) -> np.ndarray:
        """(n,) temperatures at these places."""
        X = np.asarray(X, np.float64)
        still = np.exp(-np.square(X - [0.75, 0.25]).sum(axis=1) / (2 * 0.15**2))
        moving = np.exp(-np.square(X - self.source(t)).sum(axis=1) / (2 * self.width**2))
        return self.base + 3 * X[:, 0] + 2 * still + self.heat * moving

    def sensors(self, n_nodes: int, random_state: Any = None) -> np.ndarray:
        """(nodes, 2) places of sensors: a lattice, each moved a little at random."""
        n, rng = require_count(n_nodes, "n_nodes"), generator(random_state)
        side = int(np.ceil(np.sqrt(n)))
        number = np.arange(n)
        places = (np.column_stack([number % side, number // side]) + 0.5) / side
        return np.clip(places + rng.uniform(-0.25, 0.25, (n, 2)) / side, 0, 1)

    def readings(
        self,
        sensors: np.ndarray,
        t: float,
        per_node: int = 10,
        reach: float = 0.08,
        noise: float = 0.3,
        random_state: Any = None,
    ) -> Readings:
        """What each node's thermometers read at time t: they stand within `reach` of it, and are noisy."""
        rng, count = generator(random_state), require_count(per_node, "per_node")
        nodes = np.repeat(np.arange(len(sensors)), count)
        angle, far = rng.uniform(0, 2 * np.pi, len(nodes)), np.sqrt(rng.uniform(0, 1, len(nodes)))
        around = require_nonnegative(reach, "reach") * far
        X = np.clip(sensors[nodes] + around[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), 0, 1)
        y = self(X, t) + require_nonnegative(noise, "noise") * rng.standard_normal(len(nodes))
        return Readings(X, y, nodes)


@dataclass(frozen=True, eq=False)
class Followed:
    """How well a field was followed: errors by time.

    Attributes
    ----------
    times : (steps,)
    errors : machine's name → (steps,) root of the mean squared error over a grid of the square
    rounds, bytes : machine's name → (steps,) what each fit took

    Examples
    --------
    >>> from mercer import NetworkKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.network import MovingSource, follow
    >>> field = MovingSource()
    >>> machine = NetworkKernelRegressor(Gaussian(0.2), combine="average", random_state=0)
    >>> sensors = field.sensors(9, random_state=0)
    >>> found = follow({"mean": machine}, field, sensors, [0.0, 0.5], resolution=10)
    >>> found.times.tolist(), found.errors["mean"].shape
    ([0.0, 0.5], (2,))
    """

    times: np.ndarray
    errors: dict[str, np.ndarray]
    rounds: dict[str, np.ndarray]
    bytes: dict[str, np.ndarray]


def follow(
    machines: dict[str, Any],
    field: MovingSource,
    sensors: np.ndarray,
    times: Any,
    *,
    resolution: int = 30,
    random_state: Any = 0,
    **how: Any,
) -> Followed:
    """Fit every machine to the readings of each time, and compare it with the field.

    Parameters
    ----------
    machines : name → machine; those of networks are told whose readings are whose, others see all readings
    times : (steps,) numbers
    resolution : points of the grid, a side
    how : `per_node`, `reach`, `noise` of `MovingSource.readings`

    Examples
    --------
    >>> from mercer import NetworkKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> field = MovingSource()
    >>> glued = NetworkKernelRegressor(Gaussian(0.15), combine="glue", random_state=0)
    >>> found = follow({"glued": glued}, field, field.sensors(16, random_state=0), [0.0, 0.25], resolution=15)
    >>> found.errors["glued"].shape, bool(found.errors["glued"].max() < 1)
    ((2,), True)
    """
    times, rng = np.asarray(times, np.float64), generator(random_state)
    side = (np.arange(resolution) + 0.5) / resolution
    places = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
    errors: dict[str, list[float]] = {name: [] for name in machines}
    rounds: dict[str, list[int]] = {name: [] for name in machines}
    sizes: dict[str, list[int]] = {name: [] for name in machines}
    for t in times.tolist():
        readings, truth = field.readings(sensors, t, random_state=rng, **how), field(places, t)
        for name, machine in machines.items():
            own = clone(machine)
            networked = hasattr(own, "graph")
            own = own.fit(readings.X, readings.y, **({"nodes": readings.nodes} if networked else {}))
            errors[name].append(float(np.sqrt(np.mean(np.square(own.predict(places) - truth)))))
            rounds[name].append(own.n_rounds_ if networked else 0)
            sizes[name].append(own.traffic_.bytes if networked else 0)
    arrays = [{name: np.array(v) for name, v in kept.items()} for kept in (errors, rounds, sizes)]
    return Followed(times, *arrays)
