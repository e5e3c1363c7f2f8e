"""How long the steps are: η of f ← (1 − 2ηλ) f − η V' k(x,·), t = 1, 2, 3, …"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mercer._params import Params, require_count, require_nonnegative, require_positive
from mercer.online import loops


class Step(Params):
    """Contract: `sizes(t, lam)` gives η for an array of times; `validate` refuses what makes no sense.

    `rate` says whether η is that number, or follows from the loss and is bounded by it; `without_lam` why λ
    must be 0, if it must.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> class ByLogarithm(Step):
    ...     def sizes(self, t, lam):
    ...         return 0.4 / np.log2(1 + t)
    >>> machine = OnlineKernelRegressor(Gaussian(1.0), lam=0.0, step=ByLogarithm())
    >>> machine.fit([[0.0]], [1.0]).predict([[0.0]])                # 2η(y − 0), η₁ = 0.4
    array([0.8])
    """

    rate = loops.TOLD
    without_lam = ""
    # Does `slower` say more than that going on is of no use?
    adapts = False

    def validate_for(self, lam: float) -> None:
        """Refuse a λ that this step can't go with."""
        self.validate()
        if self.without_lam and lam != 0:
            raise ValueError(f"{self.without_lam}: set lam=0.0")
        longest = float(self.checked_sizes(np.array([1.0]), lam)[0])
        if 2 * longest * lam > 1 + 1e-12:
            raise ValueError(
                f"a step of η = {longest:g} with λ = {lam:g} would shrink f by 1 − 2ηλ = "
                f"{1 - 2 * longest * lam:g}: take η ≤ 1/(2λ) = {1 / (2 * lam):g}, or a smaller λ"
            )

    def sizes(self, t: np.ndarray, lam: float) -> np.ndarray:
        """η_t."""
        raise NotImplementedError

    def checked_sizes(self, t: np.ndarray, lam: float) -> np.ndarray:
        """`sizes` as the loops take them: one positive number for every example."""
        eta = np.asarray(self.sizes(t, lam))
        if eta.shape != t.shape or eta.dtype.kind not in "fiu":
            raise ValueError(
                f"{self!r}: sizes(t, lam) must give one number for each of the {len(t)} times in t, got an "
                f"array of {eta.dtype} with shape {eta.shape}: compute with t, as in 0.4 / np.sqrt(t), or "
                "repeat a number with np.full(len(t), …)"
            )
        wrong = ~(np.isfinite(eta) & (eta >= 0))
        if wrong.any():
            first = int(np.argmax(wrong))
            raise ValueError(
                f"{self!r}: the step for example {int(t[first])} is {eta[first]}, and must be a finite "
                "number of at least 0"
            )
        return np.array(eta, np.float64)

    def slower(self, pace: float) -> float | None:
        """What to multiply steps by from now on, where passes through the rows have led no further.

        None: nothing, and going on is of no use.
        """
        return None


class ConstantStep(Step):
    """η_t = `eta` > 0: goes on learning for ever, as drifting data want it.

    >>> import numpy as np
    >>> ConstantStep(0.5).sizes(np.arange(1, 4), 0.0)
    array([0.5, 0.5, 0.5])
    """

    def __init__(self, eta=0.1):
        self.eta = eta

    def validate(self):
        require_positive(self.eta, "eta")

    def sizes(self, t, lam):
        return np.full(len(t), float(self.eta))


class InverseRootStep(Step):
    """η_t = `eta`/√t: regret grows no faster than √T.

    >>> import numpy as np
    >>> InverseRootStep(1.0).sizes(np.array([1, 4, 16]), 0.0)
    array([1.  , 0.5 , 0.25])
    """

    def __init__(self, eta=1.0):
        self.eta = eta

    def validate(self):
        require_positive(self.eta, "eta")

    def sizes(self, t, lam):
        return float(self.eta) / np.sqrt(t)


class PowerStep(Step):
    """η_t = `eta`/t^`power`, t = 1, 2, 3, …: the less the power, the longer the machine goes on learning.

    >>> import numpy as np
    >>> PowerStep(1.0, power=0.25).sizes(np.array([1, 16, 81]), 0.0).round(3)
    array([1.   , 0.5  , 0.333])
    """

    def __init__(self, eta=1.0, power=0.25):
        self.eta = eta
        self.power = power

    def validate(self):
        require_positive(self.eta, "eta")
        require_nonnegative(self.power, "power")

    def sizes(self, t, lam):
        return float(self.eta) / np.asarray(t, np.float64) ** float(self.power)


class AdaptiveStep(Step):
    """η stays what it is as long as passes through the rows lead further, and is then divided by `factor`.

    `fit` looks at it after every pass, with the machine's `stopping` (`Stopping()`, if it has none), and ends
    when η has fallen to `least`. In a stream, which has no passes, the step is constant.

    Parameters
    ----------
    eta : float > 0
        η of the first passes.
    factor : float > 1
    least : float ≥ 0
        A step no longer than this is not divided again.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.online import Stopping
    >>> X = np.random.default_rng(0).uniform(-3, 3, (100, 1))
    >>> step, rule = AdaptiveStep(0.5, least=0.01), Stopping(tol=1e-4, patience=2)
    >>> machine = OnlineKernelRegressor(Gaussian(1.0), step=step, stopping=rule, passes=500)
    >>> machine.fit(X, np.sign(X[:, 0])).n_passes_ < 500
    True
    """

    adapts = True

    def __init__(self, eta=0.1, factor=5.0, least=1e-6):
        self.eta = eta
        self.factor = factor
        self.least = least

    def validate(self):
        require_positive(self.eta, "eta")
        if require_positive(self.factor, "factor") <= 1:
            raise ValueError(f"factor must be more than 1, got {self.factor!r}: η is divided by it")
        require_nonnegative(self.least, "least")

    def sizes(self, t, lam):
        return np.full(len(t), float(self.eta))

    def slower(self, pace):
        return pace / float(self.factor) if self.eta * pace > self.least else None


