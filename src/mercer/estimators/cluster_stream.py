"""Clusters of batches: what a machine has learned as means in coordinates, one batch more, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer import _resolve
from mercer._xp import features_by
from mercer.engines import Engine
from mercer.estimators.cluster_spaces import without_empty
from mercer.estimators.inputs import checked_weights
from mercer.estimators.plan import representation_without_loss
from mercer.estimators.tensors import on_host
from mercer.features.base import generator
from mercer.functions import FeatureFunction, KernelFunction
from mercer.kernels import Finite, Precomputed
from mercer.kernels.base import Kernel
from mercer.kernels.points import double
from mercer.operators import squares_of
from mercer.representations import Full, Nystrom, Representation
from mercer.solvers.coordinates import whitening
from mercer.solvers.mini_batches import Batch, RunningMeans


def require_streamable(machine: Any, X: Any) -> None:
    """Refuse what can't be learned batch by batch in bounded memory."""
    if machine.normalized:
        raise ValueError(
            "partial_fit: normalized=True needs the degrees Σ_l k(x,x_l) of all points, which change with "
            "every batch; fit takes all points, also such as live elsewhere"
        )
    if machine.learns_elsewhere(X) and not isinstance(X, np.ndarray):
        raise ValueError("partial_fit takes a batch in memory; fit(X) learns from rows that live elsewhere")
    if isinstance(machine.asked_kernel(), (Precomputed, Finite)):
        raise ValueError("partial_fit: a matrix is of all its points at once, so fit takes it")
    require_bounded(_resolve.representation_of(machine.representation))


def require_bounded(asked: Representation | None) -> None:
    """Refuse a representation whose means grow with the points."""
    if isinstance(asked, Full):
        raise ValueError(
            "partial_fit: representation='full' keeps all points, which have no end; 'nystrom' keeps centres"
        )


def bounded_representation(
    asked: Representation | None, kernel: Kernel, points: Any, engine: Engine
) -> tuple[Representation, str]:
    """The representation for batches: coordinates of fixed size."""
    require_bounded(asked)
    found, why = representation_without_loss(asked, kernel, points, engine)
    if isinstance(found, Full):
        found = Nystrom()
        m = found.size(kernel, points.shape[0], 0)
        why = f"batches have no end: {m:,} centres of the first; Nystrom(n_centres=…) takes others"
    return found, why


class StreamCoordinates:
    """Orthonormal coordinates of points, as the means of a machine's clusters have them.

    Of features Φ(x) − shift these are the coordinates themselves; of centres K(x, Z) T with TᵀK(Z,Z)T = I.
    """

    def __init__(self, machine: Any):
        self.f, self.shift, self.kernel = machine.means_, machine._shift, machine.kernel_
        self.T: np.ndarray | None = None
        if isinstance(self.f, KernelFunction):
            K = np.asarray(self.f.engine.operator(self.kernel, double(self.f.points)).dense(), np.float64)
            # Centres in float32 make coordinates with as few digits.
            self.T = whitening(K, self.f.facing(self.f.points[:1]).dtype)
            self._inward = self.T.T @ K

    def batch(self, X: Any, weights: np.ndarray) -> Batch:
        """Points as the kernel takes them, in these coordinates."""
        if self.T is None:
            squares = np.concatenate([squares_of(self._features(X[part])) for part in _parts(X)])
            return Batch(lambda rows: self._features(X[rows]), squares, weights)
        squares = np.asarray(self.kernel.diagonal(X), np.float64)
        return Batch(lambda rows: self.f.facing(X[rows]).dense() @ self.T, squares, weights)

    def _features(self, X: Any) -> Any:
        Phi = features_by(self.f.map.transform, double(X) if self.f.double else X)
        Phi = Phi.astype(np.float64, copy=False)
        return Phi - self.shift if self.shift.any() else Phi

    def inward(self, coef: np.ndarray) -> np.ndarray:
        """Coordinates of means by their coefficients."""
        return coef - self.shift[:, None] if self.T is None else self._inward @ coef

    def outward(self, means: np.ndarray) -> np.ndarray:
        """Coefficients of means by their coordinates."""
        return means + self.shift[:, None] if self.T is None else self.T @ means


def _parts(X: Any) -> list[slice]:
    step = max((1 << 22) // max(X.shape[1], 1), 1)
    return [slice(i, i + step) for i in range(0, X.shape[0], step)]


def add_batch(machine: Any, X: Any, sample_weight: Any) -> None:
    """One more batch for a machine that has clusters."""
    X = machine.check_new(X)
    weights = checked_weights(on_host(sample_weight), X)
    if not isinstance(machine.means_, FeatureFunction):
        X = machine.kernel_.points(X)
    if isinstance(machine.plan_.representation, Full):
        _project(machine)
    space = _coordinates_of(machine)
    before = RunningMeans(space.inward(machine.means_.coef), machine.masses_)
    batch = space.batch(X, weights)
    if not np.isfinite(batch.squares).all():
        raise ValueError(f"{machine.kernel_!r} gives NaN or infinity on these points")
    after = before.after(batch, refill=machine.empty != "drop")
    filled = after.masses > 0
    if machine.empty == "drop" and not filled.all():
        machine.means_ = without_empty(machine.means_, filled)
        after = RunningMeans(after.coordinates[:, filled], after.masses[filled])
        space.f, filled = machine.means_, filled[filled]
    labels, gaps = after.nearest(batch)
    coef = np.where(filled, space.outward(after.coordinates), 0)
    space.f = machine.means_ = machine.means_.with_coef(coef)
    squares = np.square(coef if space.T is None else after.coordinates).sum(axis=0)
    machine.squared_norms_ = np.where(filled, squares, np.inf)
    machine.masses_ = after.masses
    machine.labels_, machine.inertia_ = labels, float(weights @ gaps)
    machine.energies_, machine.n_iter_ = np.array([machine.inertia_]), 0
    machine.n_batches_ = getattr(machine, "n_batches_", 0) + 1
    machine.__dict__.pop("start_", None)
    machine.show_centroids()


def _project(machine: Any) -> None:
    """Means that are made of all points of a fit become the nearest ones in the span of centres."""
    f, rng = machine.means_, generator(machine.random_state)
    built = Nystrom().build(machine.kernel_, f.points, rng, f.engine)
    m = built.A.shape[1]
    T = whitening(np.asarray(built.B.dense(), np.float64), built.A.dtype)
    machine.means_ = built.lift(T @ (T.T @ built.A.adjoint(f.coef)))
    why = f"batches after a fit: its means are projected onto {m:,} of its points"
    machine.plan_ = replace(machine.plan_, representation=Nystrom(m), unknowns=m, reasons=(why,))


def _coordinates_of(machine: Any) -> StreamCoordinates:
    """The machine's coordinates, made once."""
    space = vars(machine).get("_stream")
    if space is None or space.f is not machine.means_:
        space = machine._stream = StreamCoordinates(machine)
    return space
