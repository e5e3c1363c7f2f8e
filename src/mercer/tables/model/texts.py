"""Columns of free text: which they are, how they travel beside numbers, and kernels for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import BagOfWords, Kernel
from mercer.kernels.algebra import Sum
from mercer.kernels.transforms import OnColumns
from mercer.kernels.unary import Scale
from mercer.tables.reading import Table

_DAY_FIRST = re.compile(r"\d{1,2}[./]\d{1,2}[./]\d{2,4}.*")
# One word with a digit in it, as numbers of customers or parcels are; a date; or signs without any word.
_NO_TEXT = re.compile(rf"\S*\d\S*|{_DAY_FIRST.pattern}|\W*")
# Up to so many different words are categories, however few rows there are.
_CATEGORIES = 50

# What is counted in texts, by name. Rare words weigh more, and long texts no more than short ones.
BAGS: dict[str, Kernel] = {
    "words": BagOfWords("words", tf="sublinear", idf=True).normalize(),
    "parts of words": BagOfWords("parts of words", 1, 4, tf="sublinear", idf=True).normalize(),
}


@dataclass(frozen=True)
class Text:
    """Text as it stands, for a kernel on strings; a missing one is empty."""

    name: str

    kind = "text"

    def names_out(self) -> list[str]:
        return [self.name]

    def encode(self, values: np.ndarray) -> np.ndarray:
        out = np.empty((len(values), 1), dtype=object)
        out[:, 0] = ["" if v is None else str(v) for v in values]
        return out


def too_many(different: int, rows: int) -> bool:
    """Are these too many different words to be categories?"""
    return different > max(_CATEGORIES, 0.5 * rows)


def dates(words: Collection[str]) -> bool:
    """Do nearly all of these look like dates, written with the day or the month first?"""
    return _all_match(_DAY_FIRST, words)


def _all_match(pattern: re.Pattern[str], words: Collection[str]) -> bool:
    return sum(bool(pattern.fullmatch(w)) for w in words) > 0.9 * len(words)


def _apart(texts: Collection[str]) -> list[str]:
    """Texts without the words that nearly all of them have: of "note 1", "note 2", … only codes are left."""
    words = [text.split() for text in texts]
    rows = Counter(word for some in words for word in set(some))
    return [" ".join(word for word in some if rows[word] <= 0.9 * len(words)) for some in words]


def free_texts(table: Table) -> tuple[str, ...]:
    """Names of the columns that hold names or free text: words that are no categories, codes or dates.

    Examples
    --------
    >>> codes = [f"A-{i:03}" for i in range(80)]
    >>> said = [f"{mood}, {c}" for mood, c in zip(["good", "bad"] * 40, codes)]
    >>> free_texts(Table.of({"review": said, "id": codes, "note": [f"note {c}" for c in codes]}))
    ('review',)
    """
    found = []
    for name in table.names:
        if table.kind(name) == "text":
            counts = Counter(v for v in table[name] if v is not None)
            # In most rows there may be none: nearly all that are there differ.
            alone = len(counts) > max(_CATEGORIES, 0.9 * sum(counts.values()))
            if (alone or too_many(len(counts), len(table))) and not _all_match(_NO_TEXT, _apart(counts)):
                found.append(name)
    return tuple(found)


def letters_a_row(points: np.ndarray) -> float:
    """How many letters the texts of a row have on average, of points with or without texts.

    >>> letters_a_row(np.array([[0.5, "ab"], [1.5, ""]], dtype=object)), letters_a_row(np.eye(2))
    (1.0, 0.0)
    """
    if points.dtype != object or not len(points):
        return 0.0
    return sum(len(value) for value in points.ravel() if isinstance(value, str)) / len(points)


def kernel_terms(kernel: Kernel, factor: float = 1.0) -> list[tuple[float, Kernel]]:
    """The terms of a sum of kernels, each with the factor before it."""
    if isinstance(kernel, Sum):
        return kernel_terms(kernel.left, factor) + kernel_terms(kernel.right, factor)
    if isinstance(kernel, Scale):
        return kernel_terms(kernel.kernel, factor * kernel.factor)
    if isinstance(kernel, OnColumns) and not kernel.has_counts:
        return kernel_terms(kernel.kernel, factor)  # that of the numbers, beside texts
    return [(factor, kernel)]


def moved(kernel: Any, places: Mapping[int, int]) -> Any:
    """The same kernel where texts have other coordinates: places[old] is the new one."""
    if isinstance(kernel, Sum):
        return moved(kernel.left, places) + moved(kernel.right, places)
    if isinstance(kernel, Scale):
        return kernel.factor * moved(kernel.kernel, places)
    return kernel if bag_of(kernel) is None else kernel.kernel.on(places[kernel.columns])


def bag_of(term: Kernel) -> tuple[str, int] | None:
    """What a term of a kernel counts, and in which coordinate of the points; None if it counts nothing."""
    if not isinstance(term, OnColumns) or not term.has_counts:
        return None
    inner = term.kernel.get_params().get("kernel__of", "")
    return str(inner), int(term.columns)


def numbers_of(points: np.ndarray, there: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of rows to learn from and of others, for models that take nothing else."""
    return points[:, :width].astype(float), there[:, :width].astype(float)


def numbers_and_words(points: np.ndarray, there: np.ndarray, width: int) -> tuple[Any, Any]:
    """The same with tf–idf of the words of texts, for linear models; sparse if there are any words."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    both = numbers_of(points, there, width)
    for column in range(width, points.shape[1]):
        tfidf = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
        try:
            words = tfidf.fit_transform(points[:, column]), tfidf.transform(there[:, column])
        except ValueError:  # there is no word in any of them
            continue
        both = tuple(hstack([csr_matrix(a), b]).tocsr() for a, b in zip(both, words, strict=True))
    if not both[0].shape[1]:  # of signs and nothing else: a column that says nothing
        return np.zeros((len(points), 1)), np.zeros((len(there), 1))
    return both
