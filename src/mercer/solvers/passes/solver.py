"""Minimising over examples that live elsewhere: coefficients here, sums over examples there."""

from __future__ import annotations

from mercer.operators import STORED_SHARE
from mercer.operators.base import BLOCK_BYTES
from mercer.solvers.base import IncompatibleError, Solver, warn_if_unconverged
from mercer.solvers.cost import LARGEST_FACTOR, Shape, bytes_in_words
from mercer.solvers.journal import Journal
from mercer.solvers.passes.minimise import Minimisation, kept_bytes, sampled_examples, windowed_examples
from mercer.solvers.problem import Problem, Solution, relative_to

# The gap to reach for losses with kinks, relative to the objective.
_KINK_TOL = 1e-4
# What fits took: passes for losses with kinks, and Hessians of the sample, or as many examples in windows,
# for least squares, other smooth losses, and those with kinks.
_KINK_PASSES = 7
_HESSIANS, _SMOOTH_HESSIANS, _KINK_HESSIANS = 1, 6, 4
# Blocks of features that are in memory at a time, in float64.
_BLOCKS = 5
_PRICED = (
    "takes no price of the offset, which one-class problems have, or of a kink, which ν is; use solver='dual'"
)


class Passes(Solver):
    """Any smooth loss, and any with kinks, for examples that live elsewhere: one pass over them a step.

    The unknowns are coefficients of centres or features. A pass gives the objective and its gradient, sums
    over examples; all else happens here, with vectors as long as the unknowns. Steps are quasi-Newton
    (L-BFGS), with the Hessian of a sample of the examples in place of the identity, and begin at the
    solution of the sample's problem: with forty examples of the sample for each unknown a pass leaves about a
    sixth of the error. For least squares the steps are those of preconditioned conjugate gradients. Kinks
    are rounded off less and less, as in `Smoothing`, to a stated duality gap.

    Parameters
    ----------
    tol : float, optional
        Gradient norm in H_K, relative to that at the best constant, to reach; for losses with kinks the
        duality gap, relative to the objective. None: 1e-8 for float64 data, 1e-5 for float32; 1e-4 for kinks.
    max_iter : int
        Passes over all examples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.rows import ArrayRows
    >>> X = np.random.default_rng(0).uniform(-2, 2, (5000, 1))
    >>> machine = KernelRidge(lam=1e-4, random_state=0).fit(ArrayRows(X, np.sin(X[:, 0])))
    >>> machine.solution_.status, float(np.abs(machine.predict(X) - np.sin(X[:, 0])).max()) < 0.02
    ('converged', True)
    """

    name = "passes"
    resumes = True
    passes = 10

    def __init__(self, tol=None, max_iter=200):
        self.tol = tol
        self.max_iter = max_iter

    def refusal(self, loss, penalty):
        reason = super().refusal(loss, penalty)
        if reason is None and not loss.smooth and not loss.has_dual:
            reason = (
                f"solver {self!r} needs a loss with a derivative or a dual form, and {loss!r} has neither"
            )
        if reason is None and loss.priced:
            reason = f"solver {self!r} {_PRICED}"
        return reason

    def memory(self, shape):
        # The features of the sample, and of a window; blocks of them in float64 while they are added up; the
        # Hessian and its factor; vectors for the steps.
        p, sample = shape.unknowns, sampled_examples(shape.n, shape.unknowns)
        window = 0 if shape.smooth else 8 * min(shape.n, windowed_examples(p)) * p
        blocks = min(_BLOCKS * BLOCK_BYTES, 2 * 8 * sample * p)
        return self._kept(shape) + window + blocks + 4 * shape.square + 60 * p * shape.outputs * 8

    def _kept(self, shape: Shape) -> int:
        """Bytes of the features of the sample; 0 where they are computed as they are needed."""
        if shape.kind == "centres" and (shape.remote or shape.unknowns > LARGEST_FACTOR):
            return 0
        kept = kept_bytes(sampled_examples(shape.n, shape.unknowns), shape.unknowns)
        return kept if kept <= STORED_SHARE * shape.free else 0

    def keeps(self, shape):
        if not shape.elsewhere:
            return None
        kept = self._kept(shape)
        with_them = f"with its features (up to {bytes_in_words(kept)})" if kept else "without its features"
        return f"a sample of {sampled_examples(shape.n, shape.unknowns):,} examples is kept, {with_them}"

    def flops(self, shape):
        # A pass computes all kernel values, and multiplies by them twice; then there are Hessians of the
        # sample, whose features take as much again, and factors of matrices as large as the unknowns.
        n, p, t = shape.n, float(shape.unknowns), shape.outputs
        passes, hessians = self.passes, _HESSIANS if shape.quadratic else _SMOOTH_HESSIANS
        if not shape.smooth:
            passes, hessians = _KINK_PASSES, _KINK_HESSIANS
        sample = sampled_examples(n, shape.unknowns)
        once_more = (passes - 1) * shape.values + passes * 4.0 * n * p * t
        of_sample = shape.values_of(sample) + (1 + hessians) * sample * p * p
        return once_more + of_sample + (1 + hessians) * p**3

    def run(self, problem: Problem) -> Solution:
        self.validate()
        if problem.offset_price or problem.kink_price:
            raise IncompatibleError(f"solver {self!r} {_PRICED}")
        journal = Journal() if problem.journal is None else problem.journal
        minimisation = Minimisation(problem, self.tolerance(problem), self.max_iter, journal)
        solution = minimisation.solution(self.name)
        measured = None
        if not problem.loss.smooth:
            share = relative_to(solution.certificate.gap or 0.0, solution.certificate.objective)
            measured = f"the duality gap is {share:.1e} of the objective"
        tol = self.tolerance(problem)
        warn_if_unconverged(solution, tol, "Increase tol, lam or max_iter", problem.A.dtype, measured)
        return solution

    def tolerance(self, problem: Problem) -> float:
        """`tol`, or what stands for None with this problem."""
        if problem.loss.smooth or self.tol is not None:
            return self._tol(self.tol, problem.A.dtype)
        return _KINK_TOL
