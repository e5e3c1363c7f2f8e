"""Points in the form the kernels read, chosen so that the result has the accuracy promised.

‖x−z‖² and x·z are one matrix product. In float32 every coordinate is split into two half-precision
numbers x = h + l (22 bits), and of the product the parts hh, hl, lh are kept, laid side by side along the
inner dimension: float32's accuracy at the speed of half precision. The points are centred first, and
norms are taken of what is represented, so that equal points have distance zero. In float64 the matrix units
take the numbers as they are.

What that rounds away is about 2⁻²²(‖x‖² + ‖z‖²). How much of it shows in k is measured on a sample; if
too much (small widths, clusters far apart), distances are computed coordinate by coordinate instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.codegen.formula import Formula, require_equal_widths
from mercer.codegen.triton.code import CLOSE, RESIDENT_DEPTH, TOGETHER, Code, LeafCode, bounded, steep
from mercer.engines._triton import blocks
from mercer.engines._triton.store import Points, upload

PAD = 1024  # rows and columns are padded to a multiple of every block size
# Roots of distances with so few coordinates: differences are as fast as the matrix units.
_FEW = 8
_TOLERANCE = {"float32": 4e-6, "float64": 1e-12}
_ROUNDING = {"float32": 2.0**-22, "float64": 2.0**-51}
# Squared distances from the middle, in units of k, up to which coordinates may be scaled before they are
# subtracted: what that rounds away is 2⁻²⁴ times the root of this.
_REACH = 1024.0
_SMALL = {"float32": 50.0, "float64": 400.0}
_ROWS_AT_A_TIME = 1 << 19
_SAMPLE = (192, 512)


@dataclass
class DevicePacked:
    """Everything a launch needs besides V: code, operands by argument name, sizes."""

    code: Code
    operands: dict[str, Any]
    n: int
    m: int
    # 2^(−c‖x‖²) taken out of the exponential, where that is safe: one number a row, one a column.
    row_weights: Any = None
    column_weights: Any = None

    def rows(self, first: int, last: int) -> DevicePacked:
        """The same for rows first … last; first must be a multiple of PAD."""
        operands = {}
        for name, value in self.operands.items():
            if name[0] in "Aar":
                value = value[first:]
            elif name[0] == "P":
                value = value[:, first:]
            operands[name] = value
        weights = None if self.row_weights is None else self.row_weights[first:last]
        return DevicePacked(self.code, operands, last - first, self.m, weights, self.column_weights)

    def apart(self) -> dict[str, int]:
        """Distances between the rows of coordinates, by argument name."""
        out = {}
        for name, value in self.operands.items():
            if name[0] in "PQ":
                out["ld" + name[0].lower()] = value.stride(0)
        return out


def padded(n: int) -> int:
    return max(-(-n // PAD), 1) * PAD


def pack(
    formula: Formula, X: Points, Z: Points, anchor: Points, precision: str, whole: bool, native: bool
) -> DevicePacked:
    """Operands for K(X, Z); `anchor` is the set whose mean becomes the origin, `whole` asks for K itself."""
    import torch

    packing = _Packing(formula, X, Z, anchor, precision, whole)
    numbers = list(formula.programme.constants)
    leaves = []
    for f, leaf in enumerate(formula.leaves):
        leaf_code, factor = packing.leaf(f, leaf)
        leaves.append(leaf_code)
        numbers += [leaf.scale, factor]
    operands = packing.operands
    for name, P in (("r", X), ("c", Z)):
        operands |= {f"{name}{k}": values for k, values in enumerate(scalars(formula, P))}
    for leaf in formula.leaves:
        numbers += leaf.term.constants if leaf.term is not None else ()
    operands["C"] = torch.tensor(numbers or [0.0], dtype=X.raw.dtype, device=X.raw.device)
    code = Code(
        formula.programme.instructions,
        tuple(leaves),
        len(formula.scalars),
        packing.dtype,
        "matrix" if whole else "product",
        bounded=bounded(formula),
        small=packing.weights is not None,
        native=native,
    )
    return DevicePacked(code, operands, len(X), len(Z), *(packing.weights or (None, None)))


class _Packing:
    """Leaves of a formula, one after the other, into operands."""

    def __init__(self, formula: Formula, X: Points, Z: Points, anchor: Points, precision: str, whole: bool):
        import torch

        self.formula, self.precision, self.whole = formula, precision, whole
        self.dtype = "float64" if X.raw.dtype == torch.float64 else "float32"
        self.views = list(dict.fromkeys(leaf.view for leaf in formula.leaves))
        self.shown = [tuple(P.seen_through(v) for P in (X, Z, anchor)) for v in self.views]
        for x, z, c in self.shown:
            require_equal_widths(x.width, z.width)
            require_equal_widths(x.width, c.width)
        self.direct = _too_rough(formula, self.views, self.shown, X, Z, self.dtype, precision)
        self.operands: dict[str, Any] = {}
        # Factors of rows and of columns, where those of the formula are taken out of it.
        self.weights: tuple[Any, Any] | None = None

    def leaf(self, f: int, leaf: Any) -> tuple[LeafCode, float]:
        """The code of a leaf, and what its coordinates were multiplied by."""
        view = self.views.index(leaf.view)
        x, z, c = self.shown[view]
        code, factor = LeafCode("direct", "sum", width=x.width, view=view, negative=leaf.scale < 0), 1.0
        if leaf.kind == "dot":
            code, factor = _inner(leaf, x, z, self.dtype, self.precision, f, self.operands, code)
        elif leaf.kind == "distance":
            code, factor = self._distance(f, leaf, replace(code, statistic="distance"), x, z, c)
        elif leaf.term is not None:
            code = replace(code, term=leaf.term.instructions)
        if code.points:
            scaled = (middle(c), math.sqrt(abs(leaf.scale))) if code.unit else None
            self.operands[f"P{view}"], self.operands[f"Q{view}"] = (_coordinates(p, scaled) for p in (x, z))
        if code.repair:
            for key, P in ((f"a{f}", x), (f"b{f}", z)):
                norms = leaf.scale * _norms(P, middle(c))
                self.operands.setdefault(key, padded_vector(norms, x.raw.dtype))
            groups = self.operands[f"b{f}"].view(-1, TOGETHER)
            self.operands[f"m{f}"] = groups.amin(1) if code.negative else groups.amax(1)
        return code, factor

    def _distance(self, f, leaf, code, x, z, c) -> tuple[LeafCode, float]:
        import torch

        root = steep(self.formula, f)
        centre = middle(c)
        largest = max(farthest(x, centre), farthest(z, centre)) * abs(leaf.scale)
        if self.direct or (root and x.width <= _FEW):
            alone = sum(other.view == leaf.view for other in self.formula.leaves) == 1
            return replace(code, unit=alone and not self.whole and largest <= _REACH), 1.0
        steps = [i[0] for i in self.formula.programme.instructions]
        plain = steps == ["leaf", "exp2"] and leaf.scale < 0
        small = plain and not self.whole and 2.0**-12 < largest <= _SMALL[self.dtype]
        code, factor, norms = _distance(
            *(leaf, x, z, centre, largest, self.dtype, self.precision, small, f, self.operands, code)
        )
        if small:
            rows, columns = (torch.exp2(-factor / 2 * n) for n in norms)
            self.weights = rows, columns
        return replace(code, repair=root), factor


# -- what is derived from one set of points ---------------------------------------------------------


def middle(P: Points) -> Any:
    """Their mean, in float64."""

    def make() -> Any:
        total = sum(P.raw[i : i + _ROWS_AT_A_TIME].double().sum(0) for i in range(0, len(P), _ROWS_AT_A_TIME))
        return total / len(P)

    return P.form(("centre",), make)


def _mark(centre: Any) -> bytes:
    return centre.cpu().numpy().tobytes()


def _norms(P: Points, centre: Any) -> Any:
    """‖x−c‖² in float64."""
    import torch

    def make() -> Any:
        parts = [
            (P.raw[i : i + _ROWS_AT_A_TIME].double() - centre).square().sum(1)
            for i in range(0, len(P), _ROWS_AT_A_TIME)
        ]
        return torch.cat(parts)

    return P.form(("norms", _mark(centre)), make)


def farthest(P: Points, centre: Any) -> float:
    return P.form(("largest", _mark(centre)), lambda: float(_norms(P, centre).max()))


def _coordinates(P: Points, scaled: tuple[Any, float] | None = None) -> Any:
    """(d, n) as given, or moved and scaled, padded with the first point."""

    def make() -> Any:
        out = P.raw.new_empty((P.width, padded(len(P))))
        for i in range(0, len(P), _ROWS_AT_A_TIME):
            x = P.raw[i : i + _ROWS_AT_A_TIME]
            out[:, i : i + len(x)] = (x if scaled is None else (x.double() - scaled[0]) * scaled[1]).T
        out[:, len(P) :] = out[:, :1]
        return out

    mark = None if scaled is None else (_mark(scaled[0]), scaled[1])
    return P.form(("coordinates", mark), make)


def padded_vector(v: Any, dtype: Any) -> Any:
    out = v.new_empty(padded(len(v)), dtype=dtype)
    out[: len(v)] = v
    out[len(v) :] = v[0]
    return out


def _scalar(scalar: Any, P: Points) -> Any:
    def make() -> Any:
        points = P.seen_through(scalar.view)
        values = np.array(scalar.compute(points.host()), dtype=np.float64)
        return padded_vector(upload(values, P.raw.device), P.raw.dtype)

    return P.form(("scalar", scalar.name, scalar.view), make)


# -- operands of the matrix units -------------------------------------------------------------------


def _depth(pieces: int, dtype: str) -> int:
    to = 16 if pieces <= RESIDENT_DEPTH[dtype] else 64
    return -(-pieces // to) * to


def _power(largest: float) -> float:
    """A power of two that brings numbers of this size into the middle of half precision's range."""
    if not 0 < largest < math.inf or 2.0**-4 <= largest <= 2.0**9:
        return 1.0
    return 2.0 ** (4 - math.frexp(largest)[1])


