"""The laws of losses."""

from __future__ import annotations

import numpy as np

from mercer.losses import Loss
from mercer.testing.common import fail, require_close, require_slope, scale, value_object


def check_loss(loss: Loss, *, tol: float | None = None, random_state: int = 0) -> None:
    """Raise `LawViolation` if a loss breaks a law.

    The laws: shapes and dtypes; `grad` and, where defined, `hess` are the derivatives of `value`;
    a loss that declares itself convex is; `hess_root` gives R with R Rᵀ the Hessian; `curvature` bounds
    it; `conjugate`, where defined, meets `value` at the gradient (Fenchel–Young); the loss is a value.

    Parameters
    ----------
    loss : Loss
    tol : float, optional
        Relative tolerance, 1e-8 by default; derivatives are compared with difference quotients to 1e-5.
    random_state : int
        Seed of the scores it is tried on.

    Examples
    --------
    >>> from mercer.losses import Huber
    >>> from mercer.testing import LawViolation, check_loss
    >>> check_loss(Huber(delta=0.5))
    >>> class Wrong(Huber):
    ...     def grad(self, y, s):
    ...         return 2 * super().grad(y, s)
    >>> try:
    ...     check_loss(Wrong())
    ... except LawViolation as violation:
    ...     print(str(violation).split(":")[1])
     grad is not the derivative of value
    """
    if not isinstance(loss, Loss):
        raise TypeError(f"check_loss takes a Loss, got {type(loss).__name__}")
    tol = 1e-8 if tol is None else tol
    rng = np.random.default_rng(random_state)
    value_object(loss)
    loss.validate()
    y, s = _targets(loss, rng, 20, 3), rng.normal(scale=2, size=(20, 3))
    _shapes(loss, y, s)
    _derivatives(loss, y, s, tol)
    if loss.convex:
        _convex(loss, y, s, rng.normal(scale=2, size=s.shape), tol)
        _conjugate(loss, y, s, rng.normal(scale=2, size=s.shape), tol)
    _hessian_root(loss, y, s, tol)


def _targets(loss: Loss, rng: np.random.Generator, n: int, t: int) -> np.ndarray:
    """Targets of the kind the loss is made for."""
    if loss.joint:
        return np.eye(t)[rng.integers(t, size=n)]
    if loss.classification:
        return rng.choice([-1.0, 1.0], size=(n, t))
    y = rng.normal(scale=3, size=(n, t))
    try:
        loss.check_targets(y)
    except ValueError:
        y = np.abs(y)
    return y


def _shapes(loss: Loss, y: np.ndarray, s: np.ndarray) -> None:
    shapes = {"value": s.shape[:1] if loss.joint else s.shape, "grad": s.shape, "hess": s.shape}
    before = y.copy(), s.copy()
    for name, shape in shapes.items():
        try:
            result, single = (getattr(loss, name)(y.astype(t), s.astype(t)) for t in (np.float64, np.float32))
            getattr(loss, name)(y, s)
        except NotImplementedError:
            continue
        if result.shape != shape:
            fail(loss, "wrong shape", f"{name} has shape {result.shape}, not {shape}")
        if (result.dtype, single.dtype) != (np.float64, np.float32):
            fail(
                loss,
                "scores decide the dtype",
                f"{name} is {single.dtype} for float32, {result.dtype} for float64; return the dtype of s, "
                f"as in result.astype(s.dtype)",
            )
        if not np.isfinite(result).all():
            fail(loss, "values must be finite", f"{name} contains NaN or infinity")
        words = name + " at ({}) is {}, not {}"
        require_close(loss, "float32 must agree with float64", single, result, 1e-3 * scale(result), words)
        if not (np.array_equal(y, before[0]) and np.array_equal(s, before[1])):
            fail(loss, "inputs must be left alone", f"{name} changed them")


def _moved(s: np.ndarray, j: int, h: float) -> np.ndarray:
    out = s.copy()
    out[:, j] += h
    return out


