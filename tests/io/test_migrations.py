"""Files of other versions of the format."""

import json
import zipfile

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.io import ModelFileError, load, migrations, save
from mercer.kernels import Gaussian


@pytest.fixture
def path(tmp_path):
    save(
        KernelRidge(Gaussian(1.0), lam=0.1, offset=False).fit([[0.0], [1.0]], [0.0, 1.0]),
        tmp_path / "a.mercer",
    )
    return tmp_path / "a.mercer"


def test_this_is_the_second_format(path):
    assert migrations.VERSION == 2 and set(migrations.MIGRATIONS) == {1}
    with zipfile.ZipFile(path) as z:
        assert json.loads(z.read("model.json"))["version"] == 2


def test_older_files_are_brought_up_to_date_one_version_at_a_time(path, monkeypatch):
    """In a future where two more formats came after this one."""
    before = load(path).predict([[0.3]])
    seen = []

    def two_to_three(structure):
        assert structure["version"] == 2
        seen.append("one")
        rows = [{**r, "was": r.get("class")} if r["kind"] == "object" else r for r in structure["objects"]]
        return {**structure, "objects": rows}

    def three_to_four(structure):
        assert structure["version"] == 3
        seen.append("two")
        rows = [{k: v for k, v in r.items() if k != "was"} for r in structure["objects"]]
        return {**structure, "objects": rows}

    monkeypatch.setattr(migrations, "VERSION", 4)
    monkeypatch.setattr(migrations, "MIGRATIONS", {2: two_to_three, 3: three_to_four})
    assert np.array_equal(load(path).predict([[0.3]]), before)
    assert seen == ["one", "two"]


def test_a_migration_that_fails_is_an_error_of_the_file(path, monkeypatch):
    monkeypatch.setattr(migrations, "VERSION", 3)
    monkeypatch.setattr(migrations, "MIGRATIONS", {2: lambda structure: structure["nothing"]})
    with pytest.raises(ModelFileError, match="makes no sense"):
        load(path)


@pytest.mark.parametrize(
    "version, match",
    [
        (3, "of format 3, written by mercer 9.9.*install a newer mercer"),
        (0, "which format"),
        ("1", "which format"),
    ],
)
def test_versions(version, match):
    with pytest.raises(ModelFileError, match=match):
        migrations.up_to_date({"version": version, "mercer": "9.9"})


def test_newer_files_are_refused(path, monkeypatch):
    monkeypatch.setattr("mercer.io.files.VERSION", 7)
    save(Gaussian(1.0), path)
    with pytest.raises(
        ModelFileError, match=r"a\.mercer: it is of format 7.*reads up to 2: install a newer mercer"
    ):
        load(path)
