"""The Gaussian-process view of machines of least squares: standard deviations, samples, likelihoods."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer.estimators.answers import Numbered
from mercer.estimators.inputs import like
from mercer.estimators.plan import posterior_method
from mercer.estimators.tensors import follows_data
from mercer.operators import L1
from mercer.posterior import Observations, Posterior, make_posterior
from mercer.rows import lives_elsewhere
from mercer.solvers import Problem


class Process(Numbered):
    """Numbers with their uncertainty: f ~ GP(0, s·k), y = f + b + ε, of which the machine's f is the mean.

    It keeps the problem after a fit of least squares, and so the examples, which all of this needs.
    """

    function_: Any
    loss_: Any
    coding_: Any
    solution_: Any
    check_new: Any

    _problem: Problem
    _view: tuple[Any, str, Posterior]

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        problem = super()._fit(X, y, sample_weight)  # type: ignore[misc]
        for name in ("_problem", "_view"):
            self.__dict__.pop(name, None)
        if problem.sample is None and problem.loss.quadratic:
            self._problem = problem
        return problem

    def __getstate__(self):
        # The training data would make every saved model as large as they are.
        state = dict(super().__getstate__())
        for name in ("_problem", "_view", "_left_out"):
            state.pop(name, None)
        if getattr(state.get("conformal_"), "method", "") == "jackknife+":  # nothing without the data
            del state["conformal_"]
        return state

    def __copy__(self):
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo):
        # The problem is never changed, so a copy in memory may share it: only files do without.
        shared = {name: self.__dict__[name] for name in ("_problem",) if name in self.__dict__}
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        own = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_problem", "_view", "_left_out")
        }
        made.__dict__.update(deepcopy(own, memo), **shared)
        return made

    def training_problem(self, what: str) -> Problem:
        """The problem that was solved; an error that says why it is not there, for `what` needs it."""
        if "_problem" not in self.__dict__:
            self._require_process(what)
            raise NotFittedError(
                f"{what} needs the training data. This machine has none: it is not fitted, or was saved and "
                "loaded (files and other processes get the function only; machine.posterior() can be pickled "
                "with its data), or its examples live elsewhere. Fit it to arrays"
            )
        return self._problem

    def require_noise(self, what: str) -> None:
        """Refuse machines without a penalty."""
        if getattr(self, "lam_", None) == 0:
            raise ValueError(
                f"{what} needs λ > 0, which is the variance of the noise: this machine has lam=0, and goes "
                "through its examples where it can"
            )

    def _require_process(self, what: str) -> None:
        """Refuse machines that are no Gaussian process."""
        if not hasattr(self, "loss_"):
            return
        if not self.loss_.quadratic:
            raise ValueError(
                f"{what} needs the squared loss, for which f is the mean of a Gaussian process; this machine "
                f"has {self.loss_!r}. Intervals by other losses: KernelRegressor(loss=Quantile([0.05, 0.95]))"
            )

    # -- predictions ------------------------------------------------------------------------------

    def predict(self, X, return_std=False, return_cov=False, scale="likelihood"):
        """Predictions for X, shaped as y was at fit; on request with their uncertainty.

        Parameters
        ----------
        X : points
        return_std : bool
            Also the standard deviation of f + b (not of y) at X, shaped as the predictions. Needs the squared
            loss, and the examples of the fit.
        return_cov : bool
            Also the covariances between points of X: (m, m), of t outputs (m, m, t).
        scale : "likelihood", float > 0
            s in f ~ GP(0, s·k): see `posterior`. "likelihood" gives deviations in the units of y, 1.0 is the
            kernel as it is.
        """
        if return_std and return_cov:
            raise ValueError("at most one of return_std and return_cov can be asked for")
        if not (return_std or return_cov):
            return super().predict(X)
        if lives_elsewhere(X):
            raise ValueError(
                "standard deviations are for points in memory: give some rows at a time, "
                "open_rows(X).take(index).X"
            )
        # Refused before anything is computed.
        posterior = self._posterior("return_std" if return_std else "return_cov", "auto", scale)
        return super().predict(X), self._spread(X, posterior, bool(return_cov))

    @follows_data
    def _spread(self, X, posterior, pairs):
        return like(posterior.covariance(X) if pairs else posterior.std(X), X)

    # -- the process itself -----------------------------------------------------------------------

    def posterior(self, method="auto", scale="likelihood", random_state=None, **options) -> Posterior:
        """f + b given the data, as a Gaussian process: means, deviations, intervals, samples, likelihood.

        The model is y_i = f(x_i) + b + ε_i with f ~ GP(0, s·k) and ε_i ~ N(0, s·λn/w_i), weights having mean
        1; b has a flat prior, or is 0 with ``offset=False``.

        Parameters
        ----------
        method : "auto", "exact", "pathwise", "lanczos", "dtc" or "fitc"
            With a term for every example "exact", which holds all pairs of them; or without these "pathwise",
            by functions drawn from the posterior, or "lanczos", a linear system a point. With centres
            (Nyström) "dtc", whose mean is the machine's, or "fitc"; with features "dtc" is Bayesian linear
            regression, exact for their kernel.
        scale : "likelihood", float > 0 or one for each output
            s. "likelihood" maximises the marginal likelihood, which has a closed form; 1.0 leaves the kernel
            as it is, as scikit-learn's GaussianProcessRegressor(kernel, alpha=λn) does.
        random_state : int, RandomState or None, for `Posterior.sample`
        options : what else the method takes
            Of "pathwise" and "lanczos": n_samples, n_features, probes, tol, max_iter.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 6, (60, 1))
        >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)
        >>> lower, upper = KernelRidge().fit(X, y).posterior().interval([[3.0], [30.0]])
        >>> bool(upper[0] - lower[0] < 0.6), bool(upper[1] - lower[1] > 1.0)
        (True, True)
        """
        return self._posterior("posterior", method, scale, random_state, options)

    def _posterior(
        self,
        what: str,
        method: str,
        scale: Any,
        random_state: Any = None,
        options: dict[str, Any] | None = None,
    ) -> Posterior:
        check_is_fitted(self, "function_")
        seen = self._observations(what)
        self.require_noise(what)
        if getattr(self, "indefinite", None) in ("clip", "flip"):
            raise ValueError(f"{what} needs a kernel whose matrix was not changed: leave out indefinite=")
        if not getattr(self, "_definite", True):
            raise ValueError(
                f"{self.kernel_!r} is no kernel on these points (its matrix is not semidefinite): "
                f"there is no Gaussian process with this covariance, and no {what}"
            )
        method = posterior_method(seen) if method == "auto" else method
        if options:
            return make_posterior(seen, method, scale, random_state, **options)
        view = self.__dict__.get("_view")
        if view is None or view[0] is not self.solution_ or view[1] != method:
            made = make_posterior(seen, method, scale, random_state)
            self._view = view = self.solution_, method, made
        posterior = view[2].scaled(scale)
        posterior.random_state = random_state
        return posterior

    def _observations(self, what: str) -> Observations:
        problem = self.training_problem(what)
        if np.ndim(problem.lam):
            raise ValueError(
                f"{what} needs one λ for all outputs, which share a Gaussian process: fit a machine for each"
            )
        if isinstance(problem.B, L1):
            raise ValueError(f"{what} needs the penalty λ‖f‖²: Lasso's is no Gaussian prior")
        return Observations.of(problem, self.function_, self.check_new, self.coding_.one_dimensional)

    def sample_y(self, X, n_samples=1, random_state=0, noise=False):
        """Functions f + b drawn from the posterior, at X: (m, n_samples), of t outputs (m, t, n_samples).

        Parameters
        ----------
        X : points
        n_samples : int
        random_state : int, RandomState or None
        noise : bool
            New y of such functions, every one with noise of its own.
        """
        return self._posterior("sample_y", "auto", "likelihood").sample(X, n_samples, random_state, noise)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, scale="likelihood"):
        """log p(y) of the Gaussian process, outputs added up; with `eval_gradient` also its gradient.

        Parameters
        ----------
        theta : array, optional
            Logarithms of all continuous parameters of the kernel and, last, of the noise λn, in the order of
            ``machine.posterior().parameters``. None: those of the machine.
        eval_gradient : bool
            Return (value, gradient in theta).
        scale : "likelihood" or float > 0
            As in `posterior`; the constant of the restricted likelihood, which an offset makes of it, is in
            `Posterior.log_marginal_likelihood`.
        """
        posterior = self._posterior("log_marginal_likelihood", "auto", scale)
        if theta is not None:
            posterior = type(posterior)(posterior.seen.at(theta), scale)
        return posterior.log_marginal_likelihood(eval_gradient=eval_gradient)
