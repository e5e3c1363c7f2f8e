"""Kernels on strings: accuracy on six sets, beside tf–idf of n-grams and a linear SVM in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import real
from benchmarks.harness import measure
from benchmarks.table import count, number, seconds, text

TITLE = "Strings: accuracy with everything chosen on the training rows"
NOTE = (
    "In per cent, the mean over test parts and its standard error: accuracy, and the area under the "
    "precision–recall curve (average precision) for C. elegans, of whose windows 3.3 % are acceptor sites. "
    "Test parts are ten folds (promoters), five folds (splice, SMS spam, names), or every tenth row of the "
    "test file (Reuters R8, C. elegans, where the file for model selection is trained on, and the other one "
    "tested on). Both sides choose by threefold (promoters: tenfold) cross-validation on the same training "
    "rows: all, or as many at random as “chosen on” says. Mercer: the squared hinge loss, one class against "
    "the rest; kernels are normalised, sums are means of normalised kernels. "
    "scikit-learn: TfidfVectorizer and LinearSVC (the same loss), n-grams of words and characters, within "
    "words and across them, sublinear or not. The time is of everything, choice included."
)
COLUMNS = (
    text("data", "case"),
    count("strings", "n"),
    text("", "who"),
    number("score %", "score", ".2f"),
    number("±", "error", ".2f"),
    count("chosen on", "inner"),
    count("settings", "settings"),
    seconds(),
    text("chosen, in how many rounds", "chosen"),
)
ACCEPTORS = "C. elegans"
SETS = ("promoters", "splice", "SMS spam", "names", "Reuters R8", ACCEPTORS)
WHO = {"mercer": "Mercer", "sklearn": "scikit-learn"}
FOLDS = {"promoters": 10, "splice": 5, "SMS spam": 5, "names": 5}
PARTS, INNER = 10, 3
# Of few rows less is held out at a time, or what is chosen is chance.
FEW, INNER_OF_FEW = 500, 10
# Settings are chosen on no more rows than this.
CHOSEN_ON = {"splice": 1_500, "names": 4_000, "Reuters R8": 2_500, ACCEPTORS: 9_000}
CHOSEN_ON_OTHERS, QUICK_ROWS = 6_000, 400
CS = (0.3, 1.0, 3.0, 10.0, 30.0)
SETUP = """
from benchmarks.bench_strings_accuracy import judged
"""

Rows = np.ndarray
Round = tuple[Rows, list[Rows]]


def run(quick: bool, limits: dict):
    for case in SETS:
        files = (case, f"{case}, to choose by") if case == ACCEPTORS else (case,)
        if reason := next(filter(None, map(real.missing, files)), None):
            yield {"case": case, "failure": reason}
            continue
        for key, who in WHO.items():
            statement = f"extra_found = judged({case!r}, {key!r}, {quick})"
            done = measure(SETUP, statement, report="extra.update(extra_found)", timeout=7200)
            yield {"case": case, "who": who, "key": key} | done.record()


# -- in the process that is measured ---------------------------------------------------------------------


def judged(case: str, who: str, quick: bool = False) -> dict:
    """Score in per cent, its standard error, and what was chosen in every round."""
    X, y, rounds = rounds_of(case, quick)
    options = list((kernels(case) if who == "mercer" else counters(case)).items())
    options = options[::4] if quick else options
    side: Any = Mercer if who == "mercer" else Sklearn
    found: list[float] = []
    chosen: dict[str, int] = {}
    inner = 0
    for train, tests in rounds:
        some = sample(train, CHOSEN_ON.get(case, CHOSEN_ON_OTHERS))
        name, option, setting = best(side, options, X[some], y[some], measure_of(case))
        machine = side.fitted(option, setting, X[train], y[train])
        scores = [side.scores(machine, X[test]) for test in tests]
        found += [
            100 * measure_of(case)(y[test], score, machine.classes_)
            for test, score in zip(tests, scores, strict=True)
        ]
        label = f"{name}, {', '.join(map(str, setting))}"
        chosen[label] = chosen.get(label, 0) + 1
        inner = len(some)
    return {
        "n": len(y),
        "score": float(np.mean(found)),
        "error": float(np.std(found, ddof=1) / np.sqrt(len(found))),
        "scores": found,
        "inner": inner,
        "settings": len(options) * len(side.settings),
        "chosen": "; ".join(f"{label}: {times}" for label, times in chosen.items()),
    }


def rounds_of(case: str, quick: bool) -> tuple[np.ndarray, np.ndarray, list[Round]]:
    """Strings, classes, and for each round the rows trained on and the rows of each test part."""
    from sklearn.model_selection import StratifiedKFold

    if case == ACCEPTORS:
        parts = [real.strings(f"{case}, to choose by"), real.strings(case)]
        X, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        tested = np.repeat([False, True], [len(part[0]) for part in parts])
    else:
        X, y, tested = real.strings(case)
    if quick:
        keep = np.sort(sample(np.arange(len(y)), QUICK_ROWS * (5 if case == ACCEPTORS else 1)))
        X, y, tested = X[keep], y[keep], tested[keep]
        common = np.isin(y, np.flatnonzero(np.bincount(y - y.min()) >= 10) + y.min())
        X, y, tested = X[common], y[common], tested[common]
    if tested.any():
        rows = np.flatnonzero(tested)
        parts = 2 if quick else PARTS
        return X, y, [(np.flatnonzero(~tested), [rows[i::parts] for i in range(parts)])]
    folds = StratifiedKFold(2 if quick else FOLDS[case], shuffle=True, random_state=0).split(X, y)
    return X, y, [(train, [test]) for train, test in folds]


def sample(rows: Rows, most: int) -> Rows:
    if len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(0).permutation(rows)[:most])


def measure_of(case: str) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    """What is measured, of true classes, scores, and what columns of scores mean."""

    def right(y: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> float:
        at = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        return float(np.mean(classes[at] == y))

    def area(y: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> float:
        from sklearn.metrics import average_precision_score

        return float(average_precision_score(y == classes[1], scores))

    return area if case == ACCEPTORS else right


def best(side: Any, options: list, X: np.ndarray, y: np.ndarray, measure: Callable) -> tuple[str, Any, tuple]:
    """The option and its setting with the highest mean score on parts held out; the first of equals.

    Features, and what is counted for them, are made once of all rows given: none of them is tested on later.
    """
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(INNER_OF_FEW if len(y) <= FEW else INNER, shuffle=True, random_state=0)
    parts = list(folds.split(X, y))
    top, out = -1.0, None
    for name, option in options:
        for setting, Phi in side.features(option, X):
            machines = ((side.machine(setting).fit(Phi[a], y[a]), b) for a, b in parts)
            score = np.mean([measure(y[b], m.decision_function(Phi[b]), m.classes_) for m, b in machines])
            if score > top + 1e-12:
                top, out = float(score), (name, option, setting)
    assert out is not None
    return out


class Mercer:
    """Kernels; of each, C."""

    settings = tuple((C,) for C in CS)

    @classmethod
    def features(cls, kernel: Any, X: np.ndarray) -> Iterator[tuple[tuple, Any]]:
        from mercer.features import CountedFeatures

        Phi = CountedFeatures(kernel).fit_transform(X)
        for setting in cls.settings:
            yield setting, Phi

    @staticmethod
    def machine(setting: tuple, kernel: Any = "linear") -> Any:
        """With the kernel's own features for X, the linear kernel is the kernel itself."""
        from mercer import FromC, KernelClassifier

        return KernelClassifier(kernel, "squared_hinge", FromC(setting[0]))

    @classmethod
    def fitted(cls, kernel: Any, setting: tuple, X: np.ndarray, y: np.ndarray) -> Any:
        return cls.machine(setting, kernel).fit(X, y)

    @staticmethod
    def scores(machine: Any, X: np.ndarray) -> np.ndarray:
        return np.asarray(machine.decision_function(X))


