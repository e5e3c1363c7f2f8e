"""What is done in how much time, and what is said of it."""

from dataclasses import replace

import pytest

from mercer.tables.model.effort import kernel_seconds
from mercer.tables.model.large.allowance import Allowance
from mercer.tables.model.large.timing import Prospect, Timetable

SHAPE = (10**7, 10, 1)


def test_minutes_are_kept_as_far_as_reading_allows():
    for reading in (0.1, 5.0, 6.1, 20.0, 50.0):
        times = Timetable(2.0, reading)
        assert 2 * reading + times.search(True) + times.last <= 126 or reading == 50.0
        assert reading + times.search(False) <= 126
        assert times.search(True) >= 12.0 and 120 <= times.total(True) <= 126
    assert Timetable(2.0, 50.0).last == pytest.approx(20 * 5 / 9)
    assert Timetable(2.0, 500.0).total(True) == 1012.0 and Timetable(2.0, 500.0).total(False) == 512.0
    assert Timetable(2.0, 500.0).last == 0.0 and Timetable(2.0, 500.0).search(False) == 12.0


def test_a_clock_that_does_not_matter_decides_nothing():
    """Quick readings, and those of fits that are to go on later, leave all as the minutes say."""
    same = [Timetable(2.0, 0.1), Timetable(2.0, 5.9), Timetable(2.0, 300.0, apart=True)]
    assert {(t.search(True), t.search(False), t.last, t.decided) for t in same} == {(48.0, 48.0, 60.0, False)}
    assert Timetable(2.0, 20.01).last == Timetable(2.0, 20.02).last


def test_the_advice_holds_and_names_what_is_short():
    found = Prospect(Timetable(2.0, 90.0), Allowance(2 * 10**9), SHAPE, 5244)
    assert not found.worth and found.words.endswith(found.advice) and "memory" not in found.words
    assert found.words.startswith("to read the file twice takes about 180 s, more than the 2 minutes given")
    then = replace(found, times=Timetable(15.0, 90.0))
    assert (
        found.advice.startswith("minutes=15 (--minutes 15)") and f"{then.centres:,} centres" in found.advice
    )
    assert then.worth and kernel_seconds(10**7, then.centres, 10, 1) + 2 * 90 <= 15 * 60
    assert then.words.startswith("to read the file twice takes about 180 s of the 15 minutes given; there is")
    scarce = Prospect(Timetable(600.0, 1.0), Allowance(300 * 10**6), SHAPE, 900)
    assert scarce.advice.startswith("twice the memory (--memory)") and scarce.worth and scarce.words == ""
    plenty = Prospect(Timetable(600.0, 1.0), Allowance(10**12), (10_000, 10, 1), 900)
    assert plenty.advice == "" and plenty.centres == 2000
    beside = replace(found, times=Timetable(2.0, 90.0, apart=True))
    assert "180 s beside the 2 minutes given" in beside.words
    assert Prospect(Timetable(1e-9, 1.0), Allowance(2 * 10**9), (10**12, 10, 1), 5244).advice == ""
