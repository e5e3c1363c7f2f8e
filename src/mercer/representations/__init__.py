"""Representations: of which functions is f a combination?"""

from mercer.features.centres import Centres, KMeansPlusPlus, Leverage, Mixed, PivotedCholesky, Uniform
from mercer.representations.base import Built, Representation
from mercer.representations.features import ElasticNet, Features, Lasso
from mercer.representations.full import Full
from mercer.representations.nystrom import Nystrom

__all__ = [
    "Built",
    "Centres",
    "ElasticNet",
    "Features",
    "Full",
    "KMeansPlusPlus",
    "Lasso",
    "Leverage",
    "Mixed",
    "Nystrom",
    "PivotedCholesky",
    "Representation",
    "Uniform",
]
