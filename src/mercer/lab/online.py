"""/api/online: an online machine that has taken so many steps, and what the last of them did."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer._http.refusal import plain
from mercer.lab.fields import LIMITS, Fields
from mercer.lab.fit import examples, index_of
from mercer.lab.kernels import admitted, chosen, kernel_of
from mercer.lab.losses import ONLINE_LOSSES, STEPS, budget_of, loss_of
from mercer.lab.seen import PageView
from mercer.online import Unlimited
from mercer.online.record import begin

_KNOWN = (
    "task", "X", "y", "order", "seed", "kernel", "loss", "lam", "step", "budget", "t", "window", "resolution",
)  # fmt: skip
# Numbers of a curve over time.
_MOST = 500


def online(fields: Fields) -> dict[str, Any]:
    """The answer to a request of /api/online."""
    fields.only(*_KNOWN)
    task = fields.word("task", ("labels", "curve"))
    X, y = examples(fields, task)
    n = len(X)
    of = n * LIMITS["epochs"]
    t, view = fields.count("t", 0, of, 0), PageView(fields)
    machine = _machine(fields, task, X)
    order = np.arange(n)
    if fields.word("order", ("given", "shuffled"), "given") == "shuffled":
        order = np.random.default_rng(fields.count("seed", 0, 2**31 - 1, 0)).permutation(n)
    stream = np.tile(order, max(-(-t // n), 1))
    try:
        run, points, targets = begin(machine, X[stream], y[stream])
        watched = _watched(run, points, targets, t)
    except ValueError as error:  # steps that overshoot until f is beyond all bounds
        raise fields.wrong("step", str(error)) from None
    answer: dict[str, Any] = {"t": t, "of": of, "last": _last(watched, stream, X, y, t) if t else None}
    answer |= _terms(run, X) | view.of(run, task)
    budget = machine.budget
    answer["budget"] = None if isinstance(budget, Unlimited) else int(budget.n_terms)
    return answer | {name: plain(watched[name]) for name in ("steps", "losses", "mistakes", "sizes")}


def _watched(run: Any, points: Any, targets: np.ndarray, t: int) -> dict[str, Any]:
    """Let a machine take t steps, and note at a few hundred of them what it has lost and holds."""
    steps = np.unique(np.linspace(0, max(t - 1, 0), min(max(t - 1, 0), _MOST - 1) + 1).round().astype(int))
    steps = np.append(steps, t) if t else steps[:0]
    scores, sizes, held = np.empty((t, targets.shape[1])), [], _held(run)
    for start, stop in pairwise(steps.tolist()):
        held = _held(run)
        rows = slice(start, stop)
        scores[rows] = run.learner_.learn(points[rows], targets[rows], np.ones(stop - start))
        sizes.append(len(_held(run)))
    lost = np.asarray(run.loss_.value(targets[:t], scores))
    lost = lost if lost.ndim == 1 else lost.sum(axis=1)
    wrong = _mistakes(run, targets[:t], scores)
    ends = steps[1:]
    return {
        "steps": ends,
        "losses": np.cumsum(lost)[ends - 1],
        "mistakes": np.cumsum(wrong)[ends - 1],
        "sizes": np.array(sizes, dtype=int),
        "before": held,
        "after": _held(run),
        "final": (scores[-1:], float(lost[-1]), bool(wrong[-1])) if t else None,
    }


def _held(run: Any) -> list[int]:
    """When the terms that f is made of came in; coordinates of a span are numbered instead."""
    learner = run.learner_
    return learner.birth[learner.birth > 0].tolist() if hasattr(learner, "birth") else [*range(learner.size)]


def _mistakes(run: Any, targets: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Which labels were predicted wrongly before they were learned; of numbers, none."""
    coding = run.coding_
    if coding.classes is None or not len(scores):
        return np.zeros(len(scores), dtype=bool)
    return np.asarray(coding.decode(targets) != coding.decode(scores))


def _last(
    watched: dict[str, Any], stream: np.ndarray, X: np.ndarray, y: np.ndarray, t: int
) -> dict[str, Any]:
    """What the last step met, and what it did to the terms."""
    i, (scores, lost, mistake) = int(stream[t - 1]), watched["final"]
    before, after = set(watched["before"]), set(watched["after"])
    return {
        "i": i,
        "x": plain(X[i]),
        "y": plain(y[i]),
        "score_before": float(scores[0, 0]),
        "loss": lost,
        "mistake": mistake,
        "added": bool(after - before),
        "removed": sorted({int(stream[birth - 1]) for birth in before - after}),
    }


def _terms(run: Any, X: np.ndarray) -> dict[str, Any]:
    """f, term by term."""
    f = run.function_
    coef = np.asarray(f.coef, np.float64).reshape(len(f.points), f.outputs or 1)
    places = index_of(f.points, X)
    terms = [
        {"i": i, "x": x, "c": c} for i, x, c in zip(places, plain(f.points), coef[:, :1].ravel().tolist())
    ]
    return {"terms": terms, "size": len(terms), "norm": float(f.norm())}


def _machine(fields: Fields, task: str, X: np.ndarray) -> Any:
    kernel = admitted(kernel_of(fields.get("kernel", {"kind": "gaussian", "sigma": None})), X)
    make = OnlineKernelClassifier if task == "labels" else OnlineKernelRegressor
    machine = make(
        kernel,
        loss_of(task, fields, ONLINE_LOSSES),
        lam=fields.number("lam", 0.0, 1e3, 0.0),
        step=chosen(STEPS, fields.inner("step", {"kind": "constant"})),
        budget=budget_of(fields),
        random_state=0,
    )
    try:
        machine.validate()
    except ValueError as error:  # a step that this λ can't go with, for example
        raise fields.wrong("step", str(error)) from None
    return machine
