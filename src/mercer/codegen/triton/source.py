"""Triton source text from a traced formula, compiled once per structure.

Every kernel is the same loop: a block of rows stays on chip, blocks of columns pass by. Of each pair
of blocks the statistics are computed (matrix units, or coordinate by coordinate), then the formula, and
the values are used at once: multiplied with columns of V, or written out as K.
"""

from __future__ import annotations

import itertools
import linecache
from functools import lru_cache
from typing import Any

from mercer.codegen.triton.code import CLOSE, RESIDENT_DEPTH, SUMMED, TOGETHER, UNROLLED, Code, LeafCode
from mercer.codegen.triton.programme import statements

_serial = itertools.count()


def chunks(depth: int, dtype: str) -> list[int]:
    """Powers of two that add up to the depth: 48 = 32 + 16."""
    sizes = (64, 32, 16) if dtype == "float32" else (32, 16)
    out = []
    while depth > 0:
        out.append(next(s for s in sizes if s <= max(depth, 16)))
        depth -= out[-1]
    return out


def step(dtype: str) -> int:
    """Inner step of products too deep to keep on chip."""
    return 64 if dtype == "float32" else 16


@lru_cache(maxsize=256)
def compiled(code: Code) -> Any:
    """The Triton kernel of this code."""
    import triton
    import triton.language as tl

    text = source(code)
    file = f"<mercer kernel {next(_serial)}>"
    # @triton.jit reads its function's source through linecache.
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names: dict[str, Any] = {"tl": tl, "triton": triton}
    if not code.native:
        names["range"] = _interpreted_range
    exec(compile(text, file, "exec"), names)
    return names["kernel"]


def _interpreted_range(*ends: Any) -> range:
    """`range` for Triton's interpreter, whose numbers are arrays of length one."""
    return range(*[int(e.handle.data.item()) if hasattr(e, "handle") else int(e) for e in ends])


def arguments(code: Code) -> list[str]:
    """Names of the kernel's arguments, in order; the launcher looks them up."""
    names = ["O", "V", "C"]
    for f, leaf in enumerate(code.leaves):
        if leaf.kind == "dot":
            names += [f"A{f}", f"B{f}"]
        if leaf.norms or leaf.repair:
            names += [f"a{f}", f"b{f}"]
        if leaf.repair:
            names.append(f"m{f}")
    for v in code.views:
        names += [f"P{v}", f"Q{v}"]
    for k in range(code.scalars):
        names += [f"r{k}", f"c{k}"]
    if _needs_layout(code):
        names.append("N")
    return names + ["n", "m", "per", "ldo", "ldv", "ldp", "ldq"]


def _needs_layout(code: Code) -> bool:
    """A product of zeros makes the compiler lay tiles out as the matrix units do, which suits differences."""
    return code.native and any(leaf.kind == "direct" for leaf in code.leaves)


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 1

    def __call__(self, *lines: str) -> None:
        self.lines += ["    " * self.indent + line for line in lines]


def source(code: Code) -> str:
    """The text of the kernel."""
    w = _Writer()
    w("zero = tl.program_id(0).to(tl.int64) * 0")  # makes offsets 64 bits wide
    w("i0 = tl.program_id(0) * BM + zero", "ii = tl.arange(0, BM)", "jj = tl.arange(0, BN)")
    _prologue(w, code)
    if code.mode == "matrix":
        w("j0 = tl.program_id(1) * BN")
        _tile(w, code)
        w(
            "keep = (i0 + ii < n)[:, None] & (j0 + jj < m)[None, :]",
            "tl.store(O + i0 * ldo + j0 + ii[:, None] * ldo + jj[None, :], value, mask=keep)",
        )
    elif code.wide:
        _wide(w, code)
    elif code.mode == "product":
        _sums(w, code)
        w("lo = tl.program_id(1) * per", "hi = tl.minimum(lo + per, m)", _over_columns(code))
        w.indent += 1
        _columns_loaded(w, code)
        _tile(w, code)
        for c in range(code.columns):
            w(_added(code, c))
        w.indent -= 1
        for c in range(code.columns):
            w(
                f"at = O + (tl.program_id(1) * {code.columns} + {c} + zero) * ldo + i0 + ii",
                f"tl.store(at, {f'acc{c}' if code.deep else f'tl.sum(acc{c}, axis=1)'}, mask=i0 + ii < n)",
            )
    else:
        _symmetric(w, code)
    head = ", ".join(arguments(code)) + ", BM: tl.constexpr, BN: tl.constexpr"
    return "\n".join(["@triton.jit", f"def kernel({head}):", *w.lines]) + "\n"


