"""Tuning: which parameters are best, found within seconds or trials."""

from __future__ import annotations

import itertools
import math
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._notice import line_teller
from mercer.selection.defaults import complete, with_objects
from mercer.selection.dimensions import Space, dimension_of
from mercer.selection.objectives import CrossValidation, Data, LeaveOneOut, Objective, configured, copies
from mercer.selection.proposals import Proposals, rungs_of
from mercer.selection.search import Clock, Job, search
from mercer.selection.tuning import Tuning, TuningTrial, best_of

Progress = Callable[[str, float], Any]

_SECONDS = 60.0
# Without a number of trials, this many for each axis, and once more.
_TRIALS_AN_AXIS = 40


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    space: Mapping[str, Any] | None = None,
    minutes: float | None = None,
    trials: int | None = None,
    cv: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: int = 0,
    refit: bool = True,
    progress: Progress | None = None,
    resume: Tuning | None = None,
) -> Tuning:
    """Find good parameters for an estimator within some minutes or trials.

    The first trial is the estimator as it stands (or the middle of the space), then come evenly spread
    ones, then those that a model of all trials so far expects most of. With many rows most trials see a
    sample; half as many, around the best, see three times as many rows, and so on up to all.

    Least squares machines of this library, without `cv` and `scoring`, are judged by their exact
    leave-one-out error, and λ is optimised within each trial, from one eigendecomposition. Everything else is
    judged by its mean score over folds, the same ones in every trial. Many rows are more than 1500 for the
    former, 4000 for the latter.

    Parameters
    ----------
    estimator : scikit-learn estimator, or a pipeline of them
        It is left as it is.
    X, y, sample_weight : as in ``estimator.fit``
        Weights also count in the score, where it can be a weighted one.
    space : dict, optional
        From parameter names (``"kernel__sigma"``, in a pipeline ``"machine__kernel__sigma"``) to values:

        * ``(low, high)``: logarithmic if both are positive and high ≥ 10·low, else uniform; whole numbers if
          both are ints. `Real` and `Integer` say it outright.
        * a list, or `Choice`: one of these, kernels for instance;
        * a frozen distribution of scipy.stats;
        * a dictionary from options to spaces of their own, whose names continue this one:
          ``{"kernel": {Gaussian(): {"sigma": (0.1, 10.0)}, Linear(): {}}}``;
        * None, for λ, ε and kernels of this library: a range from the data.

        None, for machines of this library: each positive parameter of the kernel over two decades
        either side of its value (found from the data where it has none), λ over 1e-9 to 10 times the mean of
        k(x,x) (from 1e-7 if the loss is not squared), ε up to the standard deviation of y; of nearest
        neighbours those parameters only that change who is nearest (or how near, where that weighs).
    minutes : float, optional
        Not counting the last fit. None: 1, or no limit where `trials` is given. The clock
        decides when the search ends, and which trials would take too long, but nothing else.
    trials : int, optional
        Number of trials, of all sizes together. With `trials` alone, the same data and the same
        random_state give the same result.
    cv, scoring : as in scikit-learn
        cv None: five shuffled folds, with the shares of classes kept. A clustering needs a `scoring`: its own
        energy falls with every further cluster, and as the kernel grows flatter.
    groups : array, optional
        Rows of one group share a fold, or are left out together; so do equal rows, in any case. A splitter is
        handed the groups, and does as it likes.
    random_state : int
        Also given to every ``random_state`` of the estimator that is None.
    refit : bool
        Fit the best setting to all examples.
    progress : function of (text, share done), optional
    resume : Tuning, optional
        Go on from there, with the same arguments: `trials` counts the earlier ones, `minutes` begin anew.

    Returns
    -------
    Tuning
        Control-C ends the search, not the call: what was found so far is returned, with a warning.

    Raises
    ------
    ValueError
        If every trial failed. A trial that fails (or whose solver does not converge) is recorded with its
        reason, and the search goes on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (80, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(80)
    >>> tuning = tune(KernelRidge(), X, y, trials=20)
    >>> tuning.objective, round(tuning.best_value ** 0.5, 1)
    ('exact leave-one-out mean squared error', 0.1)
    >>> tuning.best_estimator.predict([[0.0]]).round(1) + 0.0
    array([0.])

    Any estimator, with any score:

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tune(DecisionTreeRegressor(), X, y, space={"max_depth": (1, 8)}, trials=8).objective
    'mean r2 over 5 folds'
    """
    _check_limits(minutes, trials, random_state)
    seed = int(random_state) if resume is None else resume.random_state
    estimator = seeded(with_objects(estimator), seed)
    data = Data.of(estimator, X, y, sample_weight, groups, seed)
    objective, searched = _question(estimator, data, space, cv, scoring, groups, seed)
    task = TuningSearch(
        objective,
        Proposals(searched, searched.near(estimator.get_params()), seed),
        rungs_of(len(data.order), objective.few),
        trials if trials is not None else _TRIALS_AN_AXIS * (len(searched.axes) + 1),
        Clock(60 * float(minutes) if minutes is not None else _SECONDS if trials is None else math.inf),
        progress,
    )
    # A name that does not exist is a mistake, not a failed trial.
    configured(estimator, searched.params(task.proposals.start))
    history = _earlier(resume, task)
    status = task.run(history)
    best = best_of(history)
    machine = _refit(estimator, best.params, data) if refit else None
    return Tuning(
        copies(best.params),
        best.score,
        machine,
        tuple(history),
        objective.words,
        objective.minimised,
        status,
        task.rungs,
        searched,
        seed,
    )


