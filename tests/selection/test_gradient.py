"""Leave-one-out by gradient: against n refits, central differences, scikit-learn's likelihood."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.kernels import (
    Constant,
    Finite,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
)
from mercer.selection import gradient, loo
from mercer.selection.gradient import LooSurface, refine

RNG = np.random.default_rng(0)
N = 30
X = RNG.standard_normal((N, 3))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2]) + 0.2 * RNG.standard_normal((N, 2))
Y -= Y.mean(axis=0)
KERNELS = [
    Gaussian(1.3),
    Laplacian(1.0, "l1").scaled([1.0, 2.0, 4.0]),
    0.7 * Matern(1.5, 1.0).scaled([1.0, 0.5, 2.0]) + 0.4 * Laplacian(1.0).scaled([3.0, 1.0, 1.0]),
    RationalQuadratic(0.8, 1.2) * Polynomial(2, 0.5) + Constant(0.3),
]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{k!r:.40}")
outputs = pytest.mark.parametrize("t", [1, 2])


UNITS = np.minimum(np.arange(N) % 8, 5)
UNITS[[4, 9]] = 6, 7
units = pytest.mark.parametrize("units", [None, UNITS], ids=["rows", "units"])

# -- the surface -------------------------------------------------------------------------------------


@kernels
@outputs
@units
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("mu", [1e-3, 0.3, 10.0])
def test_the_error_is_that_of_refits(kernel, t, mu, units, offset):
    K, y, left = kernel(X), Y[:, :t] + (3.0 if offset else 0.0), np.empty((N, t))
    parts = np.arange(N) if units is None else units
    for part in np.unique(parts):
        out, kept = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
        # (K + μI) c + b1 = y, 1ᵀc = 0
        m = len(kept)
        system = np.zeros((m + 1, m + 1))
        system[:m, :m] = K[np.ix_(kept, kept)] + mu * np.eye(m)
        system[m, :m] = system[:m, m] = 1.0 if offset else 0.0
        system[m, m] = 0.0 if offset else 1.0
        c = np.linalg.solve(system, np.vstack([y[kept], np.zeros(t)]))
        left[out] = y[out] - K[np.ix_(out, kept)] @ c[:m] - c[m]
    error, value, _, _ = LooSurface(X, y, units=units, offset=offset).value_and_slopes(kernel, mu)
    assert error == pytest.approx(np.mean(np.square(left)), rel=1e-8)
    assert value == pytest.approx(len(np.unique(parts)) / 2 * math.log(error), rel=1e-12)


@kernels
@outputs
@units
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("likelihood", [0.0, 0.5, 1.0])
def test_slopes_are_central_differences(kernel, t, likelihood, units, offset):
    surface, mu, h = LooSurface(X, Y[:, :t], likelihood, units, offset), 0.2, 1e-5
    _, _, slopes, slope_mu = surface.value_and_slopes(kernel, mu)

    def value(k, m):
        return surface.value_and_slopes(k, m)[1]

    difference = (value(kernel, mu * math.exp(h)) - value(kernel, mu * math.exp(-h))) / (2 * h)
    assert slope_mu == pytest.approx(difference, rel=1e-6, abs=1e-6)
    for name, slope in slopes.items():
        before = np.asarray(kernel.get_params()[name], dtype=float)
        for k in range(before.size):
            moved = [np.atleast_1d(before) * np.exp(s * h * (np.arange(before.size) == k)) for s in (1, -1)]
            there, back = (
                value(kernel.replace().set_params(**{name: m if before.ndim else float(m[0])}), mu)
                for m in moved
            )
            assert np.ravel(slope)[k] == pytest.approx((there - back) / (2 * h), rel=1e-5, abs=1e-5), name


def test_parts_mix():
    parts = [LooSurface(X, Y, s).value_and_slopes(KERNELS[1], 0.1) for s in (0.0, 0.25, 1.0)]
    assert parts[1][1] == pytest.approx(0.75 * parts[0][1] + 0.25 * parts[2][1], rel=1e-12)
    assert parts[1][3] == pytest.approx(0.75 * parts[0][3] + 0.25 * parts[2][3], rel=1e-10)


@pytest.mark.parametrize("mu", [1e-2, 1.0])
def test_the_likelihood_is_that_of_scikit_learn(mu):
    """At the best amplitude a², which is written out: yᵀ(K + μI)⁻¹y/n."""
    y, lengths = Y[:, 0], [0.8, 1.5, 3.0]
    K = Gaussian(1.0).scaled(lengths)(X) + mu * np.eye(N)
    amplitude = y @ np.linalg.solve(K, y) / N

    def theirs(a):
        kernel = ConstantKernel(a) * RBF(lengths) + WhiteKernel(a * mu)
        machine = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(X, y)
        return machine.log_marginal_likelihood_value_

    _, value, _, _ = LooSurface(X, y[:, None], 1.0).value_and_slopes(Gaussian(1.0).scaled(lengths), mu)
    assert -value - N / 2 * (1 + math.log(2 * math.pi)) == pytest.approx(theirs(amplitude), rel=1e-9)
    assert theirs(amplitude) > max(theirs(0.95 * amplitude), theirs(1.05 * amplitude))


def test_copies_say_nothing_new():
    """Every row four times: error and likelihood are those of the rows themselves, with a quarter of μ."""
    four, kernel = np.repeat(np.arange(N), 4), Laplacian(1.0).scaled([1.0, 2.0, 3.0])
    scattered = Y[four] + np.tile([[1.0], [-1.0], [2.0], [-2.0]], (N, 1))
    for share, target in ((0.0, Y[four]), (1.0, Y[four]), (1.0, scattered), (0.5, Y[four])):
        copied = LooSurface(X[four], target, share, four).value_and_slopes(kernel, 0.4)
        alone = LooSurface(X, Y, share).value_and_slopes(kernel, 0.1)
        np.testing.assert_allclose(copied[1], alone[1], rtol=1e-9)
        np.testing.assert_allclose(copied[2]["lengths"], alone[2]["lengths"], rtol=1e-7)
        np.testing.assert_allclose(copied[3], alone[3], rtol=1e-7)


def test_a_matrix_that_is_not_positive_definite():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        LooSurface(X, Y).value_and_slopes(Sigmoid(2.0, -1.0), 1e-6)


def test_points_in_one_place_and_targets_met_exactly():
    twice = np.repeat(X[:10], 2, axis=0)
    for y in (np.zeros((20, 1)), np.repeat(X[:10, :1], 2, axis=0)):
        surface = LooSurface(twice, y, 0.5)
        error, value, slopes, slope_mu = surface.value_and_slopes(
            Laplacian(1.0).scaled([1.0, 1.0, 1.0]), 1e-6
        )
        assert np.isfinite([error, value, slope_mu, *slopes["lengths"]]).all()


# -- the descent -------------------------------------------------------------------------------------


def relevant(n=80, d=4, noise=0.1, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 1]) + noise * rng.standard_normal(n)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0, "l1"), Matern(1.5, 1.0)], ids=str)
@pytest.mark.parametrize("likelihood", [0.0, 0.5])
def test_finds_the_feature_that_matters(kernel, likelihood):
    X, y = relevant()
    start = KernelRidge(kernel.scaled(np.full(4, 2.0)), lam=1e-3, offset=True)
    found = refine(start, X, y, likelihood=likelihood)
    lengths = np.asarray(found.machine.kernel.lengths)
    assert lengths.argmin() == 1 and lengths[1] < 0.6 * np.delete(lengths, 1).min()
    assert found.loo_mse < 0.5 * found.loo_mse_before
    assert found.objective < found.objective_before and found.evaluations > 3
    # The same machine otherwise, and the one given is as it was.
    assert found.machine.offset and not hasattr(found.machine, "coef_")
    assert start.lam == 1e-3 and list(start.kernel.lengths) == [2.0] * 4
    fresh_X, fresh_y = relevant(n=300, seed=2)
    before, after = (np.mean((m.fit(X, y).predict(fresh_X) - fresh_y) ** 2) for m in (start, found.machine))
    assert after < before
    assert "leave-one-out error" in repr(found) and found.status in repr(found)


def test_what_it_reports_is_true():
    """Error and objective at the end, from the machine it returns."""
    X, y = relevant()
    found = refine(
        KernelRidge(Matern(2.5, 1.0).scaled(np.ones(4)), offset=False), X, y, likelihood=0.3, spread=0.7
    )
    surface, mu = LooSurface(X, y[:, None], 0.3), found.machine.lam * (len(y) - 1)
    error, value, _, _ = surface.value_and_slopes(found.machine.kernel, mu)
    away = np.log(found.machine.kernel.lengths)
    assert found.loo_mse == pytest.approx(error, rel=1e-9)
    assert found.objective == pytest.approx(value + away @ away / (2 * 0.7**2), rel=1e-9)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("t", [1, 2])
def test_the_error_is_that_of_leaving_one_out_of_its_machine(offset, t):
    """Targets far from 0, with and without an offset that takes that up."""
    X, y = relevant(n=50)
    y = (y if t == 1 else np.column_stack([y, X[:, 0]])) + 4
    start = KernelRidge(Gaussian(1.0).scaled(np.ones(4)), offset=offset)
    found = refine(start, X, y)
    assert found.loo_mse == pytest.approx(np.mean(loo(found.machine, X, y) ** 2), rel=1e-6)
    assert found.loo_mse_before == pytest.approx(np.mean(loo(start, X, y) ** 2), rel=1e-6)
    assert found.loo_mse == pytest.approx(np.mean(loo(found.machine, X, y) ** 2), rel=1e-6)


def test_one_example_is_too_few():
    with pytest.raises(ValueError, match="one example only"):
        refine(KernelRidge(Gaussian(1.0), offset=False), X[:1], [1.0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("max_iter", [1, 3, 40])
def test_never_ends_above_its_start(seed, max_iter):
    """Noise, few rows, many length scales: as hard as it gets."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((15, 6)), rng.standard_normal(15)
    kernel = (
        KERNELS[2]
        .replace()
        .set_params(left__kernel__lengths=np.ones(6), right__kernel__lengths=np.full(6, 30.0))
    )
    found = refine(
        KernelRidge(kernel, lam=10.0 ** -rng.integers(1, 6), offset=False), X, y, max_iter=max_iter
    )
    assert found.objective <= found.objective_before
    assert np.isfinite(found.machine.fit(X, y).predict(X)).all()


