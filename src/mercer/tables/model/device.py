"""The GPU a model is made with: whether there is one, what it does in a second, and how it is given back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from mercer.engines import Cuda, Engine, Tiled
from mercer.estimators.base import KernelMachine
from mercer.functions import KernelFunction

# With fewer rows "auto" does not import torch, which takes seconds; with fewer than the second number
# nothing is computed there.
_WORTH, FEWEST = 5000, 2000
# Operations a second of factors, inverses and products in float64; on cards without units for that; in
# float32. Coordinates of pairs, and pairs of ten coordinates in a product in float32.
_DOUBLES, _FEW_DOUBLES, _SINGLES = 3e13, 3e11, 2e13
_PAIRS, _PRODUCTS = 1e11, 1e12
# Seconds of the first steps there, and bytes beside matrices.
_START, _BESIDE = 3.0, 2e9
# Of the free memory, for matrices; how many of them a gradient holds; products of a fit with centres.
_SHARE, _MATRICES, _ITERATIONS = 0.95, 4, 40
# More centres than these change nothing any more.
_MOST_CENTRES = 100_000


def checked(engine: Any, client: Any = None) -> None:
    """An error for what is no engine of `mercer.fit`, or is not here; before anything is read."""
    if isinstance(engine, Cuda) or engine == "cuda":
        if client is not None:
            raise ValueError(
                "engine='cuda' computes on the GPU of this machine, and client on a cluster: give one of them"
            )
        why = _cuda(engine).lacking()
        if why is not None:
            way_out = "engine='cpu' does without, 'auto' takes a GPU if there is one"
            raise type(why)(f"{why}; {way_out}") from why
    elif engine not in ("auto", "cpu"):
        raise ValueError(f"engine must be 'auto', 'cpu', 'cuda' or a mercer.engines.Cuda, got {engine!r}")


def gpu_for(engine: Any, rows: float, client: Any = None) -> Engine | None:
    """The GPU to be used for so many rows; None: the CPU alone."""
    if isinstance(engine, Cuda) or engine == "cuda":
        return _cuda(engine)
    if engine == "cpu" or rows < _WORTH or client is not None or not _driver():
        return None
    found = Cuda().usable()
    return found if isinstance(found, Cuda) else None


def _cuda(engine: Any) -> Cuda:
    return engine if isinstance(engine, Cuda) else Cuda()


def _driver() -> bool:
    """May there be a GPU? Asked without importing torch."""
    if any(find_spec(name) is None for name in ("torch", "triton")):
        return False
    return sys.platform != "linux" or any(map(os.path.exists, ("/dev/nvidiactl", "/dev/dxg")))


@dataclass(frozen=True)
class Device:
    """What a GPU does in a second, as forecasts count on it.

    Attributes
    ----------
    engine : Cuda
    bytes : that matrices may take
    doubles, singles : operations a second of factors and products of matrices, in float64 and in float32
    """

    engine: Engine
    bytes: float
    doubles: float = _DOUBLES
    singles: float = _SINGLES

    @classmethod
    def of(cls, engine: Engine | None, rows: int) -> Device | None:
        """That of an engine, for so many rows; None where there is no GPU, or little to do for it."""
        if engine is None or rows < FEWEST:
            return None
        doubles = _FEW_DOUBLES if engine.single_faster else _DOUBLES
        return cls(engine, _SHARE * engine.free_bytes(), doubles)

    @property
    def words(self) -> str:
        """What it is called."""
        import torch

        device = torch.device(self.engine.device)  # type: ignore[attr-defined]
        return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)

    def gradient_seconds(self, n: int, d: int, outputs: int) -> float:
        """The forecast of one value and gradient of the leave-one-out error: factor, inverse and product."""
        return 4.4 * n**3 / self.doubles + 4 * self._values(n, d + 2 * outputs)

    def scores_seconds(self, n: int, d: int) -> float:
        """The forecast of one fit in double precision, without anything compiled."""
        return n**3 / 3 / self.doubles + 1.3 * self._values(n, d)

    def fit_seconds(self, n: int, d: int) -> float:
        """The forecast of one exact fit; in single precision, and refined, where that is what is fast."""
        return n**3 / 3 / max(self.doubles, self.singles) + 4 * self._values(n, d) + _START

    def _values(self, n: int, d: int) -> float:
        return n * n * (d + 15) / _PAIRS

    def rows_refined(self, seconds: float, d: int, outputs: int, steps: float, most: int) -> int:
        """Rows of which so many gradients fit into the time and the memory."""
        return self._rows(lambda n: steps * self.gradient_seconds(n, d, outputs), seconds, most, _MATRICES)

    def rows_scored(self, seconds: float, d: int, times: int, most: int) -> int:
        """Rows of which so many fits in double precision do."""
        return self._rows(lambda n: times * self.scores_seconds(n, d), seconds, most, 1)

    def rows_fitted(self, seconds: float, d: int, times: int, most: int) -> int:
        """Rows of which so many exact fits do."""
        return self._rows(lambda n: times * self.fit_seconds(n, d), seconds, most, 1)

    def _rows(self, forecast: Callable[[int], float], seconds: float, most: int, matrices: int) -> int:
        rows = most
        while rows > 1 and (8 * matrices * rows**2 > self.bytes - _BESIDE or forecast(rows) > seconds):
            rows = int(rows * 0.95)
        return rows

    def centres_within(self, seconds: float, n: int, d: int) -> int:
        """Nyström centres whose products with n rows, and factors, fit into the time and the memory."""
        m = min(n, _MOST_CENTRES)
        while m > 1 and (1.3 * 8 * m * m > self.bytes - _BESIDE or self._centred(n, m, d) > seconds):
            m = int(m * 0.95)
        return m

    def _centred(self, n: int, m: int, d: int) -> float:
        products = 2 * _ITERATIONS * n * m * (d + 15) / 25 / _PRODUCTS
        return products + m**3 / self.singles + _START


def at_home(machine: KernelMachine) -> KernelMachine:
    """A machine that was fitted on a GPU, computed by the CPU from now on; its plan says where it was."""
    function = vars(machine).get("function_")
    if isinstance(function, KernelFunction) and isinstance(function.engine, Cuda):
        machine.function_ = function.on_engine(Tiled())
    if isinstance(machine.engine, Cuda):
        machine.set_params(engine="auto")
    return machine
