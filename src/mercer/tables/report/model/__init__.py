"""The report page of a `mercer.Model`."""

from mercer.tables.report.model.page import model_report

__all__ = ["model_report"]
