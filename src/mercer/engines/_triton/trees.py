"""Kernels by torch alone, part by part as they are composed, with slopes in their parameters.

Nothing is compiled, so that a kernel that is seen once costs no more than its numbers: what a search wants,
which tries hundreds. Profiles and maps of points are differentiated by torch, statistics by formulas of our
own, so that no (n, n, d) array is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from mercer.engines._triton.dense import Pace
from mercer.kernels.algebra import Constant, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.forest import Forest
from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import DotProduct, L1Distance, SquaredDistance
from mercer.kernels.transforms import LengthScales, Mahalanobis, OnColumns
from mercer.kernels.unary import Scale

# Values of K that are made together; and how many arrays of so many there are at a time, about.
_ENTRIES, _ARRAYS = 1 << 23, 20
# Up to this dimension, or where more pairs than this share are close, differences are taken coordinate by
# coordinate.
_DIRECT_DIMENSIONS, _MANY_CLOSE = 4, 0.05
# Squared distances below this share of ‖x‖² have lost digits.
_CLOSE = 2e-6

# Points, and which of them stand for rows ↦ the values between these and all of them.
Part = Callable[[Any, slice], Any]


class Unknown(Exception):
    """A kernel that is not made of what is known here."""


class Tree:
    """A kernel on a torch device, in float64.

    Parameters
    ----------
    kernel : Kernel
        Of vectors, with no parameter left to the data: functions of ‖x−z‖², x·z or ‖x−z‖₁, forests and
        constants under multiples, sums, products, length scales, metrics and choices of columns. `Unknown` is
        raised for any other.
    device : torch.device
    X : (n, d) array
        Some points, on which it is tried.
    """

    def __init__(self, kernel: Kernel, device: Any, X: np.ndarray):
        self.device = device
        self.parameters: dict[str, Any] = {}
        self._part = self._made(kernel, "")
        try:
            one = self._part(self.points(X[:1]), slice(0, 1))
        except Exception as reason:  # a profile of somebody else's may do anything with numbers
            raise Unknown(f"{kernel!r} can't be computed there: {reason}") from reason
        if not hasattr(one, "backward") or tuple(one.shape) != (1, 1):
            raise Unknown(f"{kernel!r} has no values there")

    def points(self, X: np.ndarray) -> Any:
        """Points on the device."""
        import torch

        return torch.tensor(np.asarray(X, np.float64), device=self.device)

    def matrix(self, X: Any) -> Any:
        """K(X, X)."""
        import torch

        K = torch.empty((len(X), len(X)), dtype=torch.float64, device=self.device)
        with torch.no_grad():
            for rows in self._panels(len(X), len(X)):
                K[rows] = self._part(X, rows)
        return K

    def product(self, X: Any, Z: Any, C: Any) -> Any:
        """K(X, Z) C."""
        import torch

        both, out = torch.cat([X, Z]), C.new_empty((len(X), C.shape[1]))
        with torch.no_grad():
            for rows in self._panels(len(X), len(both)):
                out[rows] = self._part(both, rows)[:, len(X) :] @ C
        return out

    def slopes(self, X: Any, W: Any) -> dict[str, Any]:
        """Σ_ij W_ij ∂k(x_i, x_j)/∂log θ by name, as `Kernel.vjp_log_params` gives them."""
        for value in self.parameters.values():
            value.grad = None
        for rows in self._panels(len(X), len(X)):
            K = self._part(X, rows)
            if K.requires_grad:
                K.backward(W[rows])
        return {name: _log_slope(value) for name, value in self.parameters.items()}

    def _panels(self, rows: int, columns: int) -> Iterator[slice]:
        """All rows, in parts of a few million values; Ctrl-C and clocks are heard between them."""
        step, pace = max(_ENTRIES // max(columns, 1), 1), Pace(self.device)
        for first in range(0, rows, step):
            yield slice(first, min(first + step, rows))
            pace.step()

    # -- the parts ----------------------------------------------------------------------------------

    def _parameter(self, name: str, value: Any) -> Any:
        import torch

        kept = torch.tensor(value, dtype=torch.float64, device=self.device, requires_grad=True)
        self.parameters[name] = kept
        return kept

    def _made(self, kernel: Kernel, prefix: str) -> Part:
        kind, inside = type(kernel), f"{prefix}kernel__"
        if isinstance(kernel, LengthScales):
            lengths = self._parameter(f"{prefix}lengths", [float(length) for length in kernel.lengths])
            return _mapped(lambda X: X / lengths, self._made(kernel.kernel, inside))
        if isinstance(kernel, Mahalanobis):
            root = self.points(kernel.child_points(np.eye(len(kernel.matrix))))
            return _mapped(lambda X: X @ root, self._made(kernel.kernel, inside))
        if isinstance(kernel, OnColumns) and kernel.vectors:
            part = self._made(kernel.kernel, inside)
            return _mapped(lambda X: X[:, _chosen(kernel, X.shape[1])], part)
        if kind is Scale:
            factor = self._parameter(f"{prefix}factor", float(kernel.factor))  # type: ignore[attr-defined]
            part = self._made(kernel.kernel, inside)  # type: ignore[attr-defined]
            return lambda X, rows: factor * part(X, rows)
        if isinstance(kernel, (Sum, Product)) and kind in (Sum, Product):
            left = self._made(kernel.left, f"{prefix}left__")
            right = self._made(kernel.right, f"{prefix}right__")
            return lambda X, rows: kernel.combine(left(X, rows), right(X, rows), xp=None)
        if kind is Constant:
            value = self._parameter(f"{prefix}value", float(kernel.value))  # type: ignore[attr-defined]
            return lambda X, rows: value.expand(rows.stop - rows.start, len(X))
        if isinstance(kernel, Forest):
            return _Meeting(kernel)
        return self._leaf(kernel, prefix)

    def _leaf(self, kernel: Kernel, prefix: str) -> Part:
        own, known = type(kernel), _statistics()
        if (
            not isinstance(kernel, Profiled)
            or own.pairwise is not Profiled.pairwise
            or own.gradient_log_params is not Profiled.gradient_log_params
            or type(kernel.statistic) not in known
        ):
            raise Unknown(f"{own.__name__} is not known there")
        statistic, xp = known[type(kernel.statistic)], _Tensors()
        given = kernel.get_params(deep=False)
        plain_numbers = {name: v.item() for name, v in given.items() if isinstance(v, np.generic)}
        varied = {name: self._parameter(prefix + name, float(given[name])) for name in kernel.log_params}
        k = kernel.replace(**{**plain_numbers, **varied})
        return lambda X, rows: k.profile(statistic.apply(X, rows.start, rows.stop), xp)


def panel_bytes(n: int) -> int:
    """Bytes of what a panel of rows of K takes while it is made, n being the number of its columns."""
    return 8 * _ARRAYS * max(_ENTRIES, n)


def _mapped(map: Callable[[Any], Any], part: Part) -> Part:
    return lambda X, rows: part(map(X), rows)


def _chosen(kernel: OnColumns, d: int) -> list[int]:
    """Which of d columns a kernel looks at."""
    return kernel.child_points(np.arange(float(d))[None])[0].astype(int).tolist()


def _log_slope(value: Any) -> Any:
    slope = (0 * value if value.grad is None else value.grad * value).detach().cpu().numpy()
    return slope if slope.ndim else float(slope)


class _Meeting:
    """The share of trees in which points meet; leaves of the last points are remembered."""

    def __init__(self, forest: Forest):
        self.forest = forest
        self._last: tuple[Any, Any] = (None, None)

    def __call__(self, X: Any, rows: slice) -> Any:
        import torch

        if self._last[0] is not X:
            leaves = self.forest.leaves(X.detach().cpu().numpy())
            self._last = X, torch.tensor(leaves.T.astype(np.int32), device=X.device)
        out = torch.zeros((rows.stop - rows.start, len(X)), dtype=torch.float64, device=X.device)
        for leaves in self._last[1]:
            out += leaves[rows, None] == leaves
        return out / self.forest.trees


class _Tensors:
    """NumPy's names, for tensors."""

    pi = np.pi

    def __getattr__(self, name: str) -> Any:
        import torch

        if name not in ("exp", "log", "sin", "cos", "tanh"):
            raise AttributeError(f"xp.{name} has no slope there")
        function = getattr(torch, name)
        return lambda x: function(torch.as_tensor(x))

    @staticmethod
    def sqrt(x: Any) -> Any:
        """The square root of a squared distance has no slope at 0; zero is the symmetric choice there."""
        import torch

        x = torch.as_tensor(x)
        return torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0)


