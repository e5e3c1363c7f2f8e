"""Functionals and their gradients: finite differences, closed forms, subgradients, the text's rules."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import losses
from mercer.features import ExplicitFeatures, RandomFourierFeatures
from mercer.functions import FeatureFunction, KernelFunction, section, zero
from mercer.functions.functionals import (
    Combination,
    Evaluation,
    Functional,
    InnerProduct,
    Risk,
    SquaredNorm,
    compose,
    constant,
)
from mercer.kernels import Finite, FunctionKernel, Gaussian, Linear, Polynomial

rng = np.random.default_rng(0)
k = Gaussian(1.0)


def gauss(X, Z):
    return np.exp(-np.sum((X[:, None] - Z[None]) ** 2, axis=-1) / 2)


P = rng.standard_normal((6, 2))  # where f and g have their terms
A, B = rng.standard_normal(6), rng.standard_normal(6)
f, g = KernelFunction(k, P, A), KernelFunction(k, P, B)
x, z = np.array([0.3, -0.5]), np.array([-1.0, 0.2])
fx, fz = (gauss(np.array([x, z]), P) @ A).tolist()
norm2 = A @ gauss(P, P) @ A
cross = A @ gauss(P, P) @ B
at_x, at_z, square = Evaluation(k, x), Evaluation(k, z), SquaredNorm()

X, y = rng.standard_normal((9, 2)), rng.standard_normal(9)
signs = np.where(y > 0, 1.0, -1.0)
scores = gauss(X, P) @ A
weights = rng.uniform(0.5, 2.0, 9)

# Each functional with its value at f, worked out by hand.
SMOOTH = {
    "evaluation": (at_x, fx),
    "squared norm": (square, norm2),
    "inner product": (InnerProduct(g), cross),
    "constant": (constant(3.0), 3.0),
    "sum": (at_x + square + 2, fx + norm2 + 2),
    "difference": (1 - at_x - square, 1 - fx - norm2),
    "negative": (-(at_x - 3 * square), 3 * norm2 - fx),
    "multiple": (np.float64(2.5) * at_x / 5, fx / 2),
    "product": (at_x * square * at_z, fx * norm2 * fz),
    "quotient": (at_x / (square + 1), fx / (norm2 + 1)),
    "reciprocal": (2 / (1 + square), 2 / (1 + norm2)),
    "least squares": ((at_x - 0.7) ** 2 + 0.1 * square, (fx - 0.7) ** 2 + 0.1 * norm2),
    "cube of the norm": (square**3, norm2**3),
    "root": (square.sqrt(), np.sqrt(norm2)),
    "real power": ((square + 1) ** 1.7, (norm2 + 1) ** 1.7),
    "negative power": ((square + 1) ** -2, (norm2 + 1) ** -2),
    "power 0": (at_x**0, 1.0),
    "power 1": (at_x**1, fx),
    "exp": (at_x.exp(), np.exp(fx)),
    "log": ((square + 0.5).log(), np.log(norm2 + 0.5)),
    "sin": (compose(math.sin, math.cos, at_x * at_z), np.sin(fx * fz)),
    "nested": ((at_x.exp() + at_z.exp()).log() * square, np.log(np.exp(fx) + np.exp(fz)) * norm2),
    "squared": (Risk(k, X, y, losses.Squared()), np.mean((y - scores) ** 2)),
    "weighted": (
        Risk(k, X, y, losses.Squared(), sample_weight=weights),
        np.average((y - scores) ** 2, weights=weights),
    ),
    "logistic": (Risk(k, X, signs, losses.Logistic()), np.mean(np.log(1 + np.exp(-signs * scores)))),
    "squared hinge": (
        Risk(k, X, signs, losses.SquaredHinge()),
        np.mean(np.maximum(1 - signs * scores, 0) ** 2),
    ),
    "exponential": (Risk(k, X, signs, losses.Exponential()), np.mean(np.exp(-signs * scores))),
    "poisson": (Risk(k, X, np.abs(y), losses.Poisson()), np.mean(np.exp(scores) - np.abs(y) * scores)),
    "huber": (
        Risk(k, X, y, losses.Huber(0.5)),
        np.mean([r * r if abs(r) <= 0.5 else abs(r) - 0.25 for r in y - scores]),
    ),
    "regularised": (
        Risk(k, X, signs, losses.Logistic()) + 0.3 * square,
        np.mean(np.log(1 + np.exp(-signs * scores))) + 0.3 * norm2,
    ),
}


TRIED = {type(E.loss).__name__ for E, _ in SMOOTH.values() if isinstance(E, Risk)}
for name in sorted(set(losses.__all__) - TRIED - {"Loss", "FunctionLoss", "Multinomial"}):
    loss = getattr(losses, name)()  # one without a formula above, by its own
    if loss.smooth:
        own = loss.sample_targets(np.random.default_rng(3), len(X), 1)
        SMOOTH[name] = Risk(k, X, own[:, 0], loss), loss.value(own, scores[:, None]).mean()


def slope(E, u, direction, step=1e-5):
    return (E(u + step * direction) - E(u - step * direction)) / (2 * step)


@pytest.mark.parametrize("name", SMOOTH)
def test_values(name):
    E, value = SMOOTH[name]
    assert isinstance(E(f), float)
    assert E(f) == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_against_finite_differences(name):
    E, _ = SMOOTH[name]
    gradient = E.gradient(f)
    assert isinstance(gradient, KernelFunction)
    for direction in (g, section(k, [2.0, 1.0]), KernelFunction(k, X, y)):
        assert gradient @ direction == pytest.approx(slope(E, f, direction), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", [n for n in SMOOTH if n != "root"])
def test_gradient_at_zero(name):
    E, _ = SMOOTH[name]
    gradient = E.gradient(zero(k))
    for direction in (g, section(k, [2.0, 1.0])):
        assert gradient @ direction == pytest.approx(slope(E, zero(k), direction), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("loss", [losses.Multinomial(), losses.Squared(), losses.Logistic()], ids=repr)
def test_several_outputs(loss):
    labels = rng.integers(0, 3, 9)
    Y = np.eye(3)[labels] if loss.joint else np.where(np.eye(3)[labels] > 0, 1.0, -1.0)
    C = rng.standard_normal((6, 3))
    S = gauss(X, P) @ C
    several = KernelFunction(k, P, C)
    E = Risk(k, X, Y, loss, sample_weight=weights) + 0.2 * square
    by_hand = {
        "Multinomial": np.log(np.exp(S).sum(axis=1)) - S[np.arange(9), labels],
        "Squared": np.sum((Y - S) ** 2, axis=1),
        "Logistic": np.sum(np.log(1 + np.exp(-Y * S)), axis=1),
    }[type(loss).__name__]
    penalty = 0.2 * np.trace(C.T @ gauss(P, P) @ C)
    assert E(several) == pytest.approx(np.average(by_hand, weights=weights) + penalty, rel=1e-11)
    for u in (several, zero(k, outputs=3)):
        direction = KernelFunction(k, P, rng.standard_normal((6, 3)))
        assert np.sum(E.gradient(u) @ direction) == pytest.approx(slope(E, u, direction), rel=1e-6)


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (losses.Hinge(), signs),
        (losses.Absolute(), y),
        (losses.EpsilonInsensitive(0.3), y),
        (losses.Quantile(0.8), y),
        (losses.Logistic(), signs),
    ],
    ids=repr,
)
def test_subgradient_inequality(loss, targets):
    E = Risk(k, X, targets, loss) + 0.05 * square
    for seed in range(20):
        r = np.random.default_rng(seed)
        u = KernelFunction(k, P, r.standard_normal(6))
        v = KernelFunction(k, P, r.standard_normal(6) * 10.0 ** r.integers(-3, 2))
        assert E(v) >= E(u) + E.gradient(u) @ (v - u) - 1e-12


# -- the text -----------------------------------------------------------------------------------------


def test_the_update_rule_of_the_text():
    lam, eta, target = 0.1, 0.3, 1.7
    E = (Evaluation(k, x) - target) ** 2 + lam * SquaredNorm()
    new = f - eta * E.gradient(f)
    assert len(new) == len(f) + 1
    grid = rng.standard_normal((20, 2))
    expected = (1 - 2 * eta * lam) * gauss(grid, P) @ A
    expected += 2 * eta * (target - fx) * gauss(grid, x[None])[:, 0]
    np.testing.assert_allclose(new(grid), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_the_online_kernel_machine_of_the_text(loss):
    lam, eta = 0.05, 0.2
    T = 60
    points = np.concatenate([rng.standard_normal((40, 2)), np.zeros((20, 2))])  # some come back
    targets = np.sign(points[:, 0] + 0.1)
    u, weight = zero(k), np.zeros(T)
    V = losses.Squared() if loss == "squared" else losses.Hinge()
    for t in range(T):
        score = gauss(points[t : t + 1], points)[0] @ weight
        if loss == "squared":
            added = 2 * eta * (targets[t] - score)
        else:
            added = eta * targets[t] if 1 - targets[t] * score > 0 else 0.0
        weight *= 1 - 2 * eta * lam
        weight[t] += added
        E = Risk(k, points[t : t + 1], targets[t : t + 1], V) + lam * SquaredNorm()
        u = u - eta * E.gradient(u)
    assert len(u) <= 41
    np.testing.assert_allclose(u(X), gauss(X, points) @ weight, rtol=1e-10)


def test_in_the_margin_the_gradient_is_the_regulariser_alone():
    # The text's (9) has 0 here; the penalty λ‖f‖² adds 2λf.
    u = 3 * section(k, x)
    E = Risk(k, [x], [1.0], losses.Hinge()) + 0.1 * SquaredNorm()
    np.testing.assert_allclose(E.gradient(u)(X), 2 * 0.1 * 3 * gauss(X, x[None])[:, 0], rtol=1e-12)


def test_descent_reaches_the_solution_of_the_linear_system():
    lam, n = 0.1, len(X)
    E = Risk(k, X, y, losses.Squared()) + lam * SquaredNorm()
    u = zero(k)
    for _ in range(400):
        u = u - 0.4 * E.gradient(u)
    c = np.linalg.solve(gauss(X, X) + lam * n * np.eye(n), y)
    assert len(u) == n
    np.testing.assert_allclose(u.coef, c, rtol=1e-9, atol=1e-12)
    assert E.gradient(u).norm() < 1e-9


def test_at_the_minimum_no_other_function_is_better():
    # The representer theorem: perturbations off the span of the data only cost.
    lam, n = 0.1, len(X)
    E = Risk(k, X, y, losses.Squared()) + lam * SquaredNorm()
    best = KernelFunction(k, X, np.linalg.solve(gauss(X, X) + lam * n * np.eye(n), y))
    for seed in range(10):
        r = np.random.default_rng(seed)
        assert E(best + KernelFunction(k, r.standard_normal((3, 2)), 0.1 * r.standard_normal(3))) > E(best)


# -- other domains, other spaces ------------------------------------------------------------------------


def test_singular_finite_domain():
    root = rng.standard_normal((5, 2))
    K = root @ root.T
    space = Finite(K)
    a = rng.standard_normal(5)
    u = KernelFunction(space, np.arange(5), a)
    E = (Evaluation(space, 3) - 1.0) ** 2 + 0.5 * SquaredNorm()
    expected = 2 * ((K @ a)[3] - 1) * K[:, 3] + K @ a
    np.testing.assert_allclose(E.gradient(u)(np.arange(5)), expected, rtol=1e-11, atol=1e-12)
    assert E.gradient(zero(space))([3])[0] == pytest.approx(-2 * K[3, 3])


def test_objects():
    letters = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    E = Evaluation(letters, "abc") * 2 + Risk(letters, ["ab", "bcd"], [1.0, 0.0], losses.Squared())
    u = section(letters, "b")
    assert E(u) == 2 * 1 + 0.5 * (0 + 1)
    assert E.gradient(u)(["c"])[0] == 2 * 1 + 0.5 * (0 + 2 * 1)


def test_functions_of_feature_maps_have_gradients_in_their_own_space():
    phi = ExplicitFeatures(Linear()).fit(X)
    w = rng.standard_normal(2)
    u = FeatureFunction(phi, w)
    E = Risk(Linear(), X, y, losses.Squared()) + 0.1 * SquaredNorm() + Evaluation(Linear(), x) + 1.0
    np.testing.assert_allclose(E.gradient(u).coef, 2 * X.T @ (X @ w - y) / 9 + 0.2 * w + x, rtol=1e-12)
    phi = RandomFourierFeatures(k, n_features=20, random_state=0).fit(X)
    u, v = (FeatureFunction(phi, rng.standard_normal(20)) for _ in range(2))
    E = Risk(k, X, signs, losses.Logistic()) * SquaredNorm()
    assert E.gradient(u) @ v == pytest.approx(slope(E, u, v), rel=1e-6)


def test_a_functional_of_ones_own():
    class Mean(Functional):
        """The mean of f over a set of points."""

        def __call__(self, u):
            return float(np.mean(u(X)))

        def gradient(self, u):
            return KernelFunction(k, X, np.full(9, 1 / 9))

    E = (2 * Mean() + SquaredNorm()) ** 2
    assert E(f) == pytest.approx((2 * scores.mean() + norm2) ** 2, rel=1e-11)
    assert E.gradient(f) @ g == pytest.approx(slope(E, f, g), rel=1e-6)


# -- algebra, words, refusals ---------------------------------------------------------------------------


@settings(max_examples=30, deadline=None, derandomize=True)
@given(a=st.floats(-2, 2), b=st.floats(-2, 2), p=st.integers(0, 3))
def test_rules_of_differentiation(a, b, p):
    E, F = at_x - a, square + at_z * b
    grid = rng.standard_normal((4, 2))
    at_grid = gauss(grid, np.array([x, z]))
    dE, dF = at_grid[:, 0], 2 * gauss(grid, P) @ A + b * at_grid[:, 1]
    e, h = fx - a, norm2 + b * fz

    def same(functional, values):
        np.testing.assert_allclose(functional.gradient(f)(grid), values, rtol=1e-9, atol=1e-9)

    same(E + F, dE + dF)
    same(a * E - F, a * dE - dF)
    same(E * F, h * dE + e * dF)
    same(E**p, p * e ** max(p - 1, 0) * dE)
    same((E**2 + 1).log(), 2 * e / (e * e + 1) * dE)


def test_long_sums():
    E = sum(((Evaluation(k, t) - 1.0) ** 2 for t in rng.standard_normal((2000, 2))), constant(0.0))
    assert isinstance(E, Combination) and len(E.terms) == 2001 and E(zero(k)) == 2000.0


def test_sum_of_squares_is_the_risk():
    E = sum((Evaluation(k, t) - v) ** 2 for t, v in zip(X, y, strict=True)) / 9
    np.testing.assert_allclose(E.gradient(f)(P), gauss(P, X) @ (2 * (scores - y)) / 9, rtol=1e-10, atol=1e-12)


def test_words():
    E = 2 * Evaluation(k, [1.0]) - 3.5 + (SquaredNorm() + 1) ** 2 * Evaluation(Finite(np.eye(2)), 1)
    assert repr(E) == "2·f([1.]) - 3.5 + (‖f‖² + 1)²·f(1)"
    assert repr(-SquaredNorm().exp() + InnerProduct(f)) == "-exp(‖f‖²) + ⟨g, f⟩"
    assert repr(SquaredNorm().log() ** 3) == "log(‖f‖²)^3"
    assert repr((Evaluation(k, [1.0]) * SquaredNorm()) ** 2) == "(f([1.])·‖f‖²)²"
    assert repr(2 * Risk(k, [[0.0]], [1.0], losses.Hinge())) == "2·(mean of Hinge() over 1 example)"
    assert repr(Evaluation(FunctionKernel(len), "abc")) == "f('abc')"


def test_refusals():
    with pytest.raises(ValueError, match=r"functions of Gaussian\(sigma=1.0\), but f is .*sigma=2.0"):
        at_x(section(Gaussian(2.0), x))
    with pytest.raises(ValueError, match="functions of"):
        Risk(k, X, y, losses.Squared()).gradient(section(Polynomial(2), x))
    with pytest.raises(ValueError, match="different kernels"):
        InnerProduct(f).gradient(section(Gaussian(2.0), x))
    with pytest.raises(ValueError, match=r"f.output\(j\)"):
        at_x(KernelFunction(k, P, np.ones((6, 2))))
    with pytest.raises(ValueError, match=r"zero\(kernel, outputs=3\)"):
        Risk(k, X, np.eye(9)[:, :3], losses.Multinomial())(zero(k))
    with pytest.raises(ValueError, match=r"y of shape \(9,\)"):
        Risk(k, X, y[:5], losses.Squared())
    with pytest.raises(ValueError, match="sample_weight"):
        Risk(k, X, y, losses.Squared(), sample_weight=-weights)
    with pytest.raises(TypeError, match="must be a mercer.kernels.Kernel"):
        Evaluation("rbf", x)
    with pytest.raises(ValueError, match="no value or no derivative where ‖f‖² is 0"):
        SquaredNorm().sqrt().gradient(zero(k))
    with pytest.raises(ValueError, match="no value"):
        ((SquaredNorm() - 1) ** 0.5)(zero(k))
    with pytest.raises(ValueError, match="needs E"):
        SquaredNorm().log()(zero(k))
    for bad in (lambda: at_x + "1", lambda: at_x * [1.0, 2.0], lambda: at_x**at_x, lambda: "a" - at_x):
        with pytest.raises(TypeError):
            bad()
