"""The contract of a class, and classes of one's own."""

import numpy as np
import pytest

from mercer.theory.learnability import (
    HypothesisClass,
    Inconsistent,
    Intervals,
    LeftIntervals,
    Rectangles,
    UnionsOfIntervals,
    UserClass,
    shatters,
    vc_dimension,
)


def threshold(X, y):
    """x ≥ a."""
    x = np.asarray(X, float).ravel()
    for a in (*x, x.max() + 1):
        if ((x >= a) == y).all():
            return lambda Z, a=a: np.asarray(Z, float).ravel() >= a


def test_values():
    assert Rectangles(2) == Rectangles(2) != Rectangles(3)
    assert repr(UnionsOfIntervals(3)) == "UnionsOfIntervals(k=3)"
    assert eval(repr(Rectangles(d=2))) == Rectangles(2)


def test_a_class_must_say_how_to_find():
    with pytest.raises(NotImplementedError, match="must define find"):
        HypothesisClass().consistent([[1]], [1])
    with pytest.raises(ValueError, match="few numbers"):
        UserClass(threshold).from_numbers([1])


def test_the_offender_is_the_first_that_contradicts_those_before():
    H = UserClass(threshold)
    with pytest.raises(Inconsistent, match="agrees with it and the 2 before it") as e:
        H.learn([1, 2, 0, 5, 6], [0, 0, 1, 1, 0])
    assert e.value.example == 2
    with pytest.raises(Inconsistent) as e:
        UnionsOfIntervals(1).learn([1, 2, 3, 4, 5], [1, 0, 1, 0, 1])
    assert e.value.example == 2


def test_user_class_on_objects():
    def by_length(words, y):
        lengths = [len(w) for w in words]
        for top in (0, *lengths):
            if ((np.array(lengths) <= top) == y).all():
                return lambda Z, top=top: np.array([len(w) <= top for w in Z])

    H = UserClass(by_length)
    assert shatters(H, ["kernel"])
    assert shatters(H, ["a", "kernel"]).defeat == "-+"


def test_an_oracle_is_not_believed():
    H = UserClass(lambda X, y: lambda Z: np.ones(len(Z), bool))
    with pytest.raises(ValueError, match="labels the points ++, not --".replace("+", r"\+")):
        H.consistent([1, 2], "--")
    with pytest.raises(TypeError, match="must be a function"):
        UserClass(3).consistent([1], "+")


def test_what_a_user_knows():
    H = UserClass(threshold, sample=lambda n, rng: rng.uniform(size=n), dimension=1)
    found = vc_dimension(H)
    assert int(found) == found.lower == 1 and found.why == "as you said" and len(found.defeats) == 20
    few = vc_dimension(UserClass(threshold, sample=lambda n, rng: rng.uniform(size=n), cardinality=3))
    assert few.value == few.upper == few.lower == 1 and "2^d" in few.why
    unknown = vc_dimension(UserClass(threshold, sample=lambda n, rng: rng.uniform(size=n)))
    assert unknown.value is None and unknown.lower == 1 and str(unknown).startswith("VC dimension at least 1")
    with pytest.raises(ValueError, match="pass sample"):
        vc_dimension(UserClass(threshold))
    with pytest.raises(ValueError, match="dimension must be"):
        vc_dimension(UserClass(threshold, dimension=-1))


@pytest.mark.parametrize("H", [LeftIntervals(), Intervals(), UnionsOfIntervals(2), Rectangles(1)])
def test_what_is_found_is_consistent(H):
    rng = np.random.default_rng(0)
    for _ in range(200):
        X = rng.integers(0, 6, (5, 1))
        y = rng.integers(0, 2, 5).astype(bool)
        h = H.consistent(X, y)
        assert h is None or (h(X) == y).all()
