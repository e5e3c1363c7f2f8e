"""Quantiles, one level or several: targets, order, errors. The laws of all losses are in test_laws.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.losses import Quantile
from mercer.testing import check_loss

LEVELS = (0.5, 0.1, 0.9)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.99])
def test_the_minimum_is_the_quantile(q):
    """Over constants, the pinball loss is least at the empirical quantile."""
    y = np.random.default_rng(0).exponential(size=401)
    grid = np.linspace(0, 8, 4001)
    cost = Quantile(q).value(np.repeat(y[:, None], 4001, axis=1), np.tile(grid, (401, 1))).mean(axis=0)
    assert grid[cost.argmin()] == pytest.approx(np.quantile(y, q, method="inverted_cdf"), abs=2e-3)


def test_values_by_hand():
    loss = Quantile(LEVELS)
    y, s = np.full((1, 3), 2.0), np.array([[1.0, 1.0, 5.0]])
    assert loss.value(y, s) == pytest.approx(np.array([[0.5, 0.1, 0.3]]))
    assert loss.grad(y, s) == pytest.approx(np.array([[-0.5, -0.1, 0.1]]))
    assert loss.grad(y, y) == pytest.approx(np.zeros((1, 3)))


def test_columns_are_levels():
    rng = np.random.default_rng(0)
    y, s = rng.normal(size=(2, 20, 3))
    many = Quantile(LEVELS)
    for j, q in enumerate(LEVELS):
        one = Quantile(q)
        for name in ("value", "grad", "conjugate"):
            together, alone = (getattr(v, name)(y, s)[:, j] for v in (many, one))
            assert np.array_equal(together, alone)
        form, single = many.dual(y), one.dual(y)
        assert np.array_equal(form.lower[:, j], single.lower[:, j])
        assert np.array_equal(form.upper[:, j], single.upper[:, j])


def test_laws_with_several_levels():
    check_loss(Quantile([0.2, 0.5, 0.7]))


def test_targets_are_repeated_for_every_level():
    for y in ([3.0, 1.0], [[3.0], [1.0]]):
        targets, coding = Quantile(LEVELS).encode(y)
        assert np.array_equal(targets, [[3, 3, 3], [1, 1, 1]])
        assert coding.n_outputs == 3 and not coding.one_dimensional
        assert coding.decode(np.array([[2.0, 1, 3], [0, 0, 0]])).shape == (2, 3)
    targets, coding = Quantile(0.3).encode([3.0, 1.0])
    assert targets.shape == (2, 1) and coding.one_dimensional
    # A list of one level is several levels, of which there is one: predictions have a column.
    targets, coding = Quantile([0.3]).encode([3.0, 1.0])
    assert targets.shape == (2, 1) and not coding.one_dimensional


def test_one_level_takes_several_outputs():
    targets, coding = Quantile(0.3).encode([[1.0, 2.0], [3.0, 4.0]])
    assert targets.shape == (2, 2) and coding.n_outputs == 2


@given(
    scores=arrays(np.float64, (6, 4), elements=st.floats(-1e6, 1e6)),
    q=st.lists(st.floats(0.01, 0.99), min_size=4, max_size=4, unique=True),
)
def test_predictions_are_in_the_order_of_the_levels(scores, q):
    out = Quantile(q).link(scores)
    order = np.argsort(q)
    assert (np.diff(out[:, order], axis=1) >= 0).all()
    # The same numbers, in another order; what is in order stays.
    assert np.array_equal(np.sort(out, axis=1), np.sort(scores, axis=1))
    assert np.array_equal(Quantile(q).link(out), out)


@given(
    seed=st.integers(0, 2**32 - 1),
    q=st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3, unique=True),
)
def test_order_never_costs(seed, q):
    """Chernozhukov, Fernández-Val and Galichon: at every point the summed pinball loss can only fall."""
    rng = np.random.default_rng(seed)
    y, s = np.repeat(rng.normal(size=(50, 1)), 3, axis=1), rng.normal(size=(50, 3))
    loss = Quantile(q)
    before, after = loss.value(y, s).sum(axis=1), loss.value(y, loss.link(s)).sum(axis=1)
    assert (after <= before + 1e-12).all()


def test_order_leaves_the_scores_alone_and_their_precision():
    s = np.array([[3.0, 2.0, 1.0]], np.float32)
    out = Quantile([0.1, 0.5, 0.9]).link(s)
    assert np.array_equal(s, [[3, 2, 1]]) and np.array_equal(out, [[1, 2, 3]]) and out.dtype == np.float32


@pytest.mark.parametrize(
    "q", [0, 1, -0.1, 1.5, np.nan, np.inf, "half", None, [], [0.1, 1.0], [[0.1, 0.2]], ["a"], [0.5, None]]
)
def test_levels_lie_between_0_and_1(q):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        Quantile(q).validate()


def test_levels_differ():
    with pytest.raises(ValueError, match="the levels must differ"):
        Quantile([0.1, 0.5, 0.1]).validate()


def test_several_levels_need_one_target():
    with pytest.raises(ValueError, match="several quantiles need one target an example"):
        Quantile(LEVELS).encode(np.ones((4, 2)))
    with pytest.raises(ValueError, match="there are 3 levels, so targets and scores need as many columns"):
        Quantile(LEVELS).value(np.ones((4, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        Quantile(LEVELS).encode([1.0, np.nan])


def test_value_object():
    assert Quantile(LEVELS) == Quantile((0.5, 0.1, 0.9)) != Quantile([0.5, 0.1])
    assert eval(repr(Quantile([0.1, 0.9]))) == Quantile([0.1, 0.9])
