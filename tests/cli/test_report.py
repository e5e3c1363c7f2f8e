"""`mercer report`: the page of a saved model."""

import json


def test_it_writes_the_page(call, fitted, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = call("report", fitted.file)
    assert result.exit_code == 0 and result.stdout == "Report: houses.html\n"
    page = (tmp_path / "houses.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "price" in page
    found = json.loads(call("report", fitted.file, "-o", "other.html", "--json").stdout)
    assert found == {"report": "other.html", "bytes": (tmp_path / "other.html").stat().st_size}
    assert call("report", fitted.file, "-q").output == ""


def test_what_cannot_be_done(call, fitted, tmp_path):
    assert call("report", fitted.csv, "-o", tmp_path / "a.html").exit_code == 1
    assert call("report", fitted.file, "-o", fitted.file).exit_code == 1
    assert call("report", fitted.file, "-o", tmp_path / "none" / "a.html").exit_code == 1
    assert call("report").exit_code == 2
    assert not list(tmp_path.iterdir())
