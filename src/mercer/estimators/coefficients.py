"""What a fitted function is made of, under scikit-learn's names, with one meaning on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.functions import FeatureFunction, KernelFunction
from mercer.kernels import Linear


class Coefficients:
    """`dual_coef_` of a function made of kernels at points, `coef_` of one made of features."""

    function_: Any
    kernel_: Any

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients c of f = Σ_j c_j k(z_j,·), z_j = function_.points: (terms,) or (terms, outputs)."""
        f = self.function_
        if not isinstance(f, KernelFunction):
            raise AttributeError("f is a combination of features, not of kernels: coef_ holds its weights")
        return f.coef

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f = ⟨w, φ(·)⟩: (features,) or (outputs, features); for Linear(), φ(x) = x."""
        f = self.function_
        if isinstance(f, FeatureFunction):
            return f.coef.T
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("f is a combination of kernels at points: dual_coef_ holds its coefficients")
        return (f.points.T @ f.coef).T
