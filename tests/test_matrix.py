"""loss × representation × solver, with and without offset and weights, against a dense float64 oracle.

Every exported loss, every representation and every solver takes part by discovery. What can't be is refused
with its sentence; a cell that becomes possible fails until it is taken off.
"""

import inspect
from functools import partial

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRegressor, losses, representations, solvers
from mercer.features import RandomFourierFeatures
from mercer.kernels import Gaussian, Polynomial
from mercer.losses import Loss
from mercer.representations import ElasticNet, Features, Full, Lasso, Nystrom, Representation
from mercer.solvers import (
    CG,
    Coordinate,
    Dual,
    GradientDescent,
    IncompatibleError,
    Interior,
    Newton,
    Passes,
    Smoothing,
    Solver,
)
from oracles import (
    KINKED,
    LOSSES,
    gaussian,
    kinked_minimum,
    kinked_net_minimum,
    kinks_of_loss,
    minimum,
    net_minimum,
    of_loss,
    shares_minimum,
    whitening,
)

RNG = np.random.default_rng(0)
N = 30
X = RNG.standard_normal((N, 2))
NEW = RNG.standard_normal((12, 2))
SCORE = np.sin(2 * X[:, 0]) + X[:, 1]
W = RNG.uniform(0, 2, N)
W[:2] = 0
LAM = 0.02


def exported(room, kind):
    found = [getattr(room, name) for name in room.__all__]
    return [cls for cls in found if inspect.isclass(cls) and issubclass(cls, kind) and cls is not kind]


# Tight enough to be compared; the others' defaults are.
TUNED = {
    GradientDescent: {"tol": 1e-7},
    Coordinate: {"tol": 1e-10},
    Dual: {"tol": 1e-8},
    Smoothing: {"tol": 1e-7},
    Passes: {"tol": 1e-7},
}
SOLVERS = [cls(**TUNED.get(cls, {})) for cls in exported(solvers, Solver)]
# Without FunctionLoss, which needs a function: tests/losses/test_function.py.
ALL_LOSSES = [cls() for cls in exported(losses, Loss) if cls is not losses.FunctionLoss]
# Representations whose penalty is no quadratic form: what the oracles take.
NETS = {"lasso": {}, "net": {"ratio": 0.5}, "positive": {"ratio": 0.5, "positive": True}}
FOURIER = RandomFourierFeatures(n_features=16, random_state=0)
EXPLICIT_KERNEL = Polynomial(2, c=1.0)
# name: (kernel, representation)
REPRESENTATIONS = {
    "full": (Gaussian(1.0), Full()),
    "nystrom": (Gaussian(1.0), Nystrom(centres=X[:9])),
    "explicit": (EXPLICIT_KERNEL, Features()),
    "fourier": (Gaussian(1.0), Features(FOURIER)),
    "lasso": (EXPLICIT_KERNEL, Lasso()),
    "net": (EXPLICIT_KERNEL, ElasticNet(0.5)),
    "positive": (EXPLICIT_KERNEL, ElasticNet(0.5, positive=True)),
}


def explicit(P):
    """φ with φ(x)·φ(z) = (1 + x·z)², written out."""
    a, b, r = P[:, :1], P[:, 1:], np.sqrt(2)
    return np.hstack([np.ones((len(P), 1)), r * a, r * b, a**2, r * a * b, b**2])


def fourier(P):
    ω = RandomFourierFeatures(Gaussian(1.0), n_features=16, random_state=0).fit(X).frequencies_
    return np.hstack([np.cos(P @ ω.T), np.sin(P @ ω.T)]) / np.sqrt(len(ω))


def features(name, P):
    """Features of points P in which the penalty is ‖u‖²."""
    if name == "explicit" or name in NETS:
        return explicit(P)
    if name == "fourier":
        return fourier(P)
    Z = X if name == "full" else X[:9]
    return gaussian(P, Z) @ whitening(gaussian(Z, Z))


