"""Mean embeddings of sets, against sums over all pairs written out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import KernelRidge, KernelSVC, io
from mercer.engines import Engine, Tiled
from mercer.functions import KernelFunction
from mercer.kernels import (
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    MeanEmbedding,
    Polynomial,
    Spectrum,
    check,
    sets,
)
from mercer.kernels.sets import Sets
from mercer.testing import LawViolation, check_kernel
from mercer.testing import kernels as laws

RNG = np.random.default_rng(0)
BAGS = [RNG.standard_normal((m, 3)) for m in (4, 1, 7, 2, 2, 0, 5)]
WORDS = [["tree", "graph"], ["set"], ["string", "strings", "ring"], [], ["kernel", "kernel"], ["", "s"]]


def brute(kernel, S, T):
    if not len(S) or not len(T):
        return 0.0
    return sum(kernel([s], [t])[0, 0] for s in S for t in T) / (len(S) * len(T))


def brute_matrix(kernel, X, Z):
    return np.array([[brute(kernel, S, T) for T in Z] for S in X])


def same_letters(a, b):
    return float(a[:1] == b[:1])


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Laplacian(0.9), Polynomial(2, 1.0), Linear().on([0, 2])])
def test_vectors(kernel):
    k = MeanEmbedding(kernel)
    assert np.allclose(k(BAGS), brute_matrix(kernel, BAGS, BAGS))
    assert np.allclose(k(BAGS[:2], BAGS[2:]), brute_matrix(kernel, BAGS[:2], BAGS[2:]))
    assert np.allclose(k.diag(BAGS), np.diag(k(BAGS)))


@pytest.mark.parametrize(
    "kernel", [Spectrum(2), Spectrum(3, blended=True).normalize(), FunctionKernel(same_letters)]
)
def test_strings(kernel):
    k = MeanEmbedding(kernel)
    assert np.allclose(k(WORDS), brute_matrix(kernel, WORDS, WORDS))
    assert np.allclose(k(WORDS[:2], WORDS[1:]), brute_matrix(kernel, WORDS[:2], WORDS[1:]))
    assert np.allclose(k.diag(WORDS), np.diag(k(WORDS)))
    assert k.has_counts == kernel.has_counts


vectors = st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), max_size=4)
words = st.lists(st.text("ab", max_size=4), max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(vectors, min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 4))
def test_any_sets_in_any_blocks(X, rows, group):
    before = sets._ENTRIES, sets._ROWS, sets._GROUP
    sets._ENTRIES, sets._ROWS, sets._GROUP = rows * rows, rows, group
    try:
        k, kernel = MeanEmbedding(Gaussian(2.0)), Gaussian(2.0)
        assert np.allclose(k(X), brute_matrix(kernel, X, X), atol=1e-14)
        assert np.allclose(k(X, X[::-1]), brute_matrix(kernel, X, X[::-1]), atol=1e-14)
        assert np.allclose(k.diag(X), np.diag(brute_matrix(kernel, X, X)), atol=1e-14)
    finally:
        sets._ENTRIES, sets._ROWS, sets._GROUP = before


@settings(max_examples=40, deadline=None)
@given(st.lists(words, min_size=1, max_size=4))
def test_any_sets_of_strings(X):
    expected = brute_matrix(Spectrum(2, blended=True), X, X)
    assert np.allclose(MeanEmbedding(Spectrum(2, blended=True))(X), expected)


@settings(max_examples=40, deadline=None)
@given(st.lists(vectors, min_size=1, max_size=5), st.lists(st.integers(0, 4), max_size=5))
def test_packed_sets_are_taken_apart_like_points(X, index):
    k = MeanEmbedding(Gaussian(1.0))
    points = k.points(X)
    packed = k.prepared(points)
    index = [i for i in index if i < len(X)]
    for part in (slice(1, None), slice(None, None, 2), np.array(index, int), np.arange(len(X)) % 2 == 0):
        some = packed[part]
        assert isinstance(some, Sets) and len(some) == some.shape[0] == len(points[part])
        assert np.allclose(k.pairwise(some, packed), k.pairwise(points[part], points))


def test_sums_over_parts():
    V, cuts, across = (
        RNG.standard_normal((9, 600)).astype(np.float32),
        np.array([0, 1, 5]),
        np.array([0, 300, 301]),
    )
    for some in (V, V[:, :302]):
        parts = [np.split(row, across[1:], axis=1) for row in np.split(some.astype(float), cuts[1:])]
        assert np.allclose(sets.summed(some, cuts, across), [[part.sum() for part in row] for row in parts])


def test_laws():
    for kernel in (Gaussian(1.0), Polynomial(2, 1.0), Gaussian(1.0).scaled([1.0, 0.5, 2.0])):
        check_kernel(MeanEmbedding(kernel), BAGS)
    check_kernel(MeanEmbedding(Gaussian()), BAGS)
    for kernel in (Spectrum(2), Spectrum(2).normalize(), FunctionKernel(same_letters)):
        check_kernel(MeanEmbedding(kernel), WORDS)
    check_kernel(MeanEmbedding(Gaussian(1.0)).normalize(), BAGS)
    check_kernel(MeanEmbedding(Gaussian(1.0)) + MeanEmbedding(Linear()), BAGS)
    check_kernel(MeanEmbedding(MeanEmbedding(Spectrum(2))), [[WORDS[0], WORDS[1]], [WORDS[2]]])


def test_the_law_kit_sees_points_that_change():
    class Careless(MeanEmbedding):
        def points(self, X):
            return X

        def pairwise(self, X, Z):
            K = np.ones((len(X), len(Z)))
            X[0] = np.zeros((1, 3))
            return K

    with pytest.raises(LawViolation, match="left alone"):
        laws._KernelTrial(
            Careless(Linear()), MeanEmbedding(Linear()).points(BAGS), 1e-8
        ).leaves_inputs_alone()


def test_why_it_is_a_kernel():
    verdict = check(MeanEmbedding(Gaussian(1.0)))
    assert verdict.by == "rule" and "means of feature vectors (Gaussian" in verdict.reason
    assert MeanEmbedding(FunctionKernel(same_letters)).rule() is None


def test_order_and_repetition_of_elements():
    k, S, T = MeanEmbedding(Gaussian(1.0)), BAGS[0], BAGS[2]
    assert np.allclose(k([S], [T]), k([S[::-1]], [T]))
    assert np.allclose(k([S], [T]), k([np.vstack([S, S, S])], [T]))
    assert np.allclose(k([S, T]), k([S + 7.0, T + 7.0]))
    assert MeanEmbedding(Spectrum(1))([{"b", "a"}, frozenset({"a"})]).tolist() == [[0.5, 0.5], [0.5, 1.0]]


def test_a_set_of_one_element_is_that_element():
    X = BAGS[2]
    assert np.allclose(MeanEmbedding(Gaussian(1.0))(X[:, None, :]), Gaussian(1.0)(X))
    assert np.allclose(MeanEmbedding(Spectrum(2))([[w] for w in WORDS[2]]), Spectrum(2)(WORDS[2]))


def test_empty_sets_are_zero():
    k = MeanEmbedding(Gaussian(1.0))
    K = k(BAGS)
    assert not K[5].any() and not K[:, 5].any() and k.diag(BAGS)[5] == 0
    assert k([[], []]).tolist() == [[0.0, 0.0]] * 2 and k.diag([[]]).tolist() == [0.0]
    assert k([[]], BAGS).tolist() == [[0.0] * len(BAGS)]
    assert MeanEmbedding(Spectrum(2))([[]], WORDS).tolist() == [[0.0] * len(WORDS)]
    assert k.prepared(k.points([[], BAGS[0]]))[:1].elements is None
    slopes = k.gradient_log_params(*(k.points(BAGS)[5:6],) * 2)
    assert {name: slope.tolist() for name, slope in slopes.items()} == {"kernel__sigma": [[0.0]]}
    with pytest.raises(ValueError, match="kernel__sigma to the data, but all sets are empty"):
        MeanEmbedding(Gaussian()).resolve([[], []])


def test_what_is_left_to_the_data_comes_from_all_elements():
    k = MeanEmbedding(Gaussian()).resolve(BAGS)
    assert k == MeanEmbedding(Gaussian().resolve(np.vstack(BAGS)))
    assert MeanEmbedding(Gaussian(2.0)).resolve(BAGS) == MeanEmbedding(Gaussian(2.0))
    weights = np.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0, 0.0])
    scaled = MeanEmbedding(Linear().scaled()).resolve(BAGS, weights)
    drawn = np.vstack([BAGS[i] for i in (0, 2, 2, 3, 4)])
    assert np.allclose(scaled.kernel.lengths, drawn.std(axis=0))
    with pytest.raises(ValueError, match="kernel__sigma to the data"):
        MeanEmbedding(Gaussian())(BAGS)


def test_forms_of_points():
    k, plain = MeanEmbedding(Linear()), BAGS[:5]
    expected = k(plain)
    series = pd.Series(plain)
    as_objects = np.empty((5, 1), object)
    as_objects[:, 0] = plain
    forms = [
        [S.tolist() for S in plain],
        tuple(plain),
        series,
        as_objects,
        [csr_array(S) for S in plain],
        [pd.DataFrame(S) for S in plain],
        [plain[0], csr_array(plain[1]), *plain[2:]],
    ]
    for form in forms:
        assert np.allclose(k(form), expected)
    tokens = [[["a", "b"], ["b"]], [["a"]]]
    assert MeanEmbedding(Spectrum(1))(tokens).tolist() == [[1.25, 0.5], [0.5, 1.0]]


def test_points_are_the_kernels_own():
    S = BAGS[0].copy()
    k = MeanEmbedding(Linear())
    points = k.points([S])
    S[:] = 0
    assert np.array_equal(points[0], BAGS[0])
    with pytest.raises(ValueError, match="read-only"):
        points[0][0, 0] = 1.0


def test_single_precision():
    k = MeanEmbedding(Gaussian(1.0))
    single = [S.astype(np.float32) for S in BAGS]
    assert k.points(single)[0].dtype == np.float32
    assert np.allclose(k(single), k(BAGS), atol=1e-6)
    assert k(single).dtype == np.float64


@pytest.mark.parametrize(
    "kernel, X, words",
    [
        (Gaussian(1.0), [[[1.0, 2.0]], [[1.0]]], "do not go together"),
        (Gaussian(1.0), [[[1.0, 2.0], [1.0]]], "vectors of set 0 differ"),
        (Gaussian(1.0), [[[1.0]], [1.0, 2.0]], "set 1: points must be rows of a 2-D array"),
        (Gaussian(1.0), np.ones((3, 2)), "set 0: points must be rows of a 2-D array"),
        (Gaussian(1.0), [[[1.0]], [[np.nan]]], "set 1: points contain NaN"),
        (Gaussian(1.0), [[[1.0]], None], r"set 1 is None \(NoneType\)"),
        (Gaussian(1.0), [3.0], r"set 0 is 3.0 \(float\); for one set of elements give"),
        (Gaussian(1.0), [np.float64(3.0)], "set 0 is"),
        (Gaussian(1.0), [["a", "b"]], "set 0: Gaussian works on numbers"),
        (Gaussian(1.0), 3.0, "takes a list of sets, got 3.0"),
        (Spectrum(2), ["tree", "graph"], r"set 0 is 'tree' \(str\)"),
        (Spectrum(2), [["tree"], [None]], "set 1: Spectrum takes text"),
        (Spectrum(2), [["tree"], [1.5]], "set 1: Spectrum takes text"),
        (Spectrum(2), [["tree"], [b"tree"]], "do not go together: Spectrum: strings must be of one kind"),
        (Spectrum(2), "tree", "takes a list of sets, got 'tree'"),
        (Spectrum(2), [{"tree": 1}], "set 0 is {'tree': 1}"),
        (Spectrum(2), "t" * 99, "ttt… "),
    ],
)
def test_errors(kernel, X, words):
    with pytest.raises(ValueError, match=words):
        MeanEmbedding(kernel)(X)


def test_other_errors():
    with pytest.raises(TypeError, match="first parameter of MeanEmbedding is its kernel, got 3"):
        MeanEmbedding(3)(BAGS)
    with pytest.raises(ValueError, match="3 coordinates on one side and 2 on the other"):
        MeanEmbedding(Linear())(BAGS, [[[1.0, 2.0]]])


def test_threads_and_large_sets(monkeypatch):
    monkeypatch.setattr(sets, "cpu_count", lambda: 3)
    X = [RNG.standard_normal((m, 2)) for m in (1500, 3, 700, 0, 1)]
    k = MeanEmbedding(Gaussian(1.0))
    expected = [[Gaussian(1.0)(S, T).mean() if len(S) and len(T) else 0.0 for T in X] for S in X]
    assert np.allclose(k(X), expected) and np.allclose(k.diag(X), np.diag(expected))
    assert np.array_equal(k(X), k(X).T)


@pytest.mark.parametrize("engine", [Tiled(), Engine()])
@pytest.mark.parametrize("kernel, X", [(Gaussian(1.0), BAGS), (Spectrum(2), WORDS)])
def test_operators(engine, kernel, X):
    k = MeanEmbedding(kernel)
    points = k.points(X)
    A = engine.operator(k, points)
    assert np.allclose(A.dense(), k(X)) and np.allclose(A.diag(), k.diag(X))
    V = RNG.standard_normal((len(X), 2))
    assert np.allclose(A @ V, k(X) @ V)
    assert np.allclose(A.among(np.array([2, 0]), np.array([1])).dense(), k(X)[[2, 0]][:, [1]])
    assert np.allclose(A.facing(points[:2]).dense(), k(X)[:2])


def test_distances_are_discrepancies():
    k = MeanEmbedding(Gaussian(1.0))
    S, T = BAGS[0], BAGS[2]
    g = Gaussian(1.0)
    expected = g(S).mean() + g(T).mean() - 2 * g(S, T).mean()
    assert np.isclose(k.squared_distance([S], [T])[0, 0], expected)
    means = [KernelFunction(g, P, np.full(len(P), 1 / len(P))) for P in (S, T)]
    assert np.isclose(k.distance([S], [T])[0, 0], means[0].distance(means[1]))


def test_a_gaussian_kernel_on_distributions():
    k, s = MeanEmbedding(Gaussian(1.0)), 0.4
    second = (k / s**2).exp().normalize()
    assert np.allclose(second(BAGS), np.exp(-k.squared_distance(BAGS) / (2 * s**2)))


def test_features_in_words():
    spelled = MeanEmbedding(Spectrum(2)).spelled(MeanEmbedding(Spectrum(2)).points(WORDS[:2]))
    assert sorted(spelled.values()) == ["ap", "ee", "et", "gr", "ph", "ra", "re", "se", "tr"]


def of_spread(n, rng):
    """Sets with mean 0 that differ in how far they spread."""
    y = rng.random(n)
    return [rng.standard_normal((rng.integers(15, 30), 1)) * (0.5 + v) for v in y], y


def test_machines_learn_from_sets(tmp_path):
    X, y = of_spread(150, np.random.default_rng(1))
    kernel = MeanEmbedding(Gaussian())
    second = (kernel.resolve(X) / 0.01).exp().normalize()
    machine = KernelRidge(second).fit(X[:100], y[:100])
    assert np.mean((machine.predict(X[100:]) - y[100:]) ** 2) < 0.3 * np.var(y[100:])
    classifier = KernelSVC(kernel, lam=1e-4).fit(X[:100], y[:100] > 0.5)
    assert classifier.score(X[100:], y[100:] > 0.5) > 0.8
    io.save(classifier, tmp_path / "sets.mercer")
    again = io.load(tmp_path / "sets.mercer")
    assert np.array_equal(again.decision_function(X), classifier.decision_function(X))
    search = GridSearchCV(
        KernelSVC(MeanEmbedding(Gaussian(1.0)), lam=1e-4), {"kernel__kernel__sigma": [0.5, 50]}
    )
    search.fit(X, y > 0.5)
    assert search.best_params_ == {"kernel__kernel__sigma": 0.5}


def test_machines_learn_from_sets_of_strings(tmp_path):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 40)
    X = [
        ["ab" * int(rng.integers(1, 3)) if rng.random() < 0.3 + 0.4 * c else "ba" for _ in range(20)]
        for c in y
    ]
    machine = KernelSVC(MeanEmbedding(Spectrum(2)), lam=1e-3).fit(X[:30], y[:30])
    assert machine.score(X[30:], y[30:]) >= 0.8
    io.save(machine, tmp_path / "sets.mercer")
    assert np.array_equal(io.load(tmp_path / "sets.mercer").predict(X), machine.predict(X))
    assert clone(machine).kernel == machine.kernel
