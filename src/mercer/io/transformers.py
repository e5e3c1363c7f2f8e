"""scikit-learn's scalers, encoders and the like, as their parameters and what they have learned.

A closed list: what each of these classes remembers is written down here, and checked when a file is read.
What scikit-learn keeps besides, for itself, is never in a file: scikit-learn makes it again, by a fit to one
row that follows from the rest. So a file can't put what does not belong together into loops that trust it,
and other versions of scikit-learn can read it.
"""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mercer import _state
from mercer._state import COUNT, NUMBER, ArraySpec, require
from mercer.io.errors import ModelFileError
from mercer.io.kinds import MOST_ALIKE, Kind

# A row that is made for a trial has as many values; nothing in a file need be as large.
_MOST_FEATURES = 1 << 22
# A value of a row that is made for a trial: any number will do.
_ANY = object()
_ITEMS = (str, bytes, int, float, type(None), np.generic)
# Parameters that mean nothing elsewhere: no file decides how many processes are started.
_STAY_HERE = ("n_jobs",)
_OUTPUTS = ("default", "pandas", "polars")


class TransformerForm:
    """What a transformer has learned, as attributes: what they must be."""

    def __init__(self, **holds: Any):
        self.holds = holds

    def of(self, x: Any) -> dict[str, Any]:
        """What is written of a fitted transformer."""
        _state.require_held(x, self.holds)
        return {name: getattr(x, name) for name in self.holds}

    def restored(self, x: Any, learned: dict[str, Any], names: Any) -> Any:
        """The transformer, fitted; `x` has its parameters and the number of its features."""
        require(set(learned) == set(self.holds), f"a {type(x).__name__} has learned other things")
        vars(x).update(learned)
        _state.require_held(x, self.holds)
        return x

    def row(self, x: Any) -> list[Any]:
        """A row that it takes."""
        return [_ANY] * x.n_features_in_


def _floats(*axes: int | str | None) -> ArraySpec:
    return ArraySpec("f", *axes)


_ROW, _NONE = _floats("n_features_in_"), type(None)
# Rows seen: one number, or one a feature where values were missing.
_SEEN = (COUNT, np.integer, np.floating, ArraySpec("i", "n_features_in_"), ArraySpec("f", "n_features_in_"))
_COUNTED = (COUNT, np.integer)
_COMPONENTS = _floats("components")


class EncoderForm(TransformerForm):
    """What encoders of categories have learned: the categories."""

    def __init__(self) -> None:
        super().__init__(categories_=list)

    def of(self, x: Any) -> dict[str, Any]:
        if x.min_frequency is not None or x.max_categories is not None:
            raise ModelFileError(
                f"a {type(x).__name__} that puts rare categories together (min_frequency, max_categories), "
                "which files do not keep: leave these out, or save the other parts"
            )
        return super().of(x)

    def restored(self, x: Any, learned: dict[str, Any], names: Any) -> Any:
        require(x.min_frequency is None and x.max_categories is None, "rare categories are put together")
        super().restored(x, learned, names)
        categories, given = learned["categories_"], x.categories
        require(len(categories) == x.n_features_in_, "there are not categories for each feature")
        for values in categories:
            _require_categories(values)
        x.set_params(categories=[values.astype(object) for values in categories])
        x.fit(_row([values[0] for values in categories]))
        x.categories_ = categories
        return x.set_params(categories=given)

    def row(self, x: Any) -> list[Any]:
        return [values[0] for values in x.categories_]


def _require_categories(values: Any) -> None:
    """Different ones; numbers in order, by which scikit-learn finds them."""
    fine = isinstance(values, np.ndarray) and values.ndim == 1 and len(values) > 0
    require(fine and values.dtype.kind in "OUSbiuf", "categories are no list of words or numbers")
    if values.dtype.kind in "biuf":
        known = values[:-1] if values.dtype.kind == "f" and np.isnan(values[-1]) else values
        require((known[1:] > known[:-1]).all(), "categories are not in order")
        return
    require(all(isinstance(v, _ITEMS) for v in values), "categories are no words or numbers")
    hashes = np.sort(np.array([hash(v) for v in values], dtype=np.int64))
    require((hashes[MOST_ALIKE:] != hashes[:-MOST_ALIKE]).all(), "categories were chosen to be slow")
    require(len(set(values.tolist())) == len(values), "a category is there twice")


