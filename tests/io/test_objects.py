"""Objects of mercer's classes: what files may say of them."""

import copy
import dataclasses

import numpy as np
import pytest

from mercer import KernelRidge
from mercer._state import parameters_of
from mercer.functions import KernelFunction
from mercer.io.codec import Decoder, Encoder
from mercer.io.errors import ModelFileError
from mercer.kernels import Gaussian, Linear
from mercer.losses.coding import TargetCoding
from mercer.solvers import Certificate


def rows_of(x):
    encoder = Encoder()
    said = encoder.value(x, "it")
    return copy.deepcopy(encoder.rows), encoder.arrays, said


def test_constructors():
    assert parameters_of(Gaussian) == ("sigma",) and parameters_of(Linear) == ()
    assert parameters_of(KernelFunction) == ("kernel", "points", "coef", "engine")
    assert parameters_of(TargetCoding) == ("loss", "one_dimensional", "n_outputs")
    assert parameters_of(KernelRidge)[:2] == ("kernel", "lam")


def test_what_is_written():
    rows, arrays, said = rows_of(Gaussian(2.0))
    assert rows == [
        {"kind": "object", "class": "kernels.Gaussian", "parameters": {"sigma": 2.0}, "state": {}}
    ]
    assert arrays == [] and said == {"@": 0}
    rows, _, _ = rows_of(KernelRidge(offset=False).fit([[0.0], [1.0]], [0.0, 1.0]))
    state = rows[-1]["state"]
    assert set(state) >= {"function_", "solution_", "n_features_in_"} and "_problem" not in state


def test_parameters_a_file_does_not_know_have_their_defaults():
    """So a class may gain a parameter, and files from before still load."""
    rows, arrays, said = rows_of(Certificate(0.1, 0.2, gap=0.3))
    for name in ("violation", "condition", "jitter"):
        rows[0]["parameters"].pop(name)
    assert Decoder(rows, arrays).root(said) == Certificate(0.1, 0.2, gap=0.3)


@pytest.mark.parametrize(
    "entries, match",
    [
        ({"class": "kernels.Gausian"}, "class 'kernels.Gausian', which this mercer has not"),
        ({"class": "os.system"}, "'os.system', which this mercer has not"),
        ({"class": None}, "which this mercer has not"),
        ({"class": "mercer.kernels.Gaussian"}, "which this mercer has not"),
        ({"parameters": {"width": 1.0}}, "a kernels.Gaussian has 'width', which this mercer has not"),
        ({"state": {"sigma": 1.0}}, "a kernels.Gaussian has 'sigma', which this mercer has not"),
        ({"parameters": []}, "not given by parameters and a state"),
        ({"parameters": {"sigma": -1.0}}, "must be a positive number"),
        ({"parameters": {"sigma": "__import__('os')"}}, "must be a positive number"),
    ],
)
def test_values_that_are_refused(entries, match):
    rows, arrays, said = rows_of(Gaussian(2.0))
    rows[0].update(entries)
    with pytest.raises(ValueError, match=match):
        Decoder(rows, arrays).root(said)


@pytest.mark.parametrize(
    "name",
    [
        "predict",
        "__class__",
        "__dict__",
        "check_X",
        "a b",
        "",
        "loo_residuals",
        "plan",
        "holds",
        "fitted_by",
        "check_state",
    ],
)
def test_attributes_that_are_not_data(name):
    rows, arrays, said = rows_of(KernelRidge(offset=False).fit([[0.0], [1.0]], [0.0, 1.0]))
    rows[-1]["state"][name] = 1
    with pytest.raises(ModelFileError, match="which is not data"):
        Decoder(rows, arrays).root(said)


def test_pipelines_are_made_of_named_steps():
    row = {"kind": "pipeline", "steps": {"@": 0}, "verbose": False}
    for items in ([], [1], [["a", 1]]):
        rows = (
            [{"kind": "tuple", "items": items}] if items != [["a", 1]] else [{"kind": "dict", "items": items}]
        )
        with pytest.raises(ModelFileError, match="not made of named steps"):
            Decoder([*rows, row], []).root({"@": 1})


def test_dataclasses_are_checked_by_their_types():
    rows, arrays, said = rows_of(Certificate(0.1, 0.2))
    rows[0]["parameters"]["objective"] = "small"
    with pytest.raises(ValueError, match="objective of a Certificate is not float"):
        Decoder(rows, arrays).root(said)


def test_frozen_dataclasses_stay_frozen():
    rows, arrays, said = rows_of(Certificate(0.1, 0.2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Decoder(rows, arrays).root(said).objective = 1.0


def test_a_class_may_check_itself(monkeypatch):
    def refuse(self):
        raise ValueError(f"no {self.sigma}")

    rows, arrays, said = rows_of(Gaussian(2.0))
    monkeypatch.setattr(Gaussian, "check_state", refuse)
    with pytest.raises(ValueError, match=r"no 2\.0"):
        Decoder(rows, arrays).root(said)
    with pytest.raises(ModelFileError, match=r"it is not in order: no 3\.0"):
        rows_of(Gaussian(3.0))
    assert np.isfinite(Gaussian(2.0)([[0.0]])).all()
