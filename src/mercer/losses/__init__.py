"""Losses V(y, s): what it costs to score an example s when the truth is y."""

from mercer.losses.base import Loss
from mercer.losses.counts import Poisson
from mercer.losses.crammer_singer import CrammerSinger
from mercer.losses.function import FunctionLoss
from mercer.losses.margin import Exponential, Hinge, Logistic, ModifiedHuber, SquaredHinge
from mercer.losses.multinomial import Multinomial
from mercer.losses.quantile import Quantile
from mercer.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    ScaledHuber,
    Squared,
    SquaredEpsilonInsensitive,
)

__all__ = [
    "Absolute",
    "CrammerSinger",
    "EpsilonInsensitive",
    "Exponential",
    "FunctionLoss",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Multinomial",
    "Poisson",
    "Quantile",
    "ScaledHuber",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
]
