"""Tracing a kernel: its formula, called with symbols (see `mercer.codegen.formula` for what comes of it)."""

from __future__ import annotations

from mercer.codegen.formula import Formula, PairTracer, View, overridden
from mercer.codegen.symbols import NotTraceable
from mercer.kernels.base import Kernel


def _require_own_formulas(kernel: Kernel) -> None:
    if type(kernel).formula is Kernel.formula:
        raise NotTraceable(f"{type(kernel).__name__} is no formula in vectors")
    if overridden(kernel, "formula", "pairwise"):
        raise NotTraceable(f"{type(kernel).__name__} has a pairwise of its own")
    for child in kernel.children().values():
        _require_own_formulas(child)


def trace(kernel: Kernel) -> Formula:
    """The formula of a resolved kernel.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Polynomial
    >>> formula = trace(Gaussian(2.0) + Polynomial(2))
    >>> [leaf.statistic.name for leaf in formula.leaves]
    ['‖x−z‖²', 'x·z']
    >>> trace(Gaussian(2.0)).structure == trace(Gaussian(1.0)).structure
    True
    """
    tracer = PairTracer()
    try:
        _require_own_formulas(kernel)
        return tracer.formula(kernel.formula(tracer, View()))
    except NotTraceable:
        raise
    except Exception as error:
        # A profile written for arrays alone; which error that gives depends on what it does with them.
        raise NotTraceable(f"its formula does not take symbols ({type(error).__name__}: {error})") from error
