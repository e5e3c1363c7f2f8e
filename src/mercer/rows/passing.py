"""How far a long computation is: a line of text now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mercer._notice import telling
from mercer.rows.base import watching

# Passes of an ordinary fit: a look at the rows, the steps, and one for the certificate.
_EXPECTED = 12


class Passing:
    """Says how far the passes over some rows are, and about how long they will take.

    Parameters
    ----------
    tell : function of a line of text
    passes : int
        How many passes are expected.
    every : float
        Seconds between lines, at least.

    Examples
    --------
    >>> passing = Passing(print)
    >>> passing(500, 1000)
    pass 1, 500 of 1,000 rows
    """

    def __init__(self, tell: Callable[[str], object], passes: int = _EXPECTED, every: float = 0.0):
        self.tell, self.expected, self.every = tell, passes, every
        self._told, self._rows = float("-inf"), 0
        self._begin()

    def _begin(self) -> None:
        self.passes, self._started = 1, time.monotonic()

    def __call__(self, done: int, rows: int) -> None:
        if self._rows not in (0, rows):  # another table: what the passes before took says nothing of it
            self._begin()
        self._rows = rows
        now, whole = time.monotonic(), self.passes - 1 + done / rows
        if now - self._told >= self.every:
            self._told, left = now, ""
            if whole >= 1.5:  # by then it is known how long one takes
                seconds = (now - self._started) / whole
                # First in the line, the end of which a narrow terminal cuts off.
                left = f"about {max(self.expected - whole, 1) * seconds:.0f} s left, "
            self.tell(f"{left}pass {self.passes}, {done:,} of {rows:,} rows")
        if done == rows:
            self.passes += 1

    def line(self, text: str) -> None:
        """A line of something else, unless one has just been told."""
        now = time.monotonic()
        if now - self._told >= self.every:
            self._told = now
            self.tell(text)


@contextmanager
def progress(
    tell: Callable[[str], object] | None = None, *, passes: int = _EXPECTED, every: float = 1.0
) -> Iterator[None]:
    """Within this, long work says how far it is.

    Of examples that live elsewhere a line has the number of the pass over the rows, the rows done, and, from
    the second pass on, about how many seconds are left. How many passes a fit takes is not known before its
    end: about 10 for smooth losses and 7 for those with kinks, besides a look at all rows and the
    certificate. In memory a line has the iteration of the solver (conjugate gradients, Newton's method, the
    dual solver, k-means, eigenvectors) and what it measured there, the columns that are factored, the rows a
    λ path has been through, the passes of machines that learn one example at a time, or the rounds of a
    network. `mercer.fit` and its estimators say what they are at, and so do searches (`tune`).

    This is what other libraries call verbose: no machine has a parameter for it.

    Parameters
    ----------
    tell : function, optional
        Called with a line of text; None: it goes to standard error.
    passes : int
        How many passes to expect.
    every : float
        Seconds between lines, at least.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.rows import ArrayRows, progress
    >>> X, lines = np.linspace(0, 1, 100)[:, None], []
    >>> with progress(lines.append, every=0):
    ...     machine = KernelRidge(lam=1e-3).fit(ArrayRows(X, X[:, 0], rows=50))
    >>> lines[:2]
    ['pass 1, 50 of 100 rows', 'pass 1, 100 of 100 rows']
    >>> lines.clear()
    >>> with progress(lines.append, every=0):
    ...     machine = KernelRidge(solver="cg", lam=1e-3).fit(X, X[:, 0])
    >>> lines[0].startswith("conjugate gradients: iteration 1, residual ")
    True
    """
    passing = Passing(_to_stderr if tell is None else tell, passes, every)
    with watching(passing), telling(passing.line):
        yield


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
