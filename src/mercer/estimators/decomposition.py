"""The directions of largest variance in feature space: kernel PCA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from mercer import _resolve
from mercer._params import require_count, require_positive
from mercer._state import COUNT, NUMBER, ArraySpec, require, require_held
from mercer._threads import cpu_count, interruptible
from mercer.estimators import preimages
from mercer.estimators.centred import Decomposition, Moments, OrthonormalCoordinates, eigenpairs, signs
from mercer.estimators.inputs import GAUSSIAN, KernelInputs, like
from mercer.estimators.plan import Plan, has_few_coordinates, representation_without_loss
from mercer.estimators.tensors import follows_data, on_host
from mercer.estimators.unlabelled import surveyed
from mercer.features.base import generator
from mercer.functions import FeatureFunction, Function, KernelFunction
from mercer.kernels import Linear, Precomputed
from mercer.representations import Built, Features, Full, Nystrom, Representation
from mercer.solvers.coordinates import whitening

# A leading part of the spectrum needs few centres, and the work grows with their square.
_CENTRES = 1000
# Directions with less of the largest eigenvalue than this hold rounding only.
_NOTHING = 1e-13


@dataclass(eq=False, repr=False)
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelInputs):
    """Kernel PCA: the functions of norm 1 that vary most over the data.

    f₁ maximises (1/n) Σ (f(x_i) − f̄)² over ‖f‖ = 1, f₂ the same among functions orthogonal to f₁, and so on.
    They belong to the largest eigenvalues of HKH with H = I − 11ᵀ/n, the kernel matrix centred in feature
    space; x is embedded as t_j(x) = f_j(x) − f̄_j. With the linear kernel this is principal component
    analysis.

    Nothing of the size n × n is kept: beyond a thousand examples the eigenpairs come from products of K with
    blocks of vectors (randomised block Krylov). With centres, features, or a kernel with few coordinates of
    its own (linear, polynomial), a p × p matrix is decomposed instead, and data may come in batches.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    n_components : int, optional
        None: all with an eigenvalue that is not 0.
    representation : "auto", "full", "nystrom", "features" or a Representation
        "auto": coordinates of the kernel's own if there are fewer of them than examples, all examples up to
        30,000, then Nyström centres.
    tol : float
        ‖HKH v − θ v‖ ≤ tol·θ₁ ends the iteration; eigenvalues are then far more accurate than that.
    preimage : "learned" or "fixed_point"
        How `inverse_transform` comes back to points: by kernel ridge regression from scores to points, or
        from there by the fixed-point iteration for kernels of ‖x − z‖. Neither is needed for `Linear`. Where
        components are made of centres or features, up to 2,000 examples are kept for this.
    engine : "auto", "tiled", "cuda" or an Engine
    random_state : int, RandomState or None
        For the first block, centres and random features.

    Attributes
    ----------
    eigenvalues_ : (k,) of HKH, decreasing
    explained_variance_ : (k,) eigenvalues/(n − 1)
    explained_variance_ratio_ : (k,) as a share of the whole variance in feature space; of a kernel that is
        indefinite by wish (`Sigmoid`, ``Precomputed(indefinite=True)``), of the sum of positive eigenvalues,
        which all are computed for that
    function_ : Function with k outputs, the components
    mean_function_ : Function, x ↦ ⟨mean of φ, φ(x)⟩
    intercept_ : (k,) −f̄
    components_, mean_ : (k, d) directions and the mean, for the linear kernel
    decomposition_ : how the components were found, and how well
    plan_ : what was chosen, and why
    kernel_, n_components_, n_samples_seen_

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 200), np.repeat([1.0, 3.0], 100)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    >>> T = KernelPCA(Gaussian(1.0), n_components=2).fit_transform(X)
    >>> T.shape
    (200, 2)
    >>> bool(T[:100, 0].min() > T[100:, 0].max() or T[:100, 0].max() < T[100:, 0].min())  # rings come apart
    True
    """

    _if_indefinite = "only directions of positive variance are components, and shares are those of their sum"

    takes_rows = True
    kernel: Any = GAUSSIAN
    n_components: Any = None
    representation: Any = "auto"
    tol: float = 1e-6
    preimage: str = "learned"
    engine: Any = "auto"
    random_state: Any = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # -- fit --------------------------------------------------------------------------------------

    def fit(self, X, y=None):
        """Find the components; y is not used.

        X may live elsewhere (a path, a memory-mapped array, `Rows`, …; see `mercer.rows`): it takes one pass.
        """
        self._fit(X)
        return self

    @follows_data
    def fit_transform(self, X, y=None):
        """Find the components and embed the examples."""
        given = on_host(X)
        scores = self._fit(X)
        return self.transform(given) if scores is None else scores

    def _fit(self, X: Any) -> np.ndarray | None:
        """Find the components; the embedding of the examples where it comes for nothing."""
        if self.learns_elsewhere(X):
            self._fit_elsewhere(X)
            return None
        points, engine = self._start(X)
        representation = self._representation(points, engine)
        if isinstance(representation, Full):
            return self._fit_full(points, engine)
        self._begin(representation, points, engine)
        return None

    def partial_fit(self, X, y=None):
        """Take in a batch: the components are those of all rows seen so far.

        Exact where the kernel has coordinates of its own (linear, polynomial) and for random features; for
        other kernels Nyström centres are chosen from the first batch, so that it should be a mixed sample.
        """
        if not hasattr(self, "function_"):
            points, engine = self._start(X)
            self._begin(self._for_batches(points, engine), points, engine)
            return self
        points = self.check_new(X)
        if not hasattr(self, "moments_"):
            f: Any = self.function_  # of a fit: its examples are the first batch
            self._begin(self._for_batches(f.points, f.engine), f.points, f.engine)
        self._see(self.kernel_.points(points))
        return self

    def _for_batches(self, X: Any, engine: Any) -> Representation:
        """Coordinates whose number does not depend on how many rows came first."""
        automatic = _resolve.representation_of(self.representation) is None
        if automatic and has_few_coordinates(self.kernel_, X):
            return self._plan(Features(), engine, "the kernel has few coordinates")
        representation = self._representation(X, engine)
        if not isinstance(representation, Full):
            return representation
        if not automatic or isinstance(self.input_kernel_, Precomputed):
            raise ValueError(
                "partial_fit needs a fixed number of coordinates: representation='nystrom', "
                "'features' or 'auto', and a kernel that isn't given by its matrix"
            )
        rows = X.shape[0]
        if (self.n_components or 1) > rows:
            raise ValueError(
                f"the first batch has {rows} rows, too few for the centres of n_components="
                f"{self.n_components}: begin with a larger one, a mixed sample if possible"
            )
        return self._plan(Nystrom(min(_CENTRES, rows)), engine, "batches need a fixed number of coordinates")

    def _validate(self):
        if self.n_components is not None:
            require_count(self.n_components, "n_components", 1, " (or None, for all)")
        if self.preimage not in ("learned", "fixed_point"):
            raise ValueError(f"preimage must be 'learned' or 'fixed_point', got {self.preimage!r}")
        require_positive(self.tol, "tol")

    def _start(self, X: Any) -> tuple[Any, Any]:
        """Check everything; forget an earlier fit."""
        self._validate()
        kernel, engine, points = self._door(X)
        for name in ("moments_", "_coordinates", "_inverse", "_examples", "components_", "mean_"):
            self.__dict__.pop(name, None)
        return self._bind(kernel, points, engine, X)[0], engine

    def _representation(self, points: Any, engine: Any) -> Representation:
        """What is asked for, or chosen, with the reason in `plan_`."""
        asked = _resolve.representation_of(self.representation)
        chosen, why = representation_without_loss(asked, self.kernel_, points, engine, self._centres())
        return self._plan(chosen, engine, why)

    def _centres(self) -> int:
        return max(_CENTRES, 10 * (self.n_components or 0))

    def _plan(self, chosen: Representation, engine: Any, why: str) -> Representation:
        self.plan_ = Plan(chosen, None, engine, 0, reasons=(why,))
        return chosen

    # -- all examples -----------------------------------------------------------------------------

    def _fit_full(self, X: Any, engine: Any) -> np.ndarray:
        K = engine.operator(self.kernel_, X)
        n = K.shape[0]
        count = min(self.n_components or n, n)
        sums = K @ np.ones(n)
        # Without negative eigenvalues their sum is the trace; with them all have to be known.
        many, rng = count if self._definite else n, generator(self.random_state)
        values, vectors, found = eigenpairs(K, many, float(self.tol), rng)
        squared_mean = float(sums.sum()) / n**2
        total = float(np.sum(K.diag())) - n * squared_mean
        values = np.maximum(values, 0)
        if not self._definite:
            total, values, vectors = float(values.sum()), values[:count], vectors[:, :count]
        there = values > _NOTHING * max(float(values.max(initial=0.0)), _NOTHING * abs(total))
        if self.n_components is None:
            values, vectors, there = values[there], vectors[:, there], there[there]
        roots = np.sqrt(np.where(there, values, 1))
        vectors = np.where(there, vectors * signs(vectors), 0)
        coef = vectors / roots

        def lift(c: np.ndarray) -> KernelFunction:
            return KernelFunction(self.kernel_, X, c, engine)

        self._keep(lift, coef, np.full(n, 1 / n), sums / n @ coef, squared_mean)
        self._explain(values, total, n, found)
        return like(vectors * roots, X)

    # -- coordinates ------------------------------------------------------------------------------

    def _begin(self, representation: Representation, X: Any, engine: Any) -> None:
        """Orthonormal coordinates for the span of centres or features, and the first batch in them."""
        self._span(representation, X, engine)
        self._see(X)

    def _span(self, representation: Any, X: Any, engine: Any, **n: int) -> Built:
        built = representation.build(self.kernel_, X, generator(self.random_state), engine, **n)
        T = None
        if not isinstance(representation, Features):
            T = whitening(np.asarray(built.B.dense(), np.float64), built.A.dtype)
        self._coordinates = OrthonormalCoordinates(built.lift(np.zeros(built.A.shape[1])), T)
        return built

    def _fit_elsewhere(self, X: Any) -> None:
        """One look at all rows, which live elsewhere, and one pass for their scatter."""
        self._validate()
        survey = surveyed(self, X, centres=self._centres())
        points, engine = self._start(survey.sample.X)
        built = self._span(survey.representation, points, engine, n=survey.n)
        survey.name_features(self)
        self.moments_: Moments = Moments.elsewhere(survey, built, self._coordinates.whitening)
        if not isinstance(self.kernel_, Linear):
            self._examples = preimages.sampled(None, 0, points)
        p, why = built.A.shape[1], f"{survey.why}; one pass over all rows, after a first look"
        # Centres among themselves, factors, and the sums of each thread.
        self.plan_ = survey.plan(engine, float(survey.n) * p * p, 8 * (6 + 2 * cpu_count()) * p * p, why)
        self._decompose()

    def _see(self, X: Any) -> None:
        """Take in rows, and decompose the scatter of all that were seen."""
        if self.kernel_.vectors and not isinstance(self.kernel_, Linear):
            seen = self.moments_.count if hasattr(self, "moments_") else 0
            self._examples = preimages.sampled(getattr(self, "_examples", None), seen, X)
        squares = float(np.sum(self.kernel_.diagonal(X), dtype=np.float64))
        fresh = Moments.of(self._coordinates.operator(X), self._coordinates.whitening, squares)
        self.moments_ = self.moments_.and_of(fresh) if hasattr(self, "moments_") else fresh
        self._decompose()

    def _decompose(self) -> None:
        """Components from the scatter."""
        moments, coordinates = self.moments_, self._coordinates
        p = len(moments.mean)
        count = min(self.n_components or p, p)
        span = [p - count, p - 1]
        values, vectors = interruptible(lambda: eigh(moments.scatter, subset_by_index=span))
        values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        squared_mean = float(moments.mean @ moments.mean)
        # Features of their own hold all of the variance; centres leave some of it out.
        total = float(np.trace(moments.scatter))
        if coordinates.whitening is not None:
            total = max(moments.squares - moments.count * squared_mean, total)
        if self.n_components is None:
            there = values > _NOTHING * max(float(values.max(initial=0.0)), np.finfo(float).tiny)
            values, vectors = values[there], vectors[:, there]
        vectors = vectors * self._signs(vectors)
        self._keep(
            coordinates.lift,
            coordinates.coefficients(vectors),
            coordinates.coefficients(moments.mean),
            moments.mean @ vectors,
            squared_mean,
        )
        how = f"the {p:,}×{p:,} scatter of {moments.count:,} examples, decomposed"
        self._explain(values, total, moments.count, Decomposition(how, "exact", 0, np.zeros(len(values))))
        if isinstance(self.kernel_, Linear) and isinstance(self.function_, FeatureFunction):
            self.components_, self.mean_ = np.ascontiguousarray(vectors.T), moments.mean

    def _signs(self, vectors: np.ndarray) -> np.ndarray:
        """Signs of components: by their values at the centres, which do not depend on coordinates."""
        if self._coordinates.whitening is None:
            return signs(vectors)
        f = self._coordinates.lift(self._coordinates.coefficients(vectors))
        return signs(f.at_points(f.points))

    def _keep(self, lift: Callable, coef, mean, shift, squared_mean: float) -> None:
        self.function_ = lift(coef)
        self.mean_function_: Function = lift(mean)
        self.intercept_, self.mean_squared_norm_ = -shift, squared_mean
        self.n_components_ = coef.shape[1]
        self.__dict__.pop("_inverse", None)

    def _explain(self, values: np.ndarray, total: float, n: int, found: Decomposition) -> None:
        self.eigenvalues_ = values
        self.explained_variance_ = values / max(n - 1, 1)
        self.explained_variance_ratio_ = values / total if total > 0 else np.zeros_like(values)
        self.n_samples_seen_, self.decomposition_ = n, found
        reasons = (self.plan_.reasons[0], found.how)
        self.plan_ = replace(self.plan_, examples=n, unknowns=len(self.function_), reasons=reasons)

    holds = {
        "function_": Function,
        "mean_function_": Function,
        "n_components_": COUNT,
        "mean_squared_norm_": NUMBER,
        **dict.fromkeys(
            ("intercept_", "eigenvalues_", "explained_variance_", "explained_variance_ratio_"),
            ArraySpec("f", "n_components_"),
        ),
    }

    def check_state(self) -> None:
        super().check_state()
        f, mean = self.function_, self.mean_function_
        require(f.outputs == self.n_components_, "there are not as many functions as components")
        same = type(mean) is type(f) and mean.outputs is None and len(mean) == len(f)
        require(same, "the mean is another's")
        if "moments_" in vars(self):
            require_held(self, {"moments_": Moments, "_coordinates": OrthonormalCoordinates})
            zero, size = self._coordinates.zero, len(self._coordinates)
            same = type(zero) is type(f) and len(zero) == len(f) and size == len(self.moments_.mean)
            require(same, "moments_ are those of other coordinates")
        if "components_" in vars(self):
            weights = ArraySpec("f", "n_components_", "n_features_in_")
            require_held(self, {"components_": weights, "mean_": ArraySpec("f", "n_features_in_")})

    @follows_data
    def transform(self, X):
        """t_j(x) = f_j(x) − f̄_j, shape (n, k)."""
        check_is_fitted(self, "function_")
        X = self.check_new(X)
        return like(self.function_(X) + self.intercept_, X)

    def reconstruction_error(self, X):
        """Squared distance in feature space between φ(x) and its projection, for every row.

        ‖φ(x) − μ‖² − Σ_j t_j(x)²: what the components leave out. Over the examples its sum is the sum of the
        eigenvalues that were not taken.
        """
        check_is_fitted(self, "function_")
        X = self.check_new(X)
        if isinstance(self.input_kernel_, Precomputed):
            raise ValueError("k(x,x) of new points isn't known from a matrix: give the kernel itself")
        scores = np.asarray(self.function_(X), dtype=np.float64) + self.intercept_
        squares = np.asarray(self.kernel_.diagonal(self.kernel_.points(X)), dtype=np.float64)
        squares = squares - 2 * self.mean_function_(X) + self.mean_squared_norm_
        return np.maximum(squares - np.einsum("ij,ij->i", scores, scores), 0)

    @follows_data
    def inverse_transform(self, T):
        """Points whose embeddings are near T (n, k): pre-images.

        Exact for the linear kernel. Otherwise no point need have just this embedding; see `preimage`. The
        first call learns the way back, from at most 2,000 examples, which takes about a second.
        """
        check_is_fitted(self, "function_")
        T = check_array(on_host(T), dtype=[np.float64, np.float32])
        if T.shape[1] != self.n_components_:
            raise ValueError(f"T has {T.shape[1]} columns, but there are {self.n_components_} components")
        return like(self._preimages(T.astype(np.float64, copy=False)), T)

    def _preimages(self, T: np.ndarray) -> np.ndarray:
        if hasattr(self, "components_"):
            return T @ self.components_ + self.mean_
        if not hasattr(self, "_inverse"):
            points = getattr(self, "_examples", getattr(self.function_, "points", None))
            self._inverse = preimages.learned(self.function_, self.intercept_, self.kernel_, points)
        start = self._inverse.predict(T).reshape(len(T), -1)
        if self.preimage == "learned":
            return start
        return preimages.fixed_point(self.function_, self.mean_function_, T, start)
