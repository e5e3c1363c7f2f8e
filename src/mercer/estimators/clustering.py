"""Clusters in feature space: kernel k-means, and normalised cuts as its weighted case."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import _resolve
from mercer._params import require_count, require_flag, require_nonnegative
from mercer._threads import one_blas_thread
from mercer._warnings import frames_inside
from mercer.estimators.cluster_means import ClusterMeans
from mercer.estimators.cluster_spaces import (
    INITS,
    ClusterPoints,
    ClusterSpace,
    from_sample,
    given_start,
    place,
    without_empty,
)
from mercer.estimators.cluster_stream import add_batch, bounded_representation, require_streamable
from mercer.estimators.inputs import GAUSSIAN, checked_weights
from mercer.estimators.plan import Plan, representation_without_loss
from mercer.estimators.tensors import on_host
from mercer.estimators.unlabelled import Survey, surveyed
from mercer.features import ExplicitFeatures
from mercer.features.base import generator
from mercer.functions import FeatureFunction, Function
from mercer.kernels import Linear
from mercer.kernels.door import require_symmetry
from mercer.representations import Features
from mercer.solvers import ConvergenceWarning, lloyd
from mercer.solvers.journal import Journal
from mercer.solvers.passes.clusters import PassedRun
from mercer.solvers.teleport import teleported

# What becomes of clusters without points.
EMPTY = ("teleport", "drop")


@dataclass(eq=False, repr=False)
class KernelKMeans(ClusterMeans):
    """Kernel k-means: clusters around means in feature space.

    minimise E = Σ_i w_i ‖φ(x_i) − μ_{a(i)}‖² over assignments a, where μ_j is the weighted mean of the φ(x_i)
    in cluster j. Lloyd's algorithm: every point goes to the nearest mean, every mean to its points. The
    distances are k(x,x) − 2⟨φ(x), μ_j⟩ + ‖μ_j‖², so only the kernel is needed. E never rises; a local
    minimum is found, the best of `n_init` starts. With the linear kernel this is k-means.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    n_clusters : int
    init : "k-means++", "greedy", "random", or an array
        "k-means++" draws k of the points, each next one ∝ its squared distance to the nearest so far; its
        expected energy is at most 8(2 + ln k) times the least. "greedy" takes the best of 2 + ln k draws each
        time, as scikit-learn does. An array holds k indices of points, or a label 0 … k−1 for every point,
        or k points as rows (for kernels on vectors); there is one start then.
    n_init, max_iter : int
        Starts, and most iterations of each.
    tol : float
        An iteration that lowers the energy by no more than this share of it is the last. 0: go on until no
        point moves.
    normalized : bool
        Minimise the normalised cut of the graph with weights k(x_i,x_j): spectral clustering. It is kernel
        k-means with the weights d_i = Σ_j k(x_i,x_j) and the kernel k(x_i,x_j)/(d_i d_j). Starts are made in
        the leading k eigenvectors, the relaxed problem; Lloyd's algorithm then improves on the best of them.
    representation : "auto", "full", "nystrom", "features" or a Representation
        What means are made of: all points, Nyström centres (the means are then the best ones in their
        span), or features. "auto": the kernel's own coordinates if there are fewer of them than points
        (linear, polynomial kernels), all points up to 30,000, then centres.
    engine : "auto", "tiled", "cuda" or an Engine
    random_state : int, RandomState or None
        For starts, centres and random features.
    empty : "teleport" or "drop"
        What becomes of a cluster that loses all its points: it is given the point that is farthest from its
        mean, which lowers E; or it is destroyed, and there are fewer clusters then (``len(masses_)``).
    teleports : int
        Tries to get out of a local minimum: the mean that costs least to do without moves into the cluster
        with the most energy, and Lloyd's algorithm goes on from there. Kept if it comes to a lower E. Of
        examples that live elsewhere, on the sample.

    Attributes
    ----------
    labels_ : (n,); not there after a fit to rows that live elsewhere, for which `predict` gives them; after
        `partial_fit` those of the last batch, as are inertia_ and energies_
    inertia_ : E
    energies_ : (n_iter_ + 1,) E at the start and after each iteration of the best run; after a teleport, of
        the iterations from which E was lower than before it
    n_iter_ : iterations of that run, with the one that found nothing to change
    n_batches_ : after `partial_fit`, how many batches there were
    start_ : (n,) the labels the best run began with; not there for rows that live elsewhere, either
    means_ : Function with k outputs, x ↦ ⟨φ(x), μ_j⟩: the means as elements of H_K
    squared_norms_ : (k,) ‖μ_j‖², infinite for one that is empty for want of different points
    masses_ : (k,) weight of each cluster; with ``normalized`` its volume Σ w_i d_i
    centroids_ : (k, d), for the linear kernel
    normalized_cut_ : with ``normalized``, Σ_j cut(C_j, all others)/vol(C_j): the energy up to a constant
    plan_ : what was chosen, and why
    kernel_ : the kernel, with parameters found from the data

    Notes
    -----
    One product of K with the n × k matrix of memberships begins a run; after that only the columns of points
    that changed clusters are multiplied. In p coordinates (centres, features, the linear kernel) an iteration
    costs n·p·k. From 2,048 points on, a run in float32 comes before that in float64.

    References
    ----------
    D. Arthur and S. Vassilvitskii, k-means++: the advantages of careful seeding, 2007. I. Dhillon, Y. Guan
    and B. Kulis, Kernel k-means, spectral clustering and normalized cuts, 2004.

    Examples
    --------
    Two rings, one inside the other:

    >>> import numpy as np
    >>> from mercer import KernelKMeans
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 300), np.repeat([1.0, 3.0], 150)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> machine = KernelKMeans(Gaussian(0.4), n_clusters=2, normalized=True, random_state=0).fit(X)
    >>> len(set(machine.labels_[:150])), len(set(machine.labels_[150:])), len(set(machine.labels_))
    (1, 1, 2)
    >>> bool((np.diff(machine.energies_) <= 0).all())
    True
    """

    takes_rows = True

    kernel: Any = GAUSSIAN
    n_clusters: int = 8
    init: Any = "k-means++"
    n_init: int = 4
    max_iter: int = 300
    tol: float = 1e-6
    normalized: bool = False
    representation: Any = "auto"
    engine: Any = "auto"
    random_state: Any = None
    empty: str = "teleport"
    teleports: int = 0

    # -- fit --------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None, *, checkpoint=None):
        """Find the clusters; y is not used.

        X may live elsewhere (a path, a memory-mapped array, `Rows`, …): see `mercer.rows`. The best of all
        starts is found on a sample, then there is a pass over all of X an iteration; `checkpoint`, a path or
        `Checkpoint`, is where it is noted how far they are. Begun again after whatever ended it, the fit goes
        on from there, once the sample is clustered.
        """
        self._validate()
        elsewhere = self.learns_elsewhere(X)
        if checkpoint is not None and not elsewhere:
            raise ValueError("checkpoint is for examples that live elsewhere: see mercer.rows.open_rows")
        journal = Journal.opened(checkpoint)
        try:
            survey = self._surveyed(X, sample_weight, journal) if elsewhere else None
            space, run, plan = self._formed(X, sample_weight, survey, journal)
        except BaseException:
            journal.drop()
            raise
        if survey is not None:
            return self._finish_elsewhere(survey, space, run, plan.engine, journal)
        self._finish(space, run, plan)
        return self

    def _finish(self, space: ClusterSpace, run: lloyd.LloydRun, plan: Plan) -> None:
        """What is learned of points in memory, on the machine."""
        self._keep(run, space.lift(run.members, _shares(run)))
        self.labels_ = self._numbers(run.totals)[run.labels]
        self.plan_ = replace(plan, unknowns=len(self.means_))

    def _numbers(self, totals: np.ndarray) -> np.ndarray:
        """Of each cluster its number once empty ones are dropped."""
        return np.cumsum(totals > 0) - 1 if self.empty == "drop" else np.arange(len(totals))

    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from one more batch: points go to the nearest means, and each mean to all that came to it.

        The first batch begins as `fit` does (`init`, the best of `n_init` starts), with one iteration; it
        needs as many points as there are clusters, and fixes the kernel's parameters and the coordinates.
        After a `fit`, batches go on from its clusters, whose means are projected onto centres if they were
        made of all points. y is not used.

        What is kept is bounded, however many batches come: a mean and a mass for each cluster, in coordinates
        of fixed size. These are the kernel's own if they are few (linear, polynomial), else Nyström centres
        of the first batch, or the features of `representation`; "full", whose means are made of all points,
        is refused, and so is ``normalized``, which needs the degrees of all.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelKMeans
        >>> from mercer.kernels import Linear
        >>> rng = np.random.default_rng(0)
        >>> machine = KernelKMeans(Linear(), n_clusters=2, random_state=0)
        >>> for _ in range(50):
        ...     centres = np.array([[0.0, 0.0], [9.0, 9.0]])[rng.integers(2, size=100)]
        ...     machine = machine.partial_fit(centres + rng.standard_normal((100, 2)))
        >>> np.sort(machine.centroids_, axis=0).round(0) + 0.0
        array([[0., 0.],
               [9., 9.]])
        >>> float(machine.masses_.sum()), machine.n_batches_
        (5000.0, 50)
        """
        self._validate()
        require_streamable(self, X)
        if hasattr(self, "means_"):
            add_batch(self, X, sample_weight)
        else:
            space, run, plan = self._formed(X, sample_weight, None, Journal(), bounded=True)
            self._finish(space, run, plan)
            self.n_batches_ = 1
        return self

    def _formed(
        self,
        X: Any,
        sample_weight: Any,
        survey: Survey | None,
        journal: Journal,
        *,
        bounded: bool = False,
    ) -> tuple[ClusterSpace, lloyd.LloydRun, Plan]:
        """Clusters of the points in memory, or of the sample: where they are formed, how, and the plan.

        `bounded`: in coordinates of fixed size, with no iteration but the first.
        """
        representation: Any = _resolve.representation_of(self.representation)
        if survey is not None:
            X, sample_weight = survey.sample.X, survey.sample.w
        given = X
        kernel, engine, X = self._door(X, representation)
        weights = checked_weights(on_host(sample_weight), X)
        seen = np.flatnonzero(weights)
        if self.n_clusters > len(seen):
            few = "points" if len(seen) == len(weights) else "points with a weight"
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than there are {few}: n_samples={len(seen)}"
            )
        points, squares = self._bind(kernel, X, engine, given, weights)
        rng = generator(journal.seeded(self.random_state))
        if survey is not None:
            representation, why = survey.representation, survey.why
        elif representation is None and isinstance(self.kernel_, Linear):
            representation, why = Features(ExplicitFeatures()), "means of the linear kernel are points"
        else:
            choose = bounded_representation if bounded else representation_without_loss
            representation, why = choose(representation, self.kernel_, points, engine)
        start = None
        if not isinstance(self.init, str):
            start = given_start(self.init, self.kernel_, points, int(self.n_clusters), engine)
        everyone = ClusterPoints(self.kernel_, points, weights, squares, int(self.n_clusters))
        n = None if survey is None else survey.n
        space = place(representation, everyone, rng, engine, about_zero=bool(self.normalized), n=n)
        # Blocks are shared out among threads of our own; those of BLAS would be in their way.
        with one_blas_thread():
            run = self._run(space, start, rng, 0 if bounded else int(self.max_iter))
        if not math.isfinite(run.energy):
            raise ValueError(f"{self.kernel_!r} gives NaN or infinity on these points")
        return space, run, Plan(representation, None, engine, len(weights), 0, reasons=(why, space.how))

    def _surveyed(self, X: Any, sample_weight: Any, journal: Journal) -> Survey:
        """A look at examples that live elsewhere."""
        if not isinstance(self.init, str) and np.ndim(self.init) != 2:
            raise ValueError(
                "init: indices and labels are of points in memory; for rows that live elsewhere give "
                f"{self.n_clusters} points to begin with, or one of {', '.join(map(repr, INITS))}"
            )
        rng = generator(journal.seeded(self.random_state))
        return surveyed(self, X, sample_weight, clusters=int(self.n_clusters), rng=rng)

    def _finish_elsewhere(
        self, survey: Survey, space: ClusterSpace, sample: lloyd.LloydRun, engine: Any, journal: Journal
    ) -> KernelKMeans:
        """From the clusters of a sample to those of all examples."""
        limits = int(self.max_iter), float(self.tol)
        run, means, self.plan_ = from_sample(
            survey, space, sample, *limits, engine, bool(self.normalized), journal, self.empty != "drop"
        )
        for name in ("labels_", "start_"):
            self.__dict__.pop(name, None)
        self._keep(run, means)
        survey.name_features(self)
        return self

    def admit_points(self, points):
        # The weights of a graph's edges need only be symmetric to be cut.
        return require_symmetry(self.kernel_, points) if self.normalized else super().admit_points(points)

    def _run(
        self, space: ClusterSpace, start: np.ndarray | None, rng: np.random.Generator, most: int
    ) -> lloyd.LloydRun:
        """The best of all starts, found in float32 where that is quicker, and finished in float64."""
        tol, refill = float(self.tol), self.empty != "drop"
        look = lloyd.normalised if self.normalized else lloyd.plain
        stages = [look(sums) for sums in space.stages]
        best: lloyd.LloydRun | None = None
        for labels in [start] if start is not None else self._starts(stages[0], rng):
            run = lloyd.lloyd(stages[0], labels, most, tol, refill)
            if best is None or run.energy < best.energy:
                best, self.start_ = run, labels
        assert best is not None
        if most and self.teleports:
            best = teleported(stages[0], best, int(self.teleports), most, tol, rng, refill)
        for cloud in stages[1:]:
            rough = best
            left = max(most - len(rough.energies) + 1, 1 if self.teleports and most else 0)
            best = lloyd.lloyd(cloud, rough.members, left, tol, refill)
            # Energies from float32 inner products are a little off; none counts as lower than a later one.
            best.energies[:0] = np.maximum(rough.energies[:-1], best.energies[0]).tolist()
        return best

    def _starts(self, cloud: lloyd.Cloud, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Labels to begin with."""
        k = int(self.n_clusters)
        if self.normalized:
            # Starts in the leading eigenvectors cost next to nothing, so only the best of them goes on.
            seen, small = lloyd.leading(cloud, k, rng)
            runs = [
                lloyd.lloyd(small, self._seeded(small, rng), self.max_iter, self.tol)
                for _ in range(self.n_init)
            ]
            labels = np.zeros(len(cloud.masses), dtype=np.intp)
            labels[seen] = min(runs, key=lambda run: run.energy).labels
            yield labels
            return
        for _ in range(self.n_init):
            yield self._seeded(cloud, rng)

    def _seeded(self, cloud: lloyd.Cloud, rng: np.random.Generator) -> np.ndarray:
        k = int(self.n_clusters)
        if self.init == "random":
            return lloyd.nearest_seed(cloud, lloyd.at_random(cloud, k, rng))
        draws = 1 if self.init == "k-means++" else 2 + int(math.log(k))
        return lloyd.nearest_seed(cloud, lloyd.plus_plus(cloud, k, rng, draws))

    def _keep(self, run: lloyd.LloydRun | PassedRun, means: tuple[Function, np.ndarray]) -> None:
        """What is learned, on the machine."""
        filled, share = run.totals > 0, _shares(run)
        self.means_, self._shift = means
        explicit = isinstance(self.means_, FeatureFunction)
        norms = np.square(self.means_.coef).sum(axis=0) if explicit else run.powers * share**2
        self.squared_norms_ = np.where(filled, norms, np.inf)
        self.masses_ = run.totals
        dropped = self.empty == "drop" and not filled.all()
        if dropped:
            self.means_ = without_empty(self.means_, filled)
            self.squared_norms_, self.masses_ = self.squared_norms_[filled], self.masses_[filled]
        self.energies_ = np.array(run.energies)
        self.inertia_, self.n_iter_ = run.energy, len(run.energies) - 1
        for name in ("centroids_", "normalized_cut_", "n_batches_"):
            self.__dict__.pop(name, None)
        self.show_centroids()
        if self.normalized:
            self.normalized_cut_ = float((1 - run.powers * share)[filled].sum())
        if not filled.all() and not dropped:
            self._warn(
                f"only {filled.sum()} of {len(filled)} clusters have points, for want of different ones"
            )
        if run.status == "max_iter" and self.n_iter_ > 0:
            self._warn(
                f"stopped at its limit of {self.n_iter_} iterations: raise max_iter, or tol ({self.tol:g})"
            )

    def show_centroids(self) -> None:
        """The means of the linear kernel are points."""
        if isinstance(self.kernel_, Linear):
            f: Any = self.means_
            explicit = isinstance(f, FeatureFunction)
            self.centroids_ = f.coef.T.copy() if explicit else f.coef.T @ f.points

    def _warn(self, what: str) -> None:
        warnings.warn(f"KernelKMeans: {what}", ConvergenceWarning, stacklevel=frames_inside())

    def _validate(self) -> None:
        for name, least in (("n_clusters", 1), ("n_init", 1), ("max_iter", 0), ("teleports", 0)):
            require_count(getattr(self, name), name, least)
        require_nonnegative(self.tol, "tol")
        require_flag(self.normalized, "normalized")
        if not isinstance(self.empty, str) or self.empty not in EMPTY:
            raise ValueError(f"empty must be one of {', '.join(map(repr, EMPTY))}, got {self.empty!r}")
        if isinstance(self.init, str) and self.init not in INITS:
            raise ValueError(
                f"init must be one of {', '.join(map(repr, INITS))} or an array, got {self.init!r}"
            )


def _shares(run: lloyd.LloydRun | PassedRun) -> np.ndarray:
    """1/mass of each cluster; 0 of an empty one."""
    return np.divide(1, run.totals, out=np.zeros(len(run.totals)), where=run.totals > 0)
