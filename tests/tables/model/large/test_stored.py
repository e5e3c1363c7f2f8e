"""Points on disk are those that the whole table would give."""

import numpy as np
import pytest

from mercer.tables.model.columns import Columns
from mercer.tables.model.large.sides import CHOOSE, LEARN, TEST, Sides
from mercer.tables.model.large.source import LargeTable
from mercer.tables.model.large.stored import Answered, PointsOfRows, keep, share_on_disk
from mercer.tables.reading import Table, read, write


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A table of labels, one of them unknown; how it was kept, and the whole of it."""
    monkeypatch.setattr("mercer.tables.reading.parts._VALUES", 1000)
    rng = np.random.default_rng(0)
    labels = rng.choice(["no", "yes"], 2000).astype(object)
    labels[:3] = "perhaps"
    path = write(Table.of({"x": rng.standard_normal(2000), "y": labels}), tmp_path / "a.parquet")
    whole = read(path)

    def made(share=1.0, columns=True):
        (tmp_path / f"{share}").mkdir()
        answered, sides = Answered("y", np.array(["no", "yes"])), Sides(2000, ["x"])
        columns = Columns().fit(whole.drop("y")) if columns else None
        encoded = PointsOfRows.of(columns, np.zeros(0, int), np.zeros((0, 1))) if columns else None
        rest = encoded, tmp_path / f"{share}", share, lambda text: None
        return keep(LargeTable(path), answered, sides, *rest), sides, columns

    return made, whole


def test_every_row_is_on_its_side(kept):
    made, whole = kept
    found, sides, columns = made()
    side = sides.of(sides.units(whole, np.arange(2000)))
    side[:3] = -1
    assert found.left == 3 and found.learned == (side == LEARN).sum()
    shard = found.rows(100).shard(0)
    points = columns.transform(whole.take(side == LEARN))
    np.testing.assert_array_equal(shard.X, points.astype(np.float32))
    np.testing.assert_array_equal(shard.y, whole["y"][side == LEARN].astype(str))
    assert found.test.table == whole.take(side == TEST)
    assert found.choice.count == (side == CHOOSE).sum()
    assert max(found.rows(1 << 20).sizes) == 128  # so that nobody waits for a shard


def test_rows_of_the_sample_keep_their_points():
    """Columns know their targets: what is made of new rows is not for them."""
    table = Table.of({"x": np.arange(6.0)})
    columns = Columns().fit(table)
    encoded = PointsOfRows.of(columns, np.array([17, 11]), np.array([[7.0], [1.0]]))
    found = encoded(table, np.array([10, 11, 12, 16, 17, 18]))
    expected = columns.transform(table)
    expected[[1, 4], 0] = 1.0, 7.0
    np.testing.assert_array_equal(found, expected)


def test_a_share_of_the_rows_if_the_disk_is_small(kept):
    made, _ = kept
    whole, part = made()[0], made(0.3)[0]
    assert 0.25 < part.learned / whole.learned < 0.35 and part.test.table == whole.test.table
    assert made(0.9, columns=False)[0].folder is None


def test_the_disk_decides_about_the_share(tmp_path, monkeypatch):
    def disk(free):
        usage = type("Usage", (), {"free": free, "total": 10**12})
        monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
        return share_on_disk(tmp_path, 10**9, 9)

    assert disk(10**12) == 1 and disk(10**9) == 0
    assert disk(76 * 10**9) == pytest.approx(0.5)  # 5 % stay free, 52 bytes a row


def test_targets():
    numbers, known = Answered("y", None).of(np.array([1.5, 2.0]))
    assert numbers.tolist() == [1.5, 2.0] and known.all()
    words = Answered("y", np.array(["0.5", "1"]))
    y, known = words.of(np.array([1.0, 0.5, 3.0]))
    assert y[known].tolist() == ["1", "0.5"] and known.tolist() == [True, True, False]
