"""What carries a decision: colours against weights counted by hand; a sorted Gram matrix."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mercer import KernelClassifier, KernelRidge, KernelSVC, plot
from mercer.functions import feature_weights
from mercer.graphs import Graph
from mercer.kernels import BagOfWords, Gaussian, Spectrum, WeightedDegree, WeisfeilerLehman
from mercer.plot.style import COLOURS

WORDS, FRUIT = ["banana", "bandana", "kernel", "colonel"], ["fruit", "fruit", "maths", "maths"]


def contributions(faces):
    """Signed strengths, relative to the largest, read back from colours on white."""
    found = []
    for face in faces:
        sign, colour = min(
            ((s, np.array(to_rgb(c))) for s, c in ((1, COLOURS[0]), (-1, COLOURS[1]))),
            key=lambda pair: _misfit(face[:3], pair[1])[0],
        )
        found.append(sign * _misfit(face[:3], colour)[1] / 0.9)
    return np.array(found)


def _misfit(face, colour):
    """(how far `face` is from white mixed with the colour, the share of the colour)"""
    direction = colour - 1
    share = (np.asarray(face) - 1) @ direction / (direction @ direction)
    return np.linalg.norm(np.asarray(face) - 1 - share * direction), share


def drawn_letters(ax):
    return "".join(text.get_text() for text in ax.texts), contributions(
        [p.get_facecolor() for p in ax.patches]
    )


def test_a_letter_carries_what_its_substrings_weigh():
    machine = KernelSVC(Spectrum(2), lam=0.01).fit(WORDS, FRUIT)
    weights = dict(feature_weights(machine, count=100))
    word = "bankernel"
    expected = np.zeros(len(word))
    for start in range(len(word) - 1):
        expected[start : start + 2] += weights.get(word[start : start + 2], 0.0)
    text, strength = drawn_letters(plot.letters(machine, word, plot.axes()))
    assert text == word
    np.testing.assert_allclose(strength, expected / np.abs(expected).max(), atol=1e-6)
    # For the first class the signs turn round.
    _, turned = drawn_letters(plot.letters(machine, word, plot.axes(), label="fruit"))
    np.testing.assert_allclose(turned, -strength, atol=1e-6)


def test_strings_of_all_kinds():
    tokens = [list(word) for word in WORDS]
    in_bytes = [word.encode() for word in WORDS]
    found = []
    for points in (WORDS, tokens, in_bytes):
        machine = KernelRidge(Spectrum(2), lam=0.1).fit(points, [1.0, 1.0, -1.0, -1.0])
        ax = plot.letters(machine, [points[0], points[2]], plot.axes())
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["larger", "smaller"]
        found.append(drawn_letters(ax))
    for text, strength in found[1:]:
        assert text == found[0][0] == "bananakernel"
        np.testing.assert_allclose(strength, found[0][1], atol=1e-6)


def test_kernels_that_need_the_length_or_words():
    aligned = KernelSVC(WeightedDegree(2), lam=0.01).fit(["abcd", "abdd", "cdab", "ddab"], [0, 0, 1, 1])
    assert drawn_letters(plot.letters(aligned, "abab", plot.axes()))[0] == "abab"
    texts = KernelRidge(BagOfWords(), lam=0.01).fit(["good tea", "bad tea"], [1.0, -1.0])
    text, strength = drawn_letters(plot.letters(texts, "good tea", plot.axes()))
    assert text == "good·tea" and (strength[:4] > 0.9).all()  # each letter of a word carries the word


def test_three_classes_take_the_score_of_the_one_predicted():
    y = ["a", "a", "b", "c"]
    machine = KernelClassifier(Spectrum(2), "squared_hinge", lam=0.01).fit(WORDS, y)
    ax = plot.letters(machine, "banana", plot.axes())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "for what is predicted",
        "against it",
    ]
    same = plot.letters(machine, "banana", plot.axes(), label=str(machine.predict(["banana"])[0]))
    np.testing.assert_allclose(drawn_letters(ax)[1], drawn_letters(same)[1])


def test_what_has_no_letters():
    machine = KernelSVC(Spectrum(2), lam=0.01).fit(WORDS, FRUIT)
    for strings in ([], ["ok", ""]):
        with pytest.raises(ValueError, match="at least one string"):
            plot.letters(machine, strings, plot.axes())
    with pytest.raises(ValueError, match="one of the classes"):
        plot.letters(machine, "banana", plot.axes(), label="animal")
    with pytest.raises(ValueError, match="blank must be one letter"):
        plot.letters(machine, "banana", plot.axes(), blank="??")
    with pytest.raises(ValueError, match="predicts numbers"):
        plot.letters(KernelRidge(Spectrum(2)).fit(WORDS, [1.0, 2, 3, 4]), "banana", plot.axes(), label=1)


GRAPHS = [Graph([(0, 1)], node_labels=list(pair)) for pair in ("CO", "OH", "CC", "CN", "NN")]
CHAIN = Graph([(0, 1), (1, 2), (2, 3)], node_labels=["H", "O", "C", "N"])


@pytest.fixture
def on_graphs():
    return KernelSVC(WeisfeilerLehman(0), lam=0.01).fit(GRAPHS, ["oxygen", "oxygen", "none", "none", "none"])


def test_a_node_carries_what_its_label_weighs(on_graphs):
    ax = plot.graph_nodes(on_graphs, CHAIN, plot.axes())
    # At depth 0 a graph is its labels, so that a node carries the weight of its own.
    weights = dict(feature_weights(on_graphs, GRAPHS, count=10))
    expected = np.array([weights.get(label, 0.0) for label in "HOCN"])
    strength = contributions(ax.collections[1].get_facecolors())
    np.testing.assert_allclose(strength, expected / np.abs(expected).max(), atol=1e-6)
    assert [text.get_text() for text in ax.texts] == list("HOCN")
    assert len(ax.collections[0].get_segments()) == 3


def test_neighbours_are_drawn_close(on_graphs):
    places = plot.graph_nodes(on_graphs, CHAIN, plot.axes()).collections[1].get_offsets()
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(range(4), range(4))), atol=0.05)
    given = [[0, 0], [1, 0], [1, 1], [0, 1]]
    ax = plot.graph_nodes(on_graphs, CHAIN, plot.axes(), positions=given)
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), given)


def test_graphs_in_parts_and_without_labels():
    plain = [Graph([(0, 1), (2, 3)]), Graph([(0, 1), (1, 2), (2, 3)])]
    machine = KernelSVC(WeisfeilerLehman(1), lam=0.01).fit(plain, [0, 1])
    ax = plot.graph_nodes(machine, plain[0], plot.axes())
    assert np.isfinite(ax.collections[1].get_offsets()).all() and not ax.texts
    labelled = Graph([(0, 1), (1, 2)], edge_labels=["x", "y"])
    machine = KernelSVC(WeisfeilerLehman(1), lam=0.01).fit([labelled, plain[1]], [0, 1])
    assert len(plot.graph_nodes(machine, labelled, plot.axes()).collections[1].get_offsets()) == 3


def test_what_is_no_graph_to_draw(on_graphs):
    with pytest.raises(ValueError, match="two nodes or more"):
        plot.graph_nodes(on_graphs, Graph([], n_nodes=1), plot.axes())
    with pytest.raises(ValueError, match="4 nodes, and there are 1 positions"):
        plot.graph_nodes(on_graphs, CHAIN, plot.axes(), positions=[[0, 0]])


def test_bars_of_weights():
    machine = KernelSVC(Spectrum(2), lam=0.01).fit(WORDS, FRUIT)
    ax = plot.feature_weights(machine, ax=plot.axes(), count=5)
    found = feature_weights(machine, count=5)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [weight for _, weight in found])
    assert [label.get_text() for label in ax.get_yticklabels()] == [word for word, _ in found]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["for maths", "for fruit"]
    several = KernelClassifier(Spectrum(2), "squared_hinge", lam=0.01).fit(WORDS, ["a", "a", "b", "c"])
    with pytest.raises(ValueError, match=r"machine.function_.output\(0\)"):
        plot.feature_weights(several, ax=plot.axes())
    one = several.function_.output(0)
    bars = plot.feature_weights(one, ax=plot.axes(), count=3).patches
    np.testing.assert_allclose(
        [bar.get_width() for bar in bars], [w for _, w in feature_weights(one, count=3)]
    )


def test_a_gram_matrix_is_sorted_by_label():
    X = np.random.default_rng(0).standard_normal((9, 2))
    y = np.array(list("cabcabcab"))
    ax = plot.gram(Gaussian(1.0), X, y, plot.axes())
    order = np.argsort(y, kind="stable")
    squared = ((X[order, None] - X[None, order]) ** 2).sum(axis=2)
    np.testing.assert_allclose(ax.images[0].get_array()[:, :, 3], np.exp(-squared / 2), atol=1e-9)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    np.testing.assert_allclose(ax.get_yticks(), [1, 4, 7])
    assert sorted(line.get_ydata()[0] for line in ax.lines[::2]) == [2.5, 5.5]


def test_gram_matrices_of_other_things():
    ax = plot.gram(Spectrum(2), WORDS, FRUIT, plot.axes())
    assert ax.images[0].get_array().shape == (4, 4, 4)
    negative = plot.gram(np.array([[1.0, -0.5], [-0.5, 1.0]]), ax=plot.axes())
    assert [text.get_text() for text in negative.get_legend().get_texts()] == ["positive", "negative"]
    np.testing.assert_allclose(negative.images[0].get_array()[0, 1], [*to_rgb(COLOURS[1]), 0.5])


def test_what_is_no_gram_matrix():
    with pytest.raises(ValueError, match="square and finite"):
        plot.gram(np.ones((2, 3)), ax=plot.axes())
    with pytest.raises(ValueError, match="give the points"):
        plot.gram(Gaussian(1.0), ax=plot.axes())
    with pytest.raises(ValueError, match="one label a point"):
        plot.gram(np.eye(3), y=[1, 2], ax=plot.axes())
    with pytest.raises(ValueError, match="at most 24 classes"):
        plot.gram(np.eye(30), y=np.arange(30), ax=plot.axes())
    with pytest.raises(ValueError, match="one score|a score"):
        plot.letters(_Odd(), ["ab"], plot.axes())


class _Odd(KNeighborsClassifier):
    """A classifier of three classes that gives two scores."""

    classes_ = np.arange(3)

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def decision_function(self, X):
        return np.zeros(len(X))


def test_letters_of_machines_with_probabilities_alone():
    counts = CountVectorizer(analyzer="char", ngram_range=(2, 2))
    forest = make_pipeline(counts, RandomForestClassifier(10, random_state=0)).fit(WORDS, FRUIT)
    ax = plot.letters(forest, ["kernel"], plot.axes())
    blotted = ["kernel"[:i] + "ǂ" + "kernel"[i + 1 :] for i in range(6)]
    gains = (forest.predict_proba(["kernel"]) - forest.predict_proba(blotted))[:, 1]
    shown = contributions([patch.get_facecolor() for patch in ax.patches])
    np.testing.assert_allclose(shown, gains / np.abs(gains).max(), atol=1e-6)
    with pytest.raises(TypeError, match="neither decision_function nor predict_proba"):
        plot.letters(make_pipeline(counts, AlwaysTheFirst()).fit(WORDS, FRUIT), WORDS, plot.axes())


class AlwaysTheFirst(ClassifierMixin, BaseEstimator):
    """A classifier that says what it says, and nothing about how sure it is."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])


