"""Pictures of characters."""

from mercer.cli.board import board
from mercer.theory.learnability import HalfSpaces, Intervals


def test_a_line():
    marks, ground, names = board([[1], [2], [5]], "+-+", Intervals().from_numbers([0, 2])).splitlines()
    assert marks.strip().split() == ["+", "-", "+"] and names.split() == ["1", "2", "5"]
    assert ground.count("═") == 13  # a quarter of the way, both ends included
    assert [marks.index(m) for m in ("+", "-")] == [names.index(n) for n in ("1", "2")]


def test_a_plane():
    rows = board([[0, 0], [1, 0], [0, 1]], "+--", HalfSpaces(2).from_numbers([0, -1, 0.5])).splitlines()
    assert len(rows) == 17 and len({len(row) for row in rows}) == 1
    inner = [row[1:-1] for row in rows[1:-1]]
    assert "·" not in "".join(inner[:7]) and "·" in inner[-1]
    assert "".join(inner).count("-") == 2 and "".join(inner).count("+") == 1
    first = board([[0, 0], [1, 0], [0, 1]])
    assert all(str(i) in first for i in (1, 2, 3))


def test_coincident_points_and_others():
    assert board([[1, 1]], "+").count("+") == 1
    assert board([[1]], "+").splitlines()[2].strip() == "1"
    assert board([[0], [0]], "+-").splitlines()[0].strip() == "*"
    assert "*" in board([[0, 0], [0, 0], [1, 1]]) and "*" not in board([[0, 0], [0, 0], [1, 1]], "++-")
    assert board([[1000001], [1000002]]).splitlines()[2].split() == ["1000001", "1000002"]
    assert board([[1, 0, 1], [0, 0, 1]], "+-").splitlines() == ["  +  (1, 0, 1)", "  -  (0, 0, 1)"]
