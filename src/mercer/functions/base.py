"""What functions of a Hilbert space have in common, whatever their coefficients multiply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mercer._xp import frozen, given_up, issparse, n_points
from mercer.kernels import Kernel
from mercer.kernels.points import as_objects, double


class Function(ABC):
    """An element f of a Hilbert space of functions (or t of them, as columns).

    A subclass says how to call f, how to take inner products, and how to add. What follows from
    these is here: differences, quotients, norms, distances.

    Attributes
    ----------
    coef : array, shape (p,) or (p, t)

    Examples
    --------
    >>> from mercer.functions import KernelFunction
    >>> from mercer.kernels import Gaussian
    >>> f, g = KernelFunction(Gaussian(1.0), [[0.0]], [2.0]), KernelFunction(Gaussian(1.0), [[1.0]], [1.0])
    >>> float(f.norm()), (2 * f - g)([[0.0]]).round(3).tolist()
    (2.0, [3.393])
    """

    __array_ufunc__ = None  # so that numpy_scalar * f comes here

    coef: np.ndarray

    # What is known besides what the constructor takes: see `mercer._state`.
    holds: dict[str, Any] = {}

    @classmethod
    def from_state(cls, parameters: dict[str, Any], state: dict[str, Any]) -> Function:
        """The function again; nobody else holds its arrays, so they are not copied."""
        f = cls(**{name: given_up(value) for name, value in parameters.items()})
        vars(f).update(state)
        return f

    @abstractmethod
    def __call__(self, X: Any) -> np.ndarray:
        """f at each of a set of points: shape (m,), or (m, t) for t functions."""

    def at_points(self, X: Any) -> np.ndarray:
        """f at points that are already checked, in the form in which the kernel takes them."""
        return self(X)

    def at(self, x: Any) -> Any:
        """f at one point, a vector or an object: a float, or shape (t,) for t functions."""
        value = self(one_point(self._kernel(), x))[0]
        return float(value) if self.outputs is None else value

    def inner(self, g: Function) -> Any:
        """⟨f, g⟩: a float, or shape (t,), column by column, where f or g is t functions."""
        self._require_same_space(g)
        if self.outputs and g.outputs and self.outputs != g.outputs:
            raise ValueError(f"{self!r} and {g!r} differ in their number of outputs")
        return self._inner(g)

    @abstractmethod
    def combination(self, X: Any, coef: np.ndarray) -> Function:
        """Σ coef_i k(x_i,·) as an element of the space of f."""

    @abstractmethod
    def with_coef(self, coef: np.ndarray) -> Function:
        """The same terms with other coefficients."""

    @abstractmethod
    def _plus(self, g: Any) -> Function: ...

    @abstractmethod
    def _inner(self, g: Any) -> Any:
        """That, of functions of one space."""

    @abstractmethod
    def _kernel(self) -> Kernel | None:
        """The kernel that says what points are; None for any vectors."""

    def _require_same_space(self, g: Any) -> None:
        if not isinstance(g, type(self)):
            raise TypeError(f"{self!r} and {g!r} live in different spaces")

    def __len__(self) -> int:
        """Number of terms."""
        return self.coef.shape[0]

    @property
    def n_features(self) -> int | None:
        """Of the vectors it is a function of; None where it takes others, or any."""
        raise NotImplementedError

    @property
    def outputs(self) -> int | None:
        """t if f is t functions at once, None if it is one."""
        return self.coef.shape[1] if self.coef.ndim == 2 else None

    def output(self, j: Any) -> Function:
        """Function j of t (or, given a slice or a list, several of them)."""
        if self.outputs is None:
            raise ValueError("this is a single function, it has no outputs to choose from")
        return self.with_coef(self.coef[:, j])

    def zero(self) -> Function:
        """The zero of the same space, with as many outputs."""
        return self.with_coef(np.zeros_like(self.coef))

    # -- vector space -----------------------------------------------------------------------------

    def __add__(self, g: Any) -> Function:
        if not isinstance(g, Function):
            # sum([f, g]) starts from 0, the one number that is an element of every space.
            return self if is_number(g) and g == 0 else NotImplemented
        self._require_same_space(g)
        if self.outputs != g.outputs:
            raise ValueError(f"{self!r} and {g!r} differ in their number of outputs, so they can't be added")
        return self._plus(g)

    __radd__ = __add__

    def __neg__(self) -> Function:
        return self.with_coef(-self.coef)

    def __sub__(self, g: Any) -> Function:
        return self + (-g)

    def __rsub__(self, g: Any) -> Function:
        return (-self) + g

    def __mul__(self, c: Any) -> Function:
        # A Python float is weak: it leaves float32 coefficients float32, as a NumPy double would not.
        return self.with_coef(self.coef * float(c)) if is_number(c) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, c: Any) -> Function:
        return self.with_coef(self.coef / float(c)) if is_number(c) else NotImplemented

    # -- Hilbert space ----------------------------------------------------------------------------

    def __matmul__(self, g: Any) -> Any:
        return self.inner(g) if isinstance(g, Function) else NotImplemented

    def squared_norm(self) -> float:
        """‖f‖² = ⟨f, f⟩; for t functions Σ_j ‖f_j‖²."""
        return float(np.sum(self.inner(self)))

    def norm(self) -> float:
        """‖f‖; for t functions the norm of the tuple, √Σ_j ‖f_j‖²."""
        return float(np.sqrt(self.squared_norm()))

    def distance(self, g: Function) -> float:
        """‖f − g‖."""
        return (self - g).norm()

    def project(self, points: Any) -> Function:
        """The orthogonal projection g of f onto the span of the sections k(z_j,·): of all Σ c_j k(z_j,·) the
        nearest to f.

        Since ⟨f, k(z,·)⟩ = f(z), that f − g is orthogonal to the sections says that g agrees with f at the
        points: g interpolates f there, and is of all functions that do the one of least norm. And ‖f‖² = ‖g‖²
        + ‖f − g‖². So among functions with given values at the examples none has a smaller norm than one in
        the span of their sections: the representer theorem.

        Parameters
        ----------
        points : m points z_j, as the kernel takes them
            They may be equal, and K(Z, Z) singular. An m×m matrix of doubles is made, and its eigenvectors.

        Returns
        -------
        Function
            On these points, with coefficients in float64.

        Examples
        --------
        >>> from mercer.functions import section
        >>> from mercer.kernels import Gaussian
        >>> k, Z = Gaussian(1.0), [[0.0], [1.0]]
        >>> f = section(k, [0.5]) - section(k, [2.0])
        >>> g = f.project(Z)
        >>> bool(np.allclose(g(Z), f(Z)))                                       # it agrees with f there
        True
        >>> bool(np.isclose(f.squared_norm(), g.squared_norm() + f.distance(g) ** 2))      # Pythagoras
        True
        """
        kernel = self._kernel()
        Z = as_objects(points) if kernel is None else double(as_objects(kernel.points(points)))
        sections = self.combination(Z, np.eye(n_points(Z)))
        K = np.asarray(sections(Z), np.float64)
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        # Directions without weight are rounding; f has nothing there, either.
        kept = values > len(K) * np.finfo(np.float64).eps * values.max(initial=0)
        V, seen = vectors[:, kept], np.asarray(self(Z), np.float64)
        return self.combination(Z, V @ ((V.T @ seen).T / values[kept]).T)

    def __repr__(self) -> str:
        several = "" if self.outputs is None else f", {self.outputs} outputs"
        return f"{type(self).__name__}({self._space()}, {len(self)} term{'s' * (len(self) != 1)}{several})"

    def _space(self) -> str:
        return ""


def is_number(c: Any) -> bool:
    """Is it a real number, Python's or NumPy's?"""
    return np.ndim(c) == 0 and np.asarray(c).dtype.kind in "fiu"


def as_coefficients(coef: Any) -> np.ndarray:
    """Coefficients as a float array of their own; float32 stays float32."""
    coef = np.asarray(coef)
    return frozen(coef if coef.dtype.kind == "f" else coef.astype(np.float64))


def column_products(a: np.ndarray, b: np.ndarray) -> Any:
    """a·b for each column: a float where both are vectors, else shape (t,)."""
    if a.ndim == b.ndim == 1:
        return float(a @ b)
    return np.sum(as_columns(a) * as_columns(b), axis=0)


def require_is_kernel(kernel: Any) -> None:
    """TypeError unless it is a kernel."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a mercer.kernels.Kernel, got {kernel!r}")


def one_point(kernel: Kernel | None, x: Any) -> Any:
    """A set with the single point x, where x is a vector, a number or any object the kernel takes."""
    if issparse(x):
        return x
    return np.reshape(x, (1, -1)) if kernel is None or kernel.vectors else [x]


def as_columns(a: np.ndarray) -> np.ndarray:
    """A vector as one column; columns as they are."""
    return a[:, None] if a.ndim == 1 else a
