"""The kernel perceptron, against the plain loop of the text."""

import os
import pickle
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score

from mercer import KernelPerceptron
from mercer.engines import Cuda, Tiled
from mercer.kernels import Finite, FunctionKernel, Gaussian, Linear, Polynomial, Precomputed
from mercer.solvers import perceptron

if "triton" not in sys.modules:
    os.environ.setdefault("TRITON_INTERPRET", "1")

PREDICTIONS = ["last", "averaged", "voted"]


def alpha(machine):
    """The coefficients of all examples; those that were never mistaken have 0."""
    out = np.zeros((len(machine.mistakes_), *machine.dual_coef_.shape[1:]))
    out[machine.support_] = machine.dual_coef_
    return out


def naive(K, y, max_iter, orders=None):
    """(alpha after every step, mistakes in every pass) for y = ±1, as the text has it."""
    n = len(K)
    alpha, states, history = np.zeros(n), [], []
    for epoch in range(max_iter):
        mistakes = 0
        for i in range(n) if orders is None else orders[epoch]:
            if y[i] * (K[i] @ alpha) <= 0:
                alpha = alpha.copy()
                alpha[i] += y[i]
                mistakes += 1
            states.append(alpha)
        history.append(mistakes)
        if not mistakes:
            break
    return states, history


def naive_classes(K, label, classes, max_iter, orders=None):
    """The same for any number of classes, alpha of shape (n, classes)."""
    n = len(K)
    alpha, states, history = np.zeros((n, classes)), [], []
    for epoch in range(max_iter):
        mistakes = 0
        for i in range(n) if orders is None else orders[epoch]:
            score = K[i] @ alpha
            others = [c for c in range(classes) if c != label[i]]
            rival = max(others, key=lambda c: (score[c], -c))
            if score[label[i]] <= score[rival]:
                alpha = alpha.copy()
                alpha[i, label[i]] += 1
                alpha[i, rival] -= 1
                mistakes += 1
            states.append(alpha)
        history.append(mistakes)
        if not mistakes:
            break
    return states, history


def orders_of(seed, n, epochs):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(epochs)]


def quiet(machine, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(X, y)


@pytest.fixture(params=["matrix", "blocks", "columns", "few columns", "no columns"])
def way(request, monkeypatch):
    """Every way to come by kernel values; returns a kernel and points that are taken that way."""
    if request.param == "blocks":
        monkeypatch.setattr(perceptron, "_COLUMN_BYTES", 0)
        monkeypatch.setattr(perceptron, "_BLOCK", 7)
    columns = {"few columns": 5, "no columns": 0}.get(request.param)

    def points(kernel, X):
        if request.param in ("matrix", "blocks"):
            return kernel, X
        if columns is not None:
            monkeypatch.setattr(perceptron, "_COLUMN_BYTES", columns * 8 * len(X))
        return Finite(kernel(X)), np.arange(len(X))

    return points


def exact(rng, n):
    """Points and a kernel whose values are whole numbers: sums are exact, and ties are many."""
    return rng.integers(-2, 3, (n, 2)).astype(float), Polynomial(2, c=1.0)


def general(rng, n):
    return rng.standard_normal((n, 2)), Gaussian(0.7)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", [exact, general])
def test_equals_the_plain_loop(way, kind, shuffle):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 40))
        X, kernel = kind(rng, n)
        y = np.where(rng.random(n) < 0.5, 1, -1)
        y[:2] = -1, 1
        epochs = int(rng.integers(1, 12))
        states, history = naive(kernel(X), y, epochs, orders_of(seed, n, epochs) if shuffle else None)
        k, points = way(kernel, X)
        machine = quiet(KernelPerceptron(k, epochs, shuffle=shuffle, random_state=seed), points, y)
        assert np.array_equal(alpha(machine), states[-1])
        assert np.array_equal(machine.mistakes_, np.abs(states[-1]))
        assert machine.history_.tolist() == history
        assert machine.n_iter_ == len(history)
        assert machine.converged_ == bool((y * (kernel(X) @ states[-1]) > 0).all())


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", [exact, general])
def test_more_classes_equal_the_plain_loop(way, kind, shuffle):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, classes = int(rng.integers(6, 40)), int(rng.integers(3, 6))
        X, kernel = kind(rng, n)
        label = np.concatenate([np.arange(classes), rng.integers(0, classes, n)])[:n]
        epochs = int(rng.integers(1, 12))
        orders = orders_of(seed, n, epochs) if shuffle else None
        states, history = naive_classes(kernel(X), label, classes, epochs, orders)
        k, points = way(kernel, X)
        machine = quiet(KernelPerceptron(k, epochs, shuffle=shuffle, random_state=seed), points, label)
        assert np.array_equal(alpha(machine), states[-1])
        assert machine.history_.tolist() == history
        assert machine.mistakes_.sum() == sum(history)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kind", [exact, general])
