"""Choosing the model: leave-one-out, cross-validation, regularisation paths, tuning."""

from mercer.selection.dimensions import Choice, Integer, Real
from mercer.selection.gradient import LooSurface, Refined, refine
from mercer.selection.likelihood import Gamma, LogNormal, MostLikely, maximum_likelihood
from mercer.selection.objectives import FoldPath, fold_path
from mercer.selection.path import Path, loo, path
from mercer.selection.tune import tune
from mercer.selection.tuning import Tuning, TuningTrial

__all__ = [
    "Choice",
    "FoldPath",
    "Gamma",
    "Integer",
    "LogNormal",
    "LooSurface",
    "MostLikely",
    "Path",
    "Real",
    "Refined",
    "TuningTrial",
    "Tuning",
    "fold_path",
    "loo",
    "maximum_likelihood",
    "path",
    "refine",
    "tune",
]
