"""How errors grow in gaps between the rows learned from, where no row was ever tested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._state import NOT_NEGATIVE, POSITIVE, NumberSpec, doubles, require
from mercer._threads import one_blas_thread
from mercer._units import by_size
from mercer.kernels import Kernel
from mercer.operators import Factor
from mercer.posterior.likelihood import restricted_inverse

# Rows that distances are measured from: a prediction of 10,000 rows takes about a second with so many.
MOST = 1500
# With fewer there are no eight blocks to leave out.
FEWEST = 32
_BLOCKS, _MOST_BLOCKS, _IN_A_BLOCK = 8, 64, 4
_EXPONENTS = np.linspace(1.0, 2.0, 11)
_LEVEL = 0.9
_SLACK = 0.01
_AT_ONCE = 1 << 21
# Where errors of rows that are left out with their neighbours are so many times as large, it is said.
_TELLING, _TELLING_ROWS = 1.5, 100


@dataclass(frozen=True, eq=False)
class Known:
    """Rows that a machine learns from, as points; μ = λn of least squares with its kernel."""

    points: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    units: np.ndarray  # (n,) numbers: rows with the same one are left out together
    mu: float


@dataclass(frozen=True, eq=False)
class Gaps:
    """How much wider intervals are at a point than at an ordinary row: ((μ + P(x)²)/(μ + P₀²))^(β/2).

    P(x)² = k(x,x) − k(x)ᵀA⁻¹k(x) + (1 − 1ᵀA⁻¹k(x))²/(1ᵀA⁻¹1), A = K + μI, is the squared power function: the
    variance of the machine's least squares, seen as a Gaussian process, and small near rows that were learned
    from. P₀² is that of an ordinary row, left out. Were the process true, errors would grow with β = 1. β is
    found on errors of blocks of neighbouring rows that were left out together.
    """

    kernel: Kernel
    points: np.ndarray  # (m, d) some of the rows learned from
    mu: float
    ordinary: float  # P₀²
    exponent: float  # β
    near: float  # what nine tenths of the leave-one-out errors stay below
    apart: float  # the same of a sixteenth of the rows, lying side by side, left out at a time

    holds = {
        "points": doubles(None, None),
        "mu": POSITIVE,
        "ordinary": NOT_NEGATIVE,
        "exponent": NumberSpec(float, _EXPONENTS[0], _EXPONENTS[-1]),
        "near": NOT_NEGATIVE,
        "apart": NOT_NEGATIVE,
    }

    def check_state(self) -> None:
        """Refuse no points, and more than can be had at a glance."""
        require(0 < len(self.points) <= MOST, f"distances are measured from 1 to {MOST} points")

    def try_state(self) -> None:
        """Measure a distance: the kernel takes these points, and is one there."""
        require(np.isfinite(self.widening(self.points[:1])).all(), "its kernel gives no distances")

    def __getstate__(self) -> dict:
        return {name: value for name, value in vars(self).items() if name not in ("_factor", "_ones")}

    @classmethod
    def of(
        cls, kernel: Kernel, known: Known, rows: np.ndarray, errors: np.ndarray, seed: int = 0
    ) -> tuple[Gaps, np.ndarray]:
        """From the rows learned from, and errors of a machine that was tested on some of them.

        And the widening at these rows, each as if it had not been there. At most `MOST` of `known` are looked
        at, all that were tested among them.
        """
        rest = np.setdiff1d(np.arange(len(known.y)), rows)
        drawn = np.random.default_rng(seed).permutation(rest)[: max(MOST - len(rows), 0)]
        some = np.concatenate([rows, drawn])
        points, units = np.asarray(known.points[some], dtype=np.float64), known.units[some]
        held = LeftOut(kernel, points, known.y[some], known.mu)
        alone, power = held.without(units)
        tries = [held.without(labels) for labels in blocks(points / lengths(kernel, points), units)]
        tested, mu = power[: len(rows)], float(known.mu)
        typical = float(np.median(tested))
        exponent = _exponent(np.abs(errors), tested, tries, mu, typical)
        aside = tries[1][0] if len(tries) > 1 else alone
        near, apart = (float(np.quantile(np.abs(e), _LEVEL)) for e in (alone, aside))
        gaps = cls(kernel, points, mu, typical, exponent, near, apart)
        return gaps, gaps._widening(tested)

    def widening(self, points: np.ndarray) -> np.ndarray:
        """(n,) times the width at an ordinary row."""
        return self._widening(self.power(points))

    def _widening(self, power: np.ndarray) -> np.ndarray:
        return _growth(power, self.mu, self.ordinary, self.exponent)

    def power(self, points: np.ndarray) -> np.ndarray:
        """(n,) P(x)²"""
        points = np.asarray(points, dtype=np.float64)
        step = max(1, _AT_ONCE // len(self.points))
        parts = [self._power(points[i : i + step]) for i in range(0, len(points), step)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _power(self, points: np.ndarray) -> np.ndarray:
        K = np.asarray(self.kernel(points, self.points), dtype=np.float64)
        halves = self._factor.solve_lower(np.ascontiguousarray(K.T))
        rest = 1 - self._ones @ halves
        known = np.einsum("ij,ij->j", halves, halves)
        return np.maximum(self.kernel.diag(points) - known + rest**2 / (self._ones @ self._ones), 0)

    @cached_property
    def _factor(self) -> Factor:
        K = np.ascontiguousarray(self.kernel(self.points, self.points), dtype=np.float64)
        return Factor(K, self.mu)

    @cached_property
    def _ones(self) -> np.ndarray:
        """L⁻¹1"""
        return self._factor.solve_lower(np.ones(len(self.points)))

    def remarks(self) -> list[str]:
        """Where new rows that lie apart from the old ones must expect larger errors."""
        if len(self.points) < _TELLING_ROWS or not self.apart >= _TELLING * self.near > 0:
            return []
        return [
            f"rows cluster: errors are {self.apart / self.near:.1f} times as large if, instead of a row, a "
            "sixteenth of them is left out, lying side by side. Tests are of rows among the others: if new "
            "ones will lie apart (other places, days, people), say by groups= which belong together"
        ]


class LeftOut:
    """Least squares with all rows but a block, for any blocks, from one inverse.

    With A = K + μI and G = A⁻¹ − A⁻¹11ᵀA⁻¹/(1ᵀA⁻¹1), the rows b being left out, their errors are
    (G_bb)⁻¹(Gy)_b, and (G_bb)⁻¹ − μI are the covariances of f + b there, whose diagonal is P².

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X, y = np.arange(6.0)[:, None], np.sin(np.arange(6.0))
    >>> errors, power = LeftOut(Gaussian(1.0), X, y, 0.1).without(np.array([0, 0, 0, 1, 1, 1]))
    >>> bool(power[0] > power[2])                      # 2 is nearer to what is left, 3, 4 and 5
    True
    """

    def __init__(self, kernel: Kernel, points: np.ndarray, y: np.ndarray, mu: float):
        K = np.asfortranarray(kernel(points, points), dtype=np.float64)
        with one_blas_thread():  # LAPACK's threads and those of NumPy's BLAS would wait for each other
            self.G, _ = restricted_inverse(K, mu, offset=True)
        self.z = self.G @ (y - y.mean())
        self.mu = mu

    def without(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((n,) errors, (n,) P²) of each row, without the rows of its label."""
        errors, power = np.empty(len(self.z)), np.empty(len(self.z))
        for rows in by_size(labels):
            inverses = np.linalg.inv(self.G[rows[:, :, None], rows[:, None, :]])
            errors[rows] = np.einsum("kij,kj->ki", inverses, self.z[rows])
            power[rows] = np.einsum("kii->ki", inverses) - self.mu
        return errors, np.maximum(power, 0)


