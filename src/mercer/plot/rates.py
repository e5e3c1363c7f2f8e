"""Figures of experiments: risk against n, bias and variance, spectra, bounds beside what they bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.plot.style import BLUE, COLOURS, INK, dressed, legend_above, log_ticks, number
from mercer.plot.text import caption
from mercer.theory import BiasVariance, Decay, GramSpectrum, RiskCertificate, RiskCurve, Smoothness


def risk_curve(
    curve: RiskCurve,
    ax: Axes | None = None,
    *,
    expected: float | None = None,
    label: str = "risk",
    colour: str = BLUE,
) -> Axes:
    """Risk against the number of examples on logarithmic axes, with the fitted power of n.

    The curve is from `mercer.theory.risk_curve`. `expected` is the exponent theory gives: a dashed line of
    that slope through the middle of the measurements.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> from mercer.theory import RiskCurve, fit_rate
    >>> n = np.array([100, 200, 400])
    >>> risks = np.array([[2.0], [2.2]]) / n**0.5
    >>> ax = plot.risk_curve(RiskCurve(n, risks, fit_rate(n, risks.mean(axis=0))), plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['risk', 'n^−0.50 (95 %: 0.50 to 0.50)']
    """
    ax = dressed(ax, "examples n", "risk")
    n, mean = curve.sizes, curve.mean
    if len(curve.risks) > 1:
        for row in curve.risks:
            ax.plot(n, row, ".", color=colour, markersize=3, alpha=0.25)
    ax.plot(n, mean, "o", color=colour, markersize=5, label=caption(label))
    if curve.rate is not None:
        r = curve.rate
        words = f"n^−{r.exponent:.2f} ({100 * r.confidence:g} %: {r.low:.2f} to {r.high:.2f})"
        ax.plot(n, r.at(n), color=colour, linewidth=2, label=words)
    if expected is not None:
        middle = np.exp(np.log(n).mean()), np.exp(np.log(mean).mean())
        line = middle[1] * (n / middle[0]) ** -expected
        ax.plot(n, line, "--", color=INK, linewidth=1.2, label=f"theory: n^−{expected:.2f}")
    log_ticks(ax, "xy")
    return legend_above(ax, columns=3)


def bias_variance(found: BiasVariance, ax: Axes | None = None, *, name: str | None = None) -> Axes:
    """Squared bias, variance and their sum against a parameter; the least sum is marked.

    `found` is from `mercer.theory.bias_variance`; `name` is shown instead of the parameter's own.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> from mercer.theory import BiasVariance
    >>> found = BiasVariance("lam", [0.01, 0.1, 1.0], np.array([0.0, 0.1, 1.0]), np.array([1.0, 0.2, 0.1]))
    >>> ax = plot.bias_variance(found, plot.axes())
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('λ', ['bias²', 'variance', 'sum', 'least sum: 0.1'])
    """
    ax = dressed(ax, y="squared error")
    values = np.asarray(found.values, dtype=float)
    for height, label, colour in (
        (found.bias, "bias²", COLOURS[0]),
        (found.variance, "variance", COLOURS[1]),
        (found.excess, "sum", INK),
    ):
        ax.plot(values, height, "o-", color=colour, markersize=4, linewidth=2, label=label)
    best = int(found.excess.argmin())
    ring: Any = {"markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
    label = f"least sum: {number(float(values[best]))}"
    ax.plot(values[best], found.excess[best], "o", **ring, label=label)
    if (values > 0).all() and values.max() > 20 * values.min():
        log_ticks(ax, "x")
    ax.set_ylim(bottom=0)
    last = found.name.split("__")[-1]
    ax.set_xlabel(name or {"lam": "λ", "sigma": "σ", "n_neighbors": "neighbours R"}.get(last, found.name))
    return legend_above(ax, columns=4)


def decay(
    found: GramSpectrum,
    ax: Axes | None = None,
    *,
    law: Decay | None = None,
    smoothness: Smoothness | None = None,
) -> Axes:
    """Eigenvalues of K/n, and how much of a target lies along each eigenvector, with the laws fitted to them.

    All are from `mercer.theory`: `spectrum`, `fit_decay` and `smoothness`, which adds the law of the target's
    coefficients and the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> from mercer.theory import fit_decay, GramSpectrum
    >>> values = np.arange(1, 101.0) ** -2
    >>> ax = plot.decay(GramSpectrum(values, None), plot.axes(), law=fit_decay(values))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['eigenvalues', 'i^−2.00']
    """
    ax = dressed(ax, "i", "size")
    i = np.arange(1, found.n + 1)
    kept = found.values > found.values[0] * found.n * np.finfo(float).eps
    if found.energy is not None:
        ax.plot(i, found.energy, ".", color=COLOURS[1], markersize=3, alpha=0.35, label="target, squared")
    ax.plot(i[kept], found.values[kept], ".", color=COLOURS[0], markersize=4, label="eigenvalues")
    if law is not None:
        where = i[law.first - 1 : law.last]
        words = f"i^−{law.exponent:.2f}" if law.kind == "polynomial" else f"exp(−{law.exponent:.2g} i)"
        ax.plot(where, law.at(where), color=INK, linewidth=1.6, label=words)
    if smoothness is not None:
        energy, along = smoothness.energy, np.geomspace(2, max(4, found.n // 8), 50)
        ax.plot(along, energy.at(along), color=COLOURS[1], linewidth=1.6, label=f"i^−{energy.exponent:.2f}")
        floor = smoothness.noise / found.n
        ax.axhline(floor, color=COLOURS[1], linewidth=1, linestyle=":", label="noise σ²/n")
        ax.set_ylim(bottom=min(floor, float(found.values[kept].min())) / 30)
    # An exponential is a straight line over i itself.
    if law is None or law.kind == "polynomial":
        log_ticks(ax, "x")
    elif smoothness is None:
        ax.set_xlim(0, 2 * law.last)
    log_ticks(ax, "y")
    return legend_above(ax, columns=3)


def bounds(certificate: RiskCertificate, ax: Axes | None = None, *, colour: str = BLUE) -> Axes:
    """The bounds of a certificate as bars beside the measured errors; what is above the axis says nothing.

    It is from `mercer.theory.certificate`; bounds of another measure than its own are left out.

    Examples
    --------
    >>> from mercer import plot
    >>> from mercer.theory import RiskCertificate, vc_bound
    >>> found = RiskCertificate("", "error rate", 0.1, None, 0.5, 0.05, (vc_bound(0.1, 3, 1000),), ())
    >>> [text.get_text() for text in plot.bounds(found, plot.axes()).get_legend().get_texts()]
    ['bound', 'best constant: 0.5', 'measured']
    """
    shown = [b for b in certificate.bounds if b.risk.startswith(certificate.measure)]
    if not shown:
        raise ValueError("the certificate has no bound on what it measures")
    ax = dressed(ax, certificate.measure)
    places = np.arange(len(shown))[::-1]
    top = max(1.0 if certificate.measure == "error rate" else 2 * certificate.guess, certificate.guess)
    ax.barh(places, [min(b.measured, top) for b in shown], 0.55, color=colour, alpha=0.75, label="measured")
    for place, b in zip(places, shown, strict=True):
        end, beyond, label = min(b.value, top), b.value > top, "bound" if b is shown[0] else None
        ax.plot([b.measured, end], [place, place], color=INK, linewidth=1.4, label=label)
        ax.plot(end, place, ">" if beyond else "|", color=INK, markersize=7 if beyond else 12)
        if beyond:
            look: Any = {"color": INK, "fontsize": 8, "ha": "right"}
            ax.annotate(f"{b.value:.3g}", (top, place), (-4, 5), textcoords="offset points", **look)
    guess = f"best constant: {certificate.guess:.3g}"
    ax.axvline(certificate.guess, color=COLOURS[1], linestyle="--", linewidth=1.2, label=guess)
    ax.set_yticks(places, [b.name + "\n(average)" * b.on_average for b in shown])
    ax.set_xlim(0, 1.02 * top)
    return legend_above(ax, columns=3)


def slack(
    sizes: Any, series: dict[str, Sequence[float]], risk: Any, ax: Axes | None = None, *, ylabel: str = "risk"
) -> Axes:
    """Bounds and the true risk against the number of examples: the gap is what a bound gives away.

    `series` goes from the name of a bound to its values at these sizes; `risk` is the true one.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.slack([100, 200], {"VC bound": [0.5, 0.4]}, [0.2, 0.15], plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['VC bound', 'true risk']
    """
    ax = dressed(ax, "examples n", ylabel)
    for i, (name, values) in enumerate(series.items()):
        colour, style = COLOURS[i % len(COLOURS)], "-" if i < len(COLOURS) else "--"
        ax.plot(
            sizes, values, style, color=colour, marker="o", markersize=4, linewidth=2, label=caption(name)
        )
    ax.plot(sizes, risk, color=INK, linewidth=2.4, label="true risk")
    log_ticks(ax, "xy")
    return legend_above(ax, columns=3)