def test_the_distance_from_the_start_has_its_price():
    X, y = relevant(n=25)
    start = KernelRidge(Gaussian(1.0).scaled(np.ones(4)), lam=1e-2, offset=False)
    moved = [
        np.abs(np.log(refine(start, X, y, spread=s).machine.kernel.lengths)).max() for s in (0.05, 0.5, 5.0)
    ]
    assert moved[0] < moved[1] < moved[2] and moved[0] < 0.3


def test_stops_in_time(monkeypatch):
    """The first evaluation is always made, others while there is time; a clock of our own tells it."""
    X, y = relevant()
    now = iter(range(1000))
    monkeypatch.setattr(gradient.time, "monotonic", lambda: float(next(now)))
    start = KernelRidge(Gaussian(1.0).scaled(np.ones(4)), offset=False)
    for seconds, evaluations in ((0, 1), (3.5, 4)):
        found = refine(start, X, y, minutes=seconds / 60)
        assert (found.status, found.evaluations) == ("out of time", evaluations)
        assert found.objective <= found.objective_before
    assert refine(start, X, y, minutes=9).status == "converged"


def test_iterations_are_limited():
    X, y = relevant()
    assert (
        refine(KernelRidge(Gaussian(1.0).scaled(np.ones(4)), offset=False), X, y, max_iter=2).status
        == "max_iter"
    )


