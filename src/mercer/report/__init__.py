"""Reports: one HTML page that stands alone, to look at, send and print."""

from mercer.report.page import Report

__all__ = ["Report"]
