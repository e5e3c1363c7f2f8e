"""Plans: what is chosen, why, and how much memory it takes, all before anything is computed."""

import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.engines import Tiled
from mercer.estimators.plan import Plan, make_plan, sizes_of
from mercer.kernels import Finite, FunctionKernel, Gaussian, Linear, Polynomial, Precomputed
from mercer.losses import Huber, Logistic, Multinomial, Squared
from mercer.representations import Features, Full, Lasso, Nystrom
from mercer.solvers import CG, Cholesky, Coordinate, GradientDescent, IncompatibleError, Newton
from mercer.solvers.cost import Shape

GB = 1 << 30


def plan(kernel, loss, n, d=5, outputs=1, itemsize=8, memory=16 * GB, representation=None, solver=None):
    return make_plan(
        kernel, loss, representation, solver, Tiled(), Shape(n, d, outputs, 0, "", itemsize), memory
    )


@pytest.mark.parametrize(
    "kernel, loss, n, d, representation, solver",
    [
        (Gaussian(), Squared(), 10, 5, Full, Cholesky),
        (Gaussian(), Squared(), 3_000, 5, Full, Cholesky),
        (Gaussian(), Squared(), 9_000, 5, Full, CG),
        (Gaussian(), Squared(), 200_000, 28, Nystrom, Cholesky),
        (Gaussian(), Squared(), 10**8, 28, Nystrom, CG),  # beyond what can be factored
        (Gaussian(), Logistic(), 2_000, 5, Full, Newton),
        (Gaussian(), Logistic(), 50_000, 5, Nystrom, Newton),
        (Gaussian(), Multinomial(), 2_000, 5, Full, Newton),
        (Gaussian(), Multinomial(), 4_500, 5, Nystrom, Newton),
        (Gaussian(), Huber(), 100, 5, Full, Newton),
        (Linear(), Squared(), 100, 99, Features, Cholesky),
        (Linear(), Squared(), 100, 100, Full, Cholesky),
        (Linear(), Squared(), 100, 5_000, Full, Cholesky),
        (Linear(), Squared(), 10**8, 100, Features, Cholesky),
        (Linear(), Logistic(), 10**6, 50, Features, Newton),
        (Polynomial(2), Squared(), 1_000, 5, Features, Cholesky),
        (Polynomial(2), Squared(), 20, 5, Full, Cholesky),
        (Polynomial(2) + Gaussian(), Squared(), 1_000, 5, Full, Cholesky),
        (FunctionKernel(len), Squared(), 500, 1, Full, Cholesky),
        (Precomputed(), Squared(), 5_000, 5_000, Full, CG),
        (Finite(np.eye(3)), Squared(), 100, 1, Full, Cholesky),
    ],
)
def test_choices(kernel, loss, n, d, representation, solver):
    chosen = plan(kernel, loss, n, d)
    assert isinstance(chosen.representation, representation)
    assert isinstance(chosen.solver, solver)
    assert chosen.examples == n and chosen.memory > 0 and chosen.flops > 0
    # With centres it is also said how they are chosen.
    assert len(chosen.reasons) == 2 + (representation is Nystrom) and all(len(r) > 10 for r in chosen.reasons)


