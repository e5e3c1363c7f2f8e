"""One example at a time: `learn_one`, `predict_one`, dicts of features and data frames as river has them."""

from __future__ import annotations

import copy
import sys
from collections.abc import Hashable, Iterable, Iterator
from importlib import import_module
from itertools import filterfalse
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length

from mercer import _resolve
from mercer.estimators.inputs import finite_scores, nonnegative_weights, require_numbers
from mercer.online.machine import OnlineMachine
from mercer.online.turns import in_turn


class RiverMixin(OnlineMachine):
    """river's side of an online machine.

    Examples are dicts of numbers, or rows of a data frame. Their keys become columns in the order they are
    met; a key that an example lacks counts as 0, and a new one widens the points. Kernels on other objects
    (strings, graphs) take the objects.
    """

    _multiclass = True

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        cls._join_river()
        return super().__new__(cls, *args, **kwargs)

    @classmethod
    def _join_river(cls) -> None:
        """River shall take this class for one of its own, if river is about."""
        base: Any = sys.modules.get("river.base")
        if base is not None:
            labels = issubclass(cls, ClassifierMixin)
            (base.MiniBatchClassifier if labels else base.MiniBatchRegressor).register(cls)

    # What river asks first, perhaps of a machine that was made before river was imported.

    @property
    def _supervised(self) -> bool:
        self._join_river()
        return True

    @property
    def _mutable_attributes(self) -> set:
        self._join_river()
        return set()

    # -- examples ----------------------------------------------------------------------------------

    def _compares_vectors(self) -> bool:
        return bool((self.kernel_ if self.begun else _resolve.kernel_of(self.kernel)).vectors)

    def _point(self, x: Any, learning: bool) -> Any:
        """One example as an array of one point."""
        if not isinstance(x, dict) or not self._compares_vectors():
            # Rows of a table are points like any others.
            return self._points([x], reset=learning and not self.begun)
        places = self._places(x, learning)
        row = np.zeros((1, len(places)))
        try:
            for key, value in x.items():
                if key in places:
                    row[0, places[key]] = value
        except (TypeError, ValueError):
            raise _no_number(key, value) from None
        if not np.isfinite(row).all():
            key = next(key for key, place in places.items() if not np.isfinite(row[0, place]))
            raise _not_finite(key, x[key])
        if learning:  # not before all is well
            self._keep(places)
        return row

    def _rows(self, X: Any, learning: bool) -> np.ndarray:
        """The rows of a data frame as points; its columns may be others than those met before."""
        columns = list(X.columns)
        if len(set(columns)) < len(columns):
            twice = next(name for i, name in enumerate(columns) if name in columns[:i])
            raise ValueError(f"two columns are called {twice!r}: give each a name of its own")
        places = self._places(columns, learning)
        rows = np.zeros((len(X), len(places)))
        for key in columns:
            if key not in places:
                continue
            rows[:, places[key]] = _column(key, X[key])
        if learning:
            self._keep(places)
        return rows

    def _places(self, keys: Iterable[Hashable], learning: bool) -> dict:
        """The column of each feature met so far and, where they are to be learned, of these."""
        names = self.__dict__.get("_names")
        if names is None:
            names = self._first_names(keys)
        new = [key for key in keys if key not in names] if learning else []
        return {**names, **{key: len(names) + i for i, key in enumerate(new)}} if new else names

    def _first_names(self, keys: Iterable[Hashable]) -> dict:
        first = list(keys)
        if not first:
            raise ValueError("the first example has no features")
        known = getattr(self, "feature_names_in_", None)
        if self.begun and known is None:
            raise ValueError(
                "the machine has learned from rows without names, so it can't tell which feature is which: "
                "go on with arrays, or begin with dicts or a data frame"
            )
        names = first if known is None else known.tolist()
        return {key: i for i, key in enumerate(names)}

    def _keep(self, places: dict) -> None:
        """These are the features from now on."""
        known = self.__dict__.get("_names")
        if known is places:
            return
        names = list(places)
        if self.begun and len(names) > self.n_features_in_:
            self.learner_.widen(len(names) - self.n_features_in_)
        self._names = places
        self.n_features_in_: int = len(names)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)  # scikit-learn knows names that are words only

    # -- river -------------------------------------------------------------------------------------

    @in_turn
    def learn_one(self, x, y, w=1.0) -> None:
        """Learn from one example: a dict of features (or an object the kernel takes), its y, its weight."""
        if not 0 <= w < np.inf:
            raise ValueError(f"w must be a nonnegative number, got {w!r}")
        if w == 0:
            return  # weight 0 means absent
        self._prepare()
        point = self._point(x, learning=True)
        target = self._target(y)
        if not self.begun:
            self._start(point, point, target, np.ones(1))
        else:
            self._look_at(point)
        weight = np.array([float(w)])
        self._follow(self.learner_.learn(point, target, weight), target, weight)

    def _prepare(self) -> None:
        """Before the first example: nothing is known but, perhaps, names of features."""
        if self.begun:
            return
        names = self.__dict__.get("_names")
        self.forget()
        self.rule_ = self._rule()
        if names is not None:
            self._names = names

    def _target(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _stretches(self, y: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows that can be learned at once, and their targets; the next ones are asked for afterwards."""
        raise NotImplementedError

    def _score_one(self, x: Any) -> np.ndarray | None:
        if not self.begun:
            return None
        return self.learner_.scores(self._point(x, learning=False))

    def _named(self, X: Any) -> bool:
        """Is it a data frame whose columns go by their names?"""
        return hasattr(X, "columns") and self._compares_vectors()

    @in_turn
    def learn_many(self, X, y, w=None) -> None:
        """Learn from a data frame of examples: what `learn_one` makes of its rows, in less time.

        Columns may come and go: one that is missing counts as 0, a new one was 0 until now. A width that the
        kernel leaves open is that of standardised features, as one example alone would have it
        (`partial_fit` takes it from its first batch). All of the frame is learned, or nothing.
        """
        if not self._named(X):
            self.partial_fit(X, y, sample_weight=w)  # type: ignore[attr-defined]
            return
        y = self._check_targets(self.require_y(y))
        check_consistent_length(X, y)
        if w is not None:
            w = np.broadcast_to(np.asarray(w, np.float64), len(y)) if np.ndim(w) == 0 else np.asarray(w)
        if not len(y) or (w is not None and not w.any()):
            return  # weight 0 means absent
        weight = np.ascontiguousarray(nonnegative_weights(w, X))
        used = np.flatnonzero(weight)
        before = self.__dict__.copy()
        learner = before["learner_"].__dict__.copy() if self.begun else {}
        try:
            self._prepare()
            points = self._rows(X, learning=True)
            if len(used) < len(weight):
                points, y, weight = points[used], y[used], weight[used]
            self._learn_rows(points, y, weight)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            if learner:  # arrays are made anew, never changed
                self.learner_.__dict__.update(learner)
            raise

    def _learn_rows(self, points: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        looked_at = not self.begun
        for rows, targets in self._stretches(y):
            if not self.begun:
                self._start(points, points, targets, weight, one_by_one=True)
            elif not looked_at:
                self._look_at(points)
                looked_at = True
            self._follow(self.learner_.learn(points[rows], targets, weight[rows]), targets, weight[rows])

    def _score_many(self, X: Any) -> np.ndarray | None:
        """Scores of the rows of a data frame; None before anything is learned."""
        if not self.begun:
            return None
        return finite_scores(self.learner_.scores(self._rows(X, False))) if self._named(X) else self.scores(X)

    def clone(self, new_params: dict | None = None, include_attributes: bool = False) -> Any:
        """A machine with the same parameters that has learned nothing; river's way to ask for one.

        `include_attributes`: with all that it has learned. "seed", river's name of it, sets `random_state`.
        """
        from sklearn.base import clone

        given = dict(new_params or {})
        seed = given.pop("seed", None)
        if seed is not None:
            given["random_state"] = seed
        other = copy.deepcopy(self) if include_attributes else clone(self)
        return other.set_params(**given) if given else other

    def mutate(self, new_attrs: dict) -> None:
        """river's way to change parameters of a machine that learns: it has none that could change."""
        if new_attrs:
            raise ValueError(
                f"{', '.join(map(repr, new_attrs))} can't be changed while the machine learns: set_params, "
                "and begin anew with fit, or clone(new_params) for another machine"
            )

    def _get_params(self) -> dict:
        """Parameters, as river asks for them: "seed" is its name of a `random_state`."""
        return {**self.get_params(deep=False), "seed": self.random_state}

    @property
    def _is_stochastic(self) -> bool:
        return self.random_state is None

    @property
    def _tags(self) -> set:
        return set()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict]:
        yield {}

    def _unit_test_skips(self) -> set:
        return set()

    @property
    def _raw_memory_usage(self) -> int:
        base: Any = import_module("river.base").Base
        return base._raw_memory_usage.fget(self)

    @property
    def _memory_usage(self) -> str:
        base: Any = import_module("river.base").Base
        return base._memory_usage.fget(self)


def _column(key: Any, values: Any) -> np.ndarray:
    """A column of a data frame as finite numbers."""
    values = np.asarray(values)
    require_numbers(values, f"column {key!r}")
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise _no_number(key, next(filterfalse(_counts, values.tolist()))) from None
    finite = np.isfinite(numbers)
    if not finite.all():
        raise _not_finite(key, numbers[int(np.argmin(finite))].item())
    return numbers


def _counts(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _no_number(key: Any, value: Any) -> ValueError:
    return ValueError(
        f"feature {key!r} is {value!r}, and a kernel on vectors needs numbers: encode it first, for "
        "example with river's OneHotEncoder, or give the machine a kernel on such objects"
    )


def _not_finite(key: Any, value: Any) -> ValueError:
    return ValueError(
        f"feature {key!r} is {value!r}, and an example must not hold NaN or infinity: fill it in "
        "first, or leave the key out, which counts as 0"
    )
