"""Dates as people write them, against strptime, which is told the order."""

import json
import pickle
import sqlite3
from contextlib import closing
from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.tables.reading import Table, TableError, batches, delimited, read
from mercer.tables.reading.cells import DatesRead, moment
from mercer.tables.reading.from_memory import with_dates

FORMS = {"D.M.Y": "%d.%m.%Y", "D/M/Y": "%d/%m/%Y", "M/D/Y": "%m/%d/%Y"}
SPOKEN = {"D.M.Y": "day.month.year", "D/M/Y": "day/month/year", "M/D/Y": "month/day/year"}
DAYS = [date(2024, 1, 31), date(2024, 2, 3), date(1999, 12, 1)]


def written(day, order):
    # Not strftime: it does not pad years before 1000 everywhere.
    parts = {"D": f"{day.day:02d}", "M": f"{day.month:02d}", "Y": f"{day.year:04d}"}
    return "".join(parts.get(letter, letter) for letter in order)


def stored(days):
    return np.array(days, dtype="datetime64[us]")


def csv(tmp_path, words, name="a.csv"):
    path = tmp_path / name
    path.write_text("day,n\n" + "".join(f"{word},1\n" for word in words))
    return path


@given(st.dates(date(1, 1, 1)), st.sampled_from(sorted(FORMS)), st.booleans())
def test_every_date_comes_back(day, order, padded):
    word = written(day, order)
    word = word if padded else word.replace("0", "", 1) if word.startswith("0") else word
    expected = datetime.strptime(word, FORMS[order])
    assert moment(word, order) == expected == datetime(day.year, day.month, day.day)


digits = st.integers(0, 40).map(str) | st.text("0123456789", min_size=1, max_size=3)


@given(digits, digits, st.text("0123456789", min_size=3, max_size=5), st.sampled_from(sorted(FORMS)))
def test_what_is_no_date_is_none_to_both(first, second, year, order):
    word = order[1].join([first, second, year])
    try:
        expected = datetime.strptime(word, FORMS[order])
    except ValueError:
        expected = None
    assert moment(word, order) == expected


@pytest.mark.parametrize(
    "word", ["31.1.24", "32.01.2024", "29.02.2023", "31.13.2024", "1.2/2024", "31-01-2024", "31.01.2024x",
             "001.01.2024", "31.01.2024 9:30", "31. 1.2024", "٣١.٠١.٢٠٢٤", "01/02/2024"]
)  # fmt: skip
def test_what_is_no_date(word):
    assert moment(word) is None


def test_times_and_zones_may_follow():
    assert moment("31.01.2024 10:30") == datetime(2024, 1, 31, 10, 30)
    assert moment("1/2/2024T10:30:05", "M/D/Y") == datetime(2024, 1, 2, 10, 30, 5)
    assert moment("31/01/2024 00:30+01:00", "D/M/Y") == datetime(2024, 1, 30, 23, 30)


@pytest.mark.parametrize("order", FORMS)
def test_files_say_how_they_were_read(tmp_path, monkeypatch, order):
    words = [written(day, order) for day in DAYS]
    path = csv(tmp_path, [*words, ""])
    expected = Table({"day": stored([*DAYS, None]), "n": np.ones(4)})
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"day": w, "n": 1}) for w in [*words, None]))
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as base:
        base.execute("create table t (day text, n real)")
        base.executemany("insert into t values (?, 1)", [(w,) for w in [*words, None]])
        base.commit()
    tables = [read(tmp_path / name) for name in ("a.csv", "a.jsonl", "a.sqlite")]
    tables.append(read(path, query="select * from t"))
    monkeypatch.setattr(delimited, "_NEEDED", 1e12)
    tables.append(read(path, query="select * from t"))  # as if it were larger than memory
    tables.append(next(batches(path)))
    for table in tables:
        assert table == expected
        assert table.remarks == (f"Dates in 'day' were read as {SPOKEN[order]}.",)
        assert table.orders == {"day": order}


def test_slashes_that_leave_the_order_open_stay_words(tmp_path):
    for words in (["03/04/2024", "12/12/2024"], ["31/01/2024", "01/31/2024"], ["03/04/24", "31/04/24"]):
        table = read(csv(tmp_path, words))
        assert table["day"].tolist() == words and table.remarks == () and table.orders == {}
    with pytest.raises(TableError, match=r"line 2, column 'day': '03/04/2024' is not a date like 2024-01-31"):
        read(csv(tmp_path, ["03/04/2024"]), kinds={"day": "date"})


@pytest.mark.parametrize("order, day", [("D/M/Y", datetime(2024, 4, 3)), ("M/D/Y", datetime(2024, 3, 4))])
def test_the_order_may_be_said(tmp_path, order, day):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = csv(tmp_path, ["03/04/2024"])
    pq.write_table(pa.table({"day": ["03/04/2024"], "n": [1.0]}), tmp_path / "a.parquet")
    tables = [
        read(path, kinds={"day": order}),
        read(path, kinds={"day": order}, query="select * from t"),
        read(tmp_path / "a.parquet", kinds={"day": order}),
        Table.of([{"day": "03/04/2024", "n": 1}], kinds={"day": order}),
        Table.of({"day": [day], "n": [1]}, kinds={"day": order}),
    ]
    for table in tables:
        assert table["day"].tolist() == [day] and table.orders == {"day": order}
        assert len(table.remarks) == 1


def test_two_orders_in_a_file_larger_than_memory(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("us,eu\n" + "01/31/2024,31/01/2024\n03/04/2024,03/04/2024\n")
    monkeypatch.setattr(delimited, "_NEEDED", 1e12)
    table = read(path, query="select * from t")
    assert table.orders == {"us": "M/D/Y", "eu": "D/M/Y"}
    assert table["us"].tolist() == [datetime(2024, 1, 31), datetime(2024, 3, 4)]
    assert table["eu"].tolist() == [datetime(2024, 1, 31), datetime(2024, 4, 3)]


def test_what_is_remembered_goes_with_the_column():
    table = Table.of({"day": ["31/01/2024"], "n": [1]}, kinds={"day": "D/M/Y"})
    assert table.take([0, 0]).orders == {"day": "D/M/Y"}
    assert table.drop("n").orders == {"day": "D/M/Y"}
    assert table.drop("day").orders == {} and table.drop("day").remarks == ()
    assert pickle.loads(pickle.dumps(table)).orders == {"day": "D/M/Y"}
    assert Table.of(table, kinds={"day": "text"}).orders == {}
    remark = DatesRead("a", "M/D/Y")
    assert remark == "Dates in 'a' were read as month/day/year." and type(str(remark)) is str


def test_words_in_memory_that_are_dates():
    table = Table.of(
        {"a": ["31.01.2024", None], "b": ["03/04/2024", "x"], "c": ["31/01/2024"] * 2, "n": [1, 2]}
    )
    made = with_dates(table)
    assert made["a"].tolist() == [datetime(2024, 1, 31), None]
    assert made.orders == {"a": "D.M.Y", "c": "D/M/Y"}
    assert made.select("bn") == table.select("bn")
