"""Tables: what a person has, as columns of numbers, words and dates; from memory or from a file."""

from mercer.data.errors import TableError
from mercer.data.reading import read
from mercer.data.table import Table
from mercer.data.writing import write

__all__ = ["Table", "TableError", "read", "write"]
