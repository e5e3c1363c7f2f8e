"""Where a warning points to: the line of whoever called the library; and warnings that nobody shall hear."""

from __future__ import annotations

import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_lock, _inside = threading.Lock(), Counter[type[Warning]]()
# Matches every message, as none would; no filter of others is written so.
_ANY = r"(?s:.*)"


def frames_inside() -> int:
    """How many frames up the caller of the library is: the `stacklevel` of a warning that points there."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mercer."):
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def unheard(category: type[Warning]) -> Iterator[None]:
    """No warnings of a category inside a ``with`` block, in any thread.

    `warnings.catch_warnings` restores what it found, so that of two threads one would restore the other's
    filters, which would stay. Here the first in sets the filter, and the last out takes it back.

    Examples
    --------
    >>> with unheard(RuntimeWarning):
    ...     warnings.warn("a word in the wind", RuntimeWarning)
    """
    with _lock:
        _inside[category] += 1
        if _inside[category] == 1:
            warnings.filterwarnings("ignore", _ANY, category)
    try:
        yield
    finally:
        with _lock:
            _inside[category] -= 1
            if not _inside[category]:
                warnings.filters[:] = [f for f in warnings.filters if not _is_ours(f, category)]  # type: ignore[index]


def _is_ours(entry: tuple, category: type[Warning]) -> bool:
    action, message, kind, *_ = entry
    return action == "ignore" and kind is category and getattr(message, "pattern", None) == _ANY
