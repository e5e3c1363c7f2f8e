"""`mercer report`: the page of a saved model."""

import json
import re
from dataclasses import replace

import mercer


def test_it_writes_the_page(call, fitted, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = call("report", fitted.file)
    assert result.exit_code == 0 and result.stdout == "Report: houses.html\n"
    page = (tmp_path / "houses.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "price" in page
    found = json.loads(call("report", fitted.file, "-o", "other.html", "--json").stdout)
    assert found == {"report": "other.html", "bytes": (tmp_path / "other.html").stat().st_size}
    assert call("report", fitted.file, "-q").output == ""


def test_the_page_of_the_file_is_that_of_the_fit(call, fitted, tmp_path):
    """The file knows all that is on it, the command included."""
    call("report", fitted.file, "-o", tmp_path / "again.html", "-q")
    pages = (path.read_text(encoding="utf-8") for path in (tmp_path / "again.html", fitted.page))
    again, before = (re.sub(r"\bf\d+-", "f-", page) for page in pages)  # figures are counted in a process
    assert again == before


def test_a_model_made_in_python_shows_python(call, fitted, tmp_path):
    evidence = replace(fitted.model.evidence, command=None, source=None)
    mercer.save(replace(fitted.model, evidence=evidence), tmp_path / "m.mercer")
    call("report", tmp_path / "m.mercer", "-o", tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "model = mercer.fit(table, " in page and "mercer fit" not in page


def test_what_cannot_be_done(call, fitted, tmp_path):
    assert call("report", fitted.csv, "-o", tmp_path / "a.html").exit_code == 1
    assert call("report", fitted.file, "-o", fitted.file).exit_code == 1
    assert call("report", fitted.file, "-o", tmp_path / "none" / "a.html").exit_code == 1
    assert call("report").exit_code == 2
    assert not list(tmp_path.iterdir())
