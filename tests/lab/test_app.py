"""The service: who may ask, what is refused, and that nothing breaks it."""

import asyncio
import http.client
import json
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asgi import ask, asked, refused
from mercer.lab import make_app
from mercer.lab.app import ANSWERS, LabService
from mercer.lab.fields import Fields
from mercer.operators.factor import NotPositiveDefinite

POSTS = ("sample", "csv", "fit", "online", "clusters", "cells", "game")


def test_every_address_answers(lab, right):
    for name in POSTS:
        status, found = lab(f"/api/{name}", right[name])
        assert status == 200 and found["warnings"] == [], name


def headers_of(path, **headers):
    return asyncio.run(asked(make_app(), "GET", path, headers=headers))


def test_headers_of_every_answer():
    for path in ("/", "/api/options", "/nowhere", "/static/none.js"):
        found = headers_of(path)[1]
        policy = found["content-security-policy"]
        assert (
            policy.startswith("default-src 'none'; script-src 'self'") and "frame-ancestors 'none'" in policy
        )
        assert ("frame-src 'self'" in policy) == (path == "/")
        assert "unsafe" not in policy
        assert found["x-content-type-options"] == "nosniff" and found["cache-control"] == "no-store"
        assert found["referrer-policy"] == "no-referrer" and "set-cookie" not in found


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "127.0.0.1@evil", "[::1", "a:b:c"],
)
def test_a_foreign_host_is_turned_away(host):
    status, headers, body = headers_of("/api/options", host=host)
    assert status == 421 and "127.0.0.1" in json.loads(body)["error"] and headers["connection"] == "close"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "[::1]:80"])
def test_the_names_of_this_machine_are_let_in(host):
    assert headers_of("/api/options", host=host)[0] == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:9", "http://localhost:8000"],
)
def test_a_foreign_page_is_turned_away(lab, right, origin):
    assert lab("/api/sample", right["sample"], origin=origin)[0] == 403
    assert lab("/api/sample", right["sample"], origin="http://127.0.0.1:8000")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/fit", 405),
        ("PUT", "/api/fit", 405),
        ("DELETE", "/", 405),
        ("POST", "/api/options", 405),
        ("OPTIONS", "/api/fit", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/static/../app.py", 404),
        ("GET", "/static/..%2fapp.py", 404),
        ("GET", "/static//etc/passwd", 404),
        ("GET", "/static/\0", 404),
        ("GET", "/static/", 404),
        ("POST", "/api/fit/", 404),
    ],
)
def test_other_addresses_and_methods(lab, method, path, status):
    found, body = lab(path, b"{}" if method != "GET" else None, method)
    assert found == status and body["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b'"X"',
        b"\xff",
        b'{"X": NaN}',
        b'{"X": Infinity}',
        b'{"X": 1, "X": 2}',
        b"[" * 100_000,
        b'{"X":' * 50_000,
        b'{"X": ' + b"9" * 5000 + b"}",
        b'{"\\ud800": "\\udfff"}',
    ],
)
def test_bodies_that_say_nothing(lab, body):
    for name in POSTS:
        status, answer = lab(f"/api/{name}", body)
        assert status in (400, 422) and answer["error"]


