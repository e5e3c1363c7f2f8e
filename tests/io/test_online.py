"""Online machines saved half-way go on as if nothing had happened; broken files are refused."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer._state import check, parameters_of, state_of, try_out
from mercer.engines import Cuda, Tiled
from mercer.kernels import Finite, Gaussian, Linear, Polynomial, Spectrum
from mercer.losses import Hinge, Huber, Quantile
from mercer.online import (
    AdaptiveStep,
    AtRandom,
    Forgetron,
    InverseRootStep,
    Merge,
    Oldest,
    PassiveAggressiveStep,
    PegasosStep,
    PerceptronLoss,
    PowerStep,
    Projection,
    RecursiveStep,
    Smallest,
    Window,
    krls,
)
from mercer.online.coordinates import Basis
from mercer.online.learner import Learner, UpdateRule
from mercer.representations import Features, Nystrom

RNG = np.random.default_rng(0)
X = RNG.standard_normal((260, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RNG.standard_normal(260)
WORDS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.7, 0.7])]
WORDS[:90][WORDS[:90] == "high"] = "low"  # a class that comes later
TWO = Y > 0


def regressor(**options):
    return OnlineKernelRegressor(**{"kernel": Gaussian(1.0), "random_state": 3, **options})


def classifier(**options):
    return OnlineKernelClassifier(**{"kernel": Gaussian(1.0), "random_state": 3, **options})


MACHINES = {
    "projection": lambda: (regressor(budget=Projection(30)), Y),
    "projection, growing": lambda: (regressor(budget=Projection(500, 0.01)), Y),
    "unlimited": lambda: (regressor(budget=None, loss=Huber(0.5)), Y),
    "oldest": lambda: (regressor(budget=Oldest(30), lam=0.01), Y),
    "smallest": lambda: (regressor(budget=Smallest(30), offset=True), Y),
    "random": lambda: (regressor(budget=AtRandom(30)), Y),
    "window": lambda: (regressor(budget=Window(30)), Y),
    "forgetron": lambda: (classifier(loss=PerceptronLoss(), lam=0.0, step=1.0, budget=Forgetron(20)), TWO),
    "merge": lambda: (regressor(budget=Merge(30), averaging=True), Y),
    "merge, float32": lambda: (regressor(budget=Merge(30)), Y.astype(np.float32)),
    "averaging": lambda: (regressor(budget=Oldest(30), averaging=True, lam=0.01), Y),
    "averaging, projected": lambda: (regressor(budget=Projection(20), averaging=True, offset=True), Y),
    "inverse root": lambda: (regressor(step=InverseRootStep(0.5)), Y),
    "power": lambda: (regressor(step=PowerStep(0.5, 0.25), averaging=20), Y),
    "adaptive": lambda: (regressor(step=AdaptiveStep(0.3)), Y),
    "pegasos": lambda: (classifier(loss="hinge", lam=0.01, step=PegasosStep(), budget=Smallest(25)), TWO),
    "passive-aggressive": lambda: (
        classifier(loss="hinge", lam=0.0, step=PassiveAggressiveStep(0.5, 2), budget=AtRandom(25)),
        TWO,
    ),
    "recursive": lambda: (krls(Gaussian(1.0), 30, forgetting=0.99), Y),
    "recursive, features": lambda: (
        regressor(lam=0.0, step=RecursiveStep(0.1), representation=Features(n_features=20)),
        Y,
    ),
    "features": lambda: (regressor(representation=Features(n_features=20), averaging=True), Y),
    "monomials": lambda: (regressor(kernel=Polynomial(2), step=1e-4, representation=Features()), Y),
    "centres": lambda: (regressor(representation=Nystrom(n_centres=15)), Y),
    "many outputs": lambda: (regressor(budget=Oldest(30)), np.c_[Y, -Y]),
    "quantiles": lambda: (regressor(loss=Quantile([0.1, 0.9]), budget=Projection(30)), Y),
    "a class that comes later": lambda: (classifier(budget=Oldest(40), averaging=True), WORDS),
    "a class that comes later, projected": lambda: (classifier(budget=Projection(40), offset=True), WORDS),
    "multinomial": lambda: (classifier(loss="multinomial", budget=Merge(40)), WORDS),
    "an open width": lambda: (regressor(kernel=Gaussian() + 0.1 * Linear(), budget=Projection(30)), Y),
}


def arrays(x):
    """Every number of a machine, as bytes, by the path to it."""
    out, stack = {}, [("", x)]
    while stack:
        path, v = stack.pop()
        if isinstance(v, np.ndarray) and v.dtype != object:
            out[path] = v.dtype, v.shape, v.tobytes()
        elif isinstance(v, (bool, int, float, str, type(None))):
            out[path] = v
        elif isinstance(v, (Learner, Basis)):
            known = {**{name: getattr(v, name) for name in parameters_of(type(v))}, **state_of(v)}
            stack += [(f"{path}.{name}", value) for name, value in known.items()]
        elif isinstance(v, dict):
            stack += [(f"{path}[{k!r}]", w) for k, w in v.items() if k != "_one"]
        elif isinstance(v, (list, tuple)):
            stack += [(f"{path}[{i}]", w) for i, w in enumerate(v)]
        elif hasattr(v, "__dict__"):
            stack.append((path, vars(v)))
    return out


@pytest.mark.parametrize("name", MACHINES)
def test_it_goes_on_as_if_nothing_had_happened(name, again):
    machine, y = MACHINES[name]()
    points = X.astype(np.float32) if "float32" in name else X
    machine.partial_fit(points[:100], y[:100])
    other = again(machine)
    assert arrays(other.learner_) == arrays(machine.learner_)
    for rows in (slice(100, 101), slice(101, 200), slice(200, 260)):
        machine.partial_fit(points[rows], y[rows])
        other.partial_fit(points[rows], y[rows])
    assert arrays(other.learner_) == arrays(machine.learner_)
    assert other.cumulative_loss_ == machine.cumulative_loss_
    assert other.n_seen_ == machine.n_seen_ == 260 and other.n_updates_ == machine.n_updates_
    assert other.predict(points).tobytes() == machine.predict(points).tobytes()
    if hasattr(machine, "predict_proba"):
        assert other.predict_proba(points).tobytes() == machine.predict_proba(points).tobytes()
        assert other.n_mistakes_ == machine.n_mistakes_


def test_every_budget_and_step_is_tried():
    from mercer import online

    made = [make()[0] for make in MACHINES.values()]
    tried = {type(m._budget()) for m in made} | {type(m._rule().step) for m in made}
    assert tried >= {getattr(online, n) for n in online.__all__ if isinstance(getattr(online, n), type)} - {
        *(online.Budget, online.Step, online.PerceptronLoss, online.ConstantStep),
        *(OnlineKernelClassifier, OnlineKernelRegressor, online.Stopping),
    } - {c for c in map(online.__dict__.get, online.__all__) if not hasattr(c, "validate")}


def test_one_by_one_with_names(again):
    rows = [{"a": float(x[0]), ("b", 2): float(x[1])} for x in X[:60]]
    for i in range(30, 60):
        rows[i][7] = float(X[i, 2])
    machine = classifier(budget=Oldest(12))
    words = WORDS.tolist()
    for i in range(60):
        if i in (0, 1, 5, 29, 31, 50):  # before anything, with one class, with two, before and after 7 comes
            assert arrays(again(machine)) == arrays(machine)
            machine = again(machine)
        twin = copy.deepcopy(machine)
        for m in (machine, twin):
            m.learn_one(rows[i], words[i])
        assert arrays(twin.learner_) == arrays(machine.learner_)
    assert list(machine._names) == ["a", ("b", 2), 7]


def test_other_points(again):
    sparse = sp.csr_array(X * (np.abs(X) > 0.7))
    words = ["abc"[i % 3 :] + "de"[i % 2 :] for i in range(260)]
    for machine, points in (
        (regressor(budget=Oldest(20)), sparse),
        (regressor(kernel=Finite(Gaussian(1.0)(X[:9])), budget=Oldest(5)), np.arange(260) % 9),
        (regressor(kernel=Spectrum(1).normalize(), budget=Oldest(5)), words),
        (regressor(kernel=Spectrum(1).normalize(), representation=Features()), words),
    ):
        machine.partial_fit(points[:100], Y[:100])
        other = again(machine)
        machine.partial_fit(points[100:], Y[100:])
        other.partial_fit(points[100:], Y[100:])
        assert other.predict(points).tobytes() == machine.predict(points).tobytes()
    basis = machine.learner_.basis
    basis.width += 1
    with pytest.raises(ValueError, match="another number of features"):
        check(basis)


def test_a_machine_of_a_gpu_goes_on_without_it(again, monkeypatch):
    from mercer.engines import cuda

    def missing(device):
        raise ImportError("no torch")

    monkeypatch.setattr(cuda, "require", missing)
    for budget in (Oldest(20), Projection(20)):
        machine = regressor(budget=budget).partial_fit(X[:50], Y[:50])
        place = getattr(machine.learner_, "basis", machine.learner_)
        place.engine = Cuda()
        other = again(machine)
        place = getattr(other.learner_, "basis", other.learner_)
        assert place.engine == Tiled()
        other.partial_fit(X[50:], Y[50:])


def test_not_begun(again):
    machine = again(classifier(budget=Merge(7), step=PegasosStep(3), lam=0.1))
    assert repr(machine) == repr(classifier(budget=Merge(7), step=PegasosStep(3), lam=0.1))
    machine.fit(X, TWO)


# -- conditions, each broken ----------------------------------------------------------------------

OLDEST = regressor(budget=Oldest(9), averaging=True).fit(X[:50], Y[:50])
MERGED = classifier(budget=Merge(9)).fit(X[:50], WORDS[:50])
SPAN = regressor(budget=Projection(9), averaging=True).fit(X[:50], Y[:50])
CENTRES = regressor(representation=Nystrom(n_centres=5)).fit(X[:50], Y[:50])
WAVES = regressor(representation=Features(n_features=6)).fit(X[:50], Y[:50])
KRLS = krls(Gaussian(1.0), 9).fit(X[:50], Y[:50])
A, M = OLDEST.learner_, MERGED.learner_


@pytest.mark.parametrize("x", [OLDEST, MERGED, SPAN, CENTRES, WAVES, KRLS])
def test_what_was_learned_is_in_order(x):
    check(x)
    try_out(x)
    check(x.learner_)


BROKEN = [
    (A, "rule", None, "rule of a Expansion"),
    (A, "outputs", 2, "offset of a"),
    (A, "outputs", 10**12, "offset of a"),
    (A, "offset", np.zeros(1, np.float32), "offset of a"),
    (A, "offset", np.array([[np.nan, 0.0]]), "offset of a"),
    (A, "seen", -1, "seen of a"),
    (A, "seen", True, "seen of a"),
    (A, "tallies", np.zeros(2), "tallies of a"),
    (A, "budget", None, "budget of a"),
    (A, "budget", Projection(9), "budget is one of coordinates"),
    (A, "budget", Oldest(8), "more terms"),
    (A, "birth", np.where(A.birth == A.birth.max(), -1, A.birth), "gone have"),
    (A, "budget", Oldest(10**30), "larger than any"),
    (A, "birth", A.birth.astype(np.int32), "birth of a"),
    (A, "birth", A.birth[::-1].copy(), "order of their age"),
    (A, "birth", np.where(A.birth == A.birth.max(), -(2**63), A.birth), "order of their age"),
    (A, "birth", np.where(A.birth > 0, A.birth + 10**6, -1), "order of their age"),
    (A, "A", np.full_like(A.A, np.inf), "A of a"),
    (A, "A", np.zeros((9, 1)), "A of a"),
    (A, "U", np.zeros((1, 0)), "sum of functions"),
    (A, "diagonal", A.diagonal * np.nan, "diagonal of a"),
    (A, "points", X[:8], "differ in number"),
    (A, "points", None, "differ in number"),
    (A, "kernel", "gaussian", "kernel of a"),
    (A, "engine", None, "engine of a"),
    (M, "K", M.K[:5, :5], "between terms"),
    (M, "K", M.K.astype(np.float32), "between terms"),
    (M, "partner", M.partner + 99, "partners"),
    (M, "partner", M.partner - 99, "partners"),
    (M, "near", M.near[:3], "near of a"),
    (SPAN.learner_, "basis", None, "basis of a"),
    (SPAN.learner_, "basis", CENTRES.learner_.basis, "A of a"),
    (SPAN.learner_, "most", 0, "can't grow"),
    (SPAN.learner_, "most", 5, "can't grow"),
    (SPAN.learner_, "most", 10**30, "most of a"),
    (SPAN.learner_, "threshold", np.nan, "threshold of a"),
    (SPAN.learner_, "A", np.zeros((1, 3)), "A of a"),
    (SPAN.learner_, "U", np.zeros((1, 3)), "sum of functions"),
    (SPAN.learner_, "P", np.zeros((3, 3)), "recursive"),
    (KRLS.learner_, "P", np.zeros((3, 3)), "recursive"),
    (SPAN.learner_.basis, "L", -SPAN.learner_.basis.L, "span"),
    (SPAN.learner_.basis, "L", np.zeros((9, 8)), "L of a"),
    (SPAN.learner_.basis, "points", X[:3], "differ in number"),
    (CENTRES.learner_.basis, "T", np.zeros((3, 3), int), "T of a"),
    (WAVES.learner_.basis, "width", 7, "another number"),
    (WAVES.learner_.basis, "map", None, "map of a FeatureBasis is not BaseEstimator"),
    (OLDEST, "rule_", replace(OLDEST.rule_), "another rule"),
    (OLDEST, "learner_", 3, "learner_ of a"),
    (OLDEST, "coding_", replace(OLDEST.coding_, one_dimensional=False, n_outputs=2), "each output"),
    (OLDEST, "coding_", MERGED.coding_, "coding_ of a"),
    (MERGED, "coding_", replace(MERGED.coding_, loss=Hinge()), "another's"),
    (OLDEST, "kernel_", Gaussian(1.0), "another kernel"),
    (OLDEST, "n_features_in_", 4, "other features"),
    (WAVES, "n_features_in_", 4, "other features"),
    (OLDEST, "_names", {"a": 1}, "numbered"),
    (OLDEST, "cumulative_loss_", "much", "cumulative_loss_ of a"),
    (MERGED, "n_mistakes_", -1, "n_mistakes_ of a"),
    (OLDEST, "kernel", "nonsense", "unknown kernel"),
    (OLDEST, "representation", "nonsense", "unknown representation"),
]


@pytest.mark.parametrize("x, name, value, match", BROKEN)
def test_conditions(x, name, value, match):
    broken = copy.copy(x)
    broken.__dict__[name] = value
    with pytest.raises(ValueError, match=match):
        check(broken)


RULE = OLDEST.rule_


@pytest.mark.parametrize(
    "rule, match",
    [
        (replace(RULE, lam=-1.0), "lam"),
        (replace(RULE, seed=-1), "seed of an? UpdateRule"),
        (replace(RULE, seed=2**40), "seed"),
        (replace(RULE, lam=10.0), "would shrink"),
        (replace(RULE, step=RecursiveStep(), lam=0.0), "those of least squares"),
        (replace(RULE, averaging=0.5), "averaging of an? UpdateRule"),
        (UpdateRule("squared", RULE.step, 0.0, False, False, 1), "loss of an? UpdateRule"),
    ],
)
def test_rules(rule, match):
    with pytest.raises(ValueError, match=match):
        check(rule)
