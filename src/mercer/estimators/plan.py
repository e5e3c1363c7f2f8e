"""Choosing representation and solver: candidates in order, and why each was taken or passed over."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import solvers
from mercer._memory import available_memory
from mercer._xp import issparse
from mercer.engines import Engine
from mercer.kernels import Finite, Precomputed
from mercer.kernels.base import Kernel
from mercer.losses import Loss
from mercer.posterior import PAIR_BYTES, Observations
from mercer.representations import Features, Full, Lasso, Nystrom, Representation
from mercer.rows import Rows
from mercer.solvers.cost import LARGEST_FACTOR, SQUARES, Shape, bytes_in_words
from mercer.solvers.interior_shares import MOST_TOGETHER, InteriorShares

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
# On a GPU a factor of so many rows takes about a second. Of more of them, in float32, conjugate gradients are
# tried first.
_DENSE_SINGLE = 40_000
# From here on conjugate gradients on the stored matrix are faster than factoring it.
_CG_FROM = 3_000
# In float32, from so many centres, and so many examples for each of them, on, conjugate gradients beat
# the normal equations (which need float64).
_CG_CENTRES = 700
_CG_ROWS = 20
# In sparse features the dual problem of more examples than this is solved without kernel values.
_FEW_SWEPT = 1_000
# Points in which features are counted before anything is decided, and how many of them are few.
_LOOKED_AT, _FEW_COUNTED = 5_000, 2_000
# Without a loss: up to here a pass over all pairs takes about a second; more on a GPU.
_ALL_PAIRS, _ALL_PAIRS_REMOTE = 30_000, 1_000_000
_LARGEST_EXPLICIT = 8_000
# Centres for examples that live elsewhere: a pass over a hundred million takes minutes with so many.
_CENTRES_ELSEWHERE = 2_000
# Of features or distances at a time: 32 MB of doubles.
_ENTRIES = 1 << 22


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
    passed_over : what was looked at before, in order, and what spoke against it

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> plan = KernelRidge(lam=0.1).plan(np.zeros((100, 2)), np.zeros(100))
    >>> plan.solver.name, plan.unknowns, plan.reasons[0]
    ('cholesky', 100, '100 examples (up to 10,000): solved exactly')
    """

    representation: Any
    solver: Any
    engine: Engine
    examples: int
    unknowns: int = 0
    memory: int = 0
    flops: float = 0.0
    reasons: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    # Why it can't be carried out, with a way out; "" if nothing is known against it.
    refusal: str = ""

    def __str__(self) -> str:
        parts = [f"{part!r}" for part in (self.representation, self.solver) if part is not None]
        head = f"{' with '.join(parts) or 'the examples'} on {self.engine!r}: {self.examples:,} examples"
        if self.unknowns:
            head += f", {self.unknowns:,} unknowns"
        if self.flops:
            head += f", about {bytes_in_words(self.memory)} and {self.flops:.0e} operations"
        return "\n".join([head, *(f"- {r}" for r in self.reasons)])


@dataclass(frozen=True)
class Option:
    """What could be done: why one would, and what speaks against it (nothing, if None)."""

    choice: Any
    reason: str
    objection: str | None = None


