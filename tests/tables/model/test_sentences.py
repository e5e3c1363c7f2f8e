"""What must not be missed is said, and nothing else."""

import numpy as np
import pytest

from mercer.tables.model.learn import Question
from mercer.tables.model.scores import Contender, Score
from mercer.tables.model.sentences import rare_of, sentences_of
from mercer.tables.reading import Table


@pytest.mark.parametrize(
    "counts, rare",
    [((45, 45), False), ((40, 30, 20), False), ((960, 40), True), ((1000,) * 30, False), ((100, 20), True)],
)
def test_what_is_rare(counts, rare):
    y = np.repeat([f"l{i}" for i in range(len(counts))], counts)
    assert (rare_of(y) is not None) == rare


def test_numbers_are_no_labels():
    assert rare_of(np.array([0.5] * 3 + [1.5] * 97)) is None


def question(rare=150):
    y = np.repeat(["no", "yes"], [300 - rare, rare])
    return Question(Table.of({"x": np.zeros(300)}), y, "classification", np.unique(y))


def contender(name, auc, apart=None):
    accuracy = Score("accuracy", 0.95, 0.9, 0.97, True)
    return Contender(name, (Score("AUC", auc, auc - 0.01, auc + 0.01, True), accuracy), apart)


def test_only_a_difference_beyond_noise_is_mentioned():
    ours = contender("mercer", 0.8)
    same, better, worse = ((-0.1, 0.1), (-0.2, -0.1), (0.1, 0.2))
    found = [contender(n, a, d) for n, a, d in (("constant", 0.5, worse), ("linear model", 0.81, same))]
    assert sentences_of(question(), (ours, *found)) == ()
    (said,) = sentences_of(question(), (ours, *found, contender("gradient boosting", 0.95, better)))
    assert said.startswith("gradient boosting tested better: AUC 0.95 [0.94, 0.96] against 0.8 [0.79, 0.81]")
    assert said.endswith("beyond noise")


def test_accuracy_beside_that_of_a_constant():
    (said,) = sentences_of(question(9), (contender("mercer", 0.8),))
    assert said.startswith("'yes' is rare: 9 of 300 rows, so that accuracy, 0.95, is close to the 0.97")
    assert "always saying 'no'" in said and "AUC 0.8" in said and "--costs" in said