def test_a_constant_added_to_the_target_changes_nothing():
    X, y = relevant(n=40)
    start = KernelRidge(Gaussian(1.0).scaled(np.ones(4)), offset=True)
    a, b = refine(start, X, y), refine(start, X, y + 100)
    np.testing.assert_allclose(a.machine.kernel.lengths, b.machine.kernel.lengths, rtol=1e-4)
    assert a.loo_mse == pytest.approx(b.loo_mse, rel=1e-6)


def test_single_precision_is_doubled_at_the_door():
    X, y = relevant(n=40)
    X, y = X.astype(np.float32), y.astype(np.float32)
    start = KernelRidge(Gaussian(1.0).scaled(np.ones(4)), offset=False)
    a, b = refine(start, X, y), refine(start, X.astype(float), y.astype(float))
    np.testing.assert_allclose(a.machine.kernel.lengths, b.machine.kernel.lengths, rtol=1e-3)


@pytest.mark.parametrize(
    "machine, classes",
    [
        (KernelSVC(Gaussian(2.0).scaled([1.0, 1.0, 1.0, 1.0])), 2),
        (KernelLogistic(Gaussian(2.0).scaled([1.0, 1.0, 1.0, 1.0]), offset=False), 3),
        (KernelSVC(Gaussian(2.0).scaled([1.0, 1.0, 1.0, 1.0])), 3),
    ],
    ids=["svc-2", "logistic-3", "svc-3"],
)
def test_labels(machine, classes):
    X, y = relevant(n=90)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [0.0] if classes == 2 else [-0.5, 0.5])]
    found = refine(machine, X, labels)
    assert type(found.machine) is type(machine)
    assert np.asarray(found.machine.kernel.lengths).argmin() == 1
    assert found.machine.fit(X, labels).score(X, labels) > 0.8


