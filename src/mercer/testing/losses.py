"""The laws of losses."""

from __future__ import annotations

import numpy as np

from mercer.losses import Loss
from mercer.testing.common import LawTrial, require_kind, scale


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
    require_kind(loss, Loss, "check_loss")
    trial = _LossTrial(loss, 1e-8 if tol is None else tol, np.random.default_rng(random_state))
    trial.shapes()
    trial.derivatives()
    if loss.convex:
        trial.convex()
        trial.conjugate()
    trial.hessian_root()
    trial.no_broadcasting()


class _LossTrial(LawTrial):
    """A loss on some targets and scores, and at scores elsewhere."""

    def __init__(self, loss: Loss, tol: float, rng: np.random.Generator, shape: tuple[int, int] = (20, 3)):
        super().__init__(loss)
        self.loss, self.tol, self.slope_tol = loss, tol, max(1e3 * tol, 1e-5)
        self.y, law = loss.sample_targets(rng, *shape), "sample_targets must give what check_targets takes"
        if self.y.shape != shape:
            self.fail(law, f"its targets have shape {self.y.shape}, not {shape}")
        try:
            loss.check_targets(self.y)
        except ValueError as error:
            self.fail(
                law, f"it says {str(error)!r}; define sample_targets(rng, n, t) for targets of its kind"
            )
        self.s, self.b, self.c = (rng.normal(scale=2, size=shape) for _ in range(3))

    def shapes(self) -> None:
        y, s = self.y, self.s
        shapes = {"value": s.shape[:1] if self.loss.joint else s.shape, "grad": s.shape, "hess": s.shape}
        before = y.copy(), s.copy()
        for name, shape in shapes.items():
            method = getattr(self.loss, name)
            try:
                result, single = (method(y.astype(t), s.astype(t)) for t in (np.float64, np.float32))
                method(y, s)
            except NotImplementedError:
                continue
            if result.shape != shape:
                self.fail("wrong shape", f"{name} has shape {result.shape}, not {shape}")
            if (result.dtype, single.dtype) != (np.float64, np.float32):
                found = f"{name} is {single.dtype} for float32, {result.dtype} for float64"
                way = "return the dtype of s, as in result.astype(s.dtype)"
                self.fail("scores decide the dtype", f"{found}; {way}")
            if not np.isfinite(result).all():
                self.fail("values must be finite", f"{name} contains NaN or infinity")
            words = name + " at ({}) is {}, not {}"
            self.close("float32 must agree with float64", single, result, 1e-3 * scale(result), words)
            if not (np.array_equal(y, before[0]) and np.array_equal(s, before[1])):
                self.fail("inputs must be left alone", f"{name} changed them")

    def moved(self, j: int, h: float = 1e-6) -> list[tuple[float, np.ndarray]]:
        """(step, scores) with the scores of output j a little less, and a little more."""
        unit = np.eye(self.s.shape[1])[j]
        return [(step, self.s + step * unit) for step in (-h, h)]

    def derivatives(self) -> None:
        loss, y, V, G = self.loss, self.y, self.loss.value(self.y, self.s), self.loss.grad(self.y, self.s)
        try:
            H = loss.hess(y, self.s)
        except NotImplementedError:
            H = None
        for j in range(self.s.shape[1]):
            sides = self.moved(j)
            change = [(loss.value(y, at) - V) / step for step, at in sides]
            if not loss.joint:
                if np.delete(np.abs(change).max(axis=0), j, axis=1).any():
                    law = "value must treat each output by itself"
                    self.fail(law, f"output {j} acts on others; declare joint = True")
                change = [c[:, j] for c in change]
            words, limit = f"∂V/∂s[{j}] at example {{}} is {{}}", self.slope_tol * (scale(V) + scale(G))
            self.slope("grad is not the derivative of value", G[:, j], change, limit, words)
            if H is not None:
                change = [(loss.grad(y, at)[:, j] - G[:, j]) / step for step, at in sides]
                words, limit = f"∂²V/∂s[{j}]² at example {{}} is {{}}", self.slope_tol * (scale(G) + scale(H))
                self.slope("hess is not the derivative of grad", H[:, j], change, limit, words)

    def convex(self) -> None:
        loss, y, a, b = self.loss, self.y, self.s, self.b
        A, B = loss.value(y, a), loss.value(y, b)
        words = "between two scores at ({}) the value is {}, above the chord's {}"
        for w in (0.1, 0.5, 0.8):
            chord, middle = w * A + (1 - w) * B, loss.value(y, w * a + (1 - w) * b)
            bound, limit = np.minimum(middle, chord), self.tol * scale(chord)
            self.close("declared convex, but is not", middle, bound, limit, words)

    def conjugate(self) -> None:
        loss, y, s = self.loss, self.y, self.s
        if not loss.has_conjugate:
            return
        u = loss.grad(y, s)
        conjugate = loss.conjugate(y, u)
        for at, words in (
            (s, "at the gradient V + V* at ({}) is {}, not u·s = {}"),
            (self.c, "V + V* at ({}) is {} < u·s = {}"),
        ):
            both = loss.value(y, at) + conjugate
            product = (u * at).sum(axis=1) if loss.joint else u * at
            expected = product if at is s else np.maximum(product, both)
            limit = self.tol * (scale(product) + np.abs(both) + np.abs(conjugate))
            self.close("conjugate must satisfy Fenchel–Young", both, expected, limit, words)

    def hessian_root(self) -> None:
        loss, y, s, tol = self.loss, self.y, self.s, self.tol
        try:
            H, root = loss.hess(y, s), loss.hess_root(y, s)
        except NotImplementedError:
            return
        units = [np.tile(e, (len(s), 1)) for e in np.eye(s.shape[1])]
        R = np.stack([root.apply(e) for e in units], axis=-1)
        transposed = np.stack([root.adjoint(e) for e in units], axis=-1).transpose(0, 2, 1)
        law, words = "hess_root must give R with R Rᵀ the Hessian", "diagonal at ({}) is {}, but R has {}"
        different = "adjoint is not the transpose of apply at ({}): {}, not {}"
        self.close(law, transposed, R, tol * scale(R), different)
        self.close(law, root.diagonal, np.diagonal(R, axis1=1, axis2=2), tol * scale(R), words)
        if not loss.convex:
            return  # negative curvature counts as 0 there
        full, G = R @ R.transpose(0, 2, 1), loss.grad(y, s)
        words = "the diagonal of R Rᵀ at ({}) is {}, but hess is {}"
        self.close(law, np.diagonal(full, axis1=1, axis2=2), H, tol * scale(H), words)
        for j in range(s.shape[1]):
            sides = [(loss.grad(y, at) - G) / step for step, at in self.moved(j)]
            limit, words = self.slope_tol * (scale(G) + scale(H)), f"column {j} of R Rᵀ at ({{}}) is {{}}"
            self.slope(law, full[:, :, j], sides, limit, words)
        if loss.curvature is not None:
            largest = np.linalg.norm(R, ord=2, axis=(1, 2)) ** 2
            bound, limit = np.minimum(largest, loss.curvature), tol * scale(largest)
            words = "the Hessian's largest eigenvalue at example {} is {}, above {}"
            self.close("curvature must bound the Hessian", largest, bound, limit, words)

    def no_broadcasting(self) -> None:
        y, s = self.y[:, 0], self.s[:, :1]
        try:
            spread = self.loss.value(y, s).shape
        except ValueError:
            return
        words = f"targets of shape {y.shape} and scores of shape {s.shape} gave {spread}"
        self.fail("shapes that differ must be refused", f"{words}; begin with y, s = aligned(y, s)")