def _wide(w: _Writer, code: Code) -> None:
    """All columns of V at once.

    Where V is more precise than sums in float32, these are taken of so many columns, and added up with what
    rounding loses: they are large beside what is added to them, and in linear systems they cancel.
    """
    compensated = code.compensated
    zeros = f"tl.zeros((BM, {code.columns}), dtype=tl.{code.dtype})"
    w(f"tt = tl.arange(0, {code.columns})", "lo = tl.program_id(1) * per", "hi = tl.minimum(lo + per, m)")
    if compensated:
        w(f"total = {zeros}", f"lost = {zeros}", f"for j1 in range(lo, hi, {SUMMED}):")
        w.indent += 1
    w(f"acc = {zeros}")
    w(f"for j0 in range({f'j1, j1 + {SUMMED}' if compensated else 'lo, hi'}, BN):")
    w.indent += 1
    _tile(w, code)
    _multiplied(w, code)
    w.indent -= 1
    if compensated:
        w("sum_ = total + acc", "back = sum_ - total")
        w("lost += (total - (sum_ - back)) + (acc - back)", "total = sum_")
        w.indent -= 1
        w("acc = total + lost")
    w(
        f"at = (tl.program_id(1) * {code.columns} + tt + zero)[None, :] * ldo + (i0 + ii)[:, None]",
        "tl.store(O + at, acc, mask=(i0 + ii < n)[:, None])",
    )


def _multiplied(w: _Writer, code: Code) -> None:
    """The block's values times columns of V, on the matrix units, added to the sums."""
    if code.halves:
        # Cut by a mask: a cast to half precision and back may be folded away, and the low part with it.
        # The units cut sums off instead of rounding them: what is small comes first, and sums of a block
        # leave them to be added up in float32.
        w(
            f"v = tl.load(V + (j0 + jj + zero)[:, None] * {code.columns} + tt[None, :])",
            "high = (value.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)",
            "part = tl.dot((value - high).to(tl.float16), v)",
            "acc += tl.dot(high.to(tl.float16), v, part)",
        )
        return
    w("v = tl.load(V + tt[None, :] * (ldv + zero) + (j0 + jj)[:, None])")
    kind = 'input_precision="tf32x3"' if code.dtype == "float32" else "out_dtype=tl.float64"
    w(f"acc = tl.dot(value, v, acc, {kind})")


def _over_columns(code: Code) -> str:
    """The loop over blocks of columns; several a turn mean fewer barriers."""
    if code.unroll > 1:
        return f"for j0 in tl.range(lo, hi, BN, loop_unroll_factor={code.unroll}):"
    return "for j0 in range(lo, hi, BN):"


def _sums(w: _Writer, code: Code) -> None:
    # Deep products leave no registers for sums of pairs; there a sum per row and block costs little.
    size = "(BM,)" if code.deep and code.mode == "product" else f"(BM, BN // {code.fold})"
    w(*[f"acc{c} = tl.zeros({size}, dtype=tl.{code.dtype})" for c in range(code.columns)])


def _added(code: Code, c: int) -> str:
    """The block's values times column c of V, added to its sums."""
    term = f"value * v{c}[None, :]"
    if code.deep and code.mode == "product":
        term = f"tl.sum({term}, axis=1)"
    elif code.fold > 1:  # columns a quarter of a block apart lie in one thread: fewer registers, no exchange
        term = f"tl.sum(tl.reshape({term}, (BM, {code.fold}, BN // {code.fold})), axis=1)"
    return f"acc{c} += {term}"


def _columns_loaded(w: _Writer, code: Code) -> None:
    w(*[f"v{c} = tl.load(V + {c} * (ldv + zero) + j0 + jj)" for c in range(code.columns)])


