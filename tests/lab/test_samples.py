"""/api/sample: points to begin with, the same for the same seed."""

import numpy as np
import pytest

from asgi import refused
from mercer.lab.samples import SAMPLES


@pytest.mark.parametrize("kind", list(SAMPLES))
def test_every_sample(lab, kind):
    body = {"kind": kind, "n": 50, "noise": 0.1, "seed": 7}
    status, found = lab("/api/sample", body)
    assert status == 200 and lab("/api/sample", body)[1] == found != lab("/api/sample", body | {"seed": 8})[1]
    X, y = np.array(found["X"]), np.array(found["y"])
    assert found["task"] == SAMPLES[kind][1] and X.shape == (50, 2 if found["task"] == "labels" else 1)
    x_low, x_high, y_low, y_high = found["window"]
    up = X[:, 1] if found["task"] == "labels" else y
    assert x_low < X[:, 0].min() and X[:, 0].max() < x_high and y_low < up.min() and up.max() < y_high
    body = {"task": found["task"], "X": found["X"], "y": found["y"], "window": found["window"], "lam": 0.01}
    status, fitted = lab("/api/fit", body)  # what is drawn can be fitted
    assert status == 200 and fitted["n"] == 50


@pytest.mark.parametrize(
    ("more", "field"),
    [({"kind": "stars"}, "kind"), ({"n": 3}, "n"), ({"n": 2001}, "n"), ({"noise": -1}, "noise")],
)
def test_wrong_requests(lab, right, more, field):
    refused(lab("/api/sample", right["sample"] | more), field)
