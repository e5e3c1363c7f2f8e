"""The service, asked over real connections."""

import asyncio
import contextlib
import json
import socket
import time

import numpy as np
import pytest

import mercer
from mercer.tables.serve import make_app
from waiting import wait_for


def test_health_and_schema(port, ask, regression):
    status, found, _ = ask(port, "GET", "/health")
    assert status == 200 and found["status"] == "ok" and found["mercer"] == mercer.__version__
    assert found["model"] == str(regression) and found["uptime"] >= 0 and found["waiting"] == 0
    status, found, _ = ask(port, "GET", "/schema")
    assert status == 200 and found["limits"] == {"max_body": 20_000, "max_rows": 50}
    assert found["row"]["required"][0] == "size"


def test_predictions(port, ask, regression, rows):
    status, found, _ = ask(port, "POST", "/predict", {"rows": rows(5, 9), "interval": 0.9})
    assert status == 200
    assert found["predictions"] == regression.predict(rows(5, 9)).tolist()
    assert found["intervals"] == regression.predict_interval(rows(5, 9), 0.9).tolist()


def test_a_classification(classification, serving, ask, rows):
    with serving(make_app(classification)) as port:
        status, found, _ = ask(port, "POST", "/predict", {"rows": rows(5, 9)})
        refused = ask(port, "POST", "/predict", {"rows": rows(1), "interval": 0.9})
    assert status == 200 and found["predictions"] == classification.predict(rows(5, 9)).tolist()
    assert found["probabilities"] == classification.predict_proba(rows(5, 9)).tolist()
    assert refused[0] == 422


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/docs", 404),
        ("POST", "/predict/", 404),
        ("GET", "/predict", 405),
        ("PUT", "/predict", 405),
        ("POST", "/health", 405),
        ("DELETE", "/schema", 405),
    ],
)
def test_other_addresses_and_methods(port, ask, method, path, status):
    found, body, headers = ask(port, method, path, None if method == "GET" else {"rows": []})
    assert found == status and body["error"]
    assert ("allow" in headers) == (status == 405)


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": ""},
        {"content-type": "application/json; charset=latin-1"},
        {"content-encoding": "gzip"},
    ],
)
def test_other_types_of_content(port, ask, headers):
    status, body, _ = ask(port, "POST", "/predict", {"rows": []}, headers)
    assert status == 415 and ("JSON" in body["error"] or "content-encoding" in body["error"])


def test_said_in_other_ways(port, ask, rows):
    for kind in ("application/json; charset=utf-8", "Application/JSON", 'application/json;charset="UTF-8"'):
        assert ask(port, "POST", "/predict", {"rows": rows(1)}, {"content-type": kind})[0] == 200


def test_wrong_requests(port, ask, rows):
    assert ask(port, "POST", "/predict", b"{rows}")[0] == 400
    status, body, _ = ask(port, "POST", "/predict", {"rows": [rows(1)[0] | {"size": "big"}]})
    assert status == 422 and (body["row"], body["column"]) == (0, "size")
    assert ask(port, "POST", "/predict", {"rows": rows(51)})[0] == 413
    # Text that is no Unicode comes back, too.
    status, body, _ = ask(port, "POST", "/predict", b'{"rows": [], "\\ud800": 1}')
    assert status == 422 and "\\ud800" in body["error"]


