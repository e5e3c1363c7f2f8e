"""Columns of V for the half-precision matrix units, and when values of k may go there.

A float32 number is two half-precision ones, h + l, to 22 bits, as long as its size suits: half precision
reaches 65504 and counts in steps of 2⁻²⁴. So columns of V are brought to 2¹⁵ by powers of two, each by its
own, and values of k by one for all, from a bound on |k| that holds for every pair. What falls below the
steps is 2⁻³⁹ of that bound, pair by pair; where most values of a sample are so small that this would show,
the product is made of three tf32 products instead, which keep float32's range.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from mercer.codegen.formula import Formula
from mercer.codegen.triton import source
from mercer.engines._triton import blocks
from mercer.engines._triton.pack import DevicePacked, farthest, middle, padded_vector, sample, scalars
from mercer.engines._triton.store import Points

# Half precision ends at 2¹⁶: this power of two leaves room for rounding.
TOP = 15
# Values may be this much smaller than the bound, in the mean square: 2⁻³⁹ is then 2⁻²¹ of them.
_ROOM = 2.0**-18
# What a piece of a column is brought up by, next to the one before.
_UP = 2.0**11
# What statistics may exceed their bounds by, being rounded.
_SLACK = 1 + 1e-4
Interval = tuple[float, float]


def halved(
    formula: Formula, packed: DevicePacked, X: Points, Z: Points, anchor: Points
) -> DevicePacked | None:
    """What a product in halves reads in place of `packed`; None where values of k don't suit."""
    import torch

    if packed.code.dtype != "float32" or not len(X) or not len(Z):
        return None
    values, rows, columns = sample(formula, X, Z)
    k = blocks.evaluate(formula, values, rows, columns)
    ranges = [_range(leaf, *(P.seen_through(leaf.view) for P in (X, Z, anchor))) for leaf in formula.leaves]
    ends = [[(float(v.min()), float(v.max())) for v in scalars(formula, P)] for P in (X, Z)]
    exponent = lift(formula, ranges, ends, float(k.square().mean().sqrt()))
    if exponent is None:
        return None
    code, operands = replace(packed.code, wide=True, halves=True, small=False), dict(packed.operands)
    first = code.leaves[0] if code.leaves else None
    plain = [i[0] for i in code.instructions] == ["leaf", "exp2"]
    if not plain or first is None or first.kind != "dot" or first.statistic != "distance":
        count = len(source.numbers(packed.code))
        number = operands["C"].new_tensor([2.0**exponent])
        operands["C"] = torch.cat([operands["C"][:count], number])
        return DevicePacked(replace(code, lift=True), operands, packed.n, packed.m)
    # Of a plain exponential the power of two joins the norms. These are cut to steps that make sums of two
    # exact, so that rounding is not the same all along a row or a column; weights hold what was cut off.
    sides = (("a0", packed.n, packed.row_weights, exponent), ("b0", packed.m, packed.column_weights, 0))
    norms, weights = [], []
    for name, count, factor, more in sides:
        norms.append((operands[name][:count].double() if factor is None else torch.log2(factor)) + more)
    step = 2.0 ** (math.frexp(sum(float(one.abs().max()) for one in norms))[1] - 23)
    for (name, *_), exact in zip(sides, norms):
        cut = torch.round(exact / step) * step
        operands[name] = padded_vector(cut, torch.float32)
        weights.append(torch.exp2(exact - cut))
    code = replace(code, leaves=(replace(first, norms=True),))
    return DevicePacked(code, operands, packed.n, packed.m, *weights)


def _range(leaf: Any, x: Points, z: Points, anchor: Points) -> Interval:
    """What scale · statistic ranges over, for these points."""
    if leaf.kind == "distance":
        centre = middle(anchor)
        reach = math.sqrt(farthest(x, centre)) + math.sqrt(farthest(z, centre))
        ends = (0.0, reach**2 * _SLACK)
    elif leaf.kind == "dot":
        origin = middle(anchor) * 0
        reach = math.sqrt(farthest(x, origin) * farthest(z, origin)) * _SLACK
        ends = (-reach, reach)
    else:
        sources: dict[str, Any] = {"constant": lambda i: (leaf.term.constants[i],) * 2}
        sources |= {"x": lambda: _ends(x), "z": lambda: _ends(z)}
        ends = leaf.term.evaluate(_interval, sources)
        ends = (ends[0] * x.width, ends[1] * x.width)
    first, last = (leaf.scale * end for end in ends)
    return min(first, last), max(first, last)


