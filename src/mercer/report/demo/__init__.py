"""The main job on data that come with scikit-learn: regression, classification, and a page about them."""

from mercer.report.demo.run import STEPS, Demo, run

__all__ = ["STEPS", "Demo", "run"]
