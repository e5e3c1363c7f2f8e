"""Partitions of unity, against the formulas written out."""

import numpy as np

from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.network.gluing import Knowledge, by_closeness, by_knowledge

rng = np.random.default_rng(0)


def test_knowledge_is_precision_beyond_the_prior():
    kernel, rows, X = Gaussian(0.3), rng.uniform(0, 1, (7, 2)), rng.uniform(-1, 2, (9, 2))
    found = Knowledge.of(kernel, rows, 0.2, Tiled()).at(X)
    joint = kernel(np.concatenate([rows, X]))
    joint[:7, :7] += 0.2 * np.eye(7)
    for i in range(9):
        some = [*range(7), 7 + i]
        # The variance of a conditional Gaussian is one over the diagonal of the inverse covariance.
        precision = np.linalg.inv(joint[np.ix_(some, some)])[-1, -1]
        assert np.isclose(found[i], precision - 1)
    assert Knowledge.of(kernel, rows.astype(np.float32), 0.2, Tiled()).at([[50.0, 50.0]]).tolist() == [0.0]
    many = Knowledge.of(kernel, rng.uniform(0, 1, (1500, 2)), 0.2, Tiled())
    assert len(many.rows) == 1000


def test_weights_sum_to_one_everywhere():
    kernel = Gaussian(0.3)
    parts = [rng.uniform(i, i + 1, (5 + i, 1)) for i in range(3)]
    known = [Knowledge.of(kernel, part, 0.1, Tiled()) for part in parts]
    counts = np.array([5.0, 6.0, 7.0])
    X = np.linspace(-50, 50, 201)[:, None]
    shares = by_knowledge(known, counts, X)
    assert np.allclose(shares.sum(axis=0), 1) and (shares >= 0).all()
    assert np.allclose(shares[:, 0], counts / 18)  # nobody knows: by numbers of rows
    inside = by_knowledge(known, counts, [[0.5], [2.5]])
    assert inside[0, 0] > 0.9 and inside[2, 1] > 0.9
    places = np.array([[0.5], [1.5], [2.5]])
    near = by_closeness(places, 0.5, X)
    assert np.allclose(near.sum(axis=0), 1) and near[2, -1] == 1.0 and near[0, 0] == 1.0
    wanted = np.exp(-((1.2 - places[:, 0]) ** 2) / (2 * 0.25))
    assert np.allclose(by_closeness(places, 0.5, [[1.2]])[:, 0], wanted / wanted.sum())


def test_repeated_rows_and_no_noise():
    rows = np.zeros((4, 1))
    assert np.isfinite(Knowledge.of(Gaussian(1.0), rows, 0.0, Tiled()).at([[0.0], [1.0]])).all()
