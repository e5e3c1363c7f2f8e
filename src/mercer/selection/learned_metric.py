"""A metric learned from gradients of the function it is for: recursive feature machines in closed form."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._units import units_of
from mercer.estimators.base import KernelMachine
from mercer.kernels import Kernel
from mercer.operators import KernelOperator
from mercer.selection.recursion import MetricRule, Recursion


@dataclass(frozen=True, eq=False)
class MetricRound:
    """A kernel of one round, and what it is worth.

    Attributes
    ----------
    kernel : with its metric, or length scales
    metric : (d, d) M of trace d; the kernel is the function of the distance that `learned_metric` was given,
        of √((x−z)ᵀM(x−z))/width
    width : float
    lam : λ
    loo_mse : mean squared leave-one-out error with them. It is exact for this kernel, which has seen the
        targets of all rows, and so it grows too small from round to round
    held_out_mse : mean squared error on half of the rows, with a metric and a machine of the other half

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> one = learned_metric(KernelRidge(Gaussian(1.0)), X, X[:, 0], rounds=1).rounds[1]
    >>> same = Gaussian(1.0).metric(one.metric / one.width**2)
    >>> bool(np.allclose(one.kernel(X), same(X))), bool(one.metric[0, 0] > 100 * one.metric[1, 1])
    (True, True)
    """

    kernel: Kernel
    metric: np.ndarray
    width: float
    lam: float
    loo_mse: float
    held_out_mse: float


@dataclass(frozen=True, eq=False, repr=False)
class LearnedMetric:
    """A machine with a learned metric, and the rounds that led there.

    Attributes
    ----------
    machine : with the kernel and λ of the best round, not fitted
    rounds : the kernel as it was given (its width chosen), and one for each round
    best : index of the round with the smallest error on rows its metric has not seen; of leave-one-out where
        there are too few rows for halves

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Laplacian
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 3))
    >>> found = learned_metric(KernelRidge(Laplacian()), X, np.sin(X[:, 0] + X[:, 1]), rounds=2)
    >>> len(found.rounds), found.metric.shape, bool(np.isclose(np.trace(found.metric), 3))
    (3, (3, 3), True)
    """

    machine: KernelMachine
    rounds: tuple[MetricRound, ...]
    best: int

    @property
    def metric(self) -> np.ndarray:
        """M of the best round, of trace d."""
        return self.rounds[self.best].metric

    @property
    def loo_mse(self) -> float:
        """The leave-one-out error of the best round."""
        return self.rounds[self.best].loo_mse

    @property
    def loo_mse_before(self) -> float:
        """The same without a learned metric."""
        return self.rounds[0].loo_mse

    def __repr__(self) -> str:
        left_out = " → ".join(f"{found.loo_mse:.4g}" for found in self.rounds)
        held_out = " → ".join(f"{found.held_out_mse:.4g}" for found in self.rounds)
        return (
            f"<leave-one-out errors {left_out}; held out from the metric, too: {held_out}; best after "
            f"{self.best} rounds>"
        )


def learned_metric(
    machine: KernelMachine,
    X: Any,
    y: Any,
    *,
    rounds: int = 3,
    power: float = 1.0,
    diagonal: bool = False,
    share: float = 1.0,
    ridge: float = 1e-2,
    minutes: float | None = None,
    groups: Any = None,
) -> LearnedMetric:
    """Learn a Mahalanobis metric: fit, take the mean outer product of gradients for the metric, fit again.

    Where f(x) = g(uᵀx), gradients are multiples of u, so that their mean outer product M = (1/n) Σ ∇f ∇fᵀ
    knows u after one fit; with k(√M x, √M z) the next fit hardly sees other directions. Every round chooses
    width and λ by leave-one-out (of many rows on a sample), and costs a few solutions with all rows: no
    gradient is followed, however many numbers M has.

    The leave-one-out error of a round is exact for its kernel, but that kernel has seen the targets of all
    rows. Which round is best is therefore said by halves of the rows: the metric and the machine of each,
    with widths and λ as for all, are judged on the other.

    Parameters
    ----------
    machine : a machine whose kernel is a function of ‖x−z‖
        Length scales, or a metric, are where it begins. Whatever its loss, least squares is what is
        measured; labels are coded as for that loss.
    X, y : as in ``machine.fit``; time grows like n³, so a few thousand rows at most
    rounds : int
    power, diagonal, share, ridge : see `MetricRule`
        M to a power; its diagonal only; as many eigenvectors as hold a share of its trace; how much of the
        trace is spread evenly, so that no direction is lost for good.
    minutes : float, optional
        No further round is begun after so long.
    groups : (n,) labels, optional
        Rows of one group are left out together; so are equal rows.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((150, 5))
    >>> y = np.sin(2 * X @ [0.6, 0.8, 0.0, 0.0, 0.0]) + 0.1 * rng.standard_normal(150)
    >>> found = learned_metric(KernelRidge(Gaussian()), X, y)
    >>> found.loo_mse < 0.5 * found.loo_mse_before
    True
    >>> direction = np.linalg.eigh(found.metric)[1][:, -1]
    >>> bool(abs(direction @ [0.6, 0.8, 0.0, 0.0, 0.0]) > 0.95)
    True
    """
    rule = MetricRule(power, diagonal, share, ridge)
    if not rounds >= 0:
        raise ValueError(f"rounds must be 0 or more, got {rounds!r}")
    started = time.monotonic()
    problem, _ = clone(machine).set_params(representation="full", lam=1.0).problem(X, y)
    points = problem.A.X if isinstance(problem.A, KernelOperator) else None
    if not isinstance(points, np.ndarray) or points.dtype.kind != "f":
        raise ValueError(
            f"{machine.kernel!r} on these points has no metric to learn: it needs a kernel of vectors, and X "
            "as an array (X.toarray() if it is sparse)"
        )
    kernel, points, Y = problem.A.kernel, points.astype(np.float64), problem.y.astype(np.float64)
    if problem.offset:  # it takes up the mean, of which rounding would leave something to follow
        middle = Y.mean(axis=0)
        Y = np.where(np.ptp(Y, axis=0) > 0, Y - middle, 0.0)
    examples = Recursion.of(points, Y, kernel, units_of(points, groups), problem.offset)
    first = examples.chosen(np.eye(len(examples.map.T)), None)
    seconds = None if minutes is None else max(60 * minutes - (time.monotonic() - started), 0.0)
    found = list(examples.rounds(*first, rule, rounds, seconds))
    held_out = examples.held_out(found, rule)
    made = tuple(_recorded(examples, *one, unseen, rule) for one, unseen in zip(found, held_out))
    judged = [one.held_out_mse for one in made]
    best = int(np.argmin(judged if np.isfinite(judged).all() else [one.loo_mse for one in made]))
    return LearnedMetric(clone(machine).set_params(kernel=made[best].kernel, lam=made[best].lam), made, best)


def metric_rounds(
    X: np.ndarray,
    Y: np.ndarray,
    kernel: Kernel,
    mu: float,
    units: np.ndarray,
    rounds: int = 3,
    seconds: float | None = None,
    rule: MetricRule | None = None,
) -> list[tuple[Kernel, float, float]]:
    """`learned_metric` for points, centred targets and a fitted start at hand, without the halves.

    Parameters
    ----------
    X : (n, d) points
    Y : (n, t) targets; there is no offset
    kernel : a function of ‖x−z‖, with length scales or a metric or without
    mu : μ = λn to begin with
    units : (n,) numbers of the rows that are left out together
    rounds : int
    seconds : no further round is begun after so long
    rule : what is made of the gradients; None: ``MetricRule()``

    Returns
    -------
    list of (kernel, mu, loo)
        The start as it is given, then one for each round. loo is the mean squared leave-one-unit-out error
        of (K + μI)⁻¹, over all rows and targets. Later kernels have seen the targets of all of them, so that
        rounds are better compared on other rows.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 3))
    >>> Y = np.sin(X[:, :1] + X[:, 1:2])
    >>> found = metric_rounds(X, Y - Y.mean(), Laplacian(2.0), 0.1, np.arange(80), rounds=2)
    >>> [type(kernel).__name__ for kernel, _, _ in found], found[-1][2] < 0.5 * found[0][2]
    (['Laplacian', 'Mahalanobis', 'Mahalanobis'], True)
    """
    rule = MetricRule() if rule is None else rule
    examples = Recursion.of(np.asarray(X, np.float64), np.asarray(Y, np.float64), kernel, units, False)
    found = examples.rounds(np.eye(examples.map.shape[1]), mu, rule, rounds, seconds)
    first, *later = found
    made = [(examples.kernel(M, rule.diagonal), shift, error) for M, shift, error in later]
    return [(kernel, mu, first[2]), *made]


def _recorded(
    examples: Recursion, M: np.ndarray, mu: float, error: float, held_out: float, rule: MetricRule
) -> MetricRound:
    whole = examples.map @ M @ examples.map.T
    width = float((len(whole) / np.trace(whole)) ** 0.5)
    kernel = examples.kernel(M, rule.diagonal)
    return MetricRound(kernel, whole * width**2, width, mu / examples.kept, error, float(held_out))
