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


def test_two_circles_come_apart_by_the_normalised_cut(lab):
    lab.tab("Clusters")
    lab.page.get_by_role("radio", name="Kernel k-means").check()
    lab.page.get_by_label("Sample", exact=True).select_option("circles")
    lab.exactly("Noise", 0.02)
    lab.button("Take the sample").click()
    lab.exactly("k", 2)
    lab.exactly("σ", 0.1)
    lab.page.get_by_label("normalised (graph cut)").check()
    lab.until(lambda: lab.page.locator("[data-figure=cut]").count() == 1)
    lab.settled()
    if lab.button("To the end").is_enabled():
        lab.button("To the end").click()
    colours = drawn_clusters(lab)
    outside = np.array([np.hypot(x, y) > 0.75 for x, y, _ in lab.points()])
    assert len(set(colours[outside])) == len(set(colours[~outside])) == 1 and len(set(colours)) == 2


def test_charts_are_not_cut_and_their_ticks_differ(lab):
    lab.tab("Clusters")
    lab.settled()
    chart = lab.page.locator(".results .chart")
    inside, whole = chart.locator("svg").bounding_box(), chart.bounding_box()
    assert inside["x"] + inside["width"] <= whole["x"] + whole["width"] - 8  # its padding
    texts = chart.locator("text.below:not(.name)").all_text_contents()
    assert texts and all(text.isdigit() for text in texts) and len(set(texts)) == len(texts)
    upwards = chart.locator(".tick text").all_text_contents()
    assert len(set(upwards)) == len(upwards)
    assert all(box["x"] >= inside["x"] for box in (t.bounding_box() for t in chart.locator("text").all()))


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
