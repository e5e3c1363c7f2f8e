"""scikit-learn's checks of array namespaces, on every machine; says what came of them, as JSON.

A programme of its own, since SCIPY_ARRAY_API has to be set before SciPy is imported:

    SCIPY_ARRAY_API=1 python tests/array_namespaces.py
"""

import inspect
import json
import warnings
from functools import partial

from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    NamespaceAndDevice,
    check_array_api_input,
    check_array_api_mixed_inputs,
)

import mercer

METHODS = (
    *("score", "score_samples", "decision_function", "predict", "predict_proba", "predict_log_proba"),
    *("transform", "inverse_transform"),
)
NUMPY, TORCH = NamespaceAndDevice("numpy", None), NamespaceAndDevice("torch", "cpu")


class Held(BaseEstimator):
    """A machine whose fitted arrays are out of sight.

    What a machine remembers is NumPy, whatever it has learned from: the checks would have it as tensors.
    """

    def __init__(self, machine=None):
        self.machine = machine

    def fit(self, X, y=None, **weights):
        self.machine_ = clone(self.machine).fit(X, y, **weights)
        return self

    def __getattr__(self, name):
        if name in METHODS and "machine_" in vars(self):
            return getattr(self.machine_, name)
        raise AttributeError(name)

    def __sklearn_tags__(self):
        return get_tags(self.machine)


class Weighted(Held):
    """One that takes weights."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y, sample_weight=sample_weight)


def machines():
    """Every machine that is exported, with its random choices made."""
    for name in mercer.__all__:
        cls = getattr(mercer, name)
        # What takes tables searches for seconds at least, and looks at arrays column by column.
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and not name.startswith("Table"):
            seeded = "random_state" in inspect.signature(cls).parameters
            yield name, cls(**({"random_state": 0} if seeded else {}))


def cases(torch):
    """What to run, by name: scikit-learn's checks, values included."""
    same = partial(check_array_api_input, check_values=True, check_sample_weight=True)
    yield "numpy", partial(same, array_namespace="numpy")
    if torch:
        for dtype in ("float32", "float64"):
            yield (
                f"torch, {dtype}",
                partial(same, array_namespace="torch", device_name="cpu", dtype_name=dtype),
            )
        mixed = partial(check_array_api_mixed_inputs, check_values=True)
        yield "X in torch, y in numpy", partial(mixed, X_ns_and_device=TORCH, other_ns_and_device=NUMPY)
        yield "X in numpy, y in torch", partial(mixed, X_ns_and_device=NUMPY, other_ns_and_device=TORCH)


def outcome(check, name, machine):
    try:
        check(name, machine)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "passed"


def main():
    warnings.simplefilter("ignore")
    try:
        import torch
    except ImportError:
        torch = None
    said = {}
    for name, machine in machines():
        held = (Weighted if "sample_weight" in inspect.signature(machine.fit).parameters else Held)(machine)
        said[name] = {
            case: {"itself": outcome(check, name, machine), "held": outcome(check, name, held)}
            for case, check in cases(torch)
        }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
