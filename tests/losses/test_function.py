"""A loss of one's own: any function V(y, s), its derivatives given or found, and when it won't do."""

import importlib.util
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from mercer import KernelClassifier, KernelRegressor, _resolve
from mercer.kernels import Gaussian
from mercer.losses import (
    Exponential,
    FunctionLoss,
    Huber,
    Logistic,
    Poisson,
    Squared,
    SquaredHinge,
)
from mercer.solvers import IncompatibleError, Newton
from mercer.testing import check_loss

TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="torch is not installed")
D = 0.7


def squared(y, s):
    return (y - s) ** 2


def squared_slope(y, s):
    return 2 * (s - y)


# Built-in loss: V, V' and V'' in NumPy, and V in torch.
DUPLICATES = {
    "Squared": (Squared(), squared, squared_slope, lambda y, s: 2 + 0 * s, squared),
    "Huber": (
        Huber(D),
        lambda y, s: np.where(np.abs(y - s) <= D, (y - s) ** 2, 2 * D * np.abs(y - s) - D**2),
        lambda y, s: 2 * np.clip(s - y, -D, D),
        lambda y, s: 2.0 * (np.abs(y - s) <= D),
        lambda y, s: (y - s).clamp(-D, D) * (2 * (y - s) - (y - s).clamp(-D, D)),
    ),
    "Logistic": (
        Logistic(),
        lambda y, s: np.log(1 + np.exp(-y * s)),
        lambda y, s: -y / (1 + np.exp(y * s)),
        lambda y, s: 1 / (2 + np.exp(s) + np.exp(-s)),
        lambda y, s: (1 + (-y * s).exp()).log(),
    ),
    "SquaredHinge": (
        SquaredHinge(),
        lambda y, s: np.maximum(0, 1 - y * s) ** 2,
        lambda y, s: -2 * y * np.maximum(0, 1 - y * s),
        lambda y, s: 2.0 * (y * s < 1),
        lambda y, s: (1 - y * s).clamp(min=0) ** 2,
    ),
    "Poisson": (
        Poisson(),
        lambda y, s: np.exp(s) - y * s,
        lambda y, s: np.exp(s) - y,
        lambda y, s: np.exp(s),
        lambda y, s: s.exp() - y * s,
    ),
    "Exponential": (
        Exponential(),
        lambda y, s: np.exp(-y * s),
        lambda y, s: -y * np.exp(-y * s),
        lambda y, s: np.exp(-y * s),
        lambda y, s: (-y * s).exp(),
    ),
}
every = pytest.mark.parametrize("name", DUPLICATES)


@pytest.fixture
def no_torch(monkeypatch):
    """As if torch were not installed."""
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.fixture(params=["numeric", "given", "gradient", pytest.param("torch", marks=needs_torch)])
def way(request, monkeypatch):
    if request.param != "torch":
        monkeypatch.setitem(sys.modules, "torch", None)
    return request.param


def own(name, way):
    builtin, V, slope, bend, V_torch = DUPLICATES[name]
    args = {"numeric": (V,), "given": (V, slope, bend), "gradient": (V, slope), "torch": (V_torch,)}[way]
    return FunctionLoss(*args, classification=builtin.classification)


def targets(builtin, rng, shape, size=3.0):
    if builtin.classification:
        return rng.choice([-1.0, 1.0], size=shape)
    y = rng.normal(scale=size, size=shape)
    return np.abs(y) if isinstance(builtin, Poisson) else y


# -- derivatives ----------------------------------------------------------------------------------


def test_a_parabola_by_hand(no_torch):
    loss = FunctionLoss(lambda y, s: 3 * (s - y) ** 2 + s)
    y, s = np.array([[1.0, -2.0]]), np.array([[4.0, 0.5]])
    np.testing.assert_allclose(loss.value(y, s), [[31.0, 19.25]], rtol=1e-15)
    np.testing.assert_allclose(loss.grad(y, s), [[19.0, 16.0]], rtol=1e-13)
    np.testing.assert_allclose(loss.hess(y, s), [[6.0, 6.0]], rtol=1e-9)
    assert loss.derivatives == "numeric"


