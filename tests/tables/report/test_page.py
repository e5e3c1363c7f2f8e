"""The page: well-formed, escaped, self-contained, written in one step."""

import os
import stat

import pytest

from mercer import plot
from mercer.tables.model.evidence import Importance
from mercer.tables.report import Report

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


def test_what_catches_the_eye(parse):
    page = Report("t").tiles([(HOSTILE, HOSTILE, HOSTILE)]).note(HOSTILE, warn=True)
    page.table(["a"], [[1]], more=HOSTILE)
    text = page.html()
    read = parse(text)
    assert "".join(read.text).count(HOSTILE) == 5 and "script" not in read.tags
    assert '<aside class="warn">' in text


def test_letters_that_stand_alone_are_variables(parse):
    text = Report("t").formula("exp(−r²/2) < xⱼ", HOSTILE).html()
    assert "exp(−<i>r</i>²/2) &lt; <i>x</i>ⱼ<br>" in text
    assert HOSTILE in "".join(parse(text).text)


def test_side_by_side(parse):
    page = Report("t").section("one")
    with page.beside():
        page.text("left", "below").table(["a"], [["right"]])
    text = page.text("after").html()
    parse(text)
    inside = text.split('<div class="beside">')[1].split("<p>after")[0]
    assert inside.count("<div><p>left</p>\n<p>below</p></div>") == 1 and "right" in inside
    page = Report("t")
    with pytest.raises(ValueError, match="cells"), page.beside():
        page.table(["a", "b"], [["x"]])
    assert "<p>whole</p>" in page.text("whole").html()


def test_per_cent_stays_with_its_number():
    text = Report("95 % sure").text("95 % sure").code("95 % sure").html()
    assert "<p>95\xa0% sure" in text and "<pre>95 % sure" in text


def test_what_no_page_may_hold(tmp_path, parse):
    ax = plot.importance([Importance("a\x01\ud800b", 1.0, 0.0, None)], plot.axes())
    page = Report("null\x00, half a letter \ud800").figure(ax, "a\x08b")
    text = page.write(tmp_path / "page.html").read_text(encoding="utf-8")
    parse(text)
    assert "null�, half a letter �" in text and "a��b" in text and "\x08" not in text


def test_letters_that_matplotlib_lacks():
    # Warnings are errors here: a column in Chinese must not give one.
    ax = plot.importance([Importance("価格 😀", 1.0, 0.0, None)], plot.axes())
    assert "価格 😀" in Report("t").figure(ax, "").html()


def test_figures_are_as_large_as_their_text_asks():
    text = Report("t").figures([(plot.axes(3, 2), "a"), (plot.axes(2, 2), "b")]).html()
    assert "max-width:21.3rem" in text and "max-width:14.2rem" in text


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
        Report("new").write(file)
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["page.html"]


def test_write_keeps_mode_and_link(tmp_path):
    file, link = tmp_path / "page.html", tmp_path / "link.html"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    Report("new").write(link)
    assert link.is_symlink() and "<h1>new</h1>" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