def test_bodies_are_bounded(lab):
    assert lab("/api/fit", b" " * 1_000_001)[0] == 413
    assert lab("/api/csv", b" " * 11_000_001)[0] == 413
    assert lab("/api/fit", {"X": []}, **{"content-type": "text/plain"})[0] == 415


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"task": "sums"}, "task"),
        ({"X": None}, "X"),
        ({"X": "points"}, "X"),
        ({"X": [[0, 0]] * 2001}, "X"),
        ({"X": [[0, 0], [1]]}, "X"),
        ({"X": [[0, 0], [1, "2"]]}, "X"),
        ({"X": [[0, 0], [1, True]]}, "X"),
        ({"X": [[0, 0], [1, None]]}, "X"),
        ({"X": [[0, 0], [1, 1e300]]}, "X"),
        ({"X": [[0, 0, 0]] * 40}, "X"),
        ({"y": ["a"]}, "y"),
        ({"y": ["a"] * 40}, "y"),
        ({"y": list(range(40))}, "y"),
        ({"y": [0.5, 1] * 20}, "y"),
        ({"y": [1, "1"] * 20}, "y"),
        ({"y": [None, "1"] * 20}, "y"),
        ({"lam": 0}, "lam"),
        ({"lam": -1}, "lam"),
        ({"lam": "small"}, "lam"),
        ({"lam": [1]}, "lam"),
        ({"lam": 10**400}, "lam"),
        ({"offset": 1}, "offset"),
        ({"loss": {"kind": "huber"}}, "loss"),
        ({"loss": "hinge"}, "loss"),
        ({"window": [0, 1]}, "window"),
        ({"window": [1, 0, 0, 1]}, "window"),
        ({"resolution": 1}, "resolution"),
        ({"resolution": 64.5}, "resolution"),
        ({"wanted": ["everything"]}, "wanted"),
        ({"wanted": "loo"}, "wanted"),
        ({"wanted": [[]]}, "wanted"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_every_field_is_looked_at(lab, right, more, field):
    refused(lab("/api/fit", right["fit"] | more), field)


def test_what_the_library_refuses_is_said_in_its_words(lab, right):
    kernel = {"kind": "exp", "of": {"kind": "exp", "of": {"kind": "polynomial", "degree": 8, "c": 10}}}
    refused(lab("/api/fit", right["fit"] | {"kernel": kernel}))


def test_two_at_once_have_answers_of_their_own(serving, right):
    wanted = {}
    app = make_app()
    bodies = {seed: right["sample"] | {"seed": seed} for seed in range(12)}
    bodies |= {100 + i: right["fit"] | {"lam": 0.01 * (i + 1)} for i in range(12)}
    for key, body in bodies.items():
        wanted[key] = ask(app, "/api/sample" if key < 100 else "/api/fit", body)[1]
    found = {}

    def work(keys):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for key in keys:
            path = "/api/sample" if key < 100 else "/api/fit"
            data = json.dumps(bodies[key]).encode()
            connection.request("POST", path, data, {"content-type": "application/json"})
            found[key] = json.loads(connection.getresponse().read())
        connection.close()

    with serving(app) as port:
        keys = list(bodies)
        threads = [threading.Thread(target=work, args=(keys[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert set(found) == set(wanted)
    for key in wanted:
        wanted[key].pop("seconds", None), found[key].pop("seconds", None)
        assert found[key] == wanted[key]


def test_an_answer_that_takes_too_long_is_given_up_and_the_next_one_comes(right, monkeypatch):
    app = make_app(timeout=0.2)
    free = threading.Event()
    monkeypatch.setitem(ANSWERS, "game", lambda _: free.wait(20) and {})
    try:
        status, body = ask(app, "/api/game", right["game"])
    finally:
        free.set()
    assert status == 503 and "0.2 seconds" in body["error"]


def test_what_fails_unexpectedly_is_a_500_without_details(right, monkeypatch, caplog):
    def broken(fields: Fields):
        raise KeyError("secret")

    monkeypatch.setitem(ANSWERS, "game", broken)
    status, body = ask(make_app(), "/api/game", right["game"])
    assert status == 500 and "secret" not in json.dumps(body) and "secret" in caplog.text


def test_what_fails_outside_of_all_handlers_has_the_headers_too(monkeypatch):
    async def broken(self, request):
        raise RuntimeError("a defect")

    monkeypatch.setattr(LabService, "page", broken)
    sent = []

    async def watched(scope, receive, send):
        async def kept(message):
            sent.append(message)
            await send(message)

        await make_app()(scope, receive, kept)

    with pytest.raises(RuntimeError, match="a defect"):
        asyncio.run(asked(watched, "GET", "/"))
    headers = dict(sent[0]["headers"])
    assert sent[0]["status"] == 500 and headers[b"x-content-type-options"] == b"nosniff"


def test_numbers_beyond_all_bounds_are_null(right, monkeypatch):
    found = {"f": float("inf"), "list": [1.0, float("nan")]}
    monkeypatch.setitem(ANSWERS, "game", lambda _: dict(found))
    status, body = ask(make_app(), "/api/game", right["game"])
    assert status == 200 and body == {"f": None, "list": [1.0, None], "warnings": []}


@pytest.mark.parametrize("error", [NotPositiveDefinite("this matrix"), OverflowError("too large")])
def test_arithmetic_that_fails_is_refused(right, monkeypatch, error):
    def fails(fields):
        raise error

    monkeypatch.setitem(ANSWERS, "game", fails)
    assert ask(make_app(), "/api/game", right["game"])[0] == 422


def test_points_at_the_bounds_can_be_learned(lab, right):
    """The window of a file's points is one that a fit takes."""
    text = "x,y\n-1000000,1\n0,2\n1000000,3\n"
    found = lab("/api/csv", {"text": text, "name": "far.csv"})[1]
    body = {k: found[k] for k in ("task", "X", "y", "window")} | {"loss": {"kind": "squared"}, "lam": 0.1}
    assert lab("/api/fit", body)[0] == 200


def test_too_many_requests_are_told_to_come_back(right):
    app = make_app(max_requests=0)
    assert ask(app, "/api/sample", right["sample"])[0] == 503


def test_the_page_and_its_files(tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("<p>the lab</p>")
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "lab.js").write_text("'use strict'")
    (tmp_path.parent / "secret.txt").write_text("no")
    service = LabService(None, 1, 1.0)
    service.folder = tmp_path
    assert asyncio.run(service.page(None)).media_type == "text/html"
    assert "javascript" in service._file("js/lab.js").media_type
    for name in ("../secret.txt", "js", "none.js"):
        with pytest.raises(Exception, match="no such file"):
            service._file(name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=150)
@given(data=st.data())
def test_random_json_is_never_a_failure(data):
    """Requests that are right but for one or two fields, which hold anything."""
    name = data.draw(st.sampled_from(POSTS))
    body = dict(RIGHT[name])
    for field in data.draw(st.lists(st.sampled_from(sorted(body) + ["other"]), max_size=2)):
        body[field] = data.draw(JSON)
    status, answer = ask(APP, f"/api/{name}", json.dumps(body).encode())
    assert status < 500 and (status == 200 or answer["error"])


APP = make_app()
_X = np.random.default_rng(0).normal(size=(8, 2)).round(2).tolist()
_FIT = {"task": "labels", "X": _X, "y": [0, 1] * 4, "kernel": {"kind": "gaussian"}, "window": [-1, 1, -1, 1]}
RIGHT = {
    "sample": {"kind": "moons", "n": 8, "noise": 0.1, "seed": 0},
    "csv": {"text": "a,b\n1,2\n2,3\n", "name": "a.csv"},
    "fit": _FIT | {"loss": {"kind": "squared"}, "lam": 0.1, "offset": True, "wanted": ["loo"]},
    "online": _FIT | {
        "loss": {"kind": "hinge"}, "lam": 0.1, "t": 3, "order": "given", "seed": 0, "resolution": 4,
        "step": {"kind": "constant", "eta": 0.1}, "budget": {"kind": "oldest", "size": 2},
    },
    "clusters": {"X": _X, "k": 2, "kernel": None, "init": "random", "seed": 0, "resolution": 4},
    "cells": {"density": {"kind": "two"}, "k": 2, "iterations": 1, "seed": 0, "power": 1.0},
    "game": {
        "class": {"kind": "intervals"}, "side": "label", "points": [[1], [2]], "count": 2, "labels": "+-",
        "hypothesis": None, "seed": 0, "move": "label", "met": [], "score": {"you": 0, "machine": 0},
    },
}  # fmt: skip


def test_requests_that_nobody_waits_for_are_not_computed(serving, right, monkeypatch):
    computed, free = [], threading.Event()

    def slow(fields: Fields):
        free.wait(20)
        computed.append(fields.get("seed"))
        return {}

    monkeypatch.setitem(ANSWERS, "game", slow)
    with serving(make_app()) as port:
        waiting = []
        for seed in range(4):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            data = json.dumps(right["game"] | {"seed": seed}).encode()
            connection.request("POST", "/api/game", data, {"content-type": "application/json"})
            waiting.append(connection)
            time.sleep(0.05)
        for connection in waiting[1:3]:
            connection.close()
        time.sleep(0.2)
        free.set()
        assert [waiting[i].getresponse().status for i in (0, 3)] == [200, 200]
        waiting[0].close(), waiting[3].close()
    assert computed == [0, 3]
