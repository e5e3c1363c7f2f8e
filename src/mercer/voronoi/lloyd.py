"""Lloyd's algorithm on a density: cells of the centres, centres of the cells, and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import require_count, require_nonnegative
from mercer.voronoi.cells import UNIT_SQUARE, Cells, Rectangle, cells, unit_cells
from mercer.voronoi.density import PixelDensity

# Cells with less than this share of all mass are empty: what is left in them is rounding.
_EMPTY = 1e-13
# An energy that rises by less, relative to itself, has stopped falling.
_ROUNDING = 1e-9
# Seeds are drawn from so many random points a centre, and from no fewer than the second number.
_CANDIDATES = (20, 2000)


@dataclass(frozen=True, eq=False)
class Quantization:
    """A density represented by k centres, and how Lloyd's algorithm came to them.

    Attributes
    ----------
    centres : array, shape (k, 2)
    masses : ∫ρ over each cell; shape (k,)
    energies : Σ_i ∫_{V_i} ρ(x) |x − c_i|² dx at the start and after each iteration; it never rises
    frames : the centres at the start and after each iteration; shape (n_iter + 1, k, 2)
    n_iter : int
    converged : bool
    density : that which was integrated, constant on each pixel, the first row on top; (1, 1) if uniform
    rectangle : ((left, right), (bottom, top))

    Examples
    --------
    >>> from mercer.voronoi import lloyd
    >>> found = lloyd(None, [[0.3, 0.5], [0.6, 0.5]], tol=1e-12)
    >>> found.masses.round(5).tolist(), bool(found.energies[-1] < found.energies[0])
    ([0.5, 0.5], True)
    """

    centres: np.ndarray
    masses: np.ndarray
    energies: np.ndarray
    frames: np.ndarray
    n_iter: int
    converged: bool
    density: np.ndarray
    rectangle: tuple[tuple[float, float], tuple[float, float]]

    @property
    def energy(self) -> float:
        """The last one."""
        return float(self.energies[-1])

    def cells(self, iteration: int = -1) -> Cells:
        """The Voronoi cells of the centres, at the end or after another iteration (0: the start)."""
        return cells(self.frames[iteration], self.rectangle)

    def __str__(self) -> str:
        how = "converged" if self.converged else "not converged"
        return f"{len(self.centres)} centres, energy {self.energy:.6g}: {how} after {self.n_iter} iterations"


def lloyd(
    density: Callable[[np.ndarray], Any] | Any,
    centres: Any,
    *,
    rectangle: Any = UNIT_SQUARE,
    max_iter: int = 1000,
    tol: float = 1e-6,
    random_state: Any = None,
    resolution: int = 256,
) -> Quantization:
    """k centres that represent a density on a rectangle: each in the middle of its own Voronoi cell.

    The energy E(c) = Σ_i ∫_{V_i} ρ(x) |x − c_i|² dx, V_i being the points closer to c_i than to other
    centres, is lowered by moving each centre to the centroid ∫_{V_i} ρ x dx / ∫_{V_i} ρ dx of its cell, again
    and again.

    Parameters
    ----------
    density : None, function or image
        ρ ≥ 0. None: uniform, ρ = 1. A function takes points of shape (n, 2) and returns n values. An image is
        a 2-D array, the first row at the **top** as in pictures, stretched over the rectangle; its pixels are
        values of ρ, not masses.
    centres : int or array, shape (k, 2)
        How many, or where to start. With a number, k-means++ on the density: the first ∝ ρ, each next
        one ∝ ρ · (squared distance to the nearest so far).
    rectangle : ((left, right), (bottom, top))
    max_iter : iterations at most
    tol : float
        Stop when the next move promises to lower the energy by less than this share: Σ m_i |g_i − c_i|² ≤
        tol·E, where g_i is the centroid and m_i the mass of a cell.
    random_state : int, Generator or None; for seeds, and for new places of centres with empty cells
    resolution : pixels along the longer side, for a function; ρ is replaced by its averages over them

    Notes
    -----
    Cells are exact polygons, and integrals over them are exact for ρ constant on pixels: for the uniform
    density and for images nothing is approximated. A function is first averaged over pixels, an error of
    order 1/resolution² for smooth ones, made once: iterations see one and the same density, so that the
    energy falls as theory says it must. (Quadrature within moving cells would be different in each
    iteration; fixed quadrature points that go to the nearest centre make centres stop where no point changes
    hands.)

    A centre whose cell has no mass moves to a place drawn as in k-means++; that can only lower the energy.

    Examples
    --------
    Two halves of a square, each with ∫|x − c|² = ab(a² + b²)/12 for sides a = 1 and b = 1/2:

    >>> found = lloyd(None, [[0.3, 0.5], [0.6, 0.5]], tol=1e-12)
    >>> found.centres.round(5).tolist()
    [[0.25, 0.5], [0.75, 0.5]]
    >>> round(found.energy, 6) == round(2 * 0.5 * (1 + 0.25) / 12, 6)
    True

    One centre is the centroid of the density:

    >>> lloyd(lambda x: x[:, 0], 1, random_state=0).centres.round(4).tolist()
    [[0.6667, 0.5]]
    """
    max_iter, resolution = require_count(max_iter, "max_iter", 0), require_count(resolution, "resolution")
    tol = require_nonnegative(tol, "tol")
    box = Rectangle(rectangle)
    rng = np.random.default_rng(random_state)
    # Checked before the density is looked at, which may take a while.
    if np.ndim(centres) == 0:
        k = require_count(centres, "the number of centres")
        rho = PixelDensity.of(density, box, resolution)
        start = _spread(rho, np.empty((0, 2)), k, rng)
    else:
        start = box.inward(box.points(centres))
        rho = PixelDensity.of(density, box, resolution)
    now = _Partition(rho, start)
    frames, energies = [now.centres], [now.energy]
    while not (converged := now.still(tol)) and len(energies) <= max_iter:
        following = _Partition(rho, now.moved(rng))
        rise = following.energy - now.energy
        if rise > 0:
            converged = rise <= _ROUNDING * now.energy
            break
        now = following
        frames.append(now.centres)
        energies.append(now.energy)
    arrays = {
        "centres": box.outward(now.centres),
        "masses": np.maximum(now.masses, 0) * rho.peak * box.scale**2,
        "energies": np.array(energies) * rho.peak * box.scale**4,
        "frames": box.outward(np.array(frames)),
        "density": rho.image(),
    }
    for array in arrays.values():
        array.flags.writeable = False
    return Quantization(**arrays, n_iter=len(frames) - 1, converged=converged, rectangle=box.sides)


def hexagon_bound(k: int, rectangle: Any = UNIT_SQUARE) -> float:
    """The energy below which no k points can represent the uniform density: 5/(18√3) · area²/k.

    It is what k regular hexagons of equal area would have (Fejes Tóth). They don't fill a rectangle, so the
    bound is approached as k grows, and not reached.

    Examples
    --------
    >>> round(hexagon_bound(1), 4), round(lloyd(None, 1).energy, 4)    # a hexagon; a square: 1/6
    (0.1604, 0.1667)
    """
    return 5 / (18 * 3**0.5) * Rectangle(rectangle).area ** 2 / require_count(k, "k")


class _Partition:
    """Centres, and what their cells hold."""

    def __init__(self, rho: PixelDensity, centres: np.ndarray):
        self.rho, self.centres = rho, centres
        rings = unit_cells(centres, rho.size)
        moments = rho.moments(rings)
        self.masses, first, second = moments[:, 0], moments[:, 1:3], moments[:, 3:5]
        self.energy = float(np.sum(second - 2 * centres * first + centres**2 * self.masses[:, None]))
        self.empty = self.masses <= _EMPTY * rho.mass
        # A centroid is within its cell; with hardly any mass in it, rounding might say otherwise.
        some = rings.counts > 0
        low, high = centres.copy(), centres.copy()
        low[some] = np.minimum.reduceat(rings.corners, rings.first[some])
        high[some] = np.maximum.reduceat(rings.corners, rings.first[some])
        masses = np.where(self.empty, 1.0, self.masses)[:, None]
        self.centroids = np.clip(first / masses, low, high)

    def still(self, tol: float) -> bool:
        """Is each centre where its cell's centroid is?"""
        if self.empty.any():
            return False
        promised = np.sum(self.masses[:, None] * (self.centroids - self.centres) ** 2)
        return bool(promised <= tol * self.energy)

    def moved(self, rng: np.random.Generator) -> np.ndarray:
        """The next centres: centroids, and new places for those without a cell."""
        centres = self.centroids.copy()
        if self.empty.any():
            rest = centres[~self.empty]
            centres[self.empty] = _spread(self.rho, rest, int(self.empty.sum()), rng)
        return centres


def _spread(rho: PixelDensity, centres: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """More centres by k-means++: of points drawn ∝ ρ, each ∝ its squared distance to the nearest so far."""
    candidates = rho.sample(max(_CANDIDATES[0] * (len(centres) + count), _CANDIDATES[1]), rng)
    nearest = np.full(len(candidates), np.inf)
    if len(centres):
        from scipy.spatial import cKDTree

        nearest = cKDTree(centres).query(candidates)[0] ** 2
    x, y = np.ascontiguousarray(candidates.T)
    chosen: list[int] = []
    for _ in range(count):
        index = 0
        if len(centres) or chosen:
            heights = np.cumsum(nearest)
            index = int(np.searchsorted(heights[:-1], rng.random() * heights[-1], side="right"))
        chosen.append(index)
        np.minimum(nearest, (x - x[index]) ** 2 + (y - y[index]) ** 2, out=nearest)
    return candidates[chosen]