def _ends(P: Points) -> Interval:
    return P.form(("ends",), lambda: (float(P.raw.min()), float(P.raw.max())))


def lift(formula: Formula, leaves: list[Interval], scalars_: list[list[Interval]], size: float) -> int | None:
    """The power of two (its exponent) that brings |k| to at most 2^TOP; None where k can't go in halves.

    `leaves` are what statistics range over, `scalars_` what those of rows and those of columns do, `size` is
    the root mean square of values of k in a sample.
    """
    sources: dict[str, Any] = {"leaf": leaves.__getitem__}
    sources |= {"row": scalars_[0].__getitem__, "column": scalars_[1].__getitem__}
    sources["constant"] = lambda i: (formula.programme.constants[i],) * 2
    low, high = formula.programme.evaluate(_interval, sources)
    bound = max(abs(low), abs(high))
    if not 2.0**-90 < bound < 2.0**90 or not size >= _ROOM * bound:  # NaN as well
        return None
    return TOP - math.frexp(bound * (1 - 2.0**-50))[1]


_ALL = (-math.inf, math.inf)
_KNOWN = {"sin": (-1.0, 1.0), "cos": (-1.0, 1.0), "tanh": (-1.0, 1.0), "arccos": (0.0, math.pi)}


def _interval(operation: str, *given: Interval) -> Interval:
    """What an operation's result ranges over; (−∞, ∞) where nothing is known."""
    if operation in _KNOWN:
        return _KNOWN[operation]
    if operation in ("max", "min"):
        chosen = max if operation == "max" else min
        return chosen(given[0][0], given[1][0]), chosen(given[0][1], given[1][1])
    if not all(math.isfinite(end) for one in given for end in one):
        return _ALL
    return _of_one(operation, *given[0]) if len(given) == 1 else _of_two(operation, *given)


def _of_one(operation: str, low: float, high: float) -> Interval:
    if operation == "exp2" and high < 1000:
        return 2.0**low, 2.0**high
    if operation == "abs":
        return max(low, -high, 0.0), max(-low, high)
    if operation == "sqrt":
        return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
    if operation == "log2" and low > 0:
        return math.log2(low), math.log2(high)
    return (-high, -low) if operation == "neg" else _ALL


def _of_two(operation: str, a: Interval, b: Interval) -> Interval:
    if operation == "add":
        return a[0] + b[0], a[1] + b[1]
    if operation == "sub":
        return a[0] - b[1], a[1] - b[0]
    if operation == "div" and (b[0] > 0 or b[1] < 0):
        operation, b = "mul", (1 / b[1], 1 / b[0])
    if operation != "mul":
        return _ALL
    ends = [u * v for u in a for v in b]
    return min(ends), max(ends)


def pieces(W: Any, m: int, count: int) -> tuple[Any, Any]:
    """Columns (rows of W) as halves side by side, (m, count·t), largest first; what undoes the scaling.

    Two pieces hold 22 bits of the largest number of a column, four 44. t is brought to a power of two by
    columns of zeros, so that there are 16 columns at least, and rows to m.
    """
    import torch

    t = len(W)
    width = max(16 // count, 1 << (t - 1).bit_length())
    size = W.abs().amax(1).double()
    power = torch.exp2(TOP - 1 - torch.floor(torch.log2(size)))
    power = torch.where((size > 0) & torch.isfinite(size), power, 1.0)
    out = torch.zeros((m, count * width), dtype=torch.float16, device=W.device)
    left = W.double() * power[:, None]
    for k in range(count):
        # Later pieces would be below the steps of half precision: they are brought up, and their sums down.
        piece = (left * _UP**k).half()
        out[: W.shape[1], k * width : k * width + t] = piece.T
        left = left - piece.double() / _UP**k
    return out, 1 / power


def joined(sums: Any, t: int, count: int) -> Any:
    """(t, n) in float64 from the sums of pieces, (count·width, n)."""
    parts = sums.view(count, -1, sums.shape[1])[:, :t].double()
    return sum(parts[k] / _UP**k for k in range(count))
