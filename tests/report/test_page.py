"""The page: well-formed, escaped, self-contained, written in one step."""

import os
import stat

import pytest

from mercer import plot
from mercer.report import Report
from mercer.report.page import write_atomically

HOSTILE = "<script>alert('x')</script> & \"quotes\" </style></title><img src=x onerror=alert(1)>"


def _page():
    page = Report(HOSTILE, HOSTILE)
    page.section(HOSTILE).text(HOSTILE, "two").code(HOSTILE).facts([(HOSTILE, HOSTILE)])
    page.table([HOSTILE, "n"], [[HOSTILE, 1], [None, 2.5]], HOSTILE, strong=[1])
    ax = plot.predicted_vs_true([1.0, 2.0], [1.0, 2.0], plot.axes(), label=HOSTILE)
    ax.set_title(HOSTILE)
    return page.section("Second").figure(ax, HOSTILE)


def test_page_is_well_formed_and_escaped(parse):
    page = parse(_page().html())
    assert page.tags.count("svg") == 1 and page.tags.count("table") == 1 and page.tags.count("h1") == 1
    assert "script" not in page.tags and "img" not in page.tags
    # Shown as it is: title, lead, heading, menu, text, code, facts, table, caption, figure.
    assert "".join(page.text).count(HOSTILE) >= 12


def test_page_fetches_nothing(parse):
    text = _page().html()
    assert all(link.startswith(("#", "data:")) for link in parse(text).links)
    assert "http:" not in text and "https:" not in text and "@import" not in text
    assert "Content-Security-Policy" in text and "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text and "@media print" in text and 'name="viewport"' in text


def test_menu_leads_to_the_sections(parse):
    text = _page().html()
    links = [link for link in parse(text).links if link.startswith("#s")]
    assert len(links) == 2 and all(f'id="{link[1:]}"' in text for link in links)
    assert "<nav>" not in Report("one").section("only").text("x").html()


def test_numbers_are_aligned():
    rows = [["a", "0.50 ± 0.10", "1.2·10⁻⁵", "—", "12 %"], ["1b", "-0.49", "7", "3", "1,000"]]
    text = Report("t").table("vwxyz", rows).html()
    assert text.count("<th>") == 1 and text.count("<th class=n>") == 4
    with pytest.raises(ValueError, match="a row has 1 cells"):
        Report("t").table(["a", "b"], [["x"]])


def test_content_without_a_section():
    assert "<h2>" not in Report("t").text("alone").html()


def test_write(tmp_path):
    file = tmp_path / "page.html"
    assert Report("Größe λ").write(file) == file
    assert "Größe λ" in file.read_text(encoding="utf-8")
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "page.html"
    file.write_text("old")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(file, "new")
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["page.html"]


def test_write_keeps_mode_and_link(tmp_path):
    file, link = tmp_path / "page.html", tmp_path / "link.html"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_atomically(link, "new")
    assert link.is_symlink() and file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
