"""Bags of words: n-grams of words or characters, weighted by how rare they are."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import numpy as np

from mercer._params import Params, require_count, require_flag, require_nonnegative
from mercer.kernels.base import Kernel
from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts
from mercer.kernels.points import counted
from mercer.kernels.strings.letters import Letters, as_strings, lengths_within, letters
from mercer.kernels.strings.spectrum import spelled, substrings

_WORD, _WORD_BYTES = re.compile(r"\w+"), re.compile(rb"\w+")
_UNITS = ("words", "characters", "parts of words")
_FREQUENCIES = ("counts", "binary", "sublinear")


class DocumentFrequencies(Params):
    """In how many strings each feature occurs: what `BagOfWords` finds in the training data.

    Parameters
    ----------
    features : array of uint64
        Their numbers, rising.
    documents : array
        In how many strings each of them is.
    total : float
        How many strings there are.
    """

    def __init__(self, features, documents, total):
        self.features = features
        self.documents = documents
        self.total = total

    def validate(self):
        features, documents = np.asarray(self.features), np.asarray(self.documents, float)
        if features.ndim != 1 or (features.dtype != np.uint64 and len(features)):
            raise ValueError("DocumentFrequencies: features must be a list of numbers of type uint64")
        if features.shape != documents.shape or (features[1:] <= features[:-1]).any():
            raise ValueError("DocumentFrequencies: features must rise, and have a number of documents each")
        total = require_nonnegative(self.total, "DocumentFrequencies: total")
        if not ((documents > 0) & (documents <= total)).all():
            raise ValueError(
                f"DocumentFrequencies: documents must be more than 0 and at most total ({total})"
            )

    def idf(self, ids: np.ndarray) -> np.ndarray:
        """ln((1 + n)/(1 + df)) + 1, where df of n strings have the feature; df is 0 if it was never seen."""
        df = np.zeros(len(ids))
        if len(self.features):
            at = np.searchsorted(self.features, ids).clip(max=len(self.features) - 1)
            df = np.where(self.features[at] == ids, self.documents[at], 0.0)
        return np.log((1 + self.total) / (1 + df)) + 1


class BagOfWords(Counting):
    """k(x,z) = Σ_w f(|x|_w) f(|z|_w) idf_w², |x|_w how often the word or n-gram w occurs in x.

    Parameters
    ----------
    of : "words", "characters" or "parts of words"
        What is counted. Words are runs of letters, digits and underscores, or the tokens, if strings are
        lists of them. Parts of words are characters within what has blanks around it, one blank at
        each end included.
    shortest, longest : int
        n-grams of so many words or characters in a row; `longest` None is `shortest`.
    tf : "counts", "binary" or "sublinear"
        f(c) is c, 1 or 1 + ln c, for c > 0.
    idf : bool or DocumentFrequencies
        Weigh words by idf_w = ln((1 + n)/(1 + df_w)) + 1, where df_w of the n training strings have w (0:
        never seen). True: found from the data at fit. False: idf_w = 1.
    lower : bool
        Capital letters are small ones (of text and bytes; tokens stay as they are).

    Notes
    -----
    ``BagOfWords(idf=True).normalize()`` is the cosine of tf–idf vectors. A string without words has no
    features, and k(x,x) = 0.

    Examples
    --------
    >>> BagOfWords()(["to be or not to be", "To be!"])
    array([[10.,  4.],
           [ 4.,  2.]])
    >>> BagOfWords("characters", 2, 3)(["cat", "car", "bat"])
    array([[3., 1., 1.],
           [1., 3., 0.],
           [1., 0., 3.]])
    >>> k = BagOfWords(idf=True).normalize().resolve(["red car", "red bus", "blue bus"])
    >>> k(["red car"], ["red bike", "my car"]).round(4)
    array([[0.2875, 0.4606]])
    """

    def __init__(self, of="words", shortest=1, longest=None, tf="counts", idf=False, lower=True):
        self.of = of
        self.shortest = shortest
        self.longest = longest
        self.tf = tf
        self.idf = idf
        self.lower = lower

    def validate(self):
        for name, allowed in (("of", _UNITS), ("tf", _FREQUENCIES)):
            if getattr(self, name) not in allowed:
                known = ", ".join(map(repr, allowed))
                raise ValueError(f"BagOfWords: {name} must be one of {known}; got {getattr(self, name)!r}")
        shortest = require_count(self.shortest, "BagOfWords: shortest")
        if self.longest is not None:
            require_count(self.longest, "BagOfWords: longest", shortest, " (shortest), or None")
        if isinstance(self.idf, DocumentFrequencies):
            self.idf.validate()
        else:
            require_flag(self.idf, "BagOfWords: idf")
        require_flag(self.lower, "BagOfWords: lower")

    # -- how rare words are, from the data ------------------------------------------------------------

    def unresolved(self):
        return ["idf"] if not isinstance(self.idf, DocumentFrequencies) and self.idf else []

    def resolve(self, X, weights=None) -> Kernel:
        self.validate()
        if not self.unresolved():
            return self
        X, weights = counted(self.points(X), weights)
        weights = np.ones(len(X)) if weights is None else np.asarray(weights, float)
        found = self._occurring(X)
        features, which = np.unique(found.ids, return_inverse=True)
        documents = np.bincount(which, np.repeat(weights, np.diff(found.starts)), len(features))
        # What is in every string has this sum, too, and not one that differs by its rounding.
        return self.replace(
            idf=DocumentFrequencies(features, np.minimum(documents, weights.sum()), weights.sum())
        )

    # -- points and features --------------------------------------------------------------------------

    def points(self, X):
        X = as_strings(X, "BagOfWords")
        if self.of != "words" and len(X) and isinstance(X[0], tuple):
            raise ValueError(f"BagOfWords: lists of tokens have no {self.of}; take of='words', or give text")
        return X

    def _lengths(self, pieces: Letters) -> range:
        return lengths_within(pieces, self.shortest, self.shortest if self.longest is None else self.longest)

    def _pieces(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(what n-grams are taken from, where those of each string start): none goes beyond its piece."""
        text = len(X) and not isinstance(X[0], tuple)
        strings = [string.lower() for string in X] if text and self.lower else list(X)
        starts = np.arange(len(strings) + 1)
        if text and self.of == "words":
            word = _WORD if isinstance(strings[0], str) else _WORD_BYTES
            strings = [tuple(word.findall(string)) for string in strings]
        elif text and self.of == "parts of words":
            blank = " " if isinstance(strings[0], str) else b" "
            words = [string.split() for string in strings]
            starts = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(some) for some in words])])
            strings = [blank + word + blank for word in chain.from_iterable(words)]
        pieces = np.empty(len(strings), object)
        pieces[:] = strings
        return pieces, starts

    def _occurring(self, X: Any) -> Counts:
        """How often everything occurs."""
        pieces, first = self._pieces(X)
        strings = letters(pieces)
        lengths = self._lengths(strings)

        def some(rows: slice) -> Counts:
            begin = first[rows.start : rows.stop + 1]
            part = strings[begin[0] : begin[-1]]
            found = [(substrings(part, length), 1.0) for length in lengths]
            return Counts.joined([(starts[begin - begin[0]], ids, worth) for (starts, ids), worth in found])

        return Counts.made(some, np.diff(strings.starts[first]) * len(lengths))

    def features(self, X):
        found = self._occurring(X)
        values = found.values
        if self.tf != "counts":
            values = np.ones(len(values)) if self.tf == "binary" else 1 + np.log(values)
        if isinstance(self.idf, DocumentFrequencies):
            values = values * self.idf.idf(found.ids)
        return Counts(found.starts, found.ids, values)

    def spelled(self, X):
        pieces = self._pieces(X)[0]
        return spelled(pieces, self._lengths(letters(pieces)), " ")
