"""`mercer.fit` in a few steps and two folds, for tests that do not ask what it finds."""

from contextlib import contextmanager

import pytest

from mercer.tables.model.effort import Effort


def _few_steps(seconds, n, d, outputs):
    """Instead of `Effort.within`: hardly a search."""
    return Effort(min(n, 60), min(n, 60), min(n, 60), 2, 2, 2, by_folds=True)


def hurry(patch, folds=2):
    """Until the patch is taken back; `folds` are those of the evaluation."""
    patch.setattr(Effort, "within", staticmethod(_few_steps))
    patch.setattr("mercer.tables.model.evaluation._FOLDS", folds)
    patch.setattr("mercer.tables.model.search._FOLDS", 2)
    patch.setattr("mercer.tables.model.search._WIDTHS", (0.5, 2.0))
    patch.setattr("mercer.tables.model.machines._CS", (1.0, 30.0))


@contextmanager
def in_haste(folds=2):
    """For models that are made once for many tests."""
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch, folds)
        yield
