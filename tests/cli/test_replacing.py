"""Nothing is replaced that the command did not make, unless --force is said."""

import gzip

import numpy as np
import pytest

import mercer


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2)).round(3)
    for name in ("a", "b"):
        mercer.tables.write(
            mercer.tables.Table.of({"x": x[:, 0], "z": x[:, 1], "y": x.sum(axis=1)}), f"{name}.csv"
        )
    return tmp_path


def refused(result, name):
    assert (
        result.exit_code == 1 and f"{name} is there already" in result.stderr and "--force" in result.stderr
    )


FIT = ("--minutes", 0.01, "-q")


def test_what_fit_leaves_and_replaces(call, here):
    assert call("fit", "a.csv", "-t", "y", "-o", "m.mercer", *FIT).exit_code == 0
    assert (here / "m.html").exists() and not (here / "a.html").exists()  # the page goes with the model
    model, page = (here / "m.mercer").read_bytes(), (here / "m.html").read_bytes()
    for command in (
        ("fit", "b.csv", "-t", "y", "-o", "m.mercer", *FIT),
        ("fit", "a.csv", "-t", "x", "-o", "m.mercer", *FIT),
        ("stream", "a.csv", "-t", "y", "-o", "m.mercer", "-q"),
        ("stream", "a.csv", "-t", "y", "--checkpoint", "m.mercer", "-q"),
    ):
        refused(call(*command), "m.mercer")
    refused(call("fit", "b.csv", "-t", "y", "-o", "n.mercer", "--report", "m.html", *FIT), "m.html")
    assert (here / "m.mercer").read_bytes() == model and (here / "m.html").read_bytes() == page
    assert not (here / "n.mercer").exists()
    # The same table and target: its own.
    assert call("fit", "a.csv", "-t", "y", "-o", "m.mercer", *FIT).exit_code == 0
    assert call("report", "m.mercer", "-q").exit_code == 0
    (here / "m.html").write_text("<html>somebody's</html>")
    refused(call("report", "m.mercer", "-q"), "m.html")
    refused(call("fit", "a.csv", "-t", "y", "-o", "m.mercer", *FIT), "m.html")
    assert call("report", "m.mercer", "-q", "--force").exit_code == 0
    # Predictions and graphs do not say what they are of.
    for command, name in (
        (("predict", "m.mercer", "b.csv", "-o", "out.csv"), "out.csv"),
        (("export", "m.mercer", "-q"), "m.onnx"),
    ):
        if command[0] == "export":
            pytest.importorskip("onnx")
        assert call(*command).exit_code == 0
        refused(call(*command), name)
        assert call(*command, "--force").exit_code == 0
    assert call("stream", "a.csv", "-t", "y", "-o", "m.mercer", "-q", "--force").exit_code == 0
    assert isinstance(mercer.load("m.mercer"), mercer.tables.Streamed)


def test_a_stream_goes_on_with_its_own_files(call, here):
    files = ("--checkpoint", "c.mercer", "--predictions", "p.csv", "-q")
    first = ("stream", "a.csv", "-t", "y", *files)
    assert call(*first, "--limit", 20).exit_code == 0
    for name in ("a.mercer", "c.mercer", "p.csv"):
        assert (here / name).exists()
    refused(call(*first), "a.mercer")
    assert call(*first, "--resume").exit_code == 0
    assert len((here / "p.csv").read_text().splitlines()) == 41
    # Another file in the place of one's own.
    (here / "p.csv").write_text("mine\n")
    refused(call(*first, "--resume"), "p.csv")
    assert (here / "p.csv").read_text() == "mine\n"
    (here / "p.csv").unlink()
    (here / "a.mercer").write_bytes(gzip.compress(b"mine"))
    refused(call(*first, "--resume"), "a.mercer")


def test_links_and_folders_of_others(call, here):
    (here / "dangling.mercer").symlink_to(here / "nowhere")
    refused(call("stream", "a.csv", "-t", "y", "-o", "dangling.mercer", "-q"), "dangling.mercer")
    (here / "mine").mkdir()
    (here / "mine" / "diabetes.csv").write_text("a,b\n")
    result = call("demo", "--folder", "mine", "--minutes", 0.01, "-q")
    assert result.exit_code == 1 and "--force" in result.stderr
    assert [f.name for f in (here / "mine").iterdir()] == ["diabetes.csv"]
