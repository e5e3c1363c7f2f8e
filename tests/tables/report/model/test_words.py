"""Numbers and commands as a reader wants them."""

import pytest

from mercer.tables.report.model.words import amount, file_name, percent


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


def test_file_name():
    assert file_name("a/b\\c.csv") == "c.csv" and file_name("c.csv") == "c.csv"
