"""The functionals everything is built from: f(x), ‖f‖², ⟨g, f⟩ and the mean loss on data."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.functions import Function, KernelFunction
from mercer.functions.base import one_point, require_is_kernel
from mercer.functions.functionals.algebra import Functional
from mercer.kernels import Kernel
from mercer.kernels.points import as_objects


class Evaluation(Functional):
    """E_x[f] = f(x), with gradient k(x,·).

    Parameters
    ----------
    kernel : Kernel
        That of f.
    x : one point, a vector or an object

    Examples
    --------
    >>> from mercer.functions import section
    >>> from mercer.kernels import Gaussian
    >>> k = Gaussian(1.0)
    >>> E = Evaluation(k, [1.0])
    >>> f = 2 * section(k, [1.0])
    >>> E(f), E.gradient(f) @ f
    (2.0, 2.0)
    """

    def __init__(self, kernel: Kernel, x: Any):
        require_is_kernel(kernel)
        self.kernel, self.x = kernel, x
        self._point = kernel.points(one_point(kernel, x))

    def __call__(self, f):
        self._require_single(f)
        return float(f(self._point)[0])

    def gradient(self, f):
        self._require_single(f)
        return f.combination(self._point, np.ones(1))

    def _require_single(self, f: Function) -> None:
        _require_kernel(self, f)
        if f.outputs is not None:
            raise ValueError(f"f(x) is one number only for a single function; take f.output(j) of {f!r}")

    def __repr__(self):
        x = self.x
        if not isinstance(x, str) and np.ndim(x) == 1 and np.asarray(x).dtype.kind in "fiu":
            return f"f({np.array2string(np.asarray(x), threshold=6, edgeitems=2, separator=', ')})"
        return f"f({x!r})"


class SquaredNorm(Functional):
    """E[f] = ‖f‖², with gradient 2f; for t functions at once Σ_j ‖f_j‖².

    Examples
    --------
    >>> from mercer.functions import section
    >>> from mercer.kernels import Linear
    >>> SquaredNorm()(section(Linear(), [3.0, 4.0]))
    25.0
    """

    def __call__(self, f):
        return f.squared_norm()

    def gradient(self, f):
        return 2 * f

    def __repr__(self):
        return "‖f‖²"


class InnerProduct(Functional):
    """E[f] = ⟨g, f⟩ for a fixed g, with gradient g: every continuous linear functional (Riesz).

    Parameters
    ----------
    g : Function

    Examples
    --------
    >>> from mercer.functions import section
    >>> from mercer.kernels import Linear
    >>> InnerProduct(section(Linear(), [2.0]))(section(Linear(), [3.0]))
    6.0
    """

    def __init__(self, g: Function):
        self.g = g

    def __call__(self, f):
        return float(np.sum(self.g.inner(f)))

    def gradient(self, f):
        f._require_same_space(self.g)
        return self.g

    def __repr__(self):
        return "⟨g, f⟩"


class Risk(Functional):
    """E[f] = Σ w_i V(y_i, f(x_i)) / Σ w_i, with gradient Σ w_i V'(y_i, f(x_i)) k(x_i,·) / Σ w_i.

    Without weights that is the mean (1/n) Σ V(y_i, f(x_i)); a weight of 2 counts an example twice. At a
    kink of V the gradient is a subgradient. Add ``lam * SquaredNorm()`` for the objective that
    Mercer's machines minimise.

    Parameters
    ----------
    kernel : Kernel
        That of f.
    X : n points
    y : array, shape (n,) or (n, t)
        Targets as the loss takes them: numbers, ±1, or rows with a one (``loss.encode(labels)[0]``).
    loss : Loss
    sample_weight : array, shape (n,), optional

    Examples
    --------
    >>> from mercer.functions import zero
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> k = Gaussian(1.0)
    >>> E = Risk(k, [[0.0], [1.0]], [1.0, 3.0], Squared())
    >>> E(zero(k)), E.gradient(zero(k)).coef
    (5.0, array([-1., -3.]))
    """

    loose = True

    def __init__(self, kernel: Kernel, X: Any, y: Any, loss: Any, sample_weight: Any = None):
        require_is_kernel(kernel)
        self.kernel, self.loss = kernel, loss
        self.X = as_objects(kernel.points(X))
        self.y = np.asarray(y)
        n = self.X.shape[0]
        if n == 0 or self.y.ndim not in (1, 2) or len(self.y) != n:
            raise ValueError(f"{n} points need y of shape ({n},) or ({n}, t), with n ≥ 1; got {self.y.shape}")
        w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
            raise ValueError(f"sample_weight must be {n} numbers ≥ 0, not all 0")
        self._share = w / w.sum()

    def _targets_and_scores(self, f: Function) -> tuple[np.ndarray, np.ndarray]:
        _require_kernel(self, f)
        scores = f(self.X)
        # One column and none are the same thing here; more must agree.
        if self.y.size != scores.size:
            t = 1 if self.y.ndim == 1 else self.y.shape[1]
            raise ValueError(f"y has {t} columns, but f is {f!r}; zero(kernel, outputs={t}) starts with {t}")
        columns = scores.reshape(len(scores), -1)
        return self.y.reshape(columns.shape), columns

    def __call__(self, f):
        y, scores = self._targets_and_scores(f)
        values = np.asarray(self.loss.value(y, scores), dtype=np.float64).reshape(len(scores), -1)
        return float(self._share @ values.sum(axis=1))

    def gradient(self, f):
        y, scores = self._targets_and_scores(f)
        slopes = self._share[:, None] * self.loss.grad(y, scores)
        return f.combination(self.X, slopes.reshape(len(slopes), *f.coef.shape[1:]))

    def __repr__(self):
        return f"mean of {self.loss!r} over {len(self.y)} example{'s' * (len(self.y) != 1)}"


def _require_kernel(E: Evaluation | Risk, f: Function) -> None:
    if isinstance(f, KernelFunction) and f.kernel is not E.kernel and f.kernel != E.kernel:
        raise ValueError(f"{E!r} is a functional of functions of {E.kernel!r}, but f is {f!r}")