def make_plan(
    kernel: Kernel,
    loss: Loss,
    representation: Representation | None,
    solver: solvers.Solver | None,
    engine: Engine,
    sizes: Shape,
    memory: int | None = None,
) -> Plan:
    """Fill in what was left to "auto", within the memory that is free; `sizes` are those of the examples."""
    free = available_memory() if memory is None else memory
    sizes = replace(sizes, remote=engine.remote, joint=loss.joint, free=free)
    if engine.remote:
        there = engine.usable()
        sizes = replace(sizes, room=there.free_bytes(), single_faster=there.single_faster)
        sizes = replace(sizes, direct_rows=there.direct_rows)
    sizes = replace(sizes, quadratic=loss.quadratic, smooth=loss.smooth)
    reasons: list[str] = []
    passed: list[str] = []

    def first(candidates: Iterator[Option]) -> Any:
        for found in candidates:
            if found.objection is None:
                reasons.append(found.reason)
                return found.choice
            passed.append(f"{found.choice!r}: {found.objection}")
        raise AssertionError("the last candidate takes everything")

    if representation is None:
        representation = first(_representations(kernel, loss, sizes))
    else:
        reasons.append(f"{representation!r} was asked for")
    kinds = {Full: "full", Nystrom: "centres"}
    kind = next((name for known, name in kinds.items() if isinstance(representation, known)), "features")
    shape = replace(sizes, unknowns=representation.size(kernel, sizes.n, sizes.d), kind=kind)
    if isinstance(representation, Nystrom):
        reasons.append(_whence(representation, kernel, shape))
    if solver is None:
        solver = first(_solvers(loss, representation, shape))
    else:
        reasons.append(solver.reason or f"{solver!r} was asked for")
    refusal = solver.refusal(loss, representation.penalty) or _misplaced(representation, solver, shape)
    if refusal is not None:
        raise solvers.IncompatibleError(refusal)
    kept = solver.keeps(shape)
    reasons += [] if kept is None else [kept]
    cost = solver.cost(shape)
    if cost.memory > free:
        reasons.append(
            f"this may not fit: about {bytes_in_words(cost.memory)} for {bytes_in_words(free)} free"
        )
    return Plan(
        *(representation, solver, engine, sizes.n, shape.unknowns, cost.memory, cost.flops),
        *(tuple(reasons), tuple(passed), _too_large(solver, shape)),
    )


def _whence(representation: Nystrom, kernel: Kernel, shape: Shape) -> str:
    """How centres are chosen; of examples that live elsewhere among those of the first look."""
    among = " (among a uniform sample of the rows)" if shape.elsewhere else ""
    return representation.words(kernel, shape.n, shape.unknowns, shape.remote) + among


def _too_large(solver: solvers.Solver, shape: Shape) -> str:
    """Why the n×n matrices without which this solver can do nothing can't be had; "" if they can."""
    need = solver.indispensable(shape)
    if need <= shape.free:
        return ""
    return (
        f"solver {solver!r} with a coefficient for each of {shape.n:,} examples takes matrices of "
        f"{shape.n:,}×{shape.n:,}, {bytes_in_words(need)}, and {bytes_in_words(shape.free)} are free: "
        f"{solver.without_matrix}, or representation='nystrom', which has one coefficient a centre"
    )


def _misplaced(representation: Representation, solver: solvers.Solver, shape: Shape) -> str | None:
    """What speaks against this combination where the examples are; None if nothing does."""
    if not shape.elsewhere:
        return None
    if shape.full:
        return _one_each(representation, shape.n)
    through = isinstance(solver, solvers.Passes)
    return None if through else f"solver {solver!r} needs the examples in memory; use solver='passes'"


def _one_each(representation: Representation, n: int) -> str:
    return (
        f"{representation!r} has a coefficient for each of {n:,} examples, which live elsewhere: "
        "use representation='nystrom' or 'features', or load the examples into memory"
    )


