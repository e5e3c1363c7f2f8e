"""Kernels in words."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.tables.model.kernel_names import kernel_words


@pytest.mark.parametrize(
    "kernel, words",
    [
        (Linear(), "Linear()"),
        (Polynomial(2, c=16.081553271639983), "Polynomial(c=16.08)"),
        (
            2 * Laplacian(1.0).metric(np.eye(30)),
            "2·Laplacian(sigma=1.0) in a learned metric of 30 coordinates",
        ),
        (Gaussian(2.0), "Gaussian(sigma=2.0)"),
        (Gaussian(1.0).scaled([0.5, 0.5]), "Gaussian(sigma=1.0)(x/0.5)"),
        (Gaussian(1.0).scaled([3.0]), "Gaussian(sigma=1.0)(x/3)"),
        (Laplacian(1.0).scaled([0.5, 20.0]), "Laplacian(sigma=1.0)(x/ℓ), ℓ from 0.5 to 20"),
        (
            0.25 * Matern(1.5, 1.0).scaled(np.array([1.0, 1.0])) + 2 * Gaussian(3.0),
            "0.25·Matern(sigma=1.0)(x/1) + 2·Gaussian(sigma=3.0)",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_in_a_short_line(kernel, words):
    assert kernel_words(kernel) == words


def test_however_many_length_scales():
    assert len(kernel_words(Gaussian(1.0).scaled(np.linspace(1, 2, 500)))) < 60