def test_little_memory_leads_to_centres():
    roomy, tight = (plan(Gaussian(), Squared(), 9_000, memory=m) for m in (16 * GB, GB // 2))
    assert isinstance(roomy.representation, Full)
    assert isinstance(tight.representation, Nystrom)
    assert "9,000×9,000 matrix would not fit" in tight.reasons[0]
    assert "representation='full' insists" in tight.reasons[0]
    assert tight.memory < GB // 2


@pytest.mark.parametrize("n", [10**6, 10**8, 10**9])
def test_no_more_centres_than_memory_allows(n):
    for memory in (GB, 8 * GB):
        vectors = 6 * n * 8  # y, scores, residuals, …
        chosen = plan(Gaussian(), Squared(), n, 3, itemsize=4, memory=memory + vectors)
        assert "may not fit" not in str(chosen)
    tight = plan(Gaussian(), Squared(), 10**7, memory=4 * GB)
    assert "as many as memory allows" in tight.reasons[0]


def test_exact_by_request_without_the_matrix_in_memory():
    chosen = plan(Gaussian(), Squared(), 100_000, memory=8 * GB, representation=Full())
    assert isinstance(chosen.solver, CG)
    assert chosen.memory < 8 * GB  # where K would take 80 GB
    assert "without the matrix in memory" in str(chosen)


def test_what_will_not_fit_is_said():
    chosen = plan(Gaussian(), Squared(), 50_000, memory=GB, representation=Full(), solver=Cholesky())
    assert "this may not fit: about 1" in chosen.reasons[-1] and "1.1 GB free" in chosen.reasons[-1]


@pytest.mark.parametrize("solver", [Cholesky(), CG(store=True)], ids=repr)
def test_a_matrix_that_cannot_be_had_is_refused_before_anything_is_computed(solver):
    many, y = np.zeros((200_000, 1)), np.zeros(200_000)
    machine = KernelRidge(Gaussian(1.0), representation="full", solver=solver)
    began = time.perf_counter()
    with pytest.raises(ValueError, match="200,000×200,000, .* GB are free: use .*representation='nystrom'"):
        machine.fit(many, y)
    assert time.perf_counter() - began < 5
    assert "this may not fit" in str(machine.plan(many, y))  # a plan is an answer, whatever it says


def test_the_issue_asks_for_this_one():
    """n = 200,000, d = 28, float32: in less than 3 GB."""
    chosen = plan(Gaussian(), Squared(), 200_000, 28, itemsize=4, memory=7 * GB)
    assert isinstance(chosen.representation, Nystrom)
    assert chosen.unknowns == int(4 * np.sqrt(200_000))
    assert chosen.memory < 3e9
    assert "200,000 examples are more than 10,000: 1,788 Nyström centres" in chosen.reasons[0]


def test_forecasts_grow_with_the_problem():
    for kernel, loss in ((Gaussian(), Squared()), (Gaussian(), Logistic()), (Linear(), Squared())):
        sizes = [plan(kernel, loss, n) for n in (1_000, 2_000, 4_000)]
        assert sizes[0].memory < sizes[1].memory < sizes[2].memory
        assert sizes[0].flops < sizes[1].flops
    single, double = (plan(Gaussian(), Squared(), 8_000, itemsize=i).memory for i in (4, 8))
    assert single < double


def test_requests_are_respected_and_said():
    chosen = plan(Gaussian(), Squared(), 100, representation=Nystrom(n_centres=7), solver=GradientDescent())
    assert chosen.representation == Nystrom(n_centres=7) and chosen.solver == GradientDescent()
    assert chosen.unknowns == 7
    assert chosen.reasons == (
        "Nystrom(n_centres=7) was asked for",
        "of 7 centres 6 are drawn uniformly, the others where these are far, as in k-means++",
        "GradientDescent() was asked for",
    )


def test_lasso_gets_coordinate_descent():
    chosen = plan(Linear(), Squared(), 100, representation=Lasso())
    assert isinstance(chosen.solver, Coordinate) and "λ‖c‖₁" in chosen.reasons[1]


@pytest.mark.parametrize(
    "loss, representation, solver, words",
    [
        (Logistic(), Full(), Cholesky(), "use solver='newton'"),
        (Huber(), Nystrom(), CG(), "use solver='newton'"),
        (Squared(), Lasso(), Newton(), "needs solver='coordinate'"),
        (Squared(), Full(), Coordinate(), r"use it with representation=Lasso\(\)"),
    ],
)
def test_impossible_combinations_name_a_possible_one(loss, representation, solver, words):
    with pytest.raises(IncompatibleError, match=words):
        plan(Linear(), loss, 100, representation=representation, solver=solver)


def test_reads_well():
    text = str(plan(Gaussian(), Squared(), 500))
    assert text.startswith("Full() with Cholesky() on Tiled(): 500 examples, 500 unknowns, about ")
    assert "\n- 500 examples (up to 10,000): solved exactly" in text


X = np.random.default_rng(0).standard_normal((60, 3))


@pytest.mark.parametrize(
    "machine, y",
    [
        (KernelRidge(offset=False), X[:, 0]),
        (KernelRidge(Linear(), offset=True), X[:, :2]),
        (
            KernelRidge(representation=Nystrom(n_centres=9), solver="cg", random_state=0, offset=False),
            X[:, 0],
        ),
        (KernelRegressor(loss="huber", representation="features", random_state=0, offset=False), X[:, 0]),
        (KernelLogistic(offset=False), np.arange(60) % 3),
        (KernelClassifier(loss="squared_hinge", offset=False), np.arange(60) % 2),
    ],
)
def test_forecast_is_what_fit_does(machine, y):
    before = repr(machine)
    forecast = machine.plan(X, y)
    assert isinstance(forecast, Plan)
    assert repr(machine) == before and not hasattr(machine, "function_")
    done = machine.fit(X, y).plan_
    # The forecast says how λ will be chosen, the plan that was carried out which one that was.
    assert done.reasons[:-1] == forecast.reasons[:-1] and f"lam = {machine.lam_:.3g} by" in done.reasons[-1]
    assert replace(done, reasons=()) == replace(forecast, reasons=())
    assert machine.plan_.unknowns == machine.solution_.coef.shape[0] or machine.plan_.unknowns == 1000


def test_planning_computes_no_kernel():
    class Silent(Gaussian):
        def pairwise(self, X, Z):
            raise AssertionError("nothing is to be computed yet")

    assert isinstance(KernelRidge(Silent(1.0), offset=False).plan(X, X[:, 0]).representation, Full)


def test_planning_large_data_allocates_nothing():
    big = np.broadcast_to(np.float32(0.5), (1_000_000, 2))
    tracemalloc.start()
    try:
        make_plan(Gaussian(), Squared(), None, None, Tiled(), sizes_of(big, 1, Gaussian()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1e6


def test_planning_checks_as_fit_does():
    with pytest.raises(ValueError, match="lam must be a positive number"):
        KernelRidge(lam=-1, offset=False).plan(X, X[:, 0])
    with pytest.raises(IncompatibleError):
        KernelLogistic(solver="cholesky", offset=False).plan(X, np.arange(60) % 2)


@pytest.mark.parametrize(
    "dtype, points, expected",
    [
        (np.float64, X, Shape(60, 3, 2, 0, "", 8, points=60 * 3 * 8)),
        (np.float32, X.astype(np.float32), Shape(60, 3, 2, 0, "", 4, points=60 * 3 * 4)),
        (object, np.array(["a", "b"], dtype=object), Shape(2, 1, 2, 0, "", 8, False, points=16)),
    ],
)
def test_sizes(dtype, points, expected):
    kernel = FunctionKernel(max) if dtype is object else Gaussian()
    assert sizes_of(points, 2, kernel) == expected


TILES = 64 << 20  # a constant in every forecast, far above the truth for small problems


@pytest.mark.parametrize(
    "machine, n, labels",
    [
        (KernelRidge(Gaussian(2.0), representation="full", solver="cholesky", offset=False), 2500, 0),
        (KernelRidge(Gaussian(2.0), representation="full", solver="cg", offset=False), 4000, 0),
        (
            KernelRidge(Gaussian(2.0), representation=Features(n_features=800), random_state=0, offset=False),
            10_000,
            0,
        ),
        (
            KernelRidge(Gaussian(2.0), representation=Nystrom(n_centres=800), random_state=0, offset=False),
            10_000,
            0,
        ),
        (KernelLogistic(Gaussian(2.0), lam=0.1, representation="full", offset=False), 1500, 2),
        (KernelLogistic(Gaussian(2.0), lam=0.1, representation="full", offset=False), 1200, 3),
    ],
    ids=["cholesky", "cg", "features", "centres", "newton", "newton, three classes"],
)
def test_memory_forecast_is_of_the_right_size(machine, n, labels):
    points = np.random.default_rng(0).standard_normal((n, 4))
    y = np.digitize(points[:, 0], np.linspace(-0.5, 0.5, labels - 1)) if labels else points[:, 0]
    forecast = machine.plan(points, y).memory
    tracemalloc.start()
    try:
        machine.fit(points, y)
        truth = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert truth < 1.3 * forecast
    assert forecast < 2.2 * truth + TILES


def test_a_plan_mentions_what_nobody_chose():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    far = X[:, 0] + 1000
    auto, fixed = (
        KernelRidge(offset=False).plan(X, X[:, 0]),
        KernelRidge(lam=0.5, offset=False).plan(X, X[:, 0]),
    )
    assert any("lam = 'auto': leave-one-out" in r for r in auto.reasons) and auto.flops > fixed.flops
    assert not any("lam" in r for r in fixed.reasons)
    assert any("offset=True" in r for r in KernelRidge(offset=False).plan(X, far).reasons)
    assert not any("offset=True" in r for r in KernelRidge(offset=True).plan(X, far).reasons)
    assert not any("offset=True" in r for r in KernelRidge(offset=False).plan(X, X[:, 0]).reasons)
