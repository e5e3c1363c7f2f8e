"""Fits in memory that are interrupted and taken up: the same minimum, and no harm from any file."""

import numpy as np
import pytest
from scipy.sparse import random as random_sparse
from sklearn.base import clone

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC, progress
from mercer import _notice as notice
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.losses import FunctionLoss, Huber
from mercer.solvers import CG, Checkpoint, CheckpointError, Dual, GradientDescent, Newton

rng = np.random.default_rng(0)
N = 400
X = rng.uniform(-2, 2, (N, 2))
T = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(N)
TWO, THREE = T > 0, np.digitize(T, [-0.7, 0.7])
WORDS = random_sparse(1500, 3000, 0.01, random_state=1, format="csr")
SIGNS = np.asarray(WORDS @ rng.standard_normal(3000) > 0)
G = Gaussian(0.7)
FITS = {
    "cg": (
        KernelRidge(Laplacian(0.5), lam=1e-6, solver=CG(store=False, rank=0), representation="full"),
        X,
        T,
    ),
    "cg, stored": (KernelRidge(G, lam=1e-5, solver=CG(rank=5), representation="full", random_state=0), X, T),
    "cg, outputs": (
        KernelRidge(
            Laplacian(0.5), lam=1e-6, solver=CG(store=False, rank=3), representation="full", random_state=0
        ),
        X,
        np.stack([T, T**2], axis=1),
    ),
    "cg, centres": (
        KernelRidge(G, lam=1e-6, solver=CG(rank=130, max_iter=400), representation="nystrom", random_state=0),
        X,
        T,
    ),
    "newton": (KernelLogistic(G, lam=1e-5, solver=Newton(), representation="full"), X, TWO),
    "newton, joint": (KernelLogistic(G, lam=1e-4, solver=Newton()), X, THREE),
    "newton, centres": (
        KernelRegressor(G, Huber(0.3), 1e-6, representation="nystrom", solver=Newton(), random_state=0),
        X,
        T,
    ),
    "descent": (KernelLogistic(G, lam=1e-2, solver=GradientDescent(tol=1e-5)), X, TWO),
    "dual": (KernelSVC(G, lam=1e-5, solver=Dual(working_set=20, tol=1e-5)), X, TWO),
    "dual, pairs": (KernelSVC(G, lam=1e-5, solver=Dual(tol=1e-5)), X, THREE),
    "dual, sparse": (KernelSVC(Linear(), lam=1e-4, solver=Dual(tol=1e-4)), WORDS, SIGNS),
}
fits = pytest.mark.parametrize("name", FITS)


class _Stop(Exception):
    """Whatever may end a fit."""


def _gap(certificate):
    """What is claimed; of outputs that are tied together with an offset nothing is."""
    return 1e-9 * certificate.objective if certificate.gap is None else certificate.gap


def _interrupted(machine, points, y, path, after):
    """The fit is ended when it says how far it is for the so-manieth time."""
    count = 0

    def told(_):
        nonlocal count
        count += 1
        if count > after:
            raise _Stop

    with notice.telling(told), pytest.raises(_Stop):
        machine.fit(points, y, checkpoint=Checkpoint(path, minutes=0))


@fits
def test_a_fit_that_is_taken_up_ends_where_one_does_that_was_not_ended(name, tmp_path):
    machine, points, y = FITS[name]
    path, lines = tmp_path / "a.checkpoint", []
    with progress(lines.append, every=0):
        whole = clone(machine).fit(points, y)
    assert whole.solution_.converged and len(lines) >= 2
    for after in (1, max(len(lines) - 2, 1)):
        _interrupted(clone(machine), points, y, path, after)
        assert path.exists()
        resumed = clone(machine).fit(points, y, checkpoint=path)
        assert not path.exists()
        assert resumed.solution_.converged
        a, b = whole.solution_.certificate, resumed.solution_.certificate
        # What a certificate claims of one holds of the other, whose objective is no less than the minimum.
        assert a.objective - b.objective <= _gap(a) and b.objective - a.objective <= _gap(b)
        scores = whole.scores(points)
        assert np.abs(resumed.scores(points) - scores).max() < 2e-3 * np.abs(scores).max()


