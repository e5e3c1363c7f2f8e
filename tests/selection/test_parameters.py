"""Names of parameters as users give them: what they mean, what moves, and how far."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Gaussian, Linear, Matern
from mercer.representations import Features, Nystrom
from mercer.selection.parameters import Movable, profiled
from mercer.selection.priors import LogNormal

X = np.random.default_rng(0).standard_normal((30, 2))
KERNEL = 2.0 * (Gaussian(1.0).scaled([1.0, 2.0]) + 3.0 * Matern(1.5, 0.5))


def asked(kernel=KERNEL, scale="likelihood", fixed=(), priors=(), bounds=(), representation="full"):
    machine = KernelRidge(kernel, lam=0.1, representation=representation, random_state=0)
    seen = machine.fit(X, X[:, 0]).posterior().seen
    return Movable.of(seen, scale, fixed, dict(priors), dict(bounds))


def moved(**how):
    found = asked(**how)
    return [label for label, free in zip(found.labels, found.free) if free]


def test_labels_and_their_ends():
    everything = [
        "factor",
        "kernel__left__lengths[0]",
        "kernel__left__lengths[1]",
        "kernel__right__factor",
        "kernel__right__kernel__sigma",
        "noise",
    ]
    assert moved(scale=1.0) == everything and moved() == everything[1:]
    assert moved(scale=1.0, fixed=["lengths"]) == [everything[i] for i in (0, 3, 4, 5)]
    assert moved(scale=1.0, fixed="lengths[1]") == [everything[i] for i in (0, 1, 3, 4, 5)]
    # A whole name means itself, though others end so.
    assert moved(scale=1.0, fixed=["factor"]) == everything[1:]
    assert moved(scale=1.0, fixed=["right__factor", "noise"]) == [everything[i] for i in (0, 1, 2, 4)]


def test_what_may_be_several_is_refused():
    two = (
        Gaussian(1.0).scaled([1.0, 2.0]) + Matern(1.5, 1.0).scaled([1.0, 1.0]) + Gaussian(3.0) * Gaussian(1.0)
    )
    for name, words in (
        ("lengths", "left__left__lengths or left__right__lengths"),
        ("lengths[0]", r"left__left__lengths\[0\] or left__right__lengths\[0\]"),
        ("sigma", "right__left__sigma or right__right__sigma"),
        ("igma", "no parameter 'igma', only left__left__lengths"),
    ):
        with pytest.raises(ValueError, match=words):
            asked(two, fixed=[name])


@pytest.mark.parametrize(
    "kernel, names",
    [
        (Gaussian(1.0), ()),
        (2.0 * (3.0 * Gaussian(1.0)), ("factor", "kernel__factor")),
        ((2.0 * Gaussian(1.0)) * (3.0 * Linear() + 1.0), ("left__factor",)),
        ((2.0 * Gaussian(1.0)).on([0]) ** 2, ("kernel__kernel__factor",)),
    ],
)
def test_factors_of_the_whole_kernel(kernel, names):
    found = asked(kernel)
    assert found.redundant == names
    # Indeed: they change no likelihood, since s is at its best for each.
    seen = KernelRidge(kernel, lam=0.1, representation="full").fit(X, X[:, 0]).posterior().seen
    value = KernelRidge(kernel, lam=0.1, representation="full").fit(X, X[:, 0]).log_marginal_likelihood
    for name in names:
        theta = seen.theta
        theta[found.labels.index(name)] += 0.3
        powers = 2 if "** 2" in repr(kernel) else 1
        theta[-1] += 0.3 * powers  # noise is relative to the kernel
        assert value(theta) == pytest.approx(value(), rel=1e-9)
    assert asked(kernel, scale=1.0).redundant == ()


@pytest.mark.parametrize("representation", ["full", Nystrom(5), Features(n_features=40)])
def test_the_noise_goes_by_the_size_of_the_kernel(representation):
    found = asked(4.0 * Gaussian(1.0), representation=representation)
    assert found.size == pytest.approx(np.log(4.0), abs=0.05)
    np.testing.assert_allclose(found.box[-1, 0], found.size + np.log(1e-8))


def test_starts_lie_within_bounds():
    found = asked(bounds={"noise": (0.1, 0.2)}, priors={"sigma": LogNormal(2.0, 0.01)})
    starts = found.starts(np.zeros(6), 5, np.random.default_rng(0))
    assert len(starts) == 6
    for theta in starts[1:]:
        assert np.log(0.1) <= theta[-1] <= np.log(0.2) and abs(theta[-2] - np.log(2.0)) < 0.1


def test_only_what_moves_is_at_a_bound():
    found = asked(fixed=["noise"], bounds={"sigma": (0.1, 0.5)})
    theta = found.box[:, 0].copy()
    assert "noise" not in found.at_bounds(theta) and "factor" not in found.at_bounds(theta)
    assert "kernel__right__kernel__sigma" in found.at_bounds(theta)


def test_which_scales_are_profiled():
    assert profiled("likelihood") and not profiled(1.0) and not profiled([1.0, 2.0])
