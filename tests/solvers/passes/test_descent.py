"""Quasi-Newton steps on functions whose minimum is known, and their state."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer.solvers.passes.descent import QuasiNewton
from mercer.solvers.passes.points import Point

rng = np.random.default_rng(0)
R = rng.standard_normal((12, 12))
H = R @ R.T + 0.1 * np.eye(12)
best = rng.standard_normal((12, 2))


class Objective:
    """u ↦ Point of a function, counting passes."""

    primal = SimpleNamespace(size=lambda G: G)

    def __init__(self, value, gradient):
        self.value, self.gradient, self.passes = value, gradient, 0

    def bent(self, d):
        """The Hessian times d, of a quadratic function."""
        return self.gradient(d) - self.gradient(0 * d)

    def __call__(self, u):
        self.passes += 1
        value, G = float(self.value(u)), self.gradient(u)
        return Point(u, value, value, 0.0, G, np.zeros(u.shape[1]), float(np.linalg.norm(G)))


def quadratic():
    return Objective(lambda u: 0.5 * ((u - best) * (H @ (u - best))).sum(), lambda u: H @ (u - best))


def quartic():
    def slope(u):
        return H @ (u - best) + (u - best) ** 3

    return Objective(
        lambda u: 0.5 * ((u - best) * (H @ (u - best))).sum() + 0.25 * ((u - best) ** 4).sum(), slope
    )


def about(scale=1.0):
    """A guess at the inverse Hessian: its diagonal."""
    return SimpleNamespace(inverse=lambda u: lambda R: scale * R / H.diagonal()[:, None])


def test_conjugate_gradients_end_after_as_many_steps_as_unknowns():
    f = quadratic()
    steps = QuasiNewton(f, about(), True)
    point = f(np.zeros((12, 2)))
    passes = 0
    while point.norm > 1e-8 and passes < 40:
        point = steps.step(point)
        passes += 1
        # What is worked out without a pass is what a pass would say.
        assert f.gradient(point.u) == pytest.approx(point.gradient, abs=1e-7)
        assert point.value == pytest.approx(f.value(point.u), abs=1e-8)
    assert passes <= 26 and np.allclose(point.u, best, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_steps_go_downhill(scale):
    """However wrong the guess at the Hessian's scale is."""
    f = quartic()
    steps, point = QuasiNewton(f, about(scale), False), f(np.zeros((12, 2)))
    for _ in range(150):
        if point.norm < 1e-7:
            break
        new = steps.step(point)
        assert new.value <= point.value + 1e-12
        point = new
    assert np.allclose(point.u, best, atol=1e-5)


def test_no_way_down():
    f = quadratic()
    assert QuasiNewton(f, about(), True).step(f(best)) is None
    uphill = SimpleNamespace(inverse=lambda u: lambda R: -R)
    assert QuasiNewton(f, uphill, True).step(f(np.zeros((12, 2)))) is None
    wrong = Objective(f.value, lambda u: -f.gradient(u))  # a gradient that lies
    assert QuasiNewton(wrong, about(), False).step(wrong(np.zeros((12, 2)))) is None


def test_values_that_overflow():
    """Beyond some point the function is infinite: steps stay before it."""
    f = Objective(
        lambda u: np.exp(u - best).sum() - u.sum() if u.max() < 600 else np.inf,
        lambda u: np.exp(np.minimum(u - best, 700)) - 1,
    )
    point = f(best + 3)
    steps = QuasiNewton(f, SimpleNamespace(inverse=lambda u: lambda R: 1e3 * R), False)
    for _ in range(60):
        point = steps.step(point) or point
    assert point.norm < 1e-6


def test_state():
    f = quartic()
    steps, point = QuasiNewton(f, about(), False), f(np.zeros((12, 2)))
    assert steps.state() == {}
    for _ in range(25):
        point = steps.step(point)
    state = steps.state()
    assert state["steps"].shape == (20, 12, 2)
    again = QuasiNewton(f, about(), False)
    again.restore(state, (12, 2))
    for _ in range(3):
        one, other = steps.step(point), again.step(point)
        assert np.array_equal(one.u, other.u)
        point = one
    QuasiNewton(f, about(), False).restore({}, (12, 2))
    for name, wrong in (
        ("steps", state["steps"][:3]),
        ("hessian_at", best[:3]),
        ("changes", state["steps"] * np.nan),
    ):
        with pytest.raises(ValueError, match="not those of this fit"):
            QuasiNewton(f, about(), False).restore({**state, name: wrong}, (12, 2))
