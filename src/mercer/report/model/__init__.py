"""The report page of a `mercer.Model`."""

from mercer.report.model.page import model_report

__all__ = ["model_report"]