def _derivatives(loss: Loss, y: np.ndarray, s: np.ndarray, tol: float) -> None:
    h, V, G = 1e-6, loss.value(y, s), loss.grad(y, s)
    try:
        H = loss.hess(y, s)
    except NotImplementedError:
        H = None
    for j in range(s.shape[1]):
        sides = [(step, _moved(s, j, step)) for step in (-h, h)]
        change = [(loss.value(y, at) - V) / step for step, at in sides]
        if not loss.joint:
            others = np.delete(np.abs(change).max(axis=0), j, axis=1)
            if others.any():
                fail(
                    loss,
                    "value must treat each output by itself",
                    f"output {j} acts on others; declare joint = True",
                )
            change = [c[:, j] for c in change]
        limit = max(1e3 * tol, 1e-5)
        words = f"∂V/∂s[{j}] at example {{}} is {{}}"
        require_slope(
            loss,
            "grad is not the derivative of value",
            G[:, j],
            change,
            limit * (scale(V) + scale(G)),
            words,
        )
        if H is not None:
            change = [(loss.grad(y, at)[:, j] - G[:, j]) / step for step, at in sides]
            words = f"∂²V/∂s[{j}]² at example {{}} is {{}}"
            law = "hess is not the derivative of grad"
            require_slope(loss, law, H[:, j], change, limit * (scale(G) + scale(H)), words)


def _convex(loss: Loss, y: np.ndarray, a: np.ndarray, b: np.ndarray, tol: float) -> None:
    A, B = loss.value(y, a), loss.value(y, b)
    for w in (0.1, 0.5, 0.8):
        chord, middle = w * A + (1 - w) * B, loss.value(y, w * a + (1 - w) * b)
        words = "between two scores at ({}) the value is {}, above the chord's {}"
        law = "declared convex, but is not"
        require_close(loss, law, middle, np.minimum(middle, chord), tol * scale(chord), words)


def _conjugate(loss: Loss, y: np.ndarray, s: np.ndarray, elsewhere: np.ndarray, tol: float) -> None:
    u = loss.grad(y, s)
    try:
        conjugate = loss.conjugate(y, u)
    except NotImplementedError:
        return
    for at, words in (
        (s, "at the gradient V + V* at ({}) is {}, not u·s = {}"),
        (elsewhere, "V + V* at ({}) is {} < u·s = {}"),
    ):
        both = loss.value(y, at) + conjugate
        product = (u * at).sum(axis=1) if loss.joint else u * at
        expected = product if at is s else np.maximum(product, both)
        limit = tol * (scale(product) + np.abs(both) + np.abs(conjugate))
        require_close(loss, "conjugate must satisfy Fenchel–Young", both, expected, limit, words)


def _hessian_root(loss: Loss, y: np.ndarray, s: np.ndarray, tol: float) -> None:
    try:
        H, root = loss.hess(y, s), loss.hess_root(y, s)
    except NotImplementedError:
        return
    units = [_moved(np.zeros_like(s), j, 1.0) for j in range(s.shape[1])]
    R = np.stack([root.apply(e) for e in units], axis=-1)
    transposed = np.stack([root.adjoint(e) for e in units], axis=-1).transpose(0, 2, 1)
    law = "hess_root must give R with R Rᵀ the Hessian"
    require_close(
        loss, law, transposed, R, tol * scale(R), "adjoint is not the transpose of apply at ({}): {}, not {}"
    )
    diagonal = np.diagonal(R, axis1=1, axis2=2)
    require_close(loss, law, root.diagonal, diagonal, tol * scale(R), "diagonal at ({}) is {}, but R has {}")
    if not loss.convex:
        return  # negative curvature counts as 0 there
    full, h = R @ R.transpose(0, 2, 1), 1e-6
    words = "the diagonal of R Rᵀ at ({}) is {}, but hess is {}"
    require_close(loss, law, np.diagonal(full, axis1=1, axis2=2), H, tol * scale(H), words)
    G = loss.grad(y, s)
    for j in range(s.shape[1]):
        sides = [(loss.grad(y, _moved(s, j, step)) - G) / step for step in (-h, h)]
        limit = max(1e3 * tol, 1e-5) * (scale(G) + scale(H))
        require_slope(loss, law, full[:, :, j], sides, limit, f"column {j} of R Rᵀ at ({{}}) is {{}}")
    if loss.curvature is not None:
        largest = np.linalg.norm(R, ord=2, axis=(1, 2)) ** 2
        bound = np.minimum(largest, loss.curvature)
        words = "the Hessian's largest eigenvalue at example {} is {}, above {}"
        require_close(loss, "curvature must bound the Hessian", largest, bound, tol * scale(largest), words)
