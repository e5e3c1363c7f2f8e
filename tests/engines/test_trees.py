"""Least squares by torch alone (on its CPU, if there is no GPU): against NumPy's, refits and differences."""

import importlib.util
import threading

import numpy as np
import pytest

from mercer.engines.cuda import Cuda
from mercer.kernels import (
    Constant,
    Forest,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Radial,
    RationalQuadratic,
    Sigmoid,
)
from mercer.kernels.transforms import OnColumns
from mercer.selection.gradient import LooSurface

HAVE = importlib.util.find_spec("torch") is not None
pytestmark = pytest.mark.skipif(not HAVE, reason="needs torch")
DEVICE = "cpu"
if HAVE:
    import torch

    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

RNG = np.random.default_rng(0)
N, D = 40, 6
X = RNG.standard_normal((N, D)) + 3.0  # not centred
X[7] = X[3] + 1e-9 * RNG.standard_normal(D)  # nearly the same point
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
Y = Y - Y.mean(axis=0)
LENGTHS = np.geomspace(0.7, 5.0, D)
METRIC = np.cov(RNG.standard_normal((D, 20)))
FOREST = Forest.grow(X[:30], Y[:30, 0], trees=15, random_state=0)
KERNELS = {
    "gaussian": Gaussian(1.3).scaled(LENGTHS),
    "laplacian": Laplacian(np.float64(2.0)).scaled(LENGTHS),
    "laplacian l1": Laplacian(3.0, "l1").scaled(LENGTHS),
    "matern 3/2": Matern(1.5, 2.0),
    "matern 5/2, metric": Matern(2.5, 1.5).metric(METRIC),
    "quadratic": Polynomial(2, 1.0).scaled(3 * LENGTHS),
    "linear": 0.5 * Linear().scaled(LENGTHS) + Constant(0.2),
    "product": RationalQuadratic(0.7, 2.0) * Gaussian(3.0),
    "average": 0.3 * Gaussian(2.0).scaled(LENGTHS) + 0.7 * Laplacian(4.0, "l1") + 0.2 * FOREST,
    "sum under lengths": (2 * Gaussian(1.0) + Laplacian(1.0)).scaled(LENGTHS),
    "columns": Gaussian(1.0).on([0, 2]) + 0.1 * Laplacian(2.0, "l1").on([-1]),
    "one column": OnColumns(Matern(1.5, 0.5).scaled([2.0]), slice(4, 5)),
    "nothing": 0.0 * Gaussian(1.0) + Gaussian(2.0),
}
kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))


def engine():
    return Cuda(device=DEVICE)


@pytest.fixture(params=["at once", "in panels"])
def panels(request, monkeypatch):
    """Rows of K in one panel, or a few at a time; the last of them fewer."""
    from mercer.engines._triton import trees

    if request.param == "in panels":
        monkeypatch.setattr(trees, "_ENTRIES", 7 * N)


@kernels
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("mu", [0.02, 1.0])
def test_error_and_slopes_are_those_of_numpy(kernel, offset, mu, panels):
    here = LooSurface(X, Y, offset=offset).value_and_slopes(kernel, mu)
    there = LooSurface(X, Y, offset=offset, engine=engine()).value_and_slopes(kernel, mu)
    assert there[:2] == pytest.approx(here[:2], rel=1e-8)
    assert there[3] == pytest.approx(here[3], rel=1e-8)
    assert set(there[2]) == set(here[2])
    for name, slope in here[2].items():
        assert np.shape(there[2][name]) == np.shape(slope), name
        size = max(np.abs(slope).max(), 1.0)
        assert np.allclose(there[2][name], slope, rtol=1e-8, atol=1e-8 * size), name


