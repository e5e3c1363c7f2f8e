"""What is known of a model, as plain data: scores, importance, calibration, certificate, bounds."""

from __future__ import annotations

import platform
import time
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version

import numpy as np
from sklearn.pipeline import Pipeline

import mercer
from mercer._units import in_turn
from mercer.estimators import KernelRidge
from mercer.kernels import Dot, Kernel
from mercer.kernels.transforms import LengthScales
from mercer.selection.path import path_of_units
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.decision import Decided
from mercer.tables.model.evaluation import OURS, Tested
from mercer.tables.model.families import Found, Trial
from mercer.tables.model.forests import has_forest, without_forests
from mercer.tables.model.learn import Learned, Question
from mercer.tables.model.machines import LossTrial
from mercer.tables.model.scores import Contender, Resamples, Score
from mercer.tables.model.sentences import rare_of, sentences_of
from mercer.tables.model.texts import kernel_terms
from mercer.tables.model.together import Together
from mercer.tables.model.weights import Word, words_of
from mercer.theory import Bound, RiskCertificate
from mercer.theory import certificate as risk_certificate

_CURVE_ROWS = 1500
_LARGE_UNIT, _FEW_ROWS = 100, 300
_BINS = 10
# Training examples of which the error is told, where all that comes of it is that number.
_LOOKED_AT = 5000
_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Importance:
    """How much a column matters."""

    column: str
    increase: float  # growth of the test error with the column shuffled, mean of several shuffles
    spread: float  # their standard deviation
    # The shortest length scale of its coordinates, in units of their spread; None if it has none
    length: float | None


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that is known of a model, for people and for reports.

    Attributes
    ----------
    how : how it was tested
    truth, predicted, probability : of the test rows
    contenders : this model first, then simpler and different ones
    importance : columns, the most important first
    lams, loo, loo_rows : the leave-one-out curve: λ, mean squared error as a share of the variance, and rows
    coverage : (nominal, measured) pairs of the prediction intervals, cross-checked on the test rows
    reliability : (mean probability, share that was right, count) triples of the predicted class
    bounds : what holds with a stated probability, or on average
    certificate : the solver's, in words
    trials, loss_trials : what was tried
    dropped : columns left out, with reasons
    remarks : other things worth knowing
    rows, seconds, minutes, seed : of the fit: how long it took, and how long it was allowed to take
    versions : of what it was made with, by name
    command, source : the command line it was made with, and the name of the file; None if made in Python
    risk : bounds beside measured errors, their worth, why others do not apply; None in old files
    repeated : rows that are equal to another one, in all columns that are learned from
    groups : how many groups there were; None if none were given
    words : words of texts that carry what the model says, those of the largest effects first
    metric : name of what it was judged by first
    sentences : what must not be missed, the first of the remarks: another model that tested better, a label
        that is rare, how labels are decided on
    rare : whether a label is
    parts : (name, share) of the kernels that were averaged; empty for a kernel of its own
    kept : which of the trials it was that was kept; None in old files
    curve : (rows, error) of machines of fewer rows, on rows that took no part, errors being root mean squares
        or shares of wrong labels; the last one is of the machine that was tested. Empty if none were fitted
    cut : those of the remarks that say what the clock, or somebody who interrupted, cut short

    Examples
    --------
    >>> import mercer, numpy as np
    >>> x = np.random.default_rng(0).uniform(0, 6, 100)
    >>> model = mercer.fit({"x": x}, np.sin(x), minutes=0.05)
    >>> len(model.evidence.truth), [column.column for column in model.evidence.importance]
    (100, ['x'])
    """

    how: str
    truth: np.ndarray
    predicted: np.ndarray
    probability: np.ndarray | None
    contenders: tuple[Contender, ...]
    importance: tuple[Importance, ...]
    lams: np.ndarray
    loo: np.ndarray
    loo_rows: int
    coverage: tuple[tuple[float, float], ...]
    reliability: tuple[tuple[float, float, int], ...]
    bounds: tuple[Bound, ...]
    certificate: str
    trials: tuple[Trial, ...]
    loss_trials: tuple[LossTrial, ...]
    dropped: dict[str, str]
    remarks: tuple[str, ...]
    rows: int
    seconds: float
    minutes: float
    seed: int
    versions: dict[str, str]
    command: str | None = None
    source: str | None = None
    risk: RiskCertificate | None = None
    repeated: int = 0
    groups: int | None = None
    words: tuple[Word, ...] = ()
    metric: str = ""
    sentences: tuple[str, ...] = ()
    rare: bool = False
    parts: tuple[tuple[str, float], ...] = ()
    kept: int | None = None
    curve: tuple[tuple[int, float], ...] = ()
    cut: tuple[str, ...] = ()

    @property
    def scores(self) -> tuple[Score, ...]:
        """Those of the model itself."""
        return self.contenders[0].scores

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the scores that are shown first: more of them where a label is rare."""
        names, first = [s.name for s in self.scores], self.scores[0].name
        plain = {"RMSE", "MAE", "R²", "error rate", "log loss", "AUC", first}
        plain |= {"mean cost", "weighted error rate"}
        rare = {"average precision", "balanced accuracy"} if self.rare else set()
        # Accuracy is one minus the error rate, which is there already.
        return tuple(name for name in names if name in plain | rare and name != "accuracy")

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks besides the sentences."""
        return self.remarks[len(self.sentences) :]

    @property
    def weighty(self) -> tuple[Importance, ...]:
        """Columns that matter, the most important first."""
        return tuple(i for i in self.importance if i.increase > 0 and i.column not in self.dropped)

    @property
    def telling(self) -> tuple[Bound, ...]:
        """Bounds that say something."""
        return tuple(b for b in self.bounds if not b.vacuous) if self.risk is None else self.risk.telling


def gather(
    question: Question,
    result: Tested,
    learned: Learned,
    conformal: Conformal | None,
    remarks: list[str],
    together: Together,
    minutes: float,
    seed: int,
    started: float,
    decided: Decided,
) -> Evidence:
    """All that is known of what was learned, by a fit that began at `started`.

    `result` has the labels that were `decided` on.
    """
    truth = question.y[result.rows]
    everyone = {OURS: (result.predicted, result.probability), **result.others}
    resamples = Resamples.of(question, truth, question.units[result.rows], seed)
    contenders = resamples.contenders(everyone, decided)
    sentences = (*sentences_of(question, contenders), *decided.said)
    # Whoever interrupts, or has no time left, is not kept waiting.
    lams, curve, rows = _loo_curve(question, learned, seed, _FEW_ROWS if result.cut else _CURVE_ROWS)
    risk = _risk(question, truth, result, learned)
    made_with = {name: version(name) for name in ("NumPy", "SciPy", "scikit-learn")}
    return Evidence(
        how=result.how,
        truth=truth,
        predicted=result.predicted,
        probability=result.probability,
        contenders=contenders,
        importance=_importance(result, learned),
        lams=lams,
        loo=curve,
        loo_rows=rows,
        coverage=_coverage(conformal, seed),
        reliability=_reliability(question, truth, result.probability),
        bounds=risk.bounds,
        risk=risk,
        certificate=str(learned.machine.solution_),
        trials=learned.found.trials,
        loss_trials=learned.loss_trials,
        dropped=dict(learned.columns.dropped_),
        remarks=(*sentences, *map(str, remarks)),  # words only: some remarks of tables know more
        metric=question.metric.name,
        sentences=sentences,
        rare=question.classes is not None and rare_of(question.y) is not None,
        rows=len(question.y),
        seed=seed,
        versions={"Mercer": mercer.__version__, **made_with, "Python": platform.python_version()},
        repeated=together.repeated,
        groups=together.groups,
        words=_words(question, learned),
        parts=learned.found.best.parts,
        kept=_kept(learned.found),
        curve=learned.curve,
        cut=result.cut,
        minutes=minutes,
        seconds=time.monotonic() - started,
    )


def _kept(found: Found) -> int | None:
    """Which trial became the model: the same in all but the kernel, which may have been moved since."""
    best = astuple(found.best.trial)
    same = [i for i, t in enumerate(found.trials) if repr(astuple(t)) == repr(best)]  # NaN, too, is itself
    return same[-1] if same else None


def _words(question: Question, learned: Learned) -> tuple[Word, ...]:
    if not learned.columns.texts:
        return ()
    points = learned.columns.transform(question.table)
    return words_of(learned.machine, points, learned.columns.get_feature_names_out())


def _importance(result: Tested, learned: Learned) -> tuple[Importance, ...]:
    lengths = _lengths(learned.machine.kernel_)
    out = []
    for j, column in enumerate(learned.columns.schema_.columns):
        mine = learned.columns.origin_ == j
        length = None
        if lengths is not None and mine[: len(lengths)].any():  # texts, which come last, have none
            length = float(lengths[mine[: len(lengths)]].min())
        out.append(
            Importance(
                column.name, float(result.importance[j].mean()), float(result.importance[j].std()), length
            )
        )
    return tuple(sorted(out, key=lambda i: -i.increase))


def _lengths(kernel: Kernel) -> np.ndarray | None:
    """The shortest length scale of each coordinate among the kernels of a sum; None if all share one.

    Kernels of inner products have none: what divides their coordinates is no distance.
    """
    terms = [term for _, term in kernel_terms(kernel) if isinstance(term, LengthScales)]
    found = [np.asarray(t.lengths, dtype=float) for t in terms if not isinstance(t.kernel, Dot)]
    return np.min(found, axis=0) if found else None


def _loo_curve(
    question: Question, learned: Learned, seed: int, most: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Leave-one-out error of least squares with the chosen kernel against λ, as a share of the variance."""
    # To leave out many rows together takes as long as they are many.
    largest = int(np.unique(question.units, return_counts=True)[1].max())
    most = most if largest <= _LARGE_UNIT else _FEW_ROWS
    order = np.random.default_rng(seed).permutation(len(question.y))
    rows = (order if largest <= _LARGE_UNIT else in_turn(question.units, order))[:most]
    X, Y = question.points(learned.columns)[rows], question.codes()[rows]
    # A forest has seen the targets that are left out here.
    middle, kernel = learned.found.best.mu / len(rows), without_forests(learned.found.best.kernel)
    # Up to where nothing is learned any more: λ above k(x,x).
    lams = np.geomspace(1e-4 * middle, max(1e4 * middle, 10 * float(np.mean(kernel.diag(X)))), 33)
    machine = KernelRidge(kernel, lam=1.0, offset=True, representation="full")
    found = path_of_units(machine, X, Y, lams, None, question.units[rows])
    variance = float(np.mean((Y - Y.mean(axis=0)) ** 2)) or 1.0
    return lams, found.loo_mse / variance, len(rows)


