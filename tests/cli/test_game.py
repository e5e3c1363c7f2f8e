"""`mercer game`, played through standard input."""

import pytest
from typer.testing import CliRunner

from mercer.cli.app import app


def play(*arguments, moves):
    return CliRunner().invoke(app, ["game", *map(str, arguments)], input="".join(f"{m}\n" for m in moves))


def test_a_person_labels_and_the_machine_finds():
    result = play("--points", 3, "--rounds", 2, moves=["+-+", "+-+", "--+"])
    assert result.exit_code == 0, result.output
    assert "labels the points +-+: the placer wins." in result.stdout
    assert "has been met already" in result.stdout  # the second time
    assert "No labelling would have won: the class shatters these points." in result.stdout
    assert "You 0, machine 2." in result.stdout
    assert "The VC dimension of HalfSpaces(d=2) is 3" in result.stdout


def test_a_person_who_labelled_in_vain_is_told():
    result = play("--class", "intervals", "--points", 3, "--rounds", 1, moves=["+++"])
    assert "+-+ would have won: no hypothesis gives these labels." in result.stdout


def test_numbers_that_are_none():
    moves = ["0 0; 1 0; 0 1", "inf 0 0", "nan 0 0", "none"]
    result = play("--side", "place", "--rounds", 1, moves=moves)
    assert result.exit_code == 0 and result.stdout.count("made of finite numbers") == 2


def test_a_person_finds_the_evil_labelling():
    result = play("--class", "intervals", "--points", 3, moves=["++", "+-+"])
    assert "one label a point" in result.stdout
    assert "No hypothesis of Intervals() labels these points +-+: the adversary wins." in result.stdout
    assert "You 1, machine 0." in result.stdout


def test_a_person_places_and_finds():
    moves = ["1; two", "1 2 3", "3; 1", "0 0", "none"]
    result = play("--class", "intervals", "--points", 2, "--side", "place", "--seed", 3, moves=moves)
    assert "'two' is not a list of numbers" in result.stdout.replace('"', "'")
    assert "must have 1 coordinate, got 3" in result.stdout
    assert "The machine labels them" in result.stdout
    labels = result.stdout.split("The machine labels them ")[1][:2]
    if labels == "--":
        assert "the placer wins" in result.stdout
    else:
        assert f"[0, 0] labels the points --, not {labels}" in result.stdout
        assert "The adversary wins, though" in result.stdout


def test_a_person_places_more_than_can_be_shattered():
    moves = ["0 0; 1 1; 2 2", "1 0 0", "none"]
    result = play("--side", "place", moves=moves)
    assert "x₁ ≥ 0 labels the points" in result.stdout and "the adversary wins" in result.stdout
    assert result.exit_code == 0 and "You 0, machine 1." in result.stdout


@pytest.mark.parametrize(
    "name",
    ["left-intervals", "intervals", "unions", "rectangles", "half-spaces", "polynomials", "conjunctions"],
)
def test_every_class_can_be_played(name):
    result = play("--class", name, "--points", 1, "--rounds", 2, moves=["+", "-"])
    assert result.exit_code == 0, result.output
    assert "All 2 labellings are met: the points are shattered." in result.stdout


def test_leaving():
    ended = play(moves=[])
    assert ended.exit_code == 1 and "the input ended before the game did" in ended.stderr
    left = play(moves=["quit"])
    assert left.exit_code == 1 and "the game was left" in left.stderr
    wrong = play("--class", "circles", moves=[])
    assert wrong.exit_code == 2
