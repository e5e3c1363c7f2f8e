"""Solvers: from a Problem to a Solution with its certificate."""

from mercer.solvers.base import ConvergenceWarning, IncompatibleError, Solver
from mercer.solvers.certify import certify
from mercer.solvers.cg import CG
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.coordinate import Coordinate
from mercer.solvers.descent import GradientDescent
from mercer.solvers.dual import Dual
from mercer.solvers.interior import Interior
from mercer.solvers.journal import Checkpoint, CheckpointError
from mercer.solvers.newton import Newton
from mercer.solvers.passes import Passes
from mercer.solvers.problem import Certificate, Problem, Solution, Support
from mercer.solvers.smoothing import Smoothing

__all__ = [
    "CG",
    "Certificate",
    "Checkpoint",
    "CheckpointError",
    "Cholesky",
    "ConvergenceWarning",
    "Coordinate",
    "Dual",
    "GradientDescent",
    "IncompatibleError",
    "Interior",
    "Newton",
    "Passes",
    "Problem",
    "Smoothing",
    "Solution",
    "Solver",
    "Support",
    "certify",
]
