"""The door: what lives elsewhere becomes Rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.rows.arrays import ArrayRows
from mercer.rows.base import Rows


def lives_elsewhere(X: Any) -> bool:
    """Is X something that is read shard by shard?"""
    return isinstance(X, (Rows, np.memmap))


def open_rows(X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
    """X, y and weights as Rows."""
    return X if isinstance(X, Rows) else ArrayRows(X, y, sample_weight)
