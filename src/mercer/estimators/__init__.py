"""Estimators: the scikit-learn face of the library."""

from mercer.estimators.classification import KernelClassifier, KernelLogistic
from mercer.estimators.clustering import KernelKMeans
from mercer.estimators.decomposition import KernelPCA
from mercer.estimators.lam import FromAlpha, FromC
from mercer.estimators.neighbourhoods import KernelNearestNeighbors
from mercer.estimators.neighbours import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.estimators.one_class import KernelOneClass
from mercer.estimators.perceptron import KernelPerceptron
from mercer.estimators.plan import Plan
from mercer.estimators.radius import KernelRadiusNeighborsClassifier, KernelRadiusNeighborsRegressor
from mercer.estimators.regression import KernelRegressor, KernelRidge
from mercer.estimators.svm import KernelSVC, KernelSVR

__all__ = [
    "FromAlpha",
    "FromC",
    "KernelClassifier",
    "KernelKMeans",
    "KernelLogistic",
    "KernelNearestNeighbors",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelOneClass",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRadiusNeighborsClassifier",
    "KernelRadiusNeighborsRegressor",
    "KernelRegressor",
    "KernelRidge",
    "KernelSVC",
    "KernelSVR",
    "Plan",
]
