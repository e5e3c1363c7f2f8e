"""Looking: every function takes Axes (`ax`; None makes some) and returns Axes.

This is the only room that imports Matplotlib. `colour` is that of what is drawn, `label` what the legend
calls it: call a function again on the same Axes, in another colour and with another label, to compare. `X`
and `y` are examples, X of shape (n, 2) in the plane and (n, 1) on a line. `resolution`: the points of a grid,
a side. Functions that draw several panels take a sequence of Axes, `axes`, and return them as an array.

Backgrounds are transparent and lines are neutral grey, so that a figure sits on a light page and on a
dark one; colours are those of Okabe and Ito, which stay apart for colour-blind readers.
"""

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError(
        "mercer.plot draws with Matplotlib, which is not installed: pip install 'mercer[plot]'"
    ) from error

from mercer.plot.classification import (
    confusion,
    decision_regions,
    image_sheet,
    margin,
    neighbour_errors,
    neighbours,
)
from mercer.plot.clouds import cloud, cluster_cells, cluster_classes, cluster_energy, covariance, spectrum
from mercer.plot.components import pca_bound, principal_axes
from mercer.plot.curves import (
    convergence,
    function_1d,
    lam_path,
    predicted_vs_true,
    quantiles,
    regression_1d,
    regressions,
)
from mercer.plot.joint import conditional_mean, joint_density
from mercer.plot.lifting import lift
from mercer.plot.model import (
    contenders,
    coverage,
    dependence,
    error_by_rows,
    error_histogram,
    importance,
    length_scales,
    loo_curve,
    metric,
    prediction_band,
    reliability,
)
from mercer.plot.network import consensus_curve, followed, sensor_field
from mercer.plot.online import budget_use, bumps, learning_curve, regret_curve
from mercer.plot.parts import feature_weights, gram, graph_nodes, letters
from mercer.plot.probability import class_probabilities, class_separation, probability_1d, probability_fields
from mercer.plot.rates import bias_variance, bounds, decay, risk_curve, slack
from mercer.plot.style import COLOURS, INK, axes
from mercer.plot.surrogates import losses
from mercer.plot.svg import to_svg
from mercer.plot.theory import failure_rates, learned_rectangle, shattering
from mercer.plot.tuning import surface
from mercer.plot.voronoi import cells, lloyd_frames
from mercer.plot.votes import nearest

__all__ = [
    "COLOURS",
    "INK",
    "axes",
    "bias_variance",
    "bounds",
    "budget_use",
    "bumps",
    "cells",
    "class_probabilities",
    "class_separation",
    "cloud",
    "cluster_cells",
    "cluster_classes",
    "cluster_energy",
    "conditional_mean",
    "confusion",
    "consensus_curve",
    "contenders",
    "convergence",
    "covariance",
    "coverage",
    "decay",
    "decision_regions",
    "dependence",
    "error_by_rows",
    "error_histogram",
    "failure_rates",
    "feature_weights",
    "followed",
    "function_1d",
    "gram",
    "graph_nodes",
    "image_sheet",
    "importance",
    "joint_density",
    "lam_path",
    "learned_rectangle",
    "learning_curve",
    "length_scales",
    "letters",
    "lift",
    "lloyd_frames",
    "loo_curve",
    "losses",
    "margin",
    "metric",
    "nearest",
    "neighbour_errors",
    "neighbours",
    "pca_bound",
    "predicted_vs_true",
    "prediction_band",
    "principal_axes",
    "probability_1d",
    "probability_fields",
    "quantiles",
    "regression_1d",
    "regressions",
    "regret_curve",
    "reliability",
    "risk_curve",
    "sensor_field",
    "shattering",
    "slack",
    "spectrum",
    "surface",
    "to_svg",
]