CHUNKED = (
    b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def test_a_body_that_is_too_long_is_refused(port, ask):
    status, body, _ = ask(port, "POST", "/predict", b" " * 15_000_000)
    assert status == 413 and "20,000" in body["error"]


def test_a_body_that_becomes_too_long_is_refused_and_the_connection_stays(port):
    """Its length is not said beforehand."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client, client.makefile("rb") as lines:
        for _ in range(2):
            client.sendall(CHUNKED + b"6000\r\n" + b" " * 0x6000 + b"\r\n0\r\n\r\n")
            head = [line for line in iter(lines.readline, b"\r\n")]
            assert head[0].split()[1] == b"413"
            length = next(int(line.split(b":")[1]) for line in head if line.startswith(b"content-length"))
            assert "20,000" in json.loads(lines.read(length))["error"]


def test_a_body_without_end_is_cut_off(port, ask, rows):
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client, pytest.raises(OSError):
        client.sendall(CHUNKED)
        for _ in range(100_000):
            client.sendall(chunk)
    assert ask(port, "POST", "/predict", {"rows": rows(1)})[0] == 200


def test_who_asks_before_sending_is_answered_before(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(
            b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            b"content-length: 1000000000\r\nexpect: 100-continue\r\n\r\n"
        )
        assert client.makefile("rb").readline().split()[1] == b"413"


def test_a_body_that_does_not_come_is_not_waited_for(regression, serving):
    with (
        serving(make_app(regression, timeout=0.2)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=10) as client,
    ):
        client.sendall(
            b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            b'content-length: 100\r\n\r\n{"rows"'
        )
        assert client.makefile("rb").readline().split()[1] == b"408"


def test_clients_that_go_away_leave_nothing_behind(port, ask, rows):
    body = json.dumps({"rows": rows(20)}).encode()
    head = (
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    )
    for sent in (b"POST /pre", head % len(body), head % len(body) + body[:50], head % len(body) + body):
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                # Closed with a reset, not with a farewell.
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.sendall(sent)
    for _ in range(100):
        waiting = ask(port, "GET", "/health")[1]["waiting"]
        if not waiting:
            break
        time.sleep(0.02)
    assert waiting == 0
    assert ask(port, "POST", "/predict", {"rows": rows(1)})[0] == 200


def test_bytes_that_are_no_http(port, ask):
    for sent in (b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"A" * 100_000):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                answer = client.recv(100)
                assert not answer or answer.startswith(b"HTTP/1.1 400")
    assert ask(port, "GET", "/health")[0] == 200


def test_more_requests_than_allowed_are_told_to_come_back(regression, serving, ask, rows):
    with serving(make_app(regression, max_requests=1)) as port:
        body = json.dumps({"rows": rows(1)}).encode()
        with socket.create_connection(("127.0.0.1", port), timeout=10) as first:
            first.sendall(
                b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n" % len(body)
            )
            wait_for(lambda: ask(port, "GET", "/health")[1]["waiting"] > 0)
            status, found, headers = ask(port, "POST", "/predict", {"rows": rows(1)})
            assert status == 503 and headers["retry-after"] == "1" and "try again" in found["error"]
            first.sendall(body)
            assert first.makefile("rb").readline().split()[1] == b"200"
        assert ask(port, "POST", "/predict", {"rows": rows(1)})[0] == 200


def test_bodies_held_at_once_are_bounded(regression, serving, ask):
    with serving(make_app(regression, max_body=1000)) as port:
        clients = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(9)]
        try:
            for client in clients[:8]:  # each holds a body that is not complete
                client.sendall(
                    b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                    b"content-length: 1000\r\n\r\n" + b" " * 999
                )
            wait_for(lambda: ask(port, "GET", "/health")[1]["waiting"] >= 8)
            time.sleep(0.1)
            status, found, _ = ask(port, "POST", "/predict", b" " * 100)
            assert status == 503 and "memory" in found["error"]
        finally:
            for client in clients:
                client.close()


def test_a_prediction_that_takes_too_long(regression, serving, ask, rows, monkeypatch):
    def slow(self, table):
        time.sleep(0.5)
        return np.zeros(len(table))

    monkeypatch.setattr(mercer.Model, "predict", slow)
    with serving(make_app(regression, timeout=0.1)) as port:
        status, _, headers = ask(port, "POST", "/predict", {"rows": rows(1)})
    assert status == 503 and headers["retry-after"] == "1"


def test_an_error_inside_is_json_too(regression, serving, ask, monkeypatch):
    monkeypatch.setattr("mercer.tables.serve.app.parse", lambda *_: 1 / 0)
    with serving(make_app(regression)) as port:
        status, found, _ = ask(port, "POST", "/predict", {"rows": []})
    assert status == 500 and "log" in found["error"]


def test_only_models_are_served():
    with pytest.raises(TypeError, match="Model of mercer.fit"):
        make_app(mercer.KernelRidge(offset=False))


# -- many at once -----------------------------------------------------------------------------------


async def _exchange(reader, writer, body):
    writer.write(
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        % len(body)
        + body
    )
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    length = next(int(line.split(b":")[1]) for line in head if line.startswith(b"content-length"))
    return int(head[0].split()[1]), json.loads(await reader.readexactly(length))


async def _client(port, start, requests):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await start.wait()  # all at the same time
        return [await _exchange(reader, writer, json.dumps(request).encode()) for request in requests]
    finally:
        writer.close()
        await writer.wait_closed()


async def _all(port, requests):
    start = asyncio.Event()
    tasks = [asyncio.create_task(_client(port, start, some)) for some in requests]
    await asyncio.sleep(0.2)
    start.set()
    async with asyncio.timeout(60):
        return await asyncio.gather(*tasks)


@pytest.mark.parametrize("batch_rows", [4096, 1])
def test_two_hundred_clients_get_their_own_answers(regression, serving, rows, batch_rows):
    """Every fifth one sends nonsense. With batches of one the answers are equal to the last bit."""
    wrong = [{"rows": [{"size": "x"}]}, {"rows": 3}, {"columns": {}}, {"rows": [], "interval": 7}]
    requests = [
        [
            wrong[(i + j) % 4] if i % 5 == 0 else {"rows": rows(1 + (i + j) % 7, 10 * i + j), "interval": 0.9}
            for j in range(2)
        ]
        for i in range(200)
    ]
    with serving(make_app(regression, batch_rows=batch_rows)) as port:
        answers = asyncio.run(_all(port, requests))
    tolerance = 0 if batch_rows == 1 else 1e-9
    for i in range(200):
        for request, (status, found) in zip(requests[i], answers[i], strict=True):
            if i % 5 == 0:
                assert status == 422 and found["error"]
                continue
            assert status == 200
            expected = regression.predict_interval(request["rows"], 0.9)
            np.testing.assert_allclose(found["intervals"], expected, rtol=tolerance)
            np.testing.assert_allclose(
                found["predictions"], regression.predict(request["rows"]), rtol=tolerance
            )
