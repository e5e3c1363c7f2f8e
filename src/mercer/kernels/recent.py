"""What was made last is remembered, up to so many bytes."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np


class Recent:
    """Arrays by a key, those used last, of no more than so many bytes together; for several threads.

    >>> recent = Recent(20)
    >>> for key in "abc":
    ...     recent.put(key, np.zeros(1))
    >>> recent.get("a") is None, recent.get("b") is None, recent.held
    (True, False, 16)
    """

    def __init__(self, most: int):
        self.most = most
        self._known: dict[Any, np.ndarray] = {}
        self._lock = Lock()

    def get(self, key: Any) -> np.ndarray | None:
        """The array with this key, or None; it is forgotten last."""
        with self._lock:
            found = self._known.pop(key, None)
            if found is not None:
                self._known[key] = found
            return found

    def put(self, key: Any, array: np.ndarray) -> None:
        """Remember an array, and forget those that nobody asked for longest."""
        with self._lock:
            self._known[key] = array
            while self.held > self.most:
                del self._known[next(iter(self._known))]

    @property
    def held(self) -> int:
        """Bytes of all arrays that are remembered."""
        return sum(array.nbytes for array in self._known.values())
