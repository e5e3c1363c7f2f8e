"""Answers as columns, and from file to file."""

from functools import partial

import numpy as np
import pytest

from mercer.tables.model.answers import answer_columns, kinds_of
from mercer.tables.reading import Table, TableError, read, write


def test_columns_are_what_the_model_says(price_model, species_model, houses, flowers):
    table = Table.of(houses[0])
    found = answer_columns(price_model, table, 0.5)
    np.testing.assert_array_equal(found["prediction"], price_model.predict(table))
    both = np.column_stack([found["low"], found["high"]])
    np.testing.assert_array_equal(both, price_model.predict_interval(table, 0.5))
    new, P = Table.of(flowers[0]), species_model.predict_proba(flowers[0])
    assert list(answer_columns(species_model, new)) == ["prediction", "probability"]
    np.testing.assert_array_equal(answer_columns(species_model, new)["probability"], P.max(axis=1))
    every = answer_columns(species_model, new, proba=True)
    np.testing.assert_array_equal(every["probability rose"], P[:, 1])


@pytest.mark.parametrize(("source", "target"), [("csv", "csv"), ("parquet", "tsv"), ("jsonl", "parquet")])
def test_from_file_to_file(species_model, flowers, tmp_path, monkeypatch, source, target):
    monkeypatch.setattr("mercer.tables.reading.delimited._PIECE", 1000)
    table = Table.of(flowers[0])
    path = write(table, tmp_path / f"in.{source}")
    out = tmp_path / f"out.{target}"
    assert species_model.write(path, out, proba=True) == len(table)
    found = read(out)
    assert found["prediction"].tolist() == species_model.predict(table).tolist()
    P = np.column_stack([found[f"probability {c}"] for c in ("iris", "rose", "tulip")])
    np.testing.assert_allclose(P, species_model.predict_proba(table), rtol=1e-12)


def test_a_file_that_is_wrong_in_the_middle_leaves_nothing(species_model, flowers, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.tables.reading.delimited._PIECE", 1000)
    path = write(Table.of(flowers[0]), tmp_path / "in.csv")
    path.write_text(path.read_text() + "1,none,3\n")
    with pytest.raises(TableError, match=r"in.csv, line 92, column 'wide'"):
        species_model.write(path, tmp_path / "out.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]


def test_kinds(price_model):
    kinds = kinds_of(price_model)
    assert kinds["city"] == "text" and kinds["size"] == "number" and kinds["sold"] == "date"


@pytest.mark.parametrize("fits", [True, False])
def test_of_a_file_as_of_its_table(price_model, species_model, houses, flowers, tmp_path, monkeypatch, fits):
    """Read as a whole or part by part; a missing target does not count, an unknown label is wrong."""
    monkeypatch.setattr("mercer.tables.reading.delimited._PIECE", 1000)
    monkeypatch.setattr("mercer.tables.model.answers.too_large", lambda path: None if fits else "so it is")
    prices = np.array(houses[1], dtype=float)
    prices[3] = np.nan
    file = write(Table.of({**houses[0], "price": prices}), tmp_path / "houses.csv")
    table = Table.of(houses[0])
    close = partial(np.testing.assert_allclose, rtol=1e-9)  # sums are rounded otherwise in parts
    close(price_model.predict(str(file)), price_model.predict(table))
    close(price_model.predict_interval(file, 0.5), price_model.predict_interval(table, 0.5))
    there = ~np.isnan(prices)
    expected = price_model.score(table.take(there), prices[there])
    assert price_model.score(file, "price") == pytest.approx(expected)
    assert price_model.score({**houses[0], "price": prices}, "price") == pytest.approx(expected)
    kinds = np.array(flowers[1], dtype=object)
    kinds[:2] = "lily"
    file = write(Table.of({**flowers[0], "y": kinds}), tmp_path / "flowers.csv")
    close(species_model.predict_proba(file), species_model.predict_proba(flowers[0]))
    right = species_model.predict(flowers[0]) == kinds
    assert species_model.score(file, "y") == pytest.approx(right.mean()) and not right[:2].any()
    with pytest.raises(ValueError, match="there is no row with a value of 'y'"):
        species_model.score(Table.of({**flowers[0], "y": np.full(len(kinds), None)}), "y")
    with pytest.raises(TableError, match=r"a path is no table: mercer.tables.read\(path\)"):
        price_model.outside(str(file))


def test_what_the_model_does_not_read_may_hold_anything(species_model, flowers, tmp_path, monkeypatch):
    """By parts only its own columns are read, in whatever order; what is not there is said by file."""
    monkeypatch.setattr("mercer.tables.reading.delimited._PIECE", 1000)
    monkeypatch.setattr("mercer.tables.model.answers.too_large", lambda path: "so it is")
    table = Table.of(flowers[0])
    odd = ["1"] * (len(table) - 1) + ["word"]
    path = write(Table.of({"odd": odd, **dict(reversed(table.columns.items()))}), tmp_path / "in.csv")
    assert species_model.predict(path).tolist() == species_model.predict(table).tolist()
    assert species_model.write(path, tmp_path / "out.csv") == len(table)
    with pytest.raises(TableError, match="in.csv: there is no column 'y' to compare"):
        species_model.score(path, "y")
    path = write(table.drop(table.names[0]), tmp_path / "less.csv")
    for ask in (species_model.predict, lambda path: species_model.write(path, tmp_path / "less.parquet")):
        with pytest.raises(TableError, match=f"less.csv: the model needs the column '{table.names[0]}'"):
            ask(path)
    assert not (tmp_path / "less.parquet").exists()
