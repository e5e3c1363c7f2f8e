"""The kernel of a forest, against scikit-learn's own leaves and one-hot codes of them."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.linear_model import LinearRegression

import mercer
from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.io.errors import ModelFileError
from mercer.kernels import Forest, Gaussian, Laplacian, check, forest_loops
from mercer.representations import Nystrom
from mercer.selection.gradient import LooSurface, refine
from mercer.testing import check_kernel


def data(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0)


def grown(trees=12, **options):
    return Forest.grow(*data(), trees=trees, **options)


def one_hot(leaves, others):
    """The share of equal leaves, by dense indicators."""
    total = np.zeros((len(leaves), len(others)))
    for a, b in zip(leaves.T, others.T, strict=True):
        names = np.unique(np.concatenate([a, b]))
        total += (a[:, None] == names).astype(float) @ (b[:, None] == names).astype(float).T
    return total / leaves.shape[1]


FORESTS = {
    "random regression": RandomForestRegressor(9, random_state=0),
    "extra regression": ExtraTreesRegressor(9, min_samples_leaf=3, random_state=0),
    "random labels": RandomForestClassifier(9, random_state=0),
    "extra labels": ExtraTreesClassifier(9, max_features=1, random_state=0),
    "best first": RandomForestRegressor(5, max_leaf_nodes=11, random_state=0),
    "stumps": RandomForestRegressor(4, max_depth=1, random_state=0),
    "embedding": RandomTreesEmbedding(6, random_state=0),
}


@pytest.fixture
def without_llvm(monkeypatch):
    monkeypatch.setattr("mercer.kernels.forest._code", lambda *args: None)


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_leaves_are_those_of_scikit_learn(name, dtype):
    X, y = data()
    fitted = clone(FORESTS[name]).fit(X, y > 0 if "labels" in name else y)
    forest = Forest.of(fitted)
    # Points on thresholds, and next to them, show whether comparisons are made in the same precision.
    edges = np.concatenate([t.tree_.threshold[t.tree_.children_left >= 0] for t in fitted.estimators_])
    near = np.repeat(np.concatenate([edges, np.nextafter(edges, 9), edges.astype(np.float32)])[:, None], 4, 1)
    new = np.vstack([data(50, seed=1)[0], near]).astype(dtype)
    np.testing.assert_array_equal(forest.leaves(new), fitted.apply(new))
    np.testing.assert_allclose(forest(X, new), one_hot(fitted.apply(X), fitted.apply(new)), rtol=1e-6)


def test_a_classifier_of_many_classes_and_outputs():
    X, y = data()
    fitted = ExtraTreesClassifier(5, random_state=0).fit(
        X, np.column_stack([np.digitize(y, [-1, 0, 1]), y > 0])
    )
    np.testing.assert_array_equal(Forest.of(fitted).leaves(X), fitted.apply(X))


def test_a_forest_that_saw_missing_numbers():
    """Its infinite thresholds mean nothing to points without any; those with some are refused."""
    X, y = data()
    holes = X.copy()
    holes[::3, 0] = holes[5:9, 1] = np.nan
    fitted = RandomForestRegressor(20, random_state=0).fit(holes, y)
    forest = Forest.of(fitted)
    np.testing.assert_array_equal(forest.leaves(X), fitted.apply(X))
    with pytest.raises(ValueError, match="NaN"):
        forest.leaves(holes)


def test_the_same_without_llvm(without_llvm):
    X, y = data(300)
    fitted = RandomForestRegressor(7, random_state=0).fit(X, y)
    forest = Forest.of(fitted)
    np.testing.assert_array_equal(forest.leaves(X), fitted.apply(X))
    np.testing.assert_allclose(forest(X[:50], X), one_hot(fitted.apply(X[:50]), fitted.apply(X)), rtol=1e-14)


def test_the_loops_as_python():
    """What is compiled is also Python, and says the same."""
    forest, X = grown(3), data(20, seed=3)[0].astype(np.float32)
    arrays = forest.starts, 3, forest.feature, forest.threshold, forest.left, forest.right
    out, other = np.zeros((20, 3), np.float32), np.zeros((20, 3), np.float32)
    forest_loops.fall(X, 0, 20, *arrays, out)
    forest_loops.fall_in_numpy(X, 0, 20, *arrays, other)
    np.testing.assert_array_equal(out, forest.leaves(X))
    np.testing.assert_array_equal(other, forest.leaves(X))
    Z = forest.features(X)
    B = Z.T.tocsr()
    K = np.empty((20, 20))
    forest_loops.meet(Z.indices, 3, 0, 20, B.indptr, B.indices, 1 / 3, 20, K)
    np.testing.assert_allclose(K, forest(X), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_ways_to_the_matrix_agree(dtype):
    X, Z = (data(n, seed=n)[0].astype(dtype) for n in (90, 40))
    forest = grown(33)
    expected = one_hot(forest.leaves(X), forest.leaves(Z))
    rtol = 1e-5 if dtype == np.float32 else 1e-13
    assert forest(X, Z).dtype == dtype
    np.testing.assert_allclose(forest(X, Z), expected, rtol=rtol)
    np.testing.assert_allclose((forest.features(X) @ forest.features(Z).T).toarray(), expected, rtol=1e-13)
    assert forest.features(X).nnz == 90 * 33
    for fused in (False, True):
        operator = Tiled(fused=fused).operator(forest, X, Z)
        assert (operator.loops() is not None) == fused
        np.testing.assert_allclose(operator.dense(), expected, rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(forest.diag(X), 1)
    assert np.linalg.eigvalsh(forest(X).astype(float)).min() > -1e-5


def test_many_points_in_blocks():
    """More values than are made at once, on several threads."""
    X, Z = (data(n, seed=n)[0] for n in (1500, 900))
    forest = grown(5)
    np.testing.assert_allclose(forest(X, Z), one_hot(forest.leaves(X), forest.leaves(Z)), rtol=1e-14)


def test_blocks_do_not_fall_again(monkeypatch):
    forest, calls = grown(), []
    fall = Forest._fall
    monkeypatch.setattr(Forest, "_fall", lambda self, X: calls.append(len(X)) or fall(self, X))
    X = data(200, seed=5)[0]
    weighted = 0.5 * Laplacian(1.0, "l1").scaled(np.ones(4)) + 2.0 * forest
    first = Tiled(fused=True).operator(weighted, X).dense()
    count = len(calls)
    for _ in range(3):  # a descent makes the matrix anew each time, of a clone
        weighted = clone(weighted).set_params(left__factor=0.7)
        Tiled(fused=True).operator(weighted, X.copy()).dense()
    assert len(calls) == count
    X[0] += 1  # what was remembered is not what is there
    changed = Tiled(fused=True).operator(weighted, X).dense()
    assert len(calls) > count
    assert not np.allclose(first[0], changed[0])


def test_what_is_remembered_is_limited(monkeypatch):
    monkeypatch.setattr("mercer.kernels.forest._REMEMBERED", 3 * 4 * 12 * 50)
    forest = grown()
    for seed in range(9):
        forest.leaves(data(50, seed=seed)[0])
    assert forest._memory.held == 3 * 4 * 12 * 50
    forest.leaves(data(5000)[0])
    assert forest._memory.held == 0


def test_laws():
    forest = grown()
    check_kernel(forest, data(12)[0])
    check_kernel(2 * forest + Gaussian(1.0), data(12)[0])
    assert check(forest).by == "rule"


# -- machines ------------------------------------------------------------------------------------------


def test_ridge_with_a_sum_is_the_dense_solution():
    X, y = data()
    Z = data(30, seed=1)[0]
    forest = Forest.grow(X[:90], y[:90], trees=25)
    kernel = 0.7 * Laplacian(2.0, "l1").scaled([1.0, 2.0, 1.0, 3.0]) + 0.4 * forest
    machine = KernelRidge(kernel, lam=1e-2, representation="full", offset=False).fit(X, y)

    def dense(A, B):
        distance = np.abs((A[:, None] - B[None]) / [1.0, 2.0, 1.0, 3.0]).sum(axis=2)
        return 0.7 * np.exp(-distance / 2) + 0.4 * one_hot(forest.leaves(A), forest.leaves(B))

    c = np.linalg.solve(dense(X, X) + len(X) * 1e-2 * np.eye(len(X)), y)
    np.testing.assert_allclose(machine.predict(Z), dense(Z, X) @ c, rtol=1e-8, atol=1e-8)


def test_ridge_with_centres():
    X, y = data()
    Z = data(30, seed=1)[0]
    kernel = Gaussian(2.0) + 0.4 * grown()
    few = KernelRidge(kernel, lam=1e-2, representation=Nystrom(len(X)), offset=False).fit(X, y)
    whole = KernelRidge(kernel, lam=1e-2, representation="full", offset=False).fit(X, y)
    np.testing.assert_allclose(few.predict(Z), whole.predict(Z), atol=1e-5)


def test_slopes_of_the_others():
    X, y = data(60)
    surface = LooSurface(X, y[:, None] - y.mean(), likelihood=0.5)
    kernel = 0.5 * Laplacian(2.0, "l1").scaled([1.0, 2.0, 1.0, 3.0]) + 0.7 * grown()

    def value(**changed):
        return surface.value_and_slopes(clone(kernel).set_params(**changed), 0.3)[1]

    slopes = surface.value_and_slopes(kernel, 0.3)[2]
    h = 1e-5
    for name, start in (("left__factor", 0.5), ("right__factor", 0.7)):
        quotient = (value(**{name: start * np.exp(h)}) - value(**{name: start * np.exp(-h)})) / (2 * h)
        np.testing.assert_allclose(slopes[name], quotient, rtol=1e-5, atol=1e-6)
    name, start = "left__kernel__lengths", np.array([1.0, 2.0, 1.0, 3.0])
    step = np.exp(h * np.eye(4)[1])
    quotient = (value(**{name: start * step}) - value(**{name: start / step})) / (2 * h)
    np.testing.assert_allclose(slopes[name][1], quotient, rtol=1e-4, atol=1e-6)
    assert not any("feature" in name or "threshold" in name for name in slopes)


def test_refine_keeps_the_forest():
    X, y = data(60)
    forest = Forest.grow(*data(60, seed=9), trees=10)
    found = refine(KernelRidge(Gaussian(1.0).scaled(np.ones(4)) + 0.5 * forest, lam=1e-2), X, y, max_iter=5)
    assert found.objective < found.objective_before
    assert found.machine.kernel.right.kernel == forest


# -- growing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("random_splits, kind", [(True, ExtraTreesRegressor), (False, RandomForestRegressor)])
def test_grow_is_scikit_learns_forest(random_splits, kind):
    X, y = data()
    w = np.random.default_rng(0).uniform(size=len(y))
    options = dict(max_features=0.5, random_state=3)
    forest = Forest.grow(X, y, trees=8, min_leaf=4, random_splits=random_splits, weights=w, **options)
    fitted = kind(8, min_samples_leaf=4, **options).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(forest.leaves(X), fitted.apply(X))


def test_what_grow_does_by_itself():
    X, y = data()
    quantities = RandomForestRegressor(5, min_samples_leaf=3, max_features=0.4, random_state=0).fit(X, y)
    labels = RandomForestClassifier(5, min_samples_leaf=3, max_features="sqrt", random_state=0).fit(X, y > 0)
    np.testing.assert_array_equal(Forest.grow(X, y, trees=5).leaves(X), quantities.apply(X))
    np.testing.assert_array_equal(Forest.grow(X, y > 0, trees=5).leaves(X), labels.apply(X))


def test_labels_are_seen_or_said():
    X, y = data()
    classes = np.where(y > 0, "yes", "no")
    fitted = ExtraTreesClassifier(6, min_samples_leaf=2, max_features=1.0, random_state=0).fit(X, classes)
    options = dict(trees=6, min_leaf=2, max_features=1.0, random_splits=True)
    for given, labels in ((classes, None), (y > 0, None), ((y > 0).astype(int), True)):
        forest = Forest.grow(X, given, labels=labels, **options)
        np.testing.assert_array_equal(forest.leaves(X), fitted.apply(X))


def test_leaving_out_rows_it_was_grown_on_is_too_optimistic():
    """What the documentation warns of: targets that are noise look predictable."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 10)), rng.standard_normal(200)
    forest = Forest.grow(X[:100], y[:100], trees=50, min_leaf=5, random_splits=False, max_features=1.0)
    K = forest(X)

    def left_out(rows):
        P = np.linalg.inv(K[np.ix_(rows, rows)] + 0.3 * np.eye(len(rows)))
        return np.mean((P @ y[rows] / np.diag(P)) ** 2) / np.mean(y[rows] ** 2)

    assert left_out(np.arange(100)) < 0.6
    assert left_out(np.arange(100, 200)) > 0.9