@every
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), s=arrays(np.float64, (5, 2), elements=st.floats(-8, 8)))
def test_numeric_derivatives_are_those_of_the_builtin(name, seed, s):
    builtin = DUPLICATES[name][0]
    y = targets(builtin, np.random.default_rng(seed), s.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", None)
        loss = own(name, "numeric")
        V, G, H = builtin.value(y, s), builtin.grad(y, s), builtin.hess(y, s)
        size = np.abs(V) + np.abs(G) + np.abs(H) + 0.1
        np.testing.assert_allclose(loss.value(y, s), V, rtol=1e-12, atol=1e-12)
        # At a corner of V' (Huber, the squared hinge) differences of V are no better than 1e-7.
        corners = name in ("Huber", "SquaredHinge")
        assert (np.abs(loss.grad(y, s) - G) <= (1e-6 if corners else 1e-10) * size).all()
        assert loss.derivatives == "numeric"
        if not corners:
            assert (np.abs(loss.hess(y, s) - H) <= 1e-6 * size).all()
            assert (np.abs(own(name, "gradient").hess(y, s) - H) <= 1e-9 * size).all()


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e6])
def test_numeric_derivatives_at_every_scale(size, no_torch):
    """y, s and the bend of V all of one size, from a millionth to a million."""
    rng = np.random.default_rng(0)
    y, s = size * rng.normal(size=(2000, 1)), size * rng.normal(size=(2000, 1))
    loss = FunctionLoss(lambda y, s: np.sqrt(1 + ((y - s) / size) ** 2))
    r = (s - y) / size
    g, h = r / np.sqrt(1 + r**2) / size, (1 + r**2) ** -1.5 / size**2
    assert np.abs(loss.grad(y, s) - g).max() < 1e-10 / size
    assert np.abs(loss.hess(y, s) - h).max() < 1e-6 / size**2


def test_large_scores_are_safe(no_torch):
    """s = 600: e^s is near the end of the floats; and beyond it nothing is raised."""
    loss = FunctionLoss(lambda y, s: np.exp(s) - y * s)
    s = np.array([[-600.0], [600.0]])
    np.testing.assert_allclose(loss.grad(1.0, s), [[-1.0], [np.exp(600.0)]], rtol=1e-10)
    with np.errstate(all="raise"):
        assert loss.value(1.0, np.array([[5000.0]])) == np.inf
        loss.grad(1.0, np.array([[5000.0]]))


@every
def test_float32_in_float32_out_computed_in_float64(name, way):
    builtin, rng = DUPLICATES[name][0], np.random.default_rng(1)
    s = rng.normal(size=(50, 2)).astype(np.float32)
    y = targets(builtin, rng, s.shape)
    loss = own(name, way)
    for ours, theirs in ((loss.value, builtin.value), (loss.grad, builtin.grad), (loss.hess, builtin.hess)):
        result = ours(y, s)
        assert result.dtype == np.float32
        # Rounded once, at the end; in float32 throughout, a difference quotient would have no digits left.
        np.testing.assert_allclose(result, theirs(y, s.astype(np.float64)), rtol=2e-7, atol=2e-7)


@every
def test_laws(name, way):
    check_loss(own(name, way))


def test_how_is_readable(no_torch):
    assert own("Logistic", "numeric").derivatives == "numeric"
    assert own("Logistic", "given").derivatives == "given"
    assert own("Logistic", "gradient").derivatives == "given, numeric"
    V, bend = DUPLICATES["Poisson"][1], DUPLICATES["Poisson"][3]
    assert FunctionLoss(V, hessian=bend).derivatives == "numeric, given"


def test_the_way_is_found_once(no_torch):
    calls = []

    def V(y, s):
        calls.append(s.shape)
        return (y - s) ** 2

    loss, s = FunctionLoss(V), np.zeros((3, 1))
    loss.grad(1.0, s)
    once = len(calls)
    calls.clear()
    loss.grad(1.0, s)
    assert set(calls) == {(3, 1)} and len(calls) < once
    # Another function has its own way.
    assert loss.set_params(function=lambda y, s: s**4).grad(0.0, np.ones((1, 1))) == pytest.approx(4)


