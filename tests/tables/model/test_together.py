"""Equal rows and rows of one group: on one side of every split, and counted once where bounds are drawn."""

import numpy as np
import pytest

import mercer
from mercer import KernelSVC
from mercer.kernels import Gaussian
from mercer.selection.search import Clock
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.evaluation import _splits
from mercer.tables.model.learn import Question
from mercer.tables.model.machines import calibrated, choose
from mercer.tables.model.scores import Resamples
from mercer.tables.model.together import Together
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
NOISE, LUCK, COIN = RNG.standard_normal((40, 3)), RNG.standard_normal(40), RNG.choice(["heads", "tails"], 40)
SHUFFLED = RNG.permutation(np.repeat(np.arange(40), 4))


@pytest.fixture
def quick(hasty):
    return lambda X, y=None, **asked: mercer.fit(X, y, **{"minutes": 0.05, **asked})


def columns(points):
    return {f"c{j}": points[:, j] for j in range(points.shape[1])}


def test_noise_four_times_is_not_explained(quick):
    """Memory would explain all of it: a copy of every tested row would have been learned."""
    model = quick(columns(NOISE[SHUFFLED]), LUCK[SHUFFLED])
    e = model.evidence
    assert e.scores[2].value < 0.1  # R²
    assert e.loo.min() > 0.8
    assert e.repeated == 160 and e.groups is None
    assert "160 of 160 rows are equal to others" in model.summary() and "(40 sets of rows)" in e.how
    # Nothing is counted four times: the interval is that of 40 rows, and so are bounds and errors.
    assert e.scores[0].high - e.scores[0].low > 0.2 * e.scores[0].value
    assert "the 40 groups" in e.risk.bounds[0].assumptions and len(model.conformal.scores) == 40
    assert [name for name, _ in e.risk.absent] == ["Bounds from training errors"]
    for other in e.contenders:  # those beside it are judged by the same rows
        assert other.scores[2].value < 0.2


def test_a_coin_four_times_is_not_foreseen(quick):
    model = quick(columns(NOISE[SHUFFLED]), COIN[SHUFFLED])
    wrong, _, log_loss, *_ = model.evidence.scores
    assert wrong.value > 0.3 and log_loss.value < 1.0  # no certainty about what was only remembered
    assert wrong.high - wrong.low > 0.25  # of 40 tosses, not of 160


def test_groups(quick):
    """Every person has a number of their own, and features that only tell who it is."""
    person = np.repeat(np.arange(25), 6)
    luck, place = RNG.standard_normal(25), RNG.standard_normal((25, 2))
    X, y = place[person] + 0.01 * RNG.standard_normal((150, 2)), luck[person]
    table = {**columns(X), "person": [f"p{i}" for i in person]}
    known, asked = quick({**columns(X)}, y), quick(table, y, groups="person")
    assert known.evidence.scores[2].value > 0.8 > 0.3 > asked.evidence.scores[2].value
    assert asked.evidence.groups == 25 and asked.evidence.repeated == 0
    assert "person" not in asked.schema.names  # not learned from, and not needed
    assert np.isfinite(asked.predict(columns(X))).all()
    by_array = Together.of(Table.of(columns(X)), person)
    np.testing.assert_array_equal(by_array.units, person)
    assert "rows are of 25 groups" in asked.summary()


def test_groups_follow_their_rows(quick):
    """Rows without a target, and labels that can't be tested, go; the other rows keep their groups."""
    y = np.where(LUCK > 0, "up", "down").astype(object)
    y[3], y[[5, 6]] = None, "odd"
    groups = np.arange(40) // 2
    groups[[5, 6]] = 50
    model = quick(columns(NOISE), y, groups=groups)
    assert model.evidence.rows == 37 and model.evidence.groups == 20
    assert "labels that occur once (or in rows that belong together)" in model.summary()


def test_many_rows_hold_units_out(quick, monkeypatch):
    monkeypatch.setattr("mercer.tables.model.evaluation._HOLD_OUT_FROM", 100)
    monkeypatch.setattr("mercer.tables.model.evaluation._SMALLEST_TEST", 40)
    monkeypatch.setattr("mercer.tables.model.evaluation._FEW_UNITS", 40)
    model = quick(columns(NOISE[SHUFFLED]), LUCK[SHUFFLED])
    assert model.evidence.how.startswith("40 rows held out")
    assert model.evidence.scores[2].value < 0.2 and len(np.unique(model.evidence.truth)) == 10


