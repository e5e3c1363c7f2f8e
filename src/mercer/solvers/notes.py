"""What a solver in memory notes of where it is, so that the same fit can go on after whatever ended it.

What is resumed is only where a solver begins: the gradient there is measured anew, and so is the certificate
in the end. So a file that says nonsense costs time at worst, and one that can be told for it is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.solvers.journal import CheckpointError, Journal, digest, numbers_of, probes
from mercer.solvers.problem import Problem

# Beyond this what a solver makes of coefficients overflows: squares, times the values of a kernel.
_TOO_LARGE = 1e100


class Notes:
    """The journal of one solve in memory; a `with` statement around it removes the file in the end.

    Parameters
    ----------
    problem : Problem
        With a journal, or without: then nothing is noted.
    solver : str
        Its name: others note other things.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> problem, _ = KernelRidge(lam=0.1).problem([[0.0], [1.0]], [0.0, 1.0])
    >>> with Notes(problem, "cg") as notes:
    ...     notes.note(1, z=np.zeros((2, 1)))
    ...     notes.array("z", (2, 1)) is None
    True
    """

    def __init__(self, problem: Problem, solver: str):
        self.journal = Journal() if problem.journal is None else problem.journal
        self.kept = self.journal.path is not None
        self._found: dict[str, Any] = {}
        self._lock = threading.Lock()
        if self.kept:
            self._found = self.journal.resume(*_about(problem, solver))
        # An earlier attempt's iterations count, too.
        self.iterations = int(self._found["passes"]) if self._found else 0

    def __enter__(self) -> Notes:
        self.journal.__enter__()
        if not self._found:
            self.journal.begin()
        return self

    def __exit__(self, *ended: Any) -> None:
        self.journal.__exit__(*ended)

    def array(self, name: str, shape: Sequence[int | None]) -> np.ndarray | None:
        """What was noted under this name; None if nothing was. A size of None may be any."""
        if name not in self._found:
            return None
        found = np.asarray(self._found[name])
        fits = found.ndim == len(shape) and all(
            s in (None, f) for s, f in zip(shape, found.shape, strict=True)
        )
        # Not so for NaN, either.
        fits = fits and found.dtype == np.float64 and bool((np.abs(found) < _TOO_LARGE).all())
        if not fits:
            raise self.damaged(f"{name} is not what a solver would have noted")
        return found

    def damaged(self, why: str) -> CheckpointError:
        """What to raise where what was noted can't be."""
        return self.journal.damaged(ValueError(why))

    def note(self, iterations: int, **arrays: np.ndarray) -> None:
        """Remember where the solver is, in copies: what is in the midst of a change would be of no use."""
        if not self.kept:
            return
        with self._lock:
            self.journal.note({"passes": iterations, **{name: np.array(a) for name, a in arrays.items()}})


def _about(problem: Problem, solver: str) -> tuple[str, np.ndarray, np.dtype]:
    """A word and some numbers for this problem, which all of its examples have made.

    The kernel, and whatever else made A, is in what A and B do to a vector.
    """
    A, n, t = problem.A, problem.n, problem.y.shape[1]
    words = (
        solver,
        problem.loss,
        problem.offset,
        problem.offset_price,
        problem.kink_price,
        A.shape,
        t,
        str(A.dtype),
    )
    if problem.full:
        some = A.among(probes(n)) @ np.cos(np.arange(n))[:, None]
    else:
        some = A.adjoint(np.cos(np.arange(n))[:, None])
    return digest(words, problem.y, problem.w), numbers_of(np.log([problem.lam]), some), A.dtype
