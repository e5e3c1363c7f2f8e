"""One thread at a time: a machine that learns changes many things, and nobody sees it half-way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

# Kept beside the machines, not in them: a lock is no part of what is copied, compared, pickled or saved.
_turns: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_door = threading.Lock()


def _anew() -> None:
    """After a fork: whoever held a lock is not here to give it back."""
    global _door
    _door = threading.Lock()
    _turns.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_anew)


def turn_of(machine: Any) -> threading.RLock:
    """The lock of a machine; the thread that has it may take it again."""
    with _door:
        lock = _turns.get(machine)
        if lock is None:
            lock = _turns[machine] = threading.RLock()
        return lock


def in_turn(method: Callable) -> Callable:
    """A method of a machine that waits until no other thread learns with that machine, or asks it."""

    @wraps(method)
    def waiting(self: Any, *args: Any, **kwargs: Any) -> Any:
        with turn_of(self):
            return method(self, *args, **kwargs)

    return waiting
