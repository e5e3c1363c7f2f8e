"""Machines and rows that live elsewhere: a look at all of them, plans, answers from file to file."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.csv as text
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.elsewhere import Census, Encoded, Labels, Look, Without, columns_of
from mercer.kernels import Gaussian, Precomputed, Spectrum
from mercer.losses import FunctionLoss, Logistic, Poisson, Quantile
from mercer.representations import Nystrom
from mercer.rows import ArrayRows, Shard, open_rows
from mercer.rows.base import watching
from mercer.solvers import IncompatibleError

rng = np.random.default_rng(0)
n = 200
X = rng.standard_normal((n, 3))
t = X[:, 0] + 0.2 * rng.standard_normal(n)
three = np.array(["cold", "mild", "hot"])[np.digitize(t, [-0.5, 0.5])]
CENTRES = Nystrom(centres=X[:10])


def ridge(**params):
    return KernelRidge(**{"kernel": Gaussian(1.0), "lam": 1e-2, "representation": CENTRES, **params})


# -- the first look ----------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), min_size=1), st.integers(0, 20))
def test_labels_add_up(examples, at):
    y, w = np.array([e[0] for e in examples]), np.array([float(e[1]) for e in examples])
    whole = Labels.of(y, w).weights
    assert whole == {label: w[y == label].sum() for label in sorted(set(y.tolist()))}
    if 0 < at < len(y):
        parts = Labels.of(y[:at], w[:at]) + Labels.of(y[at:], w[at:])
        assert parts.weights == whole and list(parts.weights) == sorted(whole)


@pytest.mark.parametrize(
    "shard, labelled, says",
    [
        (Shard(np.array([[0.0, 1], [0, np.nan]]), first=7), False, "row 9 has NaN or infinity in column 2"),
        (Shard(np.ones((2, 1)), np.array([1, np.inf]), first=7), False, "row 9 has NaN .* target"),
        (Shard(np.ones((2, 1)), np.array([1, 1e90])), False, "divide y"),
        (Shard(np.ones((2, 1)), np.array([1, np.nan])), True, "NaN where a label should be"),
        (Shard(np.ones((2, 1)), np.array([1, "b", None], dtype=object)[1:]), True, "sortable"),
        (Shard(np.ones((2, 1)), np.ones(2), np.array([1, -1.0])), False, "nonnegative"),
        (Shard(np.ones((2, 1)), np.ones(2), np.array([1, np.nan])), False, "nonnegative"),
        (Shard(np.ones((10_001, 1)), np.arange(10_001)), True, "different labels"),
    ],
)
def test_what_a_look_finds(shard, labelled, says):
    with pytest.raises(ValueError, match=says):
        Look(labelled)(shard)


def test_large_numbers_are_finite():
    """Their sum may not be."""
    weight, present, _ = Look(False)(Shard(np.full((3, 2), 1.7e308), np.ones(3), np.array([2.0, 0, 1])))
    assert (weight, present) == (3.0, 2.0)


def test_labels_that_differ_from_shard_to_shard():
    y = np.array(["a", "b", 3, 4] * 50, dtype=object)
    with pytest.raises(ValueError, match="sortable"):
        KernelSVC(lam=0.1).fit(ArrayRows(X, y))
    # Of one kind in every shard, but not the same.
    y = np.array([*"ab" * 50, *[3, 4] * 50], dtype=object)
    with pytest.raises(ValueError, match="sortable"):
        KernelSVC(lam=0.1).fit(ArrayRows(X, y, rows=100))


def test_a_sample():
    w = np.where(np.arange(n) % 4, 0.0, 2.0)
    census, found = Census.drawn(ArrayRows(X, t, w, rows=30), 20, np.random.default_rng(0))
    # Rows without weight are no use: more are drawn, and left out.
    assert census.weight == w.sum() and found.weights == {} and 8 <= len(census.sample) <= 40
    assert (census.sample.w == 2).all() and np.isin(census.sample.X[:, 0], X[::4, 0]).all()
    with pytest.raises(ValueError, match="zero everywhere"):
        Census.drawn(ArrayRows(X, t, 0 * w), 20, np.random.default_rng(0))


def test_few_rows_with_a_weight():
    """However few they are, they are drawn: among many rows without one, or of classes without one."""
    P = np.arange(21_000.0)[:, None]
    for kept in ([13_000], [5, 6, 20_999], np.arange(0, 21_000, 97)):
        w = np.zeros(21_000)
        w[kept] = 1.5
        census, _ = Census.drawn(ArrayRows(P, P[:, 0], w, rows=3000), 40, np.random.default_rng(2))
        assert len(census.sample) == min(len(kept), 40) and (census.sample.w == 1.5).all()
        assert np.isin(census.sample.X[:, 0], kept).all() and len(set(census.sample.y)) == len(census.sample)
    rare = np.where(np.isin(P[:, 0], (70, 9000)), 1, np.where(P[:, 0] % 2000 == 1, 2, 0))
    machine = KernelLogistic(Gaussian(1.0), lam=0.1, class_weight={0: 0.0}, random_state=0)
    rows = ArrayRows(P, rare, rows=3000)
    census = Census.take(rows, 2, np.random.default_rng(0), lambda labels, weights: (labels > 0) * 1.0)
    assert sorted(census.sample.y) == [1] * 2 + [2] * 11
    assert machine.fit(rows).classes_.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float32, bool, "U5", object])
def test_classes_are_as_they_were_given(dtype):
    y = three.astype(object) if dtype is object else (t > 0).astype(dtype)
    ours = KernelLogistic(Gaussian(1.0), lam=0.1, representation=CENTRES).fit(ArrayRows(X, y, rows=60))
    other = KernelLogistic(Gaussian(1.0), lam=0.1, representation=CENTRES).fit(X, y)
    assert ours.classes_.tolist() == other.classes_.tolist()
    assert np.array_equal(ours.predict(X), other.predict(X))
    assert ours.classes_.dtype == other.classes_.dtype or dtype is object


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_classes_that_are_days(unit):
    y = np.where(t > 0, 9131, 365).astype("M8[D]").astype(f"M8[{unit}]")
    ours = KernelLogistic(Gaussian(1.0), lam=0.1, representation=CENTRES).fit(ArrayRows(X, y, rows=60))
    assert ours.classes_.dtype == y.dtype and np.array_equal(ours.classes_, np.unique(y))
    assert ours.predict(X).dtype == y.dtype and ours.score(ArrayRows(X, y)) == (ours.predict(X) == y).mean()


def test_answers_for_a_file_that_changes(tmp_path):
    """… are none, rather than answers for rows of two files, and no file of them appears."""
    np.save(tmp_path / "x.npy", X)
    machine, told = ridge().fit(X, t), []

    def change(done, count):
        if not told:
            np.save(tmp_path / "x.npy", X[:150])
        told.append(done)

    with watching(change), pytest.raises(ValueError, match="x.npy has changed since it was opened"):
        machine.write(open_rows(tmp_path / "x.npy", rows=20), tmp_path / "out.npy")
    assert told and [p.name for p in tmp_path.iterdir()] == ["x.npy"]


def test_classes_without_weight():
    """… are no classes."""
    weight = {"mild": 0.0}
    machine = KernelLogistic(Gaussian(1.0), lam=0.1, representation=CENTRES, class_weight=weight)
    ours = machine.fit(ArrayRows(X, three, rows=60))
    scores, lam = ours.decision_function(X), ours.lam_
    other = machine.fit(X, three)
    assert ours.classes_.tolist() == ["cold", "hot"] and np.allclose(
        scores, other.decision_function(X), atol=1e-6
    )
    assert lam == other.lam_
    shard = Without(np.array(["mild"]))(Shard(X[:5], three[:5], np.ones(5)))
    assert np.array_equal(shard.w, three[:5] != "mild")
    with pytest.raises(ValueError, match="one class only"):
        machine.set_params(class_weight={"mild": 0.0, "hot": 0}).fit(ArrayRows(X, three))


def test_shards_are_encoded_as_arrays_are():
    for loss, y, labels in (
        (Logistic(), three, True),
        (Quantile((0.1, 0.9)), t, False),
        (Quantile(0.5), np.stack([t, t], axis=1), False),
    ):
        targets, coding = (loss.encode_labels if labels else loss.encode_targets)(y)
        found = Encoded(coding, None, 1.0)(Shard(X[:20], y[:20]))
        assert np.array_equal(found.y, targets[:20]) and found.w is None
        heavy = Encoded(coding, None, 2.0)(Shard(X[:20], y[:20], np.ones(20, np.float32)))
        assert (heavy.w == 2).all() and heavy.w.dtype == np.float64


def test_a_loss_of_ones_own_is_looked_at_once():
    calls = [0]

    def squared(y, s):
        calls[0] += 1
        return (y - s) ** 2

    loss = FunctionLoss(squared, lambda y, s: 2 * (s - y), lambda y, s: 0 * s + 2)
    machine = KernelRegressor(Gaussian(1.0), loss=loss, lam=1e-2, representation=CENTRES)
    few = machine.fit(ArrayRows(X, t, rows=n)) and calls[0]
    machine.fit(ArrayRows(X, t, rows=4))
    assert calls[0] - few < few + 1000
    assert np.allclose(machine.predict(X), ridge().fit(X, t).predict(X), atol=1e-6)


def test_targets_that_do_not_suit_the_loss():
    """… and that only one row has, which is not in the sample."""
    y = np.ones(n)
    y[-1] = -1
    with pytest.raises(ValueError, match="Poisson needs targets"):
        KernelRegressor(loss=Poisson(), lam=0.1, representation=CENTRES).fit(ArrayRows(X, y, rows=60))


# -- plans ---------------------------------------------------------------------------------------------------


def test_plan():
    rows = ArrayRows(X, t, rows=60)
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, representation=Nystrom(10), random_state=0)
    plan = machine.plan(rows)
    assert plan == machine.fit(rows).plan_ and plan == machine.plan(ArrayRows(X), t)
    assert plan.examples == n and plan.unknowns == 10 and 0 < plan.memory < 1e9
    assert "MB" in str(plan) and "Passes" in str(plan)
    assert not hasattr(KernelRidge(), "plan_")
    assert any("quasi-Newton" in reason for reason in plan.reasons)
    kinks = KernelSVC(lam=1e-2, representation=Nystrom(10)).plan(ArrayRows(X, t > 0)).reasons
    assert any("kinks" in reason and "gap" in reason for reason in kinks)
    assert not any("quasi-Newton" in reason for reason in kinks)


def test_what_is_refused():
    rows = ArrayRows(X, t)
    for params, says in (
        ({"representation": "full"}, "has a coefficient for each of 200 examples, which live elsewhere"),
        (
            {"solver": "cholesky", "representation": "nystrom"},
            "needs the examples in memory; use solver='passes'",
        ),
    ):
        for ask in (KernelRidge(lam=0.1, **params).fit, KernelRidge(lam=0.1, **params).plan):
            with pytest.raises(IncompatibleError, match=says):
                ask(rows)
    for kernel in (Spectrum(2), Precomputed()):
        with pytest.raises(ValueError, match="no kernel on vectors"):
            KernelRidge(kernel, lam=0.1).fit(rows)
    with pytest.raises(ValueError, match="no target was named"):
        KernelRidge(lam=0.1).fit(ArrayRows(X))
    with pytest.raises(ValueError, match="there are no rows"):
        KernelRidge(lam=0.1).fit(ArrayRows(X[:0], t[:0]))
    with pytest.raises(ValueError, match="use KernelLogistic"):
        KernelSVC(lam=0.1, probability=True).fit(ArrayRows(X, t > 0))
    with pytest.raises(ValueError, match="must hold real numbers"):
        KernelRidge(lam=0.1).fit(ArrayRows(X, three))


# -- answers -------------------------------------------------------------------------------------------------


def test_answers_for_rows_are_those_for_arrays():
    machine = KernelLogistic(Gaussian(1.0), lam=1e-2, representation=CENTRES).fit(
        ArrayRows(X, three, rows=60)
    )
    rows = ArrayRows(X, rows=33)
    for method in ("predict", "decision_function", "predict_proba"):
        answer = getattr(machine, method)
        assert np.array_equal(answer(rows), answer(X)), method
    several = KernelRegressor(Gaussian(1.0), loss=Quantile((0.1, 0.9)), lam=1e-2, representation=CENTRES)
    several.fit(ArrayRows(X, t, rows=60))
    assert np.array_equal(several.predict(rows), several.predict(X)) and several.predict(rows).shape == (n, 2)
    with pytest.raises(ValueError, match="there are no rows"):
        machine.predict(ArrayRows(X[:0]))
    with pytest.raises(ValueError, match="expecting 3 features"):
        machine.predict(ArrayRows(X[:, :2]))
    # A machine fitted in memory answers for them, too, and one that was saved.
    other = pickle.loads(pickle.dumps(ridge().fit(X, t)))
    assert np.allclose(other.predict(rows), other.predict(X), rtol=0, atol=1e-13)


def test_saved(tmp_path):
    for machine, y in ((ridge(), t), (KernelSVC(Gaussian(1.0), lam=0.1, representation=CENTRES), three)):
        machine.fit(ArrayRows(X, y, rows=60))
        mercer.save(machine, tmp_path / "machine")
        assert np.array_equal(mercer.load(tmp_path / "machine").predict(X), machine.predict(X))


@pytest.mark.parametrize("ending", ["npy", "csv", "tsv", "parquet"])
def test_from_file_to_file(ending, tmp_path):
    names = ["a", "b", "c"]
    table = pa.table({**dict(zip(names, X.T, strict=True)), "y": three})
    pq.write_table(table, tmp_path / "in.parquet")
    machine = KernelLogistic(Gaussian(1.0), lam=1e-2, representation=CENTRES).fit(
        tmp_path / "in.parquet", "y"
    )
    assert machine.feature_names_in_.tolist() == names
    # Columns are found by their names, wherever they are, and others are passed over.
    pq.write_table(table.select(["c", "y", "a", "b"]), tmp_path / "new.parquet")
    out = tmp_path / f"out.{ending}"
    assert machine.write(tmp_path / "new.parquet", out, "predict_proba") == n
    expected = machine.predict_proba(ArrayRows(X))
    if ending == "npy":
        found = np.load(out)
    else:
        options = text.ParseOptions(delimiter="\t" if ending == "tsv" else ",")
        read = pq.read_table(out) if ending == "parquet" else text.read_csv(out, parse_options=options)
        assert read.column_names == [f"predict_proba_{label}" for label in machine.classes_]
        found = np.stack([column.to_numpy() for column in read.columns], axis=1)
    assert np.allclose(found, expected, rtol=1e-12)
    before = out.read_bytes()
    with pytest.raises(FileExistsError):
        machine.write(tmp_path / "new.parquet", out)
    assert out.read_bytes() == before
    assert machine.write(tmp_path / "new.parquet", out, "predict_proba", replace=True) == n
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["in.parquet", "new.parquet", out.name])


def test_what_can_not_be_written(tmp_path):
    machine = ridge().fit(ArrayRows(X, t, rows=60))
    with pytest.raises(AttributeError, match="no method 'predict_proba'"):
        machine.write(ArrayRows(X), tmp_path / "out.csv", "predict_proba")
    with pytest.raises(ValueError):
        machine.write(ArrayRows(X), tmp_path / "out.xyz")
    bad = X.copy()
    bad[-1] = np.nan
    with pytest.raises(ValueError, match="NaN"):  # in the last shard
        machine.write(ArrayRows(bad, rows=60), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_columns_of_answers():
    assert list(columns_of(np.zeros(3), "predict")) == ["predict"]
    assert list(columns_of(np.zeros((3, 2)), "predict_proba", np.array(["a", "b"]))) == [
        "predict_proba_a",
        "predict_proba_b",
    ]
    assert list(columns_of(np.zeros((3, 3)), "scores", np.array(["a", "b"]))) == [
        "scores_0",
        "scores_1",
        "scores_2",
    ]


def test_names():
    rows = open_rows(ds.dataset(pa.table({"a": X[:, 0], "b": X[:, 1], "y": t})), "y")
    machine = KernelRidge(Gaussian(1.0), lam=0.1, random_state=0).fit(rows)
    assert machine.feature_names_in_.tolist() == ["a", "b"]
    other = open_rows(ds.dataset(pa.table({"b": X[:, 1], "a": X[:, 0]})))
    with pytest.raises(ValueError, match="learned from"):
        machine.predict(other)
