"""Reports: one HTML page that stands alone, to look at, send and print."""

from mercer.tables.report.model import model_report
from mercer.tables.report.page import Report

__all__ = ["Report", "model_report"]
