"""Objects as a flat table: sharing, references, limits."""

import copy

import numpy as np
import pytest

from mercer.io import codec
from mercer.io.codec import Decoder, Encoder
from mercer.io.errors import ModelFileError
from mercer.kernels import Gaussian, Linear


def travel(x):
    encoder = Encoder()
    said = encoder.value(x, "it")
    return Decoder(copy.deepcopy(encoder.rows), encoder.arrays).root(said)


def test_scalars():
    for x in (None, True, False, 0, -(10**40), 1.0, -0.0, 1e-320, "", "λ\ud800"):
        assert travel(x) == x and type(travel(x)) is type(x)
    assert np.signbit(travel(-0.0))
    assert travel([np.inf, -np.inf]) == [np.inf, -np.inf] and np.isnan(travel(np.nan))


def test_the_same_object_is_the_same_again():
    k, a = Gaussian(1.0), np.arange(4.0)
    out = travel([k, (k, a), {"a": a, "b": a[:, None], "c": a.copy()}, Gaussian(1.0)])
    assert out[0] is out[1][0] and out[0] is not out[3] and out[0] == out[3]
    assert out[1][1] is out[2]["a"]
    assert np.shares_memory(out[2]["a"], out[2]["b"]) and not np.shares_memory(out[2]["a"], out[2]["c"])


def test_memory_is_stored_once_unless_it_lies_differently():
    a = np.arange(6.0).reshape(2, 3)
    encoder = Encoder()
    encoder.value([a, a.ravel(), a.reshape(3, 2), a.T, a[:, :2], np.empty(0), np.empty((0, 3))], "it")
    # a with its reshapes, its transpose, a part of it, and two that have no memory
    assert len(encoder.arrays) == 5
    out = travel([a, a.T, a[:, ::2]])
    assert np.array_equal(out[1], a.T) and out[1].flags.f_contiguous
    assert np.array_equal(out[2], a[:, ::2])


def test_what_is_part_of_itself_is_refused():
    x = [1]
    x.append({"x": x})
    with pytest.raises(ModelFileError, match=r"it\[1\]\['x'\] is part of itself"):
        travel(x)


def test_depth_and_size_are_bounded_both_ways():
    x = ()
    for _ in range(codec._DEEPEST - 1):
        x = (x,)
    assert travel(x) == x
    for deeper in ((x,), [x, x]):
        with pytest.raises(ModelFileError, match="nested more than 100 deep"):
            travel(deeper)
    heavy = ()
    for _ in range(30):
        heavy = (heavy, heavy)
    with pytest.raises(ModelFileError, match="more than 300,000 parts"):
        travel(heavy)
    k = Linear()
    for _ in range(12):
        k = k + k
    assert travel(k) == k


ROW = {"kind": "list", "items": []}


@pytest.mark.parametrize(
    "rows, root, match",
    [
        (None, 1, "no table"),
        ([ROW], {"@": 1}, "not there yet"),
        ([{"kind": "list", "items": [{"@": 0}]}], {"@": 0}, "not there yet"),
        ([{"kind": "list", "items": [{"@": 1}]}, ROW], {"@": 1}, "not there yet"),
        ([ROW], {"@": -1}, "not there yet"),
        ([ROW], {"@": True}, "part of nothing"),
        ([ROW], None, "part of nothing"),
        ([], {"@": 0.0}, "neither a value nor a reference"),
        ([], [], "neither a value nor a reference"),
        ([], {"float": "1.0"}, "neither a value nor a reference"),
        ([], {"float": "inf", "@": 0}, "not there yet"),
        ([{"kind": "os.system", "items": []}], {"@": 0}, "unknown kind 'os.system'"),
        ([{"kind": [], "items": []}], {"@": 0}, "unhashable"),
        ([5], {"@": 0}, "unknown kind 5"),
        ([{"kind": "list"}], {"@": 0}, "other entries"),
        ([{"kind": "list", "items": [], "more": 1}], {"@": 0}, "other entries"),
        ([{"kind": "list", "items": {}}], {"@": 0}, "where a list should be"),
    ],
)
def test_tables_that_make_no_sense(rows, root, match):
    with pytest.raises((ModelFileError, TypeError), match=match):
        Decoder(rows, []).root(root)