class PegasosStep(Step):
    """η_t = 1/(2λt): for λ > 0 the objective is 2λ-strongly convex, and regret grows as log T.

    Pegasos writes λ/2 for our λ, so its 1/(λt) is the same step. The first one forgets where f began; with a
    `delay`, a whole number, t + delay takes the place of t, and the first steps are shorter. "auto" is
    Bottou's rule: the first step is (2λ)^(−1/4), about as long as f is going to be, so that t + delay begins
    with (2λ)^(−3/4) (or 1, where that is less).

    >>> import numpy as np
    >>> PegasosStep().sizes(np.array([1, 2, 10]), 0.05)
    array([10.,  5.,  1.])
    >>> PegasosStep("auto").sizes(np.array([1, 2, 10]), 0.00005).round(3)
    array([10.   ,  9.99 ,  9.911])

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, Pegasos: primal estimated sub-gradient solver for SVM, 2007.
    L. Bottou, Stochastic gradient descent tricks, 2012.
    """

    def __init__(self, delay=0):
        self.delay = delay

    def validate(self):
        if isinstance(self.delay, str):
            if self.delay != "auto":
                raise ValueError(f"delay must be a whole number or 'auto', got {self.delay!r}")
        else:
            require_count(self.delay, "delay", 0)

    def validate_for(self, lam):
        self.validate()
        if lam <= 0:
            raise ValueError(
                "PegasosStep() has steps 1/(2λt) and needs lam > 0: set lam, or use InverseRootStep()"
            )

    def sizes(self, t, lam):
        delay = max((2 * lam) ** -0.75 - 1, 0.0) if isinstance(self.delay, str) else self.delay
        return 1 / (2 * lam * (t + delay))


class PassiveAggressiveStep(Step):
    """η = V/(‖V'‖² k(x,x)): just so long that, to first order, the example costs nothing afterwards.

    With the hinge or the ε-insensitive loss that is the passive-aggressive algorithm; with others, Polyak's
    step.

    Parameters
    ----------
    C : float > 0
        Aggressiveness: the longest step (variant 1), or its inverse is added below the fraction (variant 2).
    variant : 0, 1 or 2
        0 knows no bound, and trusts every label.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, Online passive-aggressive algorithms, 2006.

    Examples
    --------
    >>> from mercer import OnlineKernelClassifier
    >>> from mercer.kernels import Linear
    >>> machine = OnlineKernelClassifier(Linear(), loss="hinge", lam=0.0, step=PassiveAggressiveStep(C=1.0))
    >>> machine.fit([[1.0], [-2.0]], [1, 0]).decision_function([[1.0]])
    array([1.])
    """

    without_lam = "PassiveAggressiveStep() does not shrink f"

    def __init__(self, C=1.0, variant=1):
        self.C = C
        self.variant = variant

    @property
    def rate(self):  # type: ignore[override]
        return (loops.PLAIN, loops.CAPPED, loops.SOFT)[self.variant]

    def validate(self):
        require_positive(self.C, "C")
        if self.variant not in (0, 1, 2) or isinstance(self.variant, bool):
            raise ValueError(f"variant must be 0, 1 or 2, got {self.variant!r}")

    def sizes(self, t, lam):
        return np.full(len(t), float(self.C))


class RecursiveStep(Step):
    """Recursive least squares: every step leads to the minimiser of all squared losses so far.

    After T examples f minimises Σ_t ρ^(T−t) (y_t − f(x_t))² + ρ^T μ ‖f‖²; with ρ = 1 that is kernel ridge
    regression with λ = μ/T on the examples seen. A step costs the square of the number of coordinates. With
    `budget=Projection(…)` this is KRLS with approximate linear dependence; a coordinate that was found at
    step t then has the penalty ρ^(T−t+1) μ. No penalty falls below a millionth of μ.

    Parameters
    ----------
    penalty : float > 0
        μ. It takes the place of `lam`, which must be 0.
    forgetting : float in (0, 1]
        ρ: what an example counts for after one more.

    References
    ----------
    Y. Engel, S. Mannor, R. Meir, The kernel recursive least-squares algorithm, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, OnlineKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.online import Projection
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> budget = Projection(30, threshold=0.0)
    >>> machine = OnlineKernelRegressor(Gaussian(1.0), lam=0.0, step=RecursiveStep(0.3), budget=budget)
    >>> batch = KernelRidge(Gaussian(1.0), lam=0.3 / 30, offset=False).fit(X, y)
    >>> bool(np.allclose(machine.fit(X, y).predict(X), batch.predict(X), atol=1e-4))
    True
    """

    without_lam = "RecursiveStep(penalty) has a penalty of its own"

    def __init__(self, penalty=1.0, forgetting=1.0):
        self.penalty = penalty
        self.forgetting = forgetting

    def validate(self):
        require_positive(self.penalty, "penalty")
        if not 0 < require_positive(self.forgetting, "forgetting") <= 1:
            raise ValueError(f"forgetting must be at most 1, got {self.forgetting!r}")

    def sizes(self, t, lam):
        return np.ones(len(t))


def step_of(value: Any) -> Step:
    """A Step, or a number: that constant."""
    if isinstance(value, Step):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return ConstantStep(value)
    raise TypeError(
        f"step must be a number or one of mercer.online's steps, such as InverseRootStep(1.0); got {value!r}"
    )
