"""What a loss is: V(y, s), its derivatives in s, its conjugate, and the labels it understands.

Targets y and scores s are arrays of the same shape (n, t): n examples, t outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from mercer._params import Params
from mercer.codegen.symbols import Symbol
from mercer.losses.coding import LabelCoding, TargetCoding

if TYPE_CHECKING:
    from mercer.losses.dual import DualForm

Array = NDArray[Any]


def aligned(y: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
    """Return y and s as float arrays of one dtype, that of s.

    The scores decide the dtype, because they come out of the large products: float32 stays float32.

    >>> aligned([[1]], np.float32([[0.5]]))
    (array([[1.]], dtype=float32), array([[0.5]], dtype=float32))
    """
    s = floating(s)
    if isinstance(s, Symbol):
        return y, s  # type: ignore[return-value]
    y = np.asarray(y, dtype=s.dtype)
    # (n,) against (n, 1) would silently broadcast to (n, n).
    if y.ndim and y.shape != s.shape:
        raise ValueError(f"y has shape {y.shape} and the scores have shape {s.shape}; make them the same.")
    return y, s


def floating(a: ArrayLike) -> Array:
    """Return `a` as an array of floats; integers become float64. Symbols stay what they are."""
    if isinstance(a, Symbol):
        return a  # type: ignore[return-value]
    a = np.asarray(a)
    return a if a.dtype.kind == "f" else a.astype(np.float64)


def exp(a: Array) -> Array:
    """Return e^a, +inf where that is too large for a float: a line search can step back from inf."""
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(a)


def expit(a: Array) -> Array:
    """Return 1/(1 + e^−a); of symbols without SciPy, which may insist on arrays."""
    return a.recorder.apply("expit", a) if isinstance(a, Symbol) else special.expit(a)


class NoMargin(ValueError):
    """Where a margin was to be found there is none; the message says what to do."""


@dataclass(frozen=True, eq=False)
class HessianRoot:
    """A matrix R for each example, with R Rᵀ the Hessian of V in that example's scores.

    `apply` gives R v and `adjoint` Rᵀ v, example by example, for v of shape (n, t). `diagonal` is that of R
    (not of the Hessian, which is `loss.hess`), shape (n, t).
    """

    apply: Callable[[Array], Array]
    adjoint: Callable[[Array], Array]
    diagonal: Array


class Loss(Params, ABC):
    """A loss V(y, s); the base class of them all, and the place to start a new one.

    A subclass defines `value` and `grad`, and where it can `hess` and `conjugate`, and corrects the
    declarations below that are wrong for it. Everything else follows.

    Attributes
    ----------
    smooth : bool
        V is differentiable in s, with a locally Lipschitz derivative.
    convex : bool
        V is convex in s.
    classification : bool
        y are labels (coded ±1 or one-hot) rather than numbers.
    joint : bool
        The scores of one example are coupled, so that `value` has shape (n,).
    quadratic : bool
        V is a quadratic function of s: one linear system gives the minimiser.
    curvature : float or None
        The least upper bound of V'' over all s (of the largest eigenvalue, for a joint loss);
        None if there is none.
    has_probability : bool
        `probability` turns scores into probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses.base import Loss, aligned
    >>> class Gamma(Loss):
    ...     def value(self, y, s):
    ...         y, s = aligned(y, s)  # floats of one shape, and of the dtype of s
    ...         return y * np.exp(-s) + s
    ...     def grad(self, y, s):
    ...         y, s = aligned(y, s)
    ...         return 1 - y * np.exp(-s)
    >>> Gamma().grad([[1.0]], [[0.0]])
    array([[0.]])
    """

    smooth: bool = True
    convex: bool = True
    classification: bool = False
    joint: bool = False
    quadratic: bool = False
    curvature: float | None = None
    has_probability: bool = False
    # Is every output treated alike? (Not by one that stands for several quantiles.)
    alike: bool = True
    # Is it, with several outputs, a maximum over shares of classes? (see `CrammerSinger`)
    simplex: bool = False
    # Has the offset a price of its own, as in one-class problems? (`Problem.offset_price`)
    prices_offset: bool = False
    # Has it a parameter that is to be found with f? Then it says what `mercer.solvers.targets` asks for.
    unsettled: bool = False
    # Has its kink one, so that it is found (`Problem.kink_price`)? Then `settled` says what the loss becomes.
    prices_kink: bool = False
    # Are scores divided by what is found, so that λ only says in which units they are until then?
    divides_scores: bool = False
    # What a refusal suggests for a loss with kinks.
    refusal_hint: str = "use solver='dual' (exact) or solver='smoothing' (for many examples)"

    @property
    def curved(self) -> bool:
        """Is there a second derivative to be had?"""
        return self.smooth and type(self).hess is not Loss.hess

    def guessed(self, y: Array, w: Array) -> Loss:
        """This loss, with what would be found together with f guessed from the targets alone."""
        return self

    # -- targets ----------------------------------------------------------------------------------

    def check_targets(self, y: Array) -> None:
        """Raise ValueError if a numeric target means nothing to this loss; most take any number."""

    def sample_targets(self, rng: np.random.Generator, n: int, t: int) -> Array:
        """Return targets (n, t) of the kind this loss is made for: the laws are tried on them.

        Labels as they are coded; numbers of both signs or, where `check_targets` refuses those, positive
        ones. A loss for other numbers (shares, say) draws its own.
        """
        if self.joint:
            return np.eye(t)[rng.integers(t, size=n)]
        if self.classification:
            return rng.choice([-1.0, 1.0], size=(n, t))
        y = rng.normal(scale=3, size=(n, t))
        try:
            self.check_targets(y)
        except ValueError:
            y = np.abs(y)
        return y

    # -- the function of the scores ---------------------------------------------------------------

    @abstractmethod
    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        """Return V(y, s): shape (n, t), or (n,) for a joint loss."""

    @abstractmethod
    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        """Return the derivative of V in s, shape (n, t).

        At a kink, where there are many subgradients, return one; the losses here return the one of
        least absolute value.
        """

    def hess(self, y: ArrayLike, s: ArrayLike) -> Array:
        """Return the second derivative of V in s (for a joint loss the diagonal), shape (n, t).

        Where the first derivative has a corner, this is its derivative on one side.
        """
        name = type(self).__name__
        if self.smooth:
            raise NotImplementedError(f"{name} does not define hess; choose a solver that needs only grad.")
        raise NotImplementedError(
            f"{name} has kinks and so no second derivative; choose a solver that needs none, "
            "or a smooth loss such as SquaredHinge() or Huber()."
        )

    def hess_root(self, y: ArrayLike, s: ArrayLike) -> HessianRoot:
        """Return R with R Rᵀ the Hessian; negative curvature (no convex loss has any) counts as 0."""
        r = np.sqrt(np.maximum(self.hess(y, s), 0))
        return HessianRoot(lambda v: r * v, lambda v: r * v, r)

    def conjugate(self, y: ArrayLike, u: ArrayLike) -> Array:
        """Return V*(y, u) = sup over s of u s − V(y, s), +inf outside its domain; shaped like `value`."""
        if not self.has_dual:
            raise NotImplementedError(
                f"{type(self).__name__} does not define its conjugate, so it has no duality gap; "
                "judge convergence by the gradient instead."
            )
        y, u = aligned(y, u)
        form = self.dual(y)
        inside = (form.lower <= -u) & (-u <= form.upper)
        return np.where(inside, form.conjugate(np.where(inside, -u, 0)), np.inf)

    def dual(self, y: ArrayLike) -> DualForm:
        """Return V as a maximum over lines or parabolas, if it is one: the dual solver needs that."""
        raise NotImplementedError(f"{type(self).__name__} is no maximum over lines or parabolas.")

    def settled(self, kink: float, doubt: float = 0.0) -> tuple[Loss, float]:
        """(a loss without a price, a scale): V with this kink is scale·loss(y, s/scale).

        NoMargin where the scale is not above 0, as far as scores in `doubt` by so much tell.
        """
        raise NotImplementedError(f"the kink of {type(self).__name__} has no price")

    @property
    def priced(self) -> bool:
        """Is there something that has a price of its own? Few solvers know of that."""
        return self.prices_offset or self.prices_kink

    @property
    def has_dual(self) -> bool:
        """Is V a maximum over lines or parabolas, as `dual` then says?"""
        return type(self).dual is not Loss.dual

    @property
    def has_conjugate(self) -> bool:
        """Is V* known, from `conjugate` or from `dual`?"""
        return self.has_dual or type(self).conjugate is not Loss.conjugate

    # -- from scores to answers -------------------------------------------------------------------

    def link(self, s: ArrayLike) -> Array:
        """Return what a regression predicts at score s; here, s itself."""
        return floating(s)

    def probability(self, s: ArrayLike) -> Array:
        """Return P(y = +1) for each score, or for a joint loss the probability of each class."""
        raise NotImplementedError(
            f"{type(self).__name__} has no probabilities; use Logistic() or Multinomial() if you need them."
        )

    # -- from answers to targets ------------------------------------------------------------------

    def encode(self, y: ArrayLike) -> tuple[Array, LabelCoding | TargetCoding]:
        """Return the targets (n, t) for y, and the coding that leads from scores back to answers."""
        return self.encode_labels(y) if self.classification else self.encode_targets(y)

    def encode_labels(self, y: ArrayLike) -> tuple[Array, LabelCoding]:
        """Code labels: ±1 in one column for two classes, one column a class otherwise."""
        if not self.classification:
            raise ValueError(
                f"{type(self).__name__} is a loss for numbers, not for labels; "
                "use Logistic(), Hinge() or Squared() to classify."
            )
        self.validate()
        return LabelCoding.learn(self, y)

    def encode_targets(self, y: ArrayLike) -> tuple[Array, TargetCoding]:
        """Turn numbers into targets: floats of shape (n, t), finite."""
        if self.classification:
            raise ValueError(
                f"{type(self).__name__} is a loss for labels, not for numbers; "
                "use Squared() or Huber() for regression."
            )
        self.validate()
        return TargetCoding.learn(self, y)


class ProfileLoss(Loss):
    """V(y, s) = φ(m), where m falls or grows with s at slope ±1; a subclass gives φ and its derivatives."""

    @abstractmethod
    def argument(self, y: Array, s: Array) -> Array:
        """Return m."""

    @abstractmethod
    def direction(self, y: Array) -> Any:
        """Return dm/ds, which is 1 or −1."""

    @abstractmethod
    def profile(self, m: Array) -> Array:
        """Return φ(m)."""

    @abstractmethod
    def profile_grad(self, m: Array) -> Array:
        """Return φ'(m), or a subgradient."""

    def profile_hess(self, m: Array) -> Array:
        """Return φ''(m)."""
        return super().hess(m, m)  # which says that there is none

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        return self.profile(self.argument(*self._given(y, s)))

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = self._given(y, s)
        return self.direction(y) * self.profile_grad(self.argument(y, s))

    def hess(self, y: ArrayLike, s: ArrayLike) -> Array:
        return self.profile_hess(self.argument(*self._given(y, s)))

    def _given(self, y: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
        self.validate()
        return aligned(y, s)
