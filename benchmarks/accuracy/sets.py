"""The tables: which ones, where they lie, and which rows are for training and for test.

Everybody gets the same numbers: at most MAX_TRAIN training and MAX_TEST test rows, drawn with a seed. Another
cap of training rows changes nothing about the test rows, and fewer training rows are a part of more.
"""

from __future__ import annotations

import hashlib
from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import real

MAX_TRAIN, MAX_TEST = 15_000, 10_000
SMALL = 2_000  # tables with fewer rows are judged by the mean of three folds, others by one


@dataclass(frozen=True)
class Set:
    """A table and the question asked of it; `note` is what a reader of the results should know.

    `categories` are the columns whose numbers are codes of names, for machines that want to be told.
    """

    name: str
    file: str
    task: str
    note: str = ""
    categories: tuple[int, ...] = ()


@dataclass(frozen=True)
class Split:
    """`of` is how many training rows there were before they were capped."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    categories: tuple[int, ...] = ()
    of: int = 0


def _regression(folder: str, *names: str) -> list[Set]:
    return [_set(name, folder, "regression") for name in names]


def _classification(folder: str, *names: str) -> list[Set]:
    return [_set(name, folder, "classification") for name in names]


def _set(name: str, folder: str, task: str) -> Set:
    short, file = NAMES.get(name, _short(name)), f"{folder}{name}.npz"
    return Set(short, file, task, NOTES.get(name, ""), CATEGORIES.get(name, ()))


def _short(name: str) -> str:
    """pmlb's numbers and LIBSVM's endings say nothing about the table."""
    return name.lstrip("0123456789").lstrip("_").removesuffix("_scale").removesuffix("_val")


NOTES = {
    "bike": "leaks: y is the logarithm of casual + registered, which are its last two columns",
    "forest": "almost all noise: nothing beats the mean by much",
    "solar": "counts of flares; eight distinct values, most of them 0",
    "wine": "the answer is a mark with six distinct values",
    "ijcnn1_val": "the validation part of ijcnn1 alone",
    "a9a": "adult with columns cut into 123 indicators",
    "adult": "categories come as integer codes, as in the file",
    "mushrooms": "most methods make no error at all",
    "tamielectric": "all noise: nothing beats the mean",
    "w8a": "the training part of w8a alone",
}
NAMES = {"mnist": "MNIST"}
CATEGORIES = {
    "adult": (1, 3, 5, 6, 7, 8, 9, 13),
    "churn": (0, 2, 4, 5),
    "forest": (2, 3),
    "servo": (0, 1),
    "solar": (0, 1, 2),
}


def _named(*groups: list[Set]) -> dict[str, Set]:
    return {this.name: this for group in groups for this in group}


# The forty that docs/accuracy.md rests on.
FORTY = _named(
    _regression("uci/", "airfoil", "autompg", "bike", "concrete", "elevators", "energy", "forest"),
    _regression("uci/", "housing", "machine", "parkinsons", "pendulum", "pol", "servo", "skillcraft"),
    _regression("uci/", "sml", "solar", "stock", "wine", "yacht"),
    _regression("openml_like/", "bank8FM", "cal_housing", "cpu_act"),
    _regression("pmlb/", "225_puma8NH", "503_wind"),
    _classification("", "usps", "spambase"),
    _classification("libsvm/", "pendigits", "german_numer_scale", "heart_scale"),
    _classification("pmlb/", "magic", "twonorm", "ring", "satimage", "optdigits", "texture", "phoneme"),
    _classification("pmlb/", "churn", "waveform_21", "dna", "adult"),
)
# Further ones of the same sizes.
MORE = _named(
    _regression("openml_like/", "ailerons"),
    _regression("pmlb/", "564_fried"),
    _classification("libsvm/", "letter_scale", "ijcnn1_val", "a9a", "mushrooms"),
    _classification("pmlb/", "shuttle"),
)
# Those that show what more rows are worth.
_LARGE = _named(
    _regression("uci/", "keggdirected", "tamielectric"),
    _classification("", "mnist", "covtype"),
    _classification("libsvm/", "w8a"),
)
SETS: dict[str, Set] = {**FORTY, **_LARGE, **MORE}
GROUPS: dict[str, tuple[str, ...]] = {
    "forty": tuple(FORTY),
    "large": (*_LARGE, "adult"),
    "more": tuple(MORE),
    "all": tuple(SETS),
}
QUICK = ("servo", "yacht", "heart", "german_numer")
HALVES = ("develop", "judge")


def half(name: str) -> str:
    """Tables of one half may be looked at while methods are made, those of the other judge them."""
    return HALVES[hashlib.blake2b(name.encode()).digest()[0] % 2]


def path(name: str) -> Path:
    return real.folder() / SETS[name].file


def missing() -> list[str]:
    """The sets whose files aren't here."""
    return [name for name in SETS if not path(name).exists()]


