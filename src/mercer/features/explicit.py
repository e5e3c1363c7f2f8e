"""The explicit feature map of a polynomial kernel."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._state import ArraySpec, require
from mercer._xp import issparse
from mercer.features.base import FeatureMap, over_rows
from mercer.kernels import Polynomial
from mercer.kernels.base import Kernel, Monomial

_MOST_FEATURES = 10_000_000
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class ExplicitFeatures(FeatureMap):
    """φ with φ(x)·φ(z) = k(x,z), exactly, for kernels that are polynomials in x and z.

    If k(x,z) = Σ_a w_a x^a z^a over monomials a, the coordinates of φ(x) are √w_a x^a. For
    (x·z + c)^p they follow from the multinomial theorem; sums, products, multiples, length scales and
    choices of columns of such kernels have them too.

    Parameters
    ----------
    kernel : Kernel, default=Polynomial()
        `Linear`, `Polynomial` and what is built from them.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its data-driven parameters found.
    monomials_ : list of tuples
        The coordinates in order, by degree: () is 1, (0, 2) is x₀x₂, (1, 1) is x₁².
    weights_ : array
        w_a of each.
    n_features_in_ : int

    Notes
    -----
    For two variables and (1 + x·z)² this is φ(x) = (1, √2 x₀, √2 x₁, x₀², √2 x₀x₁, x₁²). One of the
    texts behind this library prints it without √2 before x₀x₁, and another without √c in √(2c) x_i;
    φ(x)·φ(z) is then not the kernel.

    Sparse input stays sparse if all monomials have degree one, as for `Linear`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> phi = ExplicitFeatures(Polynomial(degree=2, c=1.0)).fit(X)
    >>> phi.get_feature_names_out().tolist()
    ['1', '√2·x0', '√2·x1', 'x0²', '√2·x0·x1', 'x1²']
    >>> Phi = phi.transform(X)
    >>> (Phi @ Phi.T).round(9)
    array([[ 36., 144.],
           [144., 676.]])
    """

    def __init__(self, kernel=Polynomial()):  # noqa: B008  kernels are values, never changed
        self.kernel = kernel

    def fit(self, X, y=None):
        """List the coordinates for points with as many features as X."""
        kernel, X = self._start(X)
        terms = _expansion(kernel, X.shape[1])
        self.kernel_ = kernel
        self.monomials_ = sorted(terms, key=lambda a: (len(a), a))
        self.weights_ = np.array([terms[a] for a in self.monomials_], dtype=np.float64)
        self.__dict__["levels_"] = _levels(self.monomials_)  # so that `transform` changes nothing
        return self

    holds = {"monomials_": list[tuple[int, ...]], "weights_": ArraySpec("f", None)}
    fitted_by = "monomials_"

    def check_state(self) -> None:
        """Refuse what is no list of monomials, each with its weight."""
        monomials, variables = self.monomials_, range(self.n_features_in_)
        known = all(type(a) is tuple and all(type(k) is int and k in variables for k in a) for a in monomials)
        require(known, "monomials_ are not products of features")
        rising = all((len(a), a) < (len(b), b) for a, b in pairwise(monomials))
        require(rising, "monomials_ are not in order")
        fine = len(self.weights_) == len(monomials) and (self.weights_ >= 0).all()
        require(fine, "weights_ are not those of the monomials")

    @cached_property
    def levels_(self) -> list[tuple[Any, Any, Any, slice]]:
        """How to compute the monomials degree by degree, each from one of lower degree times one variable.

        For each degree: parents' positions in the level below, the variable to multiply by, which of the
        level to keep (None: all), and where those go in the result. Parents that are no feature themselves
        (x₀, when only x₀² is wanted) are part of a level too.
        """
        return _levels(self.monomials_)

    def transform(self, X):
        """Φ(X), shape (n, number of monomials), in the dtype of X."""
        X = self._check(X)
        if issparse(X) and all(len(a) == 1 for a in self.monomials_):
            return self._sparse(X)
        n, p = X.shape[0], len(self.monomials_)
        root = np.sqrt(self.weights_).astype(X.dtype)[:, None]
        # One row a monomial, so that all reading and writing is of contiguous memory; the result is
        # then the transpose, in column order.
        out = np.empty((p, n), X.dtype)

        def fill(rows):
            x = np.ascontiguousarray((X[rows].toarray() if issparse(X) else X[rows]).T)
            level = np.ones((1, x.shape[1]), X.dtype)
            for parent, factor, wanted, place in self.levels_:
                if parent is not None:
                    level = level[parent]
                    level *= x[factor]
                part = level if wanted is None else level[wanted]
                np.multiply(part, root[place], out=out[place, rows])

        over_rows(fill, n, p)
        return out.T

    def _sparse(self, X):
        columns = [a[0] for a in self.monomials_]
        if columns == list(range(X.shape[1])) and np.all(self.weights_ == 1):
            return X
        root = np.sqrt(self.weights_).astype(X.dtype)
        return X[:, columns].multiply(root[None, :]).tocsr()

    def get_feature_names_out(self, input_features=None):
        """The coordinates in words, such as '√2·x0·x1'; input names where there are some."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        terms = zip(self.monomials_, self.weights_, strict=True)
        return np.array([_name(a, w, names) for a, w in terms], dtype=object)


