"""Shared by all tests."""

import os
from pathlib import Path

# scikit-learn's array-API checks are skipped without this, and it must be set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Tests run in parallel processes; BLAS threads on top of that only fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Compiled loops are kept with pytest's own cache, not in the user's.
os.environ.setdefault("MERCER_CACHE_DIR", str(Path(__file__).parent.parent / ".pytest_cache" / "code"))

from hypothesis import HealthCheck, settings

# Machines differ in speed, so time is no verdict; in CI the same examples are drawn every time.
settings.register_profile(
    "mercer",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mercer")
