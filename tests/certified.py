"""Random problems whose certificates are held against a minimum found without the library (`minima`).

`check(case)` fits one problem and gives the claims that are not true. The tests run a few cases,
`python -m benchmarks.certificates` thousands.
"""

import warnings
from dataclasses import dataclass

import numpy as np

import minima
from mercer import KernelClassifier, KernelRegressor
from mercer.features import RandomFourierFeatures
from mercer.functions import KernelFunction
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.representations import Features, Full, Lasso, Nystrom
from mercer.solvers import IncompatibleError
from minima import LD

LOSSES = {
    "squared": Squared,
    "huber": Huber,
    "absolute": Absolute,
    "epsilon": EpsilonInsensitive,
    "squared_epsilon": SquaredEpsilonInsensitive,
    "quantile": Quantile,
    "poisson": Poisson,
    "logistic": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "exponential": Exponential,
    "multinomial": Multinomial,
}
_KINKS = ("absolute", "epsilon", "quantile", "hinge")
_LABELS = ("logistic", "hinge", "squared_hinge", "exponential", "multinomial")
KERNELS = {"gaussian": Gaussian, "laplacian": Laplacian, "linear": Linear, "polynomial": Polynomial}


def solvers_for(loss):
    """Those that take it."""
    if loss == "squared":
        return ("auto", "cholesky", "cg", "newton", "descent", "dual", "smoothing")
    if loss in _KINKS:
        return ("auto", "dual", "smoothing")
    newton = ("auto", "newton", "descent")
    pieces = ("huber", "squared_epsilon", "squared_hinge")
    return (*newton, "dual", "smoothing") if loss in pieces else newton


@dataclass(frozen=True)
class Case:
    """One problem: loss and kernel as `minima` names them, and how it is to be solved."""

    loss: tuple
    kernel: tuple
    representation: str
    solver: str
    dtype: str
    offset: bool
    weighted: bool
    mean: float
    target: float
    repeated: bool
    n: int
    d: int
    lam: float
    seed: int


def draw(rng):
    """A case at random."""
    name = str(rng.choice(list(LOSSES)))
    choices = {"huber": [0.5, 1.0, 2.0], "epsilon": [0.05, 0.3], "quantile": [0.1, 0.5, 0.8]}
    parameters = {**choices, "squared_epsilon": [0.05, 0.3]}.get(name)
    loss = (name,) if parameters is None else (name, float(rng.choice(parameters)))
    representation = str(rng.choice(["full", "full", "nystrom", "nystrom", "explicit", "random", "lasso"]))
    if representation == "lasso":
        loss = (str(rng.choice(["squared", "logistic"])),)
    names = {"explicit": ["linear", "polynomial"], "lasso": ["linear", "polynomial"], "random": ["gaussian"]}
    kernel = str(rng.choice(names.get(representation, list(KERNELS))))
    width = float(rng.choice([0.3, 1.0, 3.0]))
    shape = {"linear": (), "polynomial": (int(rng.choice([2, 3])), 1.0)}.get(kernel, (width,))
    means = [0.0, 0.0, 1.0, 100.0] + ([1e3] if kernel == "polynomial" else [1e3, 1e5])
    return Case(
        loss=loss,
        kernel=(kernel, *shape),
        representation=representation,
        solver="coordinate" if representation == "lasso" else str(rng.choice(solvers_for(loss[0]))),
        dtype=str(rng.choice(["float32", "float64"])),
        offset=bool(rng.random() < 0.5),
        weighted=bool(rng.random() < 0.3),
        mean=float(rng.choice(means)),
        target=float(rng.choice([0.0, 0.0, 1.0, 1e3, 1e5])),
        repeated=bool(rng.random() < 0.3),
        n=int(rng.integers(10, 40 if loss[0] == "multinomial" else 90)),
        d=int(rng.integers(1, 4)),
        lam=float(10 ** rng.uniform(*((-3, 0) if representation == "lasso" else (-8, 0)))),
        seed=int(rng.integers(2**31)),
    )


