"""What a kind of file must say, and how it is found."""

import numpy as np
import pytest

from mercer.tables.reading import Format, Table, TableError, batches, read, reading
from mercer.tables.reading.format import Cut
from mercer.tables.reading.formats import FORMATS


class Numbers(Format):
    """One number a line."""

    name, suffixes, start = "numbers", (".numbers",), b"#numbers\n"

    def read(self, wanted):
        lines = wanted.path.read_text().splitlines()[1:]
        return Table({"n": np.array(lines[: wanted.limit], float)})


def test_names_and_suffixes_are_those_of_one_format():
    for words in ([f.name for f in FORMATS], [s for f in FORMATS for s in f.suffixes]):
        assert len(words) == len(set(words))


def test_one_of_your_own(tmp_path, monkeypatch):
    path = tmp_path / "a.numbers"
    path.write_text("#numbers\n1\n2\n3\n")
    assert read(path, form=Numbers(), limit=2)["n"].tolist() == [1, 2]
    assert read(path, form=Numbers(), query="select sum(n) as s from t")["s"].tolist() == [6]
    # As a line in formats.py does it:
    monkeypatch.setattr(reading, "FORMATS", (Numbers(), *FORMATS))
    assert read(path) == read(path.rename(tmp_path / "b.csv")) == Table.of({"n": [1, 2, 3]})
    assert [len(table) for table in batches(tmp_path / "b.csv", 2, start=1)] == [1, 1]
    (tmp_path / "c.numbers").write_text("1\n2\n")
    with pytest.raises(TableError, match=r"it is called .numbers, but does not begin as a numbers file"):
        read(tmp_path / "c.numbers")


@pytest.mark.parametrize("start, size", [(0, 3), (2, 3), (5, 4), (9, 2), (20, 3)])
def test_tables_of_any_length_are_cut_where_batches_end(start, size):
    parts = [Table({"n": np.arange(a, b, dtype=float)}) for a, b in ((0, 1), (1, 1), (1, 7), (7, 10))]
    found = list(Cut(size, start, {}, size).of_tables(parts))
    assert [v for table in found for v in table["n"].tolist()] == list(range(start, 10))
    ends = start + np.cumsum([len(table) for table in found])
    assert all(end % size == 0 for end in ends[:-1])


def test_forms_by_name(tmp_path):
    file = tmp_path / "a.dat"
    file.write_text('{"a": 1}\n{"a": 2}\n')
    assert read(file, form="JSON lines")["a"].tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="form must be a Format, or one of"):
        read(file, form="arff")
    with pytest.raises(TypeError, match="with the parentheses"):
        read(file, form=type(FORMATS[0]))