@pytest.mark.parametrize("other", [LinearRegression(), RandomForestRegressor(), None, "forest"], ids=repr)
def test_what_is_no_fitted_forest(other):
    with pytest.raises(TypeError, match="fitted forest"):
        Forest.of(other)


# -- values and files ----------------------------------------------------------------------------------


def test_copies_are_equal_and_share_the_arrays():
    forest = grown()
    X = data()[0]
    for other in (
        clone(forest),
        copy.copy(forest),
        pickle.loads(pickle.dumps(forest)),
        copy.deepcopy(forest),
    ):
        assert other == forest
        assert hash(other) == hash(forest)
        np.testing.assert_array_equal(other(X), forest(X))
    assert clone(forest).feature is forest.feature
    assert set(forest.get_params()) == {"feature", "threshold", "left", "right", "starts", "n_features"}
    assert grown(random_state=1) != forest
    assert repr(forest) == f"Forest(<12 trees with {forest.features(X).shape[1]} leaves>)"


def test_a_changed_copy_forgets():
    forest, X = grown(), data()[0]
    before = forest.leaves(X)
    other = clone(forest).set_params(threshold=np.full_like(forest.threshold, 100.0))
    assert not (other.leaves(X) == before).all()
    np.testing.assert_array_equal(forest.leaves(X), before)


