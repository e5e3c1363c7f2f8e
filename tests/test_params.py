"""Value objects: parameters in, parameters out, equality and repr by content."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from mercer._params import (
    Params,
    require_count,
    require_flag,
    require_nonnegative,
    require_positive,
    same_value,
)


class Leaf(Params):
    def __init__(self, size=1.0, name="leaf"):
        self.size = size
        self.name = name


class Pair(Params):
    def __init__(self, left, right=None):
        self.left = left
        self.right = right


class Bare(Params):
    pass


def double(x):
    return 2 * x


def test_get_params():
    pair = Pair(Leaf(2.0), right=3)
    assert pair.get_params(deep=False) == {"left": Leaf(2.0), "right": 3}
    expected = {"left": Leaf(2.0), "left__size": 2.0, "left__name": "leaf", "right": 3}
    assert pair.get_params() == expected
    assert Pair(Pair(Leaf())).get_params()["left__left__size"] == 1.0
    assert Bare().get_params() == {}


def test_a_class_is_no_nested_object():
    assert Pair(Leaf).get_params() == {"left": Leaf, "right": None}


def test_set_params():
    leaf = Leaf()
    assert leaf.set_params(size=3.0) is leaf
    assert leaf == Leaf(3.0)
    pair = Pair(Leaf(), Leaf()).set_params(left__size=2.0, right__name="r", right__size=5.0)
    assert pair == Pair(Leaf(2.0), Leaf(5.0, "r"))
    assert Pair(Pair(Leaf())).set_params(left__left__size=9.0) == Pair(Pair(Leaf(9.0)))


def test_set_params_sets_the_outer_object_first():
    assert Pair(None).set_params(left__size=2.0, left=Leaf(name="new")) == Pair(Leaf(2.0, "new"))


def test_set_params_does_not_reach_objects_shared_with_others():
    shared = Leaf()
    pair, other = Pair(shared, shared), Pair(shared)
    pair.set_params(left__size=2.0)
    assert pair == Pair(Leaf(2.0), Leaf(1.0))
    assert other == Pair(Leaf(1.0))
    assert shared == Leaf(1.0)


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="Leaf has no parameter 'width'; its parameters: size, name"):
        Leaf().set_params(width=1)
    with pytest.raises(ValueError, match="Leaf has no parameter 'width'"):
        Pair(Leaf()).set_params(left__width=1)
    with pytest.raises(ValueError, match="its parameters: left, right; inside: left__left__size"):
        Pair(Pair(Leaf())).set_params(size=1)
    with pytest.raises(ValueError, match="its parameters: none"):
        Bare().set_params(x=1)


def test_replace_gives_a_copy():
    leaf = Leaf()
    assert leaf.replace(size=2.0) == Leaf(2.0)
    assert leaf == Leaf()


@pytest.mark.parametrize("bad", ["*args", "**kwargs"])
def test_parameters_must_be_named(bad):
    namespace = {"Params": Params}
    exec(f"class Vague(Params):\n    def __init__(self, {bad}): pass", namespace)
    with pytest.raises(TypeError, match="must name its parameters"):
        namespace["Vague"]().get_params()


@pytest.mark.parametrize(
    "a, b",
    [
        (1, 1.0),
        (np.float64(1), 1),
        ([1, 2], np.array([1.0, 2.0])),
        ((1, 2), [1, 2]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        ([Leaf()], [Leaf()]),
        (double, double),
        (slice(0, 2), slice(0, 2)),
        (None, None),
        ("a", "a"),
        (np.eye(2), np.eye(2).tolist()),
        ([np.eye(2), "x"], [np.eye(2), "x"]),
    ],
)
def test_same(a, b):
    assert same_value(a, b)
    assert same_value(b, a)
    assert Pair(a) == Pair(b)
    assert hash(Pair(a)) == hash(Pair(b))


@pytest.mark.parametrize(
    "a, b",
    [
        (1, 2),
        (1, None),
        ([1, 2], [1, 3]),
        ([1, 2], [1, 2, 3]),
        ([1, 2], [[1, 2]]),
        ([[1], [2, 3]], [[1], [2]]),
        (np.ones(2), np.ones((1, 2))),
        ([1.0], 1.0),
        (Leaf(), Leaf(2.0)),
        (Leaf(), "leaf"),
        (Leaf(), None),
        (double, len),
        (["a"], [1]),
        (np.array(["a"]), np.array([1])),
    ],
)
def test_not_same(a, b):
    assert not same_value(a, b)
    assert not same_value(b, a)
    assert Pair(a) != Pair(b)


def test_equality_needs_the_same_class():
    class Other(Leaf):
        pass

    assert Leaf() != Other()
    assert Leaf() != 1.0
    assert Pair(Leaf()) != Pair(Other())


def test_equal_objects_hash_alike_whatever_their_number_type():
    assert len({Leaf(0.5), Leaf(np.float32(0.5)), Leaf(np.float64(0.5))}) == 1
    assert len({Leaf(2), Leaf(2.0), Leaf(np.int64(2))}) == 1
    assert len({Leaf(1.0), Leaf(2.0), Leaf(1.0, "b")}) == 3


@pytest.mark.parametrize(
    "value, text",
    [
        (Leaf(), "Leaf()"),
        (Leaf(size=2.5), "Leaf(size=2.5)"),
        (Leaf(np.float64(2.5), "x"), "Leaf(size=2.5, name='x')"),
        (Leaf(np.float32(0.5)), "Leaf(size=0.5)"),
        (Leaf(1), "Leaf()"),
        (Pair(Leaf(3)), "Pair(left=Leaf(size=3))"),
        (Pair(None), "Pair(left=None)"),
        (Pair([np.float64(1), 2]), "Pair(left=[1.0, 2])"),
        (Pair((np.int64(1),)), "Pair(left=(1,))"),
        (Pair((1, np.float64(2))), "Pair(left=(1, 2.0))"),
        (Pair(np.eye(2)), "Pair(left=[[1.0, 0.0], [0.0, 1.0]])"),
        (Pair(double), "Pair(left=double)"),
        (Pair(slice(0, 2)), "Pair(left=slice(0, 2, None))"),
        (Bare(), "Bare()"),
    ],
)
def test_repr_is_short_and_reads_back(value, text):
    assert repr(value) == text
    assert eval(text, {"Leaf": Leaf, "Pair": Pair, "Bare": Bare, "double": double}) == value


def test_long_arrays_are_not_spelled_out():
    assert repr(Pair(np.zeros((30, 20)))) == "Pair(left=<30×20 array>)"


@pytest.mark.parametrize(
    "value", [Leaf(2.0), Pair(Leaf(2.0), [1.0, 2.0]), Pair(np.eye(3), double), Bare()], ids=repr
)
@pytest.mark.parametrize("again", [clone, copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_copies_are_equal(value, again):
    twin = again(value)
    assert twin == value
    assert twin is not value
    assert hash(twin) == hash(value)


def test_clone_then_set_leaves_the_original_alone():
    # What GridSearchCV does with every candidate.
    pair = Pair(Leaf(1.0))
    assert clone(pair).set_params(left__size=2.0) == Pair(Leaf(2.0))
    assert pair == Pair(Leaf(1.0))


@pytest.mark.parametrize(
    "require, good, bad, words",
    [
        (
            require_count,
            [1, np.int64(7)],
            [0, -1, 2.0, True, "one", None],
            "must be a whole number of at least 1",
        ),
        (
            require_positive,
            [1, 0.5, np.float32(2)],
            [0, -1.0, np.inf, np.nan, True, "1"],
            "must be a positive",
        ),
        (
            require_nonnegative,
            [0, 0.5],
            [-1e-9, np.inf, np.nan, False, None],
            "must be a number of at least 0",
        ),
        (require_flag, [True, np.False_], [0, 1, None, "yes"], "must be True or False"),
    ],
)
def test_numbers_that_are_none_are_refused(require, good, bad, words):
    for value in good:
        require(value, "it")
    for value in bad:
        with pytest.raises(ValueError, match=f"it {words}"):
            require(value, "it")
