"""The dual solver: exact, for losses with kinks."""

from mercer.solvers.dual.solver import Dual

__all__ = ["Dual"]
