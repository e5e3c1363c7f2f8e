"""/api/options: everything that can be chosen on the page, so that the page knows no list of its own."""

from __future__ import annotations

from typing import Any

import mercer
from mercer._http.refusal import plain
from mercer.lab.clusters import DENSITIES
from mercer.lab.fields import LIMITS
from mercer.lab.game import CLASSES
from mercer.lab.kernels import COMBINATIONS, KERNELS, Choosable
from mercer.lab.losses import BUDGETS, LOSSES, ONLINE_LOSSES, STEPS
from mercer.lab.samples import SAMPLES


def options(model: dict[str, Any] | None) -> dict[str, Any]:
    """The answer to /api/options; `model` says what a table model predicts, if there is one.

    >>> [kernel["kind"] for kernel in options(None)["kernels"]][:3]
    ['gaussian', 'laplacian', 'matern']
    """
    return {
        "version": mercer.__version__,
        "kernels": _listed(KERNELS),
        "combinations": list(COMBINATIONS),
        "losses": {task: _listed(known) for task, known in LOSSES.items()},
        "online": {
            "losses": {task: _listed(known) for task, known in ONLINE_LOSSES.items()},
            "budgets": _listed(BUDGETS),
            "steps": _listed(STEPS),
        },
        "densities": [{"kind": kind, "title": title} for kind, (title, _) in DENSITIES.items()],
        "game": [
            {
                "kind": kind,
                "title": played.title,
                "dimension": played.dimension,
                "vc": plain(played.H.vc_dimension),
                "controls": played.controls,
            }
            for kind, played in CLASSES.items()
        ],
        "samples": [
            {"kind": kind, "title": title, "task": task} for kind, (title, task, _) in SAMPLES.items()
        ],
        "limits": LIMITS,
        "model": model,
    }


def _listed(known: tuple[Choosable, ...]) -> list[dict[str, Any]]:
    return [one.described() for one in known]
