"""Tables and models that several files look at; fitted once, with time to spare: no clock decides."""

import numpy as np
import pytest

import mercer
from hasty import hurry, in_haste


@pytest.fixture(scope="session")
def houses():
    """A table with numbers, words, dates, truth values, gaps, a name and a constant; and its prices."""
    rng = np.random.default_rng(0)
    n = 110
    size = rng.uniform(40, 160, n)
    city = rng.choice(["Bonn", "Kiel", "Ulm"], n, p=[0.5, 0.3, 0.2]).astype(object)
    sold = np.datetime64("2021-01-01", "us") + rng.integers(0, 900, n) * np.timedelta64(1, "D")
    garden = rng.random(n) < 0.4
    price = 2 * size + 60 * (city == "Bonn") + 25 * garden + 10 * rng.standard_normal(n)
    shown = size.copy()
    shown[::15] = np.nan
    city[::20] = None
    sold[::23] = np.datetime64("NaT", "us")
    table = {
        "size": shown,
        "city": city,
        "sold": sold,
        "garden": garden,
        "id": [f"house {i}" for i in range(n)],
        "country": ["Germany"] * n,
        "noise": rng.standard_normal(n),
    }
    return table, price


@pytest.fixture(scope="session")
def price_model(houses):
    with in_haste(folds=5):
        return mercer.fit(*houses, target="price", minutes=0.5, random_state=1)


@pytest.fixture(scope="session")
def flowers():
    """Two features that matter and one that does not, with three species."""
    rng = np.random.default_rng(1)
    species = np.repeat(["iris", "rose", "tulip"], [40, 30, 20])
    middle = {"iris": (0, 0), "rose": (2, 1), "tulip": (0, 3)}
    X = np.array([middle[s] for s in species]) + 0.7 * rng.standard_normal((90, 2))
    order = rng.permutation(90)
    table = {"long": X[order, 0], "wide": X[order, 1], "luck": rng.standard_normal(90)}
    return table, species[order]


@pytest.fixture
def hasty(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture(scope="session")
def species_model(flowers):
    with in_haste(folds=5):
        return mercer.fit(*flowers, minutes=0.5)


@pytest.fixture(scope="session")
def yes_model(flowers):
    table, species = flowers
    with in_haste(folds=5):
        return mercer.fit({**table, "rose?": np.where(species == "rose", "yes", "no")}, "rose?", minutes=0.5)


@pytest.fixture(scope="session")
def reviews():
    """(n, seed) → a table whose target is in a number and in one word of a text, and that target."""

    def made(n, seed):
        rng = np.random.default_rng(seed)
        filler = ["sofa", "lamp", "table", "chair", "rug", "door", "wall", "shelf", "desk", "bed", "bench"]
        good, size = rng.random(n) < 0.5, rng.uniform(-1, 1, n)
        texts = np.array(
            [
                " ".join(rng.permutation([*rng.choice(filler, 4), "splendid" if g else "awful", f"n{i}"]))
                for i, g in enumerate(good)
            ],
            dtype=object,
        )
        stars = 3 + np.where(good, 1.0, -1.0) + size + 0.1 * rng.standard_normal(n)
        return {"size": size, "luck": rng.standard_normal(n), "review": texts}, stars

    return made


@pytest.fixture(scope="session")
def review_model(reviews):
    table, stars = reviews(110, 0)
    table["review"][7] = None
    with in_haste():
        return mercer.fit(table, stars, target="stars", minutes=0.5)


@pytest.fixture
def cluster():
    """A client of two workers in threads of this process; not for longer: some tests hold the clock."""
    from clusters import cluster_of

    with cluster_of(2, processes=False) as client:
        yield client
