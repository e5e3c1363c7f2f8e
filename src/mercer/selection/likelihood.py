"""Kernel parameters, noise and scale where the marginal likelihood is largest."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer import _resolve
from mercer._params import is_integer, is_number
from mercer._warnings import frames_inside
from mercer.estimators.base import KernelMachine
from mercer.estimators.tensors import on_host
from mercer.features.base import generator
from mercer.operators import KernelOperator
from mercer.posterior import PAIR_BYTES, Observations
from mercer.posterior.base import require_memory
from mercer.posterior.exact import INVERTED_TO, differentiable_points
from mercer.posterior.likelihood import with_logs
from mercer.representations import Full, Nystrom
from mercer.selection.ascent import Ascent, LogPosterior
from mercer.selection.parameters import Movable, profiled
from mercer.selection.priors import Belief, Gamma, LogNormal

# What an exact evaluation takes at least, in bytes for each pair of examples; of more than INVERTED_TO ones
# less, since slopes are computed a few columns at a time then.
_EXACT_BYTES = 50
# Bytes for each pair of centres; operations of linear algebra at a cautious rate,
# and seconds for a kernel value and its slopes.
_CENTRE_BYTES = 400
_OPERATIONS_A_SECOND, _VALUE = 1e10, 1e-7
# Shorter evaluations are made without a word; of those that take longer than the time for all of them by
# this factor, none is begun.
_SHORT, _HOPELESS = 1.0, 10.0


@dataclass(frozen=True, eq=False, repr=False)
class MostLikely:
    """A machine whose kernel and λ were moved up the marginal likelihood.

    Attributes
    ----------
    machine : the machine with those values, not fitted
        Centres are those that were used, given as points.
    log_likelihood : the (restricted) log marginal likelihood, priors not included
    log_likelihood_before : that of the machine as it was given; −∞ where K + λnI is indefinite by rounding
    scale : (t,) s of each output: at its best, or as it was given
    parameters : values by name; "noise" is λn
    starts : what was reached from each start, log likelihood + log priors: the larger the better
    evaluations : how often likelihood and gradient were computed
    status : "converged", "max_iter", "out of time", "interrupted" or "stalled" (no step led further up), of
        the start that won
    at_bounds : names of the parameters that moved and ended at a bound: the likelihood may be larger beyond
    redundant : names of factors of the whole kernel, which did not move since s says the same

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import maximum_likelihood
    >>> X = np.random.default_rng(0).uniform(-3, 3, (50, 1))
    >>> found = maximum_likelihood(KernelRidge(Gaussian(5.0), lam=0.1), X, np.sin(2 * X[:, 0]))
    >>> found.status, bool(found.log_likelihood > found.log_likelihood_before), list(found.parameters)
    ('converged', True, ['sigma', 'noise'])
    """

    machine: KernelMachine
    log_likelihood: float
    log_likelihood_before: float
    scale: np.ndarray
    parameters: dict[str, float]
    starts: tuple[float, ...]
    evaluations: int
    status: str
    at_bounds: tuple[str, ...] = ()
    redundant: tuple[str, ...] = ()

    def __repr__(self) -> str:
        bounded = f", at a bound: {', '.join(self.at_bounds)}" if self.at_bounds else ""
        held = f", held because s says the same: {', '.join(self.redundant)}" if self.redundant else ""
        return (
            f"<log likelihood {self.log_likelihood_before:.4g} → {self.log_likelihood:.4g} in "
            f"{self.evaluations} evaluations, {self.status}{bounded}{held}>"
        )


def maximum_likelihood(
    machine: KernelMachine,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    scale: Any = "likelihood",
    restarts: int = 0,
    priors: Mapping[str, Belief] | None = None,
    fixed: Iterable[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    max_iter: int = 100,
    minutes: float | None = None,
    random_state: Any = None,
) -> MostLikely:
    """A kernel's continuous parameters, the noise λn and the scale s, by the marginal likelihood.

    L-BFGS climbs log p(y | θ, λn, s) + Σ log priors over log θ and log λn. With an offset the likelihood is
    the restricted one. One length scale a feature (ARD) is asked for by ``kernel.scaled(…)``.

    The likelihood is that of ``machine.posterior()``: exact with ``representation="full"`` or "auto"; with
    centres (``Nystrom``) the projected one (DTC), and the centres of the start stay where they are; with
    features, which have no parameters, only the noise moves.

    Parameters
    ----------
    machine : a machine of least squares; its kernel and λ are the start
        A width that is left open, as in ``Gaussian().scaled(np.ones(d))``, comes from the data: a better
        start than length scales of 1 where there are many columns.
        The kernel takes vectors, unless only the noise moves.
    X, y, sample_weight : as in ``machine.fit``
        An exact evaluation takes n³ operations, on two cores 0.2 s for 1,000 rows and 7 s for 4,000, and some
        dozens of evaluations are usual. It uses about 100 n² bytes; where fewer are free it makes do with
        50 n² (of more than 8,000 rows with 10 n², in several times the time), and what does not fit then is
        refused before anything is computed. With m centres it takes some nm² operations and 400 m² bytes.
    scale : "likelihood", float > 0 or one for each output
        s in f ~ GP(0, s·k). "likelihood": at its best for each θ, which has a closed form. A factor of the
        whole kernel, c in c·k, would say the same as s, so it does not move then (`MostLikely.redundant`).
        With scale=1.0 the kernel is left as it is, and such a factor is a parameter like others, with its
        priors and bounds. What is asked of the machine later needs scale=1.0 then, too.
    restarts : int
        So many further starts: drawn from the priors, where there are such, else within a factor of
        7 of the first, and the noise from k(x,x)/10,000 to k(x,x).
    priors : {name: LogNormal(median, spread) or Gamma(shape, rate)}
        On parameters as named in ``machine.posterior().parameters``, or by any end of such a name that fits
        no other parameter: "period" for "left__right__period". "lengths" stands for all of "lengths[0]",
        "lengths[1]", …
        Priors, bounds and fixed parameters may stand in the kernel itself, too: ``Periodic(fixed(1.0))``,
        `mercer.kernels.bounded` and `believed`. What is said here comes before what is said there.
    fixed : such names of parameters that stay as they are
    bounds : {name: (low, high)}
        A factor of 3000 either way if not given; the noise from 1e-8 k(x,x) on, to which a smaller λn of the
        machine is raised.
    max_iter : int, of each start
    minutes : float, optional
        Stop after about so long, with the best found; an evaluation that would end much later is not begun.
        One is always made, with a warning beforehand if it is expected to take longer than all the time
        there is; if ten times as long (and a minute), the call is refused.
    random_state : int, RandomState or None, for restarts

    Returns
    -------
    MostLikely
        Control-C ends the search, not the call: the best so far is returned, with a warning.

    Notes
    -----
    `mercer.progress` shows a line for each evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import LogNormal, maximum_likelihood
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 3))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(80)     # the other two features are noise
    >>> start = KernelRidge(Gaussian(1.0).scaled([1.0, 1.0, 1.0]), lam=1e-3)
    >>> found = maximum_likelihood(start, X, y, priors={"lengths": LogNormal(1.0, 3.0)})
    >>> bool(np.argmin(found.machine.kernel.lengths) == 0)
    True
    >>> noise = found.parameters["noise"] * found.scale[0]          # its variance: 0.1² was put in
    >>> bool(0.05**2 < noise < 0.2**2)
    True
    """
    began = time.monotonic()
    _check_limits(max_iter, minutes, restarts)
    seen = _observed(machine, X, y, sample_weight, minutes)
    asked = Movable.of(seen, scale, fixed, dict(priors or {}), dict(bounds or {}))
    first = np.where(asked.free, np.clip(seen.theta, *asked.box.T), seen.theta)
    objective = LogPosterior(seen, scale, first, asked.free, asked.beliefs)
    if profiled(scale) and seen.constant:
        raise ValueError("the targets are constant, and every kernel explains them: there is no best one")
    if asked.free[:-1].any():
        differentiable_points(seen)  # or a refusal, before anything is computed
    same = np.array_equal(first, seen.theta)
    before = math.nan if same else objective.before()
    ascent = Ascent(objective, math.inf if minutes is None else 60 * minutes, began)
    starts = asked.starts(first, restarts, generator(random_state))
    found = ascent.climb([start[asked.free] for start in starts], asked.limits, max_iter)
    if not found:
        raise np.linalg.LinAlgError(
            "K + λnI is not positive definite at the start: a larger λ may help, or restarts, if this is a "
            "kernel (mercer.kernels.check)"
        )
    won = min(found, key=lambda one: one.value)
    theta = first.copy()
    theta[asked.free] = won.theta
    return MostLikely(
        _chosen(machine, seen, theta),
        won.beside[0],
        ascent.at_first if same else before,
        won.beside[1],
        {label: float(np.exp(value)) for label, value in zip(asked.labels, theta)},
        tuple(-one.value for one in found),
        ascent.count,
        won.status,
        asked.at_bounds(theta),
        asked.redundant,
    )


def _check_limits(max_iter: Any, minutes: Any, restarts: Any) -> None:
    if not is_integer(max_iter) or max_iter < 1:
        raise ValueError(f"max_iter must be a positive whole number, got {max_iter!r}")
    if minutes is not None and not (is_number(minutes) and minutes >= 0):
        raise ValueError(f"minutes must be a number from 0 on, or None, got {minutes!r}")
    if not is_integer(restarts) or restarts < 0:
        raise ValueError(f"restarts must be a whole number from 0 on, got {restarts!r}")


def _observed(machine: Any, X: Any, y: Any, sample_weight: Any, minutes: float | None) -> Observations:
    """What the machine sees: centres or features if it says so, else a term for each example."""
    if not isinstance(machine, KernelMachine):
        raise TypeError(f"the machine must be one of least squares, such as KernelRidge(), got {machine!r}")
    machine = clone(machine)
    if _resolve.representation_of(machine.representation) is None:
        machine.set_params(representation="full")
    if machine.learns_elsewhere(X):
        raise ValueError("the likelihood needs examples in memory: take some, open_rows(X).take(index)")
    plan = machine.plan(X, y)
    n, full = plan.examples, isinstance(plan.representation, Full)
    if sample_weight is not None:  # rows of weight 0 are absent
        n = min(n, int(np.count_nonzero(np.asarray(on_host(sample_weight)))))
    if not plan.engine.remote:  # of a GPU's memory the posterior knows itself
        _require_room(n, plan.unknowns, full)
        _require_time(n, plan.unknowns, full, minutes)
    problem, _ = machine.problem(X, y, sample_weight)
    return Observations.of(problem, None, lambda points: points, False)


def _require_room(n: int, m: int, full: bool) -> None:
    if full:
        what = f"the likelihood of {n:,} examples and its slopes, between all pairs of them,"
        each = _EXACT_BYTES if n <= INVERTED_TO else PAIR_BYTES
        require_memory(each * n * n, what, _instead(full))
    else:
        what = f"the likelihood with {m:,} centres or features and its slopes"
        require_memory(_CENTRE_BYTES * m * m, what, _instead(full))


def _instead(full: bool) -> str:
    if not full:
        return "take fewer of them"
    return (
        "take fewer rows, or centres, which have a likelihood of their own, representation=Nystrom(1000); of "
        "a kernel that is given, machine.posterior('pathwise') estimates the likelihood without all pairs"
    )


def _require_time(n: int, m: int, full: bool, minutes: float | None) -> None:
    """Say so, or refuse, where a single evaluation takes longer than there is time."""
    operations, values = (float(n) ** 3, float(n) ** 2) if full else (3.0 * n * m * m, 5.0 * n * m)
    seconds = operations / _OPERATIONS_A_SECOND + _VALUE * values
    if minutes is None or seconds <= max(60 * minutes, _SHORT):
        return
    of = f"{n:,} examples" + ("" if full else f" and {m:,} centres or features")
    said = f"one evaluation of the likelihood of {of} takes about {seconds:.0f} s, and minutes={minutes!r}"
    if seconds > max(_HOPELESS * 60 * minutes, 60.0):
        raise ValueError(f"{said} is all the time there is: {_instead(full)}")
    warnings.warn(f"{said}: one is made all the same", UserWarning, stacklevel=frames_inside())


def _chosen(machine: KernelMachine, seen: Observations, theta: np.ndarray) -> KernelMachine:
    """The machine with these parameters; its centres are given as points, lest others be drawn."""
    values: dict[str, Any] = {"lam": float(np.exp(theta[-1]) / len(seen.y))}
    if seen.kernel is not None:
        values["kernel"] = with_logs(seen.kernel, seen.names, theta)
    centres = seen.A.Z if isinstance(seen.A, KernelOperator) and not seen.full else None
    if isinstance(centres, np.ndarray) and centres.dtype.kind == "f":
        values["representation"] = Nystrom(centres=np.array(centres))
    return clone(machine).set_params(**values)


__all__ = ["Belief", "Gamma", "LogNormal", "MostLikely", "maximum_likelihood"]
