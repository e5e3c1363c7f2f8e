"""What was observed, as a Gaussian process sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.functions import FeatureFunction, Function
from mercer.kernels.base import Kernel
from mercer.kernels.points import double
from mercer.kernels.slopes import LogSlope
from mercer.operators import L1, Identity, KernelOperator, Operator
from mercer.posterior import likelihood
from mercer.solvers import Problem


@dataclass(frozen=True, eq=False)
class Observations:
    """y_i = f(x_i) + b + ε_i with f ~ GP(0, s·k), ε_i ~ N(0, s·μ/w_i), μ = λn, and b with a flat prior, or 0.

    Attributes
    ----------
    A, B : operators of the problem: K(X,X) twice, K(X,Z) and K(Z,Z), or Φ(X) and I
    y : (n, t) targets
    w : (n,) weights with mean 1, all positive: an example of weight 0 is absent
    noise : μ, which is λ times the number of examples
    offset : is there a b?
    door : X ↦ points as the kernel takes them, checked
    single : is y one-dimensional?
    features : the function whose map gives Φ, where there is one

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> machine = KernelRidge(Gaussian(2.0), lam=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> seen = machine.posterior().seen
    >>> seen.kernel, seen.degrees, seen.names, np.exp(seen.theta).round(3)
    (Gaussian(sigma=2.0), 2, [('sigma', 1)], array([2. , 0.3]))
    """

    A: Operator
    B: Operator
    y: np.ndarray
    w: np.ndarray
    noise: float
    offset: bool
    door: Callable[[Any], Any]
    single: bool = True
    features: FeatureFunction | None = None

    @classmethod
    def of(
        cls, problem: Problem, function: Function | None, door: Callable[[Any], Any], single: bool
    ) -> Observations:
        """Those of a problem of least squares that is in memory."""
        if not problem.loss.quadratic or isinstance(problem.B, L1):
            raise ValueError(
                "a Gaussian process needs the squared loss and the penalty λ‖f‖²: the minimum is the mean of "
                "a posterior then"
            )
        A, B, y, w = problem.A, problem.B, problem.y.astype(np.float64), problem.w
        noise = problem.lam * problem.n
        if not w.all():
            # The others' weights get mean 1, and the noise of weight 1 with them: noise/w stays as it is.
            seen = np.flatnonzero(w)
            share = len(seen) / len(w)
            noise, w = noise * share, w * share
            A = A.among(seen, seen) if problem.full else A.among(seen)
            B, y, w = A if problem.full else B, y[seen], w[seen]
        features = function if isinstance(function, FeatureFunction) else None
        return cls(A, B, y, w, noise, problem.offset, door, single, features)

    @property
    def full(self) -> bool:
        """Is A = B = K(X, X)?"""
        return self.A is self.B

    @property
    def kernel(self) -> Kernel | None:
        """The kernel; None where there are features in its place."""
        return self.A.kernel if isinstance(self.A, KernelOperator) else None

    @property
    def degrees(self) -> int:
        """Degrees of freedom ν: n, or n − 1 with an offset."""
        return len(self.y) - self.offset

    @cached_property
    def varied(self) -> np.ndarray:
        """(t,) whether an output tells anything of f: not always the same with an offset, not 0 without."""
        return (np.ptp(self.y, axis=0) if self.offset else np.abs(self.y).max(axis=0)) > 0

    @property
    def constant(self) -> bool:
        """Is there an output that tells nothing of f?"""
        return not self.varied.all()

    @cached_property
    def names(self) -> list[likelihood.Named]:
        """Names of the kernel's continuous parameters; none where features are given."""
        return [] if self.kernel is None else likelihood.free_parameters(self.kernel)

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of these parameters and, last, of μ."""
        logs = np.zeros(0) if self.kernel is None else likelihood.logs_of(self.kernel, self.names)
        return np.append(logs, np.log(self.noise))

    def at(self, theta: Any) -> Observations:
        """The same data under other parameters."""
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != self.theta.shape:
            raise ValueError(
                f"theta has shape {theta.shape}; it needs the {len(self.theta)} logarithms of "
                f"{', '.join((*likelihood.labels_of(self.names), 'noise'))}"
            )
        if not np.isfinite(theta).all():
            raise ValueError(f"theta must be finite logarithms, got {theta.tolist()}")
        noise = float(np.exp(theta[-1]))
        A = self.A
        if not self.names or not isinstance(A, KernelOperator):
            return replace(self, noise=noise)
        kernel = likelihood.with_logs(A.kernel, self.names, theta)
        if self.full:
            K = A.engine.operator(kernel, A.X)
            return replace(self, A=K, B=K, noise=noise)
        there = A.engine.operator(kernel, A.X, A.Z)
        return replace(self, A=there, B=A.engine.operator(kernel, double(A.Z)), noise=noise)

    # -- values, in float64 -----------------------------------------------------------------------

    @cached_property
    def precise(self) -> Operator:
        """A in float64, where it can be had."""
        A = self.A.at(np.float64) if self.A.dtype != np.float64 else self.A
        return self.A if A is None else A

    def cross(self, points: Any) -> np.ndarray:
        """K(points, X), K(points, Z) or Φ(points)."""
        if self.features is not None:
            blocks = [dense(block) for _, block in self.features.blocks(double(points))]
            return np.concatenate(blocks) if blocks else np.zeros((0, self.A.shape[1]))
        A = self.precise
        assert isinstance(A, KernelOperator)
        return np.asarray(A.facing(double(points)).dense(), dtype=np.float64)

    def squares(self, points: Any) -> np.ndarray:
        """k(x, x) of points."""
        assert self.kernel is not None
        return np.asarray(self.kernel.diagonal(double(points)), dtype=np.float64)

    def gram(self, points: Any) -> np.ndarray:
        """K(points, points)."""
        A = self.precise
        assert isinstance(A, KernelOperator)
        return np.asarray(A.engine.operator(A.kernel, double(points)).dense(), dtype=np.float64)

    @property
    def by_features(self) -> bool:
        """Is f = ⟨u, φ⟩, so that features are all there is?"""
        return isinstance(self.B, Identity)


def in_precision_of(K: Operator, points: Any) -> Any:
    """Vectors in the precision of an operator's entries; other points as they are."""
    vectors = isinstance(K, KernelOperator) and K.kernel.vectors
    return points.astype(K.dtype, copy=False) if vectors else points


def dense(block: Any) -> np.ndarray:
    """A block of values as an array of float64."""
    return np.asarray(block.toarray() if issparse(block) else block, dtype=np.float64)


def slope_operators(seen: Any, K: KernelOperator) -> list[Any]:
    """∂K/∂log θ for every parameter of `seen.names`, by K's engine, in their order."""
    if not seen.names:
        return []
    if not isinstance(K.X, np.ndarray) or K.X.dtype.kind != "f":
        raise ValueError(
            f"{seen.kernel!r} on these points has no derivatives in its parameters: the gradient needs a "
            "kernel of vectors, and X as an array (X.toarray() if it is sparse)"
        )
    out = []
    for name, size in seen.names:
        indices = range(size) if name.endswith("lengths") else [None]
        out += [K.engine.operator(LogSlope(K.kernel, name, index), K.X) for index in indices]
    return out
