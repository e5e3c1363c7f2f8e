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
    AdaptiveStep,
    ConstantStep,
    InverseRootStep,
    PassiveAggressiveStep,
    PegasosStep,
    PowerStep,
    RecursiveStep,
    Step,
)
from mercer.online.stopping import Stopping
from mercer.online.streams import Encoding, MeanShift, Metrics

__all__ = [
    "AdaptiveStep",
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
    "PowerStep",
    "Projection",
    "RecursiveStep",
    "Regret",
    "Smallest",
    "Step",
    "Stopping",
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
