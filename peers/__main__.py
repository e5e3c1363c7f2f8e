"""Run scikit-learn's test files with our machines, and compare what fails with `remaining.txt`.

    python -m peers              # all files; ends with 1 if a failure is not listed, or a listed test passes
    python -m peers svm ridge    # files whose names contain these words
    python -m peers --write      # list what fails now: reasons that are known are kept

A failure is one of five kinds. *wrong*: another result than the test asks for. *lacking*: there is no such
thing here. *inside*: the test looks at what is scikit-learn's own business. *words*: the right kind of error
or warning, in other words. *design*: another answer on purpose, or one where theirs refuses (said by hand).
Tests that ask nothing of a machine of ours are not counted.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sklearn

HERE = Path(__file__).resolve().parent
LIST = HERE / "remaining.txt"
KINDS = ("wrong", "lacking", "inside", "words", "design")
FILES = (
    "svm/tests/test_svm.py",
    "svm/tests/test_sparse.py",
    "tests/test_kernel_ridge.py",
    "linear_model/tests/test_ridge.py",
    "linear_model/tests/test_logistic.py",
    "linear_model/tests/test_huber.py",
    "linear_model/tests/test_quantile.py",
    "linear_model/tests/test_perceptron.py",
    "linear_model/tests/test_passive_aggressive.py",
    "linear_model/tests/test_sgd.py",
    "decomposition/tests/test_kernel_pca.py",
    "cluster/tests/test_k_means.py",
    "neighbors/tests/test_neighbors.py",
    "tests/test_kernel_approximation.py",
    "gaussian_process/tests/test_kernels.py",
)


@dataclass(frozen=True)
class Listed:
    """A line of the list: what kind of failure is known of which tests, and why."""

    kind: str
    pattern: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind} | {self.pattern} | {self.reason}"

    def fits(self, test: str) -> bool:
        return test == self.pattern or fnmatch.fnmatchcase(test, self.pattern.replace("[", "[[]"))


@dataclass(frozen=True)
class Outcome:
    """What became of a test."""

    test: str
    passed: bool
    machines: int
    kind: str = ""
    why: str = ""


class Recorder:
    """Outcomes, as pytest reports them (from other processes, too)."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.broken: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        said: dict[str, Any] = dict(report.user_properties)
        test = report.nodeid.replace("\\", "/")
        if report.when == "call" and report.outcome in ("passed", "failed"):
            kind = said.get("kind", "wrong")
            self.outcomes.append(
                Outcome(test, report.passed, int(said.get("machines", 0)), kind, str(said.get("why", "")))
            )
        elif report.failed:
            self.broken.append(f"{test}: {report.longreprtext.splitlines()[-1]}")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken.append(f"{report.nodeid}: {report.longreprtext.splitlines()[-1]}")


def read_list(path: Path = LIST) -> list[Listed]:
    """Lines "kind | test | reason"; a test may hold * for any letters."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, pattern, reason = (part.strip() for part in line.split(" | ", 2))
            assert kind in KINDS and reason, f"not a line of the list: {line}"
            found.append(Listed(kind, pattern, reason))
    return found


def counted(outcomes: list[Outcome], listed: list[Listed]) -> tuple[Counter[str], list[str], list[str]]:
    """How many of each kind; failures that nobody listed; lines that fit no failure any more."""
    counts: Counter[str] = Counter()
    fresh, used = [], set()
    for outcome in outcomes:
        if not outcome.machines:
            counts["not about ours"] += 1
        elif outcome.passed:
            counts["passed"] += 1
        else:
            known = next((line for line in listed if line.fits(outcome.test)), None)
            counts[known.kind if known else outcome.kind] += 1
            if known is None:
                fresh.append(f"{outcome.kind} | {outcome.test} | {outcome.why}")
            else:
                used.add(known)
    return counts, fresh, [str(line) for line in listed if line not in used]


def run(files: list[str], extra: list[str]) -> Recorder:
    """Let pytest read the files where scikit-learn has them."""
    root = Path(sklearn.__file__).parent
    recorder = Recorder()
    os.environ.setdefault("SKLEARN_TESTS_GLOBAL_RANDOM_SEED", "42")
    os.chdir(root)
    words = ["-p", "peers.plugin", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={root}", "-q"]
    words += ["--no-header", "--tb=no", "-W", "ignore", "--disable-warnings", *extra, *files]
    pytest.main(words, plugins=[recorder])
    return recorder


def main() -> int:
    """What is said of this module."""
    parser = argparse.ArgumentParser(description="Run scikit-learn's tests with mercer's machines.")
    parser.add_argument(
        "words", nargs="*", help="files whose names contain one of these; all, if none is given"
    )
    parser.add_argument("--write", action="store_true", help="list what fails now")
    parser.add_argument("--pytest", default="", help="words for pytest, such as '-n 2' or '-k sparse'")
    options = parser.parse_args()
    files = [file for file in FILES if not options.words or any(word in file for word in options.words)]
    sys.path.insert(0, str(HERE.parent))
    recorder = run(files, options.pytest.split())
    listed = read_list() if LIST.exists() else []
    here = [line for line in listed if any(line.pattern.startswith(file) for file in files)]
    counts, fresh, stale = counted(recorder.outcomes, here)
    print(
        f"\nscikit-learn {sklearn.__version__}:", ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
    )
    for title, lines in (
        ("broken", recorder.broken),
        ("not listed", fresh),
        ("listed, but no failure", stale),
    ):
        if lines:
            print(f"\n{title}:", *lines, sep="\n  ")
    if options.write:
        write_list(here, listed, fresh, set(stale))
        return 0
    narrowed = bool(options.pytest)  # then what is listed may not have been run
    return 1 if recorder.broken or fresh or (stale and not narrowed) else 0


def write_list(here: list[Listed], listed: list[Listed], fresh: list[str], stale: set[str]) -> None:
    """The list again, without what passes now and with what fails; cases that fail alike are one line."""
    lines = {str(line) for line in listed} - stale
    by_test: dict[tuple[str, str, str], list[str]] = {}
    for line in fresh:
        kind, test, why = line.split(" | ", 2)
        by_test.setdefault((kind, test.partition("[")[0], why), []).append(test)
    for (kind, name, why), tests in by_test.items():
        alone = len({key for key in by_test if key[1] == name}) == 1
        if alone and len(tests) > 1:
            lines.add(f"{kind} | {name}* | {why}")
        else:
            lines |= {f"{kind} | {test} | {why}" for test in tests}
    head = "# kind | test of scikit-learn | why it fails with ours; `python -m peers` checks this list.\n"
    LIST.write_text(head + "".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
