"""`mercer demo`: tables as files, and the commands on them."""

import inspect

import numpy as np
import pytest

import mercer.cli.fit
import mercer.cli.predict
from mercer.tables.reading import read


@pytest.fixture
def calls(monkeypatch):
    """What the demo asks of the other commands, which do nothing here."""
    made = []

    def instead_of(module):
        name = module.__name__.rpartition(".")[2]
        signature = inspect.signature(getattr(module, name))

        def command(**options):
            signature.bind(**options)  # as the command itself would take them
            made.append((name, options["table"], options))
            if name == "predict":
                options["output"].write_text("prediction\n")

        monkeypatch.setattr(module, name, command)

    instead_of(mercer.cli.fit)
    instead_of(mercer.cli.predict)
    return made


def test_it_fits_and_predicts_two_tables(call, calls, tmp_path):
    result = call("demo", "--folder", tmp_path / "here", "--minutes", "0.5", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert [(c[0], c[1].name) for c in calls] == [
        ("fit", "breast_cancer.csv"),
        ("predict", "breast_cancer-new.csv"),
        ("fit", "diabetes.csv"),
        ("predict", "diabetes-new.csv"),
    ]
    asked = {"target": "diagnosis", "minutes": 0.5, "seed": 3}
    asked["report"] = tmp_path / "here" / "breast_cancer.html"
    assert calls[0][2] | asked == calls[0][2]
    assert "breast_cancer.csv --target diagnosis --minutes 0.5 --seed 3" in result.stdout.replace("\n", "")


def test_new_rows_took_no_part(call, calls, tmp_path):
    assert call("demo", "--folder", tmp_path, "-q").output == ""
    old, new = read(tmp_path / "diabetes.csv"), read(tmp_path / "diabetes-new.csv")
    assert "progression" in old and "progression" not in new and len(old) + len(new) == 442
    seen = {tuple(row) for row in np.column_stack([old[name] for name in new.names])}
    assert not any(tuple(row) in seen for row in np.column_stack([new[name] for name in new.names]))


def test_a_file_in_the_way(call, calls, tmp_path):
    (tmp_path / "file").write_text("")
    result = call("demo", "--folder", tmp_path / "file")
    assert result.exit_code == 1 and "is a file" in result.stderr and not calls