@kernels
def test_scores_are_those_of_one_dense_system(kernel, panels):
    new = RNG.standard_normal((11, D)) + 3.0
    new[2] = X[5]
    found = engine().ridge_scores(kernel, X, Y, 0.3, new)
    right = kernel(new, X) @ np.linalg.solve(kernel(X) + 0.3 * np.eye(N), Y)
    assert np.allclose(found, right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", [1, 3, 9])
def test_near_points_keep_their_distance(d, panels):
    """Far from the origin, and in clusters: a distance of 1e-7 is no 0, and that to itself no rounding."""
    from mercer.engines._triton.trees import Tree

    centres = np.random.default_rng(1).standard_normal((2, d))
    P = np.repeat(centres, 20, axis=0) + 1e-7 * np.random.default_rng(2).standard_normal((40, d)) + 100.0
    kernel = Laplacian(1e-6)
    tree = Tree(kernel, torch.device(DEVICE), P)
    K = tree.matrix(tree.points(P)).cpu().numpy()
    apart = np.sqrt(((P[:, None] - P[None]) ** 2).sum(axis=2))
    assert np.allclose(K, np.exp(-apart / 1e-6), rtol=1e-9, atol=1e-12) and (np.diag(K) == 1.0).all()


def test_what_is_not_known_is_left_to_the_cpu():
    class Stepwise(Radial):
        def profile(self, r2, xp):
            return np.where(np.asarray(r2) < 1, 1.0, 0.5)

    class Reciprocal(Radial):
        def profile(self, r2, xp):
            return 1 / (1 + xp.cosh(r2))

    sides = X, Y, 0.1
    for kernel in (Periodic(1.0), Gaussian(1.0).exp(), Gaussian(1.0).normalize(), Stepwise(), Reciprocal()):
        assert engine().ridge_scores(kernel, *sides, X) is None
        assert engine().left_out(kernel, *sides, False) is None
    here, there = (LooSurface(X, Y, engine=e).value_and_slopes(Periodic(1.0), 0.1) for e in (None, engine()))
    assert here == there


def test_what_the_surface_leaves_to_the_cpu():
    """Units of several rows, and shares of the likelihood."""
    units = np.arange(N) // 2
    for more in ({"units": units}, {"likelihood": 0.5}):
        here, there = (
            LooSurface(X, Y, engine=e, **more).value_and_slopes(Gaussian(2.0), 0.1) for e in (None, engine())
        )
        assert here == there


def test_a_profile_of_ones_own():
    class Cauchy(Radial):
        positive = log_params = ("sigma",)

        def __init__(self, sigma=None):
            self.sigma = sigma

        def profile(self, r2, xp):
            return 1 / (1 + r2 / (self.sigma * self.sigma))

    found, right = (LooSurface(X, Y, engine=e).value_and_slopes(Cauchy(2.0), 0.1) for e in (engine(), None))
    assert found[1] == pytest.approx(right[1], rel=1e-10)
    assert found[2]["sigma"] == pytest.approx(right[2]["sigma"], rel=1e-8)


def test_what_can_not_be_factored():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        engine().left_out(Sigmoid(0.1, -1.0), X, Y, 1e-9, False)


def test_without_room(monkeypatch):
    monkeypatch.setattr(Cuda, "free_bytes", lambda self: 10_000)
    with pytest.raises(MemoryError, match="40 examples take .* GB of the GPU's memory"):
        engine().left_out(Gaussian(1.0), X, Y, 0.1, False)
    with pytest.raises(MemoryError, match="take fewer of them"):
        engine().ridge_scores(Gaussian(1.0), X, Y, 0.1, X)


def test_one_thread_at_a_time(monkeypatch):
    """Matrices of two threads would not fit where those of one do."""
    from mercer.engines._triton import left_out

    inside, most, done = [], [], []

    def slow(*_):
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.02)
        inside.pop()

    monkeypatch.setattr(left_out, "scores", slow)
    threads = [
        threading.Thread(target=lambda: done.append(engine().ridge_scores(None, X, Y, 0.1, X)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1] and done == [None] * 4
