"""Labels from probabilities, by closed forms and by trying all; and what must hold of saved rules."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from mercer._state import check
from mercer.tables.model.decision import (
    Decision,
    best_threshold,
    break_even,
    class_weights_of,
    costs_of,
    decision_by_weights,
    row_weights,
    unweighted,
)

RNG = np.random.default_rng(0)
TWO, THREE = np.array(["sick", "well"]), np.array([1, 2, 5])


def test_a_threshold():
    P = np.array([[0.8, 0.2], [0.81, 0.19], [0.0, 1.0]])
    assert Decision(threshold=0.2).labels(P, TWO).tolist() == ["well", "sick", "well"]


def test_two_labels_of_least_expected_cost():
    """The closed form: the second one where p c01-terms outweigh those of c10."""
    costs = costs_of({("sick", "well"): 10, ("well", "sick"): 2}, TWO)
    p = RNG.random(200)
    said = Decision(costs=costs).labels(np.column_stack([1 - p, p]), TWO)
    t = 10 / 12
    assert break_even(costs) == pytest.approx(t)
    np.testing.assert_array_equal(said, np.where(p > t, "well", "sick"))


def test_three_labels_of_least_expected_cost():
    costs, P = RNG.random((3, 3)), RNG.dirichlet(np.ones(3), 100)
    said = Decision(costs=costs).labels(P, THREE)
    for p, label in zip(P, said, strict=True):
        expected = [sum(p[i] * costs[i, j] for i in range(3)) for j in range(3)]
        assert label == THREE[int(np.argmin(expected))]


def test_errors_that_cost_the_same_leave_the_likeliest():
    P = RNG.dirichlet(np.ones(3), 100)
    said = Decision(costs=costs_of({}, THREE)).labels(P, THREE)
    np.testing.assert_array_equal(said, THREE[P.argmax(axis=1)])


@pytest.mark.parametrize(
    "costs", [1.0 - np.eye(2), np.array([[0.0, 1.0], [7.0, 0.0]]), np.array([[-1, 2], [3, 1.0]])]
)
def test_the_best_threshold_by_trying_all(costs):
    p = RNG.random(40).round(1)
    second = RNG.random(40) < p

    def total(t):
        return costs[second.astype(int), (p >= t).astype(int)].sum()

    found = best_threshold(p, second, costs)
    tries = np.arange(0.01, 1, 0.01)
    assert 0 < found < 1 and total(found) == pytest.approx(min(map(total, tries)))


def test_a_threshold_where_all_are_sure():
    assert best_threshold(np.array([0.0, 1.0]), np.array([False, True]), 1.0 - np.eye(2)) == 0.5
    assert 0 < best_threshold(np.ones(3), np.zeros(3, bool), 1.0 - np.eye(2)) <= 1


def test_weights_of_labels():
    y = np.array(["sick"] * 3 + ["well"] * 9)
    balanced = compute_class_weight("balanced", classes=TWO, y=y)
    assert class_weights_of("balanced", y, TWO) == pytest.approx(dict(zip(TWO.tolist(), balanced)))
    found = class_weights_of({"sick": 5}, y, TWO)
    assert found["sick"] / found["well"] == pytest.approx(5)
    assert sum(found[label] for label in y) == pytest.approx(len(y))
    assert class_weights_of({"2": 3.0}, np.array([1, 2, 5]), THREE)[2] > 1  # labels of a command are words

    class Machine:
        class_weight = found

    np.testing.assert_allclose(row_weights(Machine, y), [found[label] for label in y])


def test_weights_are_taken_out_of_probabilities():
    """Bayes: rows of class c taken w_c times have probabilities proportional to w_c P_c."""
    P, w = RNG.dirichlet(np.ones(3), 50), {1: 0.2, 2: 1.0, 5: 30.0}
    seen = P * list(w.values())
    seen /= seen.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(unweighted(seen, THREE, w), P, rtol=1e-12)
    said = decision_by_weights(w, THREE).labels(P, THREE)
    np.testing.assert_array_equal(said, THREE[seen.argmax(axis=1)])


@pytest.mark.parametrize(
    "costs, match",
    [
        ({("ill", "well"): 1}, "no label 'ill'; the labels are 'sick', 'well'"),
        ({"sick": 1}, "'sick' is no pair"),
        ({("sick", "well"): np.inf}, "no finite number"),
        ({("sick", "well"): True}, "no finite number"),
        ({("sick", "well"): 1e200}, "no larger than 1e100"),
        (np.ones((2, 3)), "a matrix of 2 times 2"),
        ("all", "a matrix of 2 times 2"),
        ([[0, np.nan], [1, 0]], "finite numbers"),
        (np.ones((2, 2)), "decide nothing"),
    ],
)
def test_costs_that_are_none(costs, match):
    with pytest.raises(ValueError, match=match):
        costs_of(costs, TWO)


@pytest.mark.parametrize(
    "weights, match",
    [
        ("equal", "must be 'balanced' or a mapping"),
        ({"ill": 2}, "no label 'ill'"),
        ({"sick": 0}, "not between"),
        ({"sick": -1}, "not between"),
        ({"sick": np.nan}, "no finite number"),
    ],
)
def test_weights_that_are_none(weights, match):
    with pytest.raises(ValueError, match=match):
        class_weights_of(weights, np.array(["sick", "well"]), TWO)


HOSTILE = [
    Decision(),
    Decision(0.5, np.eye(2)),
    Decision(0.0),
    Decision(1.0),
    Decision(np.nan),
    Decision("auto"),
    Decision(costs=np.array([[0.0, np.inf], [1.0, 0.0]])),
    Decision(costs=np.array([[0.0, np.nan], [1.0, 0.0]])),
    Decision(costs=np.full((2, 2), 1e300)),
    Decision(costs=np.ones((2, 3))),
    Decision(costs=np.ones((1, 1))),
    Decision(costs=np.ones(2)),
    Decision(costs=np.array([["a", "b"], ["c", "d"]])),
    Decision(costs=np.eye(2, dtype=np.int64)),
]


@pytest.mark.parametrize("decision", HOSTILE, ids=range(len(HOSTILE)))
def test_rules_that_are_none(decision):
    with pytest.raises(ValueError, match="decision|threshold of a Decision|costs of a Decision"):
        check(decision)


def test_rules_for_other_labels():
    with pytest.raises(ValueError, match="one among 2 labels, and there are 3"):
        Decision(threshold=0.5).check_for(THREE)
    with pytest.raises(ValueError, match="one among 3 labels, and there are 2"):
        Decision(costs=np.eye(3)).check_for(TWO)
