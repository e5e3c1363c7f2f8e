"""f = Σ a_c k(x_c,·): a term for every example that had a loss, within a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import take
from mercer.engines import Engine
from mercer.functions import KernelFunction
from mercer.kernels.base import Kernel
from mercer.online import loops
from mercer.online.budgets import Budget
from mercer.online.code import loop
from mercer.online.learner import Learner, Rule, draws, stacked, widened

# Fewer kernel values than this are quicker in NumPy than through an engine.
_FEW = 4096


class Expansion(Learner):
    """Terms at examples, oldest first."""

    _by_output = ("offset", "A", "U")

    def __init__(self, kernel: Kernel, points: Any, rule: Rule, outputs: int, budget: Budget, engine: Engine):
        super().__init__(rule, outputs)
        self.kernel, self.budget, self.engine = kernel, budget, engine
        self.points = points[:0]
        self.A = np.zeros((outputs, 0))
        self.U = np.zeros((outputs, 0))
        self.diagonal = np.zeros(0)
        self.birth = np.zeros(0, np.int64)
        # Of terms: kernel values between them and, to merge, who is most like whom.
        self.K = np.zeros((0, 0), self._dtype(points))
        self.partner, self.near = np.zeros(0, np.int64), np.zeros(0)

    @staticmethod
    def _dtype(points: Any) -> Any:
        return np.float32 if getattr(points, "dtype", None) == np.float32 else np.float64

    @property
    def size(self) -> int:
        return len(self.birth)

    def _learn(self, points, Y, weight):
        m, n, t = self.size, points.shape[0], self.outputs
        every = stacked(self.points, points) if m else points
        base = m if self.budget.pairs else 0
        K = np.empty((base + n, m + n), self._dtype(every))
        self._fill(points, every, K[base:])
        if base:
            K[:m, :m] = self.K
            K[:m, m:] = K[m:, :m].T
        A, U = np.zeros((t, m + n)), np.zeros((t, m + n if self.rule.averaging else 0))
        A[:, :m] = self.A
        if self.rule.averaging:
            U[:, :m] = self.U
        diagonal = np.concatenate([self.diagonal, np.asarray(self.kernel.diagonal(points), np.float64)])
        size = np.full(m + n, np.inf)
        size[:m] = np.square(self.A).sum(axis=0) * self.diagonal
        birth, partner = (np.concatenate([a, np.zeros(n, np.int64)]) for a in (self.birth, self.partner))
        near = np.concatenate([self.near, np.zeros(n)])
        eta, state, count, S = self._begin(n)
        count[loops.HELD] = m
        offset, code = self.offset.copy(), self.code
        loop("expansion", K.dtype.name)(
            *(K, A, U, size, diagonal, birth, Y, S, eta, weight, draws(self.rule.seed, self.seen, n)),
            *(offset, state, count, partner, near, *code.buffers, code.slope, code.value, base, m, n, t),
            *(self.rule.lam, self.budget.policy, int(self.budget.size), self.rule.step.rate),
            *(int(self.rule.averaging), int(self.rule.offset)),
        )
        scale = self._end(state, S, offset, A)
        kept = np.flatnonzero(np.isfinite(size))
        self.points = take(every, kept)
        self.A = A[:, kept] * scale
        if self.rule.averaging:
            self.U = U[:, kept]
        self.diagonal, self.birth = diagonal[kept], birth[kept]
        if base or self.budget.pairs:
            self.K = K[kept[:, None], kept]
        if self.budget.policy == loops.MERGE:
            place = np.full(m + n + 1, -1)
            place[kept] = np.arange(len(kept))
            self.partner, self.near = place[partner[kept]], near[kept]
        else:
            self.partner, self.near = np.zeros(len(kept), np.int64), np.zeros(len(kept))
        return S

    def _fill(self, X: Any, Z: Any, out: np.ndarray) -> None:
        if self.engine.remote or out.size > _FEW:
            out[:] = self.engine.gram(self.kernel, X, Z)
        else:
            out[:] = self.kernel.pairwise(X, Z)

    def widen(self, columns):
        self.points = widened(self.points, columns)

    def coefficients(self):
        return self._mean(self.A, self.U).T

    def function(self, coef):
        return KernelFunction(self.kernel, self.points, coef, self.engine)

    def scores(self, points):
        if not self.size:
            return np.zeros((points.shape[0], self.outputs)) + self.offset
        coef = self.coefficients()
        if points.shape[0] * self.size > _FEW:
            return (
                np.asarray(self.engine.product(self.kernel, points, self.points, coef), np.float64)
                + self.offset
            )
        return self.kernel.pairwise(points, self.points) @ coef + self.offset
