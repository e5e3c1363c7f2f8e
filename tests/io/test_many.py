"""Many small things as few arrays: there and back, and wrong entries refused."""

import numpy as np
import pytest

from mercer.graphs import Graph
from mercer.io import codec
from mercer.io.codec import Decoder, Encoder
from mercer.io.errors import ModelFileError


def listed(items):
    out = np.empty(len(items), object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def still(array):
    array.flags.writeable = False
    return array


def travel(x, edit=lambda rows: None):
    encoder = Encoder()
    said = encoder.value(x, "it")
    edit(encoder.rows)
    return encoder, Decoder(encoder.rows, encoder.arrays).root(said)


TABLE = still(np.arange(12.0).reshape(6, 2))
WORDS = still(listed(["ab", "", "c"]))
THINGS = {
    "bytes": [b"", bytes(range(256)), b"a"],
    "tokens": [(), ("a", b"a", 1, "1", -(10**30)), ("a",)],
    "arrays": [TABLE[:2], TABLE[2:2], TABLE[2:]],
    "labels": [still(np.array([3, 1])), still(np.array([7]))],
    "sets of words": [WORDS[:0], WORDS[:2], WORDS[2:]],
    "sets of tokens": [still(listed([("a", 1)])), still(listed([(), ("b",)]))],
}


@pytest.mark.parametrize("items", THINGS.values(), ids=THINGS)
def test_there_and_back(items):
    encoder, other = travel(listed(items))
    assert any(row["kind"] == "ragged" for row in encoder.rows) and len(encoder.rows) < 8
    assert other.dtype == object and other.shape == (len(items),)
    for a, b in zip(items, other, strict=True):
        assert type(a) is type(b) and np.shape(a) == np.shape(b)
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        assert not isinstance(b, np.ndarray) or (b.dtype == a.dtype and not b.flags.writeable)
        assert not isinstance(b, tuple) or list(map(type, a)) == list(map(type, b))


GRAPHS = [
    [Graph([(0, 1), (1, 2)]), Graph([], n_nodes=2), Graph([])],
    [Graph([(0, 1)], node_labels=[5, 7], edge_labels=["a"]), Graph([], node_labels=[1])],
    [Graph([(0, 1)], node_labels=["C", (1.5, "x")]), Graph([(0, 0)])],
]


@pytest.mark.parametrize("items", GRAPHS, ids=range(3))
def test_graphs(items):
    encoder, other = travel(listed(items))
    assert any(row["kind"] == "records" for row in encoder.rows)
    assert list(other) == items and all(type(g) is Graph for g in other)


def test_what_is_not_of_one_form_stays_as_it_is():
    free = np.arange(3.0)
    for items in ([b"a", "a"], [(1.5,)], [(True,)], [free, free], [TABLE, still(np.zeros((2, 3)))], [None]):
        encoder, other = travel(listed(items))
        assert encoder.rows[-1]["kind"] == "objects"
        assert [type(v) for v in other] == [type(v) for v in items]
    _, (a, b) = travel(listed([free, free]))
    assert a is b  # and so it is, where it may be changed


def test_more_than_the_number_of_objects_a_file_holds(monkeypatch):
    monkeypatch.setattr(codec, "_HEAVIEST", 50)
    for items in (
        [b"ab"] * 200,
        [("a", "b")] * 200,
        [Graph([(0, 1)])] * 200,
        [TABLE[i : i + 1] for i in range(5)] * 40,
    ):
        _, other = travel(listed(items))
        assert len(other) == 200


@pytest.mark.parametrize(
    "form, starts, values, words",
    [
        ("bytes", [0, 2], [1, 2, 3], "do not begin or end"),
        ("bytes", [1, 3], [1, 2, 3], "do not begin or end"),
        ("bytes", [3], [1, 2, 3], "do not begin or end"),
        ("bytes", [0, 5, 3], [1, 2, 3], "end before they begin"),
        ("bytes", [0, -1, 3], [1, 2, 3], "end before they begin"),
        ("bytes", [0.0, 3.0], [1, 2, 3], "do not begin or end"),
        ("bytes", [[0, 3]], [1, 2, 3], "do not begin or end"),
        ("bytes", [0, 3], [1.0, 2.0, 3.0], "unknown form"),
        ("tuple", [0, 3], [0, 1, 2], "not in the list"),
        ("tuple", [0, 3], [0, -1, 1], "not in the list"),
        ("tuple", [0, 3], [0.0, 1.0, 1.0], "not in the list"),
        ("words", [0, 3], [1, 2, 3], "unknown form"),
    ],
)
def test_lists_that_do_not_fit(form, starts, values, words):
    rows = [
        {"kind": "array", "array": 0, "shape": list(np.shape(values))},
        {"kind": "array", "array": 1, "shape": list(np.shape(starts))},
        {"kind": "list", "items": ["a", 7]},
        {"kind": "ragged", "of": form, "values": {"@": 0}, "starts": {"@": 1}, "letters": {"@": 2}},
    ]
    with pytest.raises(ModelFileError, match=words):
        Decoder(rows, [np.array(values), np.array(starts)]).root({"@": 3})


@pytest.mark.parametrize(
    "edit, words",
    [
        (lambda rows: rows[-1].update({"class": "kernels.Gaussian"}), "objects of class 'kernels.Gaussian'"),
        (lambda rows: rows[-1].update({"class": 5}), "objects of class '5'"),
        (lambda rows: rows[-1]["columns"].pop("n_nodes"), "part"),
        (lambda rows: rows[-1]["columns"].update(n_nodes=5), "part"),
        (lambda rows: rows[-1]["columns"].update(n_nodes={"@": 0}), "zip|part|whole|edges"),
    ],
    ids=range(5),
)
def test_records_that_do_not_fit(edit, words):
    with pytest.raises((ModelFileError, ValueError), match=words):
        travel(listed(GRAPHS[0]), edit)
    with pytest.raises(ValueError, match="dangling"):
        encoder = Encoder()
        said = encoder.value(listed(GRAPHS[0]), "it")
        sizes = next(a for a in encoder.arrays if a.tolist() == [3, 2, 0])
        sizes[0] = 2
        Decoder(encoder.rows, encoder.arrays).root(said)
