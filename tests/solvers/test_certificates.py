"""Claims of solutions against minima found without the library, in long double (tests/minima.py)."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import certified
import minima
from mercer import KernelClassifier, KernelRegressor, KernelRidge, KernelSVC
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.losses import Huber, Logistic
from mercer.representations import Lasso, Nystrom

RNG = np.random.default_rng(0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(6))
def test_random_problems(block):
    """A small part of benchmarks/certificates.py, which does thousands."""
    for seed in range(10 * block, 10 * block + 10):
        case = certified.draw(np.random.default_rng(seed))
        assert certified.check(case) == [], case


def test_centres_that_depend_on_others_are_not_claimed():
    """Directions of K(Z,Z) below rounding may still matter far from the centres."""
    X = RNG.standard_normal((300, 2))
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * RNG.standard_normal(300)
    lam, sigma = 1e-4, 0.9
    machine = KernelRidge(
        Gaussian(sigma), lam=lam, representation=Nystrom(200), random_state=0, offset=False
    ).fit(X, y)
    said, Z, c = machine.solution_.certificate, machine.function_.points, machine.dual_coef_
    kept = np.flatnonzero(c)
    assert said.over == f"{len(kept)} of the 200 centres, on which the others depend to rounding"
    assert f"above the minimum over {said.over}" in str(machine.solution_)
    kernel, one = ("gaussian", sigma), np.ones(300)
    square = c @ minima.kernel_values(kernel, Z, Z) @ c
    value = minima.objective(("squared",), y[:, None], machine.predict(X)[:, None], lam, one, square)
    space = minima.centre_space(kernel, X, Z[kept])
    assert space.whole and space.Phi.shape[1] == len(kept)
    best, _ = minima.minimum(space, y[:, None], ("squared",), lam, one, False)
    assert said.objective == pytest.approx(float(value), abs=said.gap)
    assert 0 < value - best <= said.gap < 1e-4 * best


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_svm_far_from_zero(dtype):
    X = (1000 + RNG.standard_normal((200, 4))).astype(dtype)
    y = np.where(X[:, 0] + 0.3 * RNG.standard_normal(200) > 1000, 1, -1)
    machine = KernelSVC(Linear(), lam=1e-3).fit(X, y)
    assert machine.solution_.converged and machine.score(X, y) > 0.9
    said, s = machine.solution_.certificate, machine.decision_function(X).astype(np.float64)
    value = np.maximum(1 - y * s, 0).mean() + 1e-3 * machine.function_.norm() ** 2
    assert said.objective == pytest.approx(value, rel=1e-5)
    best, _ = minima.minimum(
        minima.full_space(("linear",), X.astype(np.float64)), y[:, None], ("hinge",), 1e-3, np.ones(200), True
    )
    assert said.objective - best <= said.gap + 1e-9 < 1e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_float32_polynomials_far_from_zero():
    X = (100 + RNG.standard_normal((80, 3))).astype(np.float32)
    y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(80)
    for representation in ("full", "features"):
        machine = KernelRidge(
            Polynomial(3, 1.0), lam=1e-3, solver="newton", representation=representation, offset=False
        ).fit(X, y)
        error = np.mean((machine.predict(X) - y) ** 2)
        said = machine.solution_.certificate
        value = error + 1e-3 * machine.function_.norm() ** 2
        assert said.objective == pytest.approx(value, abs=1e-4 * value + 1.01 * said.gap)
        assert said.gap < 0.1 or not machine.solution_.converged


@pytest.mark.parametrize("solver", ["newton", "descent", "dual", "smoothing"])
@pytest.mark.parametrize("representation", ["full", Nystrom(20)], ids=repr)
def test_targets_far_from_zero(solver, representation):
    """The offset begins at the best constant, and gradients are measured against the one there."""
    X = RNG.standard_normal((60, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * RNG.standard_normal(60)
    found = []
    for far in (0, 1000):
        machine = KernelRegressor(
            Gaussian(1.0), Huber(1.0), 1e-2, representation, solver, offset=True, random_state=0
        ).fit(X, y + far)
        assert machine.solution_.converged
        found.append(machine.solution_.certificate)
    assert abs(found[1].objective - found[0].objective) <= found[0].gap + found[1].gap
    assert found[1].gap <= 2e-4 * found[0].objective


def test_descent_with_targets_of_a_hundred_thousand():
    X = RNG.standard_normal((60, 2))
    y = 1e5 + np.sin(2 * X[:, 0])
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, offset=True, solver="descent").fit(X, y)
    exact = KernelRidge(Gaussian(1.0), lam=1e-2, offset=True, solver="cholesky").fit(X, y)
    assert machine.solution_.converged
    assert np.abs(machine.predict(X) - exact.predict(X)).max() < 1e-3
    assert exact.score(X, y) == pytest.approx(machine.score(X, y), abs=1e-4)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "newton", "descent"])
def test_equal_rows_that_contradict_each_other(solver):
    """f = 0 is best, with the objective 1; coefficients of ±5e8 say so to seven digits."""
    solution = (
        KernelRidge(Gaussian(1.0), lam=1e-9, solver=solver, offset=False)
        .fit([[1.0], [1.0]], [1.0, -1.0])
        .solution_
    )
    said = solution.certificate
    assert abs(said.objective - 1) <= said.gap < 1e-4
    assert said.relative_gradient == 0 and solution.converged


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_offset_beside_features_that_are_all_zero():
    """scikit-learn's rule to stop looks at coefficients only; here these are 0, and b is not."""
    X = RNG.standard_normal((60, 2))
    y = np.where(np.arange(60) < 20, 1, -1)
    machine = KernelClassifier(Linear(), Logistic(), lam=1.0, representation=Lasso(), offset=True).fit(X, y)
    p = 1 / 3
    best = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    said = machine.solution_.certificate
    assert not machine.coef_.any() and machine.solution_.converged
    assert said.objective == pytest.approx(best, rel=1e-12) and 0 <= said.gap < 1e-12


def test_rounding_that_leaves_nothing_to_claim():
    """Values of 1e30: whatever is found, it is not called the minimum."""
    X = 1e5 + RNG.standard_normal((40, 2))
    with pytest.warns(ConvergenceWarning):
        machine = KernelRidge(Polynomial(3), lam=1e-6, representation="full", offset=False).fit(
            X, X[:, 0] - 1e5
        )
    assert machine.solution_.certificate.rounding > 1e-4


@pytest.mark.parametrize("lam", [1e-2, 1e-5])
def test_a_jitter_for_norms_is_no_part_of_the_objective(monkeypatch, lam):
    """Where K(Z,Z) is factored with a jitter, the minimum is that with λ·jitter·‖c‖² added, and named so."""
    monkeypatch.setattr("mercer.solvers.coordinates.LARGEST_FACTOR", 10)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    kernel, shift = Gaussian(1.0), 1e-9
    machine = KernelRidge(
        kernel, lam=lam, representation=Nystrom(n_centres=80), solver="cg", random_state=0, offset=False
    ).fit(X, y)
    found, Z = machine.solution_, machine.function_.points
    assert "with a jitter of 1.0e-09" in found.certificate.over and found.status == "converged"
    A, K = kernel(X, Z), kernel(Z) + shift * np.eye(80)
    c = np.linalg.solve(A.T @ A / 300 + lam * K, A.T @ y / 300)
    least = np.mean((y - A @ c) ** 2) + lam * c @ K @ c
    assert found.certificate.objective - least <= found.certificate.gap <= 1e-6 * least
