"""Do the work, step by step, and hand back scores and page."""

from __future__ import annotations

import platform
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

import mercer
from mercer.report.demo import classification, pages, regression
from mercer.report.demo.scores import Score
from mercer.report.page import Report

_SPLITS = 5
# Number of calls of `progress`, for a bar.
STEPS = _SPLITS + 1 + 3 + 1 + 1


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demo found.

    Attributes
    ----------
    regression, classification : list of Score
    report : Report
    seconds : float
    """

    regression: list[Score]
    classification: list[Score]
    report: Report
    seconds: float


def run(
    seed: int = 0,
    *,
    quick: bool = False,
    progress: Callable[[str], None] = lambda step: None,
    command: str = "",
) -> Demo:
    """Two regressions and a classification, tuned, beside scikit-learn, as scores and as a page.

    Parameters
    ----------
    seed : int
        Decides the splits and the noise.
    quick : bool
        Fewer examples and coarser grids: a few seconds, for tests.
    progress : callable
        Called with a line of text before each of at most `STEPS` steps.
    command : str
        What the page says under "how to reproduce".

    Returns
    -------
    Demo
    """
    start = time.perf_counter()
    diabetes = regression.diabetes(seed, 2 if quick else _SPLITS, progress)
    progress("A noisy curve")
    curve = regression.curve(seed, 60 if quick else 150)
    digits = classification.digits(seed, 300 if quick else None, 2 if quick else 3, progress)
    progress("Three digits in the plane")
    plane = classification.plane(120 if quick else 540)
    progress("The report page")
    page = Report(
        "Mercer: a demonstration",
        "Learning with kernels on data that come with scikit-learn: two regressions and a classification, "
        "their parameters tuned, their errors measured on examples kept apart, and every solution "
        "with a certificate of how close to optimal it is.",
    )
    pages.results(page, diabetes.scores + curve.scores, digits.scores)
    pages.diabetes(page, diabetes)
    pages.curve(page, curve)
    pages.digits(page, digits, plane)
    machines = [
        ("diabetes", diabetes.machine),
        ("noisy curve", curve.machine),
        ("digits", digits.machine),
        ("three digits", plane.machine),
    ]
    pages.certificates(page, machines)
    pages.is_it_a_kernel(page)
    seconds = time.perf_counter() - start
    pages.reproduce(
        page,
        command or shlex.join(["mercer", "demo", "--output", "report.html", "--seed", str(seed)]),
        _versions(seed, seconds),
    )
    return Demo(diabetes.scores + curve.scores, digits.scores, page, seconds)


def _versions(seed: int, seconds: float) -> list[tuple[str, str]]:
    names = ("numpy", "scipy", "scikit-learn")
    return [
        ("Seed", str(seed)),
        ("Mercer", mercer.__version__),
        ("Python", platform.python_version()),
        *((name, metadata.version(name)) for name in names),
        ("Written", time.strftime("%Y-%m-%d %H:%M %Z")),
        ("Took", f"{seconds:.0f} s"),
    ]
