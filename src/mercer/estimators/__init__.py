"""Estimators: the scikit-learn face of the library."""

from mercer.estimators.classification import KernelClassifier, KernelLogistic
from mercer.estimators.plan import Plan
from mercer.estimators.regression import KernelRegressor, KernelRidge

__all__ = ["KernelClassifier", "KernelLogistic", "KernelRegressor", "KernelRidge", "Plan"]
