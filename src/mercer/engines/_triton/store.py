"""Device copies of host arrays, remembered as long as the array lives and stays as it was.

The many products of an iterative solver see the same points: they are uploaded and packed once.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

_LANES = 1021
_MOST_ARRAYS = 16
# Forms of one kind that are kept: parameters are tuned, so old ones pile up.
_MOST_FORMS = {"packed": 2, "halved": 2}
_MOST_OTHER_FORMS = 6
_serial = itertools.count()


class Points:
    """Points on the device with the forms derived from them.

    Parameters
    ----------
    raw : (n, d) tensor on the device
    host : callable
        Gives the points as a NumPy array, for transformations and scalars that are computed there.
    """

    def __init__(self, raw: Any, host: Callable[[], np.ndarray]):
        self.raw, self.host = raw, host
        self.serial = next(_serial)
        # Will these points be seen again? Said by the store.
        self.lasting = False
        self._forms: OrderedDict[Any, Any] = OrderedDict()
        self._making = threading.RLock()

    def __len__(self) -> int:
        return self.raw.shape[0]

    @property
    def width(self) -> int:
        return self.raw.shape[1]

    def form(self, key: Any, make: Callable[[], Any]) -> Any:
        """A derived form, made once; the least recently used are forgotten."""
        with self._making:
            found = self._forms[key] if key in self._forms else make()
            self._forms[key] = found
            self._forms.move_to_end(key)
            same = [k for k in self._forms if k[0] == key[0]]
            for old in same[: -_MOST_FORMS.get(key[0], _MOST_OTHER_FORMS)]:
                del self._forms[old]
            return found

    def seen_through(self, view: Any) -> Points:
        """The points as a view shows them."""
        if not view.chain:
            return self

        def make() -> Points:
            points = self.host()
            width = view.points(points[:1]).shape[1]
            shown = np.ascontiguousarray(view.rows(points, width), dtype=_numpy_dtype(self.raw.dtype))
            return Points(upload(shown, self.raw.device), lambda: shown)

        return self.form(("view", view), make)

    def nbytes(self) -> int:
        total = self.raw.element_size() * self.raw.nelement()
        with self._making:
            forms = list(self._forms.values())
        for value in forms:
            parts = value if isinstance(value, tuple) else (value,)
            for part in parts:
                if isinstance(part, Points):
                    total += part.nbytes()
                elif hasattr(part, "element_size"):
                    total += part.element_size() * part.nelement()
        return total


def _numpy_dtype(dtype: Any) -> Any:
    return np.float64 if str(dtype).endswith("float64") else np.float32


def upload(array: np.ndarray, device: Any) -> Any:
    """A host array on the device, through pinned memory where it is large."""
    import torch

    array = np.ascontiguousarray(array)
    # torch warns of read-only memory; this way it does not see that.
    host = torch.from_numpy(array) if array.flags.writeable else torch.from_numpy(array.copy())
    if torch.device(device).type == "cpu":
        return host.clone()
    if host.nelement() * host.element_size() < 1 << 22:
        return host.to(device)
    # On a stream of its own a copy does not wait for what the device is computing.
    copying, computing = torch.cuda.Stream(device), torch.cuda.current_stream(device)
    with torch.cuda.stream(copying):
        out = torch.empty(host.shape, dtype=host.dtype, device=device)
    rows = max(1, (32 << 20) // max(host[0].nelement() * host.element_size(), 1))
    buffers = [torch.empty((rows, *host.shape[1:]), dtype=host.dtype, pin_memory=True) for _ in range(2)]
    done: list[Any] = [None, None]
    for turn, i in enumerate(range(0, len(host), rows)):
        part, buffer = host[i : i + rows], buffers[turn % 2]
        if done[turn % 2] is not None:
            done[turn % 2].synchronize()
        buffer[: len(part)].copy_(part)
        with torch.cuda.stream(copying):
            out[i : i + rows].copy_(buffer[: len(part)], non_blocking=True)
            done[turn % 2] = torch.cuda.Event()
            done[turn % 2].record()
    copying.synchronize()
    # Its memory is not given to others before the work that uses it is done.
    out.record_stream(computing)
    return out


def checksum(array: np.ndarray) -> bytes:
    """A fingerprint of the contents that notices changes in place, at the speed of memory."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
    whole = len(flat) // _LANES * _LANES
    table = flat[:whole].reshape(-1, _LANES)
    # Sums along both axes: of one kind alone, some changes of order would leave no trace.
    across = np.add.reduce(table, axis=0, dtype=np.uint32)
    along = np.add.reduce(table, axis=1, dtype=np.uint32)
    return across.tobytes() + along.tobytes() + flat[whole:].tobytes()


class _Entry:
    def __init__(self, reference: Any, mark: Any, points: Points):
        self.reference, self.mark, self.points = reference, mark, points


class Store:
    """Points by the identity of the array they came from; weak, bounded, safe against reuse of an id."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.entries: OrderedDict[Any, _Entry] = OrderedDict()

    def get(self, array: Any, device: Any, dtype: Any, limit: int) -> Points:
        """The points of `array` (NumPy or torch) on the device, in this dtype."""
        key = (id(array), str(device), str(dtype))
        mark = _mark(array)
        with self.lock:
            entry = self.entries.get(key)
            if entry is not None and entry.reference() is array and entry.mark == mark:
                self.entries.move_to_end(key)
                return entry.points
        points = self._make(array, device, dtype)
        self._put(key, array, mark, points, limit)
        return points

    def put(self, array: np.ndarray, tensor: Any, limit: int) -> None:
        """Remember that `tensor` holds what `array` holds."""
        reference = weakref.ref(array)
        points = Points(tensor.detach(), lambda: np.asarray(reference()))
        self._put((id(array), str(tensor.device), str(tensor.dtype)), array, _mark(array), points, limit)

    def clear(self) -> None:
        with self.lock:
            self.entries.clear()

    def _put(self, key: Any, array: Any, mark: Any, points: Points, limit: int) -> None:
        def forget(_: Any) -> None:
            with self.lock:
                self.entries.pop(key, None)

        points.lasting = True
        with self.lock:
            self.entries.pop(key, None)
            self.entries[key] = _Entry(weakref.ref(array, forget), mark, points)
            while len(self.entries) > _MOST_ARRAYS or (
                len(self.entries) > 2 and sum(e.points.nbytes() for e in self.entries.values()) > limit
            ):
                self.entries.popitem(last=False)

    @staticmethod
    def _make(array: Any, device: Any, dtype: Any) -> Points:
        if isinstance(array, np.ndarray):
            # Whoever asks for the points holds the array, so the reference is alive when it is needed.
            reference, kind = weakref.ref(array), _numpy_dtype(dtype)
            return Points(
                upload(np.asarray(array, dtype=kind), device), lambda: np.asarray(reference(), dtype=kind)
            )
        raw = array.detach().to(device=device, dtype=dtype).contiguous()
        return Points(raw, lambda: raw.cpu().numpy())


def _mark(array: Any) -> Any:
    """What changes when the contents do."""
    if isinstance(array, np.ndarray):
        pointer = array.__array_interface__["data"][0]
        if not array.flags.writeable and array.base is None:
            return pointer, array.shape, array.strides
        return pointer, array.shape, array.strides, checksum(array)
    return array.data_ptr(), tuple(array.shape), array.stride(), array._version


STORE = Store()
