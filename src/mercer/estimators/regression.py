"""Regression: y is a number, or several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from mercer import _resolve
from mercer.estimators.answers import Numbered
from mercer.estimators.base import KernelMachine
from mercer.estimators.conformal import WithIntervals
from mercer.estimators.elsewhere import require_ordinary
from mercer.estimators.inputs import GAUSSIAN, require_numbers
from mercer.estimators.lam import OtherWords
from mercer.estimators.process import Process
from mercer.estimators.scoring import Determination, PinballShare
from mercer.losses import Loss, Squared
from mercer.solvers import Problem, loo

# Above this, squares of squares are ordinary numbers: variances of squared errors are looked at.
_SMALLEST = 1e-70


class Regressor(WithIntervals, OtherWords, Numbered, KernelMachine):
    def _check_y(self, y: Any) -> np.ndarray:
        require_numbers(y, "y")
        y = check_array(y, ensure_2d=False, allow_nd=False, dtype=None, input_name="y", ensure_min_samples=0)
        largest = float(np.abs(y).max(initial=0)) if y.dtype.kind in "fiu" else 0.0
        require_ordinary(largest, _SMALLEST)
        return y

    def _encode(self, loss, y):
        return loss.encode_targets(y)


@dataclass(eq=False, repr=False)
class KernelRegressor(Process, Regressor):
    """Kernel regression with any loss: minimise (1/n) Σ w_i V(y_i, f(x_i)) + λ‖f‖²; n stands for Σ w_i.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    loss : Loss or str
        Squared(), Huber(), Absolute(), Quantile(0.9), EpsilonInsensitive(), Poisson(), … or one of your
        own, a Loss or a function V(y, s). ``Quantile([0.1, 0.5, 0.9])`` predicts one column a level; they
        never cross.
    lam : as in `KernelRidge`; for losses that aren't squared "auto" goes by the loss on rows not fitted to
        In scikit-learn's terms alpha = λn, C = 1/(2λn): see `from_alpha`, `from_C`.
    solver : "auto", "cholesky", "cg", "newton", "dual", "smoothing", "descent" or a Solver
    representation, engine, offset, random_state : as in `KernelRidge`
    warm_start : bool
        Begin where the last fit ended, if that had as many coefficients: for a path of λ. Of use with solvers
        that go step by step; the solution is the same.
    indefinite : None, "clip", "flip" or "allow"
        What to do with a function that is no kernel on the examples: refuse it, unless it says that it is
        wanted; take negative eigenvalues of its matrix for 0, or for positive, and answer new points by the
        same change; or take it as it is, with a warning, which losses with kinks and the dual solver can (a
        stationary point is found then), and solvers that factor the matrix can't. See `plan_`.

    Attributes
    ----------
    function_, dual_coef_, coef_, intercept_, kernel_, lam_, solution_, plan_ : as in `KernelRidge`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.losses import Huber
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> y = X[:, 0].copy(); y[3] = 100.0                    # an outlier
    >>> machine = KernelRegressor(loss=Huber(0.1), lam=1e-4).fit(X, y)
    >>> bool(abs(machine.predict([[0.5]])[0] - 0.5) < 0.1)
    True
    """

    kernel: Any = GAUSSIAN
    loss: Any = "squared"
    lam: Any = "auto"
    representation: Any = "auto"
    solver: Any = "auto"
    engine: Any = "auto"
    offset: bool = True
    warm_start: bool = False
    indefinite: str | None = None
    random_state: Any = None

    _takes_zero = True

    @property
    def _keeps_problem(self) -> bool:  # type: ignore[override]
        return bool(self.loss_for(None).quadratic)  # for posteriors

    def loss_for(self, y) -> Loss:
        return _resolve.loss_of(self.loss)

    @property
    def measure(self):
        """R², or for several quantiles D²."""
        # Once fitted, what was fitted counts, whatever `loss` has been set to since.
        loss: Any = self.loss_ if hasattr(self, "loss_") else self.loss_for(None)
        return PinballShare(loss.levels) if getattr(loss, "several", False) else Determination()


@dataclass(eq=False, repr=False)
class KernelRidge(Process, Regressor):
    """Kernel ridge regression: minimise (1/n) Σ w_i (y_i − f(x_i))² + λ‖f‖².

    The exact solution is f = Σ c_i k(x_i,·) with (K + λnI) c = y.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    lam : "auto", float > 0, list of them, FromC(C) or FromAlpha(alpha)
        λ. "auto" chooses it by leaving one out (of a part of the rows, where they are many), at the
        price of two or three more fits; the value is `lam_`, the reason in `plan_`. scikit-learn's
        ``KernelRidge(alpha=a)`` is ``lam = a/n``: see `from_alpha`. With several targets also a list, one
        λ for each of them; ``FromAlpha([a, b])``, too. 0: of all f that fit best (through all examples, if
        there are such) the one of least norm; ``solution_.certificate.condition`` says how well that is
        determined.
    representation : "auto", "full", "nystrom", "features" or a Representation
    solver : "auto", "cholesky", "cg", "newton", "descent" or a Solver
    engine : "auto" or an Engine
    offset : bool
        The unpenalised constant b: f + b predicts. Without, predictions far from all examples tend to 0.
    indefinite : as in `KernelRegressor`
    random_state : int, RandomState or None

    Attributes
    ----------
    function_ : the fitted f in H_K (without the offset)
    dual_coef_ : (terms,) or (terms, outputs) c of f = Σ_j c_j k(z_j,·), z_j = function_.points (examples
        whose c is not 0, or centres); absent where f is a combination of features
    coef_ : (features,) or (outputs, features) w of f = ⟨w, φ(·)⟩, where f is a combination of features, and
        for Linear(); else absent
    intercept_ : b
    kernel_ : the kernel with its parameters found
    solution_ : Solution, with its certificate
    plan_ : what was chosen, and why
    lam_ : the λ that was used

    Notes
    -----
    With sample weights the mean is weighted: (Σw_i)⁻¹ Σ w_i (y_i − f(x_i))², so an integer weight is a
    repeated row, and scikit-learn's alpha = λ·Σw_i.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (100, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(100)
    >>> machine = KernelRidge(lam=1e-3).fit(X, y)
    >>> bool(np.sqrt(np.mean((machine.predict(X) - np.sinc(X[:, 0])) ** 2)) < 0.25)
    True
    >>> bool(np.std(machine.loo_residuals()) > np.std(y - machine.predict(X)))
    True
    """

    kernel: Any = GAUSSIAN
    lam: Any = "auto"
    representation: Any = "auto"
    solver: Any = "auto"
    engine: Any = "auto"
    offset: bool = True
    indefinite: str | None = None
    random_state: Any = None

    _takes_zero = True
    _keeps_problem = True  # for leave-one-out, and for posteriors

    def loss_for(self, y) -> Loss:
        return Squared()

    def loo_residuals(self) -> np.ndarray:
        """Leave-one-out residuals y_i − f₋ᵢ(x_i) in closed form, computed when first asked for.

        f₋ᵢ is this machine, with the same λ (and the same centres or features, or with `indefinite` the same
        changed matrix), fitted to the other n−1 examples.
        """
        if "_loo" not in self.__dict__ or self._loo[0] is not self.solution_:
            problem = self.training_problem("loo_residuals")
            self.require_noise("loo_residuals")
            short = loo.shortage(problem)
            if short is not None:
                raise ValueError(short)
            lams = (
                np.broadcast_to(problem.lam, problem.y.shape[1:]) if np.ndim(problem.lam) else [problem.lam]
            )
            found = [
                loo.residuals(_of_output(problem, j, lams), [float(lam)])[0] for j, lam in enumerate(lams)
            ]
            residuals = np.hstack(found)
            residuals = residuals[:, 0] if self.coding_.one_dimensional else residuals
            self._loo: tuple = self.solution_, residuals
        return self._loo[1]


def _of_output(problem: Problem, j: int, lams: Any) -> Problem:
    """The problem of one output, where each has its own λ; else all of it."""
    return problem if len(lams) == 1 else replace(problem, y=problem.y[:, [j]], lam=float(lams[j]))
