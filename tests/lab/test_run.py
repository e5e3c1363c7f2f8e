"""The process: how it starts, and that it stops within a second."""

import http.client
import json
import signal
import subprocess
import sys
import time

import pytest

from mercer._http.server import listening
from mercer.lab import run


@pytest.fixture
def process():
    """The command, running, and its port."""
    command = [sys.executable, "-m", "mercer", "lab", "--no-browser", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        line = running.stdout.readline()
        assert line.startswith("http://127.0.0.1:"), line + running.stderr.read()
        try:
            yield running, int(line.rsplit(":", 1)[1])
        finally:
            running.kill()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_at_once_though_a_fit_is_under_way(process, stop):
    running, port = process
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/api/options")
    assert json.loads(connection.getresponse().read())["kernels"]
    # Two thousand points take seconds.
    body = {"kind": "spirals", "n": 2000, "noise": 0.3}
    connection.request("POST", "/api/sample", json.dumps(body), {"content-type": "application/json"})
    points = json.loads(connection.getresponse().read())
    body = {k: points[k] for k in ("task", "X", "y", "window")} | {"loss": {"kind": "exponential"}}
    connection.request("POST", "/api/fit", json.dumps(body), {"content-type": "application/json"})
    time.sleep(0.2)
    started = time.monotonic()
    running.send_signal(stop)
    running.wait(10)
    assert time.monotonic() - started < 5  # one second of patience, and what a busy machine takes
    connection.close()
    assert running.returncode == 0


def test_a_port_that_is_taken():
    with listening("127.0.0.1", 0) as taken, pytest.raises(OSError):
        run(port=taken.getsockname()[1])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_every_address_at_once_is_refused(host):
    with pytest.raises(ValueError, match="every address"):
        run(host=host)
