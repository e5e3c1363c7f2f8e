"""/api/game: shattering as a game. The page keeps the state; every move is replayed and checked here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mercer._http.refusal import Refusal, plain
from mercer.lab.fields import LIMITS, Fields, drawn, rows_of
from mercer.theory.learnability import (
    Box,
    Game,
    HalfSpaces,
    HypothesisClass,
    Interval,
    Intervals,
    IntervalUnion,
    PolynomialHalfSpaces,
    PolynomialSet,
    Rectangles,
    UnionsOfIntervals,
    WrongMove,
    shatters,
)

# Corners of the grid on which a region is drawn that is no polygon.
_GRID = 48


@dataclass(frozen=True)
class Played:
    """A class of hypotheses that the game is played with, and how a person draws one."""

    title: str
    H: HypothesisClass
    dimension: int
    controls: str
    why: str  # why its VC dimension is what it is, in the plane or on the line where it is played
    numbers: Callable[[list[float]], list[float]]  # from what is drawn to what `from_numbers` takes


def _line(given: list[float]) -> list[float]:
    """w₁, w₂, b of the half-plane to the left of the way from one point to another."""
    x, y, u, v = _exactly(given, 4, "a line by two points, x₁ y₁ x₂ y₂")
    w = y - v, u - x
    if w == (0, 0):
        raise WrongMove("a line needs two different points")
    return [*w, -(w[0] * x + w[1] * y)]


def _box(given: list[float]) -> list[float]:
    """a₁, b₁, a₂, b₂ of the rectangle with two opposite corners."""
    x, y, u, v = _exactly(given, 4, "a rectangle by two opposite corners, x₁ y₁ x₂ y₂")
    return [min(x, u), max(x, u), min(y, v), max(y, v)]


def _exactly(given: list[float], count: int, what: str) -> list[float]:
    if len(given) != count:
        raise WrongMove(f"draw {what}: {count} numbers, not {len(given)}")
    return given


CLASSES: dict[str, Played] = {
    "half-spaces": Played(
        "half-planes",
        HalfSpaces(2),
        2,
        "line: x1 y1 x2 y2, + to the left",
        "three points that are not on one line are shattered, because w·x + b can take any values at them; "
        "four points fall into two sets whose convex hulls meet (Radon), and no line parts those",
        _line,
    ),
    "rectangles": Played(
        "rectangles",
        Rectangles(2),
        2,
        "box: two opposite corners, x1 y1 x2 y2",
        "the points (±1, 0) and (0, ±1) are shattered, because the tightest rectangle around some of them "
        "holds no other; of five points label a leftmost, a rightmost, a lowest and a highest one +: their "
        "rectangle holds the fifth, which may be −",
        _box,
    ),
    "polynomials": Played(
        "conics",
        PolynomialHalfSpaces(2, 2),
        2,
        "coefficients of x², xy, y², x, y, 1",
        "a conic has six coefficients; six points in general position can be given any values, so they are "
        "shattered, and the values at seven points obey a linear relation, which forbids a labelling",
        lambda given: given,
    ),
    "intervals": Played("intervals", Intervals(), 1, "interval: a b", Intervals().why, sorted),
    "unions": Played(
        "unions of two intervals",
        UnionsOfIntervals(2),
        1,
        "intervals: a b c d, at most two",
        UnionsOfIntervals(2).why,
        lambda given: given,
    ),
}
_MOVES = ("start", "place", "label", "answer", "surrender", "again")
_KNOWN = (
    "class", "side", "points", "count", "labels", "hypothesis", "seed", "move", "met", "score", "window",
)  # fmt: skip


def game(fields: Fields) -> dict[str, Any]:
    """The answer to a request of /api/game: the state after the move, and after the machine's own."""
    fields.only(*_KNOWN)
    asked = fields.inner("class", {"kind": "half-spaces"}).only(
        "kind", "title", "dimension", "vc", "controls"
    )
    played = CLASSES[asked.word("kind", tuple(CLASSES))]
    side, move = fields.word("side", ("label", "place")), fields.word("move", _MOVES)
    seed = fields.count("seed", 0, 2**31 - 1, 0)
    try:
        state, said = _moved(_replayed(fields, played, move), fields, played, side, move, seed)
    except WrongMove as error:
        raise Refusal(400, f"{str(error).rstrip('.')}.", field="move") from None
    return _told(state, played, side, move, said, fields)


def _replayed(fields: Fields, played: Played, move: str) -> Game:
    """The state before the move, from what the page remembers of it."""
    n = fields.count("count", 1, LIMITS["game_points"], 3)
    state = Game(played.H, n, met=_met(fields, n))
    if move in ("start", "place"):
        return Game(played.H, n)
    state = state.place(_points(fields, played))
    _require_realised(state, fields)
    if move == "label":
        return state
    labels = fields.get("labels")
    if not isinstance(labels, str) or len(labels) > LIMITS["game_points"]:
        raise fields.wrong("labels", "give the labelling as text of + and -, such as '+-+'")
    return state.label(labels)