def data(loss):
    """(machine's y, targets as the loss sees them)"""
    if loss.joint:
        y = np.digitize(SCORE, [-0.5, 0.7])
        return y, np.eye(3)[y]
    if loss.classification:
        return SCORE > 0, np.where(SCORE > 0, 1.0, -1.0)[:, None]
    columns = np.column_stack([2 * SCORE, X[:, 0] - 1])
    counts, sizes = np.round(np.exp(SCORE))[:, None], np.exp(SCORE)[:, None]
    for y in (columns, counts, sizes, loss.sample_targets(np.random.default_rng(0), N, 1)):
        try:
            loss.check_targets(y)
        except ValueError:
            continue
        return (y if y is columns else y[:, 0]), y
    raise AssertionError(f"{loss!r} takes none of these targets, nor what its own sample_targets gives")


def machine(loss, name, solver, offset):
    kernel, representation = REPRESENTATIONS[name]
    cls = KernelClassifier if loss.classification else KernelRegressor
    return cls(kernel, loss=loss, lam=LAM, representation=representation, solver=solver, offset=offset)


# What a refusal says where a problem lacks what a solver requires.
LACKING = {
    "lasso": "use it with representation=Lasso()",
    "quadratic": "needs the Squared() loss",
    "dual": "needs a loss that is a maximum over lines or parabolas",
    "smooth": "needs a differentiable loss",
    "simplex": "needs a loss that is a maximum over shares of classes",
    "curved": "needs second derivatives",
    "ridge": "a Lasso representation needs solver='coordinate'",
}


def impossible(loss, name, solver):
    """What stands in the way of this cell, in the words of the refusals; by what solver and loss declare."""
    penalty = "lasso" if name in NETS else "ridge"
    declared = {
        "smooth": loss.smooth,
        "curved": loss.curved,
        "quadratic": loss.quadratic,
        "dual": loss.has_dual,
        "simplex": loss.simplex,
    }
    has = {penalty, *(capability for capability, holds in declared.items() if holds)}
    reasons = [LACKING[need] for need in solver.requires - has]
    if not reasons and type(solver).refusal is not Solver.refusal:
        reasons += filter(None, [solver.refusal(loss, penalty)])
    return reasons


def cells():
    for loss in ALL_LOSSES:
        for name in REPRESENTATIONS:
            for solver in SOLVERS:
                label = f"{type(loss).__name__}-{name}-{solver.name}"
                if impossible(loss, name, solver):
                    continue
                for offset in (False, True):
                    for weighted in (False, True):
                        words = label + "-offset" * offset + "-weighted" * weighted
                        yield pytest.param(loss, name, solver, offset, weighted, id=words)


ORACLE: dict = {}


def oracle(loss, name, offset, weighted):
    """(scores at X, scores at NEW, objective), once for all solvers."""
    key = (type(loss).__name__, name, offset, weighted)
    if key not in ORACLE:
        Phi, Phi_new, (_, y) = features(name, X), features(name, NEW), data(loss)
        w = W if weighted else None
        V = LOSSES.get(type(loss).__name__) or (of_loss(loss) if loss.smooth else None)
        kinds = NETS.get(name)
        if loss.simplex:
            u, b, value = shares_minimum(Phi, y, LAM, w, offset)
        elif V is None:
            kinked = KINKED.get(type(loss).__name__) or kinks_of_loss(loss)
            find = kinked_minimum if kinds is None else partial(kinked_net_minimum, **kinds)
            u, b, value = find(kinked, Phi, y, LAM, w, offset)
        elif kinds is not None:
            u, b, value = net_minimum(V, Phi, y, LAM, w, offset, **kinds)
        else:
            u, b, value = minimum(V, Phi, y, LAM, w, offset)
        ORACLE[key] = Phi @ u + b, Phi_new @ u + b, value
    return ORACLE[key]


@pytest.mark.parametrize("loss, name, solver, offset, weighted", list(cells()))
def test_cell(loss, name, solver, offset, weighted):
    fitted = machine(loss, name, solver, offset).fit(X, data(loss)[0], W if weighted else None)
    here, there, value = oracle(loss, name, offset, weighted)
    assert fitted.solution_.converged
    accuracy = 5e-7 if not loss.smooth else 1e-7  # the oracle's own
    assert fitted.solution_.certificate.objective == pytest.approx(value, rel=accuracy)
    scores = fitted.scores(np.vstack([X, NEW]))
    expected = np.vstack([here, there])
    tol = 1e-3 if name in NETS or isinstance(solver, GradientDescent) else 1e-5
    tol = 1e-4 if not loss.smooth else tol
    allowed = tol * max(np.abs(expected).max(), 1)
    if isinstance(solver, Smoothing):
        # λ‖f − f*‖² is at most the gap, which the solver states, and k(x,x) about 10 at most.
        allowed += np.sqrt(10 * fitted.solution_.certificate.gap / LAM)
    assert np.abs(scores - expected).max() < allowed