def _symmetric(w: _Writer, code: Code) -> None:
    """Row block b meets blocks b+1 … b+⌊blocks/2⌋ round the circle; a tile serves rows and columns.

    `n` counts padded rows, `m` blocks of BM rows, `per` half of them, rounded down.
    """
    _sums(w, code)
    w("b = tl.program_id(0)")
    w(*[f"u{c} = tl.load(V + {c} * (ldv + zero) + i0 + ii)" for c in range(code.columns)])
    for diagonal in (True, False):
        if diagonal:
            w("for q in range(0, BM // BN):")
        else:
            # With an even number of blocks the opposite block is met from one side only.
            w("half = per - tl.where((m % 2 == 0) & (b >= m // 2), 1, 0)")
            w("for q in range(0, half * (BM // BN)):")
        w.indent += 1
        if diagonal:
            w("j0 = i0 + q * BN")
        else:
            w("j0 = (b + 1) * BM + q * BN + zero", "j0 = tl.where(j0 >= n, j0 - n, j0)")
        _columns_loaded(w, code)
        _tile(w, code)
        w(*[_added(code, c) for c in range(code.columns)])
        if not diagonal:
            for c in range(code.columns):
                w(
                    f"tl.atomic_add(O + {c} * (ldo + zero) + j0 + jj,"
                    f' tl.sum(value * u{c}[:, None], axis=0), sem="relaxed")'
                )
        w.indent -= 1
    for c in range(code.columns):
        w(f'tl.atomic_add(O + {c} * (ldo + zero) + i0 + ii, tl.sum(acc{c}, axis=1), sem="relaxed")')


def _prologue(w: _Writer, code: Code) -> None:
    """What belongs to the row block, and the numbers."""
    w(*[f"{name} = tl.load(C + {k})" for k, name in enumerate(numbers(code))])
    for f, leaf in enumerate(code.leaves):
        if leaf.kind == "dot" and leaf.depth <= RESIDENT_DEPTH[code.dtype]:
            at = 0
            for c, size in enumerate(chunks(leaf.depth, code.dtype)):
                inner = f"({at} + tl.arange(0, {size}))"
                place = f"i0 * {leaf.depth} + ii[:, None] * {leaf.depth} + {inner}[None, :]"
                w(f"x{f}_{c} = tl.load(A{f} + {place})")
                at += size
        if leaf.norms or leaf.repair:
            w(f"an{f} = tl.load(a{f} + i0 + ii)")
        if leaf.repair:
            w(f"far{f} = tl.{'min' if leaf.negative else 'max'}(an{f}, axis=0)")
    for v in code.views:
        width = next(leaf.width for leaf in code.leaves if leaf.view == v and leaf.points)
        if width <= UNROLLED and any(f.kind == "direct" and f.view == v for f in code.leaves):
            w(*[f"p{v}_{k} = tl.load(P{v} + {k} * (ldp + zero) + i0 + ii)" for k in range(width)])
    w(*[f"row{k} = tl.load(r{k} + i0 + ii)" for k in range(code.scalars)])
    if _needs_layout(code):
        element = "ii[:, None] * 16 + tl.arange(0, 16)[None, :]"
        w(f"n0 = tl.load(N + {element})")
        w("n1 = tl.load(N + jj[None, :] * 16 + tl.arange(0, 16)[:, None])")


def numbers(code: Code) -> list[str]:
    """Names of the entries of the array of constants, in order."""
    names = [f"k{o[1]}" for o in code.instructions if o[0] == "constant"]
    names = sorted(set(names), key=lambda s: int(s[1:]))
    names += [f"{what}{f}" for f in range(len(code.leaves)) for what in ("scale", "factor")]
    for f, leaf in enumerate(code.leaves):
        inner = sorted({o[1] for o in leaf.term if o[0] == "constant"})
        names += [f"k{f}_{i}" for i in inner]
    return names + ["lift"] * code.lift


def _tile(w: _Writer, code: Code) -> None:
    """value = k(x_i, z_j) for the block at (i0, j0)."""
    for k in range(code.scalars):
        w(f"column{k} = tl.load(c{k} + j0 + jj)")
    for v in code.views:
        width = next(leaf.width for leaf in code.leaves if leaf.view == v and leaf.points)
        if width <= UNROLLED and any(f.kind == "direct" and f.view == v for f in code.leaves):
            w(*[f"q{v}_{k} = tl.load(Q{v} + {k} * (ldq + zero) + j0 + jj)" for k in range(width)])
    for f, leaf in enumerate(code.leaves):
        (_dot if leaf.kind == "dot" else _direct)(w, code, f, leaf)
    result = statements(w, code, code.instructions, "t", code.bounded)
    w(f"value = {result}" if not code.lift else f"value = ({result}) * lift")