class Sklearn:
    """Ways to count n-grams; of each, C, and whether counts are taken as 1 + their logarithms."""

    settings = tuple((C, tf) for tf in ("tf", "1 + ln tf") for C in CS)

    @classmethod
    def features(cls, counter: Any, X: np.ndarray) -> Iterator[tuple[tuple, Any]]:
        counts = cls._counter(counter).fit_transform(X)
        for setting in cls.settings:
            yield setting, cls._weights(setting).fit_transform(counts)

    @staticmethod
    def machine(setting: tuple) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(C=setting[0], random_state=0)

    @staticmethod
    def _counter(counter: dict) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(**counter)

    @staticmethod
    def _weights(setting: tuple) -> Any:
        from sklearn.feature_extraction.text import TfidfTransformer

        return TfidfTransformer(sublinear_tf=setting[1] != "tf")

    @classmethod
    def fitted(cls, counter: dict, setting: tuple, X: np.ndarray, y: np.ndarray) -> Any:
        from sklearn.pipeline import make_pipeline

        return make_pipeline(cls._counter(counter), cls._weights(setting), cls.machine(setting)).fit(X, y)

    @staticmethod
    def scores(machine: Any, X: np.ndarray) -> np.ndarray:
        return np.asarray(machine.decision_function(X))


