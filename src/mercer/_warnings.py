"""Where a warning points to: the line of whoever called the library."""

from __future__ import annotations

import sys


def frames_inside() -> int:
    """How many frames up the caller of the library is: the `stacklevel` of a warning that points there."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mercer."):
        frame, level = frame.f_back, level + 1
    return level
