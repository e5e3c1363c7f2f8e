"""ε and δ at work: learn again and again from m examples, and count how often the error is above ε."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import Params, require_count
from mercer.theory.bounds import largest_rate
from mercer.theory.learnability.classes import HypothesisClass
from mercer.theory.learnability.conjunctions import Conjunction, Conjunctions
from mercer.theory.learnability.intervals import Box, Rectangles
from mercer.theory.learnability.pac import sample_size

Progress = Callable[[int, int], Any]


class World(Params):
    """A target and a distribution of points, from which a class is learned."""

    H: HypothesisClass  # that the target is of

    def errors(self, m: int, trials: int, rng: np.random.Generator, tick: Callable[[], Any]) -> np.ndarray:
        """The true error of what is learned from m examples, each time anew; tick() tells of one more."""
        raise NotImplementedError


class UniformBox(World):
    """Points uniform in the unit cube, + in a rectangle; the tightest fit errs by the volume it misses.

    Only the outermost positive examples matter, so those are drawn at once: how many of m are positive, and
    the extremes of so many uniform numbers. A trial costs the same for any m.

    The target's corners, `low` and `high`, are d numbers in [0, 1] each.

    Examples
    --------
    >>> from mercer.theory.learnability import UniformBox, simulate
    >>> found = simulate(UniformBox([0.2, 0.3], [0.8, 0.7]), m=[50, 176], epsilon=0.1, random_state=0)
    >>> found.rates.round(2).tolist(), found.bounds.round(2).tolist()
    ([0.19, 0.0], [1.0, 0.05])
    """

    def __init__(self, low, high):
        self.low = low
        self.high = high

    def validate(self):
        low, high = (np.asarray(v, dtype=float) for v in (self.low, self.high))
        if low.ndim != 1 or low.shape != high.shape or not (low >= 0).all() or not (high <= 1).all():
            raise ValueError("low and high must be d numbers each, between 0 and 1")
        if not (low < high).all():
            raise ValueError("each low must be below its high")

    @property
    def H(self):
        return Rectangles(len(self.low))

    @property
    def target(self) -> Box:
        """The rectangle to be learned."""
        return Box(tuple(map(float, self.low)), tuple(map(float, self.high)))

    def sample(self, n, rng):
        """n points, of which `target` gives the labels."""
        return rng.uniform(size=(n, len(self.low)))

    def errors(self, m, trials, rng, tick):
        volume = self.target.volume
        positive = rng.binomial(m, volume, trials)[:, None]
        shape = (trials, len(self.low))
        # The largest of N uniform numbers, and below it the smallest of N − 1.
        few = np.maximum(positive, 2)
        largest = rng.uniform(size=shape) ** (1 / few)
        spread = largest * rng.uniform(size=shape) ** (1 / (few - 1))
        tick()
        return volume * (1 - np.where(positive < 2, 0.0, spread).prod(axis=1))


class BooleanCube(World):
    """Points of independent Boolean variables, labelled by a conjunction that elimination has to find.

    Given how many of m examples are positive, literals survive independently of each other; so that is drawn,
    and a trial costs the same for any m. The error, P(target is true and the hypothesis is not), is exact.

    Parameters
    ----------
    n : how many variables
    literals : of the target: i for x_i, −i for ¬x_i
    p : P(x_i = 1), or n of them; hard for elimination are variables that are nearly always the same
    negations : does the learner know literals ¬x_i?

    Examples
    --------
    >>> from mercer.theory.learnability import BooleanCube, sample_size, simulate
    >>> world = BooleanCube(20, (1, -2), p=0.95)
    >>> m = sample_size(world.H, epsilon=0.1, delta=0.05)
    >>> found = simulate(world, m=m, epsilon=0.1, trials=2000, random_state=0)
    >>> m, bool(found.rates[0] < 0.05)
    (2674, True)
    """

    def __init__(self, n, literals=(), p=0.5, negations=True):
        self.n = n
        self.literals = literals
        self.p = p
        self.negations = negations

    def validate(self):
        self.H.validate()
        require_count(self.n, "n")
        literals = [int(i) for i in self.literals]
        variables = {abs(i) for i in literals}
        if len(variables) < len(literals) or not variables <= set(range(1, self.n + 1)):
            raise ValueError(
                f"literals must be different variables, 1 to {self.n} or their negatives: {literals}"
            )
        if not self.negations and min(literals, default=1) < 0:
            raise ValueError("the target has a negation, so the learner needs negations=True")
        p = np.asarray(self.p, dtype=float)
        if p.shape not in ((), (self.n,)) or not ((p >= 0) & (p <= 1)).all():
            raise ValueError(f"p must be a probability, or {self.n} of them")

    @property
    def H(self):
        return Conjunctions(self.n, self.negations)

    @property
    def target(self) -> Conjunction:
        """The conjunction to be learned."""
        return Conjunction(tuple(int(i) for i in self.literals))

    def sample(self, n, rng):
        """n points, of which `target` gives the labels."""
        return (rng.uniform(size=(n, self.n)) < np.asarray(self.p, dtype=float)).astype(int)

    def errors(self, m, trials, rng, tick):
        p = np.broadcast_to(np.asarray(self.p, dtype=float), (self.n,))
        wanted = np.array(self.target.literals, dtype=int)
        at = np.abs(wanted) - 1
        true = float(np.where(wanted > 0, p[at], 1 - p[at]).prod())
        rest = np.delete(p, at)
        positive = rng.binomial(m, true, trials)[:, None]
        drawn = rng.uniform(size=(trials, len(rest)))
        plain = drawn < rest**positive  # so many ones in a row; without positive examples all are kept
        kept = np.where(plain, rest, 1.0)
        if self.negations:
            negated = ~plain & (drawn > 1 - (1 - rest) ** positive)
            kept = np.where(negated, 1 - rest, kept)
        tick()
        missed = 1 - kept.prod(axis=1)
        if self.negations:  # a variable and its negation: nothing is true
            missed = np.where(positive[:, 0] == 0, 1.0, missed)
        return true * missed


class Sampled(World):
    """Any class, target and distribution: the learner is run, and its error measured on fresh points.

    Parameters
    ----------
    hypotheses : HypothesisClass
    target : function from points to booleans, realised by the class
    sample : function of (n, rng); draws n points; rng is a NumPy Generator
    test : fresh points to measure each error on

    Examples
    --------
    >>> from mercer.theory.learnability import Interval, Intervals, Sampled, simulate
    >>> world = Sampled(Intervals(), Interval(0.2, 0.6), lambda n, rng: rng.uniform(size=n), test=2000)
    >>> found = simulate(world, m=74, epsilon=0.1, trials=200, random_state=0)
    >>> bool(found.rates[0] < 0.05)
    True
    """

    def __init__(self, hypotheses, target, sample, test=10_000):
        self.hypotheses = hypotheses
        self.target = target
        self.sample = sample
        self.test = test

    def validate(self):
        self.hypotheses.validate()
        require_count(self.test, "test")

    @property
    def H(self):
        return self.hypotheses

    def errors(self, m, trials, rng, tick):
        out = np.empty(trials)
        for i in range(trials):
            X, fresh = self.sample(m, rng), self.sample(self.test, rng)
            h = self.hypotheses.learn(X, self.target(X))
            out[i] = np.mean(h(fresh) != self.target(fresh))
            tick()
        return out


@dataclass(frozen=True, eq=False)
class Simulation:
    """How often learning failed.

    Attributes
    ----------
    m : sample sizes
    errors : shape (len(m), trials)
    rates : the share of trials with an error above ε, for each m
    lower, upper : Clopper and Pearson's 95 % interval of its probability
    bounds : the δ that theory promises; 1 where it promises nothing, nan where the class has no bound

    Examples
    --------
    >>> from mercer.theory.learnability import UniformBox, simulate
    >>> found = simulate(UniformBox([0], [1]), m=[10, 74], epsilon=0.1, trials=500, random_state=0)
    >>> found.errors.shape, bool((found.lower <= found.bounds).all())
    ((2, 500), True)
    """

    m: np.ndarray
    errors: np.ndarray
    epsilon: float
    bounds: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        return np.mean(self.errors > self.epsilon, axis=1)

    @property
    def lower(self) -> np.ndarray:
        return 1 - largest_rate(np.sum(self.errors <= self.epsilon, axis=1), self.errors.shape[1], 0.025)

    @property
    def upper(self) -> np.ndarray:
        return largest_rate(np.sum(self.errors > self.epsilon, axis=1), self.errors.shape[1], 0.025)

    def __str__(self) -> str:
        rows = zip(self.m.tolist(), self.rates.tolist(), self.bounds.tolist(), strict=True)
        said = f"error above {self.epsilon:g} in"
        return "\n".join(f"m = {m:,}: {said} {r:.2%}, bound {b:.2%}" for m, r, b in rows)


def simulate(
    world: World,
    m: int | Iterable[int],
    epsilon: float,
    *,
    trials: int = 1000,
    random_state: Any = None,
    progress: Progress | None = None,
) -> Simulation:
    """Learn from m examples, many times over, and count how often the error exceeds ε.

    Parameters
    ----------
    world : UniformBox, BooleanCube or Sampled
    m : one number of examples, or several
    trials : for each m
    random_state : int, Generator or None
    progress : function of (done, total), optional; called after each m, for `Sampled` after each trial

    Examples
    --------
    >>> from mercer.theory.learnability import Rectangles, UniformBox, sample_size, simulate
    >>> m = sample_size(Rectangles(2), epsilon=0.1, delta=0.05)
    >>> print(simulate(UniformBox([0, 0], [1, 1]), m=[20, m], epsilon=0.1, random_state=0))
    m = 20: error above 0.1 in 85.20%, bound 100.00%
    m = 176: error above 0.1 in 0.00%, bound 4.91%
    """
    if not isinstance(world, World):
        raise TypeError(f"world must be UniformBox(…), BooleanCube(…) or Sampled(…), got {world!r}")
    world.validate()
    sizes = [require_count(v, "m") for v in (m if isinstance(m, Iterable) else [m])]
    if not sizes:
        raise ValueError("m must be one number of examples at least")
    trials = require_count(trials, "trials")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon must lie between 0 and 1, got {epsilon!r}")
    rng = np.random.default_rng(random_state)
    done, total = 0, len(sizes) * (trials if isinstance(world, Sampled) else 1)

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    errors = np.array([world.errors(size, trials, rng, tick) for size in sizes])
    promised = np.array([_promise(world.H, size, epsilon) for size in sizes])
    return Simulation(np.array(sizes), errors, epsilon, promised)


def _promise(H: HypothesisClass, m: int, epsilon: float) -> float:
    """The δ of `sample_size`, if the class has one."""
    if H.parts is None and H.size is None and H.vc_dimension in (None, np.inf):
        return float("nan")
    return sample_size(H, m=m, epsilon=epsilon)
