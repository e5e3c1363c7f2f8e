"""Derivatives of a function of arrays that works entry by entry: by torch, or by difference quotients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.losses.base import Array

_EPS = float(np.finfo(np.float64).eps)
# Steps of the difference quotients, relative to the size of s and y; powers of two, so that s ± h is exact.
_STEPS = 2.0 ** -np.arange(5.0, 33.0, 3.0)


def scale_of(y: Array, s: Array) -> Array:
    """The power of two next to the larger of |s|, |y| and 1."""
    return 2.0 ** np.ceil(np.log2(np.maximum(np.maximum(np.abs(s), np.abs(y)), 1)))


def by_torch(function: Callable, y: Array, s: Array, order: int) -> Array:
    """The first or second derivative in s, by automatic differentiation."""
    import torch

    with torch.enable_grad():
        at = torch.tensor(s, requires_grad=True, device="cpu")
        V = function(torch.tensor(y, device="cpu"), at)
        if V.shape != at.shape:
            raise ValueError(f"shape {tuple(V.shape)}")
        (slope,) = torch.autograd.grad(V.sum(), at, create_graph=order == 2)
        if order == 2:
            # The slope of a piecewise linear V is a constant, and knows nothing of s.
            linear = not slope.requires_grad
            slope = torch.zeros_like(at) if linear else torch.autograd.grad(slope.sum(), at)[0]
    return slope.detach().numpy().astype(np.float64, copy=False)


def differences(f: Callable[[Array], Array], s: Array, scale: Array, order: int = 1) -> Array:
    """The first or second derivative of f by central differences, extrapolated from pairs of steps.

    Wide steps suffer from curvature and corners, narrow ones from rounding; entry by entry that pair is taken
    that agrees best with its neighbour.
    """
    best, least = np.full(s.shape, np.nan), np.full(s.shape, np.inf)
    last, pair, floor = None, np.full(s.shape, np.nan), np.zeros(s.shape)
    here = f(s) if order == 2 else None
    with np.errstate(all="ignore"):
        for step in _STEPS:
            up, down = s + step * scale, s - step * scale
            a, b, width = f(up), f(down), up - down
            D = (a - b) / width if here is None else 4 * ((a - here) - (here - b)) / width**2
            if last is not None:
                # The step is an eighth of the last, and the error a 64th.
                extrapolated = (64 * D - last) / 63
                noise = 4 * _EPS * np.maximum(np.abs(a), np.abs(b)) / (step * scale) ** order
                error = np.abs(pair - extrapolated) + floor  # NaN for the first pair, which is never better
                better = error < least
                best, least = np.where(better, pair, best), np.where(better, error, least)
                pair, floor = extrapolated, noise
            last = D
    return np.where(np.isfinite(least), best, D)