def test_any_loss_is_measured_by_squares():
    X, y = relevant(n=40)
    huber = refine(KernelRegressor(Gaussian(1.0), loss="huber", lam=1e-3, offset=False), X, y)
    assert huber.loo_mse == refine(KernelRidge(Gaussian(1.0), lam=1e-3, offset=False), X, y).loo_mse
    assert isinstance(huber.machine, KernelRegressor)


def test_parameters_from_the_data_are_found_first():
    X, y = relevant(n=40)
    found = refine(KernelRidge(Gaussian().scaled(), offset=False), X, y)
    assert len(found.machine.kernel.lengths) == 4 and found.machine.kernel.kernel.sigma > 0


def test_a_width_under_length_scales_stays():
    X, y = relevant(n=40)
    kernel = 0.5 * Gaussian(1.7).scaled(np.ones(4)) + Constant(0.0)
    found = refine(KernelRidge(kernel, offset=False), X, y).machine.kernel
    assert found.left.kernel.kernel.sigma == 1.7 and found.left.factor != 0.5 and found.right.value == 0


def test_lambda_alone():
    """A kernel without parameters: λ goes where a fine grid has its smallest error."""
    X, y = relevant(n=40)
    found = refine(KernelRidge(Linear(), lam=1e-4, offset=False), X, y)
    surface = LooSurface(X, y[:, None])
    grid = [surface.value_and_slopes(Linear(), mu)[0] for mu in np.logspace(-6, 6, 200)]
    assert found.loo_mse <= min(grid) * (1 + 1e-4)


@pytest.mark.parametrize(
    "machine, points, error, match",
    [
        (
            KernelRidge(Finite(np.eye(3)), offset=False),
            RNG.integers(3, size=N),
            ValueError,
            "no continuous parameters",
        ),
        (KernelRidge(Precomputed(), offset=False), X @ X.T, ValueError, "no continuous parameters"),
        (KernelRidge(Gaussian(1.0), offset=False), sp.csr_matrix(X), ValueError, "toarray"),
        (
            KernelRidge(FunctionKernel(np.dot), offset=False),
            X,
            NotImplementedError,
            "FunctionKernel has no derivative",
        ),
        pytest.param(
            *(
                KernelRidge(Sigmoid(2.0, -1.0), lam=1e-6, offset=False),
                X,
                np.linalg.LinAlgError,
                "at the start",
            ),
            marks=pytest.mark.filterwarnings("ignore:Sigmoid.* is not positive semidefinite"),
        ),
        (KernelRidge(Gaussian(1.0), lam=0, offset=False), X, ValueError, "lam must be a positive number"),
    ],
    ids=["finite", "precomputed", "sparse", "function", "sigmoid", "lam"],
)
@pytest.mark.filterwarnings("ignore:Sigmoid.* is not positive semidefinite:UserWarning")
def test_refusals(machine, points, error, match):
    with pytest.raises(error, match=match):
        refine(machine, points, Y[:, 0])


@pytest.mark.parametrize(
    "bad", [{"likelihood": 1.1}, {"likelihood": -0.1}, {"spread": 0}, {"spread": math.nan}]
)
def test_wrong_shares(bad):
    with pytest.raises(ValueError, match="likelihood must lie in"):
        refine(KernelRidge(Gaussian(1.0), offset=False), X, Y[:, 0], **bad)
