"""What an online machine holds, and how it goes from one chunk of examples to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import COUNT, NOT_NEGATIVE, ONE_OR_MORE, POSITIVE, NumberSpec, doubles, require
from mercer._xp import n_points
from mercer.engines import Engine
from mercer.functions import Function, KernelFunction
from mercer.kernels.base import Kernel
from mercer.kernels.counts import Counts
from mercer.losses import Squared
from mercer.losses.base import Loss
from mercer.online import loops
from mercer.online.code import LossCode
from mercer.online.steps import RecursiveStep, Step

# Chunk whose kernel values are computed together, and the most values of them at a time.
CHUNK, _ENTRIES = 512, 1 << 22
# Kernel values from which an engine pays, and multiplications of coordinates from which its threads do.
_FEW, _WORTH_THREADS = 4096, 1 << 25


@dataclass(frozen=True)
class UpdateRule:
    """How f is changed: everything about a step that is not f itself."""

    loss: Loss
    step: Step
    lam: float
    offset: bool
    averaging: int | bool  # the step from which on functions count in the mean; 0: there is none
    seed: int

    holds = {"lam": NOT_NEGATIVE, "seed": NumberSpec(int, 0, 2**31), "averaging": (COUNT, bool)}

    def check_state(self) -> None:
        """Refuse steps that this λ or loss can't go with."""
        self.step.validate_for(self.lam)
        if isinstance(self.step, RecursiveStep):
            plain = isinstance(self.loss, Squared) and not self.offset and not self.averaging
            require(
                plain,
                "the steps of RecursiveStep() are those of least squares: use loss='squared', no offset and "
                "no averaging",
            )


class Diverged(ValueError):
    """f has grown beyond all bounds."""


