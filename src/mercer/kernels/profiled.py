"""Kernels that are a function of one statistic of a pair of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import DualNumber, dual
from mercer.kernels.base import Kernel
from mercer.kernels.statistics import Statistic


class Profiled(Kernel):
    """k(x,z) = profile(s(x,z)): a scalar function of one pairwise statistic.

    The profile is written once, with the operations of the namespace ``xp``; derivatives come
    from calling it with dual numbers.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, Profiled
    >>> [isinstance(kernel, Profiled) for kernel in (Gaussian(), Linear(), Gaussian() + Linear())]
    [True, True, False]
    """

    statistic: Statistic

    def profile(self, s: Any, xp: Any) -> Any:
        """k as a function of the statistic s, in operations of the namespace xp."""
        raise NotImplementedError

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return self.statistic.sparse

    def _plain(self):
        """This kernel with Python's numbers for NumPy's, which would turn float32 into float64."""
        numpys = {k: v.item() for k, v in self.get_params(deep=False).items() if isinstance(v, np.generic)}
        return self.replace(**numpys) if numpys else self

    def pairwise(self, X, Z):
        k = self._plain()
        if not k.statistic.fits(X, Z):  # float32 has no room for the squares; the values are ordinary numbers
            wide = X.astype(np.float64)
            return k.pairwise(wide, wide if X is Z else Z.astype(np.float64)).astype(np.result_type(X, Z))
        return k.profile(k.statistic.pairwise(X, Z), np)

    def formula(self, tracer, view):
        k = self._plain()
        return k.profile(tracer.statistic(k.statistic, view), tracer)

    def diagonal(self, X):
        k = self._plain()
        s = k.statistic.diag(X)
        return np.array(np.broadcast_to(k.profile(s, np), s.shape))

    def _profile_slope(self, S):
        return DualNumber.of(self.profile(DualNumber(S, np.ones_like(S)), dual)).slope

    def slope_statistic(self, X, Z):
        """∂k(x_i, z_j)/∂s, shape (n, m)."""
        k = self._plain()
        return k._profile_slope(k.statistic.pairwise(X, Z))

    def gradient_x(self, X, Z):
        k = self._plain()
        S = k.statistic.pairwise(X, Z)
        return k._profile_slope(S)[:, :, None] * k.statistic.gradient_x(X, Z)

    def gradient_log_params(self, X, Z):
        k = self._plain()
        S = k.statistic.pairwise(X, Z)
        out = {}
        for name in self.log_params:
            value = float(getattr(k, name))
            varied = k.replace(**{name: DualNumber(value, value)})  # d/d log θ = θ d/dθ
            slope = DualNumber.of(varied.profile(DualNumber(S, np.zeros_like(S)), dual)).slope
            out[name] = np.broadcast_to(slope, S.shape)
        return out
