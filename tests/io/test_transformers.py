"""scikit-learn's transformers in files: the same answers to the last bit, and no file breaks anything."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import mercer
from mercer.io import ModelFileError, load, save, transformers
from mercer.kernels import ChiSquared

sys.path.insert(0, str(Path(__file__).parent))
from sound import file_of, parts

RNG = np.random.default_rng(0)
X = 5 * RNG.standard_normal((30, 3)) + 2
Y = X[:, 0] + np.sin(X[:, 1])
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
FRAME = pd.DataFrame(
    {
        "size": X[:, 0],
        "age": HOLES[:, 1],
        "city": RNG.choice(["Bonn", "Kiel", "Ulm"], 30),
        "grade": RNG.choice([1, 2, 3], 30),
        "luck": X[:, 2],
    }
)


@pytest.fixture
def again(tmp_path):
    def through_a_file(thing):
        save(thing, tmp_path / "a.mercer")
        return load(tmp_path / "a.mercer")

    return through_a_file


def dense(values):
    return np.asarray(values.toarray() if sp.issparse(values) else values)


def require_same(x, y, points):
    assert type(x.transform(points)) is type(y.transform(points))
    np.testing.assert_array_equal(dense(x.transform(points)), dense(y.transform(points)))
    np.testing.assert_array_equal(x.get_feature_names_out(), y.get_feature_names_out())
    assert repr(x) == repr(y)


@pytest.mark.parametrize(
    "transformer",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False, copy=False),
        MinMaxScaler((-1, 1), clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False, with_scaling=False),
        Normalizer("l1"),
        PCA(2, whiten=True, random_state=0),
        SimpleImputer(strategy="median"),
        SimpleImputer(strategy="constant", fill_value=-1.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers(transformer, dtype, again):
    points = (HOLES if isinstance(transformer, SimpleImputer) else X).astype(dtype)
    fitted = clone(transformer).fit(points)
    got = again(fitted)
    require_same(got, fitted, points.copy())
    assert repr(again(transformer)) == repr(transformer) and not hasattr(again(transformer), "n_features_in_")
    np.testing.assert_array_equal(dense(got.fit(points).transform(points)), dense(fitted.transform(points)))


def test_what_was_learned_from_parts_is_learned_on(again):
    whole, half = StandardScaler().partial_fit(HOLES), StandardScaler().partial_fit(HOLES[:15])
    np.testing.assert_array_equal(
        again(half).partial_fit(HOLES[15:]).mean_, half.partial_fit(HOLES[15:]).mean_
    )
    np.testing.assert_allclose(half.mean_, whole.mean_)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(drop="first", sparse_output=False, dtype=np.float32),
        OneHotEncoder(drop=["Kiel", 2]),
        OneHotEncoder(categories=[["Ulm", "Kiel", "Bonn"], [1, 2, 3]], drop="if_binary"),
        OrdinalEncoder(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, dtype=np.int64),
    ],
    ids=repr,
)
def test_categories(encoder, again):
    fitted = encoder.fit(FRAME[["city", "grade"]])
    got = again(fitted)
    require_same(got, fitted, FRAME[["city", "grade"]])
    back = got.inverse_transform(got.transform(FRAME[["city", "grade"]]))
    np.testing.assert_array_equal(back.astype(str), FRAME[["city", "grade"]].to_numpy().astype(str))
    new = FRAME[["city", "grade"]].assign(city="Rome")
    try:
        wanted = dense(fitted.transform(new))
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            got.transform(new)
    else:
        np.testing.assert_array_equal(dense(got.transform(new)), wanted)


def test_missing_categories(again):
    holes = np.array([["a"], [None], ["b"], [np.nan]], dtype=object)[:, :1]
    ordinal = OrdinalEncoder(encoded_missing_value=-2).fit(np.array([[1.0], [np.nan], [3.0]]))
    require_same(again(ordinal), ordinal, np.array([[np.nan], [1.0]]))
    one_hot = OneHotEncoder().fit(holes)
    require_same(again(one_hot), one_hot, holes)
    words = SimpleImputer(strategy="most_frequent").fit(np.array([["a"], ["a"], [np.nan]], dtype=object))
    require_same(again(words), words, np.array([[np.nan], ["b"]], dtype=object))


@pytest.mark.parametrize("remainder", ["drop", "passthrough", RobustScaler(), SimpleImputer()], ids=repr)
def test_columns_of_a_frame(remainder, again):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    some = [("n", numbers, ["size", "age"]), ("c", OneHotEncoder(), ["city", "grade"])]
    columns = ColumnTransformer(some, remainder=remainder, transformer_weights={"n": 2.0})
    piped = make_pipeline(columns, mercer.KernelRidge(lam=0.01)).fit(FRAME, Y)
    got = again(piped)
    np.testing.assert_array_equal(got.predict(FRAME), piped.predict(FRAME))
    require_same(got[0], piped[0], FRAME[["luck", "grade", "city", "age", "size"]])
    np.testing.assert_array_equal(got.fit(FRAME, Y).predict(FRAME), piped.predict(FRAME))


@pytest.mark.parametrize("columns", [[0, -1], slice(0, 2), [True, False, True], np.array([2, 0])], ids=str)
def test_columns_of_an_array(columns, again):
    some = [
        ("a", StandardScaler(), columns),
        ("b", "passthrough", [1]),
        ("c", PCA(1), [0, 1]),
        ("d", PCA(), []),
    ]
    made = ColumnTransformer(some, remainder="passthrough").fit(X)
    require_same(again(made), made, X)


def test_machines_that_take_few_points(again):
    """Whatever a row of zeros would be to it, a machine behind a transformer can be loaded."""
    points = np.abs(X)
    made = make_pipeline(MinMaxScaler((0, 1)), mercer.KernelRidge(ChiSquared(), lam=0.1)).fit(points, Y)
    np.testing.assert_array_equal(again(made).predict(points), made.predict(points))


def test_numbers_of_other_types(again):
    whole = np.arange(6).reshape(3, 2)
    for imputer in (
        SimpleImputer(strategy="constant"),
        SimpleImputer(strategy="most_frequent", missing_values=1),
    ):
        require_same(again(imputer.fit(whole)), imputer, whole)
    words = SimpleImputer(strategy="constant", fill_value="?").fit(np.array([["a"], [np.nan]], dtype=object))
    require_same(again(words), words, np.array([[np.nan]], dtype=object))


def test_output_as_frames(again):
    made = StandardScaler().set_output(transform="pandas").fit(FRAME[["size"]])
    pd.testing.assert_frame_equal(again(made).transform(FRAME[["size"]]), made.transform(FRAME[["size"]]))


def test_sparse_points(again):
    sparse = sp.csr_array(np.where(X > 2, X, 0))
    made = make_pipeline(MaxAbsScaler(), mercer.KernelSVC()).fit(sparse, Y > 2)
    assert again(made).predict(sparse).tolist() == made.predict(sparse).tolist()


@pytest.mark.parametrize(
    "thing, match",
    [
        (FunctionTransformer(), "FunctionTransformer of sklearn.*function is code.*StandardScaler"),
        (GridSearchCV(mercer.KernelSVC(), {"lam": [1.0]}, cv=2).fit(X, Y > 2), "save its best_estimator_"),
        (QuantileTransformer(), "QuantileTransformer of sklearn.*use pickle"),
        (ColumnTransformer([("a", PCA(), lambda X: [0])]).fit(X), "by a function .'a'.*list of their names"),
        (ColumnTransformer([("a", PCA(), slice("size", "size"))]).fit(FRAME), "from one name to another"),
        (ColumnTransformer([("a", PCA(), make_column_selector())]), "make_column_selector"),
        (OneHotEncoder(min_frequency=2).fit(FRAME[["city"]]), "rare categories together"),
        (SimpleImputer(add_indicator=True).fit(HOLES), "add_indicator=True"),
        (OneHotEncoder(dtype=object).fit(FRAME[["city"]]), "is no type of values"),
        (make_pipeline(StandardScaler(), QuantileTransformer()), r"steps\[1\]\[1\] is a QuantileTransformer"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_what_is_refused(thing, match, tmp_path):
    with pytest.raises(ModelFileError, match=match):
        save(thing, tmp_path / "a.mercer")


# -- files made by hand ---------------------------------------------------------------------------


def changed(thing, change, tmp_path):
    """The file of a thing whose rows were changed."""
    path = tmp_path / "a.mercer"
    save(thing, path)
    structure, arrays = parts(path.read_bytes())
    change(structure["objects"])
    path.write_bytes(file_of(structure, arrays))
    return path


def transformer_row(rows):
    return next(row for row in rows if row["kind"] == "transformer")


def learned_row(rows):
    return rows[transformer_row(rows)["state"]["learned"]["@"]]


def _other_class(rows):
    transformer_row(rows)["class"] = "FunctionTransformer"


def _one_feature_more(rows):
    transformer_row(rows)["state"]["n_features_in_"] += 1


def _very_many_features(rows):
    transformer_row(rows)["state"]["n_features_in_"] = 1 << 40


def _another_attribute(rows):
    learned_row(rows)["items"].append(["transform", 1])


def _an_attribute_less(rows):
    learned_row(rows)["items"].pop()


def _a_wrong_parameter(rows):
    transformer_row(rows)["parameters"]["copy"] = "often"


def _an_unknown_parameter(rows):
    transformer_row(rows)["parameters"]["surprise"] = 1


def _processes(rows):
    transformer_row(rows)["parameters"]["n_jobs"] = 100_000


def _an_output(rows):
    transformer_row(rows)["state"]["output"] = "elsewhere"


@pytest.mark.parametrize(
    "change",
    [
        _other_class,
        _one_feature_more,
        _very_many_features,
        _another_attribute,
        _an_attribute_less,
        _a_wrong_parameter,
        _an_unknown_parameter,
        _processes,
        _an_output,
    ],
)
def test_scalers_made_by_hand(change, tmp_path):
    with pytest.raises(ModelFileError):
        load(changed(StandardScaler().fit(X), change, tmp_path))


@pytest.fixture
def unchecked(monkeypatch):
    """`save` without its rehearsal: files as others would make them."""
    made = transformers._made

    def not_made(*parts):
        return made(*parts) if loading else None

    loading = []
    monkeypatch.setattr(transformers, "_made", not_made)
    monkeypatch.setattr(
        transformers.TransformerForm, "of", lambda self, x: {n: getattr(x, n) for n in self.holds}
    )
    return loading


def refuse(thing, match, loading, tmp_path):
    loading.clear()
    save(thing, tmp_path / "a.mercer")
    loading.append(True)
    with pytest.raises(ModelFileError, match=match):
        load(tmp_path / "a.mercer")


@pytest.mark.parametrize("values", [[3.0, 1.0], [1.0, 1.0], [np.nan, 1.0], []])
def test_numbers_out_of_order_would_be_found_outside(values, unchecked, tmp_path):
    """scikit-learn bisects them: what it finds could lie beyond the columns there are."""
    encoder = OneHotEncoder().fit([[1.0], [3.0]])
    encoder.categories_ = [np.array(values)]
    refuse(encoder, r"categories are (not in order|no list)", unchecked, tmp_path)
    with pytest.raises(ModelFileError, match="not in order"):
        unchecked.append(True)
        save(encoder, tmp_path / "b.mercer")


def test_categories_that_are_no_values(unchecked, tmp_path):
    encoder = OneHotEncoder().fit(np.array([["a"], ["b"]], dtype=object))
    for wrong, match in (([(1,), "b"], "no words or numbers"), (["a", "a"], "twice")):
        encoder.categories_[0] = np.array([*wrong, None], dtype=object)[:2]
        refuse(encoder, match, unchecked, tmp_path)
    # Numbers whose hash is 0.
    encoder.categories_[0] = np.array([k * (2**61 - 1) for k in range(20)], dtype=object)
    refuse(encoder, "slow", unchecked, tmp_path)


def test_parts_of_other_widths(unchecked, tmp_path):
    wide = ColumnTransformer([("a", StandardScaler(), [0, 1])]).fit(X)
    wide.transformers_[0][1].__dict__.update(vars(StandardScaler().fit(X)))
    refuse(wide, "does not belong together", unchecked, tmp_path)
    scaler = StandardScaler().fit(X)
    scaler.scale_ = scaler.scale_[:2]
    refuse(scaler, "scale_ of a StandardScaler is not an array", unchecked, tmp_path)
    piped = make_pipeline(StandardScaler(), mercer.KernelRidge(lam=0.1)).fit(X, Y)
    piped.steps[0] = ("standardscaler", StandardScaler().fit(X[:, :2]))
    refuse(piped, "a step takes other points than come", unchecked, tmp_path)


def test_parts_that_are_not_fitted(unchecked, tmp_path):
    made = ColumnTransformer([("a", StandardScaler(), [0, 1])]).fit(X)
    made.transformers_ = [("a", StandardScaler(), [0, 1])]
    refuse(made, "not fitted", unchecked, tmp_path)


def test_names_are_made_of_names(unchecked, tmp_path):
    made = ColumnTransformer(
        [("a", StandardScaler(), [0])], verbose_feature_names_out="{feature_name:>999999999}"
    )
    refuse(made.fit(X), "by more than names", unchecked, tmp_path)
    made.set_params(verbose_feature_names_out="{transformer_name}-{feature_name}").fit(X)
    unchecked.append(True)
    save(made, tmp_path / "a.mercer")
    assert load(tmp_path / "a.mercer").get_feature_names_out().tolist() == ["a-x0"]


def test_the_version_is_noted_and_named(tmp_path):
    import sklearn

    path = tmp_path / "a.mercer"
    save(StandardScaler().fit(X), path)
    assert transformer_row(parts(path.read_bytes())[0]["objects"])["scikit-learn"] == sklearn.__version__

    def newer(rows):
        transformer_row(rows)["scikit-learn"] = "9.9"
        _an_unknown_parameter(rows)

    with pytest.raises(
        ModelFileError, match=rf"written with scikit-learn 9.9, and here is {sklearn.__version__}"
    ):
        load(changed(StandardScaler().fit(X), newer, tmp_path))


def test_nothing_private_is_in_a_file(tmp_path):
    path = tmp_path / "a.mercer"
    save(ColumnTransformer([("a", OneHotEncoder(), ["city"])], remainder="drop").fit(FRAME), path)
    assert not re.search(r'"_[a-z]', json.dumps(parts(path.read_bytes())[0]))