# -- statistics -----------------------------------------------------------------------------------------


@cache
def _statistics() -> dict[type, Any]:
    """Statistics of some points with all of them, which torch differentiates by our formulas."""
    import torch

    def slopes_at(X: Any, first: int, last: int, there: Any, all_of_them: Any) -> tuple[Any, None, None]:
        all_of_them[first:last] += there
        return all_of_them, None, None

    class OfDistance(torch.autograd.Function):
        @staticmethod
        def forward(ctx, X, first, last):
            ctx.save_for_backward(X)
            ctx.rows = first, last
            return _squared_distances(X, first, last)

        @staticmethod
        def backward(ctx, W):
            (X,), (first, last) = ctx.saved_tensors, ctx.rows
            X = X - X.mean(0)
            A = X[first:last]
            there = 2 * (W.sum(1)[:, None] * A - W @ X)
            return slopes_at(X, first, last, there, 2 * (W.sum(0)[:, None] * X - W.T @ A))

    class OfDot(torch.autograd.Function):
        @staticmethod
        def forward(ctx, X, first, last):
            ctx.save_for_backward(X)
            ctx.rows = first, last
            return X[first:last] @ X.T

        @staticmethod
        def backward(ctx, W):
            (X,), (first, last) = ctx.saved_tensors, ctx.rows
            return slopes_at(X, first, last, W @ X, W.T @ X[first:last])

    class OfSums(torch.autograd.Function):
        @staticmethod
        def forward(ctx, X, first, last):
            ctx.save_for_backward(X)
            ctx.rows = first, last
            S, apart = (X.new_zeros((last - first, len(X))) for _ in range(2))
            for x in X.T.contiguous():
                S += torch.sub(x[first:last, None], x, out=apart).abs_()
            return S

        @staticmethod
        def backward(ctx, W):
            (X,), (first, last) = ctx.saved_tensors, ctx.rows
            there, others, apart = torch.empty_like(X[first:last]), torch.empty_like(X), torch.empty_like(W)
            for k, x in enumerate(X.T.contiguous()):
                torch.sub(x[first:last, None], x, out=apart).sign_().mul_(W)
                there[:, k], others[:, k] = apart.sum(1), -apart.sum(0)
            return slopes_at(X, first, last, there, others)

    return {SquaredDistance: OfDistance, DotProduct: OfDot, L1Distance: OfSums}


def _squared_distances(X: Any, first: int, last: int) -> Any:
    """‖x−z‖², as `SquaredDistance` has it: near points are subtracted first."""
    import torch

    if X.shape[1] > _DIRECT_DIMENSIONS:
        C = X - X.mean(0)
        squares = (C * C).sum(1)
        S = torch.addmm(squares[None], C[first:last], C.T, alpha=-2).add_(squares[first:last, None])
        i, j = torch.nonzero(_CLOSE * squares[first:last, None] > S, as_tuple=True)
        if len(i) <= _MANY_CLOSE * S.numel():
            step = max(_ENTRIES // X.shape[1], 1)
            for a in range(0, len(i), step):
                here, there = i[a : a + step], j[a : a + step]
                S[here, there] = (X[first + here] - X[there]).square_().sum(1)
            return S
    S, apart = (X.new_zeros((last - first, len(X))) for _ in range(2))
    for x in X.T.contiguous():
        S += torch.sub(x[first:last, None], x, out=apart).square_()
    return S
