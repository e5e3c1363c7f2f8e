"""Losses as source code: what is traced computes what the loss does, as Python and compiled."""

import math

import numpy as np
import pytest

import mercer.losses
from mercer.codegen.rows import row_source
from mercer.codegen.symbols import NotTraceable
from mercer.losses import FunctionLoss, Loss, Quantile
from mercer.online import PerceptronLoss

LOSSES = [
    getattr(mercer.losses, name)() for name in mercer.losses.__all__ if name not in ("Loss", "FunctionLoss")
] + [
    mercer.losses.Huber(0.3),
    mercer.losses.EpsilonInsensitive(0.0),
    Quantile(0.9),
    PerceptronLoss(),
]
EXTREME = np.array([0.0, 1.0, -1.0, 1e-9, 30.0, -30.0, 700.0, -700.0, 1e4, -1e4])


def targets(loss, rng, n, t):
    if loss.joint:
        return np.eye(t)[rng.integers(t, size=n)]
    if loss.classification:
        return rng.choice([-1.0, 1.0], (n, t))
    counts = rng.poisson(2.0, (n, t)).astype(float)
    try:
        loss.check_targets(counts)
    except ValueError:
        return loss.sample_targets(rng, n, t)
    return counts


def loss_source(loss, what):
    return row_source(loss.grad if what == "grad" else loss.value, total=what == "value")


def run(source, scratch, y, s):
    """The source, run by Python, one example after another; (slopes, or values in the first column)."""
    space = {name: getattr(math, name) for name in ("log1p", "sqrt", "tanh", "sin", "cos", "log")}
    with np.errstate(over="ignore"):
        exec(source, {**space, "inf": math.inf, "exp": np.exp, "expm1": np.expm1}, space)
        out = np.zeros_like(s)
        for i in range(len(s)):
            space["fill"](y[i], s[i], out[i], np.full((scratch, s.shape[1]), np.nan), s.shape[1])
    return out


def compiled_run(source, scratch, y, s):
    code = pytest.importorskip("mercer.codegen.subset.compiled").compiled([source])
    out = np.zeros_like(s)
    for i in range(len(s)):
        code(y[i], s[i], out[i], np.full((scratch, s.shape[1]), np.nan), s.shape[1])
    return out


def agree(loss, y, s, way):
    grad, rows = loss_source(loss, "grad")
    np.testing.assert_allclose(way(grad, rows, y, s), loss.grad(y, s), rtol=1e-13, atol=1e-300)
    try:
        value, rows = loss_source(loss, "value")
    except NotTraceable:
        assert loss.joint  # log Σ exp picks the largest score by its index
        return
    with np.errstate(over="ignore"):
        expected = loss.value(y, s)
    expected = expected if expected.ndim == 1 else expected.sum(axis=1)
    np.testing.assert_allclose(way(value, rows, y, s)[:, 0], expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("way", [run, compiled_run], ids=["python", "compiled"])
@pytest.mark.parametrize("t", [1, 2, 5])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_loss_is_written_down(loss, t, way):
    rng = np.random.default_rng(t)
    y, s = targets(loss, rng, 20, t), rng.normal(scale=2, size=(20, t))
    s[:5] = y[:5]  # kinks
    agree(loss, y, s, way)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_extreme_scores(loss):
    rng = np.random.default_rng(0)
    s = np.concatenate([np.repeat(EXTREME[:, None], 2, axis=1), rng.choice(EXTREME, (30, 2))])
    agree(loss, targets(loss, rng, len(s), 2), s, compiled_run)


def test_a_level_for_every_output():
    loss, rng = Quantile([0.1, 0.5, 0.8]), np.random.default_rng(0)
    y, s = rng.normal(size=(2, 30, 3))
    for way in (run, compiled_run):
        agree(loss, y, s, way)


# -- losses of one's own ---------------------------------------------------------------------------


class LogCosh(Loss):
    def value(self, y, s):
        return np.logaddexp(s - y, y - s) - np.log(2)

    def grad(self, y, s):
        return np.tanh(s - y)


class Everything(Loss):
    """No loss, but every operation there is, one after another."""

    def value(self, y, s):
        r = np.subtract(y, s)
        a = np.where(r == 0.5, 3.0, abs(r)) + np.where(r != 0.5, 0.25, r)
        a = a + (r < 0) * 2 + (r <= 0.1) - (r > 1.0) / 4 + (r >= 2) ** 2
        a = a * np.sqrt(1 + np.square(r)) - np.minimum(a, 2.0) + np.clip(r, -0.3, 0.4) + r.clip(-1, 1)
        a = a + np.sin(r) * np.cos(-r) + np.log(np.exp(r) + 1) + np.log1p(a**3 * a**2) + np.expm1(-abs(r))
        a += np.sign(r) + np.fabs(s) + np.positive(y) + 2 / (1 + a) - 1.5 * a
        return a + np.full_like(a, 2.0) * np.ones_like(a) + np.zeros_like(a)

    def grad(self, y, s):
        e = np.exp(s - np.max(s, axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True) + np.maximum(np.sum(y * s, axis=-1, keepdims=True), 0.0)


@pytest.mark.parametrize("way", [run, compiled_run], ids=["python", "compiled"])
@pytest.mark.parametrize("t", [1, 3])
@pytest.mark.parametrize("loss", [LogCosh(), Everything()], ids=repr)
def test_losses_of_numpy_functions(loss, t, way):
    y, s = np.random.default_rng(3).normal(size=(2, 40, t))
    y[0], s[0] = 0.75, 0.25  # the point that == and != tell apart
    agree(loss, y, s, way)


class Branches(LogCosh):
    def grad(self, y, s):
        return s - y if s > y else 2 * (s - y)


class Indexes(LogCosh):
    def grad(self, y, s):
        return s[:, ::-1] - y


class Loops(LogCosh):
    def grad(self, y, s):
        return np.array([[float(b - a) for a, b in zip(u, v)] for u, v in zip(y, s)])


class Roots(LogCosh):
    def grad(self, y, s):
        return abs(s - y) ** 0.5


class Unknown(LogCosh):
    def grad(self, y, s):
        return np.arctan(s - y)


class OverExamples(LogCosh):
    def grad(self, y, s):
        return s - s.max(axis=0)


class Logical(LogCosh):
    def grad(self, y, s):
        return np.where((s > y) & (s < 2), 1.0, s)


class OneNumber(LogCosh):
    def grad(self, y, s):
        return (s - y).sum(axis=1)


class NoSymbol(LogCosh):
    def grad(self, y, s):
        return 1.0


class Kept(LogCosh):
    def grad(self, y, s):
        return np.add(s, -y, where=True)


@pytest.mark.parametrize(
    "cls",
    [Branches, Indexes, Loops, Roots, Unknown, OverExamples, Logical, OneNumber, NoSymbol, Kept],
    ids=lambda c: c.__name__,
)
def test_what_is_not_arithmetic_on_rows_is_refused(cls):
    with pytest.raises(NotTraceable):
        loss_source(cls(), "grad")


def test_a_python_function_is_refused():
    loss = FunctionLoss(lambda y, s: float(y[0, 0]) * s, gradient=lambda y, s: np.array(y, float))
    with pytest.raises(NotTraceable):
        loss_source(loss, "grad")
