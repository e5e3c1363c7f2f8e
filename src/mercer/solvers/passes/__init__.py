"""Solving over examples that live elsewhere, a pass over them a step."""

from mercer.solvers.passes.solver import Passes

__all__ = ["Passes"]
