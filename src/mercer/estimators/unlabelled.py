"""Machines without labels, for examples that live elsewhere: what they see before they begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import _resolve
from mercer._threads import cpu_count
from mercer.engines import Engine
from mercer.estimators.elsewhere import Census, engine_at, require_vectors
from mercer.estimators.plan import Plan, representation_without_loss
from mercer.estimators.tensors import on_host
from mercer.features.base import generator
from mercer.representations import Representation
from mercer.rows import Rows, Shard, lives_elsewhere

# Rows of a sample: so many, and for each coordinate and each cluster.
_SAMPLE, _EACH_COORDINATE, _EACH_CLUSTER = 20_000, 4, 20
# Shards in memory at a time, and what blocks of rows of A take for each thread, with what is freed and kept.
_SHARDS, _BLOCKS = 4, 128 << 20


@dataclass(frozen=True, eq=False)
class Survey:
    """What a look at all examples gave: a sample of them, and the coordinates they get.

    Attributes
    ----------
    rows : Rows, without targets
    sample : Shard
    weight : the sum of all weights
    representation : Representation, chosen or asked for
    why : in words
    unknowns : number of coordinates
    """

    rows: Rows
    sample: Shard
    weight: float
    representation: Representation
    why: str
    unknowns: int

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    def require(self, facing: Any) -> None:
        """Refuse a representation that can't make A of other points than those it was built from."""
        if facing is None:
            raise ValueError(
                f"{self.representation!r} needs all examples in memory: use representation='nystrom' or "
                "'features'"
            )

    def name_features(self, machine: Any) -> None:
        """Tell a machine the names of the columns it has learned from, if they have any."""
        if self.rows.names is not None:
            machine.feature_names_in_ = np.array(self.rows.names, dtype=object)

    def plan(self, engine: Engine, flops: float, stored: int, *reasons: str) -> Plan:
        """What is done and why; memory beyond that for rows and blocks is `stored`."""
        shard = max(self.rows.sizes) * self.rows.shape[1] * self.rows.dtype.itemsize
        memory = self.sample.X.nbytes + _SHARDS * shard + cpu_count() * _BLOCKS + stored
        return Plan(
            *(self.representation, None, engine_at(self.rows, engine), self.n, self.unknowns, memory, flops),
            reasons=(*reasons, *self.rows.remarks),
        )


def surveyed(
    machine: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    centres: int | None = None,
    clusters: int = 0,
    rng: np.random.Generator | None = None,
) -> Survey:
    """Look at all examples once, draw a sample, and choose coordinates: so many centres, if it is centres."""
    kernel, engine = _resolve.kernel_of(machine.kernel), _resolve.engine_of(machine.engine)
    require_vectors(kernel)
    if not lives_elsewhere(X):  # the engine will send it there
        X = machine.check_X(on_host(X), kernel, reset=True)
    rows = engine.place(X, None, sample_weight)
    asked = _resolve.representation_of(machine.representation)
    representation, why = representation_without_loss(asked, kernel, rows, engine, centres)
    unknowns = representation.size(kernel, *rows.shape)
    rows = rows.changed(unlabelled) if rows.has_y or rows.has_w else rows
    size = max(_SAMPLE, _EACH_COORDINATE * unknowns, _EACH_CLUSTER * clusters)
    census, _ = Census.drawn(rows, size, generator(machine.random_state) if rng is None else rng)
    return Survey(rows, census.sample, census.weight, representation, why, unknowns)


def unlabelled(shard: Shard) -> Shard:
    """The same examples without targets, with weights in float64."""
    return replace(shard, y=None, w=None if shard.w is None else np.asarray(shard.w, dtype=np.float64))