class Imputed(TransformerForm):
    """What an imputer has learned: values, and of which type they were."""

    def __init__(self) -> None:
        super().__init__(statistics_=tuple(ArraySpec(kind, "n_features_in_") for kind in "fiuO"))

    def of(self, x: Any) -> dict[str, Any]:
        if x.add_indicator:
            raise ModelFileError("a SimpleImputer with add_indicator=True, which files do not keep")
        return {**super().of(x), "dtype": x._fit_dtype.str}

    def restored(self, x: Any, learned: dict[str, Any], names: Any) -> Any:
        require(not x.add_indicator, "it has an indicator")
        dtype = _dtype_of(learned.pop("dtype", None), "biufO")
        super().restored(x, learned, names)
        values = learned["statistics_"]
        if values.dtype == object:
            require(all(isinstance(v, _ITEMS) for v in values), "it fills in no words or numbers")
        # A row of ones, or of words where these count.
        fill = "a" if dtype.kind == "O" and not isinstance(x.fill_value, int | float) else 1
        x.fit(np.full((1, x.n_features_in_), fill, dtype))
        x.statistics_ = values
        return x

    def row(self, x: Any) -> list[Any]:
        filled = [v for v in x.statistics_ if isinstance(v, str)]
        return [filled[0] if filled else _ANY] * x.n_features_in_


class OfColumns(TransformerForm):
    """What a ColumnTransformer has learned: its parts, fitted, by name."""

    def of(self, x: Any) -> dict[str, Any]:
        for name, _, columns in x.transformers:
            ends = [columns.start, columns.stop] if isinstance(columns, slice) else []
            if callable(columns) or any(isinstance(end, str) for end in ends):
                how = "by a function" if callable(columns) else "from one name to another"
                raise ModelFileError(
                    f"a ColumnTransformer whose columns are chosen {how} ({name!r}), which files do not "
                    "keep: give a list of their names"
                )
        given = {name: part for name, part, _ in x.transformers} | {"remainder": x.remainder}
        fitted = {name: part for name, part, _ in x.transformers_ if not isinstance(given[name], str)}
        return {"fitted": fitted, "sparse_output_": bool(x.sparse_output_)}

    def restored(self, x: Any, learned: dict[str, Any], names: Any) -> Any:
        from sklearn.frozen import FrozenEstimator

        require(set(learned) == {"fitted", "sparse_output_"}, "a ColumnTransformer has learned other things")
        fitted, sparse = learned["fitted"], learned["sparse_output_"]
        require(isinstance(sparse, bool) and _state.fits(fitted, dict[str, BaseEstimator]), "parts are wrong")
        given, remainder = x.transformers, x.remainder
        require(not any(callable(columns) for *_, columns in given), "its columns are chosen by a function")
        style = x.verbose_feature_names_out
        plain = isinstance(style, bool) or _is_plain(style)
        require(plain, "names of its outputs are made by more than names")

        def kept(name: str, part: Any) -> Any:  # what is not fitted is refused by a fit, and not fitted then
            return part if isinstance(part, str) else FrozenEstimator(fitted.get(name, part))

        def bare(part: Any) -> Any:
            return part.estimator if isinstance(part, FrozenEstimator) else part

        n = x.n_features_in_
        parts = [(fitted.get(name), _positions(columns, n, names)) for name, _, columns in given]
        rest = set(range(n)).difference(*(where for _, where in parts))
        values = _of_parts([*parts, (fitted.get("remainder"), sorted(rest))], n)
        x.transformers = [(name, kept(name, part), columns) for name, part, columns in given]
        x.remainder = kept("remainder", remainder)
        x.fit(_row(values, names))
        x.transformers_ = [(name, bare(part), columns) for name, part, columns in x.transformers_]
        x.transformers, x.remainder, x.sparse_output_ = given, remainder, sparse
        left = vars(x).get("_remainder")  # which scikit-learn keeps for a later fit
        if left is not None:
            x._remainder = (left[0], remainder, *left[2:])
        return x

    def row(self, x: Any) -> list[Any]:
        n, names = x.n_features_in_, getattr(x, "feature_names_in_", None)
        return _of_parts([(part, _positions(columns, n, names)) for _, part, columns in x.transformers_], n)


def _is_plain(style: Any) -> bool:
    """Is this a text with places for two names, and nothing that a format could ask of them?"""
    bare = style.replace("{transformer_name}", "").replace("{feature_name}", "")
    return not set("{}") & set(bare)