def test_averages_and_votes(way, kind, classes, monkeypatch):
    """Over all functions that were current after a step, one by one."""
    monkeypatch.setattr(perceptron, "_VOTE_ENTRIES", 300)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, kernel = kind(rng, 30)
        T = kind(rng, 40)[0]
        K = kernel(X)
        label = np.concatenate([np.arange(classes), rng.integers(0, classes, 30 - classes)])
        k, points = way(kernel, X)
        at = T if points is X else kernel(T, X)
        fitted = [quiet(KernelPerceptron(k, 5, p), points, label) for p in ("averaged", "voted")]
        if classes == 2:
            states, _ = naive(K, 2 * label - 1, 5)
            votes = np.mean([np.sign(kernel(T, X) @ a) for a in states], axis=0)
        else:
            states, _ = naive_classes(K, label, classes, 5)
            votes = np.mean([np.eye(classes)[(kernel(T, X) @ a).argmax(axis=1)] for a in states], axis=0)
        mean = np.mean(states, axis=0)
        averaged, voted = fitted
        assert np.allclose(alpha(averaged), mean, rtol=1e-13, atol=1e-15)
        assert np.allclose(averaged.decision_function(at), kernel(T, X) @ mean)
        assert np.array_equal(alpha(voted), states[-1])
        assert np.allclose(voted.decision_function(at), votes, rtol=0, atol=1e-14)
        for machine in fitted:
            scores = machine.decision_function(at)
            best = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
            assert np.array_equal(machine.predict(at), machine.classes_[best])


def test_step_by_step():
    """Worked by hand: x₁ = (1,0) and x₃ = (1,1) positive, x₂ = (0,1) negative, k(x,z) = x·z.

    pass 1   x₁: a = 0, mistake, w = (1,0)   x₂: a = 0, mistake, w = (1,−1)   x₃: a = 0, mistake, w = (2,0)
    pass 2   x₁: a = 2                       x₂: a = 0, mistake, w = (2,−1)   x₃: a = 1
    pass 3   x₁: a = 2                       x₂: a = −1                       x₃: a = 1
    """
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [1, -1, 1]
    last, averaged, voted = (KernelPerceptron(Linear(), prediction=p).fit(X, y) for p in PREDICTIONS)
    assert alpha(last).tolist() == [1, -2, 1]
    assert last.mistakes_.tolist() == [1, 2, 1]
    assert last.history_.tolist() == [3, 1, 0]
    assert last.n_iter_ == 3
    assert last.converged_
    assert last.decision_function(np.eye(2)).tolist() == [2, -1]  # w
    assert last.margin_ == pytest.approx(1 / 5**0.5)
    assert last.mistake_bound_ == pytest.approx(10)
    # Of the 9 steps the first mistake was followed by 9 with it, the second by 8, …
    assert np.allclose(alpha(averaged), np.array([9, -8 - 5, 7]) / 9)
    # w = (1,0), (1,−1), (2,0), (2,−1) for 1, 1, 2 and 5 steps; at (0,1) two of them are 0.
    assert voted.decision_function([[0.0, 1.0]]) == pytest.approx([-6 / 9])
    assert voted.predict([[0.0, 1.0]]) == [-1]


