"""Which words of a table's texts carry what a model says: their weights in the kernel's sparse features."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer.functions.weights import counted_weights
from mercer.kernels import Kernel
from mercer.kernels.algebra import Sum
from mercer.kernels.counts import on_side
from mercer.kernels.unary import Scale
from mercer.losses.coding import LabelCoding
from mercer.losses.pairs import PairCoding
from mercer.tables.model.texts import bag_of

# Rows in which features are looked up to be put in words.
_ROWS = 3000
# How many more are looked at than are wanted, since some say the same.
_SPARE = 5


@dataclass(frozen=True)
class Word:
    """A word, or a part of one, its weight, and what it does in the table.

    Attributes
    ----------
    column : name of the column of text
    of : "words" or "parts of words"
    text : the word; a blank at an end of a part of a word is where the word ends
    label : the label it speaks for; None for numbers, which it raises or lowers
    weight : what it adds to the score of the label, or to the number, where it is all there is in a text
    effect : the standard deviation of what it adds in the rows that were learned from
    """

    column: str
    of: str
    text: str
    label: Any
    weight: float
    effect: float


def spoken_for(word: Word) -> str:
    """What a word speaks for, to be read after it.

    >>> spoken_for(Word("review", "words", "fine", label="good", weight=0.5, effect=0.1))
    ' → good'
    >>> spoken_for(Word("review", "words", "dear", label=None, weight=-2.0, effect=0.1))
    ' ↓'
    """
    if word.label is not None:
        return f" → {word.label}"
    return " ↑" if word.weight > 0 else " ↓"


def words_of(machine: Any, points: np.ndarray, names: Any, count: int = 30) -> tuple[Word, ...]:
    """Words with the largest effects, so many for each label, or upwards and downwards.

    What is in every text has a weight, too, and makes no difference: so they go by their effects.
    `points` are those that the machine was fitted to, and `names` those of their coordinates.
    """
    kernel, features, weights = counted_weights(machine)
    some = points[:_ROWS]
    known = _spelled(kernel, some, names)
    named = [f in known for f in features.tolist()]
    found, weights = [known[f] for f in features[named].tolist()], weights[named]
    Phi = kernel.counts(kernel.points(some)).csr(features[named])
    deviation = np.sqrt(np.maximum((Phi * Phi).mean(axis=0) - Phi.mean(axis=0) ** 2, 0))
    sides: list[tuple[Any, np.ndarray]]
    coding = machine.coding_
    if not isinstance(coding, LabelCoding):
        sides = [(None, weights[:, 0]), (None, -weights[:, 0])]
    else:
        classes = coding.classes.tolist()
        each = weights @ coding.sides.T if isinstance(coding, PairCoding) else coding.decision(weights)
        sides = [*zip(classes, (-each, each) if each.ndim == 1 else each.T, strict=True)]
    out: list[Word] = []
    for i, (label, side) in enumerate(sides):
        effects = side * deviation
        first = np.argsort(-effects, kind="stable")[: _SPARE * count]
        heavy = [found[j].word(label, side[j], effects[j]) for j in first if effects[j] > 0]
        kept = [word for word in heavy if not any(_says(other, word) for other in heavy)][:count]
        out += [replace(word, weight=-word.weight) for word in kept] if label is None and i else kept
    return tuple(sorted(out, key=lambda word: -word.effect))


def _says(other: Word, word: Word) -> bool:
    """Is a part of a word within another one that does about as much?"""
    within = len(other.text) > len(word.text) and word.text in other.text
    same = (other.column, other.of) == (word.column, word.of) and word.of != "words"
    return within and same and other.effect > 0.9 * word.effect


class _Feature(NamedTuple):
    column: str
    of: str
    text: str
    size: float  # its value in a text that has nothing else

    def word(self, label: Any, weight: float, effect: float) -> Word:
        return Word(self.column, self.of, self.text, label, float(self.size * weight), float(effect))


def _spelled(kernel: Kernel, X: np.ndarray, names: Any, factor: float = 1.0) -> dict[int, _Feature]:
    """What features are, by their numbers."""
    if isinstance(kernel, Scale):
        return _spelled(kernel.kernel, X, names, factor * kernel.factor)
    if isinstance(kernel, Sum):
        out: dict[int, _Feature] = {}
        for side, part in enumerate((kernel.left, kernel.right)):
            words = _spelled(part, X, names, factor)
            numbers = on_side(np.fromiter(words, np.uint64, len(words)), side).tolist()
            out |= zip(numbers, words.values(), strict=True)
        return out
    of, column = bag_of(kernel) or ("", 0)
    size = math.sqrt(factor)
    name = str(names[column])
    return {number: _Feature(name, of, word, size) for number, word in kernel.spelled(X).items()}
