"""Two small models, and a real server on a port of this machine."""

import http.client
import json

import numpy as np
import pytest

import asgi
import mercer
from hasty import in_haste
from mercer.tables.serve import make_app


def some_rows(n, seed=0):
    """Rows with a column of every kind, and one that no model can learn from."""
    rng = np.random.default_rng(seed)
    return [
        {
            "size": round(float(rng.uniform(30, 200)), 3),
            "rooms": None if rng.random() < 0.1 else int(rng.integers(1, 8)),
            "city": str(rng.choice(["Bonn", "Ulm", "Kiel"])),
            "sold": str(np.datetime64("2024-01-01") + int(rng.integers(0, 400))),
            "garden": bool(rng.random() < 0.5),
            "note": f"note {seed} {i}",
        }
        for i in range(n)
    ]


def _prices(rows):
    return np.array([3 * r["size"] + 20 * (r["city"] == "Bonn") + 10 * r["garden"] for r in rows])


def _columns(rows):
    """As a table, with dates as dates."""
    kinds = {"sold": "date"}
    return mercer.tables.Table.of(rows, kinds=kinds)


@pytest.fixture(scope="session")
def regression():
    rows = some_rows(60)
    noise = np.random.default_rng(1).normal(size=60)
    with in_haste():
        return mercer.fit(_columns(rows), _prices(rows) + noise, target="price", minutes=0.01)


@pytest.fixture(scope="session")
def classification():
    rows = some_rows(60)
    labels = np.digitize(_prices(rows), np.quantile(_prices(rows), [1 / 3, 2 / 3]))
    kinds = np.array(["cheap", "fair", "dear"])[labels]
    with in_haste():
        return mercer.fit(_columns(rows), kinds, target="kind", minutes=0.01)


@pytest.fixture(scope="session")
def rows():
    return some_rows


@pytest.fixture(scope="session")
def serving():
    """A context manager: an application on a port, in a thread."""
    return asgi.serving


@pytest.fixture(scope="module")
def port(regression):
    """The regression, served with small limits."""
    app = make_app(regression, max_body=20_000, max_rows=50, timeout=2)
    with asgi.serving(app) as port:
        yield port


def _ask(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        sent = {} if body is None else {"content-type": "application/json"}
        connection.request(method, path, body, sent | (headers or {}))
        response = connection.getresponse()
        answer = response.read()
        assert response.headers["content-type"] == "application/json"
        return response.status, json.loads(answer) if answer else None, response.headers
    finally:
        connection.close()


@pytest.fixture(scope="session")
def ask():
    """ask(port, method, path, body) → status, JSON, headers; every answer must be JSON."""
    return _ask
