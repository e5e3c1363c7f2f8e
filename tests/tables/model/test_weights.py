"""Weights of words are what words add to a prediction."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRidge, KernelSVC
from mercer.kernels import Gaussian
from mercer.tables.model.texts import BAGS
from mercer.tables.model.weights import Word, spoken_for, words_of

TEXTS = [
    "good tea",
    "good cake",
    "bad tea",
    "bad rain",
    "odd rain",
    "odd cake",
    "good rain",
    "bad cake",
    "odd tea",
]
ROWS = np.array([[0.1 * i, text] for i, text in enumerate(TEXTS)], dtype=object)
NAMES = ["x", "note"]
KERNEL = Gaussian(1.0).on([0]) + (0.7 * BAGS["words"].on(1)).resolve(ROWS)


# The tf–idf of a word in a text is the cosine of the text and the word alone.
kernel_of_texts = KERNEL.right.kernel


def alone(word):
    return np.array([[0.3, word], [0.3, ""]], dtype=object)


@pytest.mark.parametrize("kernel", [KERNEL, KERNEL.right], ids=["beside numbers", "texts only"])
def test_a_word_alone_adds_its_weight(kernel):
    machine = KernelRidge(kernel, lam=0.01).fit(ROWS, [1.0, 2, -1, -2, 0.3, 0.1, 1.5, -1.5, 0])
    found = words_of(machine, ROWS, NAMES)
    assert {word.text for word in found} == {"good", "bad", "odd", "tea", "cake", "rain"}
    assert [w.effect for w in found] == sorted((w.effect for w in found), reverse=True)
    for word in found:
        with_it, without = machine.predict(alone(word.text))
        assert (word.column, word.of, word.label) == ("note", "words", None)
        assert word.weight == pytest.approx(with_it - without, abs=1e-9)
        terms = word.weight * kernel_of_texts(ROWS, alone(word.text)[:1])
        assert word.effect == pytest.approx(terms.std(), abs=1e-9)


@pytest.mark.parametrize(
    "machine", [KernelClassifier(KERNEL, "squared", lam=0.01), KernelSVC(KERNEL, lam=0.01)]
)
def test_words_speak_for_their_labels(machine):
    labels = np.array([text.split()[0] for text in TEXTS])
    found = words_of(machine.fit(ROWS, labels), ROWS, NAMES, count=1)
    assert {word.label: word.text for word in found} == {"good": "good", "bad": "bad", "odd": "odd"}
    two = labels == "bad"
    found = words_of(machine.fit(ROWS, two), ROWS, NAMES, count=1)
    assert {word.text for word in found if word.label is True} == {"bad"}
    assert next(w for w in found if w.label is False).weight > 0


def test_of_parts_of_words_the_longest_that_say_the_same():
    kernel = BAGS["parts of words"].on(1).resolve(ROWS)
    machine = KernelRidge(kernel, lam=0.01).fit(ROWS, [text.startswith("good") * 1.0 for text in TEXTS])
    raised = [word.text for word in words_of(machine, ROWS, NAMES) if word.weight > 0]
    assert {" goo", "good", "ood "} <= set(raised) and "goo" not in raised and "oo" not in raised


def test_arrows():
    assert spoken_for(Word("note", "words", "fine", None, 2.0, 1.0)) == " ↑"
    assert spoken_for(Word("note", "words", "fine", "yes", 2.0, 1.0)) == " → yes"