@pytest.mark.parametrize(
    "X, groups, message",
    [
        (columns(np.tile(NOISE[:3], (10, 1))), None, "the 30 rows are of 3 different rows"),
        (columns(NOISE), np.arange(40) % 4, "the 40 rows are of 4 groups"),
        (columns(NOISE), np.arange(5), "the table has 40 rows, groups is an array of shape"),
        ({**columns(NOISE), "y": LUCK}, "y", "it can't also say which rows belong together"),
        (columns(NOISE), "nobody", "nobody"),
    ],
)
def test_what_is_refused(quick, X, groups, message):
    with pytest.raises(ValueError, match=message):
        quick(X, "y" if "y" in X else np.resize(LUCK, len(X["c0"])), groups=groups)
    labels = np.where(np.arange(40) < 4, "a", "b")
    with pytest.raises(ValueError, match="'a' occurs in equal rows, or rows of one group, only"):
        quick(columns(NOISE), labels, groups=np.arange(40) // 4)


def test_codes_are_no_copies(quick):
    """Two bits say all: equal rows are no accident, and new ones will be equal to old ones."""
    bits = RNG.integers(0, 2, (80, 2))
    model = quick({"a": bits[:, 0], "b": bits[:, 1]}, np.where(bits[:, 0] ^ bits[:, 1], "odd", "even"))
    assert model.evidence.scores[0].value == 0 and model.evidence.repeated == 0
    assert "so few possible rows" in model.summary()


def test_equal_is_what_is_learned_from_is_equal():
    """A number of the row, and a word too rare to be told from others, tell no rows apart."""
    table = {"id": np.arange(60.0), "x": np.repeat(RNG.standard_normal(30), 2), "city": ["Bonn", "Ulm"] * 30}
    found = Together.of(Table.of(table))
    assert found.repeated == 0  # cities differ
    alike = Together.of(Table.of({**table, "city": ["Bonn"] * 60}))
    assert alike.repeated == 60 and (alike.units == np.arange(60) // 2).all()


# -- parts -------------------------------------------------------------------------------------------


def test_splits_of_a_question():
    asked = Question(
        Table.of(columns(NOISE[SHUFFLED])), COIN[SHUFFLED], "classification", np.unique(COIN), SHUFFLED
    )
    for train, test in _splits(asked, 0):
        assert not set(SHUFFLED[train]) & set(SHUFFLED[test])
        share = np.mean(asked.y[test] == "heads")
        assert abs(share - np.mean(COIN == "heads")) < 0.2


def test_errors_of_units_have_one_say():
    errors, points = RNG.standard_normal(60), np.zeros((60, 1))
    four = np.repeat(np.arange(60), 4)
    alone = Conformal.of(errors, points, Gaussian(1.0))
    copied = Conformal.of(errors[four], points[four], Gaussian(1.0), units=four)
    np.testing.assert_array_equal(alone.scores, copied.scores)


def test_scores_of_copies_have_the_intervals_of_the_rows():
    truth, guess, four = LUCK, LUCK + RNG.standard_normal(40), np.repeat(np.arange(40), 4)
    asked = Question(Table.of({"x": truth}), truth, "regression", None)
    one = Resamples.of(asked, truth, np.arange(40), 0).scores(guess, None)
    many = Resamples.of(asked, truth[four], four, 0).scores(guess[four], None)
    for a, b in zip(one, many):
        assert (b.value, b.low, b.high) == pytest.approx((a.value, a.low, a.high))
    labels = Question(Table.of({"x": truth}), COIN, "classification", np.unique(COIN))
    P = np.full((40, 2), 0.5)
    one = Resamples.of(labels, COIN, np.arange(40), 0).scores(np.roll(COIN, 1), P)
    many = Resamples.of(labels, COIN[four], four, 0).scores(np.roll(COIN, 1)[four], P[four])
    assert [s.low for s in many] == pytest.approx([s.low for s in one])
    assert [s.high for s in many] == pytest.approx([s.high for s in one])


@pytest.mark.parametrize("machine", [KernelSVC(Gaussian(1.0), lam=1e-3, probability=True), None])
def test_probabilities_do_not_come_from_copies(machine):
    """Support vectors and least squares: a coin tossed once and written down four times stays a coin."""
    X, y = NOISE[SHUFFLED], COIN[SHUFFLED]
    if machine is None:
        asked = Question(Table.of(X), y, "classification", np.unique(y), SHUFFLED)
        machine = choose(asked, Gaussian(1.0), 1e-3, X, Clock(1e6), 0).machine.fit(X, y)
        assert not hasattr(machine, "predict_proba")
        P = calibrated(machine, X, y, 0, SHUFFLED).probability(machine.scores(X), machine.coding_)
    else:
        P = machine.fit(X, y).predict_proba(X)
    assert np.median(P.max(axis=1)) < 0.75
