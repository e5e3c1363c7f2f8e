"""What scores cost, by hand."""

import numpy as np
import pytest

from mercer.tables.model.judging import Judge, classes_of

RNG = np.random.default_rng(0)


def one_column(signs):
    """(Y, judge's middle and size) of two classes coded ±1, centred and scaled as a search has them."""
    codes = np.asarray(signs, dtype=float)[:, None]
    middle = codes.mean(axis=0)
    size = float(np.sqrt(np.mean((codes - middle) ** 2)))
    return (codes - middle) / size, middle, size


def several(places, k):
    codes = 2.0 * (np.asarray(places)[:, None] == np.arange(k)) - 1
    middle = codes.mean(axis=0)
    size = float(np.sqrt(np.mean((codes - middle) ** 2)))
    return (codes - middle) / size, middle, size


@pytest.mark.parametrize("outputs", [1, 3])
def test_numbers(outputs):
    Y, S = RNG.standard_normal((2, 20, outputs))
    for metric in ("", "rmse", "r2"):
        np.testing.assert_allclose(
            Judge(np.zeros(outputs), 2.0, metric=metric).errors(S, Y), ((Y - S) ** 2).mean(axis=1)
        )
    sizes = Judge(np.zeros(outputs), 2.0, metric="mae").errors(S, Y)
    np.testing.assert_allclose(sizes, np.abs(Y - S).mean(axis=1))


def test_nothing_is_known_of_numbers():
    """The mean costs the variance, which is 1; absolutely it costs what is left of that."""
    Y = np.array([-1.0, 1.0, -1.0, 1.0])[:, None]
    for metric in ("rmse", "mae"):
        assert Judge(np.zeros(1), 1.0, metric=metric).errors(0 * Y, Y).mean() == 1.0


def test_wrong_signs_of_labels_cost_two():
    Y, middle, size = one_column([1, 1, 1, -1])
    judge = Judge(middle, size, True, "accuracy")
    right = judge.errors(Y, Y)
    np.testing.assert_array_equal(right, 0)
    # The border is at code 0, which is not score 0: classes are not equally frequent.
    just_up, just_down = ((np.full((4, 1), code) - middle) / size for code in (1e-9, -1e-9))
    for scores, wrong in ((just_up, [0, 0, 0, 1]), (just_down, [1, 1, 1, 0])):
        squares = ((scores - Y) ** 2)[:, 0]
        np.testing.assert_allclose(judge.errors(scores, Y), squares + 2.0 * np.array(wrong))


def test_balanced_accuracy_counts_classes_alike():
    """Everything called "up": half of the classes is wrong, whatever their sizes."""
    signs = np.array([1] * 90 + [-1] * 10)
    Y, middle, size = one_column(signs)
    up = (np.ones((100, 1)) - middle) / size
    squares = np.mean((up - Y) ** 2)
    plain = Judge(middle, size, True, "accuracy").errors(up, Y).mean() - squares
    balanced = Judge(middle, size, True, "balanced_accuracy").errors(up, Y)
    assert plain == pytest.approx(2 * 0.1) and balanced.mean() - squares == pytest.approx(2 * 0.5)
    # And everything called "down", too.
    down = (-np.ones((100, 1)) - middle) / size
    found = Judge(middle, size, True, "balanced_accuracy").errors(down, Y).mean()
    assert found - np.mean((down - Y) ** 2) == pytest.approx(2 * 0.5)


def test_balanced_accuracy_of_three_classes_one_of_which_is_not_there():
    """What is missing of scikit-learn's mean recall, twice, over the classes among the judged rows."""
    from sklearn.metrics import recall_score

    places = RNG.choice([0, 2, 3], 60, p=[0.7, 0.2, 0.1])
    Y, middle, size = several(places, 4)
    scores = Y + 1.5 * RNG.standard_normal(Y.shape)
    guess = classes_of(middle + size * scores)
    errors = Judge(middle, size, True, "balanced_accuracy").errors(scores, Y)
    extra = errors.mean() - np.mean((scores - Y) ** 2)
    recall = recall_score(places, guess, labels=[0, 2, 3], average="macro")
    assert extra == pytest.approx(2 * (1 - recall))
    assert extra > 0


@pytest.mark.parametrize("metric", ["log_loss", "auc", "average_precision"])
def test_probabilities_and_ranks_ask_for_scores_only(metric):
    Y, middle, size = one_column(RNG.choice([-1, 1], 30))
    scores = RNG.standard_normal((30, 1))
    np.testing.assert_allclose(Judge(middle, size, True, metric).errors(scores, Y), ((scores - Y) ** 2)[:, 0])


def test_three_classes():
    places = RNG.integers(0, 3, 50)
    Y, middle, size = several(places, 3)
    scores = RNG.standard_normal((50, 3))
    guess = (middle + size * scores).argmax(axis=1)
    expected = ((scores - Y) ** 2).mean(axis=1) + 2.0 * (guess != places)
    np.testing.assert_allclose(Judge(middle, size, True, "accuracy").errors(scores, Y), expected)


def test_classes():
    np.testing.assert_array_equal(classes_of(np.array([[-1.0], [0.0], [2.0]])), [0, 0, 1])
    np.testing.assert_array_equal(classes_of(np.array([[0.1, 0.3, 0.2], [1.0, -1.0, 0.0]])), [1, 0])
