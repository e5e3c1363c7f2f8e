"""A pytest plugin: names of scikit-learn stand for adapters before its test files are read.

Only names in public modules are replaced. What scikit-learn itself has imported by then keeps its own
classes, so that scorers, searches and pipelines are theirs, around machines of ours.
"""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

import pytest

from peers import adapter, linear, neighbours, online, processes, svm, unlabelled

# What tests ask of scikit-learn's insides, or of its very words: nothing a user's result depends on.
_INSIDE = ("by mercer has no internal",)
# Sentences in which machines of ours say that there is no such thing.
_REFUSED = ("Sparse data was passed for X", "metric must be ", "probability=True needs at least two")
_WORDS = ("Regex pattern did not match", "DID NOT WARN", "pattern did not match", "Expected regex")


def replaced() -> dict[str, Any]:
    """All names that are replaced, and what stands for them."""
    found: dict[str, Any] = {}
    for room in (svm, linear, online, unlabelled, neighbours, processes):
        found |= room.replaced()
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Replace them; scikit-learn's private modules, and those who imported from them, see nothing of it."""
    early = [name for name in sys.modules if name.startswith("sklearn.") and ".tests.test_" in name]
    assert early == [], "tests that were read before names are replaced"
    for name, stand_in in replaced().items():
        module, _, word = name.rpartition(".")
        setattr(importlib.import_module(module), word, stand_in)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Note how many machines of ours a test has used; none, and it tells nothing of them."""
    before = adapter.USED[0]
    try:
        return (yield)
    finally:
        item.user_properties.append(("machines", adapter.USED[0] - before))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Any:
    """Say of a failure which kind it is, and in which words."""
    report = yield
    if call.when == "call" and call.excinfo is not None and report.outcome == "failed":
        kind, why = judged(call.excinfo)
        report.user_properties += [("kind", kind), ("why", why)]
    return report


def judged(excinfo: pytest.ExceptionInfo) -> tuple[str, str]:
    """("lacking" | "inside" | "words" | "wrong", one line)"""
    error: BaseException | None = excinfo.value
    said = " ".join(str(excinfo.value).split())
    while error is not None:
        if isinstance(error, adapter.Lacking):
            return "lacking", str(error)
        error = error.__cause__ or error.__context__
    line = f"{type(excinfo.value).__name__}: {said}"[:300]
    if "Lacking" in said or any(words in said for words in _REFUSED):
        return "lacking", line
    if any(words in said for words in _INSIDE) or re.search(r"hasattr\(.*, '_\w+'\)", said):
        return "inside", line
    if any(words in said for words in _WORDS):
        return "words", line
    return "wrong", line
