"""Reports: one HTML page that stands alone, to look at, send and print."""

from mercer.report.model import model_report
from mercer.report.page import Report

__all__ = ["Report", "model_report"]
