"""Array namespaces: NumPy and torch (on a CPU) pass scikit-learn's checks, one for X and another for y."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.kernels import Gaussian

SCRIPT = Path(__file__).resolve().parents[1] / "array_namespaces.py"
HAS_TORCH = importlib.util.find_spec("torch") is not None
# Those without a fitted array that is an attribute of the machine: the checks would have it as a tensor.
WHOLE = (
    *("KernelRidge", "KernelRegressor", "KernelClassifier", "KernelLogistic", "KernelSVR", "KernelOneClass"),
    *("OnlineKernelClassifier", "OnlineKernelRegressor"),
)


@pytest.fixture(scope="module")
def said():
    """What scikit-learn's checks said of each machine."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_machine_is_checked(said):
    assert set(WHOLE) | {"KernelSVC", "KernelPCA", "KernelKMeans", "KernelPerceptron"} <= set(said)


def test_numpy(said):
    for name, cases in said.items():
        assert cases["numpy"] == {"itself": "passed", "held": "passed"}, name


@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_torch(said):
    """All that machines answer has the namespace, device, dtype and values it must have."""
    for name, cases in said.items():
        assert len(cases) == 5
        for case, found in cases.items():
            assert found["held"] == "passed", (name, case)


@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
@pytest.mark.parametrize("name", WHOLE)
def test_torch_as_it_stands(said, name):
    """Whole machines, fitted attributes included."""
    assert {case: found["itself"] for case, found in said[name].items() if found["itself"] != "passed"} == {}


def test_scores_of_tensors_are_those_of_arrays():
    """A share of labels was a mean in single precision, once answers were tensors."""
    torch = pytest.importorskip("torch", reason="needs torch")
    X = np.random.default_rng(0).standard_normal((30, 2))
    labels = (X[:, 0] > 0.3).astype(int)
    machine = mercer.KernelClassifier(Gaussian(1.0)).fit(X, labels)
    wrong = labels.copy()
    wrong[0] = 1 - wrong[0]
    expected = machine.score(X, wrong)
    assert expected not in (0.0, 1.0)
    assert machine.score(torch.tensor(X), torch.tensor(wrong)) == expected
    weight = np.linspace(1, 2, 30)
    found = machine.score(torch.tensor(X), torch.tensor(wrong), torch.tensor(weight))
    assert found == machine.score(X, wrong, weight)
