"""/api/clusters and /api/cells: every iteration is Lloyd's."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from asgi import refused
from mercer.voronoi import hexagon_bound, lloyd

GAUSSIAN, WINDOW = {"kind": "gaussian", "sigma": 0.7}, [-2.0, 2.0, -2.0, 2.0]


def asked(X, k, **more):
    return {"X": X.tolist(), "k": k, "kernel": None, "seed": 1, "window": WINDOW, "resolution": 6} | more


def test_plain_k_means_iterates_as_the_textbook_says(lab, plane):
    X = plane[0]
    status, found = lab("/api/clusters", asked(X, 3))
    frames = found["iterations"]
    assert status == 200 and found["converged"] and len(frames) > 1
    for now, following in zip(frames, frames[1:] + frames[-1:]):
        labels = np.array(now["labels"])
        distances = ((X[:, None] - np.array(now["centres"])) ** 2).sum(axis=2)
        np.testing.assert_array_equal(labels, distances.argmin(axis=1))
        assert now["energy"] == pytest.approx(distances.min(axis=1).sum())
        means = np.array([X[labels == j].mean(axis=0) for j in range(3)])
        np.testing.assert_allclose(following["centres"], means)
    energies = [frame["energy"] for frame in frames]
    assert energies == sorted(energies, reverse=True)
    grid = np.array([[x, y] for y in np.linspace(-2, 2, 6) for x in np.linspace(-2, 2, 6)])
    nearest = ((grid[:, None] - np.array(frames[-1]["centres"])) ** 2).sum(axis=2).argmin(axis=1)
    assert frames[-1]["cells"] == nearest.tolist()


def test_kernel_k_means_lowers_the_energy_in_feature_space(lab, plane):
    X = plane[0]
    frames = lab("/api/clusters", asked(X, 2, kernel=GAUSSIAN, init="random"))[1]["iterations"]
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 0.7**2))
    labels = np.array(frames[-1]["labels"])
    between = np.array([K[:, labels == j].mean(axis=1) for j in range(2)]).T  # ⟨φ(x), μ_j⟩
    within = np.array([K[np.ix_(labels == j, labels == j)].mean() for j in range(2)])  # ‖μ_j‖²
    distances = 1 - 2 * between + within
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))
    assert frames[-1]["energy"] == pytest.approx(distances.min(axis=1).sum())
    assert all(frame["centres"] is None for frame in frames)
    energies = [frame["energy"] for frame in frames]
    assert energies == sorted(energies, reverse=True)


def test_two_circles_come_apart_by_the_normalised_cut(lab):
    """As docs/lab.md says: k = 2, σ = 0.1, little noise; the cut is small, by NumPy."""
    for seed in range(3):
        found = lab("/api/sample", {"kind": "circles", "n": 100, "noise": 0.02, "seed": seed})[1]
        X, y = np.array(found["X"]), np.array(found["y"])
        kernel = {"kind": "gaussian", "sigma": 0.1}
        body = asked(X, 2, kernel=kernel, normalized=True, starts=5)
        frames = lab("/api/clusters", body)[1]["iterations"]
        labels = np.array(frames[-1]["labels"])
        assert (labels == y).all() or (labels != y).all()
        K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 0.1**2))
        cut = sum(K[labels == j][:, labels != j].sum() / K[labels == j].sum() for j in range(2))
        assert frames[-1]["cut"] == pytest.approx(cut, rel=1e-6)


def test_of_several_starts_the_best_is_shown(lab, plane):
    X = plane[0]
    ends = [
        lab("/api/clusters", asked(X, 5, starts=starts, init="random", seed=3))[1]["iterations"][-1]["energy"]
        for starts in (1, 20)
    ]
    assert ends[1] <= ends[0]
    best = KMeans(5, n_init=50, random_state=0).fit(X).inertia_
    assert ends[1] == pytest.approx(best, rel=0.02)


def test_the_normalised_cut_needs_weights(lab, plane):
    body = asked(plane[0], 2, kernel={"kind": "linear"}, normalized=True)
    refused(lab("/api/clusters", body), "kernel", "must not be negative")


def test_cells_are_those_of_lloyd(lab):
    body = {"density": {"kind": "uniform"}, "k": 12, "iterations": 6, "seed": 2}
    status, found = lab("/api/cells", body)
    there = lloyd(None, 12, max_iter=6, tol=1e-9, random_state=2)
    assert status == 200 and len(found["iterations"]) == 7
    np.testing.assert_allclose(found["iterations"][-1]["centres"], there.centres)
    np.testing.assert_allclose([f["energy"] for f in found["iterations"]], there.energies)
    assert found["bound"] == hexagon_bound(12) <= there.energy
    areas = [_area(np.array(ring)) for ring in found["iterations"][0]["cells"]]
    assert sum(areas) == pytest.approx(1, abs=1e-4) and len(areas) == 12
    assert found["density"]["values"] == [1.0] * 64**2


def _area(ring):
    x, y = ring.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def test_centres_go_where_the_density_is(lab):
    body = {"density": {"kind": "corner"}, "k": 30, "iterations": 20, "seed": 0, "power": 2}
    found = lab("/api/cells", body)[1]
    centres = np.array(found["iterations"][-1]["centres"])
    assert np.mean(centres.sum(axis=1) < 1) > 0.7 and found["bound"] is None
    values = np.array(found["density"]["values"]).reshape(64, 64)
    assert values[0, 0] == values.max() > 100 * values[-1, -1]


@pytest.mark.parametrize(
    ("path", "more", "field"),
    [
        ("clusters", {"k": 0}, "k"),
        ("clusters", {"k": 2.5}, "k"),
        ("clusters", {"init": "best"}, "init"),
        ("clusters", {"X": []}, "X"),
        ("clusters", {"X": [[1.0]]}, "X"),
        ("clusters", {"window": [0, 0, 1, 1]}, "window"),
        ("clusters", {"resolution": 1000}, "resolution"),
        ("cells", {"density": {"kind": "gold"}}, "density"),
        ("cells", {"k": 301}, "k"),
        ("cells", {"iterations": 101}, "iterations"),
        ("cells", {"power": -1}, "power"),
    ],
)
def test_wrong_requests(lab, right, path, more, field):
    refused(lab(f"/api/{path}", right[path] | more), field)
