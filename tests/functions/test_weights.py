"""Weights of features, against what functions say of strings that have one feature."""

import numpy as np
import pytest

from mercer import KernelRidge, KernelSVC
from mercer.functions import KernelFunction, feature_weights
from mercer.kernels import Gaussian, Spectrum

WORDS = ["banana", "bandana", "kernel", "colonel", "panel"]


def test_weights_are_values_at_strings_with_one_feature():
    f = KernelFunction(Spectrum(2), WORDS, [1.0, -0.5, 2.0, 0.25, -1.0])
    found = dict(feature_weights(f, count=100))
    assert set(found) == {w[i : i + 2] for w in WORDS for i in range(len(w) - 1)}
    for word, weight in found.items():
        assert abs(weight - f([word])[0]) < 1e-12  # φ of two letters is one feature, once
    sizes = [abs(w) for _, w in feature_weights(f, count=6)]
    assert len(sizes) == 6 and sizes == sorted(sizes, reverse=True)


def test_sums_tell_their_parts_apart():
    k = Spectrum(1) + 4.0 * Spectrum(2)
    f = KernelFunction(k, WORDS, np.arange(5.0))
    alone = dict(feature_weights(KernelFunction(Spectrum(1), WORDS, np.arange(5.0)), count=99))
    both = feature_weights(f, count=99)
    singles = {word: w for word, w in both if len(word) == 1}
    assert singles == pytest.approx(alone)
    squares = sum(w**2 for _, w in both)
    assert abs(squares - f.squared_norm()) < 1e-9 * squares


def test_machines_in_both_forms():
    y = [1, 1, -1, -1, -1]
    full = KernelRidge(Spectrum(2), lam=0.1, representation="full", offset=False).fit(WORDS, y)
    primal = KernelRidge(Spectrum(2), lam=0.1, representation="features", offset=False).fit(WORDS, y)
    a, b = dict(feature_weights(full, count=99)), dict(feature_weights(primal, WORDS, count=99))
    assert a == pytest.approx(b)
    with pytest.raises(ValueError, match="forgotten its examples"):
        feature_weights(primal)


def test_several_outputs():
    machine = KernelSVC(Spectrum(2), lam=0.01).fit(WORDS, ["fruit", "cloth", "maths", "army", "maths"])
    (_, weight), *_ = feature_weights(machine, count=1)
    assert weight.shape == (machine.function_.outputs,)


def test_what_is_refused():
    f = KernelFunction(Gaussian(1.0), [[0.0]], [1.0])
    with pytest.raises(TypeError, match="no sparse features"):
        feature_weights(f)
    with pytest.raises(TypeError, match="must be a function"):
        feature_weights(KernelRidge())
