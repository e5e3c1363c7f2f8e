"""Examples in docstrings and documents run in a folder of their own: what they write is gone afterwards."""

import pytest


@pytest.fixture(autouse=True)
def _own_folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))
