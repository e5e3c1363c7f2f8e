"""Examples that live elsewhere: in files larger than memory, or on the machines of a cluster."""

from mercer.rows.arrays import ArrayRows
from mercer.rows.base import Rows, Shard
from mercer.rows.door import lives_elsewhere, open_rows

__all__ = ["ArrayRows", "Rows", "Shard", "lives_elsewhere", "open_rows"]
