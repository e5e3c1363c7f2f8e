"""`mercer.fit` as estimators: scikit-learn's checks, its tools, tables of mixed columns, files."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import TableClassifier, TableRegressor
from mercer.io import ModelFileError
from mercer.tables import Table


@pytest.fixture(autouse=True)
def in_no_time(hasty):
    """No test here asks what a search finds."""


@parametrize_with_checks([TableRegressor(minutes=1e-3), TableClassifier(minutes=1e-3)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
