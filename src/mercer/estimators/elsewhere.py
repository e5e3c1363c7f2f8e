"""Examples that live elsewhere, at the door of an estimator: a look at all of them, and a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.engines import Dask, Engine
from mercer.kernels import Precomputed
from mercer.kernels.base import Kernel
from mercer.losses.coding import LabelCoding, distinct, numbers
from mercer.operators import Elsewhere
from mercer.representations import Built
from mercer.rows import Rows, Shard, open_rows, write_blocks
from mercer.rows.base import Reservoir, Totals
from mercer.rows.placing import is_of_dask
from mercer.solvers import Problem
from mercer.solvers.cost import Shape
from mercer.solvers.passes.minimise import sampled_examples

# More labels than this are no classes.
_MOST_LABELS = 10_000
# Methods of machines that say something of points, a row for each.
_ANSWERING = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "pair_decision_function",
    "score_samples",
    "transform",
)
# Below this, squares of squared targets are ordinary numbers.
_LARGEST = 1e70


class Labels:
    """Labels and what their examples weigh, which add up.

    Examples
    --------
    >>> both = Labels.of(np.array(["b", "a", "b"])) + Labels.of(np.array(["c"]))
    >>> both.weights
    {'a': 1.0, 'b': 2.0, 'c': 1.0}
    """

    def __init__(self, weights: dict[Any, float]):
        self.weights = weights

    @classmethod
    def of(cls, y: np.ndarray, w: np.ndarray | None = None) -> Labels:
        labels, index = distinct(y)
        if len(labels) > _MOST_LABELS:
            raise ValueError(
                f"y has more than {_MOST_LABELS:,} different labels; for numbers use a regressor such as "
                "KernelRidge or KernelRegressor"
            )
        weights = np.bincount(index.reshape(-1), w, minlength=len(labels)).tolist()
        return cls(dict(zip(labels.tolist(), map(float, weights))))

    def __add__(self, other: Labels) -> Labels:
        both = dict(self.weights)
        for label, weight in other.weights.items():
            both[label] = both.get(label, 0.0) + weight
        labels, _ = distinct(np.array(list(both), dtype=_kind(list(both))))
        return Labels({label: both[label] for label in labels.tolist()})


@dataclass(frozen=True)
class Look:
    """The task of the first pass: are numbers finite, what do weights add up to, which labels are there?"""

    labelled: bool

    def __call__(self, shard: Shard) -> Totals:
        X, y, w = shard.X, shard.y, shard.w
        with np.errstate(over="ignore", invalid="ignore"):
            sound = np.isfinite(X.sum())
        if not sound and not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0]
            raise ValueError(
                f"row {shard.first + row + 1:,} has NaN or infinity in column {column + 1} of X: leave such "
                "rows out (missing='drop' does so with NaN) or fill them in"
            )
        if y is not None and not self.labelled and y.dtype.kind == "f" and not np.isfinite(y).all():
            row = int(np.flatnonzero(~np.isfinite(y).reshape(len(y), -1).all(axis=1))[0])
            raise ValueError(f"row {shard.first + row + 1:,} has NaN or infinity as its target: leave it out")
        if y is not None and not self.labelled and y.dtype.kind in "fiu":
            require_ordinary(float(np.abs(y).max(initial=0)))
        if w is not None:
            require_weights(w)
        present = float(len(X)) if w is None else float((w > 0).sum())
        weight = float(len(X)) if w is None else float(w.sum(dtype=np.float64))
        labels = Labels.of(y, w) if self.labelled and y is not None else Labels({})
        return weight, present, labels


@dataclass(frozen=True)
class Weighing:
    """A task: so many rows at random of those with a weight."""

    size: int
    seed: int

    def __call__(self, shard: Shard) -> Totals:
        there = np.arange(len(shard)) if shard.w is None else np.flatnonzero(shard.w)
        return (Reservoir.of(shard.first + there, self.size, self.seed),)


def require_weights(w: np.ndarray) -> None:
    """Refuse weights that are not one finite number from 0 on for each row."""
    if w.ndim != 1:
        shape = ", ".join(["n", *map(str, w.shape[1:])])
        raise ValueError(f"sample_weight must be one number a row, of shape (n,), got ({shape})")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise ValueError("sample_weight must be nonnegative and finite")


def require_ordinary(largest: float, least: float = 0.0) -> None:
    """Refuse targets whose squares can't be computed with; the largest of all should be above `least`."""
    if largest >= _LARGEST or 0 < largest <= least:
        raise ValueError(f"y goes up to {largest:.0e}, whose squared errors leave float64: divide y by that")


@dataclass(frozen=True, eq=False)
class Without:
    """What is done to every shard where some classes weigh nothing: their examples are absent."""

    labels: np.ndarray

    def __call__(self, shard: Shard) -> Shard:
        there = ~np.isin(np.asarray(shard.y), self.labels)
        return replace(shard, w=there.astype(np.float64) if shard.w is None else shard.w * there)


