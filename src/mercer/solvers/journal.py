"""Where a long minimisation is, kept in a file, so that it can go on after whatever ended it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import math
import os
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer._files import open_plain, replacing
from mercer._params import Params, require_count, require_nonnegative
from mercer._warnings import frames_inside

_VERSION = 2
# Examples of the sample whose numbers tell a fit from others.
_PROBED = 50
# Numbers of the same fit agree that well, on another processor or with other threads, too.
_AGREE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-4}


def agreement(dtype: Any) -> float:
    """How well numbers of the same fit agree, next to their size, that were computed from such rows."""
    return _AGREE[np.dtype(dtype)]


class CheckpointError(ValueError):
    """A checkpoint that can't be used: of another fit, damaged, or in a place that can't be written to.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.rows import ArrayRows
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> try:
    ...     KernelRidge(lam=0.1).fit(ArrayRows(X, X[:, 0]), checkpoint="no such folder/a.checkpoint")
    ... except CheckpointError as error:
    ...     print(str(error)[:32])
    the checkpoint can't be written
    """


class Checkpoint(Params):
    """Where, and how often, a fit notes how far it is.

    The file is written in one step (a reader finds the old one or the new one), before the first look at the
    data, after steps, and when the fit is interrupted; a fit that succeeds removes it. The same fit begun
    again goes on from there: to the same solution of examples that live elsewhere, and to the tolerance of
    the solver (`CG`, `Newton`, `GradientDescent`, `Dual`) of those in memory.

    Parameters
    ----------
    path : str or PathLike
    passes : int
        Write after so many passes over the examples (in memory: iterations),
    minutes : float
        but no more often than this.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.rows import ArrayRows
    >>> X = np.random.default_rng(0).uniform(-2, 2, (3000, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Checkpoint(folder + "/ridge.checkpoint", minutes=0)
    ...     machine = KernelRidge(lam=1e-4).fit(ArrayRows(X, np.sin(X[:, 0])), checkpoint=kept)
    >>> machine.solution_.converged
    True
    """

    def __init__(self, path, passes=1, minutes=0.5):
        self.path = path
        self.passes = passes
        self.minutes = minutes

    def validate(self) -> None:
        require_count(self.passes, "Checkpoint: passes", 1)
        require_nonnegative(self.minutes, "Checkpoint: minutes")


class Journal:
    """Reads and writes the checkpoint of one fit; without one, does nothing.

    In a `with` statement, what ends the work that is noted is told where it can be taken up; if nothing ends
    it, the file goes.
    """

    def __init__(self, checkpoint: Any = None):
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            checkpoint = Checkpoint(checkpoint)
        if checkpoint is not None:
            checkpoint.validate()
        self.checkpoint: Checkpoint | None = checkpoint
        self.path = None if checkpoint is None else Path(os.fspath(checkpoint.path))
        self._about: dict[str, Any] = {"about": "", "seen": np.zeros(0)}
        self._agreement = 0.0
        self._state: dict[str, Any] = {}
        self._written = -np.inf
        self._since = 0
        self._warned = False
        self._found = self._read()
        # Whatever is random in the fit follows from this number, so that it comes out the same again.
        self.seed = int(self._found["seed"]) if self._found else int(np.random.default_rng().integers(2**62))

    @classmethod
    def opened(cls, checkpoint: Any) -> Journal:
        """That of a fit, tried out."""
        journal = cls(checkpoint)
        journal.try_out()
        return journal

    def seeded(self, random_state: Any) -> Any:
        """What the fit's random numbers follow from: where it is to be resumed, always the same."""
        return self.seed if random_state is None and self.path is not None else random_state

    # -- reading ----------------------------------------------------------------------------------

    def _read(self) -> dict[str, Any]:
        if self.path is None or not self.path.exists():
            return {}
        try:
            with open_plain(self.path) as file:
                state = _arrays(file)
            _require_sound(state)
        except Exception as error:  # there is no end to what a damaged file brings about
            raise CheckpointError(
                f"{self.path} is no checkpoint that can be read ({error}): delete it to begin anew, or name "
                "another file"
            ) from None
        return state

    def resume(self, about: str, seen: np.ndarray, dtype: Any) -> dict[str, Any]:
        """What was noted of the fit that this word and these numbers stand for; {} if it has not begun.

        The numbers need to agree as well as those of `dtype` do.
        """
        self._about = {"about": about, "seen": seen}
        self._agreement = agreement(dtype)
        found, self._found = self._found, {}
        if found and not self._is_ours(found):
            raise self._of_another()
        if "passes" not in found:
            return {}
        if not _is_count(found["passes"]) or not str(found["about"]):
            raise self.damaged(ValueError("it does not say how far the fit was"))
        return found

    def _is_ours(self, state: dict[str, Any]) -> bool:
        """Is this of the same fit, or of one that has not got beyond its first look at the data?"""
        about = str(state["about"])
        same = about == self._about["about"]
        return not about or (same and _agree(state["seen"], self._about["seen"], self._agreement))

    def _taken(self) -> bool:
        """Has the file become that of another fit, or something else, since this one began?"""
        assert self.path is not None
        if not self.path.exists():
            return False
        try:
            return not self._is_ours(self._read())
        except CheckpointError:
            return True

    def _of_another(self) -> CheckpointError:
        return CheckpointError(
            f"{self.path} is the checkpoint of another fit (other data, or another machine): delete it "
            "to begin anew, or name another file"
        )

    def damaged(self, error: Exception) -> CheckpointError:
        """What to raise if what was noted is not what a fit would have noted."""
        return CheckpointError(f"{self.path} is damaged ({error}): delete it to begin anew")

    def require_same(self, what: str, then: float, now: float, allowed: float) -> None:
        """Refuse to go on if a number that all examples make is no longer what it was."""
        if not abs(now - then) <= allowed:
            raise CheckpointError(
                f"{self.path} is the checkpoint of a fit to other data: at its point the {what} was "
                f"{then:.9g}, and is {now:.9g} now. Delete it to begin anew, or name another file"
            )

    # -- writing ----------------------------------------------------------------------------------

    def try_out(self) -> None:
        """Write before the first look at the data: a place that can't be written to is found out then."""
        if not self._found:
            self._first()

    def drop(self) -> None:
        """The fit failed in its first look: nothing of it is worth a file."""
        if not self._found and self.path is not None and not self._taken():
            with contextlib.suppress(OSError):
                self._remove()

    def begin(self) -> None:
        """Write which fit it is, before the work."""
        self._first()

    def _first(self) -> None:
        if self.path is None:
            return
        if self._taken():
            raise self._of_another()
        try:
            self._write()
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint can't be written to {self.path} ({error.strerror or error}): free some "
                "space, or name another file"
            ) from error

    def note(self, state: dict[str, Any]) -> None:
        """Remember where the fit is, in the file if it is time."""
        if self.checkpoint is None:
            return
        self._state, self._since = state, self._since + 1
        waited = time.monotonic() - self._written
        if self._since >= self.checkpoint.passes and waited >= 60 * self.checkpoint.minutes:
            self.keep()

    def keep(self) -> None:
        """Write now; if that fails the file that is there stays, and the fit goes on."""
        if self.path is None or not self._state:
            return
        try:
            if self._taken():  # work would be lost if either fit ended here
                raise FileExistsError(errno.EEXIST, "it is that of another fit by now")
            self._write()
        except OSError as error:
            if not self._warned:
                self._warned = True
                self._warn("renewed", error, "the one of before stays")

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            self._done()
            return
        self.keep()
        ours = self.path is not None and self.path.exists() and not self._taken()
        if ours and not isinstance(error, CheckpointError):
            error.add_note(
                f"How far the fit was is in {self.path}: the same fit with checkpoint= goes on there."
            )

    def _write(self) -> None:
        assert self.path is not None
        words = {"version": _VERSION, "seed": self.seed, **self._about, **self._state}
        with replacing(self.path) as file:
            np.savez(file, allow_pickle=False, **{name: np.asarray(value) for name, value in words.items()})
        self._written, self._since = time.monotonic(), 0

    def _warn(self, what: str, error: OSError, then: str) -> None:
        message = f"the checkpoint {self.path} could not be {what} ({error.strerror or error}); {then}"
        warnings.warn(message, RuntimeWarning, stacklevel=frames_inside())

    def _done(self) -> None:
        if self.path is None or self._taken():
            return
        try:
            self._remove()
        except OSError as error:
            self._warn("removed", error, "the fit is finished")

    def _remove(self) -> None:
        """The file goes; a link to it stays, as it does when the file is written."""
        assert self.path is not None
        Path(os.path.realpath(self.path)).unlink(missing_ok=True)


def _require_sound(state: dict[str, np.ndarray]) -> None:
    """ValueError unless what every checkpoint says of itself is there, of its type, and in its range."""
    if not _is_count(state["version"]) or state["version"] != _VERSION:
        raise ValueError("it is of another version")
    about, seen = state["about"], state["seen"]
    known = about.dtype.kind == "U" and not about.shape and seen.dtype.kind in "fi" and seen.ndim == 1
    if not known or not _is_count(state["seed"]) or not np.isfinite(seen).all():
        raise ValueError("it does not say which fit it is of")


def _is_count(value: np.ndarray) -> bool:
    return value.dtype.kind == "i" and not value.shape and 0 <= int(value) < 2**62


def _agree(found: np.ndarray, seen: np.ndarray, rtol: float) -> bool:
    scale = float(np.abs(seen).max(initial=0.0))
    return found.shape == seen.shape and bool(np.allclose(found, seen, rtol=rtol, atol=rtol * scale))


def _arrays(file: BinaryIO) -> dict[str, np.ndarray]:
    """The arrays of an archive as `Journal` writes it; none can claim more bytes than the file has."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
        if not stored or sum(entry.file_size for entry in entries) > os.fstat(file.fileno()).st_size:
            raise ValueError("no fit wrote it")
        return {entry.filename.removesuffix(".npy"): _array(archive.read(entry)) for entry in entries}


def _array(data: bytes) -> np.ndarray:
    """A .npy file of numbers or a word."""
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("no fit wrote it")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    first = stream.tell()
    if dtype.kind not in "fiU" or math.prod(shape) * dtype.itemsize != len(data) - first:
        raise ValueError("an array of it is not as long as it says")
    return np.frombuffer(data, dtype, offset=first).reshape(shape, order="F" if fortran else "C").copy("K")


def probes(n: int) -> np.ndarray:
    """Which of n examples of a sample are asked for numbers that tell a fit from others."""
    return np.linspace(0, n - 1, min(n, _PROBED)).astype(int)


def numbers_of(*parts: Any) -> np.ndarray:
    """Arrays as one of finite numbers."""
    numbers = np.concatenate([np.asarray(part, dtype=np.float64).reshape(-1) for part in parts])
    return np.where(np.isfinite(numbers), numbers, 0.0)


def digest(*parts: Any) -> str:
    """A word for arrays and words."""
    found = hashlib.sha256()
    for part in parts:
        array = isinstance(part, np.ndarray)
        found.update(np.ascontiguousarray(part).tobytes() if array else repr(part).encode())
        found.update(b"|")
    return found.hexdigest()
