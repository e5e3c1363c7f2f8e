"""Figures of principal components: the main axes of a cloud, and why no others hold more variance."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from mercer._params import require_count
from mercer.plot.plane import features, on_white, symmetric, text_on, tinted, window
from mercer.plot.style import BLUE, COLOURS, INK, bare, dressed, in_space, legend, panels

# Deviations that the ellipses are drawn at.
_DEVIATIONS = (1, 2)
# The corners of the unit cube are joined where they differ in one coordinate.
_MOST_DIMENSIONS = 3


def principal_axes(X: Any, ax: Axes | None = None, *, colour: str = BLUE) -> Axes:
    """A cloud in the plane and its main axes: arrows v_k of length σ_k, ellipses at one and two deviations.

    σ_k² are the eigenvalues and v_k the eigenvectors of the covariance (1/n) Σ (x_i − m)(x_i − m)ᵀ; the
    legend has the share of the variance that each axis captures.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.principal_axes([[-2, 0], [2, 0], [0, -1], [0, 1]], plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['axis 1: 80 %', 'axis 2: 20 %']
    """
    X = features(X, 2, "main axes")
    if len(X) < 2 or not np.ptp(X, axis=0).any():
        raise ValueError("main axes need two points or more that differ")
    mean = X.mean(axis=0)
    values, vectors = np.linalg.eigh((X - mean).T @ (X - mean) / len(X))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1].T
    # An axis has no direction of its own: let it point to the right, or upwards.
    vectors = vectors * np.where(vectors[np.arange(2), np.abs(vectors).argmax(axis=1)] < 0, -1, 1)[:, None]
    ax = dressed(ax, "x₁", "x₂")
    ax.plot(*X.T, ".", color=INK, markersize=5, alpha=0.55)
    angle = float(np.degrees(np.arctan2(vectors[0, 1], vectors[0, 0])))
    for times in _DEVIATIONS:
        sides = 2 * times * np.sqrt(values)
        look: Any = {"fill": False, "edgecolor": colour, "linewidth": 1.4, "alpha": 0.9 / times}
        ax.add_patch(Ellipse((mean[0], mean[1]), *sides, angle=angle, **look))
    for k, (value, vector) in enumerate(zip(values, vectors, strict=True)):
        tip = mean + np.sqrt(value) * vector
        arrow: Any = {
            "arrowstyle": "-|>",
            "color": COLOURS[1 + k],
            "linewidth": 2.4,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate("", tuple(tip), tuple(mean), arrowprops=arrow)
        share = f"axis {k + 1}: {100 * value / values.sum():.0f} %"
        ax.plot([mean[0], tip[0]], [mean[1], tip[1]], color=COLOURS[1 + k], linewidth=2.4, label=share)
    reach = max(_DEVIATIONS) * np.sqrt(np.diag(np.cov(X.T, bias=True)))
    window(ax, np.vstack([X, mean - reach, mean + reach]), 0.05, alone=1.0)
    ax.set_aspect("equal")
    return legend(ax, loc="upper left")


def pca_bound(C: Any, k: int, S: Any = None, axes: Any = None, *, random_state: Any = 0) -> np.ndarray:
    """Why no k directions hold more variance than the first k eigenvectors do.

    Orthonormal columns S hold tr(SᵀCS) = Σ λ_i β_i ≤ λ_1 + … + λ_k. With C = VΛVᵀ, B = VᵀS and β_i the
    squared length of row i of B, β lies in the polytope 0 ≤ β_i ≤ 1, Σ β_i ≤ k, and Σ λ_i β_i is largest at
    its corner (1, …, 1, 0, …, 0). Three panels: the polytope, with that corner, the β of S, and in the plane
    the lines on which Σ λ_i β_i is constant; the matrix B; and B̃, which is B with further columns that make
    it orthogonal, so that its rows have length 1 and those of B no more.

    Parameters
    ----------
    C : covariance matrix, 2 × 2 or 3 × 3
    k : how many directions, less than there are dimensions
    S : (p, k) matrix with orthonormal columns, optional; by default one at random
    axes : three Axes, the first made with ``projection="3d"`` if C is 3 × 3
    random_state : what S and the further columns are made from

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from mercer import plot
    >>> drawn = plot.pca_bound(np.diag([3.0, 1.0]), 1, [[0.6], [0.8]], Figure().subplots(1, 3))
    >>> drawn[0].get_title()
    'Σ λ β = 1.72 ≤ 3'
    """
    C = symmetric(C)
    p = len(C)
    if not 2 <= p <= _MOST_DIMENSIONS:
        raise ValueError(
            f"the polytope is drawn in the plane or in space: C must be 2 × 2 or 3 × 3, got {p} × {p}"
        )
    require_count(k, "k")
    if k >= p:
        raise ValueError(
            f"k must be less than the {p} dimensions, got {k}: all of them hold all the variance"
        )
    rng = np.random.default_rng(random_state)
    S = np.linalg.qr(rng.standard_normal((p, k)))[0] if S is None else np.asarray(S, dtype=float)
    if S.shape != (p, k) or not np.allclose(S.T @ S, np.eye(k), atol=1e-8):
        raise ValueError(f"S must have {k} orthonormal columns of {p} numbers, got shape {S.shape}")
    values, vectors = np.linalg.eigh(C)
    values, B = values[::-1], vectors[:, ::-1].T @ S
    # Rounding leaves eigenvalues of −10⁻¹⁷ where there are none.
    if values[-1] < -1e-8 * abs(values[0]) or not values[0] > 0:
        raise ValueError(
            f"a covariance has eigenvalues of at least 0, some of them above it, and these are {values}"
        )
    row = _three(axes, p)
    _polytope(row[0], values, k, (B**2).sum(axis=1))
    # The first columns of QR are those of B up to their signs; the others are what was missing.
    extended = np.column_stack([B, np.linalg.qr(B, mode="complete")[0][:, k:]])
    for ax, matrix, name in ((row[1], B, "B"), (row[2], extended, "B̃")):
        _matrix(ax, matrix, name)
    return row


def _three(axes: Any, p: int) -> np.ndarray:
    if axes is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(10, 3.6), layout="constrained")
        grid = figure.add_gridspec(1, 3, width_ratios=(1.6, 1, 1.2))
        first = figure.add_subplot(grid[0], projection="3d" if p == 3 else None)
        axes = [first, figure.add_subplot(grid[1]), figure.add_subplot(grid[2])]
    return panels(axes, (3,), "the polytope, B and B̃ need three Axes", (3.3, 3.3))


def _polytope(ax: Any, values: np.ndarray, k: int, beta: np.ndarray) -> None:
    """0 ≤ β ≤ 1, Σ β ≤ k as the lines between its corners, the best one and the β at hand marked."""
    p = len(values)
    corners = np.array([c for c in np.ndindex(*[2] * p) if sum(c) <= k], dtype=float)
    ax = in_space(ax) if p == 3 else dressed(ax, "β₁", "β₂")
    if p == 3:
        ax.set(xlabel="β₁", ylabel="β₂", zlabel="β₃")
    for i, a in enumerate(corners):
        for b in corners[i + 1 :]:
            # Edges of the cube, and those of the cut Σ β = k, along which one unit moves to another place.
            cut = a.sum() == b.sum() == k and np.abs(a - b).sum() == 2
            if np.abs(a - b).sum() == 1 or cut:
                ax.plot(*np.array([a, b]).T, color=COLOURS[2] if cut else INK, linewidth=2.4 if cut else 1.2)
    if p == 2:
        grid = np.linspace(0, 1.05, 40)
        U, V = np.meshgrid(grid, grid)
        ax.contour(U, V, values[0] * U + values[1] * V, 8, colors=[BLUE], linewidths=0.7, alpha=0.6)
        ax.set_aspect("equal")
    best = np.arange(p) < k
    look: Any = {"linestyle": "none", "markersize": 9, "clip_on": p > 2, "zorder": 5}
    ax.plot(*best.astype(float)[:, None], marker="*", color=COLOURS[1], **look, label="first eigenvectors")
    ax.plot(*beta[:, None], marker="o", color=COLOURS[0], **{**look, "markersize": 7}, label="S")
    ax.set_title(f"Σ λ β = {values @ beta:.3g} ≤ {values[:k].sum():.3g}", fontsize=10)
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.14 if p == 2 else 0.0), ncols=2)


def _matrix(ax: Axes, matrix: np.ndarray, name: str) -> None:
    """Entries by strength and sign, with their numbers, and the squared length of every row beside it."""
    ax = bare(ax)
    strength = 0.75 * np.minimum(np.abs(matrix), 1)
    ink = np.where((matrix >= 0)[..., None], tinted(strength, COLOURS[0]), tinted(strength, COLOURS[1]))
    fill = on_white(ink)
    ax.imshow(fill, origin="upper", interpolation="none")
    for (i, j), value in np.ndenumerate(matrix):
        colour = text_on(fill[i, j])
        text = f"{value:.2f}".replace("-", "−")
        ax.text(j, i, text, ha="center", va="center", fontsize=9, color=colour)
    rows = range(len(matrix))
    ax.set_xticks([])
    ax.yaxis.tick_right()
    lengths = (matrix**2).sum(axis=1)
    ax.set_yticks(rows, [f"{'β' if name == 'B' else '‖·‖²'} = {length:.2f}" for length in lengths])
    ax.set_title(name, fontsize=10)