def present(names: Iterable[str]) -> list[str]:
    """Those whose data are here, or need none; it is said which are not."""
    names = list(dict.fromkeys(names))
    absent = [name for name in missing() if name in names]
    if absent and len(absent) == len(names):
        raise SystemExit(f"no data in {real.folder()}: set MERCER_DATA to the folder that has them")
    for name in absent:
        print(f"{name} is skipped: no {SETS[name].file} in the data folder")
    return [name for name in names if name not in absent]


def chosen(
    parser: ArgumentParser, said: Iterable[str] | None, words: dict[str, Any], names: Iterable[str]
) -> list[str]:
    """Names and words for several of them, with spaces or commas between, each once."""
    found: list[str] = []
    for word in (w for part in said or () for w in part.split(",") if w):
        if word not in words and word not in names:
            parser.error(f"{word!r} is none of {', '.join([*words, *names])}")
        found += words.get(word, [word])
    return list(dict.fromkeys(found))


def rows(name: str) -> int:
    """Of the whole table, training and test together."""
    with np.load(path(name), allow_pickle=False) as file:
        return sum(len(file[key]) for key in file.files if key in ("y", "y_train", "y_test"))


def folds(name: str) -> range:
    """Those the comparison rests on."""
    return range(3) if rows(name) < SMALL else range(1)


def load(name: str, fold: int = 0, max_train: int | None = MAX_TRAIN) -> Split:
    """Test rows: the file's own, or its fold of that number; else a fifth, drawn with that seed.

    Training rows: all (None), or so many at random.
    """
    this = SETS[name]
    with np.load(path(name), allow_pickle=False) as file:
        if "y_train" in file:
            X, y, X_test, y_test = _X(file, "train"), file["y_train"], _X(file, "test"), file["y_test"]
        else:
            X_all, y_all = _X(file), file["y"]
            if "fold" in file:
                test = file["fold"] == fold
            else:
                test = _fifth(y_all, fold, stratified=this.task == "classification")
            X, y, X_test, y_test = X_all[~test], y_all[~test], X_all[test], y_all[test]
    kind, of = float if this.task == "regression" else int, len(y)
    X, y = _sample(X, y.astype(kind), max_train, fold)
    X_test, y_test = _sample(X_test, y_test.astype(kind), MAX_TEST, fold)
    return Split(_columns(X), y, _columns(X_test), y_test, this.categories, of)


@cache
def test_answers(name: str, fold: int = 0) -> np.ndarray:
    """What the test rows are to be."""
    return load(name, fold, 1).y_test


def training_rows(name: str, fold: int = 0) -> int:
    """How many there are, by the targets alone."""
    with np.load(path(name), allow_pickle=False) as file:
        if "y_train" in file:
            return len(file["y_train"])
        y = file["y"]
        if "fold" in file:
            return int(np.sum(file["fold"] != fold))
        return int(np.sum(~_fifth(y, fold, stratified=SETS[name].task == "classification")))


def _columns(X: np.ndarray) -> np.ndarray:
    """Dense, in double precision, an image a row; after the rows are drawn, as some tables are large."""
    X = X.toarray() if hasattr(X, "toarray") else X
    return X.reshape(len(X), -1).astype(float)


def _X(file, part: str = "") -> Any:
    """The columns of one part, as they lie in the file."""
    stem = f"X_{part}" if part else "X"
    if stem in file:
        return file[stem]
    from scipy.sparse import csr_matrix

    # The parts of a sparse file may differ in the last column that occurs; both get the wider shape.
    width = max(int(file[key][1]) for key in file.files if key.endswith("_shape"))
    values = tuple(file[f"{stem}_{key}"] for key in ("data", "indices", "indptr"))
    return csr_matrix(values, shape=(len(values[2]) - 1, width))


def _fifth(y: np.ndarray, seed: int, stratified: bool) -> np.ndarray:
    """A mask of a fifth of the rows, at random; of each class alike if stratified."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    if stratified:
        order = order[np.argsort(y[order], kind="stable")]
    test = np.zeros(len(y), bool)
    if stratified:
        test[order[2::5]] = True  # every fifth of the rows sorted by class
    else:
        test[order[: len(y) // 5]] = True
    return test


def _sample(X: Any, y: np.ndarray, most: int | None, seed: int) -> tuple[Any, np.ndarray]:
    if most is None or len(y) <= most:
        return X, y
    keep = np.sort(np.random.default_rng([seed, 1]).permutation(len(y))[:most])
    return X[keep], y[keep]
