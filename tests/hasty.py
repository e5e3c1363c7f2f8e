"""`mercer.fit` in a few steps and two folds, for tests that do not ask what it finds."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from mercer.tables.model import beside
from mercer.tables.model.effort import Effort
from mercer.tables.model.families import Family

_all_widths, _others = Family.widths, beside.others


def _few_steps(seconds, n, d, outputs):
    """Instead of `Effort.within`: hardly a search."""
    return Effort(min(n, 60), min(n, 60), min(n, 60), 2, 2, 2, by_folds=True)


def _two_widths(family, d):
    """Instead of `Family.widths`."""
    return _all_widths(replace(family, factors=family.factors[2::2] or family.factors), d)


def _few_trees(seen):
    """Instead of `beside.others`: a hundred trees take longer than all that is ours."""
    models = _others(seen)
    models["gradient boosting"].set_params(max_iter=20)
    return models


def hurry(patch, folds=2):
    """Until the patch is taken back; `folds` are those of the evaluation."""
    patch.setattr(Effort, "within", staticmethod(_few_steps))
    patch.setattr("mercer.tables.model.evaluation._FOLDS", folds)
    patch.setattr("mercer.tables.model.by_folds._FOLDS", 2)
    patch.setattr(Family, "widths", _two_widths)
    patch.setattr(beside, "others", _few_trees)
    # No clock decides, however slow the machine.
    patch.setattr("mercer.tables.model.deadline._GRACE", 600.0)
    patch.setattr("mercer.tables.model.machines._CS", (1.0, 30.0))


@contextmanager
def in_haste(folds=2):
    """For models that are made once for many tests."""
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch, folds)
        yield
