"""Between host and device: chunks of points that do not fit, and results on their way back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from mercer.engines._triton.store import Points

_STAGING_BYTES = 64 << 20


def chunks(X: np.ndarray, rows: int, device: Any, dtype: Any) -> Iterator[tuple[slice, Points]]:
    """X in chunks of `rows` points on the device; a chunk is copied while the one before is computed with.

    A chunk's memory is reused after the next one has been asked for.
    """
    import torch

    slices = [slice(i, min(i + rows, len(X))) for i in range(0, len(X), rows)]
    kind = np.float64 if dtype == torch.float64 else np.float32
    if torch.device(device).type == "cpu":
        for part in slices:
            host = np.array(X[part], dtype=kind)
            yield part, Points(torch.from_numpy(host), partial(np.asarray, host))
        return
    copying = torch.cuda.Stream(device)
    pinned = [torch.empty((rows, X.shape[1]), dtype=dtype, pin_memory=True) for _ in range(2)]
    there = [torch.empty((rows, X.shape[1]), dtype=dtype, device=device) for _ in range(2)]
    copied = [torch.cuda.Event() for _ in range(2)]
    used: list[Any] = [None, None]

    def send(k: int) -> None:
        turn, part = k % 2, slices[k]
        size = part.stop - part.start
        if k >= 2:
            copied[turn].synchronize()  # the pinned buffer has been read
        np.copyto(pinned[turn][:size].numpy(), X[part])
        with torch.cuda.stream(copying):
            if used[turn] is not None:
                copying.wait_event(used[turn])
            there[turn][:size].copy_(pinned[turn][:size], non_blocking=True)
            copied[turn].record(copying)

    send(0)
    for k, part in enumerate(slices):
        turn = k % 2
        torch.cuda.current_stream(device).wait_event(copied[turn])
        yield part, Points(there[turn][: part.stop - part.start], partial(np.asarray, X[part], kind))
        # The work on this chunk is queued by now; the next one's journey goes on beside it.
        used[turn] = torch.cuda.Event()
        used[turn].record()
        if k + 1 < len(slices):
            send(k + 1)


def download(tensor: Any, out: np.ndarray) -> np.ndarray:
    """A tensor into a host array, through pinned memory."""
    import torch

    if tensor.device.type == "cpu":
        out[...] = tensor.numpy()
        return out
    if tensor.nelement() * tensor.element_size() < 1 << 20:
        out[...] = tensor.cpu().numpy()
        return out
    rows = max(1, _STAGING_BYTES // max(tensor[0].nelement() * tensor.element_size(), 1))
    buffers = [torch.empty((min(rows, len(tensor)), *tensor.shape[1:]), dtype=tensor.dtype, pin_memory=True)]
    buffers.append(torch.empty_like(buffers[0], pin_memory=True))
    waiting: list[tuple[int, int, Any, Any]] = []

    def collect() -> None:
        i, size, buffer, event = waiting.pop(0)
        event.synchronize()
        out[i : i + size] = buffer[:size].numpy()

    for turn, i in enumerate(range(0, len(tensor), rows)):
        if len(waiting) == 2:
            collect()
        part, buffer = tensor[i : i + rows], buffers[turn % 2]
        buffer[: len(part)].copy_(part, non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        waiting.append((i, len(part), buffer, event))
    while waiting:
        collect()
    return out