def _dot(w: _Writer, code: Code, f: int, leaf: LeafCode) -> None:
    kind = ", out_dtype=tl.float64" if code.dtype == "float64" else ""
    if leaf.depth <= RESIDENT_DEPTH[code.dtype]:
        sizes = chunks(leaf.depth, code.dtype)
        at = 0
        for c, size in enumerate(sizes):
            inner = f"({at} + tl.arange(0, {size}))"
            place = f"(j0 + zero) * {leaf.depth} + jj[None, :] * {leaf.depth} + {inner}[:, None]"
            w(f"z{f}_{c} = tl.load(B{f} + {place})")
            at += size
        for c in range(len(sizes)):
            w(f"s{f} = tl.dot(x{f}_{c}, z{f}_{c}" + (f", s{f}" if c else "") + kind + ")")
    else:
        size = step(code.dtype)
        w(f"s{f} = tl.zeros((BM, BN), dtype=tl.{code.dtype})", f"for h in range(0, {leaf.depth}, {size}):")
        w.indent += 1
        w(f"inner = h + tl.arange(0, {size})")
        w(f"xc = tl.load(A{f} + i0 * {leaf.depth} + ii[:, None] * {leaf.depth} + inner[None, :])")
        w(f"zc = tl.load(B{f} + (j0 + zero) * {leaf.depth} + jj[None, :] * {leaf.depth} + inner[:, None])")
        w(f"s{f} = tl.dot(xc, zc, s{f}{kind})")
        w.indent -= 1
    if leaf.factor:
        w(f"s{f} = s{f} * factor{f}")
    if leaf.norms:
        w(f"bn{f} = tl.load(b{f} + j0 + jj)", f"s{f} = s{f} + (an{f}[:, None] + bn{f}[None, :])")
    # Close pairs are computed again, those that rounding leaves below 0 among them.
    kept = code.small or (code.halves and not code.lift) or leaf.repair
    if leaf.statistic == "distance" and not kept:
        w(f"s{f} = tl.{'minimum' if leaf.negative else 'maximum'}(s{f}, 0.0)")
    if leaf.repair:
        _repair(w, code, f, leaf)


def _repair(w: _Writer, code: Code, f: int, leaf: LeafCode) -> None:
    """Pairs so close that rounding shows are computed again from their differences."""
    close, most, than = repr(CLOSE[code.dtype]), *(("max", ">") if leaf.negative else ("min", "<"))
    # The farthest rows and columns say how close the closest pair may be: one comparison a pair.
    w(f"bound{f} = {close} * (far{f} + tl.load(m{f} + j0 // {TOGETHER}))")
    w(f"if tl.{most}(tl.{most}(s{f}, axis=1), axis=0) {than} bound{f}:")
    w.indent += 1
    if not leaf.norms:
        w(f"bn{f} = tl.load(b{f} + j0 + jj)")
    w(f"near{f} = {close} * (an{f}[:, None] + bn{f}[None, :])")
    w(f"e{f} = tl.zeros((BM, BN), dtype=tl.{code.dtype})", f"for h in range(0, {leaf.width}):")
    w.indent += 1
    w(f"xh = tl.load(P{leaf.view} + h * (ldp + zero) + i0 + ii)")
    w(f"zh = tl.load(Q{leaf.view} + h * (ldq + zero) + j0 + jj)")
    w("dh = xh[:, None] - zh[None, :]", f"e{f} += dh * dh")
    w.indent -= 1
    w(f"s{f} = tl.where(s{f} {than} near{f}, e{f} * scale{f}, s{f})")
    w.indent -= 1


def _direct(w: _Writer, code: Code, f: int, leaf: LeafCode) -> None:
    unrolled = leaf.width <= UNROLLED
    if _needs_layout(code):
        w(f"s{f} = tl.dot(n0, n1" + (", out_dtype=tl.float64)" if code.dtype == "float64" else ")"))
    else:
        w(f"s{f} = tl.zeros((BM, BN), dtype=tl.{code.dtype})")
    if not unrolled:
        w(f"for h in range(0, {leaf.width}):")
        w.indent += 1
        w(f"xh = tl.load(P{leaf.view} + h * (ldp + zero) + i0 + ii)")
        w(f"zh = tl.load(Q{leaf.view} + h * (ldq + zero) + j0 + jj)")
    for k in range(leaf.width if unrolled else 1):
        x, z = (f"p{leaf.view}_{k}", f"q{leaf.view}_{k}") if unrolled else ("xh", "zh")
        if leaf.statistic == "distance":
            sign = "-" if leaf.unit and leaf.negative else "+"
            w(f"d{f} = {x}[:, None] - {z}[None, :]", f"s{f} = s{f} {sign} d{f} * d{f}")
        else:
            result = statements(
                w, code, leaf.term, f"g{f}_", frozenset(), f"{x}[:, None]", f"{z}[None, :]", f
            )
            w(f"s{f} = s{f} + {result}")
    if not unrolled:
        w.indent -= 1
    if not leaf.unit:
        w(f"s{f} = s{f} * scale{f}")