def _of_parts(parts: list[tuple[Any, list[int]]], n: int) -> list[Any]:
    """A row that every part takes, each of which looks at some columns of it; what is no part takes any."""
    values = [_ANY] * n
    for part, where in parts:
        if where and isinstance(part, BaseEstimator) and hasattr(part, "n_features_in_"):
            for j, value in zip(where, row_of(part), strict=True):
                values[j] = value if values[j] is _ANY else values[j]
    return values


def _positions(columns: Any, n: int, names: Any) -> list[int]:
    """Which columns are meant, in any of the ways scikit-learn knows."""
    places, listed = np.arange(n), np.asarray(columns)
    if isinstance(columns, slice):
        return places[columns].tolist()
    if listed.dtype.kind in "OU" and listed.size:
        where = {name: j for j, name in enumerate(names)}
        return [where[name] for name in listed.ravel().tolist()]
    return places[listed].ravel().tolist() if listed.size else []


_FORMS: dict[str, dict[str, TransformerForm]] = {
    "sklearn.preprocessing": {
        "StandardScaler": TransformerForm(
            scale_=(_ROW, _NONE), mean_=(_ROW, _NONE), var_=(_ROW, _NONE), n_samples_seen_=_SEEN
        ),
        "MinMaxScaler": TransformerForm(
            min_=_ROW,
            scale_=_ROW,
            data_min_=_ROW,
            data_max_=_ROW,
            data_range_=_ROW,
            n_samples_seen_=_COUNTED,
        ),
        "MaxAbsScaler": TransformerForm(scale_=_ROW, max_abs_=_ROW, n_samples_seen_=_COUNTED),
        "RobustScaler": TransformerForm(center_=(_ROW, _NONE), scale_=(_ROW, _NONE)),
        "Normalizer": TransformerForm(),
        "OneHotEncoder": EncoderForm(),
        "OrdinalEncoder": EncoderForm(),
    },
    "sklearn.impute": {"SimpleImputer": Imputed()},
    "sklearn.decomposition": {
        "PCA": TransformerForm(
            components_=_floats("components", "n_features_in_"),
            explained_variance_=_COMPONENTS,
            explained_variance_ratio_=_COMPONENTS,
            singular_values_=_COMPONENTS,
            mean_=_ROW,
            n_components_=_COUNTED,
            n_samples_=_COUNTED,
            noise_variance_=(NUMBER, np.floating),
        )
    },
    "sklearn.compose": {"ColumnTransformer": OfColumns()},
}
# "StandardScaler", …: what files may hold of scikit-learn, besides its Pipeline.
NAMES = tuple(name for forms in _FORMS.values() for name in forms)


@cache
def _known(name: Any) -> tuple[Any, TransformerForm] | None:
    """A class of the list by its name, and what it learns."""
    for module, forms in _FORMS.items():
        if name in forms:
            return getattr(importlib.import_module(module), name), forms[name]
    return None


def _form_of(cls: Any) -> TransformerForm | None:
    """What a class learns; None if it is not in the list."""
    known = _known(cls.__name__) if cls.__module__.startswith("sklearn.") else None
    return known[1] if known is not None and known[0] is cls else None


class TransformerKind(Kind):
    """A scaler, an encoder or the like of scikit-learn's."""

    name = "transformer"
    fields = ("class", "scikit-learn", "parameters", "state")

    def takes(self, x):
        return _form_of(type(x)) is not None

    def encode(self, x, put, encoder, path):
        cls, form = _known(type(x).__name__) or (type(x), TransformerForm())
        parameters = {n: value for n, value in x.get_params(deep=False).items() if n not in _STAY_HERE}
        state: dict[str, Any] = {}
        try:
            if "dtype" in parameters:
                parameters["dtype"] = np.dtype(parameters["dtype"]).str
            if hasattr(x, "n_features_in_"):
                state = {**_of_input(x), "learned": form.of(x)}
            _made(cls, form, dict(parameters), dict(state))  # what could not be read is not written
        except ModelFileError as error:
            raise ModelFileError(f"{path} is {error}") from None
        except Exception as error:
            raise ModelFileError(f"{path} is not in order: {error}") from error
        return {
            "class": cls.__name__,
            "scikit-learn": sklearn.__version__,
            "parameters": {name: put(value, f".{name}") for name, value in parameters.items()},
            "state": {name: put(value, f".{name}") for name, value in state.items()},
        }

    def decode(self, row, get, decoder):
        name, given, state = row["class"], row["parameters"], row["state"]
        known = _known(name) if isinstance(name, str) else None
        if known is None:
            raise ModelFileError(
                f"it holds a transformer {str(name)[:80]!r} of scikit-learn, which is not in the list"
            )
        cls, form = known
        if not isinstance(given, dict) or not isinstance(state, dict):
            raise ModelFileError(f"a {name} is not given by parameters and a state")
        written, here = str(row["scikit-learn"])[:20], sklearn.__version__
        try:
            return _made(
                cls, form, {k: get(v) for k, v in given.items()}, {k: get(v) for k, v in state.items()}
            )
        except ModelFileError:
            raise
        except Exception as error:
            by = (
                "" if written == here else f"; it was written with scikit-learn {written}, and here is {here}"
            )
            said = f"{type(error).__name__}: {str(error)[:200]}"
            raise ModelFileError(f"a {name} in it does not belong together ({said}){by}") from error


