"""The process: how it starts, stops and fails."""

import json
import signal
import socket
import subprocess
import sys
import time

import pytest

import mercer
from mercer._http.server import listening, url_of
from mercer.tables.serve import run
from waiting import wait_for


@pytest.fixture(scope="module")
def model_file(regression, tmp_path_factory):
    path = tmp_path_factory.mktemp("serve") / "prices.mercer"
    mercer.save(regression, path)
    return path


@pytest.fixture
def process(model_file):
    """The command, running, and its port."""
    command = [sys.executable, "-m", "mercer", "serve", str(model_file), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        line = running.stderr.readline()
        assert "predicts price at http://127.0.0.1:" in line, line
        try:
            yield running, int(line.split("127.0.0.1:")[1].split("/")[0])
        finally:
            running.kill()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_under_way_end_and_takes_no_more(process, regression, rows, ask, stop):
    running, port = process
    body = json.dumps({"rows": rows(3)}).encode()
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as idle,
        socket.create_connection(("127.0.0.1", port), timeout=10) as client,
    ):
        client.sendall(
            b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n" % len(body) + body[:40]
        )
        wait_for(lambda: ask(port, "GET", "/health")[1]["waiting"] > 0)
        running.send_signal(stop)
        assert idle.recv(10) == b""  # closed, for there was nothing to wait for
        with pytest.raises(OSError):
            for _ in range(1000):
                socket.create_connection(("127.0.0.1", port), timeout=10).close()
                time.sleep(0.01)
        client.sendall(body[40:])
        answer = client.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200")
    assert json.loads(answer.split(b"\r\n\r\n")[1])["predictions"] == regression.predict(rows(3)).tolist()
    assert running.wait(10) == 0
    said = running.stderr.read()
    assert "Traceback" not in said and "POST /predict HTTP/1.1 200" in said


def test_a_port_in_use_is_an_error(regression):
    with listening("127.0.0.1", 0) as taken, pytest.raises(OSError):
        run(regression, port=taken.getsockname()[1])


def test_addresses():
    with listening("127.0.0.1", 0) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS, spoken to a server that has none
        b"GET /health\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",  # no host
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
        b"GET /health HTTP/1.1\r\nhost: x\r\nbad header\x00: 1\r\n\r\n",
    ],
)
def test_what_is_no_request_is_answered_in_json(port, said):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(said + b"\r\n" * 2)
        answer = client.makefile("rb").read()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and b"content-type: application/json" in head
    assert json.loads(body)["error"].startswith("this is no request of HTTP")
