"""What the tests of model files share."""

import pytest

from mercer.io import load, save


@pytest.fixture
def again(tmp_path):
    """An object after a trip through a file."""

    def travel(x):
        save(x, tmp_path / "it.mercer")
        return load(tmp_path / "it.mercer")

    return travel
