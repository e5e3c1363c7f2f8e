"""Shared by all tests."""

import os
import signal

# scikit-learn's array-API checks are skipped without this, and it must be set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Whoever starts the tests in the background may have SIGINT ignored; some of them interrupt themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Machines differ in speed, so time is no verdict; in CI the same examples are drawn every time.
settings.register_profile(
    "mercer",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mercer")

# Where the generators of each module stand when it has been read.
_BEGINNINGS = {}


def pytest_collection_modifyitems(items):
    for module in {item.module for item in items if hasattr(item, "module")}:
        found = {n: g for n, g in vars(module).items() if isinstance(g, np.random.Generator)}
        _BEGINNINGS[module] = [(g, g.bit_generator.state) for g in found.values()]


@pytest.fixture(autouse=True)
def generators_begin_anew(request):
    """What a module's generator draws in a test is no matter of which tests came before it."""
    for generator, state in _BEGINNINGS.get(getattr(request, "module", None), ()):
        generator.bit_generator.state = state
