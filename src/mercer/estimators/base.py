"""The one fit and the one predict that every supervised machine shares."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer import _resolve
from mercer._state import require
from mercer._warnings import frames_inside
from mercer._xp import given_up
from mercer.estimators.answers import Coefficients
from mercer.estimators.auto_lam import choose, forecast
from mercer.estimators.elsewhere import Census, engine_at, require_vectors
from mercer.estimators.inputs import KernelInputs, checked_weights, finite_scores, like
from mercer.estimators.lam import check_lam, is_auto, is_zero, value_of
from mercer.estimators.plan import Plan, make_plan, sizes_of, solver_in_memory, unknowns_elsewhere
from mercer.estimators.tensors import on_host
from mercer.features.base import generator
from mercer.functions import Function
from mercer.kernels import Precomputed
from mercer.kernels.base import Kernel
from mercer.kernels.door import admit, require_symmetry
from mercer.losses import Loss
from mercer.losses.coding import TargetCoding
from mercer.operators import NotPositiveDefinite
from mercer.representations import Features, Full
from mercer.representations.base import Built, in_float64
from mercer.rows import lives_elsewhere
from mercer.solvers import Problem, Solution
from mercer.solvers.convex import semidefinite
from mercer.solvers.journal import Journal
from mercer.solvers.targets import solve
from mercer.solvers.unpenalised import Unpenalised


class KernelMachine(Coefficients, KernelInputs):
    """f minimising (1/n) Σ w_i V(y_i, f(x_i)) + λ‖f‖²; subclasses say which V and what y means.

    fit:      check X, y → encode y → resolve the kernel → build A, B → solve → lift to a function
    predict:  check X → function → decode
    """

    lam: Any
    representation: Any
    solver: Any
    offset: bool
    random_state: Any
    # What is to become of a function that is no kernel; the machines that take this say so.
    indefinite: str | None = None
    # Does it know what λ = 0 means?
    _takes_zero = False

    # λ times the coefficients that a fit begins with, one row an example.
    _start: np.ndarray | None = None
    # What steps begin with, if anything.
    _begin: Begin | None = None
    # What remembers how far a fit is.
    _journal: Journal | None = None
    holds = {"function_": Function, "coding_": TargetCoding, "solution_": Solution, "loss_": Loss}

    takes_rows = True
    # Does it hold on to the problem after fit, and so to the examples?
    _keeps_problem = False
    _if_indefinite = (
        "the objective is not convex, so what is found is a stationary point of it, and nothing is certified"
    )

    # -- what subclasses say ----------------------------------------------------------------------

    def loss_for(self, y: np.ndarray) -> Loss:
        """The loss that `fit` would use for these targets."""
        raise NotImplementedError

    def _encode(self, loss: Loss, y: np.ndarray):
        """(targets, coding)"""
        raise NotImplementedError

    # -- fit --------------------------------------------------------------------------------------

    def _prepare(
        self, X: Any, y: Any, census: Census | None = None
    ) -> tuple[Kernel, Any, Loss, np.ndarray, Any, Plan]:
        """Everything up to the first kernel evaluation; where there is a census, X and y are its sample."""
        representation = self._asked_representation()
        lam = self._asked_lam()
        solver = self._asked_solver()
        y = self.require_y(y)
        kernel, engine, X = self._door(X, representation, solver)
        y = self._check_y(y)
        check_consistent_length(X, y)
        known = y if census is None or census.labels is None else census.labels
        loss = clone(self.loss_for(known))
        targets, coding = self._encode(loss, known)
        targets = targets if known is y else coding.encode(y)
        loss = coding.loss  # a loss of the user's own has been looked at there
        sizes = sizes_of(X, targets.shape[1], kernel)
        sizes = sizes if census is None else census.sizes(sizes)
        plan = make_plan(kernel, loss, representation, solver, engine, sizes)
        remarks = (*_engine_remarks(kernel, X, plan), *self._remarks(loss, targets))
        plan = replace(plan, reasons=(*plan.reasons, *remarks))
        return kernel, X, loss, targets, coding, forecast(plan, loss) if is_auto(lam) else plan

    def _asked_lam(self) -> Any:
        """λ as it was asked for, checked: "auto", a number, or other words for one."""
        if not (self._takes_zero and is_zero(self.lam)):
            check_lam(self.lam)
        return self.lam

    def _asked_solver(self) -> Any:
        """The solver that was asked for; None for "auto". Without a penalty there is only one."""
        solver = _resolve.solver_of(self.solver)
        if not (self._takes_zero and is_zero(self.lam)):
            return solver
        if solver is not None and not isinstance(solver, Unpenalised):
            raise ValueError(
                f"lam=0 has a solver of its own: leave out solver={self.solver!r}, or give lam > 0"
            )
        return Unpenalised()

    def _asked_representation(self) -> Any:
        """The representation that was asked for; None for "auto"."""
        representation = _resolve.representation_of(self.representation)
        if self.indefinite not in (None, "clip", "flip", "allow"):
            raise ValueError(
                f"indefinite must be None, 'clip', 'flip' or 'allow', got {self.indefinite!r}: None refuses "
                "what is no kernel, unless the kernel says that it is wanted"
            )
        if self.indefinite in (None, "allow"):
            return representation
        if representation is not None and not isinstance(representation, Full):
            raise ValueError(
                f"indefinite={self.indefinite!r} changes eigenvalues of the matrix of all examples: it needs "
                f"representation='full', not {representation!r}"
            )
        return Full(indefinite=self.indefinite)

    def admit_points(self, points: Any) -> bool:
        if self.indefinite in ("clip", "flip"):
            return require_symmetry(self.kernel_, points)
        allowed = self.indefinite == "allow"
        return admit(self.kernel_, points, self._if_indefinite, frames_inside(), allowed=allowed)

    def _remarks(self, loss: Loss, targets: np.ndarray) -> Iterator[str]:
        """What a plan should mention although nothing was chosen."""
        if not self.offset and not loss.classification and len(targets) > 1:
            mean, spread = np.abs(targets.mean(axis=0)), targets.std(axis=0)
            if (mean > 3 * spread).any() and mean.max() > 0:
                yield "the targets lie far from 0 compared with their spread: offset=True would take that up"

    def _check_y(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def plan(self, X, y=None) -> Plan:
        """What `fit` would choose for these data, and the memory and work it would take.

        ``print(machine.plan(X, y))`` reads well. Examples that live elsewhere are looked at once.
        """
        machine = clone(self)
        if not machine.learns_elsewhere(X):
            return machine._prepare(X, y)[-1]
        census = machine._census(X, y, None)
        plan = machine._prepare(census.sample.X, census.sample.y, census)[-1]
        return replace(plan, engine=engine_at(census.rows, plan.engine))

    def _build(self, X: Any, y: Any, sample_weight: Any, census: Census | None = None):
        """The problem to be solved, and what is needed to make a function of its solution."""
        given = X
        if census is not None:
            counted = census.weights()
        else:
            counted = None if y is None else self._example_weights(y, on_host(sample_weight))
        kernel, X, loss, targets, coding, plan = self._prepare(X, self._without_absent(y, counted), census)
        if plan.refusal:
            raise ValueError(plan.refusal)
        weights, total = _weights(counted, X, X.shape[0])
        # Weight 0 means absent: such rows have no say in the kernel's parameters or centres either.
        seen = None if weights is None or weights.all() else np.flatnonzero(weights)
        points, squares = self._bind(kernel, X, plan.engine, given, weights, keep=self._keeps_problem)
        rng = self._generator()
        n = {} if census is None else {"n": census.n}
        if loss.quadratic and isinstance(plan.representation, Full) and not plan.engine.remote:
            # Large coefficients cancel, and float64 kernel values, from which residuals and predictions are
            # then computed, cost little more here: factors and most products stay float32.
            points = in_float64(kernel, points)
        built = plan.representation.build(self.kernel_, points, rng, plan.engine, seen, **n)
        if built.remark:  # another matrix than that of the kernel
            squares = np.asarray(built.A.diag(), np.float64)
        # Losses are summed in float64, whatever the data.
        targets = np.array(targets, dtype=np.float64)
        problem = Problem(built.A, built.B, targets, loss, 1.0, weights, bool(self.offset), rng=rng)
        asked = self._asked_lam()
        if is_auto(asked):
            solver = (
                plan.solver if census is None else solver_in_memory(kernel, loss, plan, X, targets.shape[1])
            )
            guessed = replace(problem, loss=loss.guessed(targets, problem.w))
            lam, reason = choose(guessed, X, squares, total, solver)
            if census is not None:
                # λn is what stays about the same with more rows.
                lam *= len(targets) / census.n
                reason = f"lam = {lam:.3g} for all {census.n:,} rows; of a sample: {reason}"
            plan = replace(plan, reasons=(*plan.reasons[:-1], reason))
        else:
            total = total if census is None else census.weight
            lam = value_of(asked, total, targets.shape[1])
        if np.ndim(lam) or loss.unsettled:
            _require_apart(loss, census, "lam has a value for each output" if np.ndim(lam) else f"{loss!r}")
        plan = replace(plan, reasons=(*plan.reasons, *self._seen_of_matrix(built)))
        problem = self._adapt(replace(problem, lam=lam, indefinite=self.indefinite == "allow"))
        return problem if census is None else census.everywhere(problem, built, coding), built, coding, plan

    def _seen_of_matrix(self, built: Built) -> Iterator[str]:
        """What a plan should say of kernel values that are not those of a kernel."""
        if built.remark:
            yield built.remark
        if not self._definite:
            said = (
                f"{self.kernel_!r} is no kernel on these points, and taken as it is, since that was asked for"
            )
            yield f"{said}: what is found is a stationary point"

    def _example_weights(self, y: Any, sample_weight: Any) -> Any:
        """The weights of examples; classifiers may weigh classes, too."""
        return sample_weight

    def _without_absent(self, y: Any, weights: Any) -> Any:
        """y without what only examples of weight 0, which count as absent, bring along: classes."""
        return y

    def _census(self, X: Any, y: Any, sample_weight: Any) -> Census:
        """One look at all of the examples, which live elsewhere."""
        representation = _resolve.representation_of(self.representation)
        kernel, engine = _resolve.kernel_of(self.kernel), _resolve.engine_of(self.engine)
        require_vectors(kernel)
        if not lives_elsewhere(X):  # the engine will send it there
            y = self._check_y(self.require_y(y))
            X = self.check_X(on_host(X), kernel, reset=True)
            check_consistent_length(X, y)
            sample_weight = None if sample_weight is None else checked_weights(on_host(sample_weight), X)
        rows = engine.place(X, y, sample_weight)
        unknowns = unknowns_elsewhere(representation, kernel, *rows.shape)
        return Census.take(rows, unknowns, self._generator(), self._factors_of())

    def _generator(self) -> np.random.Generator:
        """The source of all that is random in a fit; where one is to be resumed, the same again."""
        journal = Journal() if self._journal is None else self._journal
        return generator(journal.seeded(self.random_state))

    def _factors_of(self) -> Any:
        """labels, weights ↦ factors of the weights of classes; None where y are numbers."""
        return None

    def _adapt(self, problem: Problem) -> Problem:
        """What a subclass wants said differently, or besides, to the solver."""
        start, begin = self._start, self._begin
        if not np.all(problem.lam):  # slopes over λ mean nothing without one
            return problem
        if start is not None and start.shape == problem.y.shape:
            problem = replace(problem, start=start / problem.lam)
        if begin is not None and begin.coef.shape == (problem.A.shape[1], problem.y.shape[1]):
            # With a coefficient for each example these are slopes over λ.
            factor = begin.lam / problem.lam if problem.full else 1.0
            problem = replace(problem, begin=(begin.coef * factor, begin.intercept))
        return problem

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit f to (X, y).

        Parameters
        ----------
        X : points
            They may live elsewhere (a path, a memory-mapped array, `Rows`, a Dask collection, …): see
            `mercer.rows`.
        y : targets
            Of examples that live elsewhere also the name of a column.
        sample_weight : weights
        checkpoint : path or Checkpoint, optional
            Where the fit notes how far it is. Begun again after whatever ended it, it goes on from there.
            For examples that live elsewhere, and for solvers that go step by step.
        """
        if checkpoint is not None:
            self._journal = Journal.opened(checkpoint)
        self._fit(X, y, sample_weight)
        return self

    def fit_from(
        self, other: KernelMachine | None, X: Any, y: Any, sample_weight: Any = None, rows: Any = None
    ) -> Self:
        """`fit`, beginning at the coefficients of a machine fitted to a similar problem.

        Of use to solvers that go step by step: `Dual`, `Newton`, `GradientDescent`, `Coordinate`. Others find
        their solution at once, and then it is `fit`.

        Parameters
        ----------
        other : a fitted machine, with another λ or kernel; None: `fit`
        rows : int array, which of that machine's examples X holds; all of them, if not given
        """
        self._start = None if other is None else start_at(other, rows)
        self._begin = None if other is None else begin_at(other, rows)
        return self.fit(X, y) if sample_weight is None else self.fit(X, y, sample_weight)

    def problem(self, X, y=None, sample_weight=None):
        """(the optimisation problem `fit` would hand to its solver, the coding of y)"""
        return self.planned(X, y, sample_weight)[:2]

    def planned(self, X, y=None, sample_weight=None):
        """(the problem `fit` would hand to its solver, the coding of y, the plan it follows)"""
        problem, _, coding, plan = clone(self)._built(X, y, sample_weight)
        return problem, coding, plan

    def _built(self, X: Any, y: Any, sample_weight: Any):
        """What `_build` gives, wherever the examples are."""
        if not self.learns_elsewhere(X):
            return self._build(X, y, sample_weight)
        census = self._census(X, y, sample_weight)
        problem, built, coding, plan = self._build(census.sample.X, census.sample.y, None, census)
        if census.rows.names is not None:
            self.feature_names_in_ = np.array(census.rows.names, dtype=object)
        plan = replace(plan, engine=engine_at(census.rows, plan.engine))
        return problem, built, coding, replace(plan, reasons=(*plan.reasons, *census.rows.remarks))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """Everything `fit` does; returns the problem that was solved."""
        if getattr(self, "warm_start", False) and hasattr(self, "solution_"):
            self._start = start_at(self) if self._start is None else self._start
            self._begin = begin_at(self) if self._begin is None else self._begin
        try:
            problem, built, coding, plan = self._built(X, y, sample_weight)
            if self._journal is not None and not plan.solver.resumes:
                raise ValueError(
                    f"a checkpoint is of a solver that goes step by step, and {plan.solver!r} does not: say "
                    "solver='cg' (squared loss), 'newton' or 'dual', or fit without checkpoint="
                )
        except BaseException:
            if self._journal is not None:
                self._journal.drop()
            raise
        finally:
            journal = self._journal
            for name in ("_start", "_begin", "_journal"):  # they were for this fit only
                self.__dict__.pop(name, None)
        try:
            solution, settled = solve(plan.solver, replace(problem, journal=journal))
        except NotPositiveDefinite as error:
            if self._definite:
                raise
            raise NotPositiveDefinite(
                f"{self.kernel_!r} is no kernel on these points, and {plan.solver!r} can't take it as it is "
                f"({error}): indefinite='clip' or 'flip' makes one of it; KernelSVC takes it as it is"
            ) from error
        if settled is not problem.loss:
            problem, coding = replace(problem, loss=settled), replace(coding, loss=settled)
        claims = solution.certificate.gap is not None
        if not self._definite or (claims and not semidefinite(problem)):
            solution = solution.without_claims()
        coef = solution.coef
        if not np.isfinite(coef).all():
            raise ValueError(
                f"no finite solution was found: {self.kernel_!r} gives NaN or infinity on these points"
            )
        given_up(coef)  # shared by the solution, the machine and its function
        one_column = coef.shape[1] == 1 and getattr(coding, "one_dimensional", True)
        # Coefficients stay float64: large ones of both signs cancel, and float32 would lose the rest.
        self.function_: Function = built.lift(coef[:, 0] if one_column else coef)
        self.intercept_ = float(solution.intercept[0]) if one_column else solution.intercept
        self.loss_, self.lam_, self.coding_ = problem.loss, problem.lam, coding
        if solution.kinks is not None and solution.lams is not None:  # what it has become by what was found
            self.loss_ = problem.loss.settled(float(solution.kinks[0]))[0]
            self.lam_ = float(solution.lams[0]) if len(solution.lams) == 1 else solution.lams
        self.solution_, self.plan_, self.weighted_ = solution, plan, problem.weights is not None
        return problem

    def check_state(self) -> None:
        super().check_state()
        outputs = self.function_.outputs or 1
        self._check_answers(self.coding_, outputs)
        require(len(self.solution_.intercept) == outputs, "solution_ is not that of as many functions")

    # -- predict ----------------------------------------------------------------------------------

    def scores(self, X: Any) -> np.ndarray:
        """f(x) + b as the loss takes it, shape (n, outputs): what `coding_` decodes to predictions."""
        if "function_" not in vars(self):
            check_is_fitted(self, "function_")
        X = self.check_new(X, getattr(self.function_, "engine", None))
        scores = self.function_.at_points(X)
        # Rounded after b is added: f and b may be large, and cancel.
        scores = (scores[:, None] if scores.ndim == 1 else scores) + self.solution_.intercept
        return finite_scores(like(scores, X))


