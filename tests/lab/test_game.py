"""/api/game: the rules hold, whatever the page sends."""

import numpy as np
import pytest

from asgi import refused

HALF = {"class": {"kind": "half-spaces"}, "side": "label", "count": 3, "seed": 0}
TRIANGLE = [[0, 0], [1, 0], [0, 1]]


def play(lab, **more):
    status, found = lab("/api/game", HALF | more)
    assert status == 200, found
    return found


def test_three_points_are_shattered_by_half_planes(lab):
    state = play(lab, move="start")
    assert state["stage"] == "label" and state["next"] == ["label"] and state["vc"] == 3
    won = {"you": 0, "machine": 0}
    for n, labels in enumerate(f"{i:03b}".replace("0", "-").replace("1", "+") for i in range(8)):
        kept = {"points": state["points"], "met": state["met"], "score": won}
        state = play(lab, move="label", labels=labels, **kept)
        assert state["winner"] == "placer" and state["hypothesis"]["kind"] == "half-plane"
        w = np.array(state["hypothesis"]["numbers"])
        given = np.array(state["points"]) @ w[:2] + w[2] >= 0
        assert "".join("+" if g else "-" for g in given) == labels
        won = state["score"]
        assert won == {"you": 0, "machine": n + 1} and state["shattered"] == (n == 7)
        if n < 7:
            state = play(lab, move="again", labels=labels, points=state["points"], met=state["met"])
            assert state["stage"] == "label" and len(state["met"]) == n + 1
    assert state["next"] == ["start"]


def test_four_points_are_not(lab):
    square = [[0, 0], [1, 1], [1, 0], [0, 1]]
    state = play(lab, count=4, move="label", points=square, labels="++--")
    assert state["winner"] == "adversary" and state["score"] == {"you": 1, "machine": 0}
    assert "(1/2, 1/2) lies in the convex hulls" in state["why"] and state["hypothesis"] is None
    state = play(lab, count=4, move="label", points=square, labels="+---")
    assert state["winner"] == "placer" and "surrender" in state["next"]
    state = play(lab, count=4, move="surrender", points=square, labels="+---")
    assert "would have won" in state["verdict"] and state["stage"] == "over"


def test_the_region_is_the_part_of_the_window_that_is_plus(lab):
    state = play(lab, move="label", points=TRIANGLE, labels="-++", window=[-1, 2, -1, 2])
    region, w = np.array(state["hypothesis"]["region"]), state["hypothesis"]["numbers"]
    assert (region @ w[:2] + w[2] >= -1e-9).all() and (np.abs(region - 0.5) <= 1.5).all()
    x, y = region.T
    area = 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    rng = np.random.default_rng(0).uniform(-1, 2, (20_000, 2))
    assert area / 9 == pytest.approx(np.mean(rng @ w[:2] + w[2] >= 0), abs=0.02)


def test_a_person_who_places_draws_a_line(lab):
    side = {"side": "place", "count": 3, "points": TRIANGLE}
    state = play(lab, **side, move="place")
    assert state["stage"] == "answer" and state["next"] == ["answer", "surrender"]
    # Around the triangle, counter-clockwise: left of the way from (2, −1) to (2, 2) lies everything.
    answer = {"--+": [-1, 0.5, -2, 0.5], "+--": None}
    status, found = lab(
        "/api/game", HALF | side | {"move": "answer", "labels": "+++", "hypothesis": [2, -1, 2, 2]}
    )
    assert status == 200 and found["winner"] == "placer" and answer
    body = HALF | side | {"move": "answer", "labels": "+--", "hypothesis": [2, -1, 2, 2]}
    error = refused(lab("/api/game", body), "move", "look at point 2")["error"]
    assert "not +--" in error
    state = play(lab, **side, move="surrender", labels="+--")
    assert state["winner"] == "adversary" and "would have labelled" in state["verdict"]
    state = play(lab, **side, move="again", labels="+--", met=["+++"])
    assert state["labels"] not in ("+--", "+++") and state["stage"] == "answer"


