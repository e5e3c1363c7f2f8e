"""Tables that do not fit in memory: the search on a sample, the fit by passes over all rows."""

from mercer.tables.model.large.allowance import Allowance, too_large
from mercer.tables.model.large.road import LargeTask, fit_large
from mercer.tables.model.large.source import LargeTable

__all__ = ["LargeTask", "LargeTable", "Allowance", "fit_large", "too_large"]