def test_exclusive_or():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 0]
    machine = KernelPerceptron(Polynomial(2)).fit(X, y)
    assert machine.converged_
    assert machine.predict(X).tolist() == y
    assert machine.mistakes_.sum() == machine.history_.sum() <= machine.mistake_bound_
    with pytest.warns(ConvergenceWarning):
        assert not KernelPerceptron(Linear() + 1).fit(X, y).converged_


@pytest.mark.parametrize("classes", [2, 3])
def test_novikoff(classes):
    """Any function that separates bounds the number of mistakes, the one found and the one that made y."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, W = rng.standard_normal((200, 3)), rng.standard_normal((3, classes))
        scores = np.sort(X @ W, axis=1)
        keep = scores[:, -1] - scores[:, -2] > 0.3
        X, y = X[keep], (X @ W).argmax(axis=1)[keep]
        machine = KernelPerceptron(Linear(), 10_000).fit(X, y)
        assert machine.converged_
        assert machine.score(X, y) == 1
        w = machine.decision_function(np.eye(3)).reshape(3, -1)
        if classes == 2:
            gamma = ((2 * y - 1) * (X @ w)[:, 0]).min() / np.linalg.norm(w)
            other = np.abs(X @ (W[:, 1] - W[:, 0])).min() / np.linalg.norm(W[:, 1] - W[:, 0])
        else:
            F = np.sort(X @ w, axis=1)
            gamma = (F[:, -1] - F[:, -2]).min() / np.linalg.norm(w)
            G = np.sort(X @ W, axis=1)
            other = (G[:, -1] - G[:, -2]).min() / np.linalg.norm(W)
        radius = (X**2).sum(axis=1).max() * (1 if classes == 2 else 2)
        assert machine.margin_ == pytest.approx(gamma)
        assert machine.mistake_bound_ == pytest.approx(radius / gamma**2)
        assert machine.mistakes_.sum() <= min(machine.mistake_bound_, radius / other**2)


def test_two_classes_are_the_machine_for_more():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.integers(0, 2, 60)
    states, history = naive_classes(Gaussian(0.5)(X), y, 2, 8)
    machine = quiet(KernelPerceptron(Gaussian(0.5), 8), X, y)
    assert np.array_equal(np.stack([-alpha(machine), alpha(machine)], axis=1), states[-1])
    assert machine.history_.tolist() == history


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_contradictory_labels_never_converge(prediction):
    X, y = [[0.0], [0.0], [3.0], [4.0]], ["a", "b", "a", "b"]
    machine = KernelPerceptron(Gaussian(1.0), 30, prediction)
    with pytest.warns(ConvergenceWarning, match="limit of 30 passes, with . mistakes on 4 examples") as said:
        machine.fit(X, y)
    assert said[0].filename == __file__
    assert ("averaged" in str(said[0].message)) == (prediction == "last")
    assert not machine.converged_
    assert machine.n_iter_ == 30
    assert machine.margin_ <= 0
    assert machine.mistake_bound_ == np.inf


def test_f_zero_has_no_margin():
    with pytest.warns(ConvergenceWarning):
        machine = KernelPerceptron(Gaussian(1.0), 1).fit([[1.0], [1.0]], [0, 1])
    assert machine.margin_ == 0
    assert machine.decision_function([[1.0]]).tolist() == [0]


def test_separated_in_the_last_pass_is_converged():
    """No clean pass was made, but it is known that the next would be one."""
    machine = KernelPerceptron(Linear(), 1).fit([[1.0], [-1.0]], [1, 0])
    assert machine.converged_
    assert machine.history_.tolist() == [1]


def test_iris_and_digits():
    X, y = load_iris(return_X_y=True)
    states, history = naive_classes(Polynomial(2)(X / 4), y, 3, 6)
    machine = quiet(KernelPerceptron(Polynomial(2), 6), X / 4, y)
    assert np.array_equal(alpha(machine), states[-1])
    assert machine.history_.tolist() == history

    images, digit = load_digits(return_X_y=True)
    machine = KernelPerceptron(Gaussian(1.7)).fit(images[:1200] / 16, digit[:1200])
    assert machine.converged_
    assert machine.mistakes_.sum() <= machine.mistake_bound_
    assert machine.score(images[:1200] / 16, digit[:1200]) == 1
    assert machine.score(images[1200:] / 16, digit[1200:]) > 0.89
    small = KernelPerceptron(Gaussian(1.7)).fit(images[:300] / 16, digit[:300])
    states, history = naive_classes(Gaussian(1.7)(images[:300] / 16), digit[:300], 10, 100)
    assert np.array_equal(alpha(small), states[-1])
    assert small.history_.tolist() == history
    assert len(small.function_) == np.count_nonzero(small.mistakes_) < 300


def test_averages_and_votes_help_where_classes_overlap():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    y = (X[:, 0] + X[:, 1] + rng.standard_normal(600)) > 0
    T = rng.standard_normal((2000, 2))
    last, averaged, voted = (
        quiet(KernelPerceptron(Gaussian(1.0), 5, p), X, y).score(T, T.sum(axis=1) > 0) for p in PREDICTIONS
    )
    assert min(averaged, voted) > max(last, 0.9)


# -- memory and kernel evaluations -------------------------------------------------------------------


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(perceptron, "_COLUMN_BYTES", 1 << 20)
    monkeypatch.setattr(perceptron, "_BLOCK", 256)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    y = X[:, 0] * X[:, 1] > 0
    machine = KernelPerceptron(Gaussian(0.5), 2)
    tracemalloc.start()
    quiet(machine, X, y)
    voted = quiet(clone(machine).set_params(prediction="voted"), X, y)
    voted.predict(X[:50])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 48 << 20  # the matrix would take 128 MB
    monkeypatch.undo()
    whole = quiet(clone(machine), X, y)
    assert np.array_equal(alpha(whole), alpha(machine))


@pytest.mark.parametrize("columns", [0, 10, 200])
def test_columns_kept_are_not_computed_again(columns, monkeypatch):
    """With room for all, a mistake on an example costs n evaluations once, however often it is repeated."""
    n = 120
    monkeypatch.setattr(perceptron, "_COLUMN_BYTES", columns * 8 * n)
    made = []
    made_by = perceptron.ColumnSweeps.__init__

    def counted(self, *args):
        made_by(self, *args)
        made.append(self)
        calls.clear()  # k(x,x), and what the door looked at

    monkeypatch.setattr(perceptron.ColumnSweeps, "__init__", counted)
    calls = []

    def k(a, b):
        calls.append(None)
        return np.exp(-2 * (a[0] - b[0]) ** 2)

    rng = np.random.default_rng(0)
    X = [(float(v),) for v in rng.uniform(-2, 2, n)]
    y = rng.integers(0, 2, n)
    machine = quiet(KernelPerceptron(FunctionKernel(k), 20), X, y)
    (used,) = made
    assert used.kept.nbytes <= perceptron._COLUMN_BYTES
    columns_computed = len(calls) / n
    total, distinct = machine.mistakes_.sum(), np.count_nonzero(machine.mistakes_)
    assert total > 5 * distinct
    if columns == 0:
        assert columns_computed == total
    elif columns == 10:
        assert distinct < columns_computed < 0.95 * total
    else:
        assert columns_computed == distinct


# -- what comes in -----------------------------------------------------------------------------------


@pytest.mark.parametrize("prediction", PREDICTIONS)
def test_any_points(prediction):
    rng = np.random.default_rng(1)
    X = np.round(rng.standard_normal((60, 3)), 1)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "in", "out")
    machine = KernelPerceptron(Gaussian(1.0), 200, prediction)
    expected = clone(machine).fit(X, y).decision_function(X)
    assert np.allclose(clone(machine).fit(sparse.csr_array(X), y).decision_function(X), expected)
    K = Gaussian(1.0)(X)
    given = clone(machine).set_params(kernel=Precomputed()).fit(K, y)
    assert np.allclose(given.decision_function(K[:7]), expected[:7])
    single = clone(machine).fit(X.astype(np.float32), y).decision_function(X.astype(np.float32))
    assert single.dtype == np.float32
    again = pickle.loads(pickle.dumps(clone(machine).fit(X, y)))
    assert np.array_equal(again.decision_function(X), expected)


def test_words():
    words = ["kernel", "colonel", "mercer", "kernels", "commerce", "mercury"]
    machine = KernelPerceptron(lambda a, b: len(set(a) & set(b)) ** 2).fit(words, [0, 0, 1, 0, 1, 1])
    assert machine.converged_
    assert machine.predict(words).tolist() == [0, 0, 1, 0, 1, 1]


def test_inside_scikit_learn():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = KernelPerceptron(Gaussian(1.0), prediction="averaged", shuffle=True, random_state=0)
        assert cross_val_score(machine, X, y).mean() > 0.93
        assert cross_val_score(clone(machine).set_params(kernel="precomputed"), X @ X.T, y).mean() > 0.9


def test_tensors():
    torch = pytest.importorskip("torch", reason="needs torch")
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    machine = quiet(KernelPerceptron(Gaussian(0.3)), torch.tensor(X), torch.tensor(y))
    assert isinstance(machine.predict(torch.tensor(X)), torch.Tensor)
    assert np.array_equal(alpha(machine), alpha(quiet(KernelPerceptron(Gaussian(0.3)), X, y)))


@pytest.mark.parametrize("stored", [True, False])
def test_on_cuda(stored, monkeypatch):
    """In Triton's interpreter, as in test_tensors."""
    pytest.importorskip("torch", reason="needs torch and triton")
    pytest.importorskip("triton", reason="needs torch and triton")
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton runs natively here")
    if not stored:
        monkeypatch.setattr(perceptron, "_COLUMN_BYTES", 0)
        monkeypatch.setattr(perceptron, "_BLOCK", 20)
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 3
    for prediction in PREDICTIONS:
        a, b = (
            quiet(KernelPerceptron(Gaussian(0.5), 3, prediction, engine=e), X, y)
            for e in (Tiled(), Cuda(device="cpu"))
        )
        assert np.array_equal(alpha(a), alpha(b))
        assert np.allclose(a.decision_function(X), b.decision_function(X))


