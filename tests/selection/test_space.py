"""Spaces: points of a cube become parameters."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.selection.dimensions import Space

CONDITIONAL = {
    "kernel": {
        Gaussian(): {"sigma": (0.1, 10.0)},
        Laplacian(): {"sigma": (1.0, 100.0), "norm": ["l1", "l2"]},
        Linear(): {},
    },
    "lam": (1e-6, 1.0),
}


def test_options_with_spaces_of_their_own():
    space = Space.of(CONDITIONAL)
    assert space.names == ("kernel", "kernel__sigma", "kernel__norm", "lam")
    seen = set()
    for u in np.random.default_rng(0).random((300, len(space.axes))):
        params = space.params(u)
        kernel = params["kernel"]
        names = {Gaussian: {"kernel__sigma"}, Laplacian: {"kernel__sigma", "kernel__norm"}, Linear: set()}
        assert set(params) == {"kernel", "lam"} | names[type(kernel)]
        if isinstance(kernel, Laplacian):
            assert 1.0 <= params["kernel__sigma"] <= 100.0
        # Only what matters is told apart.
        assert np.allclose(space.unit(params), space.snap(u))
        seen.add(type(kernel))
    assert seen == {Gaussian, Laplacian, Linear}
    assert space.unit({"kernel": Matern(), "lam": 0.1}) is None
    assert space.unit({"kernel": Gaussian(), "lam": 0.1}) is None  # sigma is missing
    middle = space.near({"kernel": Laplacian(), "lam": 1e-6})
    assert space.params(middle) == {
        "kernel": Laplacian(), "kernel__sigma": 10.0, "kernel__norm": "l2", "lam": 1e-6,
    }  # fmt: skip


def test_options_within_options():
    space = Space.of({"a": {"x": {"b": {"y": {"c": (0.0, 1.0)}, "z": {}}}, "w": {}}})
    assert space.params([0.1, 0.1, 0.5]) == {"a": "x", "a__b": "y", "a__b__c": 0.5}
    assert space.params([0.1, 0.9, 0.5]) == {"a": "x", "a__b": "z"}
    assert space.params([0.9, 0.1, 0.5]) == {"a": "w"}


def test_a_model_sees_options_equally_far_apart():
    space = Space.of({"n": (0.0, 1.0), "k": ["a", "b", "c"], "m": [1, 2, 4]})
    F, owner = space.features(np.array([[0.0, 0.1, 0.1], [0.0, 0.5, 0.1], [0.0, 0.9, 0.1], [1.0, 0.1, 0.1]]))
    assert owner.tolist() == [0, 1, 1, 1, 2]
    distances = np.linalg.norm(F[:, None] - F[None], axis=2)
    assert np.allclose(distances[np.triu_indices(3, 1)], 1.0) and distances[0, 3] == 1.0


def test_sizes():
    assert Space.of({"a": (1, 4), "b": ["x", "y"]}).size == 8
    assert Space.of({"a": (1, 4), "b": (0.0, 1.0)}).size == np.inf
    assert Space.of({}).size == 1 and Space.of({}).params([]) == {}


def test_a_space_is_a_dictionary():
    with pytest.raises(ValueError, match="dictionary from parameter names"):
        Space.of([("a", (0.0, 1.0))])
    with pytest.raises(ValueError, match="dictionary from parameter names"):
        Space.of({"kernel": {Gaussian(): (0.1, 1.0)}})