def _operand(P: Points, gain: float, centre: Any, side: int, precision: str, norm: float | None) -> tuple:
    """The packed matrix of one side, and norm/2·‖·‖² of the points it represents; without `norm`, ‖·‖².

    Being those of the points as represented, they leave products forth and back, and sums of squares, values
    of one matrix. In float64 the norms become two more columns, if there is a `norm`.
    """
    import torch

    mark = None if centre is None else _mark(centre)

    def make() -> tuple:
        n, d, rows = len(P), P.width, padded(len(P))
        single = P.raw.dtype == torch.float32
        pieces = (3 if precision != "fast" else 1) * d if single else d + (2 if norm is not None else 0)
        depth = _depth(pieces, "float32" if single else "float64")
        out = torch.zeros(
            (rows, depth), dtype=torch.float16 if single else torch.float64, device=P.raw.device
        )
        norms = torch.empty(n, dtype=torch.float64, device=P.raw.device)
        for i in range(0, n, _ROWS_AT_A_TIME):
            x = P.raw[i : i + _ROWS_AT_A_TIME].double()
            x = (x if centre is None else x - centre) * gain
            here = out[i : i + len(x)]
            if not single:
                here[:, :d] = x
                norms[i : i + len(x)] = x.square().sum(1)
                continue
            h = x.half()
            if precision == "fast":
                here[:, :d] = h
                norms[i : i + len(x)] = h.double().square().sum(1)
                continue
            low = (x - h.double()).half()
            # Small parts first: the matrix units cut sums off at the size of the largest term so far.
            first, second = (low, h) if side == 0 else (h, low)
            here[:, :d], here[:, d : 2 * d], here[:, 2 * d : 3 * d] = first, second, h
            h, low = h.double(), low.double()
            # ‖h+l‖² − ‖l‖² is what the three products give for a point with itself; for others ‖h+l‖² is.
            squares = (h + low).square() if norm is None else h * (h + 2 * low)
            norms[i : i + len(x)] = squares.sum(1)
        if norm is not None:
            norms *= norm / 2
            if not single:
                first, second = (norms, 1.0) if side == 0 else (1.0, norms)
                out[:n, d], out[:n, d + 1] = first, second
        out[n:] = out[0]
        return out, norms if norm is None else padded_vector(norms, P.raw.dtype)

    return P.form(("operand", gain, mark, side, precision, norm), make)


