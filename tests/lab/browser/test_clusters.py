"""k-means, kernel k-means and Lloyd's method on a density, step by step."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.voronoi import hexagon_bound


def iterations(lab):
    at, _, last = lab.figure("iteration").partition(" of ")
    return int(at), int(last)


def drawn_clusters(lab):
    """The clusters by the colours of the points, in the order of the points."""
    return np.array(
        lab.page.locator(".points path").evaluate_all("all => all.map(p => p.getAttribute('fill'))")
    )


def test_k_means_goes_down_step_by_step(lab):
    lab.tab("Clusters")
    lab.page.get_by_label("Start", exact=True).select_option("random")
    energies = [lab.number("energy")]
    assert iterations(lab)[0] == 0 and iterations(lab)[1] >= 2
    while iterations(lab)[0] < iterations(lab)[1]:
        lab.button("One step").click()
        energies.append(lab.number("energy"))
    assert (np.diff(energies) <= 0).all() and energies[-1] < energies[0]
    # At the end, by NumPy: the energy is that of the means, and every point is in the cluster of the nearest.
    X, colours = np.array([(x, y) for x, y, _ in lab.points()]), drawn_clusters(lab)
    kinds = sorted(set(colours))
    means = np.array([X[colours == kind].mean(axis=0) for kind in kinds])
    squares = cdist(X, means) ** 2
    assert len(kinds) == 3
    assert [kinds[i] for i in squares.argmin(axis=1)] == colours.tolist()
    assert energies[-1] == pytest.approx(squares.min(axis=1).sum(), rel=6e-3)


def test_kernel_k_means(lab):
    lab.tab("Clusters")
    lab.page.get_by_role("radio", name="Kernel k-means").check()
    before = lab.number("energy")
    assert lab.page.get_by_label("Kernel", exact=True).is_visible()
    lab.exactly("k", 2)
    lab.settled()
    lab.button("To the end").click()
    assert len(set(drawn_clusters(lab))) == 2
    lab.exactly("σ", 3)
    assert lab.number("energy") < before


def test_lloyd_on_a_density(lab):
    lab.tab("Clusters")
    lab.page.get_by_role("radio", name="Density (Lloyd)").check()
    first = lab.number("energy")
    assert iterations(lab)[0] == 0
    assert lab.page.locator(".cells polygon").count() == 20
    assert lab.number("bound") == pytest.approx(hexagon_bound(20), rel=1e-3)
    place = lab.page.locator(".cells circle").first.get_attribute("cx")
    lab.button("One step").click()
    assert lab.number("energy") < first
    assert lab.page.locator(".cells circle").first.get_attribute("cx") != place
    lab.button("To the end").click()
    assert lab.number("energy") < 0.8 * first
    lab.page.get_by_label("Density", exact=True).select_option("corner")
    lab.settled()
    assert iterations(lab)[0] == 0 and lab.page.locator("[data-figure=bound]").count() == 0