def _expansion(kernel: Kernel, d: int) -> dict[Monomial, float]:
    # An infinite size says that there is no expansion, which is told below.
    if _MOST_FEATURES < kernel.expansion_size(d) < math.inf:
        raise ValueError(
            f"{kernel!r} has more than {_MOST_FEATURES:,} monomials in {d} variables; "
            f"use NystromFeatures, or the kernel itself, which needs none of them"
        )
    terms = kernel.expansion(d)
    if terms is None:
        raise ValueError(
            f"{kernel!r} is not a polynomial, so it has no finite explicit feature map; use "
            f"RandomFourierFeatures if it depends on x − z only (Gaussian, Laplacian, Matern, …), "
            f"NystromFeatures for any kernel"
        )
    # The kernel 0 has no coordinates; one that is always 0 serves as well, and is no case of its own.
    return {a: w for a, w in terms.items() if w > 0} or {(): 0.0}


def _levels(monomials: list[Monomial]) -> list[tuple[Any, Any, Any, slice]]:
    by_degree = {n: list(group) for n, group in groupby(monomials, key=len)}
    needed: dict[int, list[Monomial]] = {}
    above: list[Monomial] = []
    for degree in range(max(by_degree, default=0), -1, -1):
        above = sorted({*by_degree.get(degree, []), *(a[:-1] for a in above)})
        needed[degree] = above
    levels, start = [], 0
    for degree in range(len(needed)):
        level, features = needed[degree], by_degree.get(degree, [])
        parent = factor = None
        if degree:
            position = {a: i for i, a in enumerate(needed[degree - 1])}
            parent = np.array([position[a[:-1]] for a in level], dtype=np.intp)
            factor = np.array([a[-1] for a in level], dtype=np.intp)
        position = {a: i for i, a in enumerate(level)}
        wanted = (
            None if len(features) == len(level) else np.array([position[a] for a in features], dtype=np.intp)
        )
        levels.append((parent, factor, wanted, slice(start, start + len(features))))
        start += len(features)
    return levels


def _name(monomial: Monomial, weight: float, names: Any) -> str:
    parts = []
    for k, group in groupby(monomial):
        power = len(list(group))
        parts.append(f"{names[k]}" + (str(power).translate(_SUPERSCRIPTS) if power > 1 else ""))
    root = np.sqrt(weight)
    # A root that is a short decimal is shown as such, any other as √w.
    short = f"{root:.4g}"
    number = short if np.isclose(float(short), root, rtol=1e-12, atol=0) else f"√{weight:.6g}"
    return "·".join(parts if parts and number == "1" else [number, *parts])