@dataclass(frozen=True, eq=False)
class TuningSearch:
    """Which point of the space has the best score, and how much may be spent to find out."""

    objective: Objective
    proposals: Proposals
    rungs: tuple[int, ...]
    limit: int
    clock: Clock
    progress: Progress | None
    failures: list[Exception] = field(default_factory=list)

    def run(self, history: list[TuningTrial]) -> str:
        """How the search ended; `history` grows."""
        try:
            search(itertools.repeat(self._next), history, self.clock, self._tell)
        except KeyboardInterrupt:
            if not any(t.ok for t in history):
                raise
            done = f"interrupted after {len(history)} trials"
            warnings.warn(
                f"{done}: here is the best so far; tune(…, resume=…) goes on", RuntimeWarning, stacklevel=3
            )
            return "interrupted"
        if not any(t.ok for t in history):
            why = f"all {len(history)} trials failed; the first: {history[0].error}"
            raise ValueError(why) from self.failures[0]
        return "out of time" if self.clock.ended and len(history) < self.limit else "finished"

    def _next(self, history: Sequence[TuningTrial]) -> list[Job]:
        """The next trial; none where all was tried, or where there is no time for it."""

        def affordable(rows: int) -> bool:
            return self._cost(history, rows) <= self.clock.left

        step = None
        if len(history) < self.limit:
            step = self.proposals.step(history, self.rungs, affordable)
        if step is None:
            return []
        if history and self.clock.left < 0.5 * self._cost(history, step[1]):
            self.clock.ended = True
            return []
        return [partial(self._tried, *step)]

    def _tried(self, point: np.ndarray, rows: int) -> list[TuningTrial]:
        trial, failure = attempt(self.objective, self.proposals.space, point, rows)
        self.failures.extend([] if failure is None else [failure])
        return [trial]

    def _tell(self, history: Sequence[TuningTrial]) -> None:
        text = f"{len(history)} trial{'s' if len(history) > 1 else ''}"
        if any(t.ok for t in history):
            best = best_of(history).score
            text += f", best {self.objective.words} {-best if self.objective.minimised else best:.4g}"
        else:
            text += f", all failed so far: {history[-1].error}"
        if self.progress is None:
            line_teller()(text)
            return
        share = 1 - self.clock.left / self.clock.seconds if self.clock.seconds < math.inf else 0.0
        self.progress(text, min(max(len(history) / self.limit, share), 1.0))

    def _cost(self, history: Sequence[TuningTrial], rows: int) -> float:
        """Seconds a trial with so many rows will take, from those there were."""
        known = [t for t in history if t.rows <= rows and t.ok] or history
        nearest = max(t.rows for t in known)
        mean = float(np.mean([t.seconds for t in known if t.rows == nearest]))
        return mean * (rows / nearest) ** self.objective.power


