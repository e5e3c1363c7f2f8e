"""The laws of representations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.engines import Tiled
from mercer.kernels import Gaussian, Kernel, Polynomial
from mercer.representations import Built, Representation
from mercer.testing.common import fail, require_close, require_kind, scale
from mercer.testing.operators import check_operator

_N = 24
_ENGINE = Tiled(threads=1)


def check_representation(
    representation: Representation,
    kernel: Kernel | None = None,
    X: Any = None,
    *,
    tol: float = 1e-8,
    random_state: int = 0,
) -> None:
    """Raise `LawViolation` if a representation breaks a law.

    The laws: A has a row for each point and as many columns as `size` says, and so has B; both keep the laws
    of operators; lift(c) evaluated at the points is A c, for one column of coefficients and for several;
    cᵀB c is ‖lift(c)‖², where the penalty is that of H_K; the same random numbers build the same thing; what
    is learned from data is learned from the rows that are `seen`; inputs are left alone; it is a value.
    Kernels that it refuses, by a ValueError, are left out.

    Parameters
    ----------
    representation : Representation
    kernel, X : optional
        A kernel and points of its kind, to try it on these instead of the built-in cases.
    tol : float
        By how much numbers may differ, relative to the largest.
    random_state : int
        Seed of points and coefficients.

    Examples
    --------
    >>> from mercer.representations import Full, Nystrom
    >>> from mercer.testing import LawViolation, check_representation
    >>> check_representation(Nystrom(n_centres=10))
    >>> class Wrong(Full):
    ...     def size(self, kernel, n, d):
    ...         return d
    >>> try:
    ...     check_representation(Wrong())
    ... except LawViolation as violation:
    ...     print(str(violation).split(":")[1])
     size must say how many unknowns there are
    """
    require_kind(representation, Representation, "check_representation")
    rng = np.random.default_rng(random_state)
    cases = _cases(rng) if kernel is None else iter([kernel.resolve(X).bind(X)])
    built = 0
    for k, points in cases:
        before, refusal = points.copy(), None
        try:
            representation.build(k, points, np.random.default_rng(random_state), _ENGINE)
        except ValueError as error:
            refusal = error
        if not np.array_equal(points, before):
            fail(representation, "inputs must be left alone", "building changed the points")
        if refusal is None:
            _check(representation, k, points, rng, random_state, tol)
            built += 1
        elif len(str(refusal)) < 20:
            fail(representation, "a refusal must name its reason", f"for {k!r} it says {refusal!s}")
    if not built:
        law = "a representation must represent something"
        fail(representation, law, f"it refuses all kernels: {refusal}")


def _check(
    representation: Representation, kernel: Kernel, X: Any, rng: np.random.Generator, seed: int, tol: float
) -> None:
    def build(points: Any, seen: np.ndarray | None = None) -> Built:
        return representation.build(kernel, points, np.random.default_rng(seed), _ENGINE, seen)

    built = build(X)
    _shapes(representation, kernel, X, built)
    check_operator(built.A, random_state=seed)
    check_operator(built.B, random_state=seed)
    _lifts(representation, X, built, rng, tol)
    law = "the same random numbers must build the same thing"
    _same(representation, law, built.A.dense(), build(X).A.dense(), tol, "the second time")
    if kernel.vectors and built.A.shape[1] < X.shape[0]:
        # Weight 0 means absent: where such rows lie makes no difference to what is learned from the others.
        absent, moved = np.arange(X.shape[0]) % 3 == 1, X.copy()
        moved[absent] += 7.0
        law = "what is learned from data must be learned from the rows seen"
        seen = np.flatnonzero(~absent)
        here, there = (build(points, seen).A.dense()[seen] for points in (X, moved))
        _same(representation, law, here, there, tol, "where rows that are not seen lie elsewhere")


def _same(representation: Representation, law: str, A: Any, again: Any, tol: float, when: str) -> None:
    A, again = A.astype(np.float64), again.astype(np.float64)
    require_close(representation, law, again, A, tol * scale(A), f"A at ({{}}) is {{}} {when}, and was {{}}")


def _cases(rng: np.random.Generator) -> Iterator[tuple[Kernel, np.ndarray]]:
    X = rng.standard_normal((_N, 3))
    yield Gaussian(1.5), X
    yield Polynomial(2), X
    yield Gaussian(1.5), X.astype(np.float32)


def _shapes(representation: Representation, kernel: Kernel, X: Any, built: Built) -> None:
    n, p = X.shape[0], representation.size(kernel, X.shape[0], X.shape[1] if kernel.vectors else 0)
    if built.A.shape[1] != p:
        words = f"{p} for {kernel!r} and {n} points, but A has {built.A.shape[1]} columns"
        fail(representation, "size must say how many unknowns there are", words)
    for name, found, shape in (("A", built.A.shape, (n, p)), ("B", built.B.shape, (p, p))):
        if found != shape:
            law = "A and B must fit the points and the unknowns"
            fail(representation, law, f"{name} is {found}, not {shape}")


def _lifts(
    representation: Representation, X: Any, built: Built, rng: np.random.Generator, tol: float
) -> None:
    p = built.A.shape[1]
    # A function may be rounded to the precision of its points.
    tol = max(tol, 1e-5) if getattr(X, "dtype", None) == np.float32 else tol
    for shape in ((p,), (p, 3)):
        c = rng.standard_normal(shape)
        f, values = built.lift(c), built.A @ c
        words = "f at point ({}) is {}, and A c is {}"
        law = "lift(c) at the points must be A c"
        require_close(representation, law, np.asarray(f(X), np.float64), values, tol * scale(values), words)
        if representation.penalty == "ridge":
            norm, form = f.squared_norm(), float(np.sum(c * (built.B @ c)))
            if not abs(norm - form) <= tol * max(abs(form), scale(built.B.dense())):
                fail(representation, "cᵀB c must be ‖lift(c)‖²", f"{form:.8g} and {norm:.8g}")