@dataclass(frozen=True, eq=False)
class Encoded:
    """What is done to every shard that is read: y becomes targets, weights get mean 1."""

    coding: Any
    factors: np.ndarray | None  # of the classes' weights
    scale: float  # of all weights

    def __call__(self, shard: Shard) -> Shard:
        y, w, coding = shard.y, shard.w, self.coding
        assert y is not None
        if isinstance(coding, LabelCoding):
            index = self._positions(y, w)
            targets = coding.targets(index)
            if self.factors is not None:
                w = self.factors[index] if w is None else self.factors[index] * w
        else:
            # One target may have several outputs: quantiles.
            several = coding.n_outputs if y.ndim == 1 or y.shape[1] == 1 else 1
            targets = np.repeat(numbers(y).reshape(len(y), -1), several, axis=1)
            targets = coding.encode(targets.astype(np.float64))
        if w is not None:
            w = np.asarray(w, dtype=np.float64) * self.scale
        return replace(shard, y=targets, w=w)

    def _positions(self, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        """Positions of labels among the classes; an example of weight 0 is absent, whatever its label."""
        if w is None or w.all():
            return self.coding.index(y)
        place = np.zeros(len(y), np.intp)
        place[w > 0] = self.coding.index(y[w > 0])
        return place


@dataclass(eq=False)
class Census:
    """What one look at all examples says, and a sample of them in memory.

    Attributes
    ----------
    rows : Rows
    sample : Shard, whose weights are those of the examples as given
    weight : Σw over all examples
    labels : the classes, sorted, or None
    factors : of the weights of each class, or None
    """

    rows: Rows
    sample: Shard
    weight: float
    labels: np.ndarray | None = None
    factors: np.ndarray | None = None

    @property
    def n(self) -> int:
        return self.rows.shape[0]

    def sizes(self, of_sample: Shape) -> Shape:
        """Those of the whole problem."""
        return replace(of_sample, n=self.n, elsewhere=True)

    @classmethod
    def take(
        cls,
        rows: Rows,
        unknowns: int,
        rng: np.random.Generator,
        factors_of: Callable[[np.ndarray, np.ndarray], np.ndarray | None] | None,
    ) -> Census:
        """Look at all rows, and draw a sample that suits so many unknowns.

        `factors_of(labels, weights)` gives the factors of classes; None: y are numbers.
        """
        if rows.shape[0] and not rows.has_y:
            raise ValueError("no target was named: say which column (or array) is y")
        size = sampled_examples(rows.shape[0], unknowns)
        census, found = cls.drawn(rows, size, rng, factors_of is not None)
        if factors_of is not None:
            kept = {label: value for label, value in found.weights.items() if value > 0}
            census._know(
                np.array(list(kept), dtype=_kind(list(kept))), np.array(list(kept.values())), factors_of
            )
            census._fill(size, rng)
        return census

    def _know(self, labels: np.ndarray, weights: np.ndarray, factors_of: Callable[..., Any]) -> None:
        """Take down the classes, and what their weights are to be multiplied by."""
        assert self.sample.y is not None
        if labels.dtype.kind in "iuf" or self.sample.y.dtype.kind in "mM":
            labels = labels.astype(self.sample.y.dtype)
        factors = factors_of(labels, weights)
        if factors is not None:
            self.weight = float((factors * weights).sum())
            if not factors.all():
                self.rows = self.rows.changed(Without(labels[factors == 0]))
                self.sample = self.sample.take(np.flatnonzero(np.isin(self.sample.y, labels[factors > 0])))
                labels, factors = labels[factors > 0], factors[factors > 0]
        self.labels, self.factors = labels, factors

    @classmethod
    def drawn(
        cls, rows: Rows, size: int, rng: np.random.Generator, labelled: bool = False
    ) -> tuple[Census, Labels]:
        """Look at all rows, and draw so many of them; the labels that were seen."""
        n = rows.shape[0]
        if n == 0:
            raise ValueError("Found array with 0 sample(s): there are no rows")
        weight, present, found = rows.total(Look(labelled))
        if weight == 0:
            raise ValueError("sample_weight is zero everywhere: there is nothing to learn from")
        # Rows without weight are absent; more are drawn, so that enough are left.
        more = min(n, int(size * min(n / present, 10.0)))
        sample = rows.take(np.sort(rng.choice(n, more, replace=False)))
        if sample.w is not None and not sample.w.all():
            sample = sample.take(np.flatnonzero(sample.w))
        census = cls(rows, sample, weight)
        census._fill(size, rng)
        return census, found

    def _fill(self, size: int, rng: np.random.Generator) -> None:
        """Draw again, among rows with a weight, if a sample of this size is left with few: a pass more."""
        if size < self.n and len(self.sample) < size / 2:
            [among] = self.rows.total(Weighing(size, int(rng.integers(2**32))))
            self.sample = self.rows.take(among.rows)

    def weights(self) -> np.ndarray | None:
        """Those of the sample's examples, classes' factors included."""
        w = None if self.sample.w is None else np.asarray(self.sample.w, dtype=np.float64)
        if self.factors is None:
            return w
        assert self.labels is not None and self.sample.y is not None
        own = self.factors[np.searchsorted(self.labels, self.sample.y)]
        return own if w is None else own * w

    def everywhere(self, sample: Problem, built: Built, coding: Any) -> Problem:
        """The problem of all examples, from that of the sample."""
        if built.facing is None:
            raise ValueError("this representation needs all examples in memory: use 'nystrom' or 'features'")
        encoded = Encoded(coding, self.factors, self.n / self.weight)
        A = Elsewhere(self.rows.changed(encoded), built.facing, built.A.shape[1], built.A.dtype)
        A.of_kernel = built.A.of_kernel
        return replace(sample, A=A, y=sample.y[:0], weights=None, sample=sample)


def engine_at(rows: Rows, engine: Engine) -> Engine:
    """What a plan says computes with these rows: on the workers of a cluster, the engine is there."""
    return Dask(engine=engine) if rows.on_workers and not engine.sends else engine


def require_vectors(kernel: Kernel) -> None:
    """Refuse kernels on other things than vectors, for rows that live elsewhere."""
    if not kernel.vectors or isinstance(kernel, Precomputed):
        raise ValueError(
            f"{kernel!r} is no kernel on vectors, and rows that live elsewhere are vectors: give it its "
            "points in memory, as a list or an array"
        )


def _kind(labels: list[Any]) -> Any:
    """The dtype of labels that NumPy would give an array of them; of mixed kinds, objects."""
    kinds = {type(label) for label in labels}
    return None if len(kinds) == 1 else object


def by_shards(machine: Any, method: Callable[..., np.ndarray], X: Any) -> np.ndarray:
    """What a method of a fitted machine says of rows that live elsewhere, shard by shard, as one array."""
    found = list(answers(machine, method, X))
    if not found:
        raise ValueError("Found array with 0 sample(s): there are no rows")
    return np.concatenate(found)


def answers(machine: Any, method: Callable[..., np.ndarray], X: Any) -> Iterator[np.ndarray]:
    """What a method of a fitted machine says of each shard."""
    bare, rows = opened(machine, X)
    for (answer,) in rows.each(Answer(bare, method)):
        yield answer


def opened(
    machine: Any, X: Any, y: Any = None, sample_weight: Any = None, cache: Any = False
) -> tuple[Any, Rows]:
    """A fitted machine that takes shards, and the rows with the columns that it knows."""
    machine = copy(machine)
    names = machine.__dict__.pop("feature_names_in_", None)  # shards are plain numbers
    known = None if names is None else list(names)
    if isinstance(X, Rows) and None not in (known, X.names) and list(X.names or ()) != known:
        raise ValueError(
            f"the rows have the columns {list(X.names or ())}, and the machine learned from {known}"
        )
    # Columns are found by their names, whatever else there is in a file or a data frame of Dask's.
    nameless = isinstance(X, Rows) or (is_of_dask(X) and not hasattr(X, "columns"))
    columns = None if nameless else known
    return machine, open_rows(X, y, sample_weight, columns=columns, cache=cache)


@dataclass(frozen=True, eq=False)
class Answer:
    """A task: what a method of a machine says of the points of a shard."""

    machine: Any
    method: Callable[..., np.ndarray]

    def __call__(self, shard: Shard) -> Totals:
        return (self.method(self.machine, shard.X),)


def columns_of(answer: np.ndarray, name: str, classes: Any = None) -> dict[str, np.ndarray]:
    """Answers as columns with names: one, or one for each class or output."""
    if answer.ndim == 1:
        return {name: answer}
    labels = range(answer.shape[1]) if classes is None or len(classes) != answer.shape[1] else classes
    return {f"{name}_{label}": answer[:, j] for j, label in enumerate(labels)}


class FileToFile:
    """A machine that answers for rows that live elsewhere into a file."""

    def write(self, X: Any, path: Any, method: str = "predict", *, replace: bool = False) -> int:
        """Answer for rows that live elsewhere, from file to file, in the memory of a few shards.

        Parameters
        ----------
        X : path, Rows, …
            What `mercer.rows.open_rows` takes; columns are found by their names, where `fit` had names.
        path : path of a .parquet, .csv, .tsv or .npy file
            It appears when it is whole.
        method : str
            "predict", "predict_proba", "decision_function", "transform", …: one that answers for points, and
            that the machine has.
        replace : bool
            Replace a file that is there.

        Returns
        -------
        int
            How many rows were written.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> X = np.linspace(0, 1, 50)[:, None]
        >>> machine = KernelRidge().fit(X, X[:, 0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.save(folder + "/new.npy", X)
        ...     machine.write(folder + "/new.npy", folder + "/answers.npy")
        50
        """
        call = getattr(type(self), method, None)
        if method not in _ANSWERING or not callable(call) or not hasattr(self, method):
            there = [name for name in _ANSWERING if hasattr(self, name)]
            raise AttributeError(
                f"{type(self).__name__} has no method {method!r} that answers for points: it has "
                + ", ".join(there)
            )
        classes = getattr(self, "classes_", None)
        blocks = (columns_of(answer, method, classes) for answer in answers(self, call, X))
        return write_blocks(path, blocks, replace=replace)
