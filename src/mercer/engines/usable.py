"""Engines of devices that may not be here."""

from __future__ import annotations

from mercer.engines.base import Engine
from mercer.engines.tiled import Tiled


def usable(engine: Engine) -> Engine:
    """The engine, or the CPU's in its place where there is no such device."""
    if not isinstance(engine, Engine) or not engine.remote:
        return engine
    from mercer.engines._triton.call import require

    try:
        require(engine.device)  # type: ignore[attr-defined]
    except (ImportError, RuntimeError):
        return Tiled()
    return engine
