"""Losses, steps and budgets that the page can choose."""

from __future__ import annotations

from typing import Any

from mercer import losses, online
from mercer.lab.fields import LIMITS, Fields
from mercer.lab.kernels import Choosable, Slider, chosen

_SQUARED = Choosable("squared", "squared", "(y − s)²", losses.Squared)
_HINGE = Choosable("hinge", "hinge (support vectors)", "max(0, 1 − ys)", losses.Hinge)
_LOGISTIC = Choosable("logistic", "logistic", "log(1 + exp(−ys))", losses.Logistic)

LOSSES: dict[str, tuple[Choosable, ...]] = {
    "labels": (
        _LOGISTIC,
        _HINGE,
        Choosable("squared_hinge", "squared hinge", "max(0, 1 − ys)²", losses.SquaredHinge),
        _SQUARED,
        Choosable("exponential", "exponential", "exp(−ys)", losses.Exponential),
        Choosable(
            "multinomial", "multinomial", "log Σ exp(s_c) − s_y, the sum over classes c", losses.Multinomial
        ),
    ),
    "curve": (
        _SQUARED,
        Choosable("absolute", "absolute", "|y − s|", losses.Absolute),
        Choosable(
            "huber",
            "Huber",
            "r²/2 for |r| ≤ δ, then δ|r| − δ²/2",
            losses.Huber,
            (Slider("delta", "δ", 1.0, 0.01, 10.0),),
        ),
        Choosable(
            "epsilon_insensitive",
            "ε-insensitive (support vectors)",
            "max(0, |y − s| − ε)",
            losses.EpsilonInsensitive,
            (Slider("epsilon", "ε", 0.1, 0.001, 2.0),),
        ),
        Choosable(
            "squared_epsilon_insensitive",
            "squared ε-insensitive",
            "max(0, |y − s| − ε)²",
            losses.SquaredEpsilonInsensitive,
            (Slider("epsilon", "ε", 0.1, 0.001, 2.0),),
        ),
        Choosable(
            "quantile",
            "quantile",
            "q r for r ≥ 0, (q − 1) r below",
            losses.Quantile,
            (Slider("q", "q", 0.5, 0.01, 0.99, "linear"),),
        ),
    ),
}

ONLINE_LOSSES: dict[str, tuple[Choosable, ...]] = {
    "labels": (
        Choosable("perceptron", "perceptron", "max(0, −ys)", online.PerceptronLoss),
        *LOSSES["labels"][:4],
    ),
    "curve": LOSSES["curve"],
}

STEPS = (
    Choosable(
        "constant", "constant η", "η_t = η", online.ConstantStep, (Slider("eta", "η", 0.25, 0.001, 2.0),)
    ),
    Choosable(
        "inverse_root", "η/√t", "η_t = η/√t", online.InverseRootStep, (Slider("eta", "η", 1.0, 0.001, 10.0),)
    ),
    Choosable(
        "pegasos",
        "1/(2λt) (Pegasos)",
        "η_t = 1/(2λ(t + delay))",
        online.PegasosStep,
        (Slider("delay", "delay", 0, 0, 1000, "integer"),),
    ),
    Choosable(
        "passive_aggressive",
        "passive-aggressive (λ = 0)",
        "V/(‖V'‖² k(x,x)), at most C",
        online.PassiveAggressiveStep,
        (Slider("C", "C", 1.0, 0.01, 100.0),),
    ),
)

_SIZE = Slider("size", "terms", 20, 1, LIMITS["points"], "integer")
BUDGETS = (
    Choosable("none", "no limit", "every mistake stays", online.Unlimited),
    Choosable("oldest", "drop the oldest", "the oldest term goes", online.Oldest, (_SIZE,)),
    Choosable("smallest", "drop the smallest", "the term of least norm goes", online.Smallest, (_SIZE,)),
    Choosable("forgetron", "Forgetron", "all shrink, then the oldest goes", online.Forgetron, (_SIZE,)),
    Choosable("merge", "merge", "the term that another can stand in for joins it", online.Merge, (_SIZE,)),
    Choosable("projection", "project", "new ones are projected on the span", online.Projection, (_SIZE,)),
)


def loss_of(task: str, fields: Fields, known: dict[str, tuple[Choosable, ...]] = LOSSES) -> Any:
    """The loss that a request means."""
    return chosen(known[task], fields.inner("loss", {"kind": known[task][0].kind}))


def budget_of(fields: Fields) -> Any:
    """The budget that a request means: a kind and, except for no limit, a number of terms."""
    asked = fields.inner("budget", {"kind": "none"}).only("kind", "size")
    kinds = {budget.kind: budget.make for budget in BUDGETS}
    kind = asked.word("kind", tuple(kinds))
    return kinds[kind]() if kind == "none" else kinds[kind](_SIZE.read(asked))
