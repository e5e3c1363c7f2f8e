"""Every kind there and back, and wrong entries refused."""

import datetime
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.io.codec import BY_NAME, Decoder, Encoder
from mercer.io.errors import ModelFileError


def travel(x, edit=lambda rows: None):
    encoder = Encoder()
    said = encoder.value(x, "it")
    edit(encoder.rows)
    return Decoder(encoder.rows, encoder.arrays).root(said)


def test_containers():
    x = {"a": [1, (2.5, None)], 3: (), True and 2.5: {}, (1, "b"): slice(1, None, -2), None: [[]]}
    assert travel(x) == x and list(travel(x)) == list(x)


def test_bytes():
    x = [b"", bytes(range(256))]
    assert travel(x) == x
    for wrong in (7, "λ"):
        with pytest.raises(ModelFileError, match="bytes are given as something else"):
            travel(b"a", lambda rows, wrong=wrong: rows[0].update(text=wrong))


SCALARS = [
    np.float64(0.1),
    np.float32(0.1),
    np.float16(np.nan),
    np.int8(-3),
    np.uint64(2**64 - 1),
    np.bool_(True),
]
SCALARS += [np.str_("λ"), np.str_(""), np.bytes_(b"\x00\xff"), np.datetime64("2024-02-29T12:00:00.5", "ms")]
SCALARS += [np.datetime64("NaT", "s"), np.timedelta64(-5, "D"), np.float64(-np.inf)]


@pytest.mark.parametrize("x", SCALARS, ids=repr)
def test_scalars(x):
    other = travel(x)
    assert type(other) is type(x) and np.asarray(other).tobytes() == np.asarray(x).tobytes()
    assert np.asarray(other).dtype == np.asarray(x).dtype or x == np.str_("")


@pytest.mark.parametrize(
    "dtype, value",
    [("<f8", 1), ("<i8", 1.0), ("|b1", 1), ("<U1", 5), ("|i1", 300), ("<i8", True), ("|O", "x")],
)
def test_scalars_of_wrong_types(dtype, value):
    with pytest.raises((ModelFileError, OverflowError)):
        travel(np.float64(1), lambda rows: rows[0].update(dtype=dtype, value=value))


def test_arrays_of_objects():
    x = np.array([["a", None, 3], ["λ", 2.5, (1, 2)]], dtype=object)
    other = travel(x)
    assert other.dtype == object and other.shape == (2, 3) and other.tolist() == x.tolist()
    inner = np.empty(2, object)
    inner[:] = [np.arange(3.0), np.arange(2.0)]
    assert [v.tolist() for v in travel(inner)] == [[0, 1, 2], [0, 1]]
    with pytest.raises(ModelFileError, match="has 6 items"):
        travel(x, lambda rows: rows[-1].update(shape=[1 << 40]))


@pytest.mark.parametrize(
    "x", [sp.csr_matrix(np.eye(3)), sp.csr_array((4, 2)), sp.coo_array(np.tri(3, dtype="f4"))]
)
def test_sparse(x):
    other = travel(x)
    assert isinstance(other, sp.csr_matrix) == isinstance(x, sp.spmatrix) and other.format == "csr"
    assert other.shape == x.shape and other.dtype == x.dtype and (other.toarray() == x.toarray()).all()


@pytest.mark.parametrize(
    "name, numbers", [("indices", [0, 9, 2]), ("indices", [0, -1, 2]), ("indptr", [0, 3, 1, 3])]
)
def test_sparse_indices_stay_inside(name, numbers):
    """SciPy's loops would read and write outside their arrays."""

    def wrong(rows):
        rows.insert(0, {"kind": "array", "array": 3, "shape": [len(numbers)]})
        for row in rows[1:]:
            for key, said in row.items():
                if isinstance(said, dict):
                    row[key] = {"@": said["@"] + 1}
        rows[-1][name] = {"@": 0}
        rows[-2 if name == "indptr" else -3].update()

    encoder = Encoder()
    encoder.value(sp.csr_array(np.eye(3)), "it")
    wrong(encoder.rows)
    encoder.arrays.append(np.array(numbers, dtype=np.int32))
    # The array that is replaced must be of use all the same.
    encoder.rows.append({"kind": "list", "items": [{"@": i} for i in range(len(encoder.rows))]})
    with pytest.raises(ValueError):
        Decoder(encoder.rows, encoder.arrays).root({"@": len(encoder.rows) - 1})


GENERATORS = ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"]


@pytest.mark.parametrize("name", GENERATORS)
def test_random_generators(name):
    x = np.random.Generator(getattr(np.random, name)(5))
    x.integers(10, size=3, dtype=np.uint32)
    other = travel(x)
    assert np.array_equal(x.normal(size=9), other.normal(size=9))


def test_random_states():
    x = np.random.RandomState(5)
    x.normal()  # one more is waiting inside
    other = travel(x)
    assert np.array_equal(x.normal(size=9), other.normal(size=9))


def test_random_states_that_make_no_sense():
    def position(rows):
        row = next(r for r in rows if r["kind"] == "dict" and r["items"][-1][0] == "pos")
        row["items"][-1][1] = 10**6

    def name(rows):
        row = next(r for r in rows if r["kind"] == "dict" and r["items"][0][0] == "bit_generator")
        row["items"][0][1] = "seed"

    for edit, match in ((position, "makes no sense"), (name, "NumPy does not have")):
        with pytest.raises(ModelFileError, match=match):
            travel(np.random.RandomState(5), edit)


def test_slices_of_wrong_types():
    with pytest.raises(ModelFileError, match="other things than whole numbers"):
        travel(slice(1), lambda rows: rows[0].update(items=[1, 2, "x"]))


class Odd(np.ndarray):
    """An array of another class, whose behaviour a file could not keep."""


@pytest.mark.parametrize(
    "x", [bytearray(b"bytes"), {1}, 1j, datetime.date(2024, 1, 1), object(), range(3), np.eye(1).view(Odd)]
)
def test_things_without_a_kind(x):
    with pytest.raises(ModelFileError, match="which files have no form for"):
        travel(x)


def test_arrays_in_shapes_they_have_not():
    x = np.arange(6.0).reshape(2, 3)
    for entries in ({"shape": [7]}, {"array": 1}, {"array": True}, {"array": -1}, {"shape": None}):
        with pytest.raises(ValueError):
            travel(x, lambda rows, entries=entries: rows[0].update(entries))
    with pytest.raises(ModelFileError, match="its data have not"):
        travel(x.T, lambda rows: rows[0].update(shape=[6]))


def test_names_are_unique():
    assert len(BY_NAME) == 15


@pytest.mark.parametrize("dtype", ["<U99999999", "|S99999999", "<U1000"])
def test_no_room_is_made_for_text_that_is_not_there(dtype):
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="has 1 characters"):
            travel(np.str_("a"), lambda rows: rows[0].update(dtype=dtype))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_keys_that_collide_are_refused():
    """Multiples of 2⁶¹ − 1 all have the hash 0, and a dict of n of them takes n²/2 comparisons."""
    keys = [k * sys.hash_info.modulus for k in range(2000)]
    with pytest.raises(ModelFileError, match="chosen to make it slow"):
        travel(dict.fromkeys(keys, 1))
    few = dict.fromkeys(keys[:16], 1)
    assert travel(few) == few
    usual = {**dict.fromkeys(range(2000), 1), -1: 0, -2: 0, 1.5: 0, "a": 0, (1, "b"): 0}
    assert travel(usual) == usual
