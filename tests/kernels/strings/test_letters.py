"""Strings at the door."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from mercer.functions import KernelFunction
from mercer.kernels import BagOfWords, Mismatch, Spectrum, Subsequence, Substitution, WeightedDegree
from mercer.kernels.strings.letters import (
    Letters,
    alphabet_of,
    as_strings,
    letters,
    places,
    positions,
    require_alphabet,
    word_of,
)


def test_text_is_numbered_by_unicode():
    L = letters(as_strings(["aé", "", "😀b", "\ud800"], "k"))
    assert L.codes.tolist() == [97, 233, 0x1F600, 98, 0xD800]
    assert L.starts.tolist() == [0, 2, 2, 4, 5]
    assert L.lengths.tolist() == [2, 0, 2, 1]
    assert letters(L) is L


def test_bytes_are_numbered_by_their_value():
    L = letters(as_strings([b"\x00\xff", b"A"], "k"))
    assert L.codes.tolist() == [0, 255, 65]


def test_equal_tokens_have_equal_numbers_and_others_have_not():
    L = letters(as_strings([["a", b"a", 1, "1", 2], (True, np.str_("a"), "2", -1)], "k"))
    a, b, one, text, two, true, again, other, minus = L.codes.tolist()
    assert (one, a) == (true, again)
    assert len({a, b, one, text, two, other, minus}) == 7
    assert all(code > 0 for code in L.codes)


def test_numbers_of_tokens_are_the_same_in_every_process():
    code = "from mercer.kernels.strings.letters import letters; print(*letters([('to', 'be', 7)]).codes)"
    there = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(2)]
    here = " ".join(map(str, letters([("to", "be", 7)]).codes))
    assert [line.strip() for line in there] == [here, here]


def test_strings_are_taken_like_points():
    L = letters(np.array(["ab", "", "cde", "f"], object))
    assert isinstance(L[1:3], Letters) and L[1:3].codes.tolist() == [99, 100, 101]
    assert L[np.array([3, 0])].codes.tolist() == [102, 97, 98]
    assert (L.shape, len(L), L.ndim) == ((4,), 4, 1)
    assert L[:0].starts.tolist() == [0]


@pytest.mark.parametrize(
    "X",
    [
        ["ab", "c"],
        ("ab", "c"),
        np.array(["ab", "c"]),
        np.array([["ab"], ["c"]], object),
        pd.Series(["ab", "c"]),
        pd.Series(["ab", "c"], dtype="string"),
        pd.DataFrame({"text": ["ab", "c"]}),
    ],
    ids=lambda X: type(X).__name__,
)
def test_a_list_a_column_or_a_table_of_one(X):
    out = as_strings(X, "k")
    assert out.dtype == object and out.tolist() == ["ab", "c"]


def test_fixed_width_bytes():
    assert as_strings(np.array([b"ab", b"c"]), "k").tolist() == [b"ab", b"c"]


def test_tokens_become_tuples_even_where_all_have_one_length():
    assert as_strings([["a", "b"], ["c", "d"]], "k").tolist() == [("a", "b"), ("c", "d")]
    assert as_strings([], "k").shape == (0,)
    assert as_strings([[], ["a"]], "k").tolist() == [(), ("a",)]


class _Word(str):
    """Text that is not quite str, as some libraries have it."""


def test_every_kind_in_one_spelling():
    same = as_strings([_Word("ab"), np.str_("ab"), "ab"], "k")
    assert [type(s) for s in same] == [str] * 3 and len(set(same)) == 1
    same = as_strings([bytearray(b"ab"), np.bytes_(b"ab"), b"ab"], "k")
    assert [type(s) for s in same] == [bytes] * 3 and len(set(same)) == 1
    same = as_strings([np.array([1, 2]), [np.int8(1), 2], (True, 2), range(1, 3)], "k")
    assert [[type(t) for t in s] for s in same] == [[int, int]] * 4 and len(set(same)) == 1
    same = as_strings([np.array(["a", "b"]), [np.str_("a"), _Word("b")]], "k")
    assert [[type(t) for t in s] for s in same] == [[str, str]] * 2 and len(set(same)) == 1


def test_text_and_bytes_have_no_letter_in_common():
    for left, right in ((["ab"], [b"ab"]), (["ab"], [["a", "b"]])):
        with pytest.raises(ValueError, match="text on one side and"):
            Spectrum(2).normalize()(left, right)
    f = KernelFunction(Spectrum(2), [b"ab"], [1.0])
    with pytest.raises(ValueError, match="on one side and bytes on the other"):
        f(["ab"])


@pytest.mark.parametrize("huge", [10**9, 10**30])
def test_substrings_longer_than_any_string_take_no_time(huge):
    X, none = ["abab", "ba", ""], np.zeros((3, 3))
    one, M = np.array([[2.0]]), np.eye(2)
    for k in (Spectrum(huge), Mismatch(huge, 1, "ab"), Substitution(M, "ab", huge), Subsequence(huge)):
        assert np.array_equal(k(X), none), k
        assert np.array_equal(k.normalize()(X), none), k
    assert np.array_equal(Spectrum(huge, blended=True)(X), Spectrum(4, blended=True)(X))
    assert np.array_equal(BagOfWords("characters", 1, huge)(X), BagOfWords("characters", 1, 4)(X))
    assert np.allclose(Subsequence(huge, blended=True)(X), Subsequence(4, blended=True)(X), rtol=1e-14)
    assert np.allclose(WeightedDegree(huge)(X).diagonal() * huge, [20, 6, 0])
    with pytest.raises(ValueError, match="fewer shifts"):
        WeightedDegree(2, shifts=huge)(X)
    assert np.allclose(Substitution(one, "a", 70)(["a" * 72]), 9 * 2.0**70)
    with pytest.raises(ValueError, match=r"20\^5000 features"):
        Substitution(np.eye(20), "abcdefghijklmnopqrst", 5000)(["a" * 6000])
    with pytest.raises(ValueError, match="more than there is memory for"):
        Mismatch(1000, 500, "ab")(["a" * 2000])


@pytest.mark.parametrize(
    "X, words",
    [
        ("word", r"takes a list of strings; for a single one give \['word'\]"),
        (b"word", "for a single one"),
        (["a", None], "item 1 is None.*fill in or leave out"),
        (["a", float("nan")], "item 1 is nan.*fill in or leave out"),
        (pd.Series(["a", pd.NA], dtype="string"), "item 1 is <NA>.*fill in or leave out"),
        (["a", 3], r"item 1 is 3 \(int\)"),
        ([1.0, 2.0], r"item 0 is 1.0 \(float\)"),
        ([["a", 1.5]], r"item 0 has 1.5 \(float\)"),
        ([["a"], ["b", None]], "item 1 has None.*fill in or leave out"),
        ([[["a"]]], r"item 0 has \['a'\] \(list\)"),
        ([np.array([1.0, 2.0])], "item 0 has 1.0"),
        ([np.zeros((2, 2), int)], "item 0 is array"),
        ([["a"] * 10**5 + [1.5]], "item 0 has 1.5"),
        ([{1: "a"} | dict.fromkeys(range(10**4))], "item 0 is {.{1,80}$"),
        (["a", b"a"], "one kind, but item 0 is text and item 1 bytes"),
        (["a", ["a"]], "one kind, but item 0 is text and item 1 lists of tokens"),
        ({"a", "b"}, "takes a list of strings; got set"),
        (np.zeros((3, 2)), r"got shape \(3, 2\)"),
        (3, "takes a list of strings; got int"),
        (None, "takes a list of strings; got NoneType"),
        ({"a": 1}, "takes a list of strings; got dict"),
        ((c for c in "ab"), "takes a list of strings; got generator"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_refused(X, words):
    with pytest.raises(ValueError, match=words):
        as_strings(X, "k")


def test_places_of_substrings():
    starts, first = places(letters(as_strings(["abc", "a", "", "de"], "k")), 2)
    assert starts.tolist() == [0, 2, 2, 2, 3] and first.tolist() == [0, 1, 4]


@pytest.mark.parametrize("alphabet", ["dab", b"dab", ("d", 3, b"d")])
def test_an_alphabet_and_its_letters(alphabet):
    codes = alphabet_of(alphabet, "k")
    assert positions(codes[[2, 0, 1, 0]], codes).tolist() == [2, 0, 1, 0]
    assert positions(np.array([5, 7]), codes).tolist() == [-1, -1]
    assert positions(codes, codes[:0]).tolist() == [-1, -1, -1]
    assert word_of(alphabet, [2, 0]) == alphabet[2:] + alphabet[:1]


def test_strings_of_an_alphabet():
    X = as_strings(["ab", "ax"], "k")
    require_alphabet(X, "abx", "k", "do this")
    require_alphabet(X, "ab", "k", "do this", known=False)
    require_alphabet(X, "", "k", "do this")
    with pytest.raises(ValueError, match="k: string 1 has the letter 'x', .* alphabet 'ab'; do this"):
        require_alphabet(X, "ab", "k", "do this")
    with pytest.raises(ValueError, match="the strings are text, and the alphabet is lists of tokens"):
        require_alphabet(X, ("a", "b"), "k", "do this", known=False)


def test_tokens_of_any_size():
    huge = 10**5000
    assert np.array_equal(Spectrum(1)([[huge], [huge, -huge], [huge + 1]]), [[1, 1, 0], [1, 2, 0], [0, 0, 1]])
