"""Numbers and commands as a reader wants them."""

import pytest

from mercer.report.model.words import amount, file_name, percent, without_folders


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0"), (346.0, "346"), (2019.0, "2019"), (1234.56, "1235"), (12345.6, "12,300"),
        (999.9, "1000"),
        (54.04, "54.0"), (-0.5, "−0.500"), (1e-9, "1.0·10⁻⁹"), (-3.2e10, "−3.2·10¹⁰"), (None, "—"),
        (float("nan"), "—"), (float("inf"), "∞"), (float("-inf"), "−∞"),
    ],
)  # fmt: skip
def test_amount(value, text):
    assert amount(value) == text


def test_percent():
    assert percent(-0.25, 0) == "−25\xa0%" and percent(1.0) == "100.0\xa0%"


@pytest.mark.parametrize(
    "command, shown",
    [
        ("mercer fit ../data/a.csv -o /tmp/x/model", "mercer fit a.csv -o model"),
        ("mercer fit 'C:\\data\\my table.csv' --output=/home/me/m", "mercer fit 'my table.csv' --output=m"),
        ("mercer fit '/home/me/my data/a b.csv'", "mercer fit 'a b.csv'"),
        ("mercer fit a.db --query 'select x/y from t'", "mercer fit a.db --query 'select x/y from t'"),
        ("mercer fit ~/a.csv 'unclosed", "mercer fit a.csv ''\"'\"'unclosed'"),
        ("mercer fit folder/", "mercer fit folder/"),
    ],
)
def test_folders_are_nobodys_business(command, shown):
    assert without_folders(command) == shown


def test_file_name():
    assert file_name("a/b\\c.csv") == "c.csv" and file_name("c.csv") == "c.csv"