@pytest.mark.parametrize("loss", ALL_LOSSES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda v: v.name)
def test_refusals_say_what_the_matrix_says(loss, solver):
    """Not as xfails, whose tracebacks would take longer than all cells that can be."""
    y = data(loss)[0]
    for name in REPRESENTATIONS:
        reasons = impossible(loss, name, solver)
        if not reasons:
            machine(loss, name, solver, False).plan(X, y)
            continue
        with pytest.raises(IncompatibleError) as caught:
            machine(loss, name, solver, False).fit(X, y)
        assert any(reason in str(caught.value) for reason in reasons), (name, reasons, caught.value)


def test_the_whole_library_takes_part():
    assert {type(s) for s in SOLVERS} >= {CG, Newton, GradientDescent, Coordinate, Interior, Dual, Smoothing}
    # What these declare, on which the matrix goes by, from the textbooks.
    assert {type(loss).__name__ for loss in ALL_LOSSES if loss.smooth} >= set(LOSSES)
    assert {type(loss).__name__ for loss in ALL_LOSSES if not loss.smooth} >= set(KINKED)
    envelopes = {*KINKED, "Squared", "Huber", "SquaredHinge", "ModifiedHuber", "SquaredEpsilonInsensitive"}
    for loss in ALL_LOSSES:
        if (V := type(loss).__name__) in {*LOSSES, *KINKED}:
            assert (loss.quadratic, loss.has_dual, loss.curved) == (
                V == "Squared",
                V in envelopes,
                V in LOSSES,
            )
    hinge, logistic = losses.Hinge(), losses.Logistic()
    for loss, name, solver, need in (
        (hinge, "full", CG(), "quadratic"),
        (hinge, "full", Newton(), "smooth"),
        (logistic, "full", Dual(), "dual"),
        (logistic, "full", Coordinate(), "lasso"),
        (logistic, "lasso", Newton(), "ridge"),
    ):
        assert LACKING[need] in impossible(loss, name, solver)
    assert {type(r) for _, r in REPRESENTATIONS.values()} == set(exported(representations, Representation))
    # Every smooth loss × ridge representation × Newton and descent, at least.
    assert len(list(cells())) >= 7 * 4 * 2


@pytest.mark.parametrize("name", ["full", "nystrom", "explicit", "fourier", "lasso", "positive"])
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=lambda v: type(v).__name__)
def test_auto_finds_a_way(loss, name):
    if loss.simplex and name in NETS:
        with pytest.raises(IncompatibleError, match="second derivatives"):
            machine(loss, name, "auto", True).fit(X, data(loss)[0], W)
        return
    fitted = machine(loss, name, "auto", True).fit(X, data(loss)[0], W)
    here, _, value = oracle(loss, name, True, True)
    assert fitted.solution_.certificate.objective == pytest.approx(value, rel=5e-7)
    tol = 1e-4 if not loss.smooth else 1e-5
    assert np.abs(fitted.scores(X) - here).max() < tol * max(np.abs(here).max(), 1)


@pytest.mark.parametrize("name", ["full", "nystrom", "explicit", "fourier"])
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=lambda v: type(v).__name__)
def test_single_precision(loss, name):
    """float32 data: scores within 1e-3 of the float64 oracle, at λ = 0.02."""
    fitted = machine(loss, name, "auto", False).fit(X.astype(np.float32), data(loss)[0])
    here, _, value = oracle(loss, name, False, False)
    scores = fitted.scores(X.astype(np.float32))
    assert scores.dtype == np.float32
    assert fitted.solution_.certificate.objective == pytest.approx(value, rel=1e-4)
    assert np.abs(scores - here).max() < 1e-3 * max(np.abs(here).max(), 1)
