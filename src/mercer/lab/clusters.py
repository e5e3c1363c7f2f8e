"""/api/clusters and /api/cells: k-means, in the plane or in feature space, and Lloyd's algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import KernelKMeans
from mercer._http.refusal import plain
from mercer.kernels import Linear
from mercer.lab.fields import LIMITS, Fields, drawn
from mercer.lab.kernels import admitted, kernel_of
from mercer.lab.seen import PageView
from mercer.voronoi import hexagon_bound, lloyd

# Iterations of k-means that are shown; on a plane few starts need as many.
_MOST = 60
_STARTS = 50
_PIXELS = 64


def clusters(fields: Fields) -> dict[str, Any]:
    """The answer to a request of /api/clusters: every iteration, from the start to the end."""
    fields.only("X", "k", "kernel", "init", "starts", "normalized", "seed", "window", "resolution")
    X, view = fields.points(2), PageView(fields)
    k = fields.count("k", 1, min(LIMITS["clusters"], len(X)))
    init = fields.word("init", ("k-means++", "random"), "k-means++")
    asked = fields.get("kernel")
    kernel = Linear() if asked is None else admitted(kernel_of(asked), X)
    starts = fields.count("starts", 1, _STARTS, 1)
    cut = fields.flag("normalized") and asked is not None
    seed = fields.count("seed", 0, 2**31 - 1, 0)

    def run(start: Any, tries: int, iterations: int) -> KernelKMeans:
        options: dict[str, Any] = {"n_init": tries, "max_iter": iterations, "tol": 0.0, "random_state": seed}
        try:
            return KernelKMeans(kernel, k, init=start, normalized=cut, **options).fit(X)
        except ValueError:
            if not cut:
                raise
            problem = (
                "the normalised cut takes the values of the kernel for weights, which must not be negative"
            )
            raise fields.wrong("kernel", f"{problem}: take a Gaussian, for example") from None

    def after(start: Any) -> KernelKMeans:
        """One iteration: the means of some labels, and which of them is nearest to each point."""
        return run(start, 1, 0)

    # The library keeps energies of a run, not its labels, so each iteration is asked for by itself. Of
    # several starts the one that ends lowest is shown, from the labels that it began with.
    now, plane = after(init if starts == 1 else run(init, starts, _MOST).start_), view.plane
    frames, converged = [_frame(now, plane)], False
    while not converged and len(frames) < _MOST:
        following = after(now.labels_)
        converged = np.array_equal(following.labels_, now.labels_)
        now = following
        frames.append(_frame(now, plane))
    return {"iterations": frames, "converged": converged}


def _frame(machine: KernelKMeans, plane: np.ndarray) -> dict[str, Any]:
    centres = getattr(machine, "centroids_", None)  # means in the plane, which other kernels have not
    if centres is not None:
        centres = np.where(machine.masses_[:, None] > 0, centres, np.nan)
    return {
        "labels": machine.labels_.tolist(),
        "energy": float(machine.inertia_),
        "cut": plain(getattr(machine, "normalized_cut_", None)),  # of the graph, where that is minimised
        "centres": plain(centres),
        "cells": machine.predict(plane).tolist(),
    }


def _corner(x: np.ndarray) -> np.ndarray:
    return np.exp(-4 * np.hypot(x[:, 0], x[:, 1]))


def _two(x: np.ndarray) -> np.ndarray:
    humps = np.array([[0.3, 0.35], [0.7, 0.65]])
    return np.exp(-((x[:, None] - humps) ** 2).sum(axis=2) / 0.02).sum(axis=1) + 0.02


def _ring(x: np.ndarray) -> np.ndarray:
    return np.exp(-((np.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5) - 0.32) ** 2) / 0.005) + 0.02


def _slope(x: np.ndarray) -> np.ndarray:
    return x[:, 0] + 0.02


DENSITIES: dict[str, tuple[str, Any]] = {
    "uniform": ("uniform", None),
    "corner": ("a corner", _corner),
    "two": ("two humps", _two),
    "ring": ("a ring", _ring),
    "slope": ("a slope", _slope),
}


def cells(fields: Fields) -> dict[str, Any]:
    """The answer to a request of /api/cells: the centres and their Voronoi cells, iteration by iteration."""
    fields.only("density", "k", "iterations", "seed", "power")
    kind = fields.inner("density", {"kind": "uniform"}).only("kind").word("kind", tuple(DENSITIES))
    k = fields.count("k", 1, LIMITS["centres"])
    iterations = fields.count("iterations", 0, LIMITS["iterations"], 20)
    rho, power = DENSITIES[kind][1], fields.number("power", 0.0, 4.0, 1.0)
    density = None if rho is None else lambda x: rho(x) ** power
    found = lloyd(
        density,
        k,
        max_iter=iterations,
        tol=1e-9,
        random_state=fields.count("seed", 0, 2**31 - 1, 0),
        resolution=_PIXELS,
    )
    frames, last = [], None
    for i, centres in enumerate(found.frames):
        last = found.cells(i)
        rings = [np.round(ring, 6).tolist() for ring in last]
        frames.append({"centres": plain(centres), "cells": rings, "energy": float(found.energies[i])})
    image = np.broadcast_to(found.density[::-1], (_PIXELS, _PIXELS))
    assert last is not None
    return {
        "density": {"n": _PIXELS, "values": drawn(image.ravel())},
        "iterations": frames,
        "converged": bool(found.converged),
        "hexagons": plain(last.hexagons),
        "bound": float(hexagon_bound(k)) if rho is None else None,
    }
