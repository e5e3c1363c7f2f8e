"""One class: a region that holds most of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from mercer._state import NUMBER
from mercer.estimators.inputs import GAUSSIAN
from mercer.estimators.lam import FromC
from mercer.estimators.nu import Below, require_share
from mercer.estimators.svm import SupportVectors
from mercer.estimators.tensors import follows_data, on_host
from mercer.losses.coding import TargetCoding

# Relative to ρ. Free support vectors lie on the edge, and no rounding should throw them out.
EDGE = 1e-8


@dataclass(eq=False, repr=False)
class KernelOneClass(OutlierMixin, SupportVectors):
    """A region that holds most of the data: f(x) ≥ ρ, at most a share ν of the examples outside.

    minimise ½‖f‖² − ν Σw ρ + Σ w_i max(0, ρ − f(x_i)). In terms of this library's objective: the loss is
    max(0, −s), the offset b = −ρ is paid ν for, and λ = 1/(2 Σw), which only sets the scale of f.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    nu : float, 0 < ν ≤ 1
        At most this share of the examples is outside, and at least this share are support vectors.
    representation, solver, engine, warm_start, indefinite, random_state : as in `KernelSVC`

    Attributes
    ----------
    offset_ : ρ
    support_, support_vectors_, n_support_, dual_coef_ : the support vectors, their number, their coefficients
    function_, coef_, kernel_, solution_, plan_ : as in `KernelRidge`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelOneClass
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> machine = KernelOneClass(nu=0.1).fit(X)
    >>> machine.predict([[0.0, 0.0], [6.0, 6.0]]).tolist()
    [1, -1]
    >>> bool((machine.predict(X) == -1).mean() <= 0.1)
    True
    """

    lam = FromC(1.0)
    offset = True
    holds = {"offset_": NUMBER}

    kernel: Any = GAUSSIAN
    nu: float = 0.5
    representation: Any = "auto"
    solver: Any = "auto"
    engine: Any = "auto"
    warm_start: bool = False
    indefinite: str | None = None
    random_state: Any = None

    takes_rows = False  # the price of its offset is none that a pass over rows could set

    def loss_for(self, y):
        return Below()

    def _check_y(self, y):
        return y

    def _encode(self, loss, y):
        return np.ones((len(y), 1)), TargetCoding(loss, True, 1)

    def _adapt(self, problem):
        return replace(super()._adapt(problem), offset_price=float(self.nu))

    def fit(self, X, y=None, sample_weight=None):
        """Fit to examples; y is not used."""
        require_share(self.nu)
        self._fit(X, np.ones(_num_samples(on_host(X))), sample_weight)
        self.offset_ = -float(self.intercept_)
        return self

    @follows_data
    def score_samples(self, X):
        """f(x): the larger, the more like the examples."""
        return self.decision_function(on_host(X)) + self.offset_

    @follows_data
    def decision_function(self, X):
        """f(x) − ρ: negative outside; on the edge, to rounding, exactly 0."""
        decision = self.scores(X)[:, 0]
        decision[np.abs(decision) <= EDGE * abs(self.offset_)] = 0
        return decision

    @follows_data
    def predict(self, X):
        """1 inside, −1 outside."""
        return np.where(self.decision_function(on_host(X)) >= 0, 1, -1)