def start_at(machine: KernelMachine, rows: np.ndarray | None = None) -> np.ndarray | None:
    """λ times the coefficients of (some of) a machine's examples; None if it has no such coefficients.

    Scaled like their bounds, 1/(2λn), coefficients at a bound stay there whatever the next λ is.
    """
    c = machine.solution_.dual_coef
    if c is None or rows is None:
        return c if c is None else c * machine.lam_
    return c[rows] * (machine.lam_ * len(c) / len(rows))


@dataclass(frozen=True, eq=False)
class Begin:
    """The coefficients and offsets of a solution, and its λ."""

    coef: np.ndarray
    intercept: np.ndarray
    lam: Any


def begin_at(machine: KernelMachine, rows: np.ndarray | None = None) -> Begin | None:
    """Where a machine's solver ended; None where its examples are others, each with a coefficient."""
    if rows is not None and machine.plan_.representation.name == "full":
        return None
    return Begin(machine.solution_.coef, machine.solution_.intercept, machine.lam_)


def _require_apart(loss: Loss, census: Census | None, what: str) -> None:
    """Refuse outputs that differ where they can't be solved for one by one."""
    if loss.joint:
        raise ValueError(f"{what}, and {loss!r} ties outputs together: they have one λ")
    if not loss.alike:
        raise ValueError(f"{what}, and the outputs of {loss!r} are those of one target: say one λ")
    if census is not None:
        raise ValueError(f"{what}: that needs the examples in memory, and they live elsewhere")


def _engine_remarks(kernel: Kernel, X: Any, plan: Plan) -> Iterator[str]:
    """How the engine computes products with this kernel, where that is worth saying."""
    if isinstance(plan.representation, Features):
        return
    some = X[:100]
    if not isinstance(kernel, Precomputed):
        kernel = kernel.resolve(some)  # which values it takes does not matter here
    remark = plan.engine.operator(kernel, some).remark(plan.examples * plan.unknowns)
    if remark is not None:
        yield remark


def _weights(sample_weight: Any, X: Any, n: int) -> tuple[np.ndarray | None, float]:
    """Sample weights with mean 1, or None where they make no difference; and their sum as given."""
    if sample_weight is None:
        return None, float(n)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, sample_weight)
    w = checked_weights(sample_weight, X)
    if w.sum() == 0:
        raise ValueError("sample_weight is zero everywhere: there is nothing to learn from")
    total = float(w.sum())
    w = w * (n / total)
    return (None if np.allclose(w, 1, rtol=1e-14, atol=0) else w), total
