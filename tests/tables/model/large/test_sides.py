"""The side of a row depends on what it holds, and on nothing else."""

import numpy as np

from mercer.tables.model.large.sides import CHOOSE, LEARN, TEST, Sides
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
N = 5000
TABLE = Table.of(
    {
        "x": RNG.standard_normal(N).round(2) + 0.0,  # no −0
        "word": RNG.choice(["a", "b", None], N),
        "day": np.datetime64("2024-01-01") + RNG.integers(0, 3, N),
        "person": RNG.integers(0, 300, N).astype(float),
    }
)
ROWS = np.arange(N)


def test_parts_and_processes_do_not_matter():
    """Words get the same bits wherever they come first."""
    names = ["x", "word", "day"]
    whole = Sides(N, names).units(TABLE, ROWS)
    late = Sides(N, names)
    halves = [late.units(TABLE.take(half), half) for half in (ROWS[2500:], ROWS[:2500])]
    np.testing.assert_array_equal(whole, np.concatenate(halves[::-1]))
    keys = [tuple(row) for row in zip(*(TABLE[name].astype(str) for name in names), strict=True)]
    assert len(set(whole.tolist())) == len(set(keys)) < N  # equal where rows are equal, and only there


def test_groups_stay_together_and_gaps_stand_alone():
    person = TABLE["person"].copy()
    person[:50] = np.nan
    sides = Sides(N, [], "person")
    units = sides.units(Table({**TABLE.columns, "person": person}), ROWS)
    side = sides.of(units)
    assert all(len(set(side[person == p])) == 1 for p in range(300) if (person == p).any())
    assert len(set(units[:50].tolist())) == 50


def test_shares_are_as_stated_and_follow_the_seed():
    side = Sides(N, [], seed=3).of(ROWS.astype(np.uint64))
    shares = [np.mean(side == which) for which in (LEARN, CHOOSE, TEST)]
    np.testing.assert_allclose(shares, [0.7, 0.1, 0.2], atol=0.02)
    assert (Sides(N, [], seed=4).of(ROWS.astype(np.uint64)) != side).any()
    assert Sides(10**8, []).tested == 4000 and Sides(100, []).tested == 25
