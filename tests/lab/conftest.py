"""The lab without a server, points to fit, and requests that are right until a test spoils them."""

from functools import partial

import numpy as np
import pytest

import asgi
import mercer
from asgi import ask
from hasty import in_haste
from mercer.lab import make_app

GAUSSIAN = {"kind": "gaussian", "sigma": 0.7}
WINDOW = [-2.0, 2.0, -2.0, 2.0]


@pytest.fixture(scope="session")
def lab():
    """lab(path, body) → status, JSON."""
    app = make_app()

    def asked(path, body=None, method=None, **headers):
        return ask(app, path, body, method, **headers)

    return asked


@pytest.fixture(scope="session")
def plane():
    """Forty points of two classes, and three classes of the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    two = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=40) > 0, "up", "down")
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    return X, two, three


@pytest.fixture(scope="session")
def line():
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(-2, 2, 30))
    return x[:, None], np.sin(2 * x) + 0.1 * rng.normal(size=30)


@pytest.fixture
def right(plane, line):
    """A request for each address that is answered."""
    X, two, _ = plane
    labels = {"task": "labels", "X": X.tolist(), "y": two.tolist(), "kernel": GAUSSIAN, "window": WINDOW}
    return {
        "sample": {"kind": "moons", "n": 20, "noise": 0.1, "seed": 3},
        "csv": {"text": "a,b\n1,2\n2,3\n", "name": "points.csv"},
        "fit": labels | {"loss": {"kind": "hinge"}, "lam": 0.01, "resolution": 8, "wanted": ["bumps"]},
        "online": labels | {"loss": {"kind": "hinge"}, "lam": 0.01, "t": 5, "resolution": 8},
        "clusters": {"X": X.tolist(), "k": 3, "kernel": None, "seed": 0, "window": WINDOW, "resolution": 8},
        "cells": {"density": {"kind": "uniform"}, "k": 5, "iterations": 3, "seed": 0},
        "game": {"class": {"kind": "half-spaces"}, "side": "label", "count": 3, "move": "start", "seed": 0},
    }


@pytest.fixture(scope="session")
def models():
    """A regression and a classification of a small table."""
    rng = np.random.default_rng(0)
    size, city = rng.uniform(30, 200, 60), rng.choice(["Bonn", "Ulm"], 60)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, 60)
    table = mercer.tables.Table.of({"size": size, "city": city.astype(object), "day": day})
    price = 3 * size + 40 * (city == "Bonn")
    with in_haste():
        return (
            mercer.fit(table, price + rng.normal(size=60), target="price", minutes=0.01),
            mercer.fit(table, np.where(price > 350, "dear", "cheap"), target="kind", minutes=0.01),
        )


@pytest.fixture(scope="session")
def serving():
    """A context manager: an application on a port, in a thread."""
    return partial(asgi.serving, timeout=1)
