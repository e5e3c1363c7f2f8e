"""Answers from scores, against the losses, codings and calibrations they stand for."""

import numpy as np
import pytest
from scipy.special import expit

from mercer.codegen.symbols import NotTraceable
from mercer.estimators.calibration import Calibration, _levelled
from mercer.losses import Exponential, Hinge, Logistic, Loss, Multinomial, Poisson, Quantile, Squared
from mercer.losses.coding import LabelCoding, TargetCoding
from mercer.losses.pairs import PairCoding
from mercer.onnx import answers
from onnx_graphs import computed

RNG = np.random.default_rng(0)


class Cube(Loss):
    """Predicts s³."""

    def value(self, y, s):
        return (y - s) ** 2

    def grad(self, y, s):
        return 2 * (s - y)

    def link(self, s):
        return np.asarray(s) ** 3


class Steep(Logistic):
    def probability(self, s):
        return expit(7 * np.asarray(s))


class Odd(Logistic):
    def probability(self, s):
        return np.clip(0.5 + np.asarray(s), 0, 1)


@pytest.mark.parametrize(
    "coding",
    [
        TargetCoding(Squared(), True),
        TargetCoding(Squared(), False, 1),
        TargetCoding(Squared(), False, 3),
        TargetCoding(Poisson(), False, 2),
        TargetCoding(Quantile([0.5, 0.9, 0.1]), False, 3),
        TargetCoding(Quantile([0.5]), False, 1),
        TargetCoding(Quantile(0.3), True),
    ],
    ids=repr,
)
def test_predictions(coding):
    s = RNG.standard_normal((8, coding.n_outputs))
    out = computed(lambda g, v: answers.prediction(g, v, coding), s)
    np.testing.assert_allclose(out, coding.decode(s), rtol=1e-13)


def test_predictions_that_are_not_known():
    with pytest.raises(NotTraceable, match=r"Cube\(\) are no function of scores that ONNX export knows"):
        computed(lambda g, v: answers.prediction(g, v, TargetCoding(Cube(), True)), np.zeros((1, 1)))


THREE = np.array(["a", "b", "c"])
CODINGS = [
    LabelCoding(Logistic(), np.array([0, 1])),
    LabelCoding(Exponential(), np.array([0, 1])),
    LabelCoding(Steep(), np.array([0, 1])),
    LabelCoding(Multinomial(), np.array([0, 1])),
    LabelCoding(Multinomial(), THREE),
    LabelCoding(Logistic(), THREE),
    LabelCoding(Hinge(), THREE),
    PairCoding(Hinge(), THREE),
    PairCoding(Hinge(), np.arange(5)),
]


@pytest.mark.parametrize("coding", CODINGS, ids=repr)
def test_decisions_and_probabilities(coding):
    s = RNG.standard_normal((40, coding.n_outputs))
    s[0] = 0  # a tie
    s[1] = -2000  # all probabilities underflow
    np.testing.assert_allclose(
        computed(lambda g, v: answers.decision(g, v, coding), s), coding.decision(s), rtol=1e-13, atol=1e-15
    )

    def best(g, v):
        return answers.best_class(g, answers.decision(g, v, coding), coding)

    assert np.array_equal(coding.classes[computed(best, s)], coding.decode(s))
    if coding.loss.has_probability:
        out = computed(lambda g, v: answers.probabilities(g, v, coding, best(g, v)), s)
        np.testing.assert_allclose(out, coding.probability(s), rtol=1e-12, atol=1e-15)


def test_probabilities_that_are_not_known():
    coding = LabelCoding(Odd(), np.array([0, 1]))
    with pytest.raises(NotTraceable, match="not a sigmoid of scores"):
        computed(lambda g, v: answers.probabilities(g, v, coding, v), np.zeros((1, 1)))

    class Loud(Multinomial):
        def probability(self, s):
            return np.asarray(s) * 0 + 0.5

    coding = LabelCoding(Loud(), np.array([0, 1]))
    with pytest.raises(NotTraceable, match="not a softmax of scores"):
        computed(lambda g, v: answers.probabilities(g, v, coding, v), np.zeros((1, 2)))


@pytest.mark.parametrize(
    "coding, slopes",
    [
        (LabelCoding(Hinge(), np.array([0, 1])), (1.5, 0.3)),
        (LabelCoding(Hinge(), THREE), (2.0,)),
        (PairCoding(Hinge(), THREE), (2.0,)),
        (PairCoding(Hinge(), np.arange(5)), (0.7,)),
    ],
    ids=repr,
)
def test_calibrated_probabilities(coding, slopes):
    s = 2 * RNG.standard_normal((400, coding.n_outputs))
    calibration = Calibration(slopes)

    def make(g, v):
        best = answers.best_class(g, answers.decision(g, v, coding), coding)
        return answers.calibrated(g, v, coding, calibration, best)

    expected = calibration.probability(s, coding)
    np.testing.assert_allclose(computed(make, s), expected, rtol=1e-12, atol=1e-15)


def test_levelling():
    """Where a class wins the vote on less evidence; such rows are among those above, but not by design."""
    p = RNG.dirichlet(np.ones(4), 50)
    best = RNG.integers(4, size=50)

    def make(g, v):
        chosen = g.op("Equal", g.column(best.astype(np.int64)), np.arange(4, dtype=np.int64)[None, :])
        return answers._levelled(g, v, chosen, 4)

    rows = np.flatnonzero(p.argmax(axis=1) != best)
    np.testing.assert_allclose(computed(make, p)[rows], _levelled(p[rows], best[rows]), rtol=1e-12)


def test_labels():
    assert answers.labels_of(np.array(["b", "a"])).tolist() == ["b", "a"]
    assert answers.labels_of(np.array(["b", "a"], dtype=object)).dtype.kind == "U"
    for numbers in (np.array([3, 5]), np.array([3.0, 5.0]), np.array([3, 5], dtype=object)):
        assert answers.labels_of(numbers).tolist() == [3, 5] and answers.labels_of(numbers).dtype == np.int64
    assert answers.labels_of(np.array([False, True])).tolist() == [0, 1]
    for strange in (np.array([b"a", b"b"]), np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]")):
        with pytest.raises(NotTraceable, match="neither text nor whole numbers"):
            answers.labels_of(strange)
