"""Figures of the gallery have no paper of their own, so that they sit on a light page and on a dark one."""

from __future__ import annotations

from typing import Any

import matplotlib

from mercer.plot import INK

_INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color")


def transparent(settings: dict[str, Any], script: str) -> None:
    """sphinx-gallery calls this before each script, after it has undone what the last one changed."""
    matplotlib.rcParams.update(
        {"figure.facecolor": "none", "axes.facecolor": "none", "legend.framealpha": 0.0}
    )
    matplotlib.rcParams.update({"savefig.facecolor": "auto", **dict.fromkeys(_INKED, INK)})
