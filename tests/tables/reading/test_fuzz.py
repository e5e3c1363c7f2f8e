"""Spoilt files of every kind: an error that names the file, or a table that another reader agrees with."""

import pytest

from mercer.tables.reading import TableError, read
from tables.reading.mutations import KINDS, case, fuzz, mutate


@pytest.mark.parametrize("kind", KINDS)
def test_spoilt_files(kind, tmp_path):
    cases = 8 if kind == "duckdb" else 20  # opening a database takes a while
    counts = fuzz(kind, cases, seed=0, folder=tmp_path)
    assert counts["error"] > cases // 4 and counts.total() == cases


def test_sound_files_are_read(tmp_path):
    import numpy as np

    for kind, make in KINDS.items():
        path = tmp_path / f"sound.{kind}"
        path.write_bytes(make(np.random.default_rng(0), tmp_path))
        assert read(path).n_rows == 60, kind
        if kind != "sqlite":
            assert read(path, query="select count(*) as n from t")["n"].tolist() == [60.0], kind


def test_cases_can_be_made_again(tmp_path):
    first = case("csv", 3, 5, tmp_path).read_bytes()
    assert case("csv", 3, 5, tmp_path).read_bytes() == first != case("csv", 3, 6, tmp_path).read_bytes()


def test_files_of_a_few_bytes(tmp_path):
    import numpy as np

    rng = np.random.default_rng(0)
    for kind in KINDS:
        path = tmp_path / f"short.{kind}"
        for size in range(1, 12):
            path.write_bytes(mutate(rng.bytes(size), rng) or b"x")
            try:
                assert read(path).n_rows > 0
            except TableError as error:
                assert str(path) in str(error)