@needs_torch
def test_the_way_is_that_of_the_function():
    loss = own("Poisson", "numeric")
    assert loss.derivatives == "numeric"
    loss.set_params(function=DUPLICATES["Poisson"][4])  # of tensors only
    assert loss.derivatives == "torch"
    assert loss.value(1.0, np.zeros((1, 1))) == 1


def test_inputs_can_not_be_changed():
    def V(y, s):
        s -= y
        return s**2

    with pytest.raises(ValueError, match="read-only"):
        FunctionLoss(V).value(1.0, np.zeros((2, 1)))


# -- torch ----------------------------------------------------------------------------------------


@needs_torch
@every
def test_torch_derivatives(name):
    builtin, rng = DUPLICATES[name][0], np.random.default_rng(2)
    s = rng.normal(scale=3, size=(200, 2))
    y = targets(builtin, rng, s.shape)
    loss = own(name, "torch")
    assert loss.derivatives == "torch"
    for ours, theirs in ((loss.value, builtin.value), (loss.grad, builtin.grad), (loss.hess, builtin.hess)):
        np.testing.assert_allclose(ours(y, s), theirs(y, s), rtol=1e-12, atol=1e-12)


@needs_torch
def test_functions_of_numpy_only_are_differenced():
    assert own("Logistic", "numeric").derivatives == "numeric"
    assert FunctionLoss(squared).derivatives == "torch"  # which takes both kinds of arrays
    assert FunctionLoss(squared, squared_slope).derivatives == "given, numeric"


@needs_torch
def test_derivatives_that_torch_would_get_wrong_are_differenced():
    def detached(y, s):
        return (y - s) ** 2 if isinstance(s, np.ndarray) else (y - s.detach()) ** 2 + 0 * s

    loss = FunctionLoss(detached)
    assert loss.derivatives == "numeric"
    assert loss.grad(1.0, np.array([[3.0]])) == pytest.approx(4)

    def detached_far_out(y, s):
        far = abs(s) > 5
        return (y - s) ** 2 if not hasattr(s, "detach") else (y - (s * ~far + s.detach() * far)) ** 2

    loss = FunctionLoss(detached_far_out)
    assert loss.derivatives == "torch"  # as far as could be seen
    _, coding = loss.encode_targets([1.0, 2.0])
    assert coding.loss.derivatives == "numeric"
    assert loss.derivatives == "torch"  # looking at it changes nothing


@needs_torch
def test_where_torch_gives_nan_differences_step_in():
    def V(y, s):  # √ has no slope at 0, which the product hides from V but not from torch
        r = (y - s) ** 2
        return r * r**0.5

    loss = FunctionLoss(V)
    assert loss.derivatives == "torch"
    np.testing.assert_allclose(loss.grad(1.0, np.array([[1.0], [3.0]])), [[0.0], [12.0]], atol=1e-12)
    assert np.isfinite(loss.hess(1.0, np.array([[1.0]]))).all()


