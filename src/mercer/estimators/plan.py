"""Choosing representation and solver, and saying why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.engines import Engine, available_memory
from mercer.kernels.base import Kernel
from mercer.losses import Loss
from mercer.operators import STORED_SHARE
from mercer.representations import Features, Full, Nystrom, Representation
from mercer.representations.base import SMALL
from mercer.solvers import (
    CG,
    Cholesky,
    Coordinate,
    Dual,
    GradientDescent,
    IncompatibleError,
    Newton,
    Smoothing,
    Solver,
)
from mercer.solvers.forms import _DIRECT_EXAMPLES
from mercer.solvers.full import _MIXED_FROM
from mercer.solvers.preconditioners import low_rank_columns, sampled_rows
from mercer.solvers.primal_form import _DIRECT_FEATURES, _DIRECT_FLOPS

# Up to here an exact solution takes seconds on an ordinary machine.
_EXACT_LEAST_SQUARES = 10_000
_EXACT_OTHER = 5_000
# Losses with kinks: coefficients that are zero or at a bound cost little.
_EXACT_DUAL = 50_000
_EXACT_REMOTE = 200_000
_EXACT_DUAL_REMOTE = 500_000
# With centres or features the dual solver is exact, too, and quick up to here.
_DUAL_FEATURES = 1_000
_EXACT_JOINT = 3_000
# From here on conjugate gradients on the stored matrix are faster than factoring it.
_CG_FROM = 3_000
_LARGEST_PRIMAL_FACTOR = 8_000
# In float32, from so many centres, and so many examples for each of them, on, conjugate gradients beat
# the normal equations (which need float64).
_CG_CENTRES = 700
_CG_ROWS = 20
# Matrices of the size of the unknowns squared that a factored problem holds at once.
_SQUARES = 5
_PANELS = 512
_TILES = 64 << 20


@dataclass(frozen=True)
class Plan:
    """What will be (or was) done, why, and what it is expected to take.

    Attributes
    ----------
    representation, solver, engine : the objects chosen; None where a machine has no such choice
    examples, unknowns : n, and the number of coefficients per output
    memory : bytes expected beyond the data; 0 where there is no estimate
    flops : order of the arithmetic; 0 where there is no estimate
    reasons : one sentence each
    """

    representation: Any
    solver: Any
    engine: Engine
    examples: int
    unknowns: int
    memory: int
    flops: float
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        parts = [f"{part!r}" for part in (self.representation, self.solver) if part is not None]
        head = f"{' with '.join(parts) or 'the examples'} on {self.engine!r}: {self.examples:,} examples"
        if self.unknowns:
            head += f", {self.unknowns:,} unknowns"
        if self.flops:
            head += f", about {_bytes(self.memory)} and {self.flops:.0e} operations"
        return "\n".join([head, *(f"- {r}" for r in self.reasons)])


@dataclass(frozen=True)
class Sizes:
    """The shape of a problem, before anything is computed."""

    n: int
    d: int
    outputs: int
    itemsize: int
    single: bool = True
    points: int = 0  # bytes


def make_plan(
    kernel: Kernel,
    loss: Loss,
    representation: Representation | None,
    solver: Solver | None,
    engine: Engine,
    sizes: Sizes,
    memory: int | None = None,
) -> Plan:
    """Fill in what was left to "auto", within the memory that is free."""
    free = available_memory() if memory is None else memory
    reasons: list[str] = []
    if representation is None:
        representation = _choose_representation(kernel, loss, engine, sizes, free, reasons)
    else:
        reasons.append(f"{representation!r} was asked for")
    unknowns = representation.size(kernel, sizes.n, sizes.d)
    if solver is None:
        solver = _choose_solver(loss, representation, engine, unknowns, sizes, free, reasons)
    else:
        reasons.append(f"{solver!r} was asked for")
    refusal = solver.refusal(loss, representation.penalty)
    if refusal is not None:
        raise IncompatibleError(refusal)
    need = _memory(representation, solver, engine, unknowns, sizes, loss, free)
    if need > free:
        reasons.append(f"this may not fit: about {_bytes(need)} for {_bytes(free)} free")
    return Plan(
        representation,
        solver,
        engine,
        sizes.n,
        unknowns,
        need,
        _flops(representation, solver, unknowns, sizes),
        tuple(reasons),
    )


def _choose_representation(kernel, loss, engine, sizes, free, reasons) -> Representation:
    n, d = sizes.n, sizes.d
    p = kernel.expansion_size(d) if kernel.vectors else math.inf
    if p < n and p <= _LARGEST_PRIMAL_FACTOR:
        reasons.append(
            f"the kernel has {int(p)} explicit coordinates, fewer than the {n:,} examples: solved there"
        )
        return Features()
    limit = _EXACT_LEAST_SQUARES if loss.quadratic else _EXACT_JOINT if loss.joint else _EXACT_OTHER
    need = n * n * sizes.itemsize * (1 if loss.quadratic else 2)
    if engine.remote and loss.quadratic:
        limit, need = _EXACT_REMOTE, 0  # no matrix is kept, and products are fast
    if _kinked(loss):
        limit, need = (_EXACT_DUAL_REMOTE if engine.remote else _EXACT_DUAL), 0
    if _indexed(kernel):
        reasons.append("the kernel is given by its matrix: solved exactly")
        return Full()
    if n <= limit and need <= 0.6 * free:
        reasons.append(f"{n:,} examples (up to {limit:,}): solved exactly")
        return Full()
    chosen = Nystrom()
    m = chosen.size(kernel, n, d)
    most = max(int(math.sqrt(max(0.5 * (free - _vectors(sizes)), 0) / (_SQUARES * 8))), 1)
    if m > most:
        chosen, m = Nystrom(n_centres=most), most
    why = f"{n:,} examples are more than {limit:,}" if n > limit else f"the {n:,}×{n:,} matrix would not fit"
    limited = ", as many as memory allows" if m == most else ""
    reasons.append(
        f"{why}: {m:,} Nyström centres{limited}; representation='full' insists on the exact solution"
        ", random_state=… on the same centres each time"
    )
    return chosen


def _kinked(loss: Loss) -> bool:
    return not loss.smooth and loss.has_dual


def _indexed(kernel: Kernel) -> bool:
    from mercer.kernels import Finite, Precomputed

    return isinstance(kernel, (Finite, Precomputed))


def _choose_solver(loss, representation, engine, unknowns, sizes, free, reasons) -> Solver:
    if representation.penalty == "lasso":
        reasons.append("penalty λ‖c‖₁: coordinate descent")
        return Coordinate()
    if _kinked(loss):
        if isinstance(representation, Full):
            reasons.append(f"{loss!r} has kinks: its dual problem, by working sets")
            return Dual()
        if loss.prices_offset or (sizes.n <= _DUAL_FEATURES and not engine.remote):
            few = "" if loss.prices_offset else f", and {sizes.n:,} examples are few"
            reasons.append(f"{loss!r} has kinks{few}: its dual problem")
            return Dual()
        reasons.append(f"{loss!r} has kinks: rounded off more and more finely, to a stated duality gap")
        return Smoothing()
    if not loss.quadratic and loss.smooth and not loss.curved:
        reasons.append(f"{loss!r} has no second derivative: gradient descent")
        return GradientDescent()
    if not loss.quadratic:
        reasons.append(f"{loss!r}: Newton's method")
        return Newton()
    if isinstance(representation, Full):
        need = _memory(representation, Cholesky(), engine, unknowns, sizes, loss, free)
        if unknowns <= _CG_FROM and need <= 0.8 * free:
            reasons.append(f"the {unknowns:,}×{unknowns:,} matrix fits: factored")
            return Cholesky()
        stored = not engine.remote and CG().would_store(unknowns, sizes.single, free)
        how = "on the matrix kept in memory" if stored else f"without the matrix in memory ({_bytes(need)})"
        reasons.append(f"{unknowns:,} examples: conjugate gradients {how} beat a factorisation")
        return CG()
    if isinstance(representation, Nystrom) and engine.remote:
        reasons.append("centres on a GPU: conjugate gradients, preconditioned by their factored matrix")
        return CG()
    many = unknowns >= _CG_CENTRES and sizes.n >= _CG_ROWS * unknowns
    if isinstance(representation, Nystrom) and sizes.itemsize == 4 and many:
        reasons.append(
            f"{sizes.n:,} examples, {unknowns:,} centres: conjugate gradients, a few passes over the data, "
            "beat the normal equations"
        )
        return CG()
    if unknowns <= _LARGEST_PRIMAL_FACTOR:
        reasons.append(f"{unknowns:,} unknowns: normal equations, factored")
        return Cholesky()
    reasons.append(f"{unknowns:,} unknowns are too many to factor: conjugate gradients")
    return CG()


def _vectors(sizes: Sizes) -> int:
    """Bytes of what every solver has: tiles, a few vectors as long as y, and the machine's own points."""
    return _TILES + 6 * sizes.n * sizes.outputs * 8 + sizes.points


