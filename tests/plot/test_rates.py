"""Figures of experiments: what is drawn is what was measured."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from mercer import KernelLogistic, plot
from mercer.kernels import Gaussian
from mercer.theory import (
    BiasVariance,
    CircleProblem,
    GramSpectrum,
    PointsProblem,
    RiskCertificate,
    RiskCurve,
    certificate,
    fit_decay,
    fit_rate,
    smoothness,
    spectrum,
)

N = np.array([100, 200, 400])


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_risk_curve():
    risks = np.array([[1.0], [1.4]]) / N**0.5
    ax = plot.risk_curve(RiskCurve(N, risks, fit_rate(N, risks)), plot.axes(), expected=0.6, label="mine")
    drawn = {line.get_label(): line for line in ax.lines}
    np.testing.assert_allclose(drawn["mine"].get_ydata(), 1.2 / N**0.5)
    fitted = next(line for name, line in drawn.items() if name.startswith("n^−0.50"))
    np.testing.assert_allclose(fitted.get_ydata(), 1.2 / N**0.5)
    theory = drawn["theory: n^−0.60"].get_ydata()
    assert theory[0] / theory[2] == pytest.approx(4**0.6)
    assert ax.get_xscale() == ax.get_yscale() == "log" and len(ax.lines) == 5
    single = plot.risk_curve(RiskCurve(N, risks[:1], None), plot.axes())
    assert len(single.lines) == 1


def test_bias_variance():
    found = BiasVariance("kernel__sigma", [0.1, 1.0, 10.0], np.array([0, 0.1, 1]), np.array([1, 0.2, 0.1]))
    ax = plot.bias_variance(found, plot.axes())
    assert (ax.get_xlabel(), ax.get_xscale()) == ("σ", "log") and labels(ax)[-1] == "least sum: 1"
    np.testing.assert_allclose(ax.lines[2].get_ydata(), [1, 0.3, 1.1])
    near = BiasVariance("n_neighbors", [1, 2], np.zeros(2), np.ones(2))
    ax = plot.bias_variance(near, plot.axes(), name="R")
    assert (ax.get_xlabel(), ax.get_xscale()) == ("R", "linear")


def test_decay():
    problem = CircleProblem(noise=0.1)
    X, y = problem.draw(400, np.random.default_rng(0))
    found = spectrum(problem.kernel(X), y)
    ax = plot.decay(found, plot.axes(), law=fit_decay(found.values), smoothness=smoothness(found))
    assert labels(ax)[:2] == ["target, squared", "eigenvalues"] and labels(ax)[-1] == "noise σ²/n"
    values = 0.5 ** np.arange(1, 40)
    ax = plot.decay(GramSpectrum(values, None), plot.axes(), law=fit_decay(values))
    assert labels(ax) == ["eigenvalues", "exp(−0.69 i)"] and ax.get_xscale() == "linear"


def test_bounds():
    problem = PointsProblem()
    X, y = problem.labels(150, np.random.default_rng(0))
    found = certificate(KernelLogistic(Gaussian(0.2), lam=1e-3, offset=False).fit(X, y), X, y)
    ax = plot.bounds(found, plot.axes())
    names = [text.get_text().partition("\n")[0] for text in ax.get_yticklabels()]
    assert names == [b.name for b in found.bounds] and ax.get_xlim()[1] == pytest.approx(1.02)
    assert [bar.get_width() for bar in ax.patches] == [b.measured for b in found.bounds]
    stability = next(b for b in found.bounds if b.name == "Stability bound")
    assert f"{stability.value:.3g}" in [text.get_text() for text in ax.texts]  # beyond the axis
    with pytest.raises(ValueError, match="no bound"):
        plot.bounds(RiskCertificate("", "error rate", 0.1, None, 0.5, 0.05, (), ()), plot.axes())


def test_slack():
    series = {f"bound {i}": [1.0, 0.5, 0.2 + i] for i in range(8)}
    ax = plot.slack(N, series, [0.1, 0.1, 0.1], plot.axes(7, 5))
    assert labels(ax) == [*series, "true risk"] and ax.lines[7].get_linestyle() == "--"
    assert list(ax.lines[-1].get_ydata()) == [0.1, 0.1, 0.1]