def attempt(
    objective: Objective, space: Space, point: np.ndarray, rows: int
) -> tuple[TuningTrial, Exception | None]:
    """One trial; whatever goes wrong in it is kept, not raised."""
    params, failure = space.params(point), None
    try:
        with warnings.catch_warnings():
            # A solver that stopped early did not fit the setting it was given.
            warnings.simplefilter("error", ConvergenceWarning)
            trial = objective(params, rows)
        if not trial.ok:
            raise ValueError(f"the score is {trial.score}")
    except Exception as caught:
        failure, why = caught, f"{type(caught).__name__}: {caught}"
        trial = TuningTrial(copies(params), math.nan, rows=rows, error=why)
    return replace(trial, point=tuple(point.tolist())), failure


def seeded(estimator: Any, seed: int) -> Any:
    """The estimator with a number for every random_state that is None: its results can be had again."""
    names = [
        k for k, v in estimator.get_params().items() if v is None and k.split("__")[-1] == "random_state"
    ]
    return estimator.set_params(**dict.fromkeys(names, seed))


def _check_limits(minutes: Any, trials: Any, random_state: Any) -> None:
    if minutes is not None and (not isinstance(minutes, numbers.Real) or not float(minutes) > 0):
        raise ValueError(f"minutes is a positive number, got {minutes!r}")
    if trials is not None and (not isinstance(trials, numbers.Integral) or trials < 1):
        raise ValueError(f"trials is a positive number, got {trials!r}")
    if not isinstance(random_state, numbers.Integral) or random_state < 0:
        raise ValueError(f"random_state is a nonnegative integer, got {random_state!r}")


def _question(
    estimator: Any, data: Data, space: Any, cv: Any, scoring: Any, groups: Any, seed: int
) -> tuple[Objective, Space]:
    """What is to be made large, and over which parameters."""
    spec = complete(space, estimator, data)
    plain = cv is None and scoring is None
    objective: Objective
    if plain and LeaveOneOut.applies(estimator, data.y, spec):
        asked = "auto" if space is None or ("lam" in space and space["lam"] is None) else spec.get("lam")
        spec = {name: value for name, value in spec.items() if name != "lam"}
        lam = asked if asked is None or isinstance(asked, str) else dimension_of("lam", asked)
        objective = LeaveOneOut(estimator, data, lam)
    else:
        objective = CrossValidation(estimator, data, cv, scoring, groups, seed)
    return objective, Space.of(spec)


def _earlier(resume: Tuning | None, task: TuningSearch) -> list[TuningTrial]:
    """The trials to go on from, if they are trials of the same question."""
    if resume is None:
        return []
    for what, before, now in (
        ("objective", resume.objective, task.objective.words),
        ("space", resume.space, task.proposals.space),
        ("number of rows", resume.rungs[-1], task.rungs[-1]),
    ):
        if before != now:
            raise ValueError(
                f"resume needs the same arguments again, but the {what} was {before!r} and is {now!r}"
            )
    return list(resume.trials)


def _refit(estimator: Any, params: Mapping[str, Any], data: Data) -> Any:
    try:
        return data.fit(configured(estimator, params))
    except (Exception, KeyboardInterrupt) as error:  # what was found must not be lost with it
        warnings.warn(
            f"the best setting could not be fitted to all rows ({type(error).__name__}: {error}): "
            "best_estimator is None, the trials are there",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