def test_torch_is_imported_only_by_a_loss_that_may_need_it():
    code = (
        "import sys, numpy as np\n"
        "from mercer.losses import FunctionLoss\n"
        "loss = FunctionLoss(lambda y, s: (y - s) ** 2)\n"
        "repr(loss)\n"
        "assert 'torch' not in sys.modules\n"
        "loss.grad(1.0, np.zeros((1, 1)))\n"
        f"assert ('torch' in sys.modules) == {TORCH}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# -- a value --------------------------------------------------------------------------------------


def test_value_object():
    loss = FunctionLoss(squared, squared_slope, convex=False)
    loss.grad(1.0, np.zeros((1, 1)))
    assert loss == FunctionLoss(squared, squared_slope, convex=False) and loss != FunctionLoss(squared)
    assert hash(loss) == hash(FunctionLoss(squared, squared_slope, convex=False))
    assert repr(loss) == "FunctionLoss(function=squared, gradient=squared_slope, convex=False)"
    assert eval(repr(loss)) == loss == clone(loss)
    # Compared by content only: what was found out does not travel.
    state = pickle.loads(pickle.dumps(FunctionLoss(np.hypot))).__dict__
    assert state == {**FunctionLoss(np.hypot).__dict__}
    used = FunctionLoss(np.hypot)
    used.grad(1.0, np.zeros((1, 1)))
    assert "_way" not in pickle.loads(pickle.dumps(used)).__dict__


def test_not_callable():
    for args in ((3,), (squared, 3), (squared, None, "no")):
        with pytest.raises(TypeError, match="must be callable"):
            FunctionLoss(*args).value(1.0, np.zeros((1, 1)))


def test_the_door():
    assert _resolve.loss_of(squared) == FunctionLoss(squared)
    assert _resolve.loss_of(squared, classification=True) == FunctionLoss(squared, classification=True)
    loss = FunctionLoss(squared)
    assert _resolve.loss_of(loss, classification=True) is loss
    with pytest.raises(TypeError, match="must be of type Loss"):
        _resolve.loss_of(Gaussian(1.0))  # a kernel can be called too


# -- fitted ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
SCORE = np.sin(2 * X[:, 0]) + X[:, 1]
NEW = RNG.standard_normal((20, 2))


def fit(loss, representation="full", lam=1e-2, y=None, **options):
    cls = KernelClassifier if loss.classification else KernelRegressor
    if y is None:
        y = SCORE > 0 if loss.classification else np.abs(2 * SCORE)
    parameters = {"lam": lam, "representation": representation, "random_state": 0, "offset": False, **options}
    return cls(Gaussian(1.0), loss=loss, **parameters).fit(X, y)


@every
@pytest.mark.parametrize("representation", ["full", "nystrom"])
def test_the_same_minimum_as_the_builtin(name, representation, way):
    loss = own(name, way)
    ours, theirs = fit(loss, representation), fit(DUPLICATES[name][0], representation, solver="newton")
    assert ours.loss_.derivatives == {"gradient": "given, numeric"}.get(way, way)
    assert ours.solution_.converged and ours.solution_.starts == ()
    a, b = ours.solution_.certificate, theirs.solution_.certificate
    assert a.objective == pytest.approx(b.objective, rel=1e-6)
    assert np.abs(ours.scores(NEW) - theirs.scores(NEW)).max() < 1e-6
    if representation == "full":
        # c_i = −V'(y_i, f(x_i))/(2λn), by the built-in's own derivative.
        y = loss.encode(SCORE > 0 if loss.classification else np.abs(2 * SCORE))[0]
        slope = DUPLICATES[name][0].grad(y, ours.scores(X))
        wanted = -slope[:, 0] / (2e-2 * len(X))
        assert np.abs(ours.solution_.coef[:, 0] - wanted).max() < 1e-6 * np.abs(wanted).max()
        assert a.representer_residual < 1e-6 and a.gap < 1e-10
    else:
        assert a.representer_residual is None


def test_the_residual_is_that_of_the_equations_weights_included():
    """Stopped early, so that there is a residual to speak of."""
    w = RNG.uniform(0.5, 2, len(X))
    machine = KernelRegressor(
        Gaussian(1.0), loss=own("Huber", "numeric"), lam=1e-3, solver=Newton(max_iter=1), offset=False
    )
    with pytest.warns(UserWarning, match="stopped at its limit"):
        machine.fit(X, SCORE, w)
    slope = Huber(D).grad(SCORE[:, None], machine.scores(X))[:, 0]
    wanted = -w / w.mean() * slope / (2e-3 * len(X))
    residual = np.abs(machine.dual_coef_ - wanted).max() / np.abs(machine.dual_coef_).max()
    assert residual > 1e-3
    assert machine.solution_.certificate.representer_residual == pytest.approx(residual, rel=1e-6)


def test_a_function_as_it_is():
    ours = KernelRegressor(Gaussian(1.0), loss=lambda y, s: (y - s) ** 2, lam=1e-2, offset=False).fit(
        X, SCORE
    )
    theirs = KernelRegressor(Gaussian(1.0), loss="squared", lam=1e-2, offset=False).fit(X, SCORE)
    assert np.abs(ours.predict(NEW) - theirs.predict(NEW)).max() < 1e-6
    assert isinstance(ours.loss_, FunctionLoss) and not ours.loss_.classification
    labels = np.where(SCORE > 0, "yes", "no")
    ours = KernelClassifier(
        Gaussian(1.0), loss=lambda y, s: np.log(1 + np.exp(-y * s)), lam=1e-2, offset=False
    )
    theirs = KernelClassifier(Gaussian(1.0), loss="logistic", lam=1e-2, offset=False).fit(X, labels)
    ours.fit(X, labels)
    assert np.abs(ours.decision_function(NEW) - theirs.decision_function(NEW)).max() < 1e-6
    assert not hasattr(ours, "predict_proba") and ours.loss_.classification
    assert clone(ours).loss is ours.loss


def test_more_classes_one_against_the_rest():
    labels = np.digitize(SCORE, [-0.7, 0.7])
    machine = fit(own("SquaredHinge", "numeric"), y=labels)
    assert machine.decision_function(NEW).shape == (20, 3)
    alone = fit(own("SquaredHinge", "numeric"), y=labels == 1)
    assert np.abs(machine.decision_function(NEW)[:, 1] - alone.decision_function(NEW)).max() < 1e-5


def test_several_outputs():
    Y = np.column_stack([SCORE, X[:, 0]])
    ours, theirs = fit(own("Huber", "numeric"), y=Y), fit(Huber(D), y=Y)
    assert np.abs(ours.predict(NEW) - theirs.predict(NEW)).max() < 1e-6


# -- what it is told ------------------------------------------------------------------------------


def refused(V, y=SCORE, **options):
    with pytest.raises(ValueError) as caught:
        fit(FunctionLoss(V, **options), y=y)
    return str(caught.value)


def test_not_convex():
    words = refused(lambda y, s: 1 - np.exp(-((y - s) ** 2)))
    assert "is not convex in s: for y = " in words and "Pass convex=False to allow it: then restarts" in words
    words = refused(lambda y, s: 1 / (1 + np.exp(y * s)), SCORE > 0, classification=True)
    y, middle, left, right = (
        float(words.split(start)[1].split(end)[0])
        for start, end in (
            ("y = ", ","),
            ("V at s = ", " is"),
            ("mean of V at s = ", " and"),
            ("and s = ", ". P"),
        )
    )
    # The place it names is one where the inequality fails.
    V = [1 / (1 + np.exp(y * s)) for s in (left, middle, right)]
    assert middle == pytest.approx((left + right) / 2) and V[1] > (V[0] + V[2]) / 2 + 1e-9


@pytest.mark.parametrize("width", [1e-3, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("size", [1e-2, 1.0, 1e3])
def test_convexity_is_judged_at_the_scale_of_the_targets(width, size):
    """A well narrower or wider than the targets is seen; its convex relative never complained about."""
    c = width * size
    saturated = FunctionLoss(lambda y, s: np.log(1 + ((y - s) / c) ** 2))
    if width <= 1:
        with pytest.raises(ValueError, match="not convex"):
            saturated.encode_targets(size * SCORE)
    FunctionLoss(lambda y, s: np.sqrt(1 + ((y - s) / c) ** 2)).encode_targets(size * SCORE)


@every
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_good_losses_pass(name, size):
    builtin = DUPLICATES[name][0]
    y = SCORE > 0 if builtin.classification else size * np.abs(SCORE)
    for way in ("numeric", "given"):
        loss = own(name, way)
        _, coding = loss.encode(y)
        assert coding.loss.smooth and coding.loss.curved


def test_rounding_is_not_taken_for_a_bump():
    for V in (
        lambda y, s: y * y - 2 * y * s + s * s,
        lambda y, s: np.log(1 + np.exp((s - y) / 9)) + np.log(1 + np.exp((y - s) / 9)),
        lambda y, s: np.abs(y - s) ** 1.5,
        lambda y, s: 0 * s,
    ):
        for size in (1e-3, 1.0, 1e3):
            FunctionLoss(V).encode_targets(size * SCORE)


def test_shape():
    assert "returned shape () for arrays of shape" in refused(lambda y, s: ((y - s) ** 2).sum())
    assert "entry by entry" in refused(lambda y, s: (y - s).mean(axis=1))


def test_finite():
    words = refused(lambda y, s: -np.log(s))
    assert "V is inf at y = " in words and "s = 0, where solvers start" in words
    assert "V is nan at y = " in refused(lambda y, s: np.sqrt(y) + s**2)


def test_derivatives_that_were_given_are_compared():
    words = refused(squared, gradient=lambda y, s: 2 * (y - s))
    y, s = (float(words.split(f"{name} = ")[1].split(",")[0]) for name in ("at y", " s"))
    said, found = float(words.split("V' = ")[1].split(" at")[0]), float(words.split("say ")[1][:-1])
    assert said == pytest.approx(2 * (y - s), rel=1e-4) and found == pytest.approx(2 * (s - y), rel=1e-4)
    assert "gradient says" in refused(squared, gradient=lambda y, s: s - y)
    assert "gradient says V' = nan" in refused(squared, gradient=lambda y, s: np.nan * s)
    words = refused(squared, gradient=squared_slope, hessian=lambda y, s: 1 + 0 * s)
    assert "hessian says V'' = 1 at y = " in words and "differences of V' say 2." in words
    assert "hessian says" in refused(squared, hessian=lambda y, s: 1 + 0 * s)


@pytest.mark.parametrize(
    "V, y, where",
    [
        (lambda y, s: np.abs(y - s), SCORE, "jumps by 2"),
        (lambda y, s: np.maximum(0.3 * (y - s), -0.7 * (y - s)), SCORE, "jumps by 1"),
        (
            lambda y, s: np.maximum(0, 1 - y * s),
            SCORE > 0,
            "kink at s = -1 (y = -1), where its slope jumps by 1",
        ),
    ],
    ids=["absolute", "quantile", "hinge"],
)
def test_kinks_are_found_and_refused(V, y, where):
    loss = FunctionLoss(V, classification=y.dtype == bool)
    with pytest.raises(IncompatibleError, match="needs a differentiable loss") as caught:
        fit(loss, y=y, solver="newton")
    assert where in str(caught.value) and "round it off" in str(caught.value)
    with pytest.raises(IncompatibleError):
        fit(loss, y=y)


def test_kinks_belong_to_the_function():
    loss = FunctionLoss(lambda y, s: np.abs(y - s))
    before = dict(vars(loss))
    _, coding = loss.encode_targets(SCORE)
    assert not coding.loss.smooth and not coding.loss.curved and coding.loss == loss
    assert {name: value for name, value in vars(loss).items() if name != "_way"} == before
    _, again = coding.loss.set_params(function=squared).encode_targets(SCORE)
    assert again.loss.smooth and again.loss.curved


def test_jumps():
    words = refused(lambda y, s: 1.0 * (y * s <= 0), SCORE > 0, classification=True, convex=False)
    assert "V jumps by 1 at s = 0 (y = -1)" in words


def test_numbers_and_labels():
    with pytest.raises(
        ValueError, match=r"for numbers, not for labels; FunctionLoss\(…, classification=True\)"
    ):
        KernelClassifier(loss=FunctionLoss(squared), offset=False).fit(X, SCORE > 0)
    with pytest.raises(ValueError, match="is a loss for labels, not for numbers"):
        KernelRegressor(loss=FunctionLoss(squared, classification=True), offset=False).fit(X, SCORE)


def test_their_own_mistakes_come_through():
    with pytest.raises(ZeroDivisionError):
        fit(FunctionLoss(lambda y, s: 1 / 0), y=SCORE)
    with pytest.raises(TypeError, match="positional argument"):
        fit(FunctionLoss(lambda y: y), y=SCORE)


def test_a_function_that_fails_is_told_what_it_should_be_like():
    import math

    from mercer import KernelRegressor

    points = np.arange(6.0)[:, None]
    for V in (
        lambda y, s: math.exp(s - y),
        lambda y, s: (y - s) ** 2 if abs(y - s) < 1 else abs(y - s),
        lambda s: s**2,
    ):
        with pytest.raises(
            (TypeError, ValueError), match=r"failed on arrays of shape .* entry by entry: np.exp"
        ):
            KernelRegressor(loss=V, offset=False).fit(points, points[:, 0])
    with pytest.raises(ValueError, match="returned complex numbers"):
        KernelRegressor(loss=lambda y, s: (s - y) ** 2 + 0j, offset=False).fit(points, points[:, 0])
