"""Machines that learn one example at a time: steps, budgets, and what they promise."""

from mercer.online.algorithms import (
    forgetron,
    krls,
    norma,
    passive_aggressive,
    pegasos,
    perceptron,
    projectron,
)
from mercer.online.budgets import (
    AtRandom,
    Budget,
    Forgetron,
    Merge,
    Oldest,
    Projection,
    Smallest,
    Unlimited,
    Window,
)
from mercer.online.classification import OnlineKernelClassifier
from mercer.online.drift import MeanShift
from mercer.online.encoding import Encoding
from mercer.online.mistakes import Mistakes
from mercer.online.record import progressive
from mercer.online.regression import OnlineKernelRegressor
from mercer.online.regret import Regret, regret
from mercer.online.steps import Constant, InverseRoot, PassiveAggressive, Pegasos, Recursive, Step
from mercer.online.tally import Tally

__all__ = [
    "AtRandom",
    "Budget",
    "Constant",
    "Encoding",
    "Forgetron",
    "InverseRoot",
    "MeanShift",
    "Merge",
    "Mistakes",
    "Oldest",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "PassiveAggressive",
    "Pegasos",
    "Projection",
    "Recursive",
    "Regret",
    "Smallest",
    "Step",
    "Tally",
    "Unlimited",
    "Window",
    "forgetron",
    "krls",
    "norma",
    "passive_aggressive",
    "pegasos",
    "perceptron",
    "progressive",
    "projectron",
    "regret",
]
