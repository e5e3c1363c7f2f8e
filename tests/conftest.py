"""Shared by all tests."""

import os

# scikit-learn's array-API checks are skipped without this, and it must be set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Tests run in parallel processes; BLAS threads on top of that only fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
