"""From LLVM IR to a callable: compiled once, kept in memory and on disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mercer.codegen import cache
from mercer.codegen.llvm import processor

_loaded: dict[Any, Any] = {}
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A process that is copied while another thread compiles would find the compiler in the middle of things.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def function(key: Any, name: str, prototype: Any, emit: Callable[[], str]) -> Any:
    """The compiled function for a key; ctypes calls it without the interpreter lock.

    `emit` gives the IR. What an older version of it made is not taken for today's: the files beside the one
    that defines it are part of what code is kept under.
    """
    with _lock:
        if (key, name) not in _loaded:
            file = processor.key_of(key, processor.sources(Path(emit.__code__.co_filename).parent))
            code = cache.stored(file)
            if code is None:
                code = processor.compile_ir(emit())
                cache.store(file, code)
            module = processor.Loaded(code)
            function = prototype(module.address(name))
            function.module = module  # keeps the code alive
            _loaded[key, name] = function
        return _loaded[key, name]
