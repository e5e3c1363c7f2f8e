"""Block sizes, launches, columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mercer.codegen.triton import source
from mercer.codegen.triton.code import Code
from mercer.engines._triton.halves import TOP, joined, pieces
from mercer.engines._triton.pack import PAD, DevicePacked, padded

# (rows, columns, warps, stages) of a block; the first that fits is used. Measured on an H200.
Blocks = tuple[int, int, int, int]
_ENOUGH_PROGRAMS = 132 * 16
# A block sums at most so many columns in its own precision; blocks are added up in float64. Rounding of a sum
# next to the length of V grows with the root of these. In float32 they are fewer, if their sums fit in here.
_COLUMNS_PER_SUM = 1 << 18
_SINGLES_PER_SUM = 1 << 13
_SUMS_BYTES = 1 << 29
# Columns of V in registers; more go through the matrix units.
_NARROW = {"float32": 4, "float64": 2}
# From so many on, values and columns go through the matrix units in half-precision pieces, where k allows it.
_HALVES_FROM = 3
_WIDEST = 64
# Functions that take many registers.
_HEAVY = ("sin", "cos", "tanh", "arccos")
_fitting: dict[Any, int] = {}


def shape(code: Code) -> list[Blocks]:
    """Block sizes to try for this kernel, best first."""
    deep = code.depth
    if not code.native:
        return [(128, 256 if code.mode != "symmetric" else 64, 4, 1)]
    if code.dtype == "float64":
        if deep == 0 or code.wide:
            return [(32, 32, 4, 2), (32, 16, 4, 1)]
        return [(64, 32, 4, 2), (32, 32, 4, 2), (32, 16, 4, 1)]
    if code.mode == "matrix":
        return [(128, 64, 4, 3), (64, 64, 4, 2), (32, 32, 4, 1)]
    if deep == 0:
        first = [(32, 32, 1, 2)] if code.columns == 1 and _roots(code) else []
        return [*first, (32, 64, 4, 2), (32, 32, 4, 2)]
    if code.mode == "symmetric":
        return [(256, 32, 4, 4) if deep == 16 else (256, 64, 4, 3), (128, 32, 4, 3), (64, 32, 4, 2)]
    if any(leaf.repair for leaf in code.leaves) and code.columns <= 2 and not code.wide and not code.deep:
        return _repairing_shape(code)
    if any(i[0] in _HEAVY for i in code.instructions):
        return [(64, 32, 4, 2), (32, 32, 4, 1)]
    if code.wide:
        return _wide_shape(code)
    if code.deep:
        return [(128, 256, 8, 3), (128, 128, 8, 3), (64, 64, 4, 2)]
    if len(code.leaves) > 1:
        return [(64, 64 if code.columns <= 2 else 32, 4, 2), (64, 32, 4, 2), (32, 32, 4, 1)]
    if code.columns > 1:
        return [(64, 128 if code.columns == 2 else 64, 4, 3), (64, 64, 4, 2), (64, 32, 4, 2), (32, 32, 4, 1)]
    if deep <= 32:
        return [(64, 128, 4, 4), (64, 64, 4, 2)]
    if deep <= 192:
        return [(128, 64, 4, 4), (128, 64, 4, 2)]
    return [(128, 64, 8, 3), (64, 64, 4, 2)]


def _repairing_shape(code: Code) -> list[Blocks]:
    if code.depth <= 48:  # one warp: whether a block has close pairs is asked without a barrier
        return [(64, 32, 1, 3), (32, 32, 1, 3), (32, 32, 1, 2)]
    if code.depth <= 192:
        return [(128, 64, 4, 3), (64, 64, 4, 2), (32, 32, 1, 2)]
    return [(128, 64, 8, 3), (128, 64, 8, 2), (32, 32, 1, 2)]


def _wide_shape(code: Code) -> list[Blocks]:
    smaller = [(64, 64, 4, 2), (64, 32, 4, 2), (32, 32, 4, 1)]
    if code.halves and not code.deep and len(code.leaves) == 1 and code.columns <= 32:
        if code.depth <= 48:
            return [(64, 64, 4, 4), *smaller]
        return [(128, 64, 4, 2) if code.depth <= 192 else (128, 64, 8, 3), *smaller]
    return [(64, 64, 4, 3), *smaller]


def _roots(code: Code) -> bool:
    return any(i[0] == "sqrt" for i in code.instructions)


def share(code: Code) -> int:
    """Of eight exponentials, how many by polynomial: where the special-function unit is the limit."""
    if code.dtype != "float32" or code.mode == "matrix" or code.columns > 1 or code.depth > 32:
        return 0
    if code.depth == 0:
        return 2 if _roots(code) else 0
    if any(leaf.repair for leaf in code.leaves):
        return 4 if _roots(code) else 0
    return 1 if code.depth == 32 and code.mode == "product" else 2


def fold(code: Code) -> int:
    """Columns of a block whose sums share a register."""
    if code.mode == "matrix" or code.wide or not code.native:
        return 1
    if code.mode == "symmetric" or code.dtype == "float64":
        return 4
    if code.columns > 1 or code.depth == 16:
        return 8
    return 4 if any(leaf.repair for leaf in code.leaves) else 1


def unroll(code: Code) -> int:
    """Blocks of columns a turn of the loop."""
    return 2 if code.dtype == "float64" and code.depth > 0 and code.native else 1


def finished(code: Code) -> Code:
    """The code with what is chosen for speed alone."""
    return replace(code, share=share(code), fold=fold(code), unroll=unroll(code))


def start(code: Code, operands: dict[str, Any], grid: Any, **numbers: Any) -> None:
    """Launch with the first block size that fits; grid(BM, BN) → sizes of the grid and last arguments."""
    import torch

    code = finished(code)
    kernel = source.compiled(code)
    candidates = shape(code)
    first = _fitting.get(code, 0)
    names = source.arguments(code)
    if "N" in names:
        kind = torch.float16 if code.dtype == "float32" else torch.float64
        operands = {**operands, "N": torch.zeros((256, 16), dtype=kind, device=operands["C"].device)}
    for attempt in range(first, len(candidates)):
        rows, columns, warps, stages = candidates[attempt]
        size, last = grid(rows, columns)
        values = {
            "ldo": 0,
            "ldv": 0,
            "ldp": 0,
            "ldq": 0,
            "per": 0,
            "V": operands["C"],
            **operands,
            **numbers,
            **last,
        }
        options = {"num_warps": warps, "num_stages": stages} if code.native else {}
        try:
            kernel[size](*[values[name] for name in names], BM=rows, BN=columns, **options)
        except Exception as error:
            # Triton's own class for it has moved between versions.
            if type(error).__name__ != "OutOfResources" or attempt + 1 == len(candidates):
                raise
            continue
        _fitting[code] = attempt
        return


def matrix(packed: DevicePacked, out: Any) -> Any:
    """K into `out`, an (n, m) tensor whose rows may be apart."""
    n, m = packed.n, packed.m
    start(
        packed.code,
        packed.operands,
        lambda rows, columns: ((-(-n // rows), -(-m // columns)), {}),
        O=out,
        n=n,
        m=m,
        ldo=out.stride(0),
        **packed.apart(),
    )
    return out


def multiply(packed: DevicePacked, V: Any, same: bool, halved: Callable[[], DevicePacked | None]) -> Any:
    """K V in float64 for V of shape (m, t); `same`: both sides are the same points, so K is symmetric.

    With float32 points and a float64 V, V is split into two float32 columns, or into twice as many
    half-precision ones. `halved` gives the operands of products in such pieces, if there are any.
    """
    import torch

    t, single = V.shape[1], packed.code.dtype == "float32"
    split = single and V.dtype == torch.float64
    in_halves = halved() if single and t * (1 + split) >= _HALVES_FROM else None
    used = in_halves or packed
    W = V.T
    if used.column_weights is not None:
        W = W.double() * used.column_weights
    if in_halves is not None:
        out = _halves(in_halves, W, 4 if split else 2)
    elif split:
        high = W.float()
        out = _columns(packed, torch.cat([high, (W - high.double()).float()]), same)
        out = out[:t] + out[t:]
    else:
        out = _columns(packed, W.float() if single else W.double(), same)
    if used.row_weights is not None:
        out = out * used.row_weights
    return out.T


def _halves(packed: DevicePacked, W: Any, count: int) -> Any:
    """(t, n) in float64: values in two half-precision pieces, columns in so many."""
    import torch

    exact = replace(packed, code=replace(packed.code, compensated=count > 2))
    parts = []
    for group in W.split(_WIDEST // count):
        columns, back = pieces(group, padded(packed.m), count)
        sums = _launch(exact, columns, columns.shape[1], torch.float32)
        gain = packed.operands["C"][-1].double() if packed.code.lift else 2.0**TOP
        parts.append(joined(sums, len(group), count) * (back / gain)[:, None])
    return torch.cat(parts)


def _columns(packed: DevicePacked, W: Any, same: bool) -> Any:
    """(t, n) in float64: a few columns in registers, more on the matrix units in their own precision."""
    import torch

    T, m = W.shape
    columns = W.new_zeros((T, padded(m)))
    columns[:, :m] = W
    parts = []
    at = 0
    while at < T:
        left = T - at
        if left > _NARROW[packed.code.dtype]:
            width = min(max(16, 1 << (left - 1).bit_length()), _WIDEST)
            group = columns[at : at + width]
            if len(group) < width:
                group = torch.cat([group, columns.new_zeros((width - len(group), columns.shape[1]))])
            wide = replace(packed, code=replace(packed.code, wide=True))
            parts.append(_launch(wide, group, width, group.dtype)[: min(left, width)])
            at += width
        else:
            group = columns[at:]
            if same and len(group) == 1 and W.dtype == torch.float32 and 0 < packed.code.depth <= 128:
                parts.append(_symmetric(packed, group))
            else:
                parts.append(_launch(packed, group, len(group), group.dtype))
            at = T
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _launch(packed: DevicePacked, columns: Any, width: int, kind: Any) -> Any:
    """(width, n) in float64, from sums of that kind."""
    import torch

    n, m = packed.n, padded(packed.m)
    code = replace(packed.code, columns=width)
    rows = shape(replace(code, share=share(code)))[0][0]
    tiles = m // PAD
    splits = max(
        -(-_ENOUGH_PROGRAMS // -(-n // rows)) if n < rows * _ENOUGH_PROGRAMS // 4 else 1,
        -(-m // _COLUMNS_PER_SUM),
    )
    if packed.code.dtype == "float32":
        splits = max(splits, min(-(-m // _SINGLES_PER_SUM), _SUMS_BYTES // (4 * width * n)))
    per = -(-tiles // min(splits, tiles)) * PAD
    splits = -(-m // per)
    out = torch.empty((splits, width, n), dtype=kind, device=columns.device)
    start(
        code,
        packed.operands,
        lambda rows, _: ((-(-n // rows), splits), {}),
        O=out,
        V=columns,
        n=n,
        m=m,
        per=per,
        ldo=n,
        ldv=columns.stride(0),
        **packed.apart(),
    )
    return out.sum(0, dtype=torch.float64) if splits > 1 else out[0].double()


def _symmetric(packed: DevicePacked, columns: Any) -> Any:
    """Each pair once; sums of blocks meet in atomic additions, whose order is not fixed."""
    import torch

    n = padded(packed.n)
    code = replace(packed.code, mode="symmetric", columns=len(columns))
    out = torch.zeros((len(columns), n), dtype=columns.dtype, device=columns.device)
    start(
        code,
        packed.operands,
        lambda rows, _: ((n // rows,), {"m": n // rows, "per": n // rows // 2}),
        O=out,
        V=columns,
        n=n,
        ldo=n,
        ldv=columns.stride(0),
        **packed.apart(),
    )
    return out[:, : packed.n].double()
