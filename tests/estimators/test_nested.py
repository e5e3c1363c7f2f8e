"""Machines on the first rows, from one factorisation, against machines that are fitted alone."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRidge
from mercer.estimators import nested
from mercer.estimators.nested import fit_nested
from mercer.kernels import Gaussian, Laplacian
from mercer.operators import Factor
from mercer.solvers.given import GivenFactor


def table(n=700, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n) + 5.0


def dense_ridge(K, y, mu, offset):
    """(c, b) of float64 dense algebra."""
    n = len(y)
    if not offset:
        return np.linalg.solve(K + mu * np.eye(n), y), 0.0
    system = np.block([[K + mu * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], solution[n]


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize(
    ("sizes", "free"), [([700], 10**9), ([1, 384, 385, 500, 700], 10**9), ([384, 700], 10**5)]
)
def test_each_equals_the_dense_solution_of_its_rows(offset, sizes, free, monkeypatch):
    """Whether there is memory for K beside its factor or not."""
    monkeypatch.setattr(nested, "available_memory", lambda: free)
    (X, y), mu = table(), 0.05
    kernel = Laplacian(1.0, norm="l1").scaled(np.full(4, 3.0))
    machine = KernelRidge(kernel, lam=mu / len(y), representation="full", offset=offset)
    for m, fitted in zip(sizes, fit_nested(machine, X, y, sizes), strict=True):
        c, b = dense_ridge(kernel(X[:m], X[:m]), y[:m], mu, offset)
        expected = kernel(X, X[:m]) @ c + b
        assert np.abs(fitted.predict(X) - expected).max() < 1e-6 * np.abs(expected).max()
        assert fitted.plan_.examples == m and fitted.solver == "auto"
        assert fitted.lam == pytest.approx(mu / m)
        # None of them holds the factor, which may be as large as the memory.
        assert not isinstance(fitted.plan_.solver, GivenFactor)


def test_labels_of_three_classes():
    X, y = table()
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    machine = KernelClassifier(Gaussian(1.0), "squared", lam=1e-3, representation="full", offset=True)
    [part, whole] = fit_nested(machine, X, labels, [400, 700])
    alone = KernelClassifier(
        Gaussian(1.0), "squared", lam=1e-3 * 700 / 400, representation="full", offset=True
    )
    alone.fit(X[:400], labels[:400])
    np.testing.assert_allclose(part.scores(X), alone.scores(X), atol=1e-6)
    assert np.mean(whole.predict(X) == labels) > 0.9


def test_tiny_lambda_is_refined_to_the_dense_solution():
    X, y = table(n=500, d=2)
    y, mu = y - y.mean(), 1e-6
    kernel = Laplacian(1.0)
    [fitted] = fit_nested(KernelRidge(kernel, lam=mu / 500, representation="full", offset=False), X, y, [500])
    c, _ = dense_ridge(kernel(X, X), y, mu, False)
    np.testing.assert_allclose(fitted.predict(X), kernel(X, X) @ c, atol=1e-5)


@pytest.mark.parametrize(
    "changed, sizes, said",
    [
        ({"representation": "nystrom"}, [10], "representation"),
        ({"lam": "auto"}, [10], "number for lam"),
        ({"kernel": "gaussian"}, [10], "same kernel"),
        ({}, [0], "sizes"),
        ({}, [701], "sizes"),
    ],
)
def test_what_is_refused(changed, sizes, said):
    X, y = table()
    machine = KernelRidge(**{"kernel": Gaussian(1.0), "lam": 0.1, "representation": "full", **changed})
    with pytest.raises(ValueError, match=said):
        fit_nested(machine, X, y, sizes)


def test_weights_are_refused_by_a_factor_of_other_rows():
    X, y = table()
    factor = Factor(Gaussian(1.0)(X[:50], X[:50]), 1.0)
    with pytest.raises(ValueError, match="50 rows"):
        KernelRidge(Gaussian(1.0), lam=0.1, representation="full", solver=GivenFactor(factor)).fit(X, y)
    with pytest.raises(ValueError, match="no 51 leading"):
        factor.leading(51)
