"""What a kernel is: k(X, Z) → matrix, closed under + * ** and friends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._params import Params, is_number, require_positive, show
from mercer.codegen.formula import PairTracer, View
from mercer.codegen.symbols import NotTraceable
from mercer.kernels.points import as_vectors, counted, double, inverse_root_of, require_one_kind

if TYPE_CHECKING:
    from mercer.kernels import algebra, transforms, unary
    from mercer.kernels.counts import Counts
    from mercer.kernels.order import Order
    from mercer.kernels.separation import AllPairs

Monomial = tuple[int, ...]
# Of derivatives, one a feature: 64 MB of doubles.
_NUMBERS_AT_ONCE = 1 << 23


class Kernel(Params):
    """A positive semidefinite function k(x, x') as a value object.

    A subclass gives `pairwise`; everything else is derived. ``k(X)`` is the Gram matrix,
    ``k(X, Z)`` the cross matrix, ``k.diag(X)`` the diagonal. ``+``, ``*``, ``**``, `exp`,
    `normalize`, `on`, `scaled`, `metric` and `pullback` build new kernels from old ones.

    >>> from mercer.kernels import Gaussian, Linear
    >>> (2 * Gaussian(1.0) + Linear())([[1.0]], [[1.0], [2.0]]).round(3)
    array([[3.   , 3.213]])
    """

    # NumPy would spread `array * k` over the entries; this way `number * k` reaches __rmul__ below.
    __array_ufunc__ = None

    # Parameters that must be positive numbers (None = found from the data by `resolve`).
    positive: tuple[str, ...] = ()
    # Those of them whose logarithm `gradient_log_params` differentiates in.
    log_params: tuple[str, ...] = ()
    # The one of them that says what a common factor of all coordinates says, if there is one.
    width: str = ""
    # Are the points rows of a numeric table (rather than strings, graphs, indices, …)?
    vectors: bool = True
    # Is it an inner product of sparse features, which `counts` gives?
    has_counts: bool = False
    # Does the kernel take SciPy sparse matrices?
    sparse: bool = False
    # Does `child_points` multiply them, so that far from the origin float32 loses what sets them apart?
    rounds: bool = False
    # Is k^p a kernel for every real p > 0?
    infinitely_divisible: bool = False
    # Is it the wish to work with a function that need not be positive semidefinite? Machines refuse such a
    # function otherwise; here they warn, and claim less.
    indefinite: bool = False

    # -- required ---------------------------------------------------------------------------------

    def pairwise(self, X: Any, Z: Any) -> np.ndarray:
        """k(x_i, z_j) for checked points: the one method a new kernel must have."""
        raise NotImplementedError(f"{type(self).__name__} must define pairwise(X, Z)")

    def formula(self, tracer: PairTracer, view: View) -> Any:
        """k(x, z) in symbols, for engines that make one loop of it (see `mercer.codegen.formula`)."""
        raise NotTraceable(f"{type(self).__name__} is no formula in vectors")

    # -- calling ----------------------------------------------------------------------------------

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        self.validate()
        self.require_resolved()
        X = self.points(X)
        Z = X if Z is None else self.points(Z)
        self.require_same_width(X, Z)
        return self.pairwise(X, Z)

    def diag(self, X: Any) -> np.ndarray:
        """k(x_i, x_i) for every point, without the matrix."""
        self.validate()
        self.require_resolved()
        return self.diagonal(self.points(X))

    def diagonal(self, X: Any) -> np.ndarray:
        """`diag` for checked points."""
        return np.array([self.pairwise(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])])

    def cosines(self, X: Any, Z: Any, norms_x: np.ndarray, norms_z: np.ndarray) -> np.ndarray:
        """k(x,z)/√(k(x,x)k(z,z)) of checked points, 0 where k(x,x) = 0: what `normalize` computes.

        For kernels whose values may be too large or too small for a float, though these are not.
        """
        return norms_x[:, None] * self.pairwise(X, Z) * norms_z[None, :]

    def norms(self, X: Any) -> np.ndarray:
        """What `cosines` needs to know of each checked point by itself, in rows."""
        return self.inverse_root(X)

    def inverse_root(self, X: Any) -> np.ndarray:
        """1/√k(x,x) of checked points, 0 where k(x,x) = 0."""
        return inverse_root_of(self.diagonal(X))

    def nonzero(self, X: Any) -> np.ndarray:
        """1 where k(x,x) > 0 and else 0, for checked points."""
        diagonal = self.diagonal(X)
        return (diagonal > 0).astype(diagonal.dtype)

    def squared_distance(self, X: Any, Z: Any = None) -> np.ndarray:
        """‖φ(x)−φ(z)‖² = k(x,x) + k(z,z) − 2k(x,z): the distance the kernel induces, squared.

        In float64 and, where the formula allows it, from differences of the points: near points far from the
        origin keep their distance.

        >>> from mercer.kernels import Linear
        >>> float(Linear().distance([[1e8]], [[1e8 + 2.0**-13]])[0, 0]) == 2.0**-13
        True
        """
        from mercer.kernels.separation import AllPairs, separation

        self.validate()
        self.require_resolved()
        same, X = Z is None, double(self.points(X))
        Z = X if same else double(self.points(Z))
        self.require_same_width(X, Z)
        D = np.maximum(separation(self, X, Z, AllPairs()), 0)
        if same:
            np.fill_diagonal(D, 0)
        return D

    def separation(self, X: Any, Z: Any, pairs: AllPairs) -> np.ndarray:
        """`squared_distance` of checked points, which rounding may leave below 0 (see that module)."""
        from mercer.kernels.separation import by_formula

        return by_formula(self, X, Z, pairs)

    def distance(self, X: Any, Z: Any = None) -> np.ndarray:
        """The kernel-induced distance ‖φ(x)−φ(z)‖."""
        return np.sqrt(self.squared_distance(X, Z))

    # -- points -----------------------------------------------------------------------------------

    def points(self, X: Any) -> Any:
        """Check X and bring it into the form `pairwise` takes (here: a 2-D float array)."""
        return as_vectors(X, sparse=self.sparse, what=type(self).__name__)

    def prepared(self, X: Any) -> Any:
        """Checked points in the form in which `pairwise` is fastest: computed once by whoever holds them.

        What this gives has a shape and is taken apart like points, and `pairwise` takes it in their place.
        """
        return self.counts(X) if self.has_counts else X

    def counts(self, X: Any) -> Counts:
        """φ(x) of every point, with φ(x)·φ(z) = k(x,z), where these features are sparse (`has_counts`)."""
        raise NotImplementedError(f"{type(self).__name__} has no sparse features")

    def spelled(self, X: Any) -> dict[int, str]:
        """What the sparse features of checked points are, in words, by their numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no words for its features")

    @staticmethod
    def require_same_width(X, Z) -> None:
        """Raise ValueError where points on two sides have not the same coordinates, or kind of letters."""
        require_one_kind(X, Z)
        if getattr(X, "ndim", 1) == 2 and getattr(Z, "ndim", 1) == 2 and X.shape[1] != Z.shape[1]:
            raise ValueError(
                f"points have {X.shape[1]} coordinates on one side and {Z.shape[1]} on the other"
            )

    # -- parameters from the data -----------------------------------------------------------------

    def children(self) -> dict[str, Kernel]:
        """Parameters that are themselves kernels."""
        return {k: v for k, v in self.get_params(deep=False).items() if isinstance(v, Kernel)}

    def child_points(self, X: Any) -> Any:
        """The points that child kernels see when this kernel sees X."""
        return X

    def unresolved(self) -> list[str]:
        """Names of parameters still to be found from data."""
        own = [p for p in self.positive if getattr(self, p) is None]
        return own + [f"{c}__{p}" for c, k in self.children().items() for p in k.unresolved()]

    def require_resolved(self) -> None:
        """Raise ValueError if a parameter is still to be found from data."""
        missing = self.unresolved()
        if missing:
            raise ValueError(
                f"{self!r} leaves {', '.join(missing)} to the data: "
                f"give a value, or call kernel.resolve(X) to choose one from X"
            )

    def resolve(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """A kernel whose data-driven parameters are set from X; itself if there are none.

        A row of weight 2 counts as two rows, and one of weight 0 as none.
        """
        self.validate()
        if not self.unresolved():
            return self
        X, weights = counted(self.points(X), weights)
        found = self.from_data(X) if any(getattr(self, p) is None for p in self.positive) else {}
        kernel = self.replace(**found)
        inner = kernel.children()
        if not inner:
            return kernel
        inside = kernel.child_points(X)
        return kernel.replace(**{name: k.resolve(inside, weights) for name, k in inner.items()})

    def from_data(self, X: Any) -> dict[str, Any]:
        """Values for this kernel's own unresolved parameters, from rows that count."""
        return {}

    def bind(self, X: Any) -> tuple[Kernel, Any]:
        """At fit: (resolved kernel, training points in the form the kernel takes)."""
        X = self.points(X)
        return self.resolve(X), X

    # -- checking ---------------------------------------------------------------------------------

    def require_maps(self, X: Any) -> None:
        """Raise ValueError if a map of points, here or in a child, does not treat every point by itself."""
        inner = [child for child in self.children().values() if child.maps_points]
        if inner:
            few = self.child_points(X[:2])
            for child in inner:
                child.require_maps(few)

    @property
    def maps_points(self) -> bool:
        """Is a function of the user's applied to the points, here or in a child?"""
        return any(child.maps_points for child in self.children().values())

    def validate(self) -> None:
        found = (type(self).from_data, type(self).resolve) != (Kernel.from_data, Kernel.resolve)
        for name in self.positive:
            value = getattr(self, name)
            if name == "sigma" and isinstance(value, (list, tuple, np.ndarray)):
                raise ValueError(
                    f"{type(self).__name__}: sigma must be a positive number, got {show(value)}; for one a "
                    f"column write {type(self).__name__}(sigma=1.0).scaled({show(value)})"
                )
            if not (found and value is None):
                require_positive(value, f"{type(self).__name__}: {name}")
        for child in self.children().values():
            child.validate()

    def rule(self) -> str | None:
        """Why this is a kernel, by construction; None if no rule says so."""
        return None

    def strictly(self) -> str:
        """Why matrices on distinct vectors are positive definite; "" if no rule says so.

        >>> from mercer.kernels import Gaussian, Linear
        >>> (Gaussian(1.0) + Linear()).strictly()
        'the Gaussian kernel has a spectral density that is positive everywhere'
        >>> Linear().strictly()
        ''
        """
        return ""

    # -- derivatives ------------------------------------------------------------------------------

    def gradient_x(self, X: Any, Z: Any) -> np.ndarray:
        """∂k(x_i, z_j)/∂x_i, shape (n, m, d)."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative in x")

    def gradient_log_params(self, X: Any, Z: Any) -> dict[str, np.ndarray]:
        """∂k(x_i, z_j)/∂log θ for every positive continuous parameter θ, by (nested) name.

        A parameter with one value per feature gives shape (n, m, d), others (n, m).
        """
        raise NotImplementedError(f"{type(self).__name__} has no derivative in its parameters")

    def vjp_log_params(self, X: Any, W: np.ndarray) -> dict[str, Any]:
        """Σ_ij W_ij ∂k(x_i, x_j)/∂log θ for every positive continuous parameter θ, by (nested) name.

        What a derivative of a function of the Gram matrix needs: W holds its slope in each entry. A number,
        or for a parameter with one value per feature d of them.
        """
        n, d = X.shape[0], X.shape[1] if getattr(X, "ndim", 1) == 2 else 1
        step = max(1, _NUMBERS_AT_ONCE // max(n * d, 1))
        total: dict[str, Any] = {}
        for a in range(0, n, step):
            for name, slope in self.gradient_log_params(X[a : a + step], X).items():
                part = np.tensordot(W[a : a + step], slope, axes=2)
                total[name] = total[name] + part if name in total else part
        return {k: v if np.ndim(v) else float(v) for k, v in total.items()}

    # -- optional knowledge -----------------------------------------------------------------------

    def frequencies(self, rng: np.random.Generator, count: int, d: int) -> np.ndarray:
        """Draw (count, d) frequencies from the spectral density (Bochner); k is then
        k(0)·E cos(ω·(x−z))."""
        raise NotImplementedError(
            f"{type(self).__name__} has no spectral density: random Fourier features need a "
            f"translation-invariant kernel such as Gaussian, Laplacian, Matern or RationalQuadratic; "
            f"Nystrom centres work with every kernel"
        )

    def density(self, W: np.ndarray) -> np.ndarray:
        """k̂ at the rows of W: what `spectral_density` computes."""
        raise NotImplementedError(f"the spectral density of {self!r} is not known in closed form")

    def raised(self, p: float) -> Kernel | None:
        """A kernel that is k^p, p > 0, without a power in its formula; None if none is known."""
        return None

    def amplitude(self) -> float:
        """k(x, x) of a translation-invariant kernel."""
        raise NotImplementedError(f"{type(self).__name__} is not translation-invariant")

    def induced_order(self, view: View) -> Order | None:
        """By which plain distance the one this kernel induces orders points; None if no rule says so."""
        return None

    def expansion(self, d: int) -> dict[Monomial, float] | None:
        """k(x,z) = Σ_a w_a x^a z^a as {monomial: w_a}, where the kernel is a polynomial.

        A monomial is a sorted tuple of coordinates: () is 1, (0, 2) is x₀x₂, (1, 1) is x₁².
        """
        return None

    def expansion_size(self, d: int) -> float:
        """Number of monomials of `expansion`, an upper bound found without listing them."""
        return math.inf

    # -- algebra ----------------------------------------------------------------------------------

    def __add__(self, other: Any) -> algebra.Sum:
        from mercer.kernels.algebra import Constant, Sum

        if is_number(other):
            if other < 0:
                raise ValueError(
                    f"k + ({other!r}) is not a kernel in general: a constant must be nonnegative"
                )
            other = Constant(other)
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        from mercer.kernels.algebra import Product
        from mercer.kernels.unary import Scale

        if is_number(other):
            if not other >= 0:
                raise ValueError(
                    f"{other!r}·k is not a kernel: the factor must be nonnegative, or cᵀKc changes sign"
                )
            return Scale(self, other)
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * (1 / other) if is_number(other) and other != 0 else NotImplemented

    def __sub__(self, other: Any) -> Any:
        raise TypeError(
            "a difference of kernels is not a kernel in general; to test one, pass the function "
            "to mercer.kernels.check, or wrap it in FunctionKernel"
        )

    __rsub__ = __sub__

    def __neg__(self) -> Any:
        raise ValueError("-k is not a kernel: its Gram matrices are negative semidefinite")

    def __pow__(self, exponent: Any) -> unary.Power:
        from mercer.kernels.unary import Power

        if not is_number(exponent):
            return NotImplemented
        power = Power(self, exponent)
        power.validate()
        return power

    def exp(self) -> unary.Exp:
        """exp(k): a limit of polynomials in k with positive coefficients."""
        from mercer.kernels.unary import Exp

        return Exp(self)

    def normalize(self) -> unary.Normalized:
        """k(x,z)/√(k(x,x)k(z,z)): every feature vector brought to length one."""
        from mercer.kernels.unary import Normalized

        return Normalized(self)

    def on(self, columns: Any) -> transforms.OnColumns:
        """The same kernel, looking only at some columns."""
        from mercer.kernels.transforms import OnColumns

        return OnColumns(self, columns)

    def scaled(self, lengths: Any = None) -> transforms.LengthScales:
        """One length scale per feature: k(x/ℓ, z/ℓ). None takes standard deviations at fit."""
        from mercer.kernels.transforms import LengthScales

        return LengthScales(self, lengths)

    def metric(self, matrix: Any) -> transforms.Mahalanobis:
        """A Mahalanobis metric M: k(M^½x, M^½z)."""
        from mercer.kernels.transforms import Mahalanobis

        return Mahalanobis(self, matrix)

    def pullback(self, map: Any) -> transforms.PullBack:
        """k∘φ: k(φ(x), φ(z)) for any map φ of point sets."""
        from mercer.kernels.transforms import PullBack

        return PullBack(self, map)
