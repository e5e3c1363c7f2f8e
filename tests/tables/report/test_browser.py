"""The page in a real browser: no error, no request, every figure there, nothing wider than the window."""

import base64
import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
_SECONDS = 60


class Chromium:
    """A headless browser, spoken to through a pair of pipes: JSON messages, each ended by a zero byte."""

    def __init__(self, folder):
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # Chromium reads from 3 and writes to 4; numbers above those can't be overwritten on the way there.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        quiet = os.open(os.devnull, os.O_RDWR)
        arguments = [
            CHROMIUM, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
            "--disable-background-networking",
            f"--user-data-dir={folder}", "about:blank",
        ]  # fmt: skip
        moves = [(os.POSIX_SPAWN_DUP2, end, to) for end, to in zip(ends, (3, 4), strict=True)]
        moves += [(os.POSIX_SPAWN_DUP2, quiet, to) for to in (0, 1, 2)]
        self.process = os.posix_spawn(CHROMIUM, arguments, os.environ, file_actions=moves)
        for end in (theirs_in, theirs_out, *ends, quiet):
            os.close(end)
        self.reader, self.writer = os.fdopen(ours_in, "rb", buffering=0), ours_out
        os.set_blocking(ours_in, False)
        self.session, self.last, self.buffer, self.events = None, 0, b"", []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for room in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{room}.enable")

    def send(self, method, **params):
        """A command, and what it returns."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def receive(self):
        """The next message."""
        until = time.monotonic() + _SECONDS
        while b"\0" not in self.buffer:
            part = self.reader.read(1 << 16)
            if part is None:
                assert time.monotonic() < until, "Chromium does not answer"
                time.sleep(0.005)
            else:
                assert part, "Chromium has ended"
                self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def open(self, address, width, scheme, *, phone=False, media=""):
        """Load a page at a width and in a colour scheme, and wait for it."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=phone
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.send("Emulation.setEmulatedMedia", media=media, features=[feature])
        self.events.clear()
        self.send("Page.navigate", url=address)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive())

    def run(self, expression):
        """The value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, path, *, whole=True, clip=None):
        """The page as a PNG file."""
        more = {"clip": {**clip, "scale": 1}} if clip else {}
        picture = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **more)[
            "data"
        ]
        Path(path).write_bytes(base64.b64decode(picture))

    def close(self):
        self.session = None
        try:
            self.send("Browser.close")
        except (AssertionError, OSError):
            os.kill(self.process, signal.SIGKILL)
            raise
        finally:
            os.close(self.writer)
            self.reader.close()
            os.waitpid(self.process, 0)


@pytest.fixture(scope="module")
def browser():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        chromium = Chromium(folder)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def files(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


# Labels cut off by the edge of their figure, and pairs of upright labels on top of each other.
_LABELS = """
[...document.querySelectorAll('figure svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect(),
    !/rotate\\((?!-?0\\))/.test(t.outerHTML + t.parentElement.outerHTML.slice(0, 200))]);
  const cut = texts.filter(([_, r]) => r.left < frame.left - 2 || r.right > frame.right + 2 ||
    r.top < frame.top - 2 || r.bottom > frame.bottom + 2).map(([t]) => 'cut: ' + t);
  const upright = texts.filter(([_, r, up]) => up);
  const over = upright.flatMap(([t, r], i) => upright.slice(i + 1).filter(([_, s]) =>
    Math.min(r.right, s.right) - Math.max(r.left, s.left) > 2 &&
    Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) > 4).map(([u]) => 'overlap: ' + t + ' | ' + u));
  return cut.concat(over);
})
"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page(browser, files, width, scheme):
    papers = set()
    for name, address in files.items():
        browser.open(address, width, scheme, phone=width < 500)
        where = f"{name}, {width} px, {scheme}"
        assert browser.run("document.documentElement.scrollWidth") <= width, where
        # Only boxes made to scroll may hold more than they show.
        wide = "[...document.querySelectorAll('main *:not(.scroll):not(.scroll *):not(svg *)')]"
        wide += f".filter(e => e.getBoundingClientRect().right > {width} + 1).map(e => e.tagName)"
        assert browser.run(wide) == [], where
        boxes = browser.run(
            "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect())"
            ".map(b => [b.width, b.height])"
        )
        assert len(boxes) >= 4 and all(w > 150 and h > 50 for w, h in boxes), where
        assert browser.run(_LABELS) == [], where
        papers.add(browser.run("getComputedStyle(document.body).backgroundColor"))
        smallest = browser.run(
            "Math.min(...[...document.querySelectorAll('figure svg text')].map(t => t.getBBox().height *"
            " t.getScreenCTM().d).filter(h => h > 0))"
        )
        assert smallest > 9, where
        _nothing_but(browser.events, address, where)
    assert papers == {"rgb(253, 253, 252)" if scheme == "light" else "rgb(20, 23, 27)"}


def _nothing_but(events, address, where):
    """No request but for the page itself, no message on the console."""
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert asked and set(asked) - {"data:,"} == {address}, where
    told = [e for e in events if e["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")]
    told += [e for e in events if e["method"] == "Runtime.consoleAPICalled"]
    assert told == [], where


def test_nothing_on_the_page_runs(browser, files):
    browser.open(files["regression"], 1280, "light")
    assert browser.run("document.querySelectorAll('script, iframe, object, form, img').length") == 0
    # The hostile name is there to be read, and is no element.
    assert "<script>alert('x')</script>" in browser.run("document.querySelector('h1').textContent")


def test_print(browser, files):
    for name, address in files.items():
        browser.open(address, 700, "dark", media="print")
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", name
        assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
        assert browser.run("document.documentElement.scrollWidth") <= 700, name
        pages = base64.b64decode(browser.send("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert pages.startswith(b"%PDF") and pages.count(b"/Type /Page\n") <= 14, name
