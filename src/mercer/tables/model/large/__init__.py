"""Tables that do not fit in memory: the search on a sample, the fit by passes over all rows."""

from mercer.tables.model.large.road import Asked, fit_large
from mercer.tables.model.large.room import Room, too_large
from mercer.tables.model.large.source import LargeTable

__all__ = ["Asked", "LargeTable", "Room", "fit_large", "too_large"]
