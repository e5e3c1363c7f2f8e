"""The shape of a problem, and what solving it takes: known before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.operators import STORED_SHARE
from mercer.representations.base import SMALL
from mercer.rows.base import SHARD_BYTES

# Beyond this many unknowns a square matrix of that size is not worth its memory.
LARGEST_FACTOR = 8000
# Hessians in features are formed and factored up to this size, and up to this much work.
DIRECT_FEATURES = 2500
DIRECT_FLOPS = 4e11
# Matrices of the size of the unknowns squared that a factored problem holds at once.
SQUARES = 5
# Rows of a matrix that a factorisation works on at a time, and the tiles of an engine.
_PANELS, _PANELS_REMOTE = 512, 1024
_TILES = 64 << 20


@dataclass(frozen=True)
class Shape:
    """How large a problem is, and where its matrices live."""

    n: int  # examples
    d: int  # coordinates of a point
    outputs: int  # functions that are looked for
    unknowns: int  # coefficients of each function
    kind: str  # "full" (one an example), "centres" or "features"
    itemsize: int = 8  # bytes of a kernel value as the data have it
    float32: bool = True  # is there a version of the problem in float32?
    remote: bool = False  # are matrices made and kept elsewhere (on a GPU)?
    joint: bool = False  # does the loss tie the outputs together?
    points: int = 0  # bytes of the examples
    entries: int = 0  # of the features of all examples that are not 0, where features are sparse
    free: float = float("inf")  # bytes of memory
    room: float = float("inf")  # bytes of memory where matrices live, if that is elsewhere
    direct_rows: int = 0  # up to here matrices are factored there rather than multiplied a few times
    single_faster: bool = True  # is arithmetic in float32 much faster than in float64 there?
    elsewhere: bool = False  # do examples live elsewhere, so that nothing as long as y is in memory?
    quadratic: bool = True  # is the loss the squared error?
    smooth: bool = True  # has it a derivative?

    @property
    def full(self) -> bool:
        return self.kind == "full"

    @property
    def item(self) -> int:
        """Bytes of a kernel value as it is computed: small problems are solved in float64."""
        return 8 if self.n * self.unknowns <= SMALL else self.itemsize

    @property
    def vector_bytes(self) -> int:
        """Bytes of what every solver has: tiles, a few vectors as long as y, and the machine's own points.

        Of examples that live elsewhere there are some shards, and a sample.
        """
        if self.elsewhere:
            return _TILES + 6 * SHARD_BYTES + 2 * self.points
        return _TILES + 6 * self.n * self.outputs * 8 + self.points

    @property
    def panels(self) -> int:
        """Bytes a factorisation of the n × n matrix takes besides it."""
        return 3 * self.n * (_PANELS_REMOTE if self.remote else _PANELS) * 8

    def factored(self, item: int) -> int:
        """Bytes that K and the work of factoring it in place take, at so many for each value."""
        return self.n * self.n * item + self.panels

    @property
    def item_there(self) -> int | None:
        """Bytes of a value of K where that is factored elsewhere; None if there is no room for it."""
        fitting = (
            item for item in (8, 4) if self.factored(item) <= self.room and (item == 8 or self.float32)
        )
        return next(fitting, None)

    @property
    def sparse(self) -> bool:
        """Is A a matrix of sparse features?"""
        return self.kind == "features" and self.entries > 0

    @property
    def values(self) -> float:
        """Operations that compute all entries of A once."""
        return self.values_of(self.n)

    def values_of(self, rows: int) -> float:
        """Operations that compute the entries of so many rows of A once."""
        if self.sparse:
            return 20.0 * self.entries * rows / max(self.n, 1)
        return rows * self.unknowns * (2.0 * self.d + 20)

    @property
    def matrix(self) -> int:
        """Bytes of A; a sparse one has a value and a place for each entry."""
        if self.sparse:
            return 12 * self.entries
        return self.n * self.unknowns * self.item

    @property
    def stored(self) -> int:
        """Bytes of A where it is kept in memory because it fits there, else 0."""
        return self.matrix if self.matrix <= STORED_SHARE * self.free else 0

    @property
    def square(self) -> int:
        """Bytes of a float64 matrix of the size of the unknowns, if there is any.

        Centres are made orthonormal whatever their number, which takes their matrix and its inverse root.
        """
        any_there = self.unknowns <= LARGEST_FACTOR or self.kind == "centres"
        return self.unknowns * self.unknowns * 8 if any_there else 0


@dataclass(frozen=True)
class Cost:
    """Bytes beyond the data, and the order of the arithmetic."""

    memory: int
    flops: float


def bytes_in_words(count: float) -> str:
    """A number of bytes as one says it.

    >>> bytes_in_words(999), bytes_in_words(1.25e9)
    ('999 B', '1.2 GB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError
