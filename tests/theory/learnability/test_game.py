"""The game as a pure object: states, moves, verdicts."""

import json
import math

import numpy as np
import pytest

from mercer.theory.learnability import (
    Conjunctions,
    Game,
    HalfSpaces,
    Intervals,
    LeftIntervals,
    Rectangles,
    UnionsOfIntervals,
    WrongMove,
)


def test_a_round_that_the_placer_wins():
    start = Game(Intervals(), 2)
    assert start.stage == "place" and start.winner is None and start.verdict == ""
    placed = start.place([1, 2])
    assert placed.stage == "label" and start.stage == "place"  # nothing changed
    labelled = placed.label("-+")
    assert labelled.stage == "answer" and labelled.labels == "-+"
    over = labelled.answer([1.5, 3])
    assert over.stage == "over" and over.winner == "placer"
    assert over.verdict == "[1.5, 3] labels the points -+: the placer wins."


def test_rounds_until_the_points_are_shattered():
    game = Game(HalfSpaces(2), 3).place([[0, 0], [1, 0], [0, 1]])
    for i in range(8):
        game = game.label(game.devise_labels(i))
        assert game.labels not in game.met
        game = game.answer(game.devise_hypothesis())
        if i < 7:
            assert not game.shattered
            game = game.again()
    assert game.shattered and "All 8 labellings are met" in game.verdict
    with pytest.raises(WrongMove, match="every labelling"):
        game.again()


def test_the_adversary_wins():
    game = Game(Intervals(), 3).place([3, 1, 2])
    game = game.label(game.devise_labels())
    assert game.labels == "++-" and game.devise_hypothesis() is None
    over = game.surrender()
    assert over.winner == "adversary" and over.verdict.startswith("No hypothesis of Intervals()")
    with pytest.raises(WrongMove, match="needs a placer who won"):
        over.again()


def test_giving_up_too_early():
    over = Game(Intervals(), 2).place([1, 2]).label("+-").surrender()
    assert over.verdict == "The adversary wins, though [1, 1] would have labelled the points +-."


def test_wrong_moves_say_why():
    game = Game(Intervals(), 2)
    for move, message in (
        (lambda: game.label("++"), "placed first"),
        (lambda: game.answer([1, 2]), "placed first"),
        (lambda: game.place([1, 2, 3]), "place 2 points, not 3"),
        (lambda: game.place(["a", "b"]), "must be numbers"),
        (lambda: game.place([1, 2]).label("+"), "one label a point"),
        (
            lambda: game.place([1, 2]).label("+-").answer([1, 2]),
            "look at point 2",
        ),
        (lambda: game.place([1, 2]).label("+-").answer([1]), "give 2 numbers"),
        (lambda: game.place([1, 2]).label("++").answer([0, math.inf]), "finite numbers"),
        (lambda: game.place([1, 2]).label("+-").label("+-"), "answered next"),
        (lambda: game.place([1, 2]).label("+-").surrender().surrender(), "over"),
        (lambda: game.place([1, 2]).label("+-").answer([1, 1]).again().label("+-"), "met already"),
        (lambda: game.devise_labels(), "placed first"),
        (lambda: game.devise_hypothesis(), "no labelling"),
    ):
        with pytest.raises(WrongMove, match=message):
            move()
    with pytest.raises(ValueError, match="at most 10"):
        Game(Intervals(), 11)


@pytest.mark.parametrize(
    "H", [LeftIntervals(), Intervals(), UnionsOfIntervals(2), Rectangles(2), HalfSpaces(2), Conjunctions(3)]
)
def test_the_machine_wins_on_either_side_as_theory_says(H):
    d = H.vc_dimension
    placed = Game(H, d)
    placed = placed.place(placed.devise_points(0))
    for seed in range(4):  # d points, well placed: every labelling is met
        labelled = placed.label(placed.devise_labels(seed))
        assert labelled.answer(labelled.devise_hypothesis()).winner == "placer"
    more = Game(H, d + 1)
    more = more.place(more.devise_points(0))
    evil = more.label(more.devise_labels(0))  # d + 1: the adversary always has one
    assert evil.devise_hypothesis() is None


def test_a_state_is_plain_data():
    game = Game(Rectangles(2), 2).place(np.array([[0, 0], [1, 1]])).label("++")
    state = json.loads(json.dumps(game.answer([0, 1, 0, 1]).to_dict()))
    assert state["winner"] == "placer" and state["hypothesis"] == "[0, 1] × [0, 1]"
    assert state["points"] == [[0, 0], [1, 1]] and state["stage"] == "over"
    assert Game(Intervals(), 2).to_dict()["points"] is None
