"""What to try next: evenly spread points first, then where a model of the trials expects the most.

Many settings on few rows, few on many: successive halving, one trial at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import erfc
from scipy.stats import qmc

from mercer.kernels import Matern
from mercer.operators.factor import Factor, NotPositiveDefinite
from mercer.selection.dimensions import Choice, Space
from mercer.selection.tuning import TuningTrial

# Points the model is asked about: all over the cube, and around the best trials at these distances.
_ANYWHERE = 512
_NEAR = 64
_DISTANCES = (0.2, 0.05, 0.01)
_CLOSE = (0.1, 0.03, 0.01)
_BEST = 4
# The model is fitted to at most so many trials, the best ones: they say where the optimum is.
_MODELLED = 250
# Every so many-th trial goes near the best one whatever the model says.
_LOCAL_EVERY = 5
# From rung to rung there are three times as many rows, for half as many trials.
_MORE_ROWS, _FEWER_TRIALS = 3, 2
_PROMOTED = 3


def starting_trials(axes: int) -> int:
    """How many evenly spread trials come before the first model."""
    return 3 + 3 * axes


@dataclass(frozen=True, eq=False)
class Proposals:
    """What to try next in a space: a matter of the trials and the seed alone. `start` is the first point."""

    space: Space
    start: np.ndarray
    seed: int

    def step(
        self, trials: Sequence[TuningTrial], rungs: Sequence[int], affordable: Callable[[int], bool]
    ) -> tuple[np.ndarray, int] | None:
        """(point of the cube, rows) of the next trial; None if there is nothing new to try.

        Once the lowest rung has been looked over, it goes on the highest one that has less than half as many
        trials as the one below has good ones, and that can be paid for. There, every third is the best from
        below that has not been there; the others are new points near the best, because the optimum moves
        with the number of rows.
        """
        lowest = sum(t.rows == rungs[0] for t in trials)
        for last in (False, True):  # at last, when nothing is left for the lowest rung, half of one is one
            open_rungs = len(rungs) if last or lowest > starting_trials(len(self.space.axes)) else 1
            for k in range(open_rungs - 1, 0, -1):
                below = sorted((t for t in trials if t.rows == rungs[k - 1] and t.ok), key=lambda t: -t.score)
                here = [t for t in trials if t.rows == rungs[k]]
                quota = (len(below) + (1 if last else 0)) // _FEWER_TRIALS
                if len(here) >= quota or not affordable(rungs[k]):
                    continue
                points = {t.point for t in here}
                risen = next((t for t in below if t.point not in points), None)
                if risen is not None and len(here) % _PROMOTED == 0:
                    return np.array(risen.point), rungs[k]
                u = self.point(trials, rungs[k], explore=False)
                if u is None and risen is not None:
                    u = np.array(risen.point)
                if u is not None:
                    return u, rungs[k]
            if not last:
                u = self.point(trials, rungs[0])
                if u is not None:
                    return u, rungs[0]
        return None

    def point(self, trials: Sequence[TuningTrial], rows: int, explore: bool = True) -> np.ndarray | None:
        """The next point of the cube, for a trial with so many rows; None if there is no new one.

        Trials with other numbers of rows go into the model, too, which learns how much they say about this
        one. `explore`: begin with evenly spread points, and look everywhere; else near the best trials only.
        """
        d = len(self.space.axes)
        here = [t for t in trials if t.rows == rows]
        seen = {np.array(t.point).tobytes() for t in here}
        if not trials:
            return self.space.snap(self.start)
        if d == 0:
            return None
        rng = np.random.default_rng([self.seed, len(trials)])
        if explore and len(here) <= starting_trials(d):
            spread = qmc.Halton(d, seed=np.random.default_rng(self.seed)).random(len(here))
            return _first_new(self.space, np.vstack([spread[-1:], rng.random((_NEAR, d))]), seen)
        z = _by_rows(trials)
        # Those with as many rows come first: what holds for other numbers holds roughly.
        best = sorted(range(len(trials)), key=lambda i: (trials[i].rows != rows, z[i]))[:_BEST]
        best += sorted(range(len(trials)), key=lambda i: z[i])[:_BEST]
        good = [i for i in dict.fromkeys(best) if z[i] <= 0.5] or best[:1]
        centres = np.array([trials[i].point for i in good])
        candidates = _around(self.space, centres, rng, _DISTANCES if explore else _CLOSE)
        if explore:
            candidates = np.vstack([candidates, rng.random((_ANYWHERE, d))])
        if len(here) % _LOCAL_EVERY == 0:
            local = _around(self.space, centres[:1], rng, (0.05,))
            return _first_new(self.space, np.vstack([local, candidates]), seen)
        candidates = np.array([self.space.snap(u) for u in candidates])
        gain = _gain(self.space, trials, z, candidates, rows)
        return _first_new(self.space, candidates[np.argsort(-gain, kind="stable")], seen)


def rungs_of(n: int, few: int) -> tuple[int, ...]:
    """Numbers of rows, each about three times the one before: from few, or less, to all.

    >>> rungs_of(2000, 4000), rungs_of(50_000, 4000)
    ((2000,), (1851, 5555, 16666, 50000))
    """
    rungs = [n]
    while rungs[0] > few:
        rungs.insert(0, rungs[0] // _MORE_ROWS)
    return tuple(rungs)


def _by_rows(trials: Sequence[TuningTrial]) -> np.ndarray:
    """`losses` below the best with as many rows, on the scale of the number of rows that most trials have."""
    rows, scores = np.array([t.rows for t in trials]), np.array([t.score for t in trials])
    counts, sizes = np.unique(rows[np.isfinite(scores)], return_counts=True)
    scale = spread(scores[rows == counts[np.argmax(sizes)]]) if len(counts) else 1.0
    z = np.empty(len(trials))
    for count in np.unique(rows):
        z[rows == count] = losses(scores[rows == count], scale)
    return z


def spread(scores: np.ndarray) -> float:
    """How far below the best a middling score is."""
    below = np.nanmax(scores) - scores[np.isfinite(scores)]
    return float(np.median(below)) or float(below.max()) or 1.0


def losses(scores: np.ndarray, scale: float) -> np.ndarray:
    """Scores as numbers from 0 (the best) to 1 (hopeless).

    Proportional to the distance from the best score up to about `scale`; beyond, differences count less and
    less, so that a few hopeless settings do not flatten the rest. A failure is 1.
    """
    known = np.isfinite(scores)
    z = np.ones(len(scores))
    if known.any():
        below = scores[known].max() - scores[known]
        z[known] = below / (below + scale)
    return z


def _gain(
    space: Space, trials: Sequence[TuningTrial], z: np.ndarray, candidates: np.ndarray, rows: int
) -> np.ndarray:
    """Expected improvement with so many rows; where no model can be had, the order of the candidates."""
    kept = np.sort(np.argsort(z, kind="stable")[:_MODELLED])
    F, owner = space.features(np.array([trials[i].point for i in kept]))
    G, _ = space.features(candidates)
    counts = np.array([trials[i].rows for i in kept])
    if np.ptp(counts) > 0:  # the number of rows is one more axis
        F = np.column_stack([F, np.log(counts)])
        G = np.column_stack([G, np.full(len(G), np.log(rows))])
        owner = np.append(owner, owner.max() + 1)
    try:
        return Surrogate(F, owner, z[kept]).improvement(G, among=counts == rows)
    except (NotPositiveDefinite, np.linalg.LinAlgError):
        return -np.arange(len(candidates), dtype=float)


def _around(
    space: Space, centres: np.ndarray, rng: np.random.Generator, distances: Sequence[float]
) -> np.ndarray:
    """Points near some others: along one axis, or along all of them."""
    d = centres.shape[1]
    points = []
    for centre in centres:
        for distance in distances:
            steps = distance * rng.standard_normal((_NEAR, d))
            single = np.arange(_NEAR) % 2 == 0
            steps[single] *= np.eye(d)[rng.integers(d, size=int(single.sum()))]
            points.append(np.clip(centre + steps, 0, 1))
    found = np.vstack(points)
    for j, axis in enumerate(space.axes):
        if isinstance(axis.dimension, Choice) and not axis.dimension.ordered:
            # Options have no neighbours: now and then another one is taken.
            other = rng.random(len(found)) < 0.2
            found[other, j] = rng.random(int(other.sum()))
    return found


def _first_new(space: Space, candidates: np.ndarray, seen: set[bytes]) -> np.ndarray | None:
    for u in candidates:
        point = space.snap(u)
        if point.tobytes() not in seen:
            return point
    return _any_new(space, seen)


def _any_new(space: Space, seen: set[bytes]) -> np.ndarray | None:
    """Of a space with few settings, the first that was not tried."""
    if not np.isfinite(space.size) or space.size > 100_000:
        return None
    sizes = [int(axis.dimension.size) for axis in space.axes]
    for cell in np.ndindex(*sizes):
        point = space.snap((np.array(cell) + 0.5) / sizes)
        if point.tobytes() not in seen:
            return point
    return None


_LENGTHS = 0.1 * 2.0 ** np.arange(6)
_NOISES = (1e-6, 1e-4, 1e-2, 1e-1)
# Lengths around half the range are what one expects before having seen anything.
_USUAL_LENGTH, _SPREAD = 0.5, 1.0


class Surrogate:
    """z(x) ≈ a Gaussian process with a Matérn kernel, one length an axis, fitted to (F, z).

    The mean is kernel ridge regression with λn = noise. Lengths and noise are those of the largest marginal
    likelihood: first one length for all axes, from a grid, then each axis by factors of two. F are (n, p)
    features of the trials, `owner` the axis each column belongs to, z their values; small ones are wanted.
    """

    def __init__(self, F: np.ndarray, owner: np.ndarray, z: np.ndarray):
        self.F, self.owner = F, owner
        self.level = float(z.mean())
        self.z = z - self.level
        axes = int(owner.max()) + 1
        fits = (self._likelihood(np.full(axes, length), noise) for length in _LENGTHS for noise in _NOISES)
        best = max(fits, key=lambda fit: fit[0])
        for factor in (4.0, 2.0):
            for j in range(axes if axes > 1 else 0):
                for step in (factor, 1 / factor):
                    lengths = best[1].copy()
                    lengths[j] *= step
                    best = max(best, self._likelihood(lengths, best[2]), key=lambda fit: fit[0])
        _, self.lengths, self.noise = best
        self.factor = Factor(self._kernel(F, F), self.noise)
        self.coef = self.factor.solve(self.z)
        self.amplitude = max(float(self.z @ self.coef) / len(z), 1e-12)

    def _kernel(self, F: np.ndarray, G: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        scales = (self.lengths if lengths is None else lengths)[self.owner]
        return Matern(2.5, sigma=1.0)(F / scales, G / scales)

    def _likelihood(self, lengths: np.ndarray, noise: float) -> tuple[float, np.ndarray, float]:
        """log of the marginal likelihood at the best amplitude, with a prior on lengths."""
        factor = Factor(self._kernel(self.F, self.F, lengths), noise)
        n = len(self.z)
        amplitude = max(float(self.z @ factor.solve(self.z)) / n, 1e-12)
        prior = np.sum((np.log(lengths / _USUAL_LENGTH) / _SPREAD) ** 2)
        value = -0.5 * n * math.log(amplitude) - np.log(factor.L.diagonal()).sum() - 0.5 * prior
        return float(value), lengths, noise

    def predict(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of z at points with features G."""
        K = self._kernel(G, self.F)
        half = self.factor.solve_lower(K.T)
        variance = np.maximum(1 - np.einsum("ij,ij->j", half, half), 1e-12)
        return self.level + K @ self.coef, np.sqrt(self.amplitude * variance)

    def improvement(self, G: np.ndarray, among: np.ndarray) -> np.ndarray:
        """By how much points with features G are expected to fall below the smallest mean at these trials."""
        mean, spread = self.predict(G)
        best = float(self.predict(self.F[among] if among.any() else self.F)[0].min())
        t = (best - mean) / spread
        density = np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
        return spread * (t * 0.5 * erfc(-t / math.sqrt(2)) + density)