def test_what_is_remembered_is_not_pickled():
    forest = grown()
    small = len(pickle.dumps(forest))
    forest.leaves(data(4000)[0])
    assert len(pickle.dumps(forest)) == small


def test_files(tmp_path):
    X, y = data()
    machine = KernelRidge(Gaussian(2.0) + 0.5 * grown(), lam=1e-3).fit(X, y)
    mercer.save(machine, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    assert again.kernel == machine.kernel


def tampered(forest, **changed):
    values = {name: np.copy(v) if np.ndim(v) else v for name, v in forest.get_params().items()}
    for name, change in changed.items():
        found = change(values[name])
        values[name] = values[name] if found is None else found
    return Forest(**values)


def put(at, value):
    def change(a):
        a[at] = value

    return change


HOSTILE = {
    "itself as a child": dict(left=put(0, 0)),
    "a child before its parent": dict(right=put(1, 0)),
    "a child in another tree": dict(right=put(0, 100)),
    "a child beyond the end": dict(left=put(0, 1 << 30)),
    "a negative child": dict(left=put(0, -7)),
    "half a leaf": dict(right=put(0, -1)),
    "a leaf on the left only": dict(left=put(0, -1)),
    "a feature beyond": dict(feature=put(0, 4)),
    "a negative feature": dict(feature=put(0, -2)),
    "no number": dict(threshold=put(0, np.nan)),
    "infinity": dict(threshold=put(1, np.inf)),
    "short": dict(threshold=lambda a: a[:-1]),
    "long": dict(left=lambda a: np.append(a, np.int32(-1))),
    "another type": dict(feature=lambda a: a.astype(np.int64)),
    "single precision": dict(threshold=lambda a: a.astype(np.float32)),
    "two axes": dict(left=lambda a: a[:, None]),
    "a list": dict(feature=lambda a: a.tolist()),
    "with gaps": dict(left=lambda a: np.repeat(a, 2)[::2]),
    "starts late": dict(starts=put(0, 1)),
    "ends early": dict(starts=put(-1, 5)),
    "ends late": dict(starts=put(-1, 1 << 40)),
    "goes back": dict(starts=put(1, 1 << 20)),
    "an empty tree": dict(starts=put(2, 0)),
    "no trees": dict(starts=lambda a: a[:1]),
    "no features": dict(n_features=lambda a: 0),
    "features by a word": dict(n_features=lambda a: "four"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arrays_are_refused(name, tmp_path, monkeypatch):
    forest = grown(3)
    bad = tampered(forest, **HOSTILE[name])
    with pytest.raises(ValueError, match="Forest"):
        bad.validate()
    with pytest.raises(ValueError, match="Forest"):
        bad(data()[0])
    with monkeypatch.context() as patch:  # a file that somebody has made by other means
        patch.setattr(Forest, "validate", lambda self: None)
        mercer.save(bad, tmp_path / "bad")
    if name == "with gaps":  # which files don't hold
        assert mercer.load(tmp_path / "bad") == forest
    else:
        with pytest.raises(ModelFileError):
            mercer.load(tmp_path / "bad")


def test_arrays_that_change_later_lead_nowhere_and_come_to_an_end():
    """Checked arrays can still be written to: loops then stop, or raise."""
    forest, X = grown(3), data()[0]
    forest.validate()
    forest.left[:], forest.right[:] = 0, 0
    forest._fall(X.astype(np.float32))
    forest.left[:] = forest.right[:] = np.arange(1, len(forest.left) + 1)
    with pytest.raises(IndexError):
        forest._fall(X.astype(np.float32))


def test_points_of_another_width_are_refused():
    with pytest.raises(ValueError, match="points have 3 features, and it was grown on 4"):
        grown()(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="infinity"):
        grown()(np.full((2, 4), np.inf))


def test_numbers_beyond_single_precision_are_far_away():
    forest = grown()
    far, farther = np.full((1, 4), 1e30), np.full((1, 4), 1e300)
    assert forest(far, farther)[0, 0] == 1
