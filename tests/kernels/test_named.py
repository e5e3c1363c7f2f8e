"""Kernels on named columns: text beside numbers, in one table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import KernelRidge, KernelSVC, OnlineKernelRegressor
from mercer.engines import Tiled
from mercer.functions import feature_weights
from mercer.kernels import Constant, Gaussian, Linear, Spectrum, columns

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "text": ["".join(RNG.choice(list("abc"), 8)) for _ in range(80)],
        "age": RNG.normal(50, 10, 80),
        "size": RNG.normal(size=80),
        "note": ["?"] * 80,
    }
)
Y = (FRAME["text"].str.count("ab") + (FRAME["size"] > 0) > 1).to_numpy()
TEXT, NUMBERS = list(FRAME["text"]), FRAME[["age", "size"]].to_numpy()
K, G = Spectrum(2), Gaussian(2.0).scaled([10.0, 1.0])


ROWS = {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "dicts": FRAME.to_dict("records")}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_values(rows):
    a, b = columns("text", K), columns(["age", "size"], G)
    assert np.allclose((a + b)(rows), K(TEXT) + G(NUMBERS))
    assert np.allclose((a * b)(rows), K(TEXT) * G(NUMBERS))
    assert np.allclose((a.normalize() * b + 0.5 * b)(rows), (K.normalize()(TEXT) + 0.5) * G(NUMBERS))
    assert np.allclose((a + b).diag(rows), K.diag(TEXT) + 1)
    assert np.allclose((Constant(2.0) + a)(rows), K(TEXT) + 2)
    assert np.allclose((Constant(2.0) * (Constant(1.0) + b).normalize())(rows), 1 + G(NUMBERS))
    assert np.allclose(columns("size", Gaussian(1.0))(rows), Gaussian(1.0)(NUMBERS[:, 1:]))


def test_operators_prepare_each_part_once(monkeypatch):
    k = columns("text", K).normalize() * columns(["age", "size"], G)
    X = k.points(FRAME)
    A = Tiled(threads=2).operator(k, X)
    exact = K.normalize()(TEXT) * G(NUMBERS)
    monkeypatch.setattr(type(k.left.kernel), "child_points", None)  # everything is there by now
    assert np.allclose(A.dense(), exact) and np.allclose(A @ np.ones(80), exact.sum(axis=1))
    some = np.array([5, 70, 5])
    assert np.allclose(A.among(some, np.arange(3)).dense(), exact[np.ix_(some, np.arange(3))])


def test_machines(tmp_path):
    k = columns("text", K) + columns(["age", "size"], Gaussian())
    machine = KernelSVC(k, lam=1e-2).fit(FRAME, Y)
    assert machine.kernel_.right.kernel.sigma > 1  # found from these two columns
    assert machine.score(FRAME, Y) > 0.9
    mercer.save(machine, tmp_path / "m")
    assert np.array_equal(mercer.load(tmp_path / "m").predict(FRAME), machine.predict(FRAME))
    search = GridSearchCV(KernelSVC(k, lam=1e-2), {"kernel__left__kernel__length": [1, 2]}, cv=3).fit(
        FRAME, Y
    )
    assert search.fit(FRAME, Y).best_params_ == {"kernel__left__kernel__length": 2}


def test_a_machine_keeps_what_it_looks_at_and_that_is_its_own(tmp_path):
    rows = [{"text": list("abc"), "size": 1.0 * i, "day": pd.Timestamp("2024-01-01")} for i in range(6)]
    k = 2.0 * columns("text", Spectrum(1)).normalize() + columns("size", Gaussian(1.0)) + 1.0
    machines = [M.fit(rows, range(6)) for M in (KernelRidge(k, lam=0.1), OnlineKernelRegressor(k, step=0.1))]
    new = [{"text": ("a",), "size": 2.5}]
    expected = [float(machine.predict(new)[0]) for machine in machines]
    again = [M.fit(rows, range(6)) for M in (KernelRidge(k, lam=0.1), OnlineKernelRegressor(k, step=0.1))]
    rows[0]["size"] = 99.0
    rows[1]["text"].append("d")
    for machine, value in zip(again, expected, strict=True):
        assert machine.predict(new)[0] == pytest.approx(value, abs=1e-12)
        mercer.save(machine, tmp_path / "m")  # days have no form in files, and none is kept
        assert mercer.load(tmp_path / "m").predict(new)[0] == pytest.approx(value, abs=1e-12)


def test_features_of_a_column():
    machine = KernelRidge(columns("text", K), lam=1e-2).fit(FRAME, FRAME["text"].str.count("ab"))
    assert machine.plan_.unknowns == 9
    word, weight = feature_weights(machine, FRAME, count=1)[0]
    assert word == "text: ab" and weight > 0


@pytest.mark.parametrize(
    "names, kernel, given, message",
    [
        (["text", "age"], K, FRAME, "takes one column"),
        ("text", K, TEXT, "rows of a data frame, or dicts; row 0"),
        ("texts", K, FRAME, "no column 'texts'; it has text, age"),
        ([], Linear(), FRAME, "must be a name or a list of names"),
        ("age", K, FRAME, "in 'age': .*item 0 is"),
        ("text", Linear(), FRAME, "row 0 of column 'text' is .*numbers"),
        ("a", Linear(), [{"a": 1.0}] * 79 + [{"a": None}], "NaN or infinity"),
        ("a", Linear(), [{"a": 1.0}] * 79 + [{"a": pd.NA}], "row 79 of column 'a' is <NA>.*numbers"),
        ("a", Linear(), [{"a": 1.0}] * 79 + [{"a": np.nan}], "in 'a': .*NaN or infinity"),
    ],
)
def test_what_is_refused(names, kernel, given, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge(columns(names, kernel), lam=0.1).fit(given, np.zeros(80))


def test_maps_beside_strings():
    """A map of the user's sees the points themselves, whatever other parts of the kernel make of them."""

    def lengths(rows):
        return np.array([[float(len(row["text"])), row["size"]] for row in rows])

    k = columns("text", K) * Gaussian(1.0).pullback(lengths)
    exact = K(TEXT) * Gaussian(1.0)(lengths(FRAME.to_dict("records")))
    X = k.points(FRAME)
    A = Tiled().operator(k, X)
    assert np.allclose(A.dense(), exact) and np.allclose(A.expecting(1e9).dense(), exact)
    assert KernelRidge(k, lam=0.1).fit(FRAME, np.arange(80.0)).predict(FRAME).shape == (80,)