def _coverage(conformal: Conformal | None, seed: int) -> tuple[tuple[float, float], ...]:
    """Coverage of intervals made from one half of the test errors on the other half, both ways."""
    if conformal is None or len(conformal.scores) < 20:
        return ()
    size = conformal.scores
    halves = np.array_split(np.random.default_rng(seed).permutation(len(size)), 2)
    out = []
    for level in _LEVELS:
        hit = [
            np.mean(
                size[b] <= np.quantile(size[a], min(1.0, level * (1 + 1 / len(a))), method="inverted_cdf")
            )
            for a, b in (halves, halves[::-1])
        ]
        out.append((level, float(np.mean(hit))))
    return tuple(out)


def _reliability(question: Question, truth, probability) -> tuple[tuple[float, float, int], ...]:
    if probability is None:
        return ()
    best = probability.argmax(axis=1)
    sure = probability[np.arange(len(best)), best]
    right = question.classes[best] == truth  # type: ignore[index]
    lowest = 1 / probability.shape[1]
    place = np.clip(((sure - lowest) / (1 - lowest) * _BINS).astype(int), 0, _BINS - 1)
    return tuple(
        (float(sure[place == b].mean()), float(right[place == b].mean()), int((place == b).sum()))
        for b in range(_BINS)
        if (place == b).any()
    )


