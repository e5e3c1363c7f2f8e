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
from mercer.online.machine import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.online.mistakes import Mistakes
from mercer.online.steps import Constant, InverseRoot, PassiveAggressive, Pegasos, Recursive, Step

__all__ = [
    "AtRandom",
    "Budget",
    "Constant",
    "Forgetron",
    "InverseRoot",
    "Merge",
    "Mistakes",
    "Oldest",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "PassiveAggressive",
    "Pegasos",
    "Projection",
    "Recursive",
    "Smallest",
    "Step",
    "Unlimited",
    "Window",
    "forgetron",
    "krls",
    "norma",
    "passive_aggressive",
    "pegasos",
    "perceptron",
    "projectron",
]
