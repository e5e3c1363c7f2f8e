"""`mercer.fit` as estimators, for whatever takes scikit-learn's: searches, pipelines, cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d, validate_data

from mercer._state import require
from mercer._words import Worded
from mercer._xp import issparse
from mercer.estimators.inputs import checked_labels, require_numbers
from mercer.tables.model.asking import FEWEST_ROWS, name_of_target
from mercer.tables.model.fit import fit
from mercer.tables.model.model import Model
from mercer.tables.model.task import target_of
from mercer.tables.reading import Table
from mercer.tables.reading.from_memory import with_dates
from mercer.tables.reading.places import is_place


class TableEstimator(Worded, BaseEstimator):
    """What both have in common: tables in, a `Model` inside."""

    minutes: float
    metric: str | None
    random_state: Any
    ignore: Any
    kinds: Any
    model_: Model
    names_: tuple[str, ...]

    holds: dict[str, Any] = {"model_": Model, "names_": tuple}
    fitted_by = "model_"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    def _learn(self, table: Table, y: np.ndarray, name: str, task: str, groups: Any, **more: Any) -> None:
        """Fit the model; `name` is what the target is called."""
        seed = self.random_state
        whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
        model = fit(
            table,
            y,
            target=name or None,
            task=task,
            minutes=self.minutes,
            random_state=seed if whole else int(check_random_state(seed).randint(2**31)),
            groups=groups,
            ignore=self.ignore,
            metric=self.metric,
            **more,
        )
        self.model_, self.names_ = model, table.names

    def _table(self, X: Any, y: Any = None, *, reset: bool) -> Table:
        """The table of X; `reset`: its columns are those that `predict` will expect."""
        who = type(self).__name__
        if reset and y is None:
            raise ValueError(f"{who} requires y to be passed, but the target y is None")
        if issparse(X):
            raise TypeError(
                f"{who} takes dense tables, and X is sparse: give X.toarray() if it fits, or take a machine "
                "for sparse X, such as KernelRidge or KernelSVC"
            )
        if is_place(X):
            raise TypeError(
                f"{who} takes tables in memory: mercer.fit reads files, and mercer.tables.read does"
            )
        listed = isinstance(X, list | tuple) and len(X) > 0
        if isinstance(X, Table | Mapping) or (listed and isinstance(X[0], Mapping)):
            table = self._read(X)
            if reset:
                self.n_features_in_ = len(table.names)
                self.feature_names_in_ = np.array(table.names, dtype=object)
            return table
        if listed and all(isinstance(row, list | tuple) for row in X):  # numbers and words stay what they are
            X = _as_objects(X)
        if hasattr(X, "columns") or hasattr(X, "__dataframe__"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        else:
            least = FEWEST_ROWS if reset else 1
            X = validate_data(
                self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=least
            )
        table = self._read(X)
        if reset or set(self.names_) <= set(table.names) or len(table.names) != len(self.names_):
            return table
        # Columns without names, or of a machine that was fitted to such: by their places, as everywhere.
        renamed = dict(zip(self.names_, table.columns.values(), strict=True))
        return Table(renamed, len(table), table.remarks)

    def _read(self, X: Any) -> Table:
        kinds = self.kinds or {}
        table = with_dates(Table.of(X, kinds=kinds), kinds)
        for name in kinds:
            table[name]  # an error if it is not there
        return table

    # -- what is remembered: see `mercer._state` ----------------------------------------------------

    def check_state(self) -> None:
        """Refuse a model of another task, or of columns that are not there."""
        task = "classification" if isinstance(self, ClassifierMixin) else "regression"
        require(self.model_.task == task, "its model answers another question")
        require(all(isinstance(name, str) for name in self.names_), "names of its columns are no names")
        require(len(self.names_) == self.n_features_in_, "it has another number of columns")
        require(set(self.model_.schema.names) <= set(self.names_), "its model reads other columns")


class TableRegressor(RegressorMixin, TableEstimator):
    """`mercer.fit` for numbers, as an estimator: search, test and fit within `minutes`.

    For what takes scikit-learn's estimators: `cross_val_score`, `GridSearchCV`, `Pipeline`. Arrays, data
    frames with numbers, words, dates and gaps, dicts of columns; what a scaler or an encoder would do is done
    inside. The `Model`, with all that is known of it, is ``model_``.

    Every fit searches and tests: five-fold cross-validation of it takes five times the minutes.

    Parameters
    ----------
    minutes : float
        How long a fit may take; see `mercer.fit`, as for all others.
    metric : "rmse", "mae" or "r2", optional
        What is looked for, and shown first. `score` is R² whatever it is.
    random_state : int, RandomState or None
        Decides splits and subsamples.
    ignore : sequence of str
        Columns that are not looked at.
    kinds : mapping from names to kinds, optional
        What columns are, whatever they look like: ``{"zip": "text"}``.

    Attributes
    ----------
    model_ : Model
    n_features_in_ : int
    feature_names_in_ : names of the columns, if they have some
    names_ : what the model calls the columns: "x1", "x2", … if they have no names

    Examples
    --------
    >>> import numpy as np, mercer
    >>> from sklearn.model_selection import cross_val_score
    >>> X = np.random.default_rng(0).uniform(0, 6, (80, 1))
    >>> regressor = mercer.TableRegressor(minutes=0.02)
    >>> bool(cross_val_score(regressor, X, np.sin(X[:, 0]), cv=2).min() > 0.5)
    True
    >>> fitted = regressor.fit(X, np.sin(X[:, 0]))
    >>> fitted.predict_interval([[1.5], [2.0]]).shape, fitted.model_.task
    ((2, 2), 'regression')
    """

    def __init__(self, *, minutes=2.0, metric=None, random_state=0, ignore=(), kinds=None):
        self.minutes = minutes
        self.metric = metric
        self.random_state = random_state
        self.ignore = ignore
        self.kinds = kinds

    def fit(self, X: Any, y: Any, groups: Any = None) -> TableRegressor:
        """Choose, fit and test a machine.

        Parameters
        ----------
        X : table
        y : (n,) numbers
        groups : (n,) labels, or the name of a column, optional
            Rows that belong together are on one side of every split.
        """
        table, name = self._table(X, y, reset=True), name_of_target(y)
        require_numbers(y, "y")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        self._learn(table, y, name, "regression", groups)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Numbers for the rows of a table."""
        check_is_fitted(self)
        return self.model_.predict(self._table(X, reset=False))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """(n, 2) conformal prediction intervals: see `Model.predict_interval`."""
        check_is_fitted(self)
        return self.model_.predict_interval(self._table(X, reset=False), coverage)


