"""Bags of words against scikit-learn's vectors, and against hand-made counts."""

import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV

from mercer import KernelSVC
from mercer.kernels import BagOfWords, Spectrum, check
from mercer.kernels.strings.words import DocumentFrequencies
from mercer.testing import check_kernel

SAID = [
    "Free entry in 2 a wkly comp, FREE entry!",
    "Nah I don't think he goes to usf,  he lives around here",
    "naïve Straße\tfree\nhe he he",
    "",
    "!?",
    "x",
]
NEW = ["free comp entry he", "unseen words", "Nah", ""]
texts = st.lists(st.text("ab B,é", max_size=12), min_size=1, max_size=6)


def theirs(of, lengths, **options):
    if of == "words":
        options |= {"token_pattern": r"(?u)\w+"}
    analyzer = {"words": "word", "characters": "char"}[of]
    return TfidfVectorizer(analyzer=analyzer, ngram_range=lengths, **options)


# scikit-learn makes one blank of several before it cuts characters.
def plain(X):
    return [re.sub(r"\s\s+", " ", x) for x in X]


@pytest.mark.parametrize("of, lengths", [("words", (1, 1)), ("words", (1, 3)), ("characters", (2, 4))])
@pytest.mark.parametrize("tf", ["counts", "binary", "sublinear"])
@pytest.mark.parametrize("idf", [True, False])
@pytest.mark.parametrize("lower", [True, False])
def test_the_vectors_of_scikit_learn(of, lengths, tf, idf, lower):
    X, Z = plain(SAID), plain(NEW)
    options = {"binary": tf == "binary", "sublinear_tf": tf == "sublinear", "lowercase": lower}
    vectors = theirs(of, lengths, use_idf=idf, norm=None, **options).fit(X)
    k = BagOfWords(of, *lengths, tf=tf, idf=idf, lower=lower).resolve(X)
    A = vectors.transform(X)
    np.testing.assert_allclose(k(X), (A @ A.T).toarray(), rtol=1e-12, atol=1e-12)
    # scikit-learn drops words it has not seen: they are in neither of these, whatever they weigh.
    np.testing.assert_allclose(k(Z, X), (vectors.transform(Z) @ A.T).toarray(), rtol=1e-12, atol=1e-12)
    cosine = theirs(of, lengths, use_idf=idf, **options).fit_transform(X)
    np.testing.assert_allclose(k.normalize()(X), (cosine @ cosine.T).toarray(), rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=80)
@given(X=texts, n=st.integers(1, 3), more=st.integers(0, 2))
def test_parts_of_words_by_hand(X, n, more):
    def parts(x):
        words = [f" {word} " for word in x.lower().split()]
        return Counter(
            w[i : i + m] for m in range(n, n + more + 1) for w in words for i in range(len(w) - m + 1)
        )

    found = [parts(x) for x in X]
    expected = [[sum(c * b[u] for u, c in a.items()) for b in found] for a in found]
    k = BagOfWords("parts of words", n, n + more)
    assert k(X).tolist() == expected
    points = k.points(X)
    words, made = k.spelled(points), k.counts(points)
    for i, a in enumerate(found):
        here = slice(*made.starts[i : i + 2])
        assert {words[u]: c for u, c in zip(made.ids[here].tolist(), made.values[here], strict=True)} == a


def test_every_feature_is_spelled():
    k = BagOfWords(shortest=1, longest=2)
    X = k.points(["To be, or not", "to BE"])
    words = k.spelled(X)
    assert set(words) == set(k.counts(X).vocabulary.tolist())
    assert sorted(words.values()) == ["be", "be or", "not", "or", "or not", "to", "to be"]
    tokens = k.points([["to", 3]])
    assert sorted(k.spelled(tokens).values()) == ["3", "to", "to 3"]


def test_bytes_and_tokens_have_words():
    expected = BagOfWords()(["to be or", "be be"]).tolist()
    assert BagOfWords()([b"to be or", b"be BE"]).tolist() == expected
    assert BagOfWords()([["to", "be", "or"], ["be", "be"]]).tolist() == expected
    assert BagOfWords("parts of words", 2)([b"to be"], [b"be"]).tolist() == [[3.0]]


def test_tokens_stay_as_they_are():
    assert BagOfWords()([["To"]], [["to"]]).tolist() == [[0.0]]


def test_characters_are_substrings():
    X = ["gattaca", "tacat", "", "g"]
    assert BagOfWords("characters", 3)(X).tolist() == Spectrum(3)(X).tolist()
    assert BagOfWords("characters", 1, 3)(X).tolist() == Spectrum(3, blended=True)(X).tolist()


