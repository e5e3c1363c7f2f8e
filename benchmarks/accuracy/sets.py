"""The tables: which ones, where they lie, and which rows are for training and for test.

Everybody gets the same numbers: at most MAX_TRAIN training and MAX_TEST test rows, drawn with a seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import real

MAX_TRAIN, MAX_TEST = 15_000, 10_000
SMALL = 2_000  # tables with fewer rows are judged by the mean of three folds, others by one


@dataclass(frozen=True)
class Set:
    """A table and the question asked of it; `note` is what a reader of the results should know."""

    name: str
    file: str
    task: str
    note: str = ""


@dataclass(frozen=True)
class Split:
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def _regression(folder: str, *names: str) -> list[Set]:
    return [Set(_short(name), f"{folder}{name}.npz", "regression", NOTES.get(name, "")) for name in names]


def _classification(folder: str, *names: str) -> list[Set]:
    return [Set(_short(name), f"{folder}{name}.npz", "classification", NOTES.get(name, "")) for name in names]


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
}

SETS: dict[str, Set] = {
    s.name: s
    for s in [
        *_regression("uci/", "airfoil", "autompg", "bike", "concrete", "elevators", "energy", "forest"),
        *_regression("uci/", "housing", "machine", "parkinsons", "pendulum", "pol", "servo", "skillcraft"),
        *_regression("uci/", "sml", "solar", "stock", "wine", "yacht"),
        *_regression("openml_like/", "ailerons", "bank8FM", "cal_housing", "cpu_act"),
        *_regression("pmlb/", "225_puma8NH", "503_wind", "564_fried"),
        *_classification("", "usps", "spambase"),
        *_classification("libsvm/", "letter_scale", "pendigits", "german_numer_scale", "heart_scale"),
        *_classification("libsvm/", "ijcnn1_val", "a9a", "mushrooms"),
        *_classification("pmlb/", "magic", "twonorm", "ring", "satimage", "optdigits", "texture", "phoneme"),
        *_classification("pmlb/", "churn", "waveform_21", "dna", "shuttle", "adult"),
    ]
}
QUICK = ("servo", "yacht", "heart", "german_numer")


def path(name: str) -> Path:
    return real.folder() / SETS[name].file


def missing() -> list[str]:
    """The sets whose files aren't here."""
    return [name for name in SETS if not path(name).exists()]


def rows(name: str) -> int:
    """Of the whole table, training and test together."""
    with np.load(path(name), allow_pickle=False) as file:
        return sum(len(file[key]) for key in file.files if key in ("y", "y_train", "y_test"))


def folds(name: str) -> range:
    """Those the comparison rests on."""
    return range(3) if rows(name) < SMALL else range(1)


def load(name: str, fold: int = 0, max_train: int = MAX_TRAIN) -> Split:
    """Test rows: the file's own, or its fold of that number; else a fifth, drawn with that seed."""
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
    kind = float if this.task == "regression" else int
    X, y = _sample(X, y.astype(kind), max_train, fold)
    X_test, y_test = _sample(X_test, y_test.astype(kind), MAX_TEST, fold)
    return Split(X, y, X_test, y_test)


def _X(file, part: str = "") -> np.ndarray:
    """The columns of one part, dense, in double precision."""
    stem = f"X_{part}" if part else "X"
    if stem in file:
        return file[stem].astype(float)
    from scipy.sparse import csr_matrix

    # The parts of a sparse file may differ in the last column that occurs; both get the wider shape.
    width = max(int(file[key][1]) for key in file.files if key.endswith("_shape"))
    values = tuple(file[f"{stem}_{key}"] for key in ("data", "indices", "indptr"))
    return csr_matrix(values, shape=(len(values[2]) - 1, width)).toarray().astype(float)


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


def _sample(X: np.ndarray, y: np.ndarray, most: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if len(y) <= most:
        return X, y
    keep = np.sort(np.random.default_rng([seed, 1]).permutation(len(y))[:most])
    return X[keep], y[keep]
