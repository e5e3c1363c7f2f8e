"""The field: temperatures by its formula, readings with the noise they say, errors by time."""

import numpy as np

from mercer import KernelRidge, NetworkKernelRegressor
from mercer.kernels import Gaussian
from mercer.network import MovingSource, follow

FIELD = MovingSource(base=10.0, heat=5.0, width=0.05, radius=0.25)


def test_temperatures():
    for t in (0.0, 0.3):
        c = np.array([0.5 + 0.25 * np.cos(2 * np.pi * t), 0.5 + 0.25 * np.sin(2 * np.pi * t)])
        assert np.allclose(FIELD.source(t), c)
        still = 2 * np.exp(-np.sum((c - [0.75, 0.25]) ** 2) / (2 * 0.15**2))
        assert np.isclose(FIELD([c], t)[0], 10 + 3 * c[0] + still + 5)
    assert np.allclose(FIELD(np.eye(2), 0.0), FIELD(np.eye(2), 1.0))


def test_readings():
    sensors = FIELD.sensors(10, random_state=0)
    assert sensors.shape == (10, 2) and sensors.min() >= 0 and sensors.max() <= 1
    X, y, nodes = FIELD.readings(sensors, 0.2, per_node=200, reach=0.05, noise=0.4, random_state=1)
    assert np.bincount(nodes).tolist() == [200] * 10
    assert np.linalg.norm(X - sensors[nodes], axis=1).max() <= 0.05 + 1e-12
    assert abs(np.std(y - FIELD(X, 0.2)) - 0.4) < 0.02
    again = FIELD.readings(sensors, 0.2, per_node=200, reach=0.05, noise=0.4, random_state=1)
    assert np.array_equal(again.y, y)
    exact = FIELD.readings(sensors, 0.2, per_node=1, reach=0.0, noise=0.0)
    assert np.allclose(exact.X, sensors) and np.allclose(exact.y, FIELD(sensors, 0.2))


def test_following():
    field, kernel = MovingSource(), Gaussian(0.15)
    sensors = field.sensors(16, random_state=0)
    machines = {
        "pooled": KernelRidge(kernel, lam=1e-4),
        "network": NetworkKernelRegressor(kernel, lam=1e-4, exchange="tree", n_centres=160, random_state=0),
        "average": NetworkKernelRegressor(kernel, lam=1e-4, combine="average", random_state=0),
    }
    found = follow(machines, field, sensors, [0.0, 0.5], resolution=12, per_node=10)
    # With all rows as centres it is the same fit; the mean of functions that each know a corner is not.
    assert np.allclose(found.errors["network"], found.errors["pooled"], atol=1e-4)
    assert (found.errors["average"] > 1.5 * found.errors["pooled"]).all()
    assert found.rounds["pooled"].tolist() == [0, 0] and (found.bytes["network"] > 0).all()
    assert found.times.tolist() == [0.0, 0.5]
