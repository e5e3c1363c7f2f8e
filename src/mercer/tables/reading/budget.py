"""Memory is asked for before it is taken: a file that does not fit is refused, with a way out."""

from __future__ import annotations

from mercer._memory import available_memory
from mercer.tables.reading.errors import TableError

ADVICE = "Read a part of it with limit= (--limit), or choose rows and columns with query= (--query)."


def ask(need: float, what: str = "reading it") -> None:
    """Refuse what would need more bytes than there are."""
    free = available_memory()
    if need > free:
        taken = f"{what} would take about {_amount(need)} of memory, and {_amount(free)} are free"
        raise TableError(f"{taken}. {ADVICE}")


def _amount(size: float) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**29 else f"{size / 2**20:.0f} MiB"