def test_conjugate_gradients_go_on_in_the_direction_they_had(tmp_path):
    """No iteration is lost: a restart in the steepest direction would need more of them."""
    machine, points, y = FITS["cg"]
    whole = clone(machine).fit(points, y).solution_.iterations
    assert whole > 60
    for after in (whole // 4, whole // 2):
        _interrupted(clone(machine), points, y, tmp_path / "a", after)
        left = clone(machine).fit(points, y, checkpoint=tmp_path / "a").solution_.iterations
        assert left <= whole - after + 7  # a restart takes 11 and 25 more


def test_several_starts_are_all_taken_up(tmp_path):
    welsch = FunctionLoss(lambda y, s: 1 - np.exp(-((y - s) ** 2) / 2), convex=False)
    machine = KernelRegressor(G, welsch, lam=1e-3, solver=Newton(restarts=2), random_state=3)
    whole = clone(machine).fit(X[:100], T[:100])
    _interrupted(clone(machine), X[:100], T[:100], tmp_path / "a", 6)
    resumed = clone(machine).fit(X[:100], T[:100], checkpoint=tmp_path / "a")
    assert len(resumed.solution_.starts) == 3
    assert resumed.solution_.certificate.objective == pytest.approx(
        whole.solution_.certificate.objective, rel=1e-6
    )


OTHERS = {
    "targets": lambda m: (m, X, T + 1e-6),
    "points": lambda m: (m, np.where(np.arange(N)[:, None] == 7, X + 0.1, X), T),
    "kernel": lambda m: (m.set_params(kernel=Laplacian(0.6)), X, T),
    "lam": lambda m: (m.set_params(lam=2e-6), X, T),
    "solver": lambda m: (m.set_params(solver=Newton()), X, T),
    "offset": lambda m: (m.set_params(offset=False), X, T),
}


@pytest.mark.parametrize("other", OTHERS)
def test_the_checkpoint_of_another_fit_is_refused(other, tmp_path):
    machine, points, y = FITS["cg"]
    _interrupted(clone(machine), points, y, tmp_path / "a", 5)
    machine, points, y = OTHERS[other](clone(machine))
    before = (tmp_path / "a").read_bytes()
    with pytest.raises(CheckpointError, match="checkpoint of another fit"):
        machine.fit(points, y, checkpoint=tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == before


NONSENSE = {
    "shape": lambda a: a[..., :1, :],
    "nan": lambda a: np.full_like(a, np.nan),
    "words": lambda a: np.full(a.shape, "x"),
    "integers": lambda a: a.astype(int),
}


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("name", ["cg", "cg, stored", "cg, centres", "newton", "dual"])
def test_what_no_solver_wrote_is_refused(name, nonsense, tmp_path):
    machine, points, y = FITS[name]
    path = tmp_path / "a"
    _interrupted(clone(machine), points, y, path, 1)
    with np.load(path) as file:
        held = dict(file)
    first = next(key for key in ("z", "u", "coef") if key in held)
    held[first] = NONSENSE[nonsense](held[first])
    with open(path, "wb") as file:
        np.savez(file, **held)
    with pytest.raises(CheckpointError, match="delete it to begin anew"):
        clone(machine).fit(points, y, checkpoint=path)


@fits
def test_numbers_that_lie_do_no_harm(name, tmp_path):
    """Coefficients of the right shape that are anything: the minimum is found, or the file refused."""
    machine, points, y = FITS[name]
    path = tmp_path / "a"
    _interrupted(clone(machine), points, y, path, 1)
    with np.load(path) as file:
        held = dict(file)
    for key in ("z", "p", "u", "coef", "offset"):
        if key in held:
            held[key] = 3 * np.random.default_rng(1).standard_normal(held[key].shape)
    with open(path, "wb") as file:
        np.savez(file, **held)
    try:
        resumed = clone(machine).fit(points, y, checkpoint=path)
    except CheckpointError:
        return
    best = clone(machine).fit(points, y).solution_.certificate
    found = resumed.solution_.certificate
    assert best.objective - _gap(best) <= found.objective <= best.objective + _gap(found)


def test_solvers_that_make_one_step_have_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match=r"Cholesky\(\) does not: say solver='cg'"):
        KernelRidge(lam=0.1, solver="cholesky").fit(X, T, checkpoint=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_choice_of_lam_is_made_again_as_it_was(tmp_path):
    """Also what is random about it: the seed is in the file."""
    machine = KernelClassifier(G, "logistic", solver=Newton(), representation="nystrom")
    _interrupted(machine, X, TWO, tmp_path / "a", 40)
    assert machine.fit(X, TWO, checkpoint=tmp_path / "a").solution_.converged
