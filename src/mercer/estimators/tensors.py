"""Compute follows data: torch tensors at the door.

Inside, everything is NumPy; a tensor's device copy is handed to the engine beside it, so that nothing
that lives on a GPU is uploaded a second time. torch is never imported here: tensors bring it along.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from mercer import engines
from mercer._xp import frozen, require_sound
from mercer.estimators.elsewhere import by_shards
from mercer.rows import lives_elsewhere

Method = TypeVar("Method", bound=Callable[..., Any])


def is_tensor(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "torch" and hasattr(X, "detach")


def on_host(X: Any) -> Any:
    """A tensor as a NumPy array of its own; anything else as it is, unless it is not what it says."""
    if not is_tensor(X):
        require_sound(X)
        return X
    X = X.detach()
    array = (X.float() if "float16" in str(X.dtype) else X).cpu().numpy()
    return frozen(array) if X.device.type != "cpu" else array


def engine_for(engine: Any, X: Any) -> Any:
    """What "auto" means for these data: the engine of the device they live on."""
    if isinstance(engine, str) and engine == "auto" and is_tensor(X) and X.device.type == "cuda":
        return engines.Cuda(device=str(X.device))
    return engine


def remember(engine: Any, array: Any, X: Any) -> None:
    """Tell a remote engine that the tensor X is what `array` holds."""
    if engine.remote and is_tensor(X) and X.device.type == "cuda" and isinstance(array, np.ndarray):
        same = str(X.dtype).endswith(array.dtype.name) and tuple(X.shape) == array.shape
        if same and X.is_contiguous():
            engine.remember(array, X)


def follows_data(method: Method) -> Method:
    """A method of X whose numeric result comes back as a tensor on X's device, if X is one.

    Rows that live elsewhere are answered for shard by shard; what fits sees all of them itself.
    """
    fits = method.__name__.startswith("fit")

    @wraps(method)
    def wrapped(self, X, *args, **kwargs):
        if not fits and lives_elsewhere(X):
            return by_shards(self, method, X)
        result = method(self, X, *args, **kwargs)
        if is_tensor(X) and isinstance(result, np.ndarray) and result.dtype.kind in "fiub":
            import torch

            return torch.as_tensor(np.ascontiguousarray(result), device=X.device)
        return result

    return wrapped  # type: ignore[return-value]
