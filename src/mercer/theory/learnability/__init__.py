"""What can be learned: classes of hypotheses, how many examples are enough, shattering, the game.

>>> from mercer.theory.learnability import HalfSpaces, shatters
>>> bool(shatters(HalfSpaces(2), [[0, 0], [1, 0], [0, 1]]))
True
"""

from mercer.theory.learnability.classes import HypothesisClass, Inconsistent, UserClass, sauer_bound
from mercer.theory.learnability.conjunctions import Conjunction, Conjunctions
from mercer.theory.learnability.game import Game, WrongMove
from mercer.theory.learnability.halfspaces import HalfSpaces, PolynomialHalfSpaces, PolynomialSet
from mercer.theory.learnability.intervals import (
    Box,
    Interval,
    Intervals,
    IntervalUnion,
    LeftIntervals,
    Rectangles,
    UnionsOfIntervals,
)
from mercer.theory.learnability.kernel_halfspaces import KernelHalfSpaces, KernelSet
from mercer.theory.learnability.pac import ConsistentLearner, sample_size
from mercer.theory.learnability.shattering import Shattering, VCDimension, dichotomies, shatters, vc_dimension
from mercer.theory.learnability.simulation import BooleanCube, Sampled, Simulation, UniformBox, simulate

__all__ = [
    "BooleanCube",
    "Box",
    "Conjunction",
    "Conjunctions",
    "ConsistentLearner",
    "Game",
    "HalfSpaces",
    "HypothesisClass",
    "Inconsistent",
    "Interval",
    "IntervalUnion",
    "Intervals",
    "KernelHalfSpaces",
    "KernelSet",
    "LeftIntervals",
    "PolynomialHalfSpaces",
    "PolynomialSet",
    "Rectangles",
    "Sampled",
    "Shattering",
    "Simulation",
    "UniformBox",
    "UnionsOfIntervals",
    "UserClass",
    "VCDimension",
    "WrongMove",
    "dichotomies",
    "sample_size",
    "sauer_bound",
    "shatters",
    "simulate",
    "vc_dimension",
]
