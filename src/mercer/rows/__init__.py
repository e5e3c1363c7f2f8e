"""Examples that live elsewhere: in files larger than memory, or on the machines of a cluster."""

from mercer.rows.arrays import ArrayRows
from mercer.rows.base import Rows, Shard
from mercer.rows.cluster import ClusterRows
from mercer.rows.door import lives_elsewhere, open_rows
from mercer.rows.passing import progress
from mercer.rows.statistics import Categories, ColumnMoments, Description, Sample, Standardise, describe
from mercer.rows.watch import ClusterError, NoWorkersError, SchedulerLostError
from mercer.rows.writing import write_blocks

__all__ = [
    "ArrayRows",
    "Categories",
    "ClusterError",
    "ClusterRows",
    "ColumnMoments",
    "Description",
    "NoWorkersError",
    "Rows",
    "Sample",
    "SchedulerLostError",
    "Shard",
    "Standardise",
    "describe",
    "lives_elsewhere",
    "open_rows",
    "progress",
    "write_blocks",
]
