"""What notebooks show: useful, and text only, whatever names and words are in it."""

from html.parser import HTMLParser

import numpy as np
import pytest

import mercer
from hasty import in_haste
from mercer._html import folded, shown, table
from mercer.kernels import Gaussian

BAD = "<script>alert('1')</script><img src=x onerror=alert(2)>&amp;"


class Page(HTMLParser):
    """The elements and attributes of a page, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]

    def handle_data(self, data):
        self.text += data


def test_pieces():
    page = Page(table([(BAD, BAD)], [BAD]) + folded(BAD, [BAD]) + shown(f"{BAD}\n{BAD}"))
    assert not {"script", "img"} & set(page.tags) and not page.attributes
    assert page.text.count(BAD) == 7 and "br" in page.tags
    assert folded("nothing", []) == "" and len(shown("x" * 10**6)) < 3000


def test_a_machine():
    X = np.linspace(0, 6, 30)[:, None]
    machine = mercer.KernelRidge(Gaussian(2.0), lam=0.1)
    assert "solution" not in Page(machine._repr_html_()).text
    html = machine.fit(X, X[:, 0])._repr_html_()
    assert "<th>kernel</th><td>Gaussian(sigma=2.0)</td>" in html
    assert "cholesky: converged" in html and "30 examples" in html
    assert machine._repr_mimebundle_()["text/html"].count("<th>kernel</th>") == 1
    # scikit-learn's diagram has a script of its own; what is ours has none.
    assert BAD not in mercer.KernelRidge(kernel=BAD)._repr_html_()


@pytest.mark.parametrize(
    "machine",
    [
        mercer.KernelPCA(n_components=2),
        mercer.KernelKMeans(n_clusters=2),
        mercer.KernelOneClass(),
        mercer.OnlineKernelRegressor(),
        mercer.KernelNeighborsRegressor(n_neighbors=2),
    ],
    ids=lambda m: type(m).__name__,
)
def test_other_machines(machine):
    X = np.random.default_rng(0).standard_normal((30, 2))
    assert "<th>kernel</th><td>Gaussian(" in machine.fit(X, X[:, 0])._repr_html_()


def test_a_model_of_a_hostile_table():
    rng = np.random.default_rng(0)
    x, words = rng.uniform(0, 6, 60), rng.choice([BAD, "blue"], 60)
    data = {f"{BAD}x": x, f"{BAD}word": words, f"{BAD}name": [f"{BAD}{i}" for i in range(60)]}
    with in_haste():
        model = mercer.fit(data, np.sin(x) + (words == BAD), target=f"{BAD}y", minutes=1e-3)
        labels = mercer.fit({"x": x}, np.where(x > 3, BAD, "no"), minutes=1e-3)
    for made in (model, labels):
        page = Page(made._repr_html_())
        assert set(page.tags) <= {
            "div",
            "p",
            "strong",
            "br",
            "table",
            "tr",
            "th",
            "td",
            "details",
            "summary",
            "ul",
            "li",
        }
        assert set(page.attributes) <= {"class"}
    text = Page(model._repr_html_()).text
    assert f"Regression of {f'{BAD}y'!r}" in text and f"{BAD}x" in text
    first = model.evidence.scores[0]
    assert f"{first.value:.4g} [{first.low:.4g}, {first.high:.4g}]" in text
    assert str(model.evidence.certificate) in text