def _points(fields: Fields, played: Played) -> list[Any]:
    given = fields.get("points")
    if not isinstance(given, list) or not 1 <= len(given) <= LIMITS["game_points"]:
        raise fields.wrong("points", f"give a list of 1 to {LIMITS['game_points']} points")
    return rows_of("points", given, (played.dimension,)).tolist()


def _met(fields: Fields, n: int) -> tuple[str, ...]:
    met = fields.get("met", [])
    right = isinstance(met, list) and all(
        isinstance(m, str) and len(m) == n and set(m) <= set("+-") for m in met
    )
    if not right or len(set(met)) != len(met):
        raise fields.wrong("met", f"give a list of different labellings of {n} points")
    return tuple(met)


def _require_realised(state: Game, fields: Fields) -> None:
    """What the page says was met must be a labelling that some hypothesis gives."""
    for labels in state.met:
        if state.H.find(state.points, np.array([sign == "+" for sign in labels])) is None:
            raise fields.wrong("met", f"no hypothesis labels these points {labels}; begin a new game")


def _moved(state: Game, fields: Fields, played: Played, side: str, move: str, seed: int) -> tuple[Game, str]:
    """The state after the person's move and the machine's answer; and what there is to say beside."""
    if move == "start":
        return (state.place(state.devise_points(seed)), "") if side == "label" else (state, "")
    if move == "again":
        if state.stage == "answer":  # the page need not send the hypothesis that won
            found = state.devise_hypothesis()
            if found is None:
                raise WrongMove("there is another round only after one in which the labels were met")
            state = state.answer(found)
        state = state.again()
        return (state.label(state.devise_labels(seed)) if side == "place" else state), ""
    if side == "place":
        return _as_placer(state, fields, played, move, seed), ""
    if move == "label":
        state = state.label(fields.text("labels", LIMITS["game_points"]))
        found = state.devise_hypothesis()
        return (state.surrender() if found is None else state.answer(found)), ""
    if move == "surrender":
        if state.devise_hypothesis() is None:
            raise WrongMove("there is nothing to give up: no hypothesis gives these labels")
        return state, _missed(state, played)
    raise WrongMove("you label the points; the machine places them and answers")


def _as_placer(state: Game, fields: Fields, played: Played, move: str, seed: int) -> Game:
    if move == "place":
        state = state.place(_points(fields, played))
        return state.label(state.devise_labels(seed))
    if move == "answer":
        given = fields.get("hypothesis")
        if not isinstance(given, list) or not 1 <= len(given) <= 12:
            raise fields.wrong("hypothesis", f"give a list of numbers ({played.controls})")
        return state.answer(played.numbers(rows_of("hypothesis", [given], (len(given),))[0].tolist()))
    if move == "surrender":
        return state.surrender()
    raise WrongMove("you place the points; the machine labels them")


def _missed(state: Game, played: Played) -> str:
    """What a person who labelled in vain could have done."""
    answer = shatters(state.H, state.points)
    if answer:
        return f"No labelling would have won: {played.title} shatter these points."
    return f"{answer.defeat} would have won: none of the {played.title} gives these labels."


def _verdict(state: Game, played: Played, side: str) -> str:
    """How the round ended, said to the person who plays; empty while it goes on."""
    if state.winner is None:
        return ""
    won = "you win" if (state.winner == "placer") == (side == "place") else "the machine wins"
    if state.winner == "placer":
        more = f" All {2**state.n} labellings are met: the points are shattered." if state.shattered else ""
        return f"{state.hypothesis} labels the points {state.labels}: {won}.{more}"
    missed = state.devise_hypothesis()
    if missed is None:
        return f"None of the {played.title} labels these points {state.labels}: {won}."
    return f"{won[0].upper()}{won[1:]}, though {missed} would have labelled the points {state.labels}."


def _told(state: Game, played: Played, side: str, move: str, said: str, fields: Fields) -> dict[str, Any]:
    H, winner = state.H, state.winner
    points = None if state.points is None else np.asarray(state.points, np.float64)
    window = _window(fields, played, points)
    why = played.why
    if winner == "adversary" and points is not None and state.labels is not None:
        labels = np.array([sign == "+" for sign in state.labels])
        why = "; ".join(filter(None, [H.obstacle(state.points, labels), why]))
    return {
        "stage": "over" if said else state.stage,
        "points": plain(points),
        "labels": state.labels,
        "met": list(state.met),
        "winner": "placer" if said else winner,
        "verdict": said or _verdict(state, played, side),
        "hypothesis": None if state.hypothesis is None else _drawn(state.hypothesis, window),
        "shattered": state.shattered,
        "count": state.n,
        "vc": plain(H.vc_dimension),
        "why": why,
        "score": _score(fields, winner, side),
        "window": list(window),
        "next": _next(state, side, bool(said)),
    }


