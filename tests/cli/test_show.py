"""A model in a terminal."""

import io

from rich.console import Console

from mercer.cli.show import number, show_columns, show_model, size, table


def test_numbers_as_people_write_them():
    assert [number(v) for v in (156_789.0, 0.012345, -3.0, 0.0, 1.2e-9, 4.56e12)] == [
        "157,000",
        "0.0123",
        "-3",
        "0",
        "1.2e-09",
        "4.56e+12",
    ]
    assert [size(n) for n in (12, 29_840, 12_345_678, 3 * 10**9)] == [
        "12 bytes",
        "29.8 kB",
        "12.3 MB",
        "3 GB",
    ]


def test_names_are_never_taken_for_markup():
    out = io.StringIO()
    Console(file=out, width=80).print(table("[b]t[/b]", ["[red]a"], [["[/x] [link]"]]))
    assert "[b]t[/b]" in out.getvalue() and "[red]a" in out.getvalue() and "[/x] [link]" in out.getvalue()


def test_it_fits_into_a_terminal(fitted):
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, no_color=True)
    show_model(console, fitted.model)
    show_columns(console, fitted.model.schema.columns, fitted.model.evidence.dropped)
    lines = Console(file=io.StringIO()).render_str(out.getvalue()).plain.splitlines()
    mercer = next(line for line in lines if "mercer " in line)
    assert mercer.count("]") >= 3  # three scores with their intervals, in one line