def _representations(kernel: Kernel, loss: Loss, sizes: Shape) -> Iterator[Option]:
    n, d, remote, free = sizes.n, sizes.d, sizes.remote, sizes.free
    p = d if kernel.has_counts else kernel.expansion_size(d) if kernel.vectors else math.inf
    fewer = p < n and p <= (_FEW_COUNTED if kernel.has_counts else LARGEST_FACTOR)
    size = f"{p:,.0f} explicit coordinates" if p < math.inf else "no finite number of explicit coordinates"
    yield Option(
        Features(),
        f"the kernel has {p:.0f} explicit coordinates, fewer than the {n:,} examples: solved there",
        None if fewer else f"the kernel has {size}, for {n:,} examples",
    )
    if sizes.elsewhere:
        m = centres_elsewhere(n)
        yield Option(
            Nystrom(n_centres=m),
            f"{n:,} examples live elsewhere: {m:,} Nyström centres; Nystrom(n_centres=…) takes more or fewer",
        )
    if isinstance(kernel, (Finite, Precomputed)):
        yield Option(Full(), "the kernel is given by its matrix: solved exactly")
    if _swept(loss) and sizes.entries:
        yield Option(
            Features(),
            f"an example has {sizes.entries / n:,.0f} features that are not 0: solved in these, exactly",
            f"{n:,} examples are few" if n <= _FEW_SWEPT else None,
        )
    limit = _EXACT_LEAST_SQUARES if loss.quadratic else _EXACT_JOINT if loss.joint else _EXACT_OTHER
    if loss.simplex:
        limit = min(limit, MOST_TOGETHER // sizes.outputs)
    need = n * n * sizes.itemsize * (1 if loss.quadratic else 2)
    if remote and not loss.joint:
        # Matrices are kept there if at all, products are fast, and so are factors up to some size.
        limit, need = (_EXACT_REMOTE if loss.quadratic else max(sizes.direct_rows, _EXACT_OTHER)), 0
    if _kinked(loss):
        limit, need = (_EXACT_DUAL_REMOTE if remote else _EXACT_DUAL), 0
    objection = None
    if n > limit:
        objection = f"{n:,} examples are more than {limit:,}"
    elif need > 0.6 * free:
        objection = f"the {n:,}×{n:,} matrix would not fit"
    yield Option(Full(), f"{n:,} examples (up to {limit:,}): solved exactly", objection)
    if kernel.has_counts:
        yield Option(
            Features(),
            f"{objection}: solved in the sparse features of the kernel",
        )
    most = max(int(math.sqrt(max(0.5 * (free - sizes.vector_bytes), 0) / (SQUARES * 8))), 1)
    most = min(most, MOST_TOGETHER // sizes.outputs) if loss.simplex else most
    m = min(Nystrom().size(kernel, n, d), most)
    limited = ", as many as memory allows" if m == most else ""
    yield Option(
        Nystrom(n_centres=most) if m == most else Nystrom(),
        f"{objection}: {m:,} Nyström centres{limited}; representation='full' insists on the exact solution"
        ", random_state=… on the same centres each time",
    )


def centres_elsewhere(n: int) -> int:
    """How many centres n examples that live elsewhere get, if nobody says."""
    return min(Nystrom().size(None, n, 0), _CENTRES_ELSEWHERE)


def unknowns_elsewhere(representation: Representation | None, kernel: Kernel, n: int, d: int) -> int:
    """How many unknowns a plan for examples that live elsewhere will have."""
    if representation is not None:
        return representation.size(kernel, n, d)
    p = kernel.expansion_size(d)
    return int(p) if p < n and p <= LARGEST_FACTOR else centres_elsewhere(n)


def solver_in_memory(kernel: Kernel, loss: Loss, plan: Plan, X: Any, outputs: int) -> solvers.Solver:
    """What would solve the problem of a sample."""
    sizes = sizes_of(X, outputs, kernel)
    return make_plan(kernel, loss, plan.representation, None, plan.engine, sizes).solver


def _kinked(loss: Loss) -> bool:
    return not loss.smooth and loss.has_dual


def _swept(loss: Loss) -> bool:
    """Is the dual problem in sparse features the fastest way there is?"""
    return loss.has_dual and not loss.quadratic


def _solvers(loss: Loss, representation: Representation, shape: Shape) -> Iterator[Option]:
    if shape.elsewhere:
        steps = "quasi-Newton steps upon the Hessian of a sample"
        if not loss.smooth:
            steps = (
                f"{loss!r} has kinks: examples near one are fetched and solved for, to a stated duality gap"
            )
        yield Option(solvers.Passes(), f"{steps}, a pass over all rows each")
    lasso = representation.penalty == "lasso"
    other = None if lasso else "the penalty is λ‖f‖², not λ‖c‖₁"
    yield Option(
        solvers.Interior(),
        f"penalty λ‖c‖₁, {loss!r} has kinks: an interior-point method",
        other if not lasso or _kinked(loss) else f"{loss!r} has no kinks",
    )
    yield Option(solvers.Coordinate(), "penalty λ‖c‖₁: coordinate descent", other)
    if _swept(loss) and shape.sparse and shape.unknowns > _FEW_COUNTED:  # fewer can be factored
        yield Option(solvers.Dual(), f"{loss!r}, sparse features: its dual problem, an example at a time")
    if loss.simplex:
        said = f"{loss!r} is a maximum over shares of classes: an interior-point method"
        yield Option(InteriorShares(), said)
    if _kinked(loss):
        yield from _for_kinks(loss, shape)
    if not loss.quadratic:
        bent = loss.curved or not loss.smooth
        yield Option(
            solvers.GradientDescent(),
            f"{loss!r} has no second derivative: gradient descent",
            f"{loss!r} has second derivatives, and Newton's method takes fewer steps" if bent else None,
        )
        yield Option(solvers.Newton(), f"{loss!r}: Newton's method")
    yield from _for_least_squares(shape)


def _for_kinks(loss: Loss, shape: Shape) -> Iterator[Option]:
    if shape.full:
        yield Option(solvers.Dual(), f"{loss!r} has kinks: its dual problem, by working sets")
    few = shape.n <= _DUAL_FEATURES and not shape.remote
    why = "" if loss.priced else f", and {shape.n:,} examples are few"
    yield Option(
        solvers.Dual(),
        f"{loss!r} has kinks{why}: its dual problem",
        None if loss.priced or few else f"{shape.n:,} examples are many for one pair after the other",
    )
    yield Option(
        solvers.Smoothing(), f"{loss!r} has kinks: rounded off more and more finely, to a stated duality gap"
    )


def _for_least_squares(shape: Shape) -> Iterator[Option]:
    n, p = shape.n, shape.unknowns
    if shape.full and shape.remote:
        yield from _for_least_squares_remote(shape)
    if shape.full:
        need = solvers.Cholesky().cost(shape).memory
        many = f"{p:,} examples are more than {_CG_FROM:,}" if p > _CG_FROM else None
        large = f"a factor takes {bytes_in_words(need)}" if need > 0.8 * shape.free else None
        yield Option(solvers.Cholesky(), f"the {p:,}×{p:,} matrix fits: factored", many or large)
        stored = solvers.CG().would_store(p, shape.float32, shape.free)
        how = (
            "on the matrix kept in memory"
            if stored
            else f"without the matrix in memory ({bytes_in_words(need)})"
        )
        yield Option(solvers.CG(), f"{p:,} examples: conjugate gradients {how} beat a factorisation")
    if shape.kind == "centres" and shape.remote:
        yield Option(
            solvers.CG(), "centres on a GPU: conjugate gradients, preconditioned by their factored matrix"
        )
    if shape.kind == "centres" and shape.itemsize == 4 and p >= _CG_CENTRES and n >= _CG_ROWS * p:
        yield Option(
            solvers.CG(),
            f"{n:,} examples, {p:,} centres: conjugate gradients, a few passes over the data, "
            "beat the normal equations",
        )
    yield Option(
        solvers.Cholesky(),
        f"{p:,} unknowns: normal equations, factored",
        None if p <= LARGEST_FACTOR else f"{p:,} unknowns are too many to factor",
    )
    yield Option(solvers.CG(), f"{p:,} unknowns are too many to factor: conjugate gradients")


def _for_least_squares_remote(shape: Shape) -> Iterator[Option]:
    """Where K is computed on a GPU it is factored there, too, if it fits."""
    n, item = shape.n, shape.item_there
    objection = None
    if item is None:
        need, free = bytes_in_words(shape.factored(8)), bytes_in_words(shape.room)
        objection = f"K takes {need}, and the GPU has {free} free"
    elif n > _DENSE_SINGLE and shape.itemsize == 4:
        objection = f"{n:,} examples in float32: fewer products than a factor costs may do"
    yield Option(solvers.Cholesky(), f"the {n:,}×{n:,} matrix fits on the GPU: factored there", objection)
    after = ", and a factor if they lead nowhere" if item is not None else ""
    yield Option(
        solvers.CG(), f"{objection}: conjugate gradients on the GPU without the matrix in memory{after}"
    )


def sizes_of(X: Any, outputs: int, kernel: Kernel) -> Shape:
    """What is known of checked points before a representation is chosen."""
    d, entries = X.shape[1] if getattr(X, "ndim", 1) == 2 else 1, 0
    if kernel.has_counts:
        some = X[:: max(X.shape[0] // _LOOKED_AT, 1)]
        counts = kernel.resolve(some).counts(some)
        d, entries = max(len(counts.vocabulary), 1), len(counts.ids) * X.shape[0] // max(len(some), 1)
    elif issparse(X) and kernel.vectors and kernel.expansion_size(d) == d:
        entries = X.nnz  # features are the coordinates themselves
    dtype = getattr(X, "dtype", None)
    single = kernel.vectors and dtype == np.float32
    held = sum(a.nbytes for a in (X.data, X.indices, X.indptr)) if issparse(X) else getattr(X, "nbytes", 0)
    return Shape(
        X.shape[0], d, outputs, 0, "", 4 if single else 8, kernel.vectors, points=held, entries=entries
    )


# -- machines without a loss or a penalty: k-means, principal components ------------------------------------


def representation_without_loss(
    asked: Representation | None, kernel: Kernel, points: Any, engine: Engine, centres: int | None = None
) -> tuple[Representation, str]:
    """The representation asked for, or one for "auto" (with so many centres, where it has such), and why.

    Points may be `Rows` that live elsewhere.
    """
    if isinstance(asked, Lasso):
        raise ValueError(
            "there is no penalty here: Features() in place of Lasso(), or representation='features'"
        )
    n, elsewhere = points.shape[0], isinstance(points, Rows)
    if asked is not None:
        asked.validate()
        if elsewhere and isinstance(asked, Full):
            raise ValueError(_one_each(asked, n))
        return asked, "asked for"
    if has_few_coordinates(kernel, points) and own_coordinates(kernel, points) < n:
        p = int(own_coordinates(kernel, points))
        return Features(), f"the kernel has {p} coordinates, fewer than the {n:,} points"
    if elsewhere:
        m = min(n, centres or centres_elsewhere(n))
        return Nystrom(m), f"{n:,} points live elsewhere: {m:,} centres; Nystrom(n_centres=…) takes others"
    limit = _ALL_PAIRS_REMOTE if engine.remote else _ALL_PAIRS
    if n <= limit or isinstance(kernel, Finite):
        return Full(), f"{n:,} points (up to {limit:,})"
    why = f"{n:,} points are more than {limit:,}; representation='full' insists on all of them"
    return Nystrom(centres), why


def parts_of(n: int, width: int) -> Iterator[slice]:
    """All n rows, as many at a time as have a few million entries."""
    step = max(_ENTRIES // max(width, 1), 1)
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def own_coordinates(kernel: Kernel, points: Any) -> float:
    """How many coordinates the kernel itself has on such points; infinity where they aren't known."""
    return kernel.expansion_size(points.shape[1]) if kernel.vectors else math.inf


def has_few_coordinates(kernel: Kernel, points: Any) -> bool:
    """May all of the kernel's own coordinates be written down?"""
    return own_coordinates(kernel, points) <= _LARGEST_EXPLICIT


def posterior_method(seen: Observations) -> str:
    """What `posterior(method="auto")` means: all pairs of examples where memory holds them, else samples.

    The memory is that of the GPU where K is computed there.
    """
    if not seen.full:
        return "dtc"
    free = seen.A.free_bytes() if seen.A.remote else available_memory()
    fits = PAIR_BYTES * len(seen.y) ** 2 <= free
    return "exact" if fits else "pathwise"