@pytest.mark.parametrize(
    "params, match",
    [
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"prediction": "best"}, "prediction must be one of 'last', 'averaged', 'voted'"),
        ({"prediction": ["last"]}, "prediction must be one of"),
        ({"shuffle": "yes"}, "shuffle must be True or False"),
        ({"kernel": "gausian"}, "did you mean 'gaussian'"),
        ({"engine": "gpu"}, "unknown engine"),
    ],
)
def test_parameters_are_checked(params, match):
    with pytest.raises(ValueError, match=match):
        KernelPerceptron(**params).fit([[0.0], [1.0]], [0, 1])


def test_data_are_checked():
    machine = KernelPerceptron()
    with pytest.raises(ValueError, match="one class only"):
        machine.fit([[0.0], [1.0]], ["a", "a"])
    with pytest.raises(ValueError, match="NaN"):
        machine.fit([[0.0], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        machine.fit([[0.0], [1.0]], [0, np.nan])
    with pytest.raises(ValueError, match="requires y"):
        machine.fit([[0.0], [1.0]], None)
    with pytest.raises(ValueError, match="inconsistent"):
        machine.fit([[0.0], [1.0]], [0, 1, 0])
    with pytest.raises(NotFittedError):
        machine.predict([[0.0]])


def test_kernels_that_overflow():
    """Off the diagonal, where only the columns themselves show it."""
    kernel = FunctionKernel(lambda a, b: 1.0 if a == b else np.inf)
    with pytest.raises(ValueError, match="gives NaN or infinity on these points"):
        KernelPerceptron(kernel).fit(["a", "b", "c"], [0, 1, 0])