class TableClassifier(ClassifierMixin, TableEstimator):
    """`mercer.fit` for labels, as an estimator: search, test and fit within `minutes`.

    For what takes scikit-learn's estimators: `cross_val_score`, `GridSearchCV`, `Pipeline`. Arrays, data
    frames with numbers, words, dates and gaps, dicts of columns. The `Model`, with all that is known of it,
    is ``model_``.

    Parameters
    ----------
    minutes : float
        How long a fit may take; see `mercer.fit`, as for all others.
    metric : "accuracy", "balanced_accuracy", "log_loss", "auc" or "average_precision", optional
        What is looked for, and shown first. `score` is the accuracy whatever it is.
    random_state : int, RandomState or None
        Decides splits and subsamples.
    ignore : sequence of str
        Columns that are not looked at.
    kinds : mapping from names to kinds, optional
        What columns are, whatever they look like: ``{"zip": "text"}``.
    threshold : float or "auto", optional
        Of two labels: the second is predicted where its probability is at least this.
    class_weight : "balanced" or mapping of labels to weights, optional
    costs : mapping or matrix, optional
        What errors cost.

    Attributes
    ----------
    model_ : Model
    classes_ : labels, sorted; without those of a single row, which a model can't be tested on
    n_features_in_ : int
    feature_names_in_ : names of the columns, if they have some
    names_ : what the model calls the columns: "x1", "x2", … if they have no names

    Examples
    --------
    >>> import numpy as np, mercer
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> classifier = mercer.TableClassifier(minutes=0.02).fit(X, np.where(X[:, 0] > 3, "far", "near"))
    >>> classifier.predict([[0.5], [5.5]]).tolist(), classifier.classes_.tolist()
    (['near', 'far'], ['far', 'near'])
    >>> classifier.predict_proba([[0.5], [5.5]]).round().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    classes_: np.ndarray

    def __init__(
        self,
        *,
        minutes=2.0,
        metric=None,
        random_state=0,
        ignore=(),
        kinds=None,
        threshold=None,
        class_weight=None,
        costs=None,
    ):
        self.minutes = minutes
        self.metric = metric
        self.random_state = random_state
        self.ignore = ignore
        self.kinds = kinds
        self.threshold = threshold
        self.class_weight = class_weight
        self.costs = costs

    def fit(self, X: Any, y: Any, groups: Any = None) -> TableClassifier:
        """Choose, fit and test a machine.

        Parameters
        ----------
        X : table
        y : (n,) labels
        groups : (n,) labels, or the name of a column, optional
            Rows that belong together are on one side of every split.
        """
        table, name = self._table(X, y, reset=True), name_of_target(y)
        labels = checked_labels(y)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes, and y has one class: {classes.tolist()[0]!r}"
            )
        decision = {"threshold": self.threshold, "class_weight": self.class_weight, "costs": self.costs}
        self._learn(table, labels, name, "classification", groups, **decision)
        self.classes_ = classes[np.isin(_names_of(classes), self._known)]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Labels for the rows of a table."""
        check_is_fitted(self)
        place = np.searchsorted(self._known, self.model_.predict(self._table(X, reset=False)))
        return self.classes_[np.argsort(self._places())[place]]

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, classes) probabilities, in the order of ``classes_``."""
        check_is_fitted(self)
        return self.model_.predict_proba(self._table(X, reset=False))[:, self._places()]

    @property
    def _known(self) -> np.ndarray:
        """The labels as the model has them, sorted."""
        return np.asarray(self.model_.classes_)

    def _places(self) -> np.ndarray:
        """Where the model, which makes words of some labels, has each of ``classes_``."""
        return np.searchsorted(self._known, _names_of(self.classes_))

    def check_state(self) -> None:
        """Refuse labels that are not those of the model."""
        super().check_state()
        known = isinstance(getattr(self, "classes_", None), np.ndarray) and self.classes_.ndim == 1
        same = known and np.array_equal(np.sort(_names_of(self.classes_)), self._known)
        require(same, "its labels are not those of its model")


def _names_of(classes: np.ndarray) -> np.ndarray:
    """Labels as a model has them."""
    return target_of(classes, "classification").y


def _as_objects(rows: Any) -> np.ndarray:
    """A list of rows as an array in which numbers and words stay apart."""
    try:
        return np.array(rows, dtype=object)
    except ValueError:  # of different lengths, which the check will say
        return rows
