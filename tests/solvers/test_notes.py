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
from mercer.solvers.journal import Journal

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


def _held(path):
    with np.load(path) as file:
        return dict(file)


def _change(path, **arrays):
    """Write other arrays into a checkpoint."""
    held = {**_held(path), **arrays}
    with open(path, "wb") as file:
        np.savez(file, **held)


def _require_harmless(machine, points, y, path):
    """The checkpoint is refused, and stays; or the minimum is found."""
    before = path.read_bytes()
    try:
        resumed = clone(machine).fit(points, y, checkpoint=path)
    except CheckpointError:
        assert path.read_bytes() == before
        return
    whole = clone(machine).fit(points, y)
    assert resumed.solution_.converged and not path.exists()
    best, found = whole.solution_.certificate, resumed.solution_.certificate
    assert best.objective - _gap(best) <= found.objective <= best.objective + _gap(found)
    scores = whole.scores(points)
    assert np.abs(resumed.scores(points) - scores).max() < 2e-3 * np.abs(scores).max()


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
    first = next(key for key in ("z", "u", "coef") if key in _held(path))
    _change(path, **{first: NONSENSE[nonsense](_held(path)[first])})
    with pytest.raises(CheckpointError, match="delete it to begin anew"):
        clone(machine).fit(points, y, checkpoint=path)


@fits
def test_numbers_that_lie_do_no_harm(name, tmp_path):
    """Coefficients of the right shape that are anything: the minimum is found, or the file refused."""
    machine, points, y = FITS[name]
    path = tmp_path / "a"
    _interrupted(clone(machine), points, y, path, 1)
    draw = np.random.default_rng(1)
    lies = ("z", "p", "u", "coef", "offset")
    _change(path, **{k: 3 * draw.standard_normal(a.shape) for k, a in _held(path).items() if k in lies})
    _require_harmless(machine, points, y, path)