def _next(state: Game, side: str, given_up: bool) -> list[str]:
    """The moves that the person may make now."""
    if given_up:
        return ["start"]
    if state.stage == "over":
        more = state.winner == "placer" and not state.shattered
        return (["again"] if more else []) + (["surrender"] if more and side == "label" else []) + ["start"]
    if state.stage == "answer":
        return ["answer", "surrender"]
    return [state.stage]


def _score(fields: Fields, winner: str | None, side: str) -> dict[str, int]:
    """Rounds won so far, as the page remembers them, and this one."""
    before = fields.inner("score", {}).only("you", "machine")
    score = {name: before.count(name, 0, 10**6, 0) for name in ("you", "machine")}
    if winner is not None:
        person = "placer" if side == "place" else "adversary"
        score["you" if winner == person else "machine"] += 1
    return score


# -- what is drawn --------------------------------------------------------------------------------


def _window(fields: Fields, played: Played, points: np.ndarray | None) -> tuple[float, float, float, float]:
    """What the page shows: what it asks for, or a place around the points."""
    if fields.get("window") is not None:
        return fields.window()
    if points is None:
        return -1.0, 3.0, -1.0, 3.0
    sides: list[float] = []
    for values in points.T if played.dimension == 2 else (points[:, 0], np.zeros(1)):
        low, high = float(values.min()), float(values.max())
        free = 0.5 * (high - low) or 1.0
        sides += [low - free, high + free]
    return sides[0], sides[1], sides[2], sides[3]


def _drawn(h: Any, window: tuple[float, float, float, float]) -> dict[str, Any]:
    """A hypothesis: what kind it is, its numbers, and what of the window it holds."""
    y_low, y_high = window[2:]
    if isinstance(h, PolynomialSet):
        numbers = [float(v) for v in h.coefficients]
        if len(numbers) == 3:
            region = _half(np.array(numbers), window)
            return {"kind": "half-plane", "numbers": numbers, "region": region, "text": str(h)}
        return {
            "kind": "conic",
            "numbers": numbers,
            "region": None,
            "grid": _heights(h, window),
            "text": str(h),
        }
    if isinstance(h, Box):
        (a, c), (b, d) = ([float(v) for v in side] for side in (h.low, h.high))
        region = [[a, c], [b, c], [b, d], [a, d]]
        return {"kind": "rectangle", "numbers": [a, b, c, d], "region": region, "text": str(h)}
    parts = h.intervals if isinstance(h, IntervalUnion) else (h,)
    ends = [[float(part.low), float(part.high)] for part in parts if isinstance(part, Interval)]
    bars = [[[a, y_low], [b, y_low], [b, y_high], [a, y_high]] for a, b in ends]
    return {
        "kind": "intervals",
        "numbers": [end for pair in ends for end in pair],
        "region": bars[0] if bars else [],
        "regions": bars,
        "text": str(h),
    }


def _half(w: np.ndarray, window: tuple[float, float, float, float]) -> list[list[float]]:
    """The corners of the part of the window where w₁x + w₂y + w₃ ≥ 0."""
    x_low, x_high, y_low, y_high = window
    ring = np.array([[x_low, y_low], [x_high, y_low], [x_high, y_high], [x_low, y_high]])
    heights, corners = ring @ w[:2] + w[2], []
    for i in range(4):
        here, there = heights[i], heights[(i + 1) % 4]
        if here >= 0:
            corners.append(ring[i])
        if (here >= 0) != (there >= 0):  # the boundary crosses this edge
            corners.append(ring[i] + here / (here - there) * (ring[(i + 1) % 4] - ring[i]))
    return plain(np.array(corners)) if corners else []


def _heights(h: PolynomialSet, window: tuple[float, float, float, float]) -> dict[str, Any]:
    """The values of the polynomial on a grid, up to a positive factor: + is where they are at least 0."""
    x_low, x_high, y_low, y_high = window
    x, y = np.linspace(x_low, x_high, _GRID), np.linspace(y_low, y_high, _GRID)
    places = np.column_stack([np.tile(x, _GRID), np.repeat(y, _GRID)])
    top = max(map(abs, h.coefficients), default=0) or 1
    values = sum(
        float(Fraction(w) / Fraction(top)) * places[:, list(monomial)].prod(axis=1)
        for monomial, w in zip(h.monomials, h.coefficients, strict=True)
    )
    return {"nx": _GRID, "ny": _GRID, "values": drawn(np.asarray(values))}
