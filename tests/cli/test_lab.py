"""`mercer lab`, as a command."""

import threading

import mercer.lab
from mercer._http.server import listening
from mercer.cli import lab as command
from mercer.cli import main


def test_it_opens_the_page_and_says_where(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(mercer.lab, "run", lambda model, ready, **_: ready("http://127.0.0.1:1"))
    asked = threading.Event()
    monkeypatch.setattr(command.webbrowser, "open", lambda url: (opened.append(url), asked.set()))
    assert main(["lab"]) == 0 and asked.wait(10) and opened == ["http://127.0.0.1:1"]
    assert "http://127.0.0.1:1" in capsys.readouterr().err
    assert main(["lab", "--no-browser", "--quiet"]) == 0 and len(opened) == 1
    assert capsys.readouterr().out == "http://127.0.0.1:1\n"


def test_what_goes_wrong_is_said(capsys, tmp_path):
    with listening("127.0.0.1", 0) as taken:
        assert main(["lab", "--no-browser", "--port", str(taken.getsockname()[1])]) == 1
    assert "can't listen at 127.0.0.1" in capsys.readouterr().err
    assert main(["lab", "--no-browser", "--host", "0.0.0.0"]) == 1
    assert "every address" in capsys.readouterr().err
    assert main(["lab", "--no-browser", str(tmp_path / "none.mercer")]) != 0
