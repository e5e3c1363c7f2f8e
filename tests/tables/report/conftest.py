"""A parser for pages and a few models, shared by the tests here."""

from html.parser import HTMLParser

import numpy as np
import pytest

import mercer
from hasty import in_haste
from mercer.tables.report import model_report

_VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Checks nesting as it reads, and collects tags, links and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.links, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"an attribute twice in <{tag}>"
        assert not [name for name in names if name.startswith("on")]
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href", "action")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def parse():
    return Page


HOSTILE = "<script>alert('x')</script> & $x_{ \"q\" </style>"


@pytest.fixture(scope="session")
def hostile():
    """A name made to break out of a page, and out of Matplotlib's mathematics."""
    return HOSTILE


@pytest.fixture(scope="session")
def regression_model():
    """Numbers, words, dates and gaps; a column with a hostile name, one that is constant."""
    rng = np.random.default_rng(0)
    n = 120
    size, kind = rng.uniform(0, 6, n), rng.choice(["red", "blue", HOSTILE], n)
    day = np.datetime64("2023-01-01") + rng.integers(0, 500, n).astype("timedelta64[D]")
    y = 10 * np.sin(size) + 4 * (kind == "red") + 0.01 * (day - day.min()).astype(float)
    table = {
        "size": np.where(rng.random(n) < 0.1, np.nan, size),
        "kind": kind.astype(object),
        "sold": day,
        HOSTILE: rng.normal(size=n),
        "always": np.ones(n),
    }
    with in_haste(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.tables.model.machines._HEAVY", np.inf)  # least squares it is
        return mercer.fit(table, y + rng.normal(size=n), target=HOSTILE, minutes=0.5)


@pytest.fixture(scope="session")
def classification_model():
    """Three labels, one of them hostile."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    labels = np.array(["calm", "windy", HOSTILE])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.2])]
    table = {"pressure": X[:, 0], "speed": X[:, 1]}
    with in_haste():
        return mercer.fit(table, labels, target="weather", minutes=0.5)


@pytest.fixture(scope="session")
def pages(regression_model, classification_model, wide_model):
    """Their reports, as text, by name."""
    command = "mercer fit table.csv --target y"
    return {
        "regression": model_report(
            regression_model, command=command, source="/home/somebody/table.csv"
        ).html(),
        "classification": model_report(classification_model).html(),
        "wide": model_report(wide_model, source="<script>.csv").html(),
    }


@pytest.fixture(scope="session")
def wide_model():
    """More columns and labels than a page can list."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(104, 40))
    labels = np.array([f"label number {i:02d}" for i in range(26)])[np.arange(104) % 26]
    X[:, 0] += np.arange(104) % 26
    table = {f"measurement no. {j}": X[:, j] for j in range(40)}
    with in_haste():
        return mercer.fit(table, labels, minutes=0.5)