class Learner(ABC):
    """f after some examples; `learn` takes it further, or leaves it as it was if something goes wrong."""

    # With what it holds f goes on as if nothing had happened; the rest is made again. Loops look up terms by
    # number and stop at marks (see `online.loops`), so shapes, places and sizes are checked to the last one:
    # there is nothing between a wrong one and foreign memory.
    holds: dict[str, Any] = {
        "rule": UpdateRule,
        "outputs": ONE_OR_MORE,
        "offset": doubles("outputs", 2),
        "seen": COUNT,
        "tallies": doubles(3),
        "pace": POSITIVE,
    }
    # What told steps are multiplied by: less than 1 once a machine has slowed down.
    pace: float = 1.0
    _code: LossCode | None = None
    # What computes kernel values; None where there are none.
    engine: Engine | None = None

    @classmethod
    def from_state(cls, parameters: dict[str, Any], state: dict[str, Any]) -> Learner:
        """f again, without the constructor, which makes f = 0."""
        f = object.__new__(cls)
        vars(f).update(state)
        return f

    def __init__(self, rule: UpdateRule, outputs: int):
        self.rule, self.outputs = rule, outputs
        self.seen = 0  # examples so far
        # b of every output and, for the mean, the sum of all b so far.
        self.offset = np.zeros((outputs, 2))
        # Σ of the scales (for the mean function), what the Forgetron has spent, steps that changed f.
        self.tallies = np.zeros(3)

    @property
    def updates(self) -> int:
        """Examples that changed f."""
        return int(self.tallies[2])

    @property
    def code(self) -> LossCode:
        if self._code is None or self._code.outputs != self.outputs:
            self._code = LossCode(self.rule.loss, self.outputs)
        return self._code

    def __getstate__(self):
        return {**self.__dict__, "_code": None}  # machine code stays at home

    # -- learning ----------------------------------------------------------------------------------

    def learn(self, points: Any, Y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Go through examples one by one; the scores each had just before it was learned."""
        n = points.shape[0]
        S = np.empty((n, self.outputs))
        done, before = 0, self.__dict__.copy()
        try:
            while done < n:
                chunk = max(min(CHUNK, _ENTRIES // (self.size + CHUNK)), 16)
                rows = slice(done, min(n, done + chunk))
                with np.errstate(over="ignore", invalid="ignore"):
                    S[rows] = self._learn(
                        points[rows], np.ascontiguousarray(Y[rows], np.float64), weight[rows]
                    )
                done = rows.stop
        except BaseException:
            self.__dict__.update(before)  # arrays are made anew, never changed
            raise
        return S

    @property
    @abstractmethod
    def size(self) -> int:
        """How many terms or coordinates f has."""

    @abstractmethod
    def _learn(self, points: Any, Y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """`learn`, of a few examples."""

    def _begin(self, Y: np.ndarray, weight: np.ndarray) -> tuple[loops.Chunk, loops.Course]:
        """What a loop over these examples is given, whatever f is made of."""
        n, rule = len(Y), self.rule
        eta = rule.step.checked_sizes(np.arange(self.seen + 1, self.seen + n + 1, dtype=np.float64), rule.lam)
        eta *= self.pace
        state, count = np.zeros(4), np.zeros(4, np.int64)
        state[loops.SCALE], state[1:] = 1.0, self.tallies
        count[loops.NOW] = self.seen
        choices = rule.step.rate, int(rule.averaging), int(rule.offset)
        course = loops.Course(state, count, self.offset.copy(), rule.lam, *choices)
        return loops.Chunk(Y, np.empty((n, self.outputs)), eta, weight, n, self.outputs), course

    def _end(self, S: np.ndarray, course: loops.Course, A: np.ndarray) -> float:
        """Check what a loop has made, before it is kept; the scale that f has to be multiplied by."""
        state, offset = course.state, course.offset
        scale = float(state[loops.SCALE])
        if not (np.isfinite(S).all() and np.isfinite(A).all() and np.isfinite(offset).all()):
            raise Diverged(
                "f has grown beyond all bounds (or the kernel gives NaN or infinity on these points); what "
                "was learned before these examples is kept. Take a shorter step (for the squared loss one "
                "below 1/max k(x,x)), scale the features, or take a loss of bounded slope: Huber(), "
                "EpsilonInsensitive()"
            )
        state[loops.SUM] /= scale
        self.tallies, self.offset = state[1:].copy(), offset
        self.seen += len(S)
        return scale

    # -- what was learned --------------------------------------------------------------------------

    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """Those of the function that predicts, shape (terms, outputs): the last one, or the mean."""

    @abstractmethod
    def function(self, coef: np.ndarray) -> Function:
        """The function with these coefficients."""

    @abstractmethod
    def scores(self, points: Any) -> np.ndarray:
        """f + b at points, shape (n, outputs)."""

    @property
    def intercept(self) -> np.ndarray:
        """b of each output, as it predicts: the last one, or the mean."""
        averaged = self.averaged
        return self.offset[:, 1] / averaged if averaged else self.offset[:, 0]

    @property
    def averaged(self) -> int:
        """Of how many functions that which predicts is the mean; 0: it is the last one."""
        since = int(self.rule.averaging)
        return max(self.seen - since + 1, 0) if since else 0

    def _mean(self, A: np.ndarray, U: np.ndarray) -> np.ndarray:
        """The mean of all functions so far, or the last one."""
        averaged = self.averaged
        return (self.tallies[0] * A - U) / averaged if averaged else A

    # -- more outputs ------------------------------------------------------------------------------

    def spread(self, matrix: np.ndarray) -> None:
        """Outputs become combinations of the present ones: rows of `matrix` say which."""
        for name in self._by_output:
            setattr(self, name, np.ascontiguousarray(matrix @ getattr(self, name)))
        self.outputs = len(matrix)

    _by_output: tuple[str, ...] = ("offset",)

    def widen(self, columns: int) -> None:
        """Points get so many more features, which were 0 until now."""
        raise ValueError(
            "an example has features that none had before, and explicit features can't grow: begin with "
            "an example that has them all, or use representation='full'"
        )


def fill(out: np.ndarray, kernel: Kernel, X: Any, Z: Any, engine: Engine) -> np.ndarray:
    """K(X, Z) into `out`: by NumPy where that is quicker, on one thread where handing over takes longer."""
    if engine.remote:
        out[:] = engine.operator(kernel, X, Z).dense()
    elif is_few(X, Z):
        out[:] = pairwise(kernel, X, Z)
    else:
        work = out.size * (X.shape[1] if X.ndim == 2 else 1)
        engine = engine.single_threaded() if work < _WORTH_THREADS else engine
        engine.operator(kernel, X, Z).fill(out)
    return out


def pairwise(kernel: Kernel, X: Any, Z: Any) -> np.ndarray:
    """K(X, Z) by NumPy; Z may be sparse features, which are looked up for those that a few X have."""
    return Z.inner(kernel.counts(X)).T if isinstance(Z, Counts) else kernel.pairwise(X, Z)


def dtype_for(points: Any) -> Any:
    """Of kernel values between such points: float32 between those in float32."""
    return np.float32 if getattr(points, "dtype", None) == np.float32 else np.float64


def is_few(X: Any, Z: Any) -> bool:
    """Are so few kernel values quicker in NumPy than through an engine?"""
    # A row by itself is compared with sparse features where they lie: an operator would put all in order.
    one = isinstance(Z, Counts) and X.shape[0] == 1
    return one or X.shape[0] * Z.shape[0] <= _FEW


def check_points(x: Any, m: int) -> None:
    """Require m points of a learner or basis; make them what its kernel takes, and its engine one of here."""
    x.engine = x.engine.usable()
    there = hasattr(x.points, "shape") and n_points(x.points) == m
    require(there, "points and coefficients differ in number")
    if m:
        x.points = KernelFunction(x.kernel, x.points, np.zeros(m)).points


def widened(points: Any, columns: int) -> Any:
    """Points with so many columns of zeros added."""
    return np.concatenate([points, np.zeros((len(points), columns), points.dtype)], axis=1)