# -- what is chosen from -----------------------------------------------------------------------------------


def kernels(case: str) -> dict[str, Any]:
    if case == "promoters":
        return _composition() | _counted() | _aligned((3,), (0, 2)) | _both((3,), (2,))
    if case == "splice":
        return _aligned((3, 5, 8), (0,)) | _aligned((5,), (1,))
    if case == ACCEPTORS:
        return _aligned((3, 5), (0,))
    return _short() if case == "names" else _texts()


def _mean(*several: Any) -> Any:
    return sum((k.normalize() for k in several[1:]), several[0].normalize()) * (1 / len(several))


def _aligned(degrees: tuple, shifts: tuple) -> dict[str, Any]:
    from mercer.kernels import WeightedDegree

    return {
        f"WeightedDegree({d}, shifts={s})": WeightedDegree(d, s).normalize() for d in degrees for s in shifts
    }


def _composition() -> dict[str, Any]:
    from mercer.kernels import Mismatch, Spectrum

    several = [Mismatch(5, 1), Mismatch(4, 1), Spectrum(5, blended=True)]
    return {repr(k): k.normalize() for k in several}


def _counted() -> dict[str, Any]:
    return {f"characters {a}–{b}": _bag("characters", a, b).normalize() for a, b in ((1, 5), (3, 6))}


def _both(degrees: tuple, shifts: tuple) -> dict[str, Any]:
    from mercer.kernels import Mismatch, WeightedDegree

    what = Mismatch(5, 1)
    return {
        f"WeightedDegree({d}, shifts={s}) + {what!r}": _mean(WeightedDegree(d, s), what)
        for d in degrees
        for s in shifts
    }


def _short() -> dict[str, Any]:
    """For single words: n-grams with the ends of the word marked, all together or each length for itself."""
    from mercer.kernels import WeightedDegree

    parts = [_bag("parts of words", n, n) for n in range(1, 6)]
    placed = WeightedDegree(4, 1)
    together = _bag("parts of words", 1, 5)
    return {
        "parts 1–5": together.normalize(),
        "parts 1, 2, … 5": _mean(*parts),
        "parts 1–5 + WeightedDegree(4, shifts=1)": _mean(together, placed),
        "parts 1, 2, … 5 + WeightedDegree(4, shifts=1)": _mean(_mean(*parts), placed),
    }


def _texts() -> dict[str, Any]:
    """tf–idf of words and of parts of them, and both."""
    words, pairs = _bag("words", 1, 1), _bag("words", 1, 2)
    few, parts = _bag("parts of words", 1, 3), _bag("parts of words", 1, 5)
    return {
        "words 1": words.normalize(),
        "words 1–2": pairs.normalize(),
        "parts 1–3": few.normalize(),
        "parts 1–5": parts.normalize(),
        "words 1–2 + parts 1–5": _mean(pairs, parts),
    }


def _bag(of: str, shortest: int, longest: int) -> Any:
    from mercer.kernels import BagOfWords

    return BagOfWords(of, shortest, longest, tf="sublinear", idf=True)


def counters(case: str) -> dict[str, dict]:
    """n-grams of scikit-learn; a sequence of DNA has no words."""
    ranges = {"char": ((1, 3), (1, 4), (1, 5), (2, 5), (3, 6))}
    if case not in ("promoters", "splice", ACCEPTORS):
        ranges |= {"word": ((1, 1), (1, 2)), "char_wb": ((1, 3), (1, 5), (2, 5))}
    if case == ACCEPTORS:
        ranges = {"char": ((1, 4), (3, 6))}
    return {
        f"{kind} {a}–{b}": {"analyzer": kind, "ngram_range": (a, b)}
        for kind, several in ranges.items()
        for a, b in several
    }
