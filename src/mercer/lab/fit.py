"""/api/fit: a machine fitted to the points, and everything the library knows of it."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import numpy as np

from mercer import KernelClassifier, KernelRegressor, KernelRidge
from mercer._http.refusal import plain
from mercer._threads import one_blas_thread
from mercer.lab.fields import Fields, drawn
from mercer.lab.kernels import admitted, kernel_of
from mercer.lab.losses import loss_of
from mercer.lab.seen import PageView
from mercer.losses import Exponential, Hinge, Logistic, Squared
from mercer.selection import loo
from mercer.solvers import Newton
from mercer.theory import effective_dimension, spectrum

_WANTED = ("spectrum", "loo", "bumps")
_MOST_BUMPS, _BUMPS_DRAWN, _MOST_EIGENVALUES = 50, 10, 100
_LAM = 1e-12, 1e6
# Matrices of so few points are small: more threads of BLAS gain little where nothing else runs, and wait for
# each other where something does, such as the browser that draws the page.
_FEW = 700


def fit(fields: Fields) -> dict[str, Any]:
    """The answer to a request of /api/fit."""
    started = time.perf_counter()
    asked = _asked(fields)
    with one_blas_thread() if len(asked[1]) <= _FEW else nullcontext():
        answer = _answered(*asked)
    return answer | {"seconds": time.perf_counter() - started}


def _answered(
    task: str, X: np.ndarray, y: np.ndarray, machine: Any, view: PageView, wanted: set[str]
) -> dict[str, Any]:
    machine.kernel = admitted(machine.kernel, X)
    machine.fit(X, y)
    scores = np.asarray(machine.scores(X), np.float64)
    answer = {"n": len(X), "kernel": repr(machine.kernel_), "lam": float(machine.lam_)}
    answer |= view.of(machine, task) | _judged(machine, task, X, y, scores)
    answer |= _function(machine, X, view if task == "curve" else None, "bumps" in wanted)
    answer["margin"] = _margin(machine)
    if "spectrum" in wanted:
        found = spectrum(machine.kernel_(X))
        answer["spectrum"] = plain(found.values[:_MOST_EIGENVALUES])
        answer["effective_dimension"] = float(effective_dimension(found, machine.lam_).low[0])
    if "loo" in wanted:
        answer |= _left_out(machine, X, y)
    answer["certificate"] = _certificate(machine.solution_)
    answer["plan"] = [str(reason) for reason in machine.plan_.reasons]
    return answer


def _asked(fields: Fields) -> tuple[str, np.ndarray, np.ndarray, Any, PageView, set[str]]:
    fields.only("task", "X", "y", "kernel", "loss", "lam", "offset", "window", "resolution", "wanted")
    task = fields.word("task", ("labels", "curve"))
    X, y = examples(fields, task)
    kernel = kernel_of(fields.get("kernel", {"kind": "gaussian", "sigma": None}))
    loss, view = loss_of(task, fields), PageView(fields)
    lam: Any = fields.get("lam", "auto")
    lam = lam if lam == "auto" else fields.number("lam", *_LAM)
    given = fields.get("wanted", [])
    if not isinstance(given, list) or not all(isinstance(w, str) and w in _WANTED for w in given):
        raise fields.wrong("wanted", f"give a list of {', '.join(_WANTED)}")
    options = {"lam": lam, "offset": fields.flag("offset", True), "random_state": 0}
    if task == "labels":
        # A last step of Newton's method would change nothing that can be seen; the certificate says how much.
        solver = Newton(tol=1e-5) if isinstance(loss, Logistic | Exponential) else "auto"
        machine: Any = KernelClassifier(kernel, loss, solver=solver, **options)
    elif isinstance(loss, Squared):
        machine = KernelRidge(kernel, **options)
    else:
        machine = KernelRegressor(kernel, loss, **options)
    return task, X, y, machine, view, set(given)


def examples(fields: Fields, task: str) -> tuple[np.ndarray, np.ndarray]:
    """X and y of a request, as a task needs them."""
    X = fields.points(2 if task == "labels" else 1, 2)
    return X, fields.labels(len(X)) if task == "labels" else fields.numbers("y", len(X))


def _judged(machine: Any, task: str, X: np.ndarray, y: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    fitted = {"fitted": plain(scores[:, 0])}
    predicted = machine.coding_.decode(scores)
    if task == "labels":
        return fitted | {"classes": plain(machine.classes_), "accuracy": float(np.mean(predicted == y))}
    return fitted | {"rmse": float(np.sqrt(np.mean((predicted - y) ** 2)))}


def _function(machine: Any, X: np.ndarray, view: PageView | None, bumps: bool) -> dict[str, Any]:
    """f itself: norms, offsets, which examples carry it and, if asked for, its largest terms."""
    f = machine.function_
    outputs = [f] if f.outputs is None else [f.output(j) for j in range(f.outputs)]
    answer: dict[str, Any] = {
        "norm": [float(one.norm()) for one in outputs],
        "offset": plain(np.atleast_1d(np.asarray(machine.intercept_, np.float64))),
    }
    if not hasattr(f, "points"):  # features, not terms at examples
        return answer | {"support": [], "bumps": [], "bump_curves": []}
    held = np.asarray(f.coef).reshape(len(f.points), f.outputs or 1)
    places = index_of(f.points, X)
    carried = np.flatnonzero(np.abs(held).max(axis=1) > 0)
    answer["support"] = sorted({places[i] for i in carried if places[i] is not None})
    if not bumps:
        return answer
    order = [i for i in np.argsort(-np.abs(held[:, 0]), kind="stable")[:_MOST_BUMPS] if held[i, 0] != 0]
    answer["bumps"] = [{"i": places[i], "x": plain(f.points[i]), "c": float(held[i, 0])} for i in order]
    if view is not None:
        some = order[:_BUMPS_DRAWN]
        values = machine.kernel_(f.points[some], view.line[:, None]) if some else np.empty((0, 0))
        answer["bump_curves"] = [drawn(held[i, 0] * row) for i, row in zip(some, values, strict=True)]
    return answer


def index_of(points: Any, X: np.ndarray) -> list[int | None]:
    """Which example each point is; of equal ones each stands for one of the terms. None: no example."""
    waiting: dict[bytes, list[int]] = {}
    for i in range(len(X) - 1, -1, -1):
        waiting.setdefault(X[i].tobytes(), []).append(i)
    found: list[int | None] = []
    for point in np.asarray(points, np.float64):
        same = waiting.get(point.tobytes(), [])
        found.append(None if not same else same.pop() if len(same) > 1 else same[0])
    return found


def _margin(machine: Any) -> float | None:
    """Half the width of the band |f + b| < 1 in feature space, of the hinge loss for two classes."""
    plane = isinstance(machine.loss_, Hinge) and machine.function_.outputs is None
    norm = float(machine.function_.norm()) if plane else 0.0
    return 1 / norm if norm > 0 else None


def _left_out(machine: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    if not isinstance(machine.loss_, Squared):
        why = "only the squared loss has leave-one-out in closed form; others would take n fits"
        return {"loo": None, "loo_why": why}
    if isinstance(machine, KernelRidge):
        residuals = machine.loo_residuals()
    else:
        residuals = loo(machine.set_params(lam=machine.lam_, kernel=machine.kernel_), X, y)
    residuals = np.asarray(residuals, np.float64)
    error = float(np.sqrt(np.mean(residuals**2)))
    rows = residuals if residuals.ndim == 1 else residuals[:, 0]
    return {"loo": {"error": error, "residuals": plain(rows)}, "loo_why": ""}


def _certificate(solution: Any) -> dict[str, Any]:
    found = solution.certificate
    said = {
        "status": solution.status,
        "objective": found.objective,
        "gap": found.gap,
        "gradient": found.relative_gradient,
        "rounding": found.rounding,
        "over": found.over,
        "text": str(solution),
    }
    return {key: plain(value) for key, value in said.items()}
