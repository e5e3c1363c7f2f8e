"""Tables: what a person has, as columns of numbers, words and dates; from memory or from a file."""

from mercer.tables.reading.errors import TableError
from mercer.tables.reading.format import Format, Wanted
from mercer.tables.reading.reading import batches, read
from mercer.tables.reading.records import LineFormat
from mercer.tables.reading.table import Table
from mercer.tables.reading.writing import write

__all__ = ["Format", "LineFormat", "Table", "TableError", "Wanted", "batches", "read", "write"]
