"""Choosing the model: leave-one-out, cross-validation, regularisation paths, tuning."""

from mercer.selection.dimensions import Choice, Integer, Real
from mercer.selection.gradient import LooSurface, Refined, refine
from mercer.selection.learned_metric import LearnedMetric, MetricRound, learned_metric, metric_rounds
from mercer.selection.likelihood import Gamma, LogNormal, MostLikely, maximum_likelihood
from mercer.selection.objectives import FoldPath, fold_path
from mercer.selection.path import Path, loo, path
from mercer.selection.recursion import MetricRule
from mercer.selection.tune import tune
from mercer.selection.tuning import Tuning, TuningTrial

__all__ = [
    "Choice",
    "FoldPath",
    "Gamma",
    "Integer",
    "LearnedMetric",
    "LogNormal",
    "LooSurface",
    "MetricRound",
    "MetricRule",
    "MostLikely",
    "Path",
    "Real",
    "Refined",
    "TuningTrial",
    "Tuning",
    "fold_path",
    "learned_metric",
    "loo",
    "maximum_likelihood",
    "metric_rounds",
    "path",
    "refine",
    "tune",
]