def _distance(leaf, x, z, centre, largest, dtype, precision, small, f, operands, code):
    """scale·‖x−z‖² = ∓gx·gz ± (‖gx‖² + ‖gz‖²)/2 with g² = 2|scale|."""
    sign = -1.0 if leaf.scale < 0 else 1.0
    gain = math.sqrt(2 * abs(leaf.scale))
    power = _power(math.sqrt(2 * largest)) if dtype == "float32" else 1.0
    norm = None if small else sign / power**2
    A, a = _operand(x, -sign * gain * power, centre, 0, precision, norm)
    B, b = _operand(z, gain * power, centre, 1, precision, norm)
    operands[f"A{f}"], operands[f"B{f}"] = A, B
    norms = dtype == "float32" and not small
    if norms:
        operands[f"a{f}"], operands[f"b{f}"] = a, b
    code = replace(code, kind="dot", depth=A.shape[1], norms=norms, factor=power != 1)
    return code, power**-2, (a, b)


def _inner(leaf, x, z, dtype, precision, f, operands, code):
    """scale·x·z."""
    powers = [1.0, 1.0]
    if dtype == "float32":
        scale = math.sqrt(abs(leaf.scale))
        powers = [_power(scale * P.form(("biggest",), lambda P=P: float(P.raw.abs().max()))) for P in (x, z)]
    gain = math.sqrt(abs(leaf.scale))
    operands[f"A{f}"], _ = _operand(x, math.copysign(gain * powers[0], leaf.scale), None, 0, precision, None)
    operands[f"B{f}"], _ = _operand(z, gain * powers[1], None, 1, precision, None)
    factor = 1 / (powers[0] * powers[1])
    depth = operands[f"A{f}"].shape[1]
    return replace(code, kind="dot", statistic="dot", depth=depth, factor=factor != 1), factor


