"""Levenshtein's distance 62 letters at a time, as Python that is also compiled.

The table of edits D has a row for each letter of the one string and a column for each of the other. Entries
next to each other differ by one at most, so that a column is two words of bits: in which rows D is more than
in the row above, and in which less. A column follows from the one before by a few operations on words (Myers
1999, as Hyyrö 2003 has it). Strings of more letters take several words, from the top down: each is told, for
every column, whether D in the row above it is more or less than in the column before.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037, E741  (annotations are types of the compiled subset)

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.kernels.strings.lanes import LANES

# Letters in a word: two fewer than it has bits, so that the sum of two such words has no more than 63, and
# Python, whose integers have no end, finds the same.
WORD = 62
LAST = WORD - 1
ALL = (1 << WORD) - 1
# One bit of each 2, two of each 4, four of each 8.
HALF_OF_2, HALF_OF_4, HALF_OF_8 = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F
# Letters on the left that one word reads before the next has its turn.
CHUNK = 2048


class ColumnWords(NamedTuple):
    """Columns of D in words, for strings on the right side by side (l is the number of one).

    Letter c is at the bits of where[row[c], l] of the present word; row 0 is for letters that are nowhere.
    The bits of there[l] are those of all its letters. rises[w, l] and falls[w, l] are word w of the last
    column. above[h, l] says for letter h on the left whether D in the row above the word is more (1) or less
    (2) than in the column before.
    """

    row: "i64[:]"
    where: "i64[:,:]"
    there: "i64[:]"
    rises: "i64[:,:]"
    falls: "i64[:,:]"
    above: "i64[:,:]"


def column_words(letters: int, read: int, m: int) -> ColumnWords:
    """Room for so many different letters, letters on the left and letters on the right."""
    words = -(-m // WORD)
    return ColumnWords(
        np.zeros(letters, np.int64),
        np.zeros((min(letters, WORD * LANES) + 1, LANES), np.int64),
        np.empty(LANES, np.int64),
        np.empty((words, LANES), np.int64),
        np.empty((words, LANES), np.int64),
        np.empty((min(max(read, 1), CHUNK), LANES), np.int64),
    )


def ones(word: int) -> int:
    """How many bits of a word are 1."""
    word = word - ((word >> 1) & HALF_OF_2)
    word = (word & HALF_OF_4) + ((word >> 2) & HALF_OF_4)
    word = (word + (word >> 4)) & HALF_OF_8
    word = word + (word >> 8)
    word = word + (word >> 16)
    return (word + (word >> 32)) & 127


def note_letters(b: "i64[:,:]", ends: "i64[:]", low: int, words: ColumnWords):
    """Note where letters are in the word that begins at ``low`` in each column of b."""
    count = 0
    for l in range(LANES):
        bit = 1
        words.there[l] = 0
        for j in range(low, min(low + WORD, ends[l])):
            letter = b[j, l]
            if words.row[letter] == 0:
                count += 1
                words.row[letter] = count
                for other in range(LANES):
                    words.where[count, other] = 0
            words.where[words.row[letter], l] |= bit
            words.there[l] |= bit
            bit += bit


def forget_letters(b: "i64[:,:]", ends: "i64[:]", low: int, words: ColumnWords):
    """Undo `note_letters`."""
    for l in range(LANES):
        for j in range(low, min(low + WORD, ends[l])):
            words.row[b[j, l]] = 0


def read_letters(codes: "i64[:]", first: int, last: int, words: ColumnWords, word: int, at: int):
    """Go on by the columns of these letters, the first of which is number ``at`` of those in `above`.

    That is then about the last row of the word.
    """
    for i in range(first, last):
        r = words.row[codes[i]]
        h = at + i - first
        for l in range(LANES):
            up = words.rises[word, l]
            down = words.falls[word, l]
            side = words.above[h, l]
            same = words.where[r, l] | (side >> 1)
            # Rows where D is what it was one row higher and one column before.
            kept = (((same & up) + up) ^ up) | same | down
            more = down | ~(kept | up)
            less = up & kept
            words.above[h, l] = ((more >> LAST) & 1) | (((less >> LAST) & 1) << 1)
            more = (more << 1) | (side & 1)
            less = (less << 1) | (side >> 1)
            words.rises[word, l] = (less | ~(kept | more)) & ALL
            words.falls[word, l] = more & kept & ALL


def edits_of_some(
    codes: "i64[:]",
    starts: "i64[:]",
    first: int,
    last: int,
    begin: int,
    end: int,
    b: "i64[:,:]",
    m: int,
    ends: "i64[:]",
    words: ColumnWords,
    out: "f64[:,:]",
):
    """`edits_of_rows` of no more than `CHUNK` letters, end − begin in all."""
    word = 0
    low = 0
    for h in range(end - begin):
        for l in range(LANES):
            words.above[h, l] = 1
    while low < m:
        note_letters(b, ends, low, words)
        at = 0
        for k in range(first, last):
            start = starts[k]
            stop = min(starts[k + 1] - start, end)
            if begin == 0:
                for l in range(LANES):
                    words.rises[word, l] = ALL
                    words.falls[word, l] = 0
            read_letters(codes, start + begin, start + stop, words, word, at)
            at += stop - begin
            for l in range(LANES):
                inside = words.there[l]
                rows = ones(words.rises[word, l] & inside) - ones(words.falls[word, l] & inside)
                out[k, l] = float(rows) + (float(stop) if word == 0 else out[k, l])
        forget_letters(b, ends, low, words)
        word += 1
        low += WORD


def edits_of_rows(
    codes: "i64[:]",
    starts: "i64[:]",
    first: int,
    last: int,
    begin: int,
    end: int,
    b: "i64[:,:]",
    m: int,
    ends: "i64[:]",
    words: ColumnWords,
    out: "f64[:,:]",
):
    """Edits between some strings and each column of b, which ends after ``ends`` letters.

    Of strings, the letters from ``begin`` to ``end`` are read; rises and falls of ``words`` are those of the
    letters before. Letters are numbers for which its row has a place.
    """
    k = first
    while k < last:
        # Several short strings, or a long one in parts.
        after = k + 1
        while after < last and starts[after + 1] - starts[k] <= CHUNK:
            after += 1
        letters = starts[after] - starts[k]
        stop = min(letters, end) if after == k + 1 else letters
        done = begin
        while done == begin or done < stop:
            edits_of_some(codes, starts, k, after, done, min(done + CHUNK, stop), b, m, ends, words, out)
            done += CHUNK
        k = after


def edits_in_numpy(a, b, ends):
    """The same for one string and any number of columns."""
    D = np.repeat(np.arange(len(b) + 1)[:, None], b.shape[1], axis=1)
    for i, letter in enumerate(a):
        kept = D[:-1] + (b != letter)
        D[0] = i + 1
        D[1:] = np.minimum(D[1:] + 1, kept)
        for j in range(len(b)):
            np.minimum(D[j + 1], D[j] + 1, out=D[j + 1])
    return D[ends, np.arange(b.shape[1])]
