"""A table, and what `mercer fit` makes of it, once for all tests."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import mercer
from hasty import hurry, in_haste
from mercer.cli.app import app
from mercer.tables.reading import Table


def _table(n=60):
    """Columns of every kind, codes that look like numbers, and notes that no model can learn from."""
    rng = np.random.default_rng(0)
    size, city = rng.uniform(30, 200, n).round(2), rng.choice(["Bonn", "Ulm", "Kiel"], n)
    price = 3 * size + 20 * (city == "Bonn") + rng.normal(size=n)
    return Table.of(
        {
            "price": price.round(2),
            "size": size,
            "city": city,
            "zip": rng.choice(["00501", "01067", "53111"], n),
            "sold": np.datetime64("2024-01-01") + rng.integers(0, 400, n),
            "note": [f"note {i}" for i in range(n)],
            "kind": np.array(["cheap", "fair", "dear"])[
                np.digitize(price, np.quantile(price, [1 / 3, 2 / 3]))
            ],
        }
    )


@pytest.fixture(scope="session")
def table():
    return _table()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    """Commands are tested here, not what the search finds."""
    hurry(monkeypatch)


@pytest.fixture
def call():
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="session")
def fitted(tmp_path_factory, table):
    """`mercer fit` of prices: the folder, its files, the model, what was printed."""
    folder = tmp_path_factory.mktemp("fitted")
    csv = mercer.tables.write(table, folder / "houses.csv")
    model, page = folder / "houses.mercer", folder / "houses.html"
    options = ["--text", "zip", "--ignore", "kind", "--minutes", "0.01", "--seed", "3"]
    with in_haste():
        result = CliRunner().invoke(
            app, ["fit", str(csv), "--target", "price", *options, "-o", str(model), "--report", str(page)]
        )
    assert result.exit_code == 0, result.output
    return SimpleNamespace(
        folder=folder, csv=csv, file=model, page=page, model=mercer.load(model), result=result
    )


@pytest.fixture(scope="session")
def sorted_out(tmp_path_factory, table):
    """`mercer fit --json` of kinds."""
    folder = tmp_path_factory.mktemp("sorted")
    parquet = mercer.tables.write(table, folder / "houses.parquet")
    file = folder / "kinds.mercer"
    options = ["--ignore", "price", "--minutes", "0.01", "--no-report", "--json", "-o", str(file)]
    with in_haste():
        result = CliRunner().invoke(app, ["fit", str(parquet), "--target", "kind", *options])
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    return SimpleNamespace(table=parquet, file=file, model=mercer.load(file), facts=facts)
