"""Numbers that say how far they may move: parameters that are fixed, bounded, or known beforehand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._params import is_number, show

# Logarithms and back again.
_ROUNDING = 1e-12


class Declared(float):
    """A positive number, and what was said of it: may it move, between which bounds, what is known of it.

    To kernels it is the number, so that everything that takes a number takes it. `fixed`, `bounded` and
    `believed` make it.

    Parameters
    ----------
    value : float > 0
    low, high : float
        Bounds, 0 < low ≤ value ≤ high; 0 and ∞ say nothing.
    prior : LogNormal, Gamma or the like, optional
        What has `log_density` and `draw`, as in `mercer.selection`.
    moves : bool

    Examples
    --------
    >>> width = bounded(1.0, 0.1, 10.0)
    >>> width, 2 * width, width == 1.0
    (bounded(1.0, 0.1, 10.0), 2.0, True)
    """

    low: float
    high: float
    prior: Any
    moves: bool

    # What files must know of it are its parameters.
    holds: dict[str, Any] = {}

    def __new__(cls, value, low=0.0, high=math.inf, prior=None, moves=True):
        return super().__new__(cls, value)

    def __init__(self, value, low=0.0, high=math.inf, prior=None, moves=True):
        self.low, self.high, self.prior, self.moves = float(low), float(high), prior, moves
        self.check_state()

    @property
    def value(self) -> float:
        """The number, without what was said of it."""
        return float(self)

    def check_state(self) -> None:
        """Refuse bounds that leave the value out, and priors that are none."""
        if not 0 < self.value < math.inf:
            raise ValueError(f"a parameter that is {_said(self)} must be a positive number, got {self.value}")
        if not 0 <= self.low <= self.value <= self.high:
            raise ValueError(
                f"bounds must be two positive numbers, the smaller first, with the value between them; got "
                f"{self.value:g} and the bounds {self.low:g} and {self.high:g}"
            )
        if not isinstance(self.moves, (bool, np.bool_)):
            raise ValueError(f"moves must be True or False, got {self.moves!r}")
        if self.prior is not None and (
            isinstance(self.prior, type) or not hasattr(self.prior, "log_density")
        ):
            raise ValueError(
                f"a prior is LogNormal(median, spread) or Gamma(shape, rate), got {self.prior!r}"
            )

    def moved(self, value: float) -> Declared:
        """Another number of which the same was said.

        What rounding puts beyond a bound is the bound; whoever goes further has widened it.
        """
        held = min(max(value, self.low), self.high)
        value = held if math.isclose(held, value, rel_tol=_ROUNDING) else value
        return Declared(value, min(self.low, value), max(self.high, value), self.prior, self.moves)

    def __repr__(self) -> str:
        if not self.moves:
            return f"fixed({self.value!r})"
        if self.low == 0 and math.isinf(self.high):
            return f"believed({self.value!r}, {self.prior!r})"
        prior = "" if self.prior is None else f", prior={self.prior!r}"
        return f"bounded({self.value!r}, {show(self.low)}, {show(self.high)}{prior})"

    __str__ = __repr__


def _said(declared: Declared) -> str:
    return "fixed" if not declared.moves else "bounded or believed"


def fixed(value: Any) -> Any:
    """A parameter that stays as it is, whoever looks for better ones.

    Honoured by `refine`, `maximum_likelihood`, `tune` and the gradients of likelihoods; whoever sets the
    parameter by name sets it.

    Parameters
    ----------
    value : float > 0, or several (of ``kernel.scaled``): a number for each

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Periodic
    >>> Periodic(period=fixed(1.0))                        # a day is a day
    Periodic(period=fixed(1.0))
    >>> Gaussian(1.0).scaled(fixed([1.0, 5.0]))
    LengthScales(kernel=Gaussian(sigma=1.0), lengths=(fixed(1.0), fixed(5.0)))
    """
    return _each(value, lambda v: Declared(v, moves=False))


def bounded(value: Any, low: float, high: float, prior: Any = None) -> Any:
    """A parameter that stays between two bounds.

    Parameters
    ----------
    value : float > 0, or several: where it begins
    low, high : float
        0 < low ≤ value ≤ high
    prior : LogNormal, Gamma or the like, optional
        What is known of it besides: see `believed`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import refine
    >>> X = np.random.default_rng(0).uniform(-3, 3, (50, 1))
    >>> found = refine(KernelRidge(Gaussian(bounded(4.0, 2.0, 10.0)), lam=0.1), X, np.sin(2 * X[:, 0]))
    >>> found.machine.kernel
    Gaussian(sigma=bounded(2.0, 2.0, 10.0))
    """
    return _each(value, lambda v: Declared(v, low, high, prior))


def believed(value: Any, prior: Any) -> Any:
    """A parameter of which something is known before there are data.

    `maximum_likelihood` adds the log density of its logarithm to the likelihood; `refine` puts it in the
    place of its pull to the start; `tune` looks where the prior is.

    Parameters
    ----------
    value : float > 0, or several: where it begins
    prior : LogNormal(median, spread), Gamma(shape, rate) (`mercer.selection`), or an object with
        ``log_density(log θ)`` → (log density of log θ, its slope) and ``draw(rng)`` → log θ

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import LogNormal
    >>> Gaussian(believed(1.0, LogNormal(1.0, 0.5)))
    Gaussian(sigma=believed(1.0, LogNormal(median=1.0, spread=0.5)))
    """
    if prior is None:
        raise ValueError("believed needs a prior: LogNormal(median, spread) or Gamma(shape, rate)")
    return _each(value, lambda v: Declared(v, prior=prior))


def _each(value: Any, one: Any) -> Any:
    if is_number(value):
        return one(float(value))
    if value is None or isinstance(value, str) or np.ndim(value) != 1:
        raise ValueError(
            f"fixed, bounded and believed take a positive number, or a list of them, got {value!r}: what is "
            "to be found from the data is found by kernel.resolve(X)"
        )
    return tuple(one(float(v)) for v in value)


def may_move(value: Any) -> bool:
    """Is a parameter (or one of several) free to move, as far as was said?

    >>> may_move(1.0), may_move(fixed(1.0)), may_move((fixed(1.0), 2.0))
    (True, False, True)
    """
    if isinstance(value, (list, tuple)):
        return any(map(may_move, value)) or not len(value)
    return value.moves if isinstance(value, Declared) else True


def moved(value: Any, to: Any) -> Any:
    """A parameter (or several) with another value, of which the same is said.

    >>> moved(2.0, 3.0), moved(bounded(2.0, 1.0, 5.0), 3.0), moved([fixed(1.0), 2.0], [1.0, 3.0])
    (3.0, bounded(3.0, 1.0, 5.0), (fixed(1.0), 3.0))
    """
    if isinstance(value, (list, tuple)) and any(isinstance(v, Declared) for v in value):
        return tuple(moved(v, float(t)) for v, t in zip(value, to, strict=True))
    return value.moved(float(to)) if isinstance(value, Declared) else to