def data(case):
    """(X in the dtype of the case, labels or numbers, weights or None)"""
    rng = np.random.default_rng(case.seed)
    n = case.n
    X = rng.standard_normal((n, case.d))
    if case.repeated:
        X = X[rng.integers(0, max(n // 3, 2), n)]
    signal = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    X = (X + case.mean).astype(case.dtype)
    name = case.loss[0]
    if name == "multinomial":
        y = np.digitize(signal, [-0.5, 0.5])
        y[:3] = [0, 1, 2]
    elif name in _LABELS:
        y = np.where(signal > 0.1, 1, -1)
        y[:2] = [1, -1]
    elif name == "poisson":
        y = rng.poisson(np.exp(signal)).astype(np.float64)
    else:
        y = (signal + case.target).astype(case.dtype)
    w = None
    if case.weighted:
        w = rng.uniform(0.1, 3, n)
        w[3 : 3 + n // 5] = 0
    return X, y, w


def machine_of(case, X):
    loss, kernel = LOSSES[case.loss[0]](*case.loss[1:]), KERNELS[case.kernel[0]](*case.kernel[1:])
    rng = np.random.default_rng(case.seed + 1)
    m = int(rng.integers(2, len(X)))
    representation = {
        "full": lambda: Full(),
        "nystrom": lambda: Nystrom(centres=X[rng.choice(len(X), m, replace=False)]),
        "explicit": lambda: Features(),
        "random": lambda: Features(RandomFourierFeatures(n_features=2 * m)),
        "lasso": lambda: Lasso(),
    }[case.representation]()
    kind = KernelClassifier if case.loss[0] in _LABELS else KernelRegressor
    return kind(
        kernel,
        loss=loss,
        lam=case.lam,
        representation=representation,
        solver=case.solver,
        offset=case.offset,
        random_state=case.seed,
    )


def targets(case, y):
    if case.loss[0] == "multinomial":
        return np.eye(3)[y]
    return y.astype(np.float64)[:, None]


def space_of(case, machine, X):
    """The functions among which the minimum is sought."""
    if case.representation == "full":
        return minima.full_space(case.kernel, X)
    if case.representation == "nystrom":
        Z = machine.representation.centres.astype(np.float64)
        # Where the certificate speaks of some of the centres, these are the ones in use.
        some = " of the " in machine.solution_.certificate.over
        kept = machine.dual_coef_.reshape(len(Z), -1).any(axis=1) if some else slice(None)
        return minima.centre_space(case.kernel, X, Z[kept])
    return minima.Space(features(case, machine, X), np.zeros(len(X), LD), True)


def features(case, machine, X):
    if case.representation == "random":
        # What the map gives in float64 is what it is; its angles are large where data are far from 0.
        return machine.function_.map.transform(X).astype(LD)
    map = machine.function_.map
    columns = [np.prod(X.astype(LD)[:, list(a)], axis=1) for a in map.monomials_]
    return np.stack(columns, axis=1) * np.sqrt(map.weights_.astype(LD))


def reached(case, machine, X, X64, Y, w):
    """The objective, in long double, of the function that the machine evaluates."""
    f = machine.function_
    s = np.asarray(f(X), np.float64)
    s = (s[:, None] if s.ndim == 1 else s) + np.atleast_1d(machine.intercept_)
    coef = (f.coef[:, None] if f.coef.ndim == 1 else f.coef).astype(LD)
    if case.representation == "lasso":
        square = np.abs(coef).sum()
    elif isinstance(f, KernelFunction):
        points = np.asarray(f.points, np.float64)
        square = (coef * (minima.kernel_values(case.kernel, points, points) @ coef)).sum()
    else:
        square = (coef * coef).sum()
    return minima.objective(case.loss, Y, s, case.lam, w, square), s


def bracket(case, machine, X64, Y, w):
    """(reached, not undercut) by the best function there is."""
    space = space_of(case, machine, X64)
    if case.representation == "lasso":
        return minima.lasso(space.Phi, Y, case.loss, case.lam, w, case.offset)
    return minima.minimum(space, Y, case.loss, case.lam, w, case.offset)


def tolerance(case, machine, Y, w, least):
    """How far above the minimum "converged" may be, by the rules of the solvers."""
    flat = float(minima.constant(Y, case.loss, case.lam, w, case.offset))
    name = machine.solution_.solver
    part = 1e-6 if "descent" in name else 1e-5 if case.dtype == "float32" else 1e-6
    if "smoothing" in name or (name == "passes" and case.loss[0] in _KINKS):
        return 1e-4 * abs(least) + part * abs(flat)
    if name == "dual":
        # The steepest slope left, in units of the scores, times the slope of the loss.
        spread = 1.0 if case.loss[0] in _LABELS else float(np.std(Y)) or 1.0
        return 1e-3 * spread * max(2 * case.loss[-1] if case.loss[0] == "huber" else 1.0, 1.0)
    return (1e-4 if case.representation == "lasso" else part) * abs(flat)


def fitted(machine, X, y, w):
    return machine.fit(X, y, sample_weight=w)


def check(case, fit=fitted):
    """The claims about this case that are not true, as (kind, words); None if it is refused."""
    X, y, w = data(case)
    X64, Y = X.astype(np.float64), targets(case, y)
    machine = machine_of(case, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit(machine, X, y, w)
        except (IncompatibleError, ValueError) as refusal:
            if "finite" in str(refusal) or "NaN" in str(refusal):
                return [("no solution", str(refusal))]
            return None
    weights = np.ones(case.n) if w is None else w * case.n / w.sum()
    with np.errstate(all="ignore"):
        value, s = reached(case, machine, X, X64, Y, weights)
        high, low = bracket(case, machine, X64, Y, weights)
        allowed = tolerance(case, machine, Y, weights, float(high))
    said, status = machine.solution_.certificate, machine.solution_.status
    value, high, low = float(value), float(high), float(low)
    gap = said.gap
    rounding = 1e-11 * (abs(value) + abs(high)) + 1e-300
    doubt = 1e-9 * abs(value) + 1.01 * (said.rounding if gap is None else gap)
    wrong = []
    if not (abs(said.objective - value) <= doubt or said.objective == value):
        wrong.append(("objective", f"claimed {said.objective:.12g}, is {value:.12g}"))
    if gap is not None and not value - high <= gap * (1 + 1e-9) + rounding:
        wrong.append(("gap", f"claimed {gap:.3g}, is at least {value - high:.3g} of {high:.6g}"))
    if min(said.objective, value) < low - 1.01 * said.rounding - 1e-9 * abs(low):
        wrong.append(("below", f"claimed {said.objective:.12g}, the minimum is at least {low:.12g}"))
    if status == "converged" and not value - high <= allowed + rounding:
        wrong.append(("converged", f"{value - high:.3g} above {high:.6g}, allowed {allowed:.3g}"))
    answered = machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)
    if case.loss[0] not in ("poisson", "multinomial"):
        rounded = 2 * np.finfo(case.dtype).eps * np.abs(s[:, 0]) + 1e-300
        if not (np.abs(answered - s[:, 0]) <= rounded).all():
            wrong.append(("answer", "predict differs from function_ + intercept_"))
    return wrong
