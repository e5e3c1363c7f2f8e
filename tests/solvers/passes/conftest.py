"""Samples small enough for small problems to be larger."""

import pytest

from mercer.solvers.passes import minimise


@pytest.fixture
def small_samples(monkeypatch):
    """A few examples for each unknown: the sample's solution is then not that of all examples."""
    monkeypatch.setattr(minimise, "_SAMPLED", 3)
    monkeypatch.setattr(minimise, "_SAMPLED_LEAST", 60)
