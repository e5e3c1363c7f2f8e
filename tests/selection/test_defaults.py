"""Ranges nobody gave."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelLogistic, KernelPerceptron, KernelRidge, KernelSVC, KernelSVR
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Precomputed, RationalQuadratic
from mercer.selection import Real
from mercer.selection.defaults import complete, with_objects
from mercer.selection.objectives import Data

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3)) * [1.0, 10.0, 100.0]
Y = 5 * RNG.standard_normal(50)
LABELS = Y > 0


def data(y=Y, points=X):
    n = len(points)
    return Data(points, y, None, np.random.default_rng(1).permutation(n), np.arange(n))


def around(space, name):
    """The value a range lies around, which must be two decades each side."""
    assert isinstance(space[name], Real) and space[name].log
    assert space[name].high / space[name].low == pytest.approx(1e4)
    return np.sqrt(space[name].low * space[name].high)


def test_a_kernel_lies_around_what_the_data_say():
    space = complete(None, KernelRidge(offset=False), data())
    assert list(space) == ["kernel__sigma", "lam"]
    assert around(space, "kernel__sigma") == pytest.approx(Gaussian().resolve(X).sigma)
    assert (space["lam"].low, space["lam"].high) == pytest.approx((1e-9, 10.0))


def test_or_around_what_it_has():
    space = complete(
        None, KernelRidge(Gaussian(7.0) + 3 * RationalQuadratic(alpha=2.0).on([0]), offset=False), data()
    )
    assert around(space, "kernel__left__sigma") == pytest.approx(7.0)
    assert around(space, "kernel__right__factor") == pytest.approx(3.0)
    assert around(space, "kernel__right__kernel__kernel__alpha") == pytest.approx(2.0)
    found = RationalQuadratic(alpha=2.0).resolve(X[:, :1]).sigma
    assert around(space, "kernel__right__kernel__kernel__sigma") == pytest.approx(found)


def test_a_factor_of_the_whole_kernel_is_left_to_lam():
    space = complete(None, KernelRidge(100 * Gaussian(1.0), offset=False), data())
    assert list(space) == ["kernel__kernel__sigma", "lam"]
    assert space["lam"].high == pytest.approx(1000.0)


def test_lam_goes_with_the_kernel():
    space = complete(None, KernelRidge(Linear(), offset=False), data())
    assert list(space) == ["lam"] and space["lam"].high == pytest.approx(10 * (X**2).sum(axis=1).mean())
    K = X @ X.T
    exact = complete(None, KernelRidge(Precomputed(), offset=False), data(points=K))
    assert list(exact) == ["lam"] and exact["lam"].high == pytest.approx(10 * K.diagonal().mean())


def test_parameters_that_are_zero_are_left_alone():
    assert list(complete(None, KernelRidge(Polynomial(2, c=0.0), offset=False), data())) == ["lam"]
    assert list(complete(None, KernelRidge(Polynomial(2, c=1.0), offset=False), data())) == [
        "kernel__c",
        "lam",
    ]


def test_other_machines():
    space = complete(None, KernelSVR(), data())
    assert list(space) == ["kernel__sigma", "lam", "epsilon"]
    assert space["lam"].low == pytest.approx(1e-7)
    assert (space["epsilon"].low, space["epsilon"].high) == pytest.approx((1e-3 * Y.std(), Y.std()))
    assert list(complete(None, KernelPerceptron(), data(LABELS))) == ["kernel__sigma"]
    for machine in (KernelSVC(), KernelLogistic(offset=False), KernelSVC.from_C(3.0)):
        assert list(complete(None, machine, data(LABELS))) == ["kernel__sigma", "lam"]


def test_in_a_pipeline_the_kernel_sees_what_comes_before_it():
    space = complete(None, make_pipeline(StandardScaler(), KernelRidge(offset=False)), data())
    assert list(space) == ["kernelridge__kernel__sigma", "kernelridge__lam"]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert around(space, "kernelridge__kernel__sigma") == pytest.approx(Gaussian().resolve(scaled).sigma)


def test_none_asks_for_the_default():
    given = {"kernel": {Gaussian(): None, Laplacian(): {"sigma": (1.0, 2.0)}, Linear(): None}, "lam": None}
    space = complete(given, KernelRidge(offset=False), data())
    assert around(space["kernel"][Gaussian()], "sigma") == pytest.approx(Gaussian().resolve(X).sigma)
    assert space["kernel"][Laplacian()] == {"sigma": (1.0, 2.0)} and space["kernel"][Linear()] == {}
    assert space["lam"] == Real(1e-9, 10.0, log=True)
    one = complete({"kernel__sigma": None, "offset": [True, False]}, KernelRidge(offset=False), data())
    assert around(one, "kernel__sigma") == pytest.approx(Gaussian().resolve(X).sigma)
    assert one["offset"] == [True, False]
    with pytest.raises(ValueError, match="'offset'. is None, and there is no range by default"):
        complete({"offset": None}, KernelRidge(offset=False), data())


def test_a_given_space_is_taken_as_it_is():
    assert complete({"alpha": (0.1, 1.0)}, Ridge(), data()) == {"alpha": (0.1, 1.0)}
    with pytest.raises(ValueError, match="Ridge has no ranges by default: say what to tune.*alpha"):
        complete(None, Ridge(), data())
    with pytest.raises(ValueError, match="space is a dictionary"):
        complete([1], Ridge(), data())


def test_names_of_kernels_become_kernels():
    machine = KernelRidge("matern", offset=False)
    assert with_objects(machine).kernel == Matern() and machine.kernel == "matern"
    nested = with_objects(make_pipeline(StandardScaler(), KernelSVC("laplacian")))
    assert nested.steps[-1][1].kernel == Laplacian()
