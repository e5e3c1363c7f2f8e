"""What the minutes are for once it is known how long reading takes, and how many centres fit into them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from mercer.tables.model.large.allowance import Allowance

# Of the time, for the search on the sample and for the machine of all rows; the rest is for reading.
_SEARCH, _LAST = 0.4, 0.5
# A search takes so much, however long reading has taken.
_LEAST_SEARCH = 0.1
# Minutes that people say.
_MINUTES = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 1440)


@dataclass(frozen=True)
class Timetable:
    """The seconds of each stage.

    Parameters
    ----------
    minutes : for all of it
    reading : seconds that the file was read in, once; it is read twice if there are passes
    apart : bool
        Reading comes beside the minutes: what is done is then decided without the clock, and in a second run
        as in the first.

    Examples
    --------
    >>> quick, slow = Timetable(2.0, reading=3.0), Timetable(2.0, reading=30.0)
    >>> quick.search(True), quick.last, round(slow.search(True), 1), round(slow.last, 1)
    (48.0, 60.0, 26.7, 33.3)
    >>> Timetable(2.0, reading=90.0).search(False)  # without passes there is no second reading
    30.0
    """

    minutes: float
    reading: float
    apart: bool = False

    @property
    def whole(self) -> float:
        """All seconds that were given."""
        return 60 * self.minutes

    @property
    def slow(self) -> bool:
        """Does reading take more than was put by for it?"""
        return 2 * self.reading > (1 - _SEARCH - _LAST) * self.whole

    @property
    def decided(self) -> bool:
        """Has the clock decided how long search and passes may take?"""
        return self.slow and not self.apart

    @property
    def last(self) -> float:
        """For the passes over all rows."""
        most = _LAST * self.whole
        return min(_LAST / (_SEARCH + _LAST) * self._left(2), most) if self.decided else most

    def search(self, passes: bool) -> float:
        """For the search on the sample, with passes after it or without."""
        most = _SEARCH * self.whole
        if not self.decided:
            return most
        left = _SEARCH / (_SEARCH + _LAST) * self._left(2) if passes else self._left(1)
        return min(max(left, _LEAST_SEARCH * self.whole), most)

    def total(self, passes: bool) -> float:
        """About how long all will take: what was given, or longer if reading does."""
        return max(self.whole, (1 + passes) * self.reading + self.search(passes) + passes * self.last)

    def _left(self, readings: int) -> float:
        """What readings leave; two digits, since the clock never says the same twice."""
        return float(f"{max(self.whole - readings * self.reading, 0.0):.2g}")


@dataclass(frozen=True)
class Prospect:
    """How many centres a machine of all rows can have, what limits them, and whether they are worth it.

    Nyström centres represent what n rows tell if there are of the order of √n ln n (Rudi, Camoriano, Rosasco:
    Less is more, 2015). With fewer than half of that for the rows of the sample a machine can't even say what
    the sample's machine says, however many rows it is fitted to.

    Parameters
    ----------
    times, allowance : the time and the memory
    shape : rows, coordinates and outputs of the machine of all rows
    sampled : rows of the sample's machine, which has as many coefficients

    Examples
    --------
    >>> found = Prospect(Timetable(2.0, 90.0), Allowance(2 * 10**9), (10**7, 10, 1), 5244)
    >>> found.centres, found.fewest, found.worth
    (100, 310, False)
    >>> print(found.advice)
    minutes=15 (--minutes 15) leaves time for 953 centres
    """

    times: Timetable
    allowance: Allowance
    shape: tuple[int, int, int]
    sampled: int

    @property
    def centres(self) -> int:
        """As many as time and memory allow."""
        return self.allowance.centres(*self.shape, self.times.last)

    @property
    def fewest(self) -> int:
        """Fewer can't be better than the machine of the sample."""
        return int(math.sqrt(self.sampled) * math.log(max(self.sampled, 1)) / 2)

    @property
    def worth(self) -> bool:
        """May the machine of all rows be the better one?"""
        return self.centres >= self.fewest

    @property
    def advice(self) -> str:
        """How to have more centres: by minutes or by memory, whichever is short; empty if neither is."""
        centres = self.centres
        most = self.allowance.centres(*self.shape, math.inf)
        if centres < most:
            wanted = min(most, 2 * max(centres, self.fewest))
            for minutes in _MINUTES:
                then = replace(self, times=replace(self.times, minutes=float(minutes))).centres
                if minutes > self.times.minutes and then >= wanted:
                    return f"minutes={minutes} (--minutes {minutes}) leaves time for {then:,} centres"
            return ""
        twice = Allowance(2 * self.allowance.allowed).centres(*self.shape, self.times.last)
        return f"twice the memory (--memory) has room for {twice:,} centres" if twice > centres else ""

    @property
    def words(self) -> str:
        """What is to be known at once, before the search; empty if all goes as it should."""
        times, said = self.times, []
        if times.slow:
            given = f"the {_said(times.minutes)} given"
            how = "beside" if times.apart else "of"
            if not times.apart and 2 * times.reading >= times.whole:
                how = "more than"
            comma = "," * (how == "more than")
            said.append(f"to read the file twice takes about {2 * times.reading:.0f} s{comma} {how} {given}")
        if not self.worth:
            said.append(
                f"{self.centres:,} centres are too few to be better than a machine of {self.sampled:,} rows "
                "drawn at random: it is fitted to these only"
            )
        elif times.slow:
            said.append(f"there is time for {self.centres:,} centres")
        if said and self.advice:
            said.append(self.advice)
        return "; ".join(said)


def _said(minutes: float) -> str:
    """Minutes, for people.

    >>> _said(2.0), _said(1.0)
    ('2 minutes', '1 minute')
    """
    return f"{minutes:g} minute{'s' * (minutes != 1)}"