LIES = {
    "zero": lambda a: 0 * a,
    "opposite": lambda a: -a,
    "large": lambda a: 3000 * a,
    "huge": lambda a: np.full_like(a, 1e90),
    "beyond squares": lambda a: np.full_like(a, 1e200),
    "beyond sums": lambda a: 1e307 * np.sign(a),
    "one column": lambda a: a * (np.arange(a.shape[-1]) == 0),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("field", ["z", "p"])
@pytest.mark.parametrize("name", ["cg", "cg, stored", "cg, outputs"])
def test_where_conjugate_gradients_cannot_have_been(name, field, lie, tmp_path):
    """A point with a larger objective than 0, or a direction that leads nowhere: no reason to give up."""
    machine, points, y = FITS[name]
    _interrupted(clone(machine), points, y, tmp_path / "a", 20)
    held = _held(tmp_path / "a")
    if field not in held:
        pytest.skip("refined in rounds, which begin in the steepest direction")
    _change(tmp_path / "a", **{field: LIES[lie](held[field])})
    _require_harmless(machine, points, y, tmp_path / "a")


def test_a_direction_that_can_only_be_told_by_where_it_leads(tmp_path):
    """Along it the residual has the product it should; but it is almost at right angles to the way down."""
    machine, points, y = FITS["cg"]
    machine = clone(machine).set_params(offset=False)
    _interrupted(clone(machine), points, y, tmp_path / "a", 20)
    held = _held(tmp_path / "a")
    M = Laplacian(0.5)(points) + 1e-6 * N * np.eye(N)
    # Coefficients are in units of a power of two.
    moved = M @ held["z"][:, 0]
    r = y / 2.0 ** np.round(np.log2((moved @ y) / (moved @ moved))) - moved
    away = np.random.default_rng(0).standard_normal(N)
    away -= r * (r @ away) / (r @ r)
    _change(tmp_path / "a", p=held["p"] + 1e8 * away[:, None])
    _require_harmless(machine, points, y, tmp_path / "a")


@pytest.mark.parametrize("size", [3000, 1e90, 1e200])
def test_where_the_dual_solver_cannot_have_been(size, tmp_path):
    """With squared errors coefficients have no bounds that would make sense of anything."""
    machine = KernelRidge(G, lam=1e-3, solver=Dual(working_set=20, tol=1e-6))
    _interrupted(clone(machine), X, T, tmp_path / "a", 2)
    _change(tmp_path / "a", coef=size * np.ones((N, 1)))
    _require_harmless(machine, X, T, tmp_path / "a")


FIELDS = {
    "passes": [np.arange(3), np.inf, np.nan, "abc", -1, 1.5, 2**62, True, np.zeros(0)],
    "seen": [np.full(51, "a"), np.full(51, np.nan), np.zeros(3), 1.0],
    "about": [3.0, np.array(["a", "b"]), ""],
    "seed": [-1, 1.5, "x", np.arange(2)],
    "version": ["x", np.arange(2), 3, np.nan],
}


@pytest.mark.parametrize("field", FIELDS)
def test_fields_are_what_they_should_be(field, tmp_path):
    machine, points, y = FITS["cg"]
    path = tmp_path / "a"
    _interrupted(clone(machine), points, y, path, 5)
    held = _held(path)
    for value in FIELDS[field]:
        _change(path, **{**held, field: value})
        before = path.read_bytes()
        with pytest.raises(CheckpointError, match="delete it to begin anew"):
            clone(machine).fit(points, y, checkpoint=path)
        assert path.read_bytes() == before


def _meanwhile(machine, points, y, path, work):
    """Do this after the first few iterations of a fit; the fitted machine."""
    count = 0

    def told(_):
        nonlocal count
        count += 1
        if count == 20:
            with notice.telling(None):
                work()

    with notice.telling(told):
        return clone(machine).fit(points, y, checkpoint=Checkpoint(path, minutes=0))


def test_a_file_that_became_that_of_another_fit_is_left_to_it(tmp_path):
    """Both minima are found; who lost the file is told, and does not remove it."""
    machine, points, y = FITS["cg"]
    path, left = tmp_path / "a", []

    def other():
        path.unlink()
        _interrupted(clone(machine).set_params(lam=2e-6), points, y, path, 5)
        left.append(path.read_bytes())

    with pytest.warns(RuntimeWarning, match="could not be renewed .it is that of another fit by now") as seen:
        found = _meanwhile(machine, points, y, path, other)
    assert len(seen) == 1 and path.read_bytes() == left[0]
    whole = clone(machine).fit(points, y)
    assert found.solution_.converged and np.allclose(found.predict(points), whole.predict(points))
    second = clone(machine).set_params(lam=2e-6).fit(points, y, checkpoint=path)
    assert second.solution_.converged and not path.exists()


def test_of_two_fits_begun_together_the_second_is_refused(tmp_path):
    """Both find no file of another fit; then one of them says which fit it is first."""
    path = tmp_path / "a"
    first, second = Journal.opened(path), Journal.opened(path)
    for journal in (first, second):
        assert journal.resume(f"fit {journal is first}", np.arange(3.0), np.float64) == {}
    first.begin()
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="checkpoint of another fit"):
        second.begin()
    second.drop()
    assert path.read_bytes() == before
    with first:
        first.note({"passes": 1})
    assert not path.exists()


def test_the_same_fit_twice_has_one_file(tmp_path):
    machine, points, y = FITS["cg"]
    path = tmp_path / "a"
    found = _meanwhile(machine, points, y, path, lambda: clone(machine).fit(points, y, checkpoint=path))
    assert found.solution_.converged and not path.exists()


def test_a_link_stays_a_link(tmp_path):
    machine, points, y = FITS["cg"]
    path, there = tmp_path / "link", tmp_path / "there"
    path.symlink_to(there)
    _interrupted(clone(machine), points, y, path, 5)
    assert path.is_symlink() and there.exists()
    assert clone(machine).fit(points, y, checkpoint=path).solution_.converged
    assert path.is_symlink() and not there.exists()


def test_solvers_that_make_one_step_have_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match=r"Cholesky\(\) does not: say solver='cg'"):
        KernelRidge(lam=0.1, solver="cholesky").fit(X, T, checkpoint=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_choice_of_lam_is_made_again_as_it_was(tmp_path):
    """Also what is random about it: the seed is in the file."""
    machine = KernelClassifier(G, "logistic", solver=Newton(), representation="nystrom")
    _interrupted(machine, X, TWO, tmp_path / "a", 40)
    assert machine.fit(X, TWO, checkpoint=tmp_path / "a").solution_.converged
