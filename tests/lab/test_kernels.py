"""Kernels as trees: each means the library's own, and what is none is refused with a witness."""

import numpy as np
import pytest

from mercer import kernels
from mercer._http.refusal import Refusal
from mercer.lab.kernels import KERNELS, admitted, kernel_of

G, L = {"kind": "gaussian", "sigma": 2.0}, {"kind": "linear"}
POINTS = np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        (G, kernels.Gaussian(2.0)),
        ({"kind": "gaussian", "sigma": None}, kernels.Gaussian()),
        ({"kind": "matern", "nu": 2.5, "sigma": 1}, kernels.Matern(2.5, 1.0)),
        ({"kind": "polynomial", "degree": 3, "c": 0}, kernels.Polynomial(3, 0.0)),
        ({"kind": "sum", "parts": [G, L, L]}, kernels.Gaussian(2.0) + kernels.Linear() + kernels.Linear()),
        ({"kind": "product", "parts": [G, L]}, kernels.Gaussian(2.0) * kernels.Linear()),
        ({"kind": "scale", "factor": 3, "of": G}, 3.0 * kernels.Gaussian(2.0)),
        ({"kind": "power", "exponent": 2, "of": L}, kernels.Linear() ** 2),
        ({"kind": "exp", "of": L}, kernels.Linear().exp()),
        ({"kind": "normalized", "of": L}, kernels.Normalized(kernels.Linear())),
    ],
)
def test_what_a_tree_means(spec, meant):
    assert kernel_of(spec) == meant


def test_every_kernel_with_its_defaults_can_be_computed():
    for known in KERNELS:
        kernel = kernel_of({"kind": known.kind}).resolve(POINTS)
        assert np.isfinite(kernel(POINTS)).all(), known.kind


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "sigmoid", "a": 1.0, "c": -1.0},
        {"kind": "scale", "factor": -2.0, "of": G},
        {"kind": "sum", "parts": [G, {"kind": "scale", "factor": -3, "of": G}]},
        {
            "kind": "product",
            "parts": [G, {"kind": "scale", "factor": -1, "of": {"kind": "gaussian", "sigma": None}}],
        },
    ],
)
def test_what_is_no_kernel_is_refused_with_a_witness_that_can_be_checked(lab, spec):
    body = {"task": "labels", "X": POINTS.tolist(), "y": [0, 1] * 15, "kernel": spec, "lam": 0.1}
    status, answer = lab("/api/fit", body)
    assert status == 422 and answer["field"] == "kernel" and "no kernel" in answer["error"]
    X, c = np.array(answer["witness"]["points"]), np.array(answer["witness"]["c"])
    with pytest.raises(Refusal):
        admitted(kernel_of(spec), POINTS)
    if spec["kind"] == "sigmoid":
        assert c @ np.tanh(X @ X.T - 1) @ c == pytest.approx(answer["witness"]["value"]) and c @ c > 0
    assert answer["witness"]["value"] < 0


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (None, "kernel: give an object"),
        ({}, "kernel.kind"),
        ({"kind": "gausian"}, "gausian"),
        ({"kind": "gaussian", "sigma": 0}, "kernel.sigma"),
        ({"kind": "gaussian", "sigma": "wide"}, "kernel.sigma"),
        ({"kind": "gaussian", "sigma": True}, "kernel.sigma"),
        ({"kind": "gaussian", "sgima": 1}, "kernel.sgima"),
        ({"kind": "sum", "parts": []}, "kernel.parts"),
        ({"kind": "sum", "parts": [G, 3]}, "kernel.parts[1]"),
        ({"kind": "exp"}, "kernel.of"),
        ({"kind": "power", "exponent": 0.5, "of": L}, "not a kernel in general"),
        ({"kind": "scale", "factor": 1e9, "of": L}, "kernel.factor"),
    ],
)
def test_a_tree_that_means_nothing(spec, words):
    with pytest.raises(Refusal) as refusal:
        kernel_of(spec)
    assert refusal.value.status == 422 and words in refusal.value.problem and refusal.value.field == "kernel"


def test_trees_are_bounded():
    deep = G
    for _ in range(6):
        deep = {"kind": "exp", "of": deep}
    with pytest.raises(Refusal, match="nested more than 6"):
        kernel_of(deep)
    with pytest.raises(Refusal, match="20 parts at most"):
        kernel_of({"kind": "sum", "parts": [L] * 20})
    kernel_of({"kind": "sum", "parts": [L] * 19})


def test_a_negative_multiple_finds_its_parameters_once():
    """−2·(−1)·k is a kernel, whose σ comes from all points and not from those it is asked at."""
    X = POINTS
    inner = {"kind": "gaussian", "sigma": "auto"}
    twice = {"kind": "scale", "factor": -2, "of": {"kind": "scale", "factor": -1, "of": inner}}
    kernel = admitted(kernel_of(twice), X)
    sigma = kernels.Gaussian().resolve(X).sigma
    expected = 2 * np.exp(-((X[:3, None] - X[5:9]) ** 2).sum(axis=2) / (2 * sigma**2))
    np.testing.assert_allclose(kernel(X[:3], X[5:9]), expected)
