"""A real lab and a real browser. `make test-lab` installs what is needed; else these tests are skipped."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

SIZES = {"desktop": (1280, 800), "phone": (360, 740)}
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def absent(what: str) -> None:
    """Skip, or fail where the tests must run."""
    words = f"{what} is not installed: `make test-lab` installs it"
    if os.environ.get("MERCER_BROWSER_TESTS") == "required":
        pytest.fail(words)
    pytest.skip(words)


def chromium() -> str | None:
    names = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome", "chrome")
    return next((found for found in map(shutil.which, names) if found), None)


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright (pip install 'mercer[browser]')")
    path = chromium()
    if path is None:
        absent("Chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        yield opened
        opened.close()


@contextmanager
def running(folder: Path, *arguments: str, port: int | str = 0) -> Iterator[tuple[str, subprocess.Popen]]:
    """`mercer lab` in a process of its own: its address, and the process."""
    command = [
        sys.executable,
        "-m",
        "mercer",
        "lab",
        "--no-browser",
        "--port",
        str(port),
        "--quiet",
        *arguments,
    ]
    with open(folder / "log.txt", "w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            address = process.stdout.readline().split()
            assert address, (folder / "log.txt").read_text()
            yield next(word for word in address if word.startswith("http")).rstrip("/;"), process
        finally:
            process.terminate()
            process.wait(20)
            process.stdout.close()


@pytest.fixture(scope="session")
def address(browser, tmp_path_factory):
    with running(tmp_path_factory.mktemp("lab")) as (url, _):
        yield url


@pytest.fixture
def start_lab(browser, tmp_path):
    """Starts labs of a test's own: ``start_lab(model, port=…)`` gives the address and the process."""
    with ExitStack() as stack:
        yield lambda *arguments, port=0: stack.enter_context(running(tmp_path, *arguments, port=port))


class Lab:
    """A page of the lab, and short words for what a person does there."""

    def __init__(self, page, url):
        self.page, self.url = page, url
        self.complaints: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self):
        self.page.goto(self.url)
        self.page.get_by_role("tab", name="Learn").wait_for()
        return self

    def tab(self, name):
        self.page.get_by_role("tab", name=name).click()

    def button(self, name, exact=True):
        return self.page.get_by_role("button", name=name, exact=exact)

    @property
    def plane(self):
        return self.page.get_by_role("application")

    def settled(self):
        """Wait until no answer is under way."""
        self.page.wait_for_timeout(120)
        self.until(lambda: self.page.locator("[aria-busy=true]").count() == 0)

    def until(self, is_so):
        """Wait for something; in Python, as the page's policy lets nobody evaluate text in it."""
        for _ in range(300):
            if is_so():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError("it did not come about within 30 seconds")

    def wait_for_points(self, count):
        self.until(lambda: len(self.points()) == count)

    def figure(self, name):
        self.settled()
        return self.page.locator(f"[data-figure={name}]").inner_text()

    def number(self, name):
        return as_number(self.figure(name))

    def kept(self, key="state"):
        """What the page remembers of this browser tab."""
        self.page.wait_for_timeout(60)  # it is kept just after it is drawn
        return json.loads(self.page.evaluate(f"sessionStorage.getItem('mercer-lab/{key}')"))

    def points(self):
        data = self.kept()["data"]
        return [(p["x"], p["y"], data["classes"][p["c"]]) for p in data["points"]]

    def exactly(self, label, value):
        """Type a number beside its slider."""
        self.page.get_by_label(f"{label}, exactly").first.fill(str(value))

    def serious_findings(self):
        """What axe-core finds in the page with all its sections opened."""
        from axe_playwright_python.sync_playwright import Axe

        self.page.evaluate("for (const section of document.querySelectorAll('details')) section.open = true")
        self.settled()
        return [
            (finding["id"], finding["nodes"][0]["html"][:200])
            for finding in Axe().run(self.page).response["violations"]
            if finding["impact"] in ("serious", "critical")
        ]

    def expected(self, words):
        """Forget complaints about answers that were meant to be refusals; return how many there were."""
        known = [c for c in self.complaints if words in c]
        self.complaints = [c for c in self.complaints if words not in c]
        return len(known)


def as_number(text):
    """3.2·10⁻⁵ as a float."""
    plain = text.replace("−", "-").replace("%", "").strip()
    mantissa, _, power = plain.partition("·10")
    sign = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(mantissa) * 10.0 ** int(sign or 0)


@pytest.fixture
def open_lab(browser, address):
    """Opens pages of the lab; at the end, none of them may have complained."""
    contexts, labs = [], []

    def opened(size="desktop", theme="light", url=None, **options):
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            has_touch=size == "phone",
            **options,
        )
        context.set_default_timeout(15_000)
        contexts.append(context)
        lab = Lab(context.new_page(), url or address).open()
        lab.context = context
        labs.append(lab)
        lab.wait_for_points(80)  # the sample that a fresh page begins with
        lab.settled()
        return lab

    yield opened
    complaints = [lab.complaints for lab in labs if lab.complaints]
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def lab(open_lab):
    return open_lab()


@pytest.fixture
def empty(lab):
    """A page whose sample has come and been cleared."""
    lab.button("Clear", exact=False).click()
    lab.wait_for_points(0)
    return lab
