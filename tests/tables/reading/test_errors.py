"""Errors name the place."""

import pickle

import pytest

from mercer.tables.reading.errors import Stray, TableError, checked_names, in_file, refused_as, shown


def test_the_place_comes_first():
    error = TableError("is wrong.", path="a.csv", line=1234, column="price")
    assert str(error) == "a.csv, line 1,234, column 'price': is wrong."
    assert (error.path, error.line, error.row, error.column) == ("a.csv", 1234, None, "price")
    assert isinstance(error, ValueError) and str(TableError("only this")) == "only this"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.line == 1234


def test_strays_say_what_to_do():
    there = Stray(2, "'x' is not a number.", mixed=True).at("a", 7, in_file=True)
    assert there.line == 7 and "kinds={'a': 'text'} (--text a)" in str(there)
    assert "(--text 'sale price')" in str(Stray(2, "it is not.", mixed=True).at("sale price", 7, True))
    asked = Stray(2, "'x' is not a number.", mixed=True, guessed=False).at("a", 7, in_file=True)
    assert asked.problem == "'x' is not a number. Correct it, or leave it empty if nothing is known."
    in_memory = Stray(2, "'x' is not a number.").at("a")
    assert str(in_memory) == "row 3, column 'a': 'x' is not a number."


def test_long_values_are_cut():
    assert len(shown("x" * 1000)) <= 60 and shown("ab") == "'ab'" and "\n" not in shown("a\nb")


def test_names():
    assert checked_names(["a", "b"]) == ["a", "b"]
    with pytest.raises(TableError, match=r"f.csv, line 1: column 2 of 3 has no name"), in_file("f.csv"):
        checked_names(["a", "", "b"], 1)
    with pytest.raises(TableError, match=r"column 'a': columns 1 and 3 have the same name"):
        checked_names(["a", "b", "a"])
    with pytest.raises(TableError, match="index=False"):
        checked_names(["", "a"])


def test_errors_of_libraries_are_quoted_and_cut():
    with (
        pytest.raises(TableError, match="f: it says: some thing.") as caught,
        in_file("f"),
        refused_as("it says", OSError),
    ):
        raise OSError("some\n thing")
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(TableError) as caught, refused_as("it says", OSError):
        raise OSError("x" * 10_000)
    assert len(str(caught.value)) < 400
    with pytest.raises(KeyError), refused_as("it says", OSError):
        raise KeyError("other")
