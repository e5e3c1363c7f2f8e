"""Memory is asked for."""

import pytest

from mercer.tables.reading import TableError, budget


def test_what_fits_passes_and_what_does_not_says_how_much(monkeypatch):
    monkeypatch.setattr(budget, "available_memory", lambda: 3 << 30)
    budget.ask(3 << 30)
    with pytest.raises(
        TableError, match=r"reading it would take about 5.0 GiB of memory, and 3.0 GiB are free"
    ):
        budget.ask(5 << 30)
    monkeypatch.setattr(budget, "available_memory", lambda: 3 << 20)
    with pytest.raises(TableError, match="10 MiB of memory, and 3 MiB are free.*limit=.*query="):
        budget.ask(10 << 20)