def represented(formula: Formula, packed: DevicePacked, Z: Points, precision: str) -> Any:
    """The points that the columns of packed operands stand for, in float64; None where that is not one set.

    Rounding them leaves the kernel's values at these points, but for the rounding of the values themselves.
    """
    plain = len(formula.leaves) == 1 and not formula.scalars and not formula.leaves[0].view.chain
    leaf, made = formula.leaves[0], packed.code.leaves[0]
    if not plain or leaf.kind != "distance" or made.kind != "dot" or packed.code.dtype != "float32":
        return None
    B, d = packed.operands["B0"][: len(Z)].double(), Z.width
    parts = B[:, :d] if precision == "fast" else B[:, :d] + B[:, d : 2 * d]
    power = 1 / math.sqrt(float(packed.operands["C"][-1]))
    return middle(Z) + parts / (math.sqrt(2 * abs(leaf.scale)) * power)


# -- is that accurate enough? -----------------------------------------------------------------------


def sample(formula: Formula, X: Points, Z: Points) -> tuple[list[Any], list[Any], list[Any]]:
    """Values of leaves for some pairs, and of scalars for their points, in float64."""
    i, j = _sampled(X, Z)
    values = []
    for leaf in formula.leaves:
        x, z = (P.seen_through(leaf.view).raw for P in (X, Z))
        values.append(blocks.statistic(leaf, x[i].double(), z[j].double(), 0.0))
    rows, columns = ([v.double()[at] for v in scalars(formula, P)] for P, at in ((X, i), (Z, j)))
    return values, rows, columns


def scalars(formula: Formula, P: Points) -> list[Any]:
    """The formula's numbers of each point."""
    return [_scalar(s, P) for s in formula.scalars]


def _sampled(X: Points, Z: Points) -> list[Any]:
    import torch

    return [
        torch.linspace(0, len(P) - 1, min(len(P), size), device=P.raw.device).long()
        for P, size in zip((X, Z), _SAMPLE)
    ]


def _too_rough(formula, views, shown, X, Z, dtype, precision) -> bool:
    """Would distances from norms and products show in k? Measured on a sample of pairs, in float64."""
    import torch

    if not any(leaf.kind == "distance" for leaf in formula.leaves):
        return False
    i, j = _sampled(X, Z)
    values, rows, columns = sample(formula, X, Z)
    off = [torch.zeros_like(v) for v in values]
    for f, leaf in enumerate(formula.leaves):
        if leaf.kind != "distance":
            continue
        x, z, c = shown[views.index(leaf.view)]
        centre = middle(c)
        sizes = (x.raw[i].double() - centre).square().sum(1)[:, None]
        sizes = sizes + (z.raw[j].double() - centre).square().sum(1)
        if not bool(torch.isfinite(sizes).all()):
            return True
        off[f] = _ROUNDING[dtype] * max(1.0, x.width / 64) * leaf.scale * sizes
        if steep(formula, f):  # closer pairs than these are repaired
            off[f][values[f].abs() < CLOSE[dtype] * abs(leaf.scale) * sizes] = 0.0
    if precision == "fast":
        return False
    exact = blocks.evaluate(formula, values, rows, columns)
    moved = blocks.evaluate(formula, [v + e for v, e in zip(values, off)], rows, columns)
    size = float(exact.norm())
    return not float((moved - exact).norm()) <= _TOLERANCE[dtype] * size or size == 0.0