def lengths(kernel: Kernel, points: np.ndarray) -> np.ndarray:
    """(d,) the shortest length scale of each coordinate among the kernels of a sum; 1 where all share one."""
    values = kernel.get_params()
    found = [v for name, v in values.items() if name.split("__")[-1] == "lengths"]
    shape = (points.shape[1],)
    return np.min([np.broadcast_to(np.asarray(v, dtype=float), shape) for v in found] or [np.ones(shape)], 0)


def blocks(places: np.ndarray, units: np.ndarray) -> Iterator[np.ndarray]:
    """(n,) labels of blocks of neighbours: eight, then twice as many as before while they hold some rows.

    Every block is cut in two, at the median of the coordinate that varies most in it. Rows of one unit are
    in the block of one of them.

    >>> [labels.tolist() for labels in blocks(np.arange(32.0)[::-1, None], np.arange(32))][0][:9]
    [7, 7, 7, 7, 6, 6, 6, 6, 5]
    """
    _, first, place = np.unique(units, return_index=True, return_inverse=True)
    cut = [np.arange(len(first))]
    while len(cut[0]) // 2 >= _IN_A_BLOCK and len(cut) < _MOST_BLOCKS:
        cut = [half for rows in cut for half in _halves(places[first], rows)]
        if len(cut) >= _BLOCKS:
            labels = np.empty(len(first), dtype=np.intp)
            for number, rows in enumerate(cut):
                labels[rows] = number
            yield labels[place]


def _halves(places: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    here = places[rows]
    order = rows[np.argsort(here[:, np.var(here, axis=0).argmax()], kind="stable")]
    return order[: len(rows) // 2], order[len(rows) // 2 :]


def _growth(power: np.ndarray, mu: float, ordinary: float, exponent: float) -> np.ndarray:
    return ((mu + power) / (mu + ordinary)) ** (exponent / 2)


def _exponent(
    size: np.ndarray, power: np.ndarray, tries: list[tuple[np.ndarray, np.ndarray]], mu: float, typical: float
) -> float:
    """The least β with which nine tenths of the errors of blocks lie inside widths that hold as many others.

    `size` and `power` are of the ordinary errors, which are those of the machine itself.
    """
    if not tries:
        return float(_EXPONENTS[0])
    apart = np.abs(np.concatenate([errors for errors, _ in tries]))
    there = np.concatenate([p for _, p in tries])
    for exponent in _EXPONENTS:
        factor = np.quantile(size / _growth(power, mu, typical, exponent), _LEVEL)
        if np.mean(apart <= factor * _growth(there, mu, typical, exponent)) >= _LEVEL - _SLACK:
            break
    return float(exponent)