def _memory(representation, solver, engine, unknowns, sizes, loss, free) -> int:
    n = sizes.n
    item = 8 if n * unknowns <= SMALL else sizes.itemsize  # small problems are computed in float64
    small = _vectors(sizes)
    if engine.remote and not isinstance(representation, Features) and not isinstance(solver, Cholesky):
        # Matrices are the engine's; here are only vectors, and the points once more in float64.
        return small + 12 * n * sizes.d
    if isinstance(solver, Dual):
        kept = (
            min(int(solver.cache), n * n * item) if isinstance(representation, Full) else n * unknowns * item
        )
        return small + kept + 3 * min(solver.size(n), n) ** 2 * item
    if isinstance(representation, Full):
        panels = 3 * n * _PANELS * 8
        stored = n * n * item if n * n * item <= STORED_SHARE * free else 0
        if isinstance(solver, Cholesky):
            factor_item = 4 if n >= _MIXED_FROM else item
            return small + n * n * factor_item + panels
        if isinstance(solver, CG):
            kept = n * n * (4 if sizes.single else 8) if solver.would_store(n, sizes.single, free) else 0
            return small + kept + n * solver.default_rank(n) * item * 3 + panels
        if loss.joint:  # K, its factor, the way back to coefficients and a preconditioner, all float64
            return small + 6 * n * n * 8
        if isinstance(solver, Newton) and n <= _DIRECT_EXAMPLES:
            return small + stored + n * n * item + panels
        return small + stored + (n * low_rank_columns(n) * item * 3 if isinstance(solver, Newton) else 0)
    factored = unknowns <= _LARGEST_PRIMAL_FACTOR
    # Centres are made orthonormal whatever their number, which takes their matrix and its inverse root.
    square = unknowns * unknowns * 8 if factored or isinstance(representation, Nystrom) else 0
    # Only least squares in float32 computes K(X,Z) again at every pass.
    stores = isinstance(representation, Features) or item == 8 or not isinstance(solver, (Cholesky, CG))
    stored = n * unknowns * item if stores and n * unknowns * item <= STORED_SHARE * free else 0
    sample = sampled_rows(unknowns) * unknowns * 8 if isinstance(solver, CG) and factored else 0
    return small + stored + sample + (2 if isinstance(solver, GradientDescent) else _SQUARES) * square


