"""Shared by tests and by examples in docstrings and documents, which run in a folder of their own."""

import gc
import os
from pathlib import Path

import pytest

# They run in parallel processes; BLAS threads on top of that only fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Compiled loops are kept with pytest's own cache, not in the user's.
os.environ.setdefault("MERCER_CACHE_DIR", str(Path(__file__).parent / ".pytest_cache" / "code"))


# All that is collected stays to the end: the garbage collector need not look through it, now or again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _own_folder(request: pytest.FixtureRequest) -> None:
    """What examples write is gone afterwards."""
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
