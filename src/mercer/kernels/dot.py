"""Kernels of the inner product x·z: linear, polynomial, sigmoid."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement

from mercer._params import is_integer, is_number
from mercer.codegen.symbols import NotTraceable, int_power
from mercer.kernels.order import Order
from mercer.kernels.profiled import Profiled
from mercer.kernels.separation import FALLS, Fall
from mercer.kernels.statistics import DotProduct, SquaredDistance


class Dot(Profiled):
    """k(x,z) = profile(x·z): give `profile(s, xp)`.

    Examples
    --------
    >>> from mercer.kernels import Dot
    >>> class Cube(Dot):
    ...     def profile(self, s, xp):
    ...         return s * s * s
    >>> Cube()([[1.0, 1.0]], [[1.0, 2.0]])
    array([[27.]])
    """

    statistic = DotProduct()

    def separation(self, X, Z, pairs):
        # With m = (‖x‖² + ‖z‖²)/2 and h = (‖x‖² − ‖z‖²)/2, x·z = m − ‖x−z‖²/2: the profile κ is asked for
        # 2(κ(m) − κ(x·z)), which is ‖x−z‖² for κ(s) = s, and for κ(m+h) + κ(m−h) − 2κ(m), which is 0 then.
        k = self._plain()
        a, b = pairs.diagonals(Linear(), X, Z)
        m, h = (a + b) / 2, (a - b) / 2
        half = pairs.statistic(SquaredDistance(), X, Z) / 2
        try:
            below, right, left = (Fall.of(k.profile(Fall(m, s), FALLS)).fall for s in (half, -h, h))
        except NotTraceable:
            return pairs.plainly(self, X, Z)
        return 2 * below - (right + left)


class Linear(Dot):
    """x·z

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def profile(self, s, xp):
        return s

    def induced_order(self, view):
        return Order("l2", view, False)  # the distance it induces is ‖x−z‖ itself

    def expansion(self, d):
        return {(k,): 1.0 for k in range(d)}

    def expansion_size(self, d):
        return d

    def rule(self):
        return "linear: an inner product"


class Polynomial(Dot):
    """(x·z + c)^degree

    Parameters
    ----------
    degree : positive integer
    c : float ≥ 0

    Examples
    --------
    >>> Polynomial(degree=2, c=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    log_params = ("c",)

    def __init__(self, degree=2, c=1.0):
        self.degree = degree
        self.c = c

    def validate(self):
        if not is_integer(self.degree) or self.degree < 1:
            raise ValueError(f"Polynomial: degree must be a positive integer, got {self.degree!r}")
        if not is_number(self.c) or not 0 <= self.c < math.inf:
            raise ValueError(
                f"Polynomial: c must be nonnegative, got {self.c!r}; with c < 0 the kernel is not "
                f"positive semidefinite (the coefficient of (x·z)^(degree−1) is degree·c < 0)"
            )

    def profile(self, s, xp):
        return int_power(s + self.c, int(self.degree))

    def expansion(self, d):
        # Multinomial theorem with the constant √c as one more coordinate (number d).
        p, out = int(self.degree), {}
        for chosen in combinations_with_replacement(range(d + 1), p):
            counts = Counter(chosen)
            ways = math.factorial(p) / math.prod(math.factorial(v) for v in counts.values())
            weight = ways * self.c ** counts[d]
            if weight > 0:
                out[tuple(k for k in chosen if k < d)] = weight
        return out

    def expansion_size(self, d):
        return math.comb(d + int(self.degree) - (0 if self.c > 0 else 1), int(self.degree))

    def rule(self):
        return "polynomial: a product of sums of the linear kernel and a nonnegative constant"


class Sigmoid(Dot):
    """tanh(a x·z + c): popular, but **not** positive semidefinite; `check` finds a witness.

    Machines take it with a warning, and claim nothing that a kernel's theory says.

    Parameters
    ----------
    a : float > 0
    c : float

    Examples
    --------
    >>> from mercer.kernels import check
    >>> check(Sigmoid(a=1.0, c=-1.0)).ok
    False
    """

    positive = ("a",)
    log_params = ("a",)
    width = "a"
    indefinite = True  # whoever asks for it by name wants it

    def __init__(self, a=1.0, c=0.0):
        self.a = a
        self.c = c

    def validate(self):
        super().validate()
        if not is_number(self.c) or not math.isfinite(self.c):
            raise ValueError(f"Sigmoid: a must be positive and c a finite number, got {self.a!r}, {self.c!r}")

    def profile(self, s, xp):
        return xp.tanh(s * self.a + self.c)