@pytest.mark.parametrize(
    "graph",
    [Graph([], 5, list("COCOC")), Graph([(0, 1), (2, 3)], 6, list("COCOCO")), Graph([], 2, list("CO"))],
)
def test_nodes_without_edges_lie_apart(graph):
    pairs = [Graph([(0, 1)], node_labels=list(pair)) for pair in ("CO", "CC", "OO", "CN")]
    machine = KernelSVC(WeisfeilerLehman(1), lam=0.01).fit(pairs, ["p", "n", "p", "n"])
    places = plot.graph_nodes(machine, graph, plot.axes()).collections[1].get_offsets()
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(len(places), 1)]
    assert apart.min() > 0.2 * apart.max()


def test_gram_matrices_of_all_kinds():
    pandas = pytest.importorskip("pandas")
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    drawn = plot.gram(pandas.DataFrame(K), ax=plot.axes()).images[0].get_array()[:, :, 3]
    np.testing.assert_allclose(drawn, K)
    with pytest.raises(ValueError, match="a Gram matrix is symmetric"):
        plot.gram([[1.0, 2.0], [0.0, 1.0]], ax=plot.axes())
    with pytest.raises(ValueError, match="at most 24 classes"):
        plot.gram("linear", np.arange(30.0)[:, None], np.arange(30))
    from matplotlib import pyplot

    assert not pyplot.get_fignums()
