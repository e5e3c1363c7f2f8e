"""Inverses of a shifted matrix from its eigenvectors: those that NumPy gives."""

import numpy as np
import pytest

from mercer.operators import Eigenbasis, Matrix


@pytest.mark.parametrize("scaled", [False, True])
def test_inverses_for_many_shifts(scaled, monkeypatch):
    monkeypatch.setattr(Eigenbasis, "entries", 50)  # a few rows at a time
    rng = np.random.default_rng(0)
    A, V, own = rng.standard_normal((20, 30)), rng.standard_normal((20, 2)), rng.uniform(0.1, 2, 20)
    s = rng.uniform(0.5, 2, 20) if scaled else None
    A = A @ A.T
    G = A if s is None else s[:, None] * A * s
    given = A.copy()
    found, shifts = Matrix(given).spectrum(s), np.array([0.1, 3.0])
    assert np.array_equal(given, A)
    inverses = [np.linalg.inv(G + mu * np.eye(20)) for mu in shifts]
    rotated = found.rotated(V)
    assert np.allclose(found.values, np.linalg.eigvalsh(G))
    assert np.allclose(found.solutions(rotated, shifts), [P @ V for P in inverses])
    assert np.allclose(found.diagonals(shifts), [P.diagonal() for P in inverses])
    z, diagonal, forms = found.with_own_shifts(rotated, own)
    for i, mu in enumerate(own):
        P = np.linalg.inv(G + mu * np.eye(20))
        assert np.allclose(z[i], P[i] @ V) and np.isclose(diagonal[i], P[i, i])
        assert np.allclose(forms[i], V.T @ P @ V)


def test_negative_eigenvalues_are_rounding():
    found = Matrix(np.ones((4, 4))).spectrum()
    assert (found.values >= 0).all() and np.isclose(found.values[-1], 4)
    assert np.allclose(found.rows(np.array([0, 2])) @ found.rotated(np.eye(4)), np.eye(4)[[0, 2]])
