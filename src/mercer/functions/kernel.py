"""Functions of a kernel: f = Σ α_i k(x_i,·)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._state import positions, require
from mercer._xp import frozen, issparse, n_points, take
from mercer.engines import Engine, Tiled
from mercer.functions import terms
from mercer.functions.base import (
    Function,
    as_coefficients,
    as_columns,
    column_products,
    one_point,
    require_is_kernel,
)
from mercer.kernels import Kernel
from mercer.kernels.points import as_objects, double
from mercer.kernels.separation import AllPairs, separation
from mercer.operators import KernelOperator

# Numbers held at once while differentiating: 32 MB of doubles.
_ENTRIES = 1 << 22
_TERMS_AT_ONCE = 1024
# Norms are computed from distances where the terms are so much smaller than those of αᵀKα.
_CANCELS = 1e-2


class KernelFunction(Function):
    """f = Σ α_i k(x_i,·), an element of H_K.

    Parameters
    ----------
    kernel : Kernel
        With no parameter left to the data; ``kernel.resolve(X)`` sees to that.
    points : n points x_i, as the kernel takes them
    coef : array, shape (n,) or (n, t)
        α; with t columns the object is t functions on the same points.
    engine : Engine, optional
        Where products with K are computed; None is ``Tiled()``, the CPU in bounded memory.

    Notes
    -----
    The inner product is ⟨f, g⟩ = αᵀKβ, in float64 whatever the points; it reproduces,
    ⟨f, k(x,·)⟩ = f(x). ``f(X)`` has the common dtype of the kernel values and α. In a sum, terms at
    the same point are put together, so f ← f − η∇E[f] grows only by the points that are new.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> k = Gaussian(1.0)
    >>> f = KernelFunction(k, [[0.0], [1.0]], [2.0, -1.0])
    >>> f
    KernelFunction(Gaussian(sigma=1.0), 2 terms)
    >>> f([[0.0], [1.0]]).round(4)
    array([1.3935, 0.2131])
    >>> round(f @ section(k, [0.0]), 4)
    1.3935
    >>> (3 * f - f).distance(2 * f)
    0.0
    """

    def __init__(self, kernel: Kernel, points: Any, coef: Any, engine: Engine | None = None):
        kernel = _settled(_checked(kernel))
        points = frozen(as_objects(kernel.points(points)))
        coef = as_coefficients(coef)
        if coef.ndim not in (1, 2) or coef.shape[0] != n_points(points):
            raise ValueError(
                f"coef must have shape ({n_points(points)},) or ({n_points(points)}, t), one row for each "
                f"point; got {coef.shape}"
            )
        self._set(kernel, points, coef, engine if engine is not None else Tiled())

    # Which coefficients are not zero, where those of some outputs are in many terms: see `in_groups`.
    _groups: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    holds = {"_groups": tuple[tuple[np.ndarray, np.ndarray], ...]}

    @classmethod
    def from_state(cls, parameters, state):
        """The function again, on the CPU where its engine's device is not there."""
        engine, shape = parameters.get("engine"), np.shape(parameters["coef"])
        engine = None if engine is None else engine.usable()
        if len(shape) in (1, 2) and shape[0] == 0:
            # Of the points of a sum without terms not even the form is known.
            return zero(parameters["kernel"], shape[1] if len(shape) == 2 else None, engine)
        return super().from_state({**parameters, "engine": engine}, state)

    def check_state(self) -> None:
        """Refuse groups of terms that are not there."""
        require(isinstance(self.engine, Engine), "a function has no engine")
        for rows, columns in self._groups:
            there = positions(rows, len(self)) and positions(columns, self.outputs or 0)
            require(there, "groups of terms are of other terms or outputs")

    def try_state(self) -> None:
        """The value at one of its points."""
        if len(self):
            self(take(self.points, slice(0, 1)))

    def _set(self, kernel, points, coef, engine):
        self.kernel, self.points, self.coef, self.engine = kernel, points, coef, engine

    # K(points, points), and of each group of terms, bound when first asked for: what is prepared of them
    # serves all predictions.
    _bound: KernelOperator | None = None
    _bound_groups: tuple[tuple[KernelOperator, np.ndarray, np.ndarray], ...] = ()

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if not name.startswith("_bound")}

    @property
    def n_features(self):
        return self.points.shape[1] if self.kernel.vectors and len(self) else None

    def in_groups(self, labels: np.ndarray) -> KernelFunction:
        """The same functions, told that terms with the same label count in the same few outputs.

        Values are then computed group by group, without the products with zero.
        """
        f = self._made(self.points, self.coef)
        groups = []
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            groups.append((rows, np.flatnonzero(self.coef[rows].any(axis=0))))
        f._groups = tuple(groups)
        return f

    def _made(self, points: Any, coef: np.ndarray) -> KernelFunction:
        # The points were checked when they first came in; checking costs a pass over them.
        f = object.__new__(KernelFunction)
        f._set(self.kernel, points, coef, self.engine)
        return f

    def on_engine(self, engine: Engine) -> KernelFunction:
        """The same function, its values computed by another engine.

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> f = KernelFunction(Gaussian(1.0), [[0.0], [1.0]], [2.0, -1.0])
        >>> f.on_engine(Tiled(threads=1))([[0.0]]).round(4)
        array([1.3935])
        """
        f = self._made(self.points, self.coef)
        f.engine, f._groups = engine, self._groups
        return f

    def with_coef(self, coef):
        return self._made(self.points, coef)

    def zero(self):
        return self._made(self.points[:0], self.coef[:0])

    def combination(self, X, coef):
        return self._made(frozen(self._points(X)), as_coefficients(coef))

    def _space(self):
        return repr(self.kernel)

    def _points(self, X: Any) -> Any:
        X = as_objects(self.kernel.points(X))
        if len(self):
            self.kernel.require_same_width(X, self.points)
        return X

    def facing(self, X: Any) -> KernelOperator:
        """K(X, points) as an operator; what it takes to make it is prepared once and kept with f."""
        return self._facing(self._points(X))

    def _facing(self, X: Any) -> KernelOperator:
        if self._bound is None:
            self._bound = self.engine.operator(self.kernel, self.points)
        return self._bound.facing(X)

    def __call__(self, X):
        return self.at_points(self._points(X))

    def at_points(self, X):
        if not len(self):
            return np.zeros((n_points(X), *self.coef.shape[1:]), self.coef.dtype)
        if not self._groups:
            return self._facing(X).product(self.coef)
        if not self._bound_groups:
            self._bound_groups = tuple(
                (
                    self.engine.operator(self.kernel, take(self.points, rows)),
                    columns,
                    self.coef[np.ix_(rows, columns)],
                )
                for rows, columns in self._groups
            )
        out = np.zeros((n_points(X), self.coef.shape[1]))
        for K, columns, coef in self._bound_groups:
            out[:, columns] += K.facing(X).product(coef)
        return out

    def _kernel(self):
        return self.kernel

    def _require_same_space(self, g):
        super()._require_same_space(g)
        if self.kernel is not g.kernel and self.kernel != g.kernel:
            raise ValueError(
                f"functions of different kernels live in different spaces: {self.kernel!r} and {g.kernel!r}"
            )

    def _plus(self, g):
        if not len(self) or not len(g):
            return self if len(self) else g
        f, g = (self, g) if len(self) >= len(g) else (g, self)
        points, where = terms.place(f.points, g.points)
        coef = np.zeros((n_points(points), *f.coef.shape[1:]), np.result_type(f.coef, g.coef))
        coef[: len(f)] = f.coef
        np.add.at(coef, where, g.coef)
        return self._made(points, coef)

    def _inner(self, g):
        if not len(self) or not len(g):
            several = self.outputs or g.outputs
            return np.zeros(several) if several else 0.0
        X = double(self.points)
        Z = X if g.points is self.points else double(g.points)
        values = self.engine.operator(self.kernel, X, Z).product(g.coef.astype(np.float64))
        return column_products(self.coef.astype(np.float64), values)

    def squared_norm(self):
        """αᵀKα, with K's rounding below zero set to 0; for t functions Σ_j ‖f_j‖²."""
        value = self._from_distances()
        if value is not None:
            return max(value, 0.0)
        value = super().squared_norm()
        if value < 0:
            # |α|ᵀ|K||α| ≤ (Σ|α_i|√k_ii)² bounds what rounding can have done.
            diagonal = self.kernel.diagonal(self.points)
            eps = np.finfo(np.result_type(diagonal, np.float32)).eps
            if value < -len(self) * eps * np.sum(self._weights(diagonal)) ** 2:
                raise ValueError(
                    f"‖f‖² = {value:.3g} < 0: {self.kernel!r} is not positive semidefinite "
                    f"(mercer.kernels.check finds such witnesses)"
                )
        return max(value, 0.0)

    def _from_distances(self) -> float | None:
        """Σα·Σ α_i k(x_i,x_i) − ½ Σ α_i α_j d(x_i,x_j)², which is αᵀKα; None where that loses more digits.

        Where coefficients add up to (almost) 0, as those of a difference of sections do, all large numbers
        are gone: distances are computed from differences of the points.
        """
        if not 1 < len(self) <= _TERMS_AT_ONCE or not self.kernel.vectors:
            return None
        alpha, X = as_columns(self.coef.astype(np.float64)), double(self.points)
        diagonal = np.asarray(self.kernel.diagonal(X), np.float64)
        total = alpha.sum(axis=0)
        # What rounding may do is a share of the sum of all terms' sizes: here, and in αᵀKα.
        there = np.sum((np.abs(alpha) * np.sqrt(np.maximum(diagonal, 0))[:, None]).sum(axis=0) ** 2)
        first = total @ (diagonal @ alpha)
        if not np.abs(total) @ (np.abs(diagonal) @ np.abs(alpha)) < _CANCELS * there:
            return None
        D = separation(self.kernel, X, X, AllPairs())
        np.fill_diagonal(D, 0)
        if not 0.5 * np.sum(np.abs(alpha) * (np.abs(D) @ np.abs(alpha))) < _CANCELS * there:
            return None
        return float(first - 0.5 * np.sum(alpha * (D @ alpha)))

    def _weights(self, diagonal: np.ndarray) -> np.ndarray:
        """‖α_i k(x_i,·)‖ for each term."""
        alpha = np.abs(self.coef) if self.coef.ndim == 1 else np.linalg.norm(self.coef, axis=1)
        return alpha * np.sqrt(np.maximum(diagonal, 0).astype(np.float64))

    def gradient(self, X: Any) -> np.ndarray:
        """∂f/∂x at each of a set of vectors: shape (m, d), or (m, t, d) for t functions.

        At a kink of the kernel (the centre of a Laplacian) the slope of its term counts as 0.

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> KernelFunction(Linear(), [[1.0, 2.0]], [3.0]).gradient([[0.0, 0.0]])
        array([[3., 6.]])
        """
        if not self.kernel.vectors:
            raise TypeError(f"{self.kernel!r} is not a kernel on vectors, so its functions have no gradient")
        X, Z = self._points(X), self.points
        (n, d), m = X.shape, len(self)
        alpha = as_columns(self.coef)
        out = np.zeros((n, alpha.shape[1], d), np.result_type(X.dtype, alpha))
        columns = max(min(_TERMS_AT_ONCE, m), 1)
        rows = max(_ENTRIES // (columns * max(d, 1)), 1)
        for i in range(0, n, rows):
            Xi = _dense(X[i : i + rows])
            for j in range(0, m, columns):
                slope = self.kernel.gradient_x(Xi, _dense(Z[j : j + columns]))
                out[i : i + rows] += np.einsum("imd,mt->itd", slope, alpha[j : j + columns], optimize=True)
        return out[:, 0] if self.outputs is None else out

    def compress(self, tol: float = 0.0) -> KernelFunction:
        """A function g with fewer terms and ‖f − g‖ ≤ tol·‖f‖.

        Terms at the same point are merged and terms with coefficient 0 dropped, which changes nothing.
        With tol > 0 the function is then projected onto few of its points, chosen greedily; where that
        would take too much memory or precision, the lightest terms are dropped instead, as many as
        Σ |α_i| √k(x_i,x_i) ≤ tol·‖f‖ allows.

        Parameters
        ----------
        tol : float ≥ 0
            Relative error allowed in the norm of H_K, and so |f(x) − g(x)| ≤ tol·‖f‖·√k(x,x).

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(0, 1, 200)[:, None]
        >>> f = KernelFunction(Gaussian(1.0), X, np.ones(200))
        >>> g = f.compress(1e-3)
        >>> len(g) < 10, f.distance(g) <= 1e-3 * f.norm()
        (True, True)
        """
        if not tol >= 0:
            raise ValueError(f"tol must be a number ≥ 0, got {tol!r}")
        f = self._made(*terms.merge(self.points, self.coef)) if len(self) else self
        if tol == 0 or not len(f):
            return f
        norm = f.norm()
        if norm == 0:
            return f.zero()
        light = terms.lightest(f._weights(self.kernel.diagonal(f.points)), tol * norm)
        best = f._made(take(f.points, light), f.coef[light])
        coef = f.coef.astype(np.float64)
        found = terms.greedy(self.kernel, double(f.points), coef, self.engine, tol)
        if found is not None and len(found[0]) < len(best):
            g = f._made(take(f.points, found[0]), found[1].astype(f.coef.dtype))
            # Rounding may have spoilt the projection: the promise is kept by measuring.
            if f.distance(g) <= tol * norm:
                return g
        return best


def section(kernel: Kernel, x: Any, engine: Engine | None = None) -> KernelFunction:
    """k(x,·), the representer of evaluation at x: ⟨f, k(x,·)⟩ = f(x).

    Examples
    --------
    >>> from mercer.kernels import Finite, Linear
    >>> section(Linear(), [1.0, 2.0])([[3.0, 4.0]])
    array([11.])
    >>> section(Finite([[2.0, 1.0], [1.0, 2.0]]), 0)([0, 1])
    array([2., 1.])
    """
    return KernelFunction(kernel, one_point(kernel, x), np.ones(1), engine)


def zero(kernel: Kernel, outputs: int | None = None, engine: Engine | None = None) -> KernelFunction:
    """The function 0 of H_K, without terms; with ``outputs``, that many of them.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> zero(Gaussian(1.0))([[1.0], [2.0]])
    array([0., 0.])
    """
    f = KernelFunction.__new__(KernelFunction)
    shape = (0,) if outputs is None else (0, outputs)
    # Which form a kernel's points have is not known without one; no method looks at these.
    f._set(_checked(kernel), np.empty((0, 0)), np.empty(shape), engine if engine is not None else Tiled())
    return f


def _checked(kernel: Any) -> Kernel:
    """The kernel; an error unless it is one, with all its parameters known."""
    require_is_kernel(kernel)
    kernel.validate()
    kernel.require_resolved()
    return kernel


def _settled(kernel: Kernel) -> Kernel:
    """A kernel of one's own, which nobody else can change: parameters and arrays, in children, too."""
    own: dict[str, Any] = {name: _settled(child) for name, child in kernel.children().items()}
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, np.ndarray):
            own[name] = frozen(value)
    return kernel.replace(**own)


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if issparse(X) else X