def _of_input(x: Any) -> dict[str, Any]:
    """What every transformer remembers of its input, and how it gives its output."""
    known: dict[str, Any] = {"n_features_in_": int(x.n_features_in_)}
    if hasattr(x, "feature_names_in_"):
        known["feature_names_in_"] = x.feature_names_in_
    output = getattr(x, "_sklearn_output_config", {}).get("transform", "default")
    return known if output == "default" else {**known, "output": output}


def _made(cls: Any, form: TransformerForm, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
    """The transformer with these parameters that has learned this, checked and tried."""
    if "dtype" in parameters:
        parameters["dtype"] = _dtype_of(parameters["dtype"], "biuf").type
    require(not set(parameters) & set(_STAY_HERE), "it says how many processes there should be")
    x = cls(**parameters)
    x._validate_params()
    if not state:
        return x
    state = dict(state)
    learned, output = state.pop("learned", None), state.pop("output", "default")
    require(isinstance(learned, dict) and output in _OUTPUTS, "its state is no state")
    require({"n_features_in_"} <= set(state) <= {"n_features_in_", "feature_names_in_"}, "it has other parts")
    vars(x).update(state)
    n, names = state["n_features_in_"], state.get("feature_names_in_")
    require(type(n) is int and 0 < n <= _MOST_FEATURES, "it takes more features than there can be, or none")
    _state.check(x)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = form.restored(x, dict(learned), names)
        vars(made).update(state)  # a fit to a row without names has forgotten them
        made.transform(_row(row_of(made), names))
    return made if output == "default" else made.set_output(transform=output)


def require_widths(pipeline: Pipeline) -> None:
    """Refuse steps that take other points than the transformers before them make.

    Only transformers of the list are called: those of other classes may take no such points as are made here.
    """
    points: Any = None
    for step in (step for _, step in pipeline.steps if isinstance(step, BaseEstimator)):
        if not hasattr(step, "n_features_in_"):
            return
        require(
            points is None or points.shape[1] == step.n_features_in_, "a step takes other points than come"
        )
        if _form_of(type(step)) is None:
            return
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            first = points is None
            points = step.transform(
                _row(row_of(step), getattr(step, "feature_names_in_", None)) if first else points
            )


def row_of(x: Any) -> list[Any]:
    """A row that a fitted transformer takes."""
    if isinstance(x, Pipeline):
        return row_of(next(step for _, step in x.steps if isinstance(step, BaseEstimator)))
    form = _form_of(type(x))
    return [_ANY] * x.n_features_in_ if form is None else form.row(x)


def _row(values: list[Any], names: Any = None) -> Any:
    """Those values as a table with one row."""
    filled = [0.0 if value is _ANY else value for value in values]
    if names is not None:
        try:
            return importlib.import_module("pandas").DataFrame([filled], columns=names)
        except ImportError:  # without it, nobody has a table with these names
            pass
    row = np.empty((1, len(filled)), dtype=object)
    row[0] = filled
    return row


def _dtype_of(said: Any, kinds: str) -> np.dtype:
    """A type that a file names: of one of these kinds."""
    dtype = np.dtype(said) if isinstance(said, str) and len(said) < 8 else np.dtype("V")
    require(
        dtype.kind in kinds and dtype.names is None and dtype.itemsize <= 8,
        f"{str(said)[:20]!r} is no type of values",
    )
    return dtype
