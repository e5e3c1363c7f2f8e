"""Names of other libraries: where such a thing is here."""

import copy
import importlib
import pickle
import re

import numpy as np
import pytest

import mercer
from mercer import _names
from mercer.features import NystromFeatures
from mercer.kernels import Gaussian, Linear
from mercer.losses import ScaledHuber

X = np.random.default_rng(0).standard_normal((40, 2))
Y = X[:, 0] + X[:, 1] ** 2


def said(x, name):
    with pytest.raises(AttributeError) as caught:
        getattr(x, name)
    assert not hasattr(x, name) and getattr(x, name, 7) == 7
    return str(caught.value)


def test_every_place_is_one():
    for theirs, place in _names._CLASSES.items():
        path = re.search(r"mercer[\w.]+\w", place).group()
        room, _, ours = path.rpartition(".")
        assert hasattr(importlib.import_module(room), ours), theirs
        assert said(mercer, theirs).endswith(place) and not hasattr(mercer, theirs)


def test_names_of_other_rooms():
    assert said(mercer, "Gaussian").endswith("it is mercer.kernels.Gaussian")
    for nonsense in ("nonsense", "__wrapped__", "_Gaussian"):
        assert said(mercer, nonsense) == f"module 'mercer' has no attribute {nonsense!r}"


@pytest.mark.parametrize(
    "machine, theirs, ours",
    [
        (mercer.KernelRidge(Gaussian(1.0), lam=0.1), "alpha_", "lam_"),
        (mercer.KernelRidge(Gaussian(1.0), lam=0.1), "gamma", "kernel_"),
        (mercer.KernelRegressor(Gaussian(1.0), ScaledHuber(scale=None), lam=0.1), "scale_", "loss_.scale"),
        (mercer.KernelRegressor(Gaussian(1.0), "huber", lam=0.1), "n_iter_", "solution_.iterations"),
        (mercer.OnlineKernelRegressor(Gaussian(1.0)), "n_iter_", "n_passes_"),
        (mercer.OnlineKernelRegressor(Gaussian(1.0)), "t_", "n_seen_"),
        (mercer.KernelKMeans(Linear(), n_clusters=2), "cluster_centers_", "centroids_"),
        (mercer.KernelKMeans(Gaussian(1.0), n_clusters=2), "cluster_centers_", "means_"),
        (NystromFeatures(n_centres=5), "components_", "centres_"),
    ],
    ids=str,
)
def test_attributes(machine, theirs, ours):
    assert said(copy.copy(machine), theirs).startswith(f"'{type(machine).__name__}' object has no attribute")
    machine.fit(X, Y)
    assert said(machine, theirs).endswith(f"{theirs!r}: here it is {ours}")
    assert said(pickle.loads(pickle.dumps(machine)), theirs) == said(machine, theirs)


def test_what_an_attribute_says_itself_is_still_said():
    machine = mercer.KernelRidge(Gaussian(1.0), lam=0.1).fit(X, Y)
    assert "dual_coef_ holds its coefficients" in said(machine, "coef_")
    assert said(machine, "nonsense") == "'KernelRidge' object has no attribute 'nonsense'"
    with pytest.raises(AttributeError) as caught:
        mercer.KernelSVC().predict_proba  # noqa: B018
    assert "probability=True" in str(caught.value.__cause__)
