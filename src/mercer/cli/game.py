"""`mercer game`: shattering as a game of two sides, one of them the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from mercer.cli.console import fail, stdout

# What the game is played with, and which side the person takes.
Hypotheses = Literal[
    "left-intervals", "intervals", "unions", "rectangles", "half-spaces", "polynomials", "conjunctions"
]
Side = Literal["place", "label"]


def game(
    hypotheses: Annotated[
        Hypotheses, typer.Option("--class", help="The class that is to shatter the points.")
    ] = "half-spaces",
    points: Annotated[int, typer.Option("--points", min=1, max=10, help="How many points are placed.")] = 3,
    side: Annotated[
        Side,
        typer.Option(
            "--side", help="place: you put down points and look for hypotheses. label: you label them."
        ),
    ] = "label",
    dimension: Annotated[
        int, typer.Option("--dimension", min=1, max=10, help="Coordinates of a point, where that is free.")
    ] = 2,
    size: Annotated[
        int, typer.Option("--size", min=1, max=10, help="Intervals of a union, or degree of polynomials.")
    ] = 2,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Labellings of the same points.")] = 3,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides what the machine does.")] = 0,
) -> None:
    """Play the adversarial game of shattering against the machine.

    One side places points and claims that the class shatters them. The other side labels them. The first must
    find a hypothesis that gives these labels, or it loses.
    """
    from mercer.theory.learnability import Game

    H = _class(hypotheses, dimension, size)
    state = Game(H, points)
    person_places = side == "place"
    _say(f"{H!r}, {points} point{'s' * (points > 1)}. You {'place' if person_places else 'label'} them.")
    if person_places:
        state = _asked(_points(state))
    else:
        state = state.place(state.devise_points(seed))
    score = {"placer": 0, "adversary": 0}
    for number in range(rounds):
        state = _round(state, person_places, (seed, number))
        score[str(state.winner)] += 1
        _say(state.verdict)
        if state.winner == "adversary" or state.shattered or number + 1 == rounds:
            break
        state = state.again()
    you, machine = ("placer", "adversary") if person_places else ("adversary", "placer")
    if not person_places and not score["adversary"]:
        _say(_missed(state))
    _say(f"You {score[you]}, machine {score[machine]}.")
    if H.vc_dimension is not None:
        _say(f"The VC dimension of {H!r} is {H.vc_dimension}: {H.why}.")


def _round(state: Any, person_places: bool, seed: Any) -> Any:
    """From placed points to a winner."""
    from mercer.cli.board import board

    if person_places:
        state = state.label(state.devise_labels(seed))
        _say(f"The machine labels them {state.labels}:")
        _say(board(state.points, state.labels))
        state = _asked(_hypothesis(state))
    else:
        _say(board(state.points))
        state = _asked(_labels(state))
        found = state.devise_hypothesis()
        state = state.surrender() if found is None else state.answer(found)
    _say(board(state.points, state.labels, state.hypothesis))
    return state


def _missed(state: Any) -> str:
    """What a person who labelled in vain could have done."""
    from mercer.theory.learnability import shatters

    answer = shatters(state.H, state.points)
    if answer:
        return "No labelling would have won: the class shatters these points."
    return f"{answer.defeat} would have won: no hypothesis gives these labels."


# -- what is asked --------------------------------------------------------------------------------

_Question = tuple[str, Callable[[str], Any]]


def _asked(question: _Question) -> Any:
    """Ask until the answer is a move that the rules allow."""
    text, read = question
    while True:
        try:
            given = input(f"{text}: ")
        except EOFError:
            fail("the input ended before the game did")
        if given.strip().lower() in ("q", "quit"):
            fail("the game was left")
        try:
            return read(given)
        except ValueError as error:
            _say(f"{error}.")


def _points(state: Any) -> _Question:
    def read(text: str) -> Any:
        # Points are apart by semicolons, coordinates by spaces or commas.
        return state.place([_numbers(part) for part in text.split(";") if part.strip()])

    example = "; ".join(" ".join(f"{float(v):g}" for v in x) for x in state.devise_points(0))
    return f"{state.n} point{'s' * (state.n > 1)}, such as {example}", read


def _labels(state: Any) -> _Question:
    return f"A labelling of {state.n}, such as {'+-' * 5:.{state.n}}", state.label


def _hypothesis(state: Any) -> _Question:
    def read(text: str) -> Any:
        if text.strip().lower() == "none":
            return state.surrender()
        return state.answer(_numbers(text))

    return f"A hypothesis ({state.H.numbers}), or none", read


def _numbers(text: str) -> list[Any]:
    words = text.replace(",", " ").replace("−", "-").split()
    try:
        return [int(w) if w.lstrip("+-").isdigit() else float(w) for w in words]
    except ValueError:
        raise ValueError(f"{text.strip()!r} is not a list of numbers") from None


def _class(name: Hypotheses, dimension: int, size: int) -> Any:
    from mercer.theory import learnability

    return {
        "left-intervals": learnability.LeftIntervals(),
        "intervals": learnability.Intervals(),
        "unions": learnability.UnionsOfIntervals(size),
        "rectangles": learnability.Rectangles(dimension),
        "half-spaces": learnability.HalfSpaces(dimension),
        "polynomials": learnability.PolynomialHalfSpaces(dimension, size),
        "conjunctions": learnability.Conjunctions(dimension),
    }[name]


def _say(text: str) -> None:
    stdout().print(text, highlight=False, markup=False, soft_wrap=True)
