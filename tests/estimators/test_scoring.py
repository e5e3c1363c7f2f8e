"""Scores of rows that live elsewhere are those of the same rows as arrays, which scikit-learn computes."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import d2_pinball_score, r2_score

from clusters import cluster_of
from mercer import KernelKMeans, KernelLogistic, KernelPerceptron, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.scoring import quantiles
from mercer.kernels import Gaussian
from mercer.losses import Quantile
from mercer.representations import Nystrom
from mercer.rows import ArrayRows, open_rows
from mercer.rows.cluster import ClusterRows

rng = np.random.default_rng(0)
n = 200
X = rng.standard_normal((n, 2))
t = 100 + X[:, 0] + 0.2 * rng.standard_normal(n)
two = np.column_stack([t, X[:, 1] ** 2])
words = np.array(["cold", "mild", "hot"])[np.digitize(t, [99.5, 100.5])]
w = rng.integers(0, 3, n).astype(float)
KIND = {"kernel": Gaussian(1.0), "lam": 1e-2, "representation": Nystrom(centres=X[:10])}
LEVELS = (0.1, 0.5, 0.9)


@pytest.mark.parametrize(
    "machine, y",
    [
        (KernelRidge(**KIND), t),
        (KernelRidge(**KIND), two),
        (KernelRegressor(loss=Quantile(LEVELS), **KIND), t),
        (KernelRegressor(loss="absolute", **KIND), t),
        (KernelLogistic(**KIND), words),
        (KernelSVC(**KIND), np.digitize(t, [100])),
        (KernelPerceptron(Gaussian(0.05)), words),
    ],
    ids=["ridge", "two targets", "quantiles", "absolute", "words", "numbers", "perceptron"],
)
def test_rows_score_as_arrays_do(machine, y):
    machine.fit(X, y)
    for weights in (None, w):
        expected = machine.score(X, y, weights)
        assert machine.score(ArrayRows(X, y, weights, rows=33)) == pytest.approx(expected, rel=1e-12)
        # Targets and weights beside the rows.
        assert machine.score(ArrayRows(X, rows=33), y, weights) == pytest.approx(expected, rel=1e-12)


def test_files_and_clusters(tmp_path):
    path, table = tmp_path / "a.parquet", {"a": X[:, 0], "b": X[:, 1], "y": t, "word": words, "w": w}
    pq.write_table(pa.table(table), path)
    ridge = KernelRidge(**KIND).fit(open_rows(path, "y", columns=["a", "b"]))
    logistic = KernelLogistic(**KIND).fit(open_rows(path, "word", columns=["a", "b"]))
    expected = r2_score(t, ridge.predict(path), sample_weight=w)
    # Columns are found by their names, whatever else there is.
    assert ridge.score(path, "y", "w") == pytest.approx(expected, rel=1e-12)
    assert ridge.score(path, t, w) == pytest.approx(expected, rel=1e-12)
    assert logistic.score(str(path), "word") == pytest.approx(np.mean(logistic.predict(path) == words))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet"]
    with cluster_of(2, processes=False, default=True) as client:
        rows = ClusterRows(ArrayRows(X, t, w, rows=33), client=client)
        assert ridge.score(rows) == pytest.approx(expected, rel=1e-12)
        frame = dd.from_pandas(pd.DataFrame(table)[["w", "b", "y", "a"]], npartitions=3)
        assert ridge.score(frame, "y", "w") == pytest.approx(expected, rel=1e-12)
        assert np.allclose(ridge.predict(frame), ridge.predict(path), rtol=1e-12)
        plain = KernelRidge(**KIND).fit(X, t)
        score = plain.score(da.from_array(X, chunks=(50, 2)), da.from_array(t, chunks=50))
        assert score == pytest.approx(plain.score(X, t), rel=1e-12)


def test_clusters_without_labels(tmp_path):
    pq.write_table(pa.table({"y": t, "a": X[:, 0], "b": X[:, 1]}), tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet", columns=["a", "b"])
    machine = KernelKMeans(
        n_clusters=3, kernel=Gaussian(1.0), representation=KIND["representation"], random_state=0
    )
    machine.fit(rows)
    expected = KernelKMeans.score(machine, pd.DataFrame(X, columns=["a", "b"]))
    assert machine.score(tmp_path / "a.parquet") == pytest.approx(expected, rel=1e-9)
    assert machine.score(rows) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(0, 3)), min_size=1
    ),
    st.floats(0.01, 0.99),
)
def test_quantiles_are_best_constants(examples, level):
    y, weights = np.array([e[0] for e in examples]), np.array([float(e[1]) for e in examples])
    if not weights.any():
        weights[0] = 1.0
    (found,) = quantiles(ArrayRows(np.zeros((len(y), 1)), y, weights, rows=2), np.array([level]))
    assert found in y[weights > 0]

    def loss(c):
        return weights @ np.maximum(level * (y - c), (level - 1) * (y - c))

    best = min(map(loss, y))
    assert loss(found) <= best + 1e-12 * (abs(best) + weights @ np.abs(y))


def test_constant_targets():
    machine = KernelRidge(**KIND).fit(X, np.full(n, 3.0))
    shifted = np.full(n, 4.0)
    assert machine.score(ArrayRows(X, shifted, rows=33)) == machine.score(X, shifted) == 0
    several = KernelRegressor(loss=Quantile(LEVELS), **KIND).fit(X, t)
    said = several.predict(X)
    expected = np.mean([d2_pinball_score(shifted, said[:, j], alpha=a) for j, a in enumerate(LEVELS)])
    assert several.score(ArrayRows(X, shifted, rows=33)) == expected == 0


def test_what_can_not_be_scored():
    ridge, words_machine = KernelRidge(**KIND).fit(X, t), KernelLogistic(**KIND).fit(X, words)
    bad = t.copy()
    bad[150] = np.nan
    for machine, rows, says in (
        (ridge, ArrayRows(X), "no target was named"),
        (ridge, ArrayRows(X[:0], t[:0]), "there are no rows"),
        (ridge, ArrayRows(X[:1], t[:1]), "two at least"),
        (ridge, ArrayRows(X, bad, rows=33), "row 151 has NaN"),
        (ridge, ArrayRows(X, two), "2 targets"),
        (ridge, ArrayRows(X, t, np.zeros(n)), "zero everywhere"),
        (ridge, ArrayRows(X, t, -w), "nonnegative"),
        (words_machine, ArrayRows(X, np.arange(n)), "words are never numbers"),
    ):
        with pytest.raises(ValueError, match=says):
            machine.score(rows)
    with pytest.raises(ValueError):
        ridge.score(X)