def test_rectangles_intervals_and_conics(lab):
    boxes = HALF | {"class": {"kind": "rectangles"}, "side": "place", "points": TRIANGLE}
    status, state = lab(
        "/api/game", boxes | {"move": "answer", "labels": "++-", "hypothesis": [1.5, 0.5, -1, -1]}
    )
    assert status == 200 and state["hypothesis"]["numbers"] == [-1, 1.5, -1, 0.5]
    assert state["hypothesis"]["region"] == [[-1, -1], [1.5, -1], [1.5, 0.5], [-1, 0.5]]
    line = HALF | {"class": {"kind": "intervals"}, "move": "label", "points": [[1], [2], [3]]}
    assert lab("/api/game", line | {"labels": "+-+"})[1]["winner"] == "adversary"
    state = lab("/api/game", line | {"labels": "-+-"})[1]
    assert state["hypothesis"]["numbers"] == [2, 2] and state["vc"] == 2
    unions = line | {"class": {"kind": "unions"}, "labels": "+-+"}
    assert len(lab("/api/game", unions)[1]["hypothesis"]["regions"]) == 2
    conics = HALF | {"class": {"kind": "polynomials"}, "move": "label", "points": TRIANGLE, "labels": "-++"}
    state = lab("/api/game", conics)[1]
    assert state["hypothesis"]["kind"] == "conic"
    grid, (x_low, x_high, y_low, y_high) = state["hypothesis"]["grid"], state["window"]
    x, y = np.linspace(x_low, x_high, grid["nx"]), np.linspace(y_low, y_high, grid["ny"])[:, None]
    a, b, c, d, e, f = state["hypothesis"]["numbers"]  # of x², xy, y², x, y, 1
    q = (a * x * x + b * x * y + c * y * y + d * x + e * y + f).ravel()
    values = np.array(grid["values"])
    np.testing.assert_allclose(values, q / np.abs(state["hypothesis"]["numbers"]).max(), atol=1e-5)


def test_verdicts_are_said_to_a_person(lab):
    lost = play(lab, move="label", points=TRIANGLE, labels="-++")
    assert lost["verdict"].endswith("labels the points -++: the machine wins.")
    square = {"count": 4, "points": [[0, 0], [1, 1], [1, 0], [0, 1]], "labels": "++--"}
    won = play(lab, move="label", **square)
    assert won["verdict"] == "None of the half-planes labels these points ++--: you win."
    given_up = play(lab, side="place", move="surrender", points=TRIANGLE, labels="+--")
    assert given_up["verdict"].startswith("The machine wins, though ")
    for state in (lost, won, given_up):
        said = state["verdict"] + state["why"]
        assert not any(word in said for word in ("HalfSpaces", "placer", "adversary", "e_1"))


@pytest.mark.parametrize(
    "more",
    [
        {"move": "label"},
        {"move": "label", "points": TRIANGLE},
        {"move": "label", "points": TRIANGLE, "labels": "++"},
        {"move": "label", "points": TRIANGLE, "labels": "+0-"},
        {"move": "label", "points": TRIANGLE[:2], "labels": "++-"},
        {"move": "label", "points": TRIANGLE, "labels": "++-", "met": ["++-"]},
        {"move": "label", "points": TRIANGLE, "labels": "++-", "met": ["+"]},
        {"move": "label", "points": [[0], [1], [2]], "labels": "++-"},
        {"move": "label", "points": [[0, 0], [0, 0], ["a", 1]], "labels": "++-"},
        {"move": "answer", "points": TRIANGLE, "labels": "++-", "hypothesis": [1, 2, 3, 4]},
        {"move": "place", "points": TRIANGLE},
        {"move": "cheat"},
        {"side": "place", "move": "label", "points": TRIANGLE, "labels": "+++"},
        {"side": "place", "move": "answer", "points": TRIANGLE, "labels": "+++"},
        {"side": "place", "move": "answer", "points": TRIANGLE, "labels": "+++", "hypothesis": [1]},
        {"side": "place", "move": "answer", "points": TRIANGLE, "labels": "+++", "hypothesis": [1, 1, 1, 1]},
        {"side": "place", "move": "answer", "points": TRIANGLE, "labels": "+++", "hypothesis": ["x"]},
        {"side": "place", "move": "again", "points": [[0, 0], [1, 1], [2, 2]], "labels": "+-+"},
        {"side": "both", "move": "start"},
        {"count": 11, "move": "start"},
        {"class": {"kind": "everything"}, "move": "start"},
        {"score": {"you": -1}, "move": "start"},
        {"move": "label", "points": [[0, 0], [1, 1], [2, 2]], "labels": "++-", "met": ["+-+"]},
        {"count": 4, "move": "surrender", "points": [[0, 0], [1, 1], [1, 0], [0, 1]], "labels": "++--"},
    ],
)
def test_wrong_moves(lab, more):
    refused(lab("/api/game", HALF | more))
