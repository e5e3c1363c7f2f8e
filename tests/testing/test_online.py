"""check_online finds what is wrong with an online machine, and says it."""

from copy import deepcopy

import numpy as np
import pytest

from mercer import KernelRidge, OnlineKernelClassifier, OnlineKernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import Poisson
from mercer.online import (
    AtRandom,
    Forgetron,
    Merge,
    Oldest,
    PassiveAggressiveStep,
    PegasosStep,
    Projection,
    Smallest,
    Window,
    forgetron,
    krls,
    norma,
    passive_aggressive,
    pegasos,
    perceptron,
    projectron,
)
from mercer.testing import LawViolation, check_online

K = Gaussian(1.0)
GOOD = [
    OnlineKernelRegressor(K, budget=None),
    OnlineKernelRegressor(K, Poisson(), step=0.05, budget=Oldest(10)),
    OnlineKernelRegressor(K, "huber", budget=Smallest(10), offset=True),
    OnlineKernelRegressor(K, budget=AtRandom(10), random_state=0),
    OnlineKernelRegressor(K, budget=Window(10), averaging=True),
    OnlineKernelRegressor(K, budget=Merge(10), averaging=True, offset=True),
    OnlineKernelRegressor(K, budget=Projection(10)),
    OnlineKernelRegressor(K, budget=None, representation="features", random_state=0),
    OnlineKernelRegressor(K, lam=0.0, step=PassiveAggressiveStep(), budget=Forgetron(10)),
    OnlineKernelClassifier(K, budget=Merge(10)),
    OnlineKernelClassifier(K, "multinomial", lam=0.1, step=PegasosStep(), budget=Oldest(10), averaging=True),
    perceptron(K, Oldest(10)),
    forgetron(K, 10),
    projectron(K, 10),
    norma(K, n_terms=10),
    pegasos(K, lam=0.1),
    passive_aggressive(K, budget=10),
    passive_aggressive(K, budget=10, regression=True),
    krls(K, n_terms=10, forgetting=0.99),
]


@pytest.mark.parametrize("machine", GOOD, ids=lambda m: repr(m).replace("\n", "").replace(" ", ""))
def test_good_machines_pass(machine):
    check_online(machine)


class Restless(OnlineKernelRegressor):
    def predict(self, X):
        self.partial_fit(X, super().predict(X) + 1)
        return super().predict(X)


class ByBatches(OnlineKernelRegressor):
    def partial_fit(self, X, y, sample_weight=None):
        return super().partial_fit(X[::-1], np.asarray(y)[::-1], sample_weight)


class OneAtATimeDiffers(OnlineKernelRegressor):
    def learn_one(self, x, y, w=1.0):
        super().learn_one(x, 0.9 * y, w)


class Forgetful(OnlineKernelRegressor):
    @property
    def n_seen_(self):
        return min(super().n_seen_, 50)


class LearnsFirst(OnlineKernelRegressor):
    """Counts what an example costs after it was learned."""

    def partial_fit(self, X, y, sample_weight=None):
        before = self.cumulative_loss_ if self.begun else 0.0
        super().partial_fit(X, y, sample_weight)
        kept = sample_weight is None or np.asarray(sample_weight) > 0
        self.cumulative_loss_ = before + float(np.sum(((self.predict(X) - y) ** 2) * kept))
        return self


class DeafToWeights(OnlineKernelRegressor):
    def partial_fit(self, X, y, sample_weight=None):
        return super().partial_fit(X, y)


class TakesNonsense(OnlineKernelRegressor):
    def partial_fit(self, X, y, sample_weight=None):
        return super().partial_fit(np.nan_to_num(X), y, sample_weight)


class HurtByErrors(OnlineKernelRegressor):
    def partial_fit(self, X, y, sample_weight=None):
        try:
            return super().partial_fit(X, y, sample_weight)
        except ValueError:
            super().partial_fit(X[:1], y[:1])
            raise


class SharedWithCopies(OnlineKernelRegressor):
    def __deepcopy__(self, memo):
        return self


class LostInPickles(OnlineKernelRegressor):
    def __getstate__(self):
        return self.get_params(deep=False)

    def __deepcopy__(self, memo):
        other = type(self)(self.kernel, budget=self.budget)
        other.__dict__.update({name: deepcopy(value, memo) for name, value in self.__dict__.items()})
        return other


class NeverForgets(OnlineKernelRegressor):
    def fit(self, X, y, sample_weight=None):
        return self.partial_fit(X, y, sample_weight)


BROKEN = {
    Restless: "predicting must change nothing",
    ByBatches: r"batches must not matter: in batches of 7 the answer at \(\d+\)",
    OneAtATimeDiffers: "batches must not matter: one by one",
    Forgetful: r"batches must not matter: n_seen_ is 50",
    LearnsFirst: "predicted before it is learned: predictions cost",
    DeafToWeights: "weight 0 must mean absent",
    TakesNonsense: "nonsense must be refused: NaN in X goes through",
    HurtByErrors: "after an error it must be what it was: NaN|after an error.*: too few y",
    SharedWithCopies: "copies must stand on their own: what a copy learns",
    LostInPickles: "copies must go on where the original was: a pickle does not",
    NeverForgets: "fit must begin anew",
}


@pytest.mark.parametrize("cls, words", BROKEN.items(), ids=[c.__name__ for c in BROKEN])
def test_a_broken_machine_is_found_out(cls, words):
    with pytest.raises(LawViolation, match=words):
        check_online(cls(K, budget=None))


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="takes a machine with partial_fit, got KernelRidge"):
        check_online(KernelRidge(offset=False))
