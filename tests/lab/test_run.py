"""The process: how it starts, and that it stops within a second."""

import http.client
import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
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


def test_it_stops_though_helpers_are_at_a_fit_of_many_classes(process):
    """Six classes are fitted by several threads, which end where the library looks; nothing is logged."""
    running, port = process
    rng = np.random.default_rng(0)
    points = {"X": rng.uniform(-1, 1, (2000, 2)).tolist(), "y": rng.integers(0, 6, 2000).tolist()}
    kernel = {"kind": "gaussian", "sigma": 10}
    body = points | {"task": "labels", "kernel": kernel, "loss": {"kind": "hinge"}, "lam": 1e-12}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/api/fit", json.dumps(body), {"content-type": "application/json"})
    time.sleep(1.5)
    started = time.monotonic()
    running.send_signal(signal.SIGINT)
    answer = connection.getresponse()
    assert answer.status == 503 and "stopped" in json.loads(answer.read())["error"]
    connection.close()
    running.wait(20)
    assert time.monotonic() - started < 8  # it takes a minute if nobody ends the fit
    assert running.returncode == 0 and "Traceback" not in running.stderr.read()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST"])
def test_by_the_name_that_was_typed(host):
    def ask(url):
        port = int(url.rsplit(":", 1)[1])

        def questions():
            for name in (host, "127.0.0.1", "evil.example"):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                connection.request("GET", "/", headers={"host": f"{name}:{port}"})
                answer = connection.getresponse()
                found.append(answer.status)
                answer.read()
                connection.close()
            signal.raise_signal(signal.SIGINT)

        threading.Thread(target=questions, daemon=True).start()

    found = []
    run(host=host, ready=ask)
    assert found == [200, 200, 421]


def test_a_port_that_is_taken():
    with listening("127.0.0.1", 0) as taken, pytest.raises(OSError):
        run(port=taken.getsockname()[1])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "0", "00.0.0.0", "0x0"])
def test_every_address_at_once_is_refused(host):
    with pytest.raises(ValueError, match="every address"):
        run(host=host)