def test_rare_words_by_hand():
    k = BagOfWords(idf=True).resolve(["red car", "red bus", "red bus bus"])
    weight = {w: math.log(4 / (1 + df)) + 1 for w, df in {"red": 3, "car": 1, "bus": 2, "new": 0}.items()}
    K = k(["red new bus bus"], ["red", "new", "bus", "car"])
    assert K[0].tolist() == pytest.approx([weight["red"] ** 2, weight["new"] ** 2, 2 * weight["bus"] ** 2, 0])


def test_weights_count_strings_several_times():
    X = ["a b", "b c", "c", "d"]
    weights = np.array([2.0, 1.0, 3.0, 0.0])
    repeated = ["a b"] * 2 + ["b c"] + ["c"] * 3
    assert BagOfWords(idf=True).resolve(X, weights) == BagOfWords(idf=True).resolve(repeated)


def test_idf_is_left_to_the_data():
    k = BagOfWords(idf=True)
    assert k.unresolved() == ["idf"]
    with pytest.raises(ValueError, match="leaves idf to the data"):
        k(SAID)
    resolved = k.resolve(SAID)
    assert isinstance(resolved.idf, DocumentFrequencies) and resolved.resolve(NEW) is resolved
    assert clone(resolved) == resolved != k.resolve(NEW)
    assert BagOfWords().resolve(SAID) == BagOfWords()
    empty = k.resolve(["", ""])
    assert empty(["a"])[0, 0] == pytest.approx((math.log(3) + 1) ** 2)


def test_laws():
    for k in (
        BagOfWords(),
        BagOfWords("characters", 1, 3, "sublinear", idf=True),
        BagOfWords("parts of words", 2, idf=True).normalize(),
        BagOfWords(idf=True).normalize() + 0.5 * Spectrum(2),
    ):
        check_kernel(k, SAID + NEW)
    assert check(BagOfWords()).by == "rule"


@pytest.mark.parametrize(
    "k, words",
    [
        (BagOfWords("letters"), "of must be one of 'words', 'characters', 'parts of words'; got 'letters'"),
        (BagOfWords(tf="log"), "tf must be one of"),
        (BagOfWords(shortest=0), "shortest must be a whole number of at least 1"),
        (BagOfWords(shortest=3, longest=2), r"longest must be a whole number of at least 3 \(shortest\)"),
        (BagOfWords(idf=1), "idf must be True or False"),
        (BagOfWords(lower=None), "lower must be True or False"),
    ],
    ids=repr,
)
def test_what_is_refused(k, words):
    with pytest.raises(ValueError, match=words):
        k(["ab"])


def test_tokens_have_no_characters():
    with pytest.raises(ValueError, match="lists of tokens have no characters; take of='words'"):
        BagOfWords("characters")([["a"]])
    with pytest.raises(ValueError, match="BagOfWords takes text"):
        BagOfWords()(["a", 3])


@pytest.mark.parametrize(
    "features, documents, total, words",
    [
        ([1.5], [1.0], 2, "uint64"),
        (np.array([3, 2], np.uint64), [1, 1], 2, "rise"),
        (np.array([2, 3], np.uint64), [1], 2, "rise"),
        (np.array([2, 3], np.uint64), [1, 3], 2, "at most total"),
        (np.array([2, 3], np.uint64), [1, 0], 2, "more than 0"),
        (np.array([2, 3], np.uint64), [1, 1], -2, "total must be"),
    ],
)
def test_frequencies_that_do_not_fit(features, documents, total, words):
    with pytest.raises(ValueError, match=words):
        BagOfWords(idf=DocumentFrequencies(features, documents, total))(["a"])


def test_a_search_over_its_parameters():
    X = ["good film", "very good", "good good", "bad film", "very bad", "bad bad"] * 3
    y = [1, 1, 1, 0, 0, 0] * 3
    grid = {"kernel__kernel__idf": [True, False], "kernel__kernel__longest": [1, 2]}
    search = GridSearchCV(KernelSVC(BagOfWords().normalize(), lam=0.01), grid, cv=3).fit(X, y)
    assert search.best_score_ == 1.0
    assert search.predict(["a good one", "what a bad one"]).tolist() == [1, 0]


def test_saved_and_loaded(tmp_path):
    import mercer

    X, y = ["good film", "very good", "bad film", "very bad"], [1, 1, 0, 0]
    machine = KernelSVC(BagOfWords(idf=True).normalize(), lam=0.01).fit(X, y)
    mercer.save(machine, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert again.kernel_ == machine.kernel_
    assert again.decision_function(X).tolist() == machine.decision_function(X).tolist()
