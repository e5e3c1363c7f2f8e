"""Machines that learn one example at a time: steps, budgets, and what they promise."""

from mercer.online.algorithms import (
    PerceptronLoss,
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
from mercer.online.record import progressive
from mercer.online.regression import OnlineKernelRegressor
from mercer.online.regret import Regret, regret
from mercer.online.steps import (
    ConstantStep,
    InverseRootStep,
    PassiveAggressiveStep,
    PegasosStep,
    RecursiveStep,
    Step,
)
from mercer.online.streams import Encoding, MeanShift, Metrics

__all__ = [
    "AtRandom",
    "Budget",
    "ConstantStep",
    "Encoding",
    "Forgetron",
    "InverseRootStep",
    "MeanShift",
    "Merge",
    "PerceptronLoss",
    "Oldest",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "PassiveAggressiveStep",
    "PegasosStep",
    "Projection",
    "RecursiveStep",
    "Regret",
    "Smallest",
    "Step",
    "Metrics",
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
