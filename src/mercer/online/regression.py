"""Numbers, one example at a time."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from mercer import _resolve
from mercer.estimators.answers import Numbered
from mercer.online.river import RiverMixin
from mercer.online.turns import in_turn


@dataclass(eq=False, repr=False)
class OnlineKernelRegressor(Numbered, RiverMixin):
    """Regression one example at a time: f ← (1 − 2ηλ) f − η V'(y, f(x)) k(x,·).

    `partial_fit` takes batches, `learn_one` and `predict_one` one example (a dict of features, as river's
    pipelines hand over), `fit` begins anew and goes through the rows in their order.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
        A width that is left open is found from the first batch. One example alone can't tell it: then it is
        that of standardised features.
    loss : Loss or str
        Squared(), Huber(), Absolute(), EpsilonInsensitive(), Quantile(0.9), Poisson(), … or one of your own.
    lam : float ≥ 0
        λ: f is multiplied by 1 − 2ηλ in every step.
    step : float or a Step
        η: a constant, `InverseRootStep`, `PegasosStep`, `PassiveAggressiveStep`, or `RecursiveStep` (least
        squares of second order).
    budget : int, a Budget or None
        How many terms f may have, and what happens then: `Merge` (an int means this one), `Projection`,
        `Oldest`, `Smallest`, `AtRandom`, `Window`, `Forgetron`; None: no limit, and every step costs more
        than the last.
    representation : "full", "features", "nystrom" or a Representation
        Coordinates in place of kernels at examples: random or explicit features, or centres from the first
        batch. The cost of a step is then constant, and there is no budget.
    offset : bool, to learn a constant b beside f
    averaging : bool or int, to predict with the mean of all functions so far instead of the last; a number t:
        of those after step t and later ones
    passes : int, how often `fit` goes through the rows, at most
    engine : "auto" or an Engine
    random_state : int, RandomState or None; for AtRandom, random features and rows held out
    stopping : Stopping or None, when `fit` ends before all passes are made
    warm_start : bool, for `fit` to go on from f and its steps as they are, and forget nothing

    Attributes
    ----------
    function_ : what predicts, in H_K (without b)
    dual_coef_, coef_, intercept_ : coefficients of kernels at `function_.points`, or weights of features; b
    kernel_ : the kernel with its parameters found
    n_passes_ : how often the last `fit` went through its rows
    n_seen_, n_updates_ : examples so far, and those that changed f
    cumulative_loss_ : Σ V(y_t, f_t(x_t)) of predictions made before the example was learned

    References
    ----------
    J. Kivinen, A. Smola, R. Williamson, Online learning with kernels, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(0, 6, (2000, 1))
    >>> machine = OnlineKernelRegressor(Gaussian(1.0), budget=50)
    >>> for batch in np.split(X, 20):
    ...     machine = machine.partial_fit(batch, np.sin(batch[:, 0]))
    >>> bool(abs(machine.predict([[1.0]])[0] - np.sin(1.0)) < 0.05)
    True
    """

    loss: Any = "squared"
    step: Any = 0.25

    def loss_for(self, y=None):
        return _resolve.loss_of(self.loss)

    def _check_targets(self, y):
        return check_array(
            y, ensure_2d=False, allow_nd=False, dtype=None, input_name="y", ensure_min_samples=0
        )

    def _code_targets(self, y, classes):
        targets, coding = self.rule_.loss.encode_targets(y)
        known = self.__dict__.setdefault("coding_", coding)
        if coding.n_outputs != known.n_outputs:
            raise ValueError(f"y has {coding.n_outputs} columns, and had {known.n_outputs} before")
        return targets

    @in_turn
    def partial_fit(self, X, y, sample_weight=None):
        """Learn from some more examples, in their order."""
        self._learn(X, y, None, sample_weight)
        return self

    def _target(self, y):
        try:
            row = np.array([y], np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"y is {y!r}, and should be a number") from None
        return self._code_targets(row, None)

    def _stretches(self, y):
        yield slice(None), self._code_targets(y, None)

    @in_turn
    def predict_one(self, x) -> float:
        """The prediction for one example, a list if y has several numbers; 0 before anything is learned."""
        scores = self._score_one(x)
        return 0.0 if scores is None else self.coding_.decode(scores)[0].tolist()

    @in_turn
    def predict_many(self, X) -> Any:
        """Predictions for a data frame of examples, as a series (a frame if y has several numbers)."""
        pd: Any = import_module("pandas")
        scores, index = self._score_many(X), getattr(X, "index", None)
        values = np.zeros(len(X)) if scores is None else self.coding_.decode(scores)
        return (pd.Series if values.ndim == 1 else pd.DataFrame)(values, index=index)
