"""Shared by all tests."""

import os
import signal

# scikit-learn's array-API checks are skipped without this, and it must be set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Whoever starts the tests in the background may have SIGINT ignored; some of them interrupt themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import HealthCheck, settings

# Machines differ in speed, so time is no verdict; in CI the same examples are drawn every time.
settings.register_profile(
    "mercer",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mercer")