def _flops(representation, solver, unknowns, sizes) -> float:
    n, p, t = sizes.n, float(unknowns), sizes.outputs
    pairs = n * p * (2 * sizes.d + 20)
    rounds = {Cholesky: 1, CG: 50, Newton: 100, Dual: 20, Smoothing: 60, GradientDescent: 1000}.get(
        type(solver), 100
    )
    if isinstance(representation, Full):
        factor = p**3 / 3 if isinstance(solver, Cholesky) else 0.0
        return pairs + factor + rounds * 2 * p * p * t
    direct = isinstance(solver, Cholesky) or (p <= _DIRECT_FEATURES and n * p * p <= _DIRECT_FLOPS)
    return pairs + (
        n * p * p * (1 if isinstance(solver, Cholesky) else 10 * t) if direct else rounds * 4 * n * p * t
    )


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def sizes_of(X: Any, outputs: int, kernel: Kernel) -> Sizes:
    """Sizes from checked points."""
    d = X.shape[1] if getattr(X, "ndim", 1) == 2 else 1
    dtype = getattr(X, "dtype", None)
    single = kernel.vectors and dtype == np.float32
    held = sum(a.nbytes for a in (X.data, X.indices, X.indptr)) if issparse(X) else getattr(X, "nbytes", 0)
    return Sizes(X.shape[0], d, outputs, 4 if single else 8, kernel.vectors, held)
