"""Columns of text: which they are, how they travel, and what other models get of them."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from mercer.kernels import Gaussian
from mercer.tables.model.columns import Columns
from mercer.tables.model.texts import BAGS, bag_of, free_texts, kernel_terms, numbers_and_words
from mercer.tables.reading import Table, TableError


def column(words):
    return np.array(words, dtype=object)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([f"a fine day, said {'ab'[i % 2]} {i}" for i in range(80)], True),
        ([chr(97 + i % 26) * (1 + i // 26) for i in range(80)], True),  # names: one word, no digits
        ([f"AB-{i:04}" for i in range(80)], False),  # codes
        ([f"{1 + i % 28}.{1 + i % 12}.20{10 + i % 80}" for i in range(80)], False),  # dates
        (["red", "blue", None, "green"] * 20, False),
        ([None] * 80, False),
        (["!" * (i + 1) for i in range(80)], False),  # no word to count
        ([f"note {i}" for i in range(80)], False),  # what is not in all of them are codes
        ([f"{'ab'[i % 2]} said {i}" for i in range(60)] + [None] * 240, True),  # missing in most rows
        ([f"so said {i % 55}" for i in range(110)] + [None] * 110, False),
    ],
    ids=[
        "sentences",
        "names",
        "codes",
        "dates",
        "categories",
        "nothing",
        "signs",
        "numbered",
        "few",
        "repeated",
    ],
)
def test_what_is_free_text(words, text):
    table = Table.of({"x": np.arange(float(len(words))), "words": column(words)})
    assert free_texts(table) == (("words",) if text else ())


def test_texts_come_after_numbers_and_missing_ones_are_empty():
    table = {"note": column(["so so", None, "fine"]), "x": [1.0, 2.0, 3.0], "on": ["a", "b", "a"]}
    columns = Columns(texts=("note",)).fit(table)
    points = columns.transform(table)
    assert points.dtype == object and columns.width == 2
    np.testing.assert_array_equal(
        points[:, :2].astype(float), Columns().fit({"x": table["x"], "on": table["on"]}).transform(table)
    )
    assert points[:, 2].tolist() == ["so so", "", "fine"]
    assert columns.origin_.tolist() == [1, 2, 0] and columns.get_feature_names_out()[2] == "note"
    note = columns.schema_.columns[0]
    assert (note.kind, note.categories) == ("text", None)
    with pytest.raises(TableError, match="'note'"):
        columns.transform([{"x": 1.0, "on": "a"}])


def test_texts_left_out_leave_what_was_there_without_them():
    table = Table.of({"note": column([f"word {i}" for i in range(60)]), "x": np.arange(60.0) % 7})
    without = Columns(texts=("note",)).fit(table).with_texts((), table)
    plain = Columns().fit(table)
    assert without.schema_ == plain.schema_ and without.encoders_ == plain.encoders_ and without.texts == ()
    np.testing.assert_array_equal(without.origin_, plain.origin_)
    assert without.dropped_["note"] == plain.dropped_["note"] + ", whose words did not help"


def test_only_columns_of_text_can_be_texts():
    with pytest.raises(ValueError, match="texts must name columns of text, got 'x'"):
        Columns(texts=("x",)).fit({"x": [1.0, 2.0]})


def test_bags_are_the_cosine_of_tf_idf():
    texts = ["to be or not to be", "be fine", "", "not so fine, is it not?"]
    rows = np.array([[0.0, text] for text in texts], dtype=object)
    options = {
        "words": {"token_pattern": r"\w+"},
        "parts of words": {"analyzer": "char_wb", "ngram_range": (1, 4)},
    }
    for name, bag in BAGS.items():
        Phi = TfidfVectorizer(sublinear_tf=True, **options[name]).fit_transform(texts).toarray()
        np.testing.assert_allclose(bag.on(1).resolve(rows)(rows), Phi @ Phi.T, atol=1e-12)


def test_terms_of_a_kernel_on_numbers_and_texts():
    words = BAGS["words"].on(2)
    kernel = (2.0 * (0.5 * Gaussian(1.0) + Gaussian(3.0))).on(slice(0, 2)) + 0.25 * words
    assert kernel_terms(kernel) == [(1.0, Gaussian(1.0)), (2.0, Gaussian(3.0)), (0.25, words)]
    assert [bag_of(term) for _, term in kernel_terms(kernel)] == [None, None, ("words", 2)]


def test_a_linear_model_gets_numbers_and_words():
    here = np.array([[1.0, "red car"], [2.0, "red bus"]], dtype=object)
    new = np.array([[3.0, "blue bus"]], dtype=object)
    A, B = numbers_and_words(here, new, 1)
    assert A.shape == (2, 4) and A[:, [0]].toarray().ravel().tolist() == [1.0, 2.0]
    assert B.toarray()[0].tolist() == [3.0, 1.0, 0.0, 0.0]
    signs = np.array([["!"], ["?!"], ["…"]], dtype=object)
    A, B = numbers_and_words(signs, signs[:2], 0)  # there are neither numbers nor words
    assert A.tolist() == [[0.0]] * 3 and B.tolist() == [[0.0]] * 2
    A, B = numbers_and_words(np.array([[1.0, ""]], dtype=object), new, 1)
    assert A.tolist() == [[1.0]] and B.tolist() == [[3.0]]
