"""`mercer serve`: its options; tests/serve asks the service itself."""

import pytest
import typer

from mercer._http.server import listening
from mercer.cli.serve import _bytes


def test_sizes():
    assert [_bytes(text) for text in ("10MB", "512kB", "1 GiB", "77", "5b")] == [
        10_000_000,
        512_000,
        2**30,
        77,
        5,
    ]
    for text in ("", "MB", "-1", "0", "1.5MB", "10 parsecs"):
        with pytest.raises(typer.BadParameter):
            _bytes(text)


def test_options_reach_the_service(call, fitted, monkeypatch):
    calls = []

    def run(model, ready, **options):
        ready("http://127.0.0.1:80")
        calls.append(options)

    monkeypatch.setattr("mercer.tables.serve.run", run)
    result = call("serve", fitted.file, "--max-body", "1kB", "--max-rows", "7", "--port", "80", "-q")
    assert result.exit_code == 0
    assert "houses.mercer predicts price at http://127.0.0.1:80/predict" in result.stderr
    assert calls == [
        {
            "host": "127.0.0.1",
            "port": 80,
            "log": False,
            "timeout": 30.0,
            "max_body": 1000,
            "max_rows": 7,
            "max_requests": 1000,
        }
    ]
    assert call("serve", fitted.file).exit_code == 0
    assert calls[1]["max_body"] == 10_000_000 and calls[1]["log"]


def test_what_cannot_be_done(call, fitted):
    with listening("127.0.0.1", 0) as taken:
        result = call("serve", fitted.file, "--port", taken.getsockname()[1])
    assert result.exit_code == 1 and "can't listen at 127.0.0.1" in result.stderr
    assert call("serve", fitted.csv).exit_code == 1
    assert call("serve", fitted.file, "--port", "99999").exit_code == 2
    assert call("serve", fitted.file, "--max-body", "much").exit_code == 2
