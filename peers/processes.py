"""`sklearn.gaussian_process.kernels`: values and gradients by our kernels, behind the interface of theirs.

θ, bounds and names of parameters are scikit-learn's own protocol, and stay theirs; what is computed is ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.gaussian_process.kernels as theirs

from mercer import kernels
from mercer.kernels import Constant, Gaussian, Linear, Matern, Periodic, RationalQuadratic
from peers.adapter import USED, lacking, named_kernel


class ByMercer:
    """Values, diagonal and gradient in log θ of the kernel that `ours` gives."""

    def ours(self: Any) -> tuple[Any, dict[str, dict[str, float]]]:
        """Our kernel; and of each of their parameters ∂ log(ours)/∂ log(theirs), by the ends of our names."""
        raise NotImplementedError

    def __call__(self: Any, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        USED[0] += 1
        kernel, slopes = self.ours()
        X = np.atleast_2d(np.asarray(X, float))
        if Y is not None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated when Y is None.")
            return kernel(X, np.asarray(Y, float))
        K = kernel(X)
        if not eval_gradient:
            return K
        found = kernel.gradient_log_params(X, X)
        parts = [_chained(found, slopes[h.name], K.shape) for h in self.hyperparameters if not h.fixed]
        return K, np.concatenate(parts, axis=2) if parts else np.empty((*K.shape, 0))

    def diag(self: Any, X: Any) -> np.ndarray:
        USED[0] += 1
        return np.asarray(self.ours()[0].diag(np.atleast_2d(np.asarray(X, float))), float)


def _chained(found: dict[str, np.ndarray], weights: dict[str, float], shape: tuple[int, ...]) -> np.ndarray:
    slope: Any = np.zeros((*shape, 1))
    for word, weight in weights.items():
        (value,) = (value for name, value in found.items() if name.split("__")[-1] == word)
        slope = slope + weight * value.reshape(*shape, -1)
    return slope


def _stretched(make: Any, lengths: Any) -> tuple[Any, dict[str, float]]:
    """A kernel of width 1 with these length scales, or one of this width."""
    if np.ndim(lengths) == 0 or np.size(lengths) == 1:
        return make(float(np.squeeze(lengths))), {"sigma": 1.0}
    return make(1.0).scaled(np.asarray(lengths, float)), {"lengths": 1.0}


class RBF(ByMercer, theirs.RBF):
    def ours(self) -> Any:
        kernel, names = _stretched(Gaussian, self.length_scale)
        return kernel, {"length_scale": names}


class MaternOfTheirs(ByMercer, theirs.Matern):
    def ours(self) -> Any:
        if self.nu == np.inf:
            kernel, names = _stretched(Gaussian, self.length_scale)
        else:
            try:
                Matern(self.nu, 1.0).validate()
            except ValueError:
                raise lacking(f"Matérn kernels of any ν, such as {self.nu}") from None
            kernel, names = _stretched(lambda width: Matern(self.nu, width), self.length_scale)
        return kernel, {"length_scale": names}


class RationalQuadraticOfTheirs(ByMercer, theirs.RationalQuadratic):
    def ours(self) -> Any:
        return RationalQuadratic(self.alpha, self.length_scale), {
            "alpha": {"alpha": 1.0},
            "length_scale": {"sigma": 1.0},
        }


class ExpSineSquared(ByMercer, theirs.ExpSineSquared):
    def ours(self) -> Any:
        return Periodic(self.periodicity, self.length_scale), {
            "periodicity": {"period": 1.0},
            "length_scale": {"sigma": 1.0},
        }

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        if np.atleast_2d(X).shape[1] > 1:
            # Theirs is a function of the Euclidean distance, which is positive definite on a line only.
            raise lacking("sin² of the distance of points with several coordinates")
        return super().__call__(X, Y, eval_gradient)


class DotProduct(ByMercer, theirs.DotProduct):
    def ours(self) -> Any:
        return Linear() + Constant(self.sigma_0**2), {"sigma_0": {"value": 2.0}}


class ConstantKernel(ByMercer, theirs.ConstantKernel):
    def ours(self) -> Any:
        return Constant(self.constant_value), {"constant_value": {"value": 1.0}}


class WhiteKernel(ByMercer, theirs.WhiteKernel):
    def ours(self) -> Any:
        if not hasattr(kernels, "White"):
            raise lacking("white noise as a kernel")
        return self.noise_level * kernels.White(), {"noise_level": {"factor": 1.0}}


class PairwiseKernel(ByMercer, theirs.PairwiseKernel):
    def ours(self) -> Any:
        if callable(self.metric):
            raise lacking("gradients of a function's parameter")
        kernel = named_kernel(self.metric, float(self.gamma), 3, 1.0)
        names = {
            "rbf": {"sigma": -0.5},
            "laplacian": {"sigma": -1.0},
            "chi2": {"gamma": 1.0},
            "sigmoid": {"a": 1.0},
            # γ³ (s + c/γ)³
            "poly": {"factor": 3.0, "c": -1.0},
            "polynomial": {"factor": 3.0, "c": -1.0},
        }
        return kernel, {"gamma": names.get(self.metric, {})}


def replaced() -> dict[str, type]:
    """Names in that module, and what stands for them."""
    found: dict[str, type] = {"RBF": RBF, "Matern": MaternOfTheirs, "ConstantKernel": ConstantKernel}
    found |= {"RationalQuadratic": RationalQuadraticOfTheirs, "ExpSineSquared": ExpSineSquared}
    found |= {"DotProduct": DotProduct, "WhiteKernel": WhiteKernel, "PairwiseKernel": PairwiseKernel}
    for name, cls in found.items():
        cls.__name__ = cls.__qualname__ = name
    return {f"sklearn.gaussian_process.kernels.{name}": cls for name, cls in found.items()}
