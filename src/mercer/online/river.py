"""One example at a time: `learn_one`, `predict_one`, and dicts of features as river has them."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from mercer import _resolve
from mercer.online.machine import OnlineMachine
from mercer.online.turns import in_turn


class RiverMixin(OnlineMachine):
    """river's side of an online machine.

    Examples are dicts of numbers. Their keys become columns in the order they are met; a key that an example
    lacks counts as 0, and a new one widens the points. Kernels on other objects (strings, graphs) take the
    objects.
    """

    # What river asks of its own.
    _supervised = True
    _multiclass = True

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # River shall take this class for one of its own, if river is about.
        base: Any = sys.modules.get("river.base")
        if base is not None:
            kind = base.Classifier if issubclass(cls, ClassifierMixin) else base.Regressor
            kind.register(cls)
        return super().__new__(cls, *args, **kwargs)

    # -- examples ----------------------------------------------------------------------------------

    def _point(self, x: Any, learning: bool) -> Any:
        """One example as an array of one point."""
        kernel = self.kernel_ if self.begun else _resolve.kernel_of(self.kernel)
        if not isinstance(x, dict) or not kernel.vectors:  # rows of a table are points like any others
            return self._points([x], reset=learning and not self.begun)
        names = self.__dict__.get("_names")
        if names is None:
            names = self._first_names(x)
        new = [key for key in x if key not in names] if learning else []
        places = {**names, **{key: len(names) + i for i, key in enumerate(new)}} if new else names
        row = np.zeros((1, len(places)))
        try:
            for key, value in x.items():
                if key in places:
                    row[0, places[key]] = value
        except (TypeError, ValueError):
            raise ValueError(
                f"feature {key!r} is {value!r}, and a kernel on vectors needs numbers: encode it first, for "
                "example with river's OneHotEncoder, or give the machine a kernel on such objects"
            ) from None
        if not np.isfinite(row).all():
            key = next(key for key, place in places.items() if not np.isfinite(row[0, place]))
            raise ValueError(
                f"feature {key!r} is {x[key]!r}, and an example must not hold NaN or infinity: fill it in "
                "first, or leave the key out, which counts as 0"
            )
        if learning and (new or "_names" not in self.__dict__):  # not before all is well
            if self.begun and new:
                self.learner_.widen(len(new))
            self._names = places
            self._name(list(places))
        return row

    def _first_names(self, x: dict) -> dict:
        if not x:
            raise ValueError("the first example has no features")
        known = getattr(self, "feature_names_in_", None)
        if self.begun and known is None:
            raise ValueError(
                "the machine has learned from rows without names, so it can't tell which feature is which: "
                "go on with arrays, or begin with dicts or a data frame"
            )
        names = list(x) if known is None else known.tolist()
        return {key: i for i, key in enumerate(names)}

    def _name(self, names: list) -> None:
        self.n_features_in_ = len(names)
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
        if not self.begun:
            names = self.__dict__.get("_names")
            self.forget()
            self.rule_ = self._rule()
            if names is not None:
                self._names = names
        point = self._point(x, learning=True)
        target = self._target(y)
        if not self.begun:
            self._start(point, point, target, np.ones(1))
        else:
            self._look_at(point)
        weight = np.array([float(w)])
        self._follow(self.learner_.learn(point, target, weight), target, weight)

    def _target(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _score_one(self, x: Any) -> np.ndarray | None:
        if not self.begun:
            return None
        return self.learner_.scores(self._point(x, learning=False))

    def learn_many(self, X, y) -> None:
        """Learn from a data frame of examples."""
        self.partial_fit(X, y)

    def predict_many(self, X) -> Any:
        """Predictions for a data frame of examples, as a series."""
        pd: Any = import_module("pandas")
        return pd.Series(self.predict(X), index=X.index)

    def clone(self, new_params: dict | None = None, include_attributes: bool = False) -> Any:
        """A machine with the same parameters that has learned nothing; river's way to ask for one."""
        from sklearn.base import clone

        other = clone(self)
        return other.set_params(**new_params) if new_params else other
