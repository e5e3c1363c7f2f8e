"""KernelSVC, KernelSVR and KernelOneClass as their users meet them; agreement with LIBSVM is elsewhere."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import KernelClassifier, KernelOneClass, KernelRegressor, KernelSVC, KernelSVR
from mercer.estimators.lam import FromC
from mercer.features import RandomFourierFeatures
from mercer.kernels import FunctionKernel, Gaussian, Linear, Polynomial
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.representations import Features, Nystrom
from mercer.solvers import ConvergenceWarning, Dual
from oracles import gaussian

RNG = np.random.default_rng(0)
N = 120
X = RNG.standard_normal((N, 2))
SCORE = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * RNG.standard_normal(N)
Y2 = np.where(SCORE > 0, "yes", "no")
Y4 = np.array(["ant", "bee", "cat", "dog"])[np.digitize(SCORE, [-1, 0, 1])]
K = gaussian(X, X)
NEW = RNG.standard_normal((2000, 2)) * 2
TIGHT = Dual(tol=1e-8)


def svc(**given):
    return KernelSVC(**{"kernel": Gaussian(1.0), "lam": 5e-3, "solver": TIGHT, **given})


def svr(**given):
    return KernelSVR(**{"kernel": Gaussian(1.0), "lam": 5e-3, "solver": TIGHT, **given})


def hinge_objective(f, signs, lam, norm, w=None):
    return np.average(np.maximum(0, 1 - signs * f), weights=w) + lam * norm


# -- what a fitted machine tells --------------------------------------------------------------------------


def test_two_classes():
    m = svc().fit(X, Y2)
    signs = np.where(Y2 == "yes", 1.0, -1.0)
    C = 1 / (2 * 5e-3 * N)
    c = np.zeros(N)
    c[m.support_] = m.dual_coef_
    assert m.classes_.tolist() == ["no", "yes"]
    assert m.dual_coef_.shape == m.support_.shape and m.dual_coef_.all()
    assert (signs * c >= 0).all() and np.abs(c).max() <= C * (1 + 1e-12) and abs(c.sum()) < 1e-10
    assert np.array_equal(m.support_vectors_, X[m.support_])
    assert m.n_support_.tolist() == [(Y2[m.support_] == label).sum() for label in ("no", "yes")]
    assert m.n_support_.sum() == len(m.support_) < N
    # f, b and the norm from the coefficients.
    assert m.margin() == pytest.approx(1 / np.sqrt(c @ K @ c), rel=1e-9)
    assert m.decision_function(X) == pytest.approx(K @ c + m.intercept_, abs=1e-10)
    assert np.array_equal(m.solution_.coef[:, 0], c)
    objective = hinge_objective(K @ c + m.intercept_, signs, 5e-3, c @ K @ c)
    assert m.solution_.certificate.objective == pytest.approx(objective, rel=1e-9)
    # Complementary slackness: inside the margin at the bound, outside zero.
    margins = signs * m.decision_function(X)
    assert (np.abs(c[margins < 1 - 1e-6]) == pytest.approx(C)) and not c[margins > 1 + 1e-6].any()
    assert np.array_equal(m.predict(NEW), np.where(m.decision_function(NEW) > 0, "yes", "no"))
    with pytest.raises(AttributeError, match="there are no pairs"):
        m.pair_decision_function(X)


def test_the_function_keeps_support_vectors_only():
    m = svc().fit(X, Y2)
    assert len(m.function_) == len(m.support_) < N
    # Ridge coefficients are all different from 0: nothing is dropped there.
    from mercer import KernelRidge

    assert len(KernelRidge(Gaussian(1.0), offset=False).fit(X, SCORE).function_) == N


@pytest.mark.parametrize("offset", [True, False])
def test_pairs_of_classes(offset):
    """Every pair is the machine of its two classes, with the same C."""
    C = 1.7
    m = svc(lam=FromC(C), offset=offset).fit(X, Y4)
    pairs = m.pair_decision_function(NEW)
    assert pairs.shape == (len(NEW), 6) and m.decision_function(NEW).shape == (len(NEW), 4)
    column = 0
    for i, a in enumerate(m.classes_):
        for b in m.classes_[i + 1 :]:
            two = np.isin(Y4, [a, b])
            alone = svc(lam=FromC(C), offset=offset).fit(X[two], Y4[two] == a)
            assert pairs[:, column] == pytest.approx(alone.decision_function(NEW), abs=1e-5)
            column += 1
    votes = np.zeros((len(NEW), 4))
    column = 0
    for i in range(4):
        for j in range(i + 1, 4):
            votes[:, i] += pairs[:, column] > 0
            votes[:, j] += pairs[:, column] <= 0
            column += 1
    chosen = np.searchsorted(m.classes_, m.predict(NEW))
    assert (votes[np.arange(len(NEW)), chosen] == votes.max(axis=1)).all()
    assert m.dual_coef_.shape == (len(m.support_), 6) and m.margin().shape == (6,)
    assert m.n_support_.sum() == len(m.support_) and len(m.n_support_) == 4


def test_one_against_the_rest():
    m = svc(multiclass="ovr").fit(X, Y4)
    scores = m.decision_function(NEW)
    assert scores.shape == (len(NEW), 4) and m.dual_coef_.shape[1] == 4
    for j, label in enumerate(m.classes_):
        alone = svc().fit(X, np.isin(Y4, label))
        assert scores[:, j] == pytest.approx(alone.decision_function(NEW), abs=1e-5)
    assert np.array_equal(m.predict(NEW), m.classes_[scores.argmax(axis=1)])
    with pytest.raises(AttributeError, match="there are no pairs"):
        m.pair_decision_function(X)


def test_regression():
    m = svr(epsilon=0.3).fit(X, SCORE)
    c = np.zeros(N)
    c[m.support_] = m.dual_coef_
    residual = SCORE - m.predict(X)
    assert m.predict(X) == pytest.approx(K @ c + m.intercept_, abs=1e-10)
    assert np.array_equal(m.support_vectors_, X[m.support_])
    # Inside the tube nothing is kept, beyond it everything is at the bound.
    assert not c[np.abs(residual) < 0.3 - 1e-6].any()
    C = 1 / (2 * 5e-3 * N)
    assert c[np.abs(residual) > 0.3 + 1e-6] == pytest.approx(
        C * np.sign(residual)[np.abs(residual) > 0.3 + 1e-6]
    )
    both = svr(epsilon=0.3).fit(X, np.column_stack([SCORE, X[:, 0]]))
    assert both.predict(NEW)[:, 0] == pytest.approx(m.predict(NEW), abs=1e-6)
    assert both.dual_coef_.shape == (len(both.support_), 2)
    assert m.score(X, SCORE) > 0.7


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8])
def test_one_class(nu):
    m = KernelOneClass(Gaussian(1.0), nu=nu, solver=TIGHT).fit(X)
    c = np.zeros(N)
    c[m.support_] = m.dual_coef_
    outside = m.predict(X) == -1
    assert outside.mean() <= nu <= len(m.support_) / N
    assert m.n_support_.tolist() == [np.count_nonzero(c)]
    assert c.min() >= 0 and c.max() <= 1 + 1e-12 and c.sum() == pytest.approx(nu * N)
    assert m.score_samples(X) == pytest.approx(K @ c, abs=1e-8)
    assert m.decision_function(X) == pytest.approx(K @ c - m.offset_, abs=1e-6)
    assert np.array_equal(m.predict(NEW), np.where(m.decision_function(NEW) >= 0, 1, -1))
    assert np.array_equal(clone(m).fit_predict(X), m.predict(X))
    # ½‖f‖² − νnρ + Σ(ρ − f)₊ is least: no other level, and no f nearby, gives less.
    f, rho = K @ c, m.offset_

    def cost(f, norm, rho):
        return 0.5 * norm - nu * N * rho + np.maximum(0, rho - f).sum()

    best = cost(f, c @ f, rho)
    assert all(cost(f, c @ f, rho + t) >= best - 1e-7 for t in (-1, -0.01, 0.01, 1))
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = c + 0.01 * rng.standard_normal(N)
        assert cost(K @ d, d @ K @ d, rho) >= best - 1e-7


def test_other_representations_and_solvers():
    for representation in (
        Nystrom(n_centres=30),
        Features(RandomFourierFeatures(n_features=40, random_state=0)),
    ):
        m = svc(representation=representation, random_state=0).fit(X, Y2)
        assert m.score(X, Y2) > 0.8 and m.solution_.certificate.gap < 1e-6
        assert len(m.support_) < N and m.n_support_.sum() == len(m.support_)
        assert np.array_equal(m.support_vectors_, X[m.support_])
        f = m.function_ @ m.function_
        assert m.margin() == pytest.approx(1 / np.sqrt(f), rel=1e-9)
    assert "dual problem" in str(svc(solver="auto").plan(X, Y2))


def test_unfitted_machines_have_no_support():
    for name in ("support_", "dual_coef_"):
        with pytest.raises(AttributeError, match="after a fit with solver='dual'"):
            getattr(svc(), name)


def test_the_same_as_the_general_machines():
    a = svc(offset=True).fit(X, Y2)
    b = KernelClassifier(Gaussian(1.0), loss=Hinge(), lam=5e-3, offset=True, solver=TIGHT).fit(X, Y2)
    assert a.decision_function(NEW) == pytest.approx(b.decision_function(NEW), abs=1e-9)
    a = svr(offset=True, epsilon=0.2).fit(X, SCORE)
    loss = EpsilonInsensitive(0.2)
    b = KernelRegressor(Gaussian(1.0), loss=loss, lam=5e-3, offset=True, solver=TIGHT).fit(X, SCORE)
    assert a.predict(NEW) == pytest.approx(b.predict(NEW), abs=1e-9)


# -- C ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls, y", [(KernelSVC, Y2), (KernelSVR, SCORE)])
@pytest.mark.parametrize("w", [None, RNG.uniform(0, 3, N)], ids=["plain", "weighted"])
def test_c_is_one_over_two_lambda_times_the_weights(cls, y, w):
    C = 0.7
    total = N if w is None else w.sum()
    a = cls.from_C(C, kernel=Gaussian(1.0), solver=TIGHT).fit(X, y, w)
    b = cls(Gaussian(1.0), lam=1 / (2 * C * total), solver=TIGHT).fit(X, y, w)
    assert a.scores(NEW) == pytest.approx(b.scores(NEW), abs=1e-9)
    bound = C * (np.ones(N) if w is None else w)
    assert (np.abs(a.solution_.dual_coef[:, 0]) <= bound * (1 + 1e-9)).all()


def test_c_is_a_parameter_like_any_other():
    m = KernelSVC.from_C(3.0, kernel=Gaussian(2.0))
    assert m.get_params()["lam__C"] == 3.0 and clone(m).lam == FromC(3.0)
    assert m.set_params(lam__C=9.0).lam.C == 9.0
    search = GridSearchCV(m, {"lam__C": [1e-4, 1.0], "kernel__sigma": [0.5, 1.0]}, cv=3).fit(X, Y2)
    assert search.best_params_["lam__C"] == 1.0
    best = KernelSVC.from_C(1.0, kernel=Gaussian(search.best_params_["kernel__sigma"])).fit(X, Y2)
    assert search.decision_function(NEW) == pytest.approx(best.decision_function(NEW), abs=1e-9)
    # λ depends on the number of examples, C does not.
    small, large = (search.best_estimator_.problem(X[:k], Y2[:k])[0].lam for k in (50, 100))
    assert small == pytest.approx(1 / 100) and large == pytest.approx(1 / 200)


def test_a_path_of_c_from_the_last_solution():
    warm = svc(warm_start=True, lam=FromC(0.1))
    for C in (0.1, 0.2, 0.4, 0.8, 1.6):
        warm.set_params(lam__C=C).fit(X, Y2)
        cold = svc(lam=FromC(C)).fit(X, Y2)
        assert warm.decision_function(NEW) == pytest.approx(cold.decision_function(NEW), abs=1e-5)
        assert np.array_equal(warm.support_, cold.support_)
    # Fitting again changes nothing, and takes nothing.
    before = warm.dual_coef_.copy()
    warm.fit(X, Y2)
    assert warm.solution_.history[0] <= 1e-8 and warm.dual_coef_ == pytest.approx(before, abs=1e-9)
    # Other examples, other classes: a fresh start instead of an error.
    warm.fit(X[:50], Y2[:50])
    warm.fit(X, Y4)
    assert warm.predict(X).shape == (N,)


def test_warm_starts_of_the_others():
    for m, y in ((svr(warm_start=True), SCORE), (KernelOneClass(Gaussian(1.0), warm_start=True), None)):
        first = m.fit(X, y).dual_coef_.copy()
        m.fit(X, y)
        assert m.dual_coef_ == pytest.approx(first, abs=1e-6)


# -- weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [KernelSVC, KernelClassifier])
def test_class_weights_are_weights(cls):
    solver = {"loss": Hinge()} if cls is KernelClassifier else {}
    make = {"kernel": Gaussian(1.0), "lam": 5e-3, "solver": TIGHT, "offset": True, **solver}
    w = np.where(Y2 == "yes", 4.0, 0.5)
    a = cls(class_weight={"yes": 4.0, "no": 0.5}, **make).fit(X, Y2)
    b = cls(**make).fit(X, Y2, w)
    assert a.decision_function(NEW) == pytest.approx(b.decision_function(NEW), abs=1e-9)
    assert (a.predict(NEW) == "yes").mean() > (cls(**make).fit(X, Y2).predict(NEW) == "yes").mean()
    # Together with weights of examples they multiply.
    u = RNG.uniform(0.1, 1, N)
    a = cls(class_weight={"yes": 4.0, "no": 0.5}, **make).fit(X, Y2, u)
    b = cls(**make).fit(X, Y2, u * w)
    assert a.decision_function(NEW) == pytest.approx(b.decision_function(NEW), abs=1e-9)


def test_balanced_classes():
    rare = np.concatenate([np.flatnonzero(Y2 == "no"), np.flatnonzero(Y2 == "yes")[:8]])
    P, y = X[rare], Y2[rare]
    n, sizes = len(y), np.where(y == "yes", 8, len(y) - 8)
    a = svc(class_weight="balanced").fit(P, y)
    b = svc().fit(P, y, n / (2 * sizes))
    assert a.decision_function(NEW) == pytest.approx(b.decision_function(NEW), abs=1e-9)
    many = svc(class_weight="balanced").fit(X, Y4)
    counts = dict(zip(*np.unique(Y4, return_counts=True)))
    same = svc(class_weight={label: N / (4 * counts[label]) for label in counts}).fit(X, Y4)
    assert many.decision_function(NEW) == pytest.approx(same.decision_function(NEW), abs=1e-9)


# -- probabilities ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("y", [Y2, Y4], ids=["two", "four"])
def test_probabilities_never_contradict(y, multiclass):
    m = KernelSVC(Gaussian(0.5), lam=1e-3, probability=True, multiclass=multiclass).fit(X, y)
    points = np.vstack([X, np.random.default_rng(1).uniform(-4, 4, (20_000, 2)), np.zeros((1, 2)) + 1e3])
    for P in (points, points.astype(np.float32)):
        p = m.predict_proba(P)
        assert p.shape == (len(P), len(m.classes_)) and (p >= 0).all()
        assert np.abs(p.sum(axis=1) - 1).max() < 1e-6
        assert np.array_equal(m.classes_[p.argmax(axis=1)], m.predict(P))
    assert np.allclose(m.predict_log_proba(points), np.log(m.predict_proba(points)))


@pytest.mark.parametrize("y", [Y2, Y4], ids=["two", "four"])
def test_probabilities_are_worth_having(y):
    """Out of sample they beat both the shares of the classes and certainty."""
    m = KernelSVC(Gaussian(1.0), lam=1e-3, probability=True)
    labels = np.unique(y)
    half = np.arange(N) % 2 == 0
    p = m.fit(X[half], y[half]).predict_proba(X[~half])
    shares = np.tile([(y[half] == label).mean() for label in labels], ((~half).sum(), 1))
    sure = np.where(p == p.max(axis=1, keepdims=True), 0.999, 0.001 / (len(labels) - 1))
    sure = sure / sure.sum(axis=1, keepdims=True)
    truth = y[~half]
    assert log_loss(truth, p, labels=labels) < 0.9 * log_loss(truth, shares, labels=labels)
    assert log_loss(truth, p, labels=labels) < log_loss(truth, sure, labels=labels)


def test_two_class_probabilities_rise_with_the_score():
    m = KernelSVC(Gaussian(1.0), lam=1e-3, probability=True).fit(X, Y2)
    s, p = m.decision_function(NEW), m.predict_proba(NEW)[:, 1]
    order = np.argsort(s)
    assert (np.diff(p[order]) >= 0).all()
    assert ((p > 0.5) == (s > 0)).all()


def test_probabilities_only_on_request():
    with pytest.raises(AttributeError) as caught:
        svc().fit(X, Y2).predict_proba(X)
    assert "only if probability=True" in str(caught.value.__cause__)
    assert not hasattr(svc(), "predict_proba") and hasattr(svc(probability=True), "predict_proba")
    rare = Y2.astype(object)
    rare[0] = "perhaps"
    with pytest.raises(ValueError, match="at least two examples of each class, but 'perhaps' has one"):
        svc(probability=True).fit(X, rare)
    numbers = np.r_[7, (SCORE[1:] > 0).astype(int)]
    with pytest.raises(ValueError, match="of each class, but 7 has one"):
        svc(probability=True).fit(X, numbers)
    with pytest.raises(ValueError, match="probability must be True or False, got 'isotonic'"):
        svc(probability="isotonic").fit(X, Y2)


def test_probabilities_with_weights_and_a_matrix():
    w = RNG.uniform(0, 2, N)
    a = svc(probability=True).fit(X, Y2, w)
    b = svc(probability=True, kernel="precomputed").fit(K, Y2, w)
    rows = gaussian(NEW, X)
    assert b.predict_proba(rows) == pytest.approx(a.predict_proba(NEW), abs=1e-4)


# -- inputs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [csr_matrix, csr_array])
def test_sparse_rows(container):
    thin = np.where(np.abs(X) > 0.7, X, 0.0)
    a, b = svc().fit(thin, Y2), svc().fit(container(thin), Y2)
    assert b.decision_function(container(NEW)) == pytest.approx(a.decision_function(NEW), abs=1e-8)
    assert b.support_vectors_.shape == (len(b.support_), 2)
    a, b = svr().fit(thin, SCORE), svr().fit(container(thin), SCORE)
    assert b.predict(container(NEW)) == pytest.approx(a.predict(NEW), abs=1e-8)
    a, b = (KernelOneClass(Gaussian(1.0), nu=0.2).fit(P) for P in (thin, container(thin)))
    assert b.score_samples(container(NEW)) == pytest.approx(a.score_samples(NEW), abs=1e-6)
    p = svc(probability=True).fit(container(thin), Y2).predict_proba(container(NEW))
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12


def test_a_precomputed_matrix():
    rows = gaussian(NEW, X)
    for make, y in ((svc, Y2), (svc, Y4), (svr, SCORE)):
        a, b = make().fit(X, y), make(kernel="precomputed").fit(K, y)
        assert b.scores(rows) == pytest.approx(a.scores(NEW), abs=1e-6)
        assert np.array_equal(a.support_, b.support_)
    a, b = KernelOneClass(Gaussian(1.0)).fit(X), KernelOneClass("precomputed").fit(K)
    assert b.score_samples(rows) == pytest.approx(a.score_samples(NEW), abs=1e-6)
    scores = cross_val_score(svc(kernel="precomputed"), K, Y2, cv=3)
    assert scores == pytest.approx(cross_val_score(svc(), X, Y2, cv=3))


def test_points_that_are_no_vectors():
    def shared(a, b):
        return float(len(set(a) & set(b)))

    words = ["".join(RNG.choice(list("abcdefgh"), 5)) for _ in range(60)]
    y = np.array(["a" in w or "b" in w for w in words])
    m = svc(kernel=FunctionKernel(shared)).fit(words, y)
    letters = np.array([[c in w for c in "abcdefgh"] for w in words], float)
    same = svc(kernel=Linear()).fit(letters, y)
    new = ["abc", "fgh", "", "ddd"]
    features = np.array([[c in w for c in "abcdefgh"] for w in new], float)
    assert m.decision_function(new) == pytest.approx(same.decision_function(features), abs=1e-5)
    assert [str(v) for v in m.support_vectors_] == [words[i] for i in m.support_]
    regressor = svr(kernel=FunctionKernel(shared)).fit(words, [len(set(w)) for w in words])
    assert regressor.predict(words) == pytest.approx([len(set(w)) for w in words], abs=0.5)
    assert set(KernelOneClass(FunctionKernel(shared)).fit(words).predict(words)) <= {-1, 1}


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [-1, 1], [False, True], [2.0, 7.0]])
def test_labels_of_any_kind(labels):
    y = np.array(labels)[(SCORE > 0).astype(int)]
    m = svc().fit(X, y)
    assert m.predict(X).dtype == y.dtype and m.classes_.tolist() == sorted(labels)
    assert m.decision_function(NEW) == pytest.approx(svc().fit(X, Y2).decision_function(NEW), abs=1e-9)


def test_single_precision_in_and_out():
    a, b = svc(solver="auto").fit(X, Y2), svc(solver="auto").fit(X.astype(np.float32), Y2)
    scores = b.decision_function(NEW.astype(np.float32))
    assert scores.dtype == np.float32
    assert scores == pytest.approx(a.decision_function(NEW), abs=1e-3)


@pytest.mark.parametrize(
    "machine, y",
    [
        (svc(), Y2),
        (svc(probability=True), Y4),
        (svr(), SCORE),
        (KernelOneClass(nu=0.1), None),
    ],
    ids=["two", "four", "numbers", "none"],
)
def test_pickles(machine, y):
    m = clone(machine).fit(X, y)
    again = pickle.loads(pickle.dumps(m))
    assert np.array_equal(again.predict(NEW), m.predict(NEW))
    assert np.array_equal(again.support_, m.support_) and np.array_equal(again.dual_coef_, m.dual_coef_)
    assert np.array_equal(again.support_vectors_, m.support_vectors_)
    if hasattr(m, "predict_proba"):
        assert np.array_equal(again.predict_proba(NEW), m.predict_proba(NEW))


def test_in_a_pipeline():
    m = make_pipeline(StandardScaler(), KernelSVC.from_C(1.0)).fit(X * 1e3 + 7, Y2)
    assert m.score(X * 1e3 + 7, Y2) > 0.85


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_repeated_row_is_a_row_of_weight_two():
    index = np.concatenate([np.arange(N), np.arange(20)])
    w = np.ones(N)
    w[:20] = 2
    for make, y in ((svc, Y2), (svc, Y4), (svr, SCORE)):
        a, b = make().fit(X, y, w), make().fit(X[index], y[index])
        assert a.scores(NEW) == pytest.approx(b.scores(NEW), abs=1e-4)


def test_stopping_early_points_at_the_caller():
    with pytest.warns(ConvergenceWarning, match="dual stopped at its limit") as caught:
        svc(lam=1e-15, solver=Dual(max_iter=1), kernel=Gaussian(3.0)).fit(X, Y2)
    assert caught[0].filename == __file__


def test_too_many_pairs_are_refused_before_they_fill_the_memory(monkeypatch):
    monkeypatch.setattr("mercer.estimators.svm.available_memory", lambda: 10**6)
    X = np.arange(600.0)[:, None]
    with pytest.raises(ValueError, match="100 classes make 4,950 pairs, .* use multiclass='ovr'"):
        KernelSVC().fit(X, np.arange(600) % 100)


# -- one solver begins, another ends -----------------------------------------------------------------------


def test_support_vectors_are_those_of_the_solver_that_ends():
    """Several classes and a cubic kernel: coordinates get nowhere on its features, and Newton takes over."""
    rng = np.random.default_rng(0)
    P = rng.standard_normal((120, 3))
    score = P[:, 0] + P[:, 1] * P[:, 2] + 0.3 * rng.standard_normal(120)
    y = np.digitize(score, np.quantile(score, [0.25, 0.5, 0.75]))
    kernel, C = Polynomial(3, 1.0), 500.0
    ours = KernelSVC.from_C(C, kernel=kernel).fit(P, y)
    assert ours.solution_.solver == "dual, then smoothing"
    theirs = SVC(
        C=C, kernel="poly", degree=3, gamma=1.0, coef0=1.0, tol=1e-6, decision_function_shape="ovo"
    ).fit(P, y)
    different = np.setxor1d(ours.support_, theirs.support_)
    assert len(different) <= 2 and np.abs(ours.n_support_ - theirs.n_support_).sum() <= 2
    assert np.array_equal(ours.support_vectors_, P[ours.support_])
    c = ours.dual_coef_
    assert c.shape == (len(ours.support_), 6) and np.abs(c).max() <= C * (1 + 1e-12)
    np.testing.assert_allclose(c.sum(axis=0), 0, atol=1e-6 * C)
    # The coefficients are the function, Σ c_i k(x_i, ·) + b, as far as the gap allows: λ‖f − f*‖² ≤ gap.
    apart = kernel(P, ours.support_vectors_) @ c + ours.intercept_ - ours.pair_decision_function(P)
    allowed = np.sqrt(ours.solution_.certificate.gap / ours.lam_ * kernel.diag(P))
    assert (np.abs(apart).max(axis=1) <= allowed).all() and np.median(np.abs(apart)) < 0.01
    counted = ours.solution_.support
    at_bound = (np.abs(np.abs(c) - C) <= 1e-9 * C).sum(axis=0)
    assert counted.bounded == tuple(at_bound) and counted.free == tuple((c != 0).sum(axis=0) - at_bound)