def _risk(question: Question, truth, result: Tested, learned: Learned) -> RiskCertificate:
    """What theory says of the machine, whose kernel and λ were chosen by looking at the target."""
    if result.learned_from is not None:
        return _risk_of_tests(
            question, truth, result, learned, "the rows that were learned from are not in memory"
        )
    if learned.columns.coded:
        why = "categories are coded by the target, so that the points learned from are not independent"
        return _risk_of_tests(question, truth, result, learned, why)
    if has_forest(learned.found.best.kernel):
        why = "a forest in the kernel has seen the targets"
        return _risk_of_tests(question, truth, result, learned, why)
    if (examples := learned.machine.plan_.examples) != len(question.y):
        why = f"the machine learned from {examples:,} of the {len(question.y):,} rows"
        return _risk_of_tests(question, truth, result, learned, why)
    return risk_certificate(
        learned.machine,
        learned.columns.transform(question.table),
        question.y,
        y_test=truth,
        predicted=result.predicted,
        tuned=True,
        groups=question.units,
        groups_test=question.units[result.rows],
    )


def _risk_of_tests(question: Question, truth, result: Tested, learned: Learned, why: str) -> RiskCertificate:
    """What the test rows say, and why training errors say nothing."""
    seen, elsewhere = question, result.learned_from is not None
    if elsewhere:
        seen = question.take(np.setdiff1d(np.arange(len(question.y)), result.rows))
    elif len(question.y) > _LOOKED_AT:  # predictions of all of them take a tenth of the minutes
        seen = question.take(np.random.default_rng(0).permutation(len(question.y))[:_LOOKED_AT])
    found = risk_certificate(
        Pipeline([("machine", learned.machine)]),  # of which nothing is known but what it predicts
        seen.points(learned.columns),
        seen.y,
        y_test=truth,
        predicted=result.predicted,
        tuned=True,
        groups_test=question.units[result.rows],
    )
    examples = result.learned_from if elsewhere else learned.machine.plan_.examples
    machine = f"{type(learned.machine).__name__}, {examples:,} examples"
    if len(seen.y) < len(question.y) and not elsewhere:
        machine += f"; training examples are {len(seen.y):,} of the {len(question.y):,} rows, drawn at random"
    return replace(found, machine=machine, absent=(("Bounds from training errors", why),))
