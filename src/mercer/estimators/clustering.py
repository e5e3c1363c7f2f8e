"""Clusters in feature space: kernel k-means, and normalised cuts as its weighted case."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer import _resolve
from mercer._params import require_count, require_flag, require_nonnegative
from mercer._state import ArraySpec, require
from mercer._threads import one_blas_thread
from mercer._warnings import frames_inside
from mercer.estimators.cluster_spaces import INITS, ClusterPoints, ClusterSpace, given_start, place
from mercer.estimators.inputs import GAUSSIAN, KernelInputs, checked_weights, like
from mercer.estimators.plan import Plan, parts_of, representation_without_loss
from mercer.estimators.tensors import follows_data, on_host, remember
from mercer.features import ExplicitFeatures
from mercer.features.base import generator
from mercer.functions import FeatureFunction, Function, KernelFunction
from mercer.kernels import Linear, Precomputed
from mercer.kernels.door import require_symmetry
from mercer.operators import squares_of
from mercer.representations import Features
from mercer.solvers import ConvergenceWarning, lloyd

# Rows, their squared distances to the means, their masses.
Blocks = Iterator[tuple[slice, np.ndarray, np.ndarray]]


@dataclass(eq=False, repr=False)
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelInputs):
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

    Attributes
    ----------
    labels_ : (n,)
    inertia_ : E
    energies_ : (n_iter_ + 1,) E at the start and after each iteration of the best run
    n_iter_ : iterations of that run, with the one that found nothing to change
    start_ : (n,) the labels the best run began with
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.masses_)

    # -- fit --------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None):
        """Find the clusters; y is not used."""
        self._validate()
        representation: Any = _resolve.representation_of(self.representation)
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
        rng = generator(self.random_state)
        if representation is None and isinstance(self.kernel_, Linear):
            representation, why = Features(ExplicitFeatures()), "means of the linear kernel are points"
        else:
            representation, why = representation_without_loss(representation, self.kernel_, points, engine)
        start = None
        if not isinstance(self.init, str):
            start = given_start(self.init, self.kernel_, points, int(self.n_clusters), engine)
        everyone = ClusterPoints(self.kernel_, points, weights, squares, int(self.n_clusters))
        space = place(representation, everyone, rng, engine, about_zero=bool(self.normalized))
        # Blocks are shared out among threads of our own; those of BLAS would be in their way.
        with one_blas_thread():
            run = self._run(space, start, rng)
        if not math.isfinite(run.energy):
            raise ValueError(f"{self.kernel_!r} gives NaN or infinity on these points")
        self._keep(space, run)
        reasons = (why, space.how)
        self.plan_ = Plan(representation, None, engine, len(weights), len(self.means_), reasons=reasons)
        return self

    def admit_points(self, points):
        # The weights of a graph's edges need only be symmetric to be cut.
        return require_symmetry(self.kernel_, points) if self.normalized else super().admit_points(points)

    def _run(self, space: ClusterSpace, start: np.ndarray | None, rng: np.random.Generator) -> lloyd.LloydRun:
        """The best of all starts, found in float32 where that is quicker, and finished in float64."""
        look = lloyd.normalised if self.normalized else lloyd.plain
        stages = [look(sums) for sums in space.stages]
        best: lloyd.LloydRun | None = None
        for labels in [start] if start is not None else self._starts(stages[0], rng):
            run = lloyd.lloyd(stages[0], labels, self.max_iter, self.tol)
            if best is None or run.energy < best.energy:
                best, self.start_ = run, labels
        assert best is not None
        for cloud in stages[1:]:
            rough = best
            best = lloyd.lloyd(
                cloud, rough.members, max(self.max_iter - len(rough.energies) + 1, 0), self.tol
            )
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

    def _keep(self, space: ClusterSpace, run: lloyd.LloydRun) -> None:
        """What is learned, on the machine."""
        filled = run.totals > 0
        share = np.divide(1, run.totals, out=np.zeros(len(filled)), where=filled)
        self.means_, self._shift = space.lift(run.members, share)
        explicit = isinstance(self.means_, FeatureFunction)
        norms = np.square(self.means_.coef).sum(axis=0) if explicit else run.powers * share**2
        self.squared_norms_ = np.where(filled, norms, np.inf)
        self.labels_, self.masses_ = run.labels, run.totals
        self.energies_ = np.array(run.energies)
        self.inertia_, self.n_iter_ = run.energy, len(run.energies) - 1
        for name in ("centroids_", "normalized_cut_"):
            self.__dict__.pop(name, None)
        if isinstance(self.kernel_, Linear):
            f: Any = self.means_
            self.centroids_ = f.coef.T.copy() if explicit else f.coef.T @ f.points
        if self.normalized:
            self.normalized_cut_ = float((1 - run.powers * share)[filled].sum())
        if not filled.all():
            self._warn(
                f"only {filled.sum()} of {len(filled)} clusters have points, for want of different ones"
            )
        if run.status == "max_iter" and self.max_iter > 0:
            self._warn(
                f"stopped at its limit of {self.n_iter_} iterations: raise max_iter, or tol ({self.tol:g})"
            )

    def _warn(self, what: str) -> None:
        warnings.warn(f"KernelKMeans: {what}", ConvergenceWarning, stacklevel=frames_inside())

    def _validate(self) -> None:
        for name, least in (("n_clusters", 1), ("n_init", 1), ("max_iter", 0)):
            require_count(getattr(self, name), name, least)
        require_nonnegative(self.tol, "tol")
        require_flag(self.normalized, "normalized")
        if isinstance(self.init, str) and self.init not in INITS:
            raise ValueError(
                f"init must be one of {', '.join(map(repr, INITS))} or an array, got {self.init!r}"
            )

    # -- predict ----------------------------------------------------------------------------------

    def _distances(self, X: Any, squared: bool) -> Blocks:
        """Of blocks of points the squared distances to the means, and the masses a point has by itself.

        Without `squared`, ‖ψ(x)‖² is left out: of a point outside a precomputed matrix it isn't known.
        """
        check_is_fitted(self, "means_")
        given, X = X, self.check_new(X)
        if squared and isinstance(self.input_kernel_, Precomputed):
            raise ValueError(
                "k(x,x) of new points is not in the rows of a precomputed matrix, so their distances are "
                "unknown: predict does without, and fit_transform knows those of the examples"
            )
        f = self.means_
        if isinstance(f, KernelFunction):
            X = self.kernel_.points(X)
            remember(f.engine, X, given)
        return self._to_means(X, squared)

    def _to_means(self, X: Any, squared: bool) -> Blocks:
        """`_distances` of points as the kernel takes them."""
        f, k = self.means_, len(self.masses_)
        width = k if isinstance(f, KernelFunction) else max(len(f), k)
        norms = np.where(self.masses_ > 0, self.squared_norms_, np.inf)
        if isinstance(f, FeatureFunction):
            coef = f.coef - self._shift[:, None]
            norms = np.where(self.masses_ > 0, np.square(coef).sum(axis=0), np.inf)
        for rows in parts_of(X.shape[0], width):
            whole = rows.stop - rows.start == X.shape[0]
            part = X if whole else X[rows]  # itself, because an engine may know it
            if isinstance(f, FeatureFunction):
                Phi = f.map.transform(part)
                Phi = Phi if not self._shift.any() else Phi - self._shift
                inner, squares = Phi @ coef, squares_of(Phi)
            else:
                inner = np.asarray(f(part), np.float64)
                squares = (
                    np.asarray(self.kernel_.diagonal(part), np.float64) if squared else np.zeros(len(inner))
                )
            masses = np.ones(len(inner))
            if hasattr(self, "normalized_cut_"):
                masses = inner @ self.masses_
                scale = np.divide(1, masses, out=np.zeros(len(inner)), where=masses > 0)
                inner, squares = inner * scale[:, None], squares * scale**2
            yield rows, squares[:, None] - 2 * inner + norms, masses

    @follows_data
    def predict(self, X):
        """The cluster with the nearest mean."""
        parts = [D.argmin(axis=1) for _, D, _ in self._distances(X, squared=False)]
        return np.concatenate(parts)

    @follows_data
    def transform(self, X):
        """Distances in feature space to all means, shape (n, n_clusters)."""
        return _roots(self._distances(X, squared=True), on_host(X))

    @follows_data
    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the clusters; the distances of all points to all means. y is not used."""
        self.fit(X, sample_weight=sample_weight)
        if not isinstance(self.input_kernel_, Precomputed):
            return self.transform(X)
        # As examples, and not as rows: then their k(x,x) is known.
        return _roots(self._to_means(np.arange(len(self.labels_)), squared=True), on_host(X))

    def score(self, X, y=None, sample_weight=None):
        """−E of these points, each in the cluster with the nearest mean."""
        X = on_host(X)
        total, weights = 0.0, None
        for rows, D, masses in self._distances(X, squared=True):
            if sample_weight is not None and weights is None:
                weights = checked_weights(on_host(sample_weight), X)
            w = masses if weights is None else masses * weights[rows]
            total += float(w @ np.maximum(D.min(axis=1), 0))
        return -total

    holds = {
        "means_": Function,
        "masses_": ArraySpec("f8", "k"),
        "squared_norms_": ArraySpec("f8", "k"),
        "_shift": ArraySpec("f8", None),
        "energies_": ArraySpec("f8", None),
    }
    fitted_by = "means_"

    def check_state(self) -> None:
        super().check_state()
        f, k = self.means_, len(self.masses_)
        shifted = not isinstance(f, FeatureFunction) or len(self._shift) == len(f)
        require(shifted and f.outputs == k, f"the means of {k} clusters do not fit together")


def _roots(blocks: Blocks, X: Any) -> np.ndarray:
    """Distances from blocks of squared ones, in the precision of X."""
    D = np.concatenate([D for _, D, _ in blocks])
    return like(np.sqrt(np.maximum(D, 0, out=D), out=D), X)
