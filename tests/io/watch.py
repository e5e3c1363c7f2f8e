"""Loading files under watch: nothing may run, nothing may hang, and only certain things may go wrong."""

from __future__ import annotations

import ast
import builtins
import importlib
import os
import pickle
import signal
import subprocess
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from mercer.functions import Function
from mercer.io import ModelFileError, load
from mercer.online.machine import OnlineMachine
from mercer.tables.model import Model

SECONDS = 20


class Ran(BaseException):
    """Something was run that no file may cause to run; not an Exception, so that nothing swallows it."""


class Hung(BaseException):
    """Loading or predicting took too long."""


@contextmanager
def watched() -> Iterator[None]:
    """Raise `Ran` where a shell, a process, a pickle or source code would be run, or a stranger imported."""

    def trap(name: str) -> Callable[..., Any]:
        def sprung(*args: Any, **kwargs: Any) -> Any:
            # Parsing runs nothing: what is compiled is a loss's formula, in our own small language.
            if name == "compile" and kwargs.get("flags", args[3] if len(args) > 3 else 0) & ast.PyCF_ONLY_AST:
                return vars(builtins)["_usual_compile"](*args, **kwargs)
            raise Ran(f"{name}{args!r}"[:300])

        return sprung

    usual = importlib.import_module

    def importing(name: str, package: str | None = None) -> Any:
        if name.partition(".")[0] not in ("numpy", "scipy", "sklearn"):
            raise Ran(f"import_module({name!r})")
        return usual(name, package)

    places: list[tuple[Any, str]] = [(os, "system"), (os, "popen"), (subprocess, "Popen"), (builtins, "eval")]
    places += [
        (builtins, "exec"),
        (builtins, "compile"),
        (pickle, "loads"),
        (pickle, "load"),
        (pickle, "Unpickler"),
    ]
    with mock.patch.object(importlib, "import_module", importing):
        for box, name in places:
            setattr(box, f"_usual_{name}", getattr(box, name))
            setattr(box, name, trap(name))
        try:
            yield
        finally:
            for box, name in places:
                setattr(box, name, getattr(box, f"_usual_{name}"))
                delattr(box, f"_usual_{name}")


@contextmanager
def in_time(seconds: int = SECONDS) -> Iterator[None]:
    """Raise `Hung` after so many seconds, where the system has an alarm."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: Any) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(path: Path, X: np.ndarray, table: Any) -> str:
    """ "refused", "predicts", "predict refuses" or "loads"; anything else is an error that comes out."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), in_time():
        warnings.simplefilter("ignore")
        try:
            x = load(path)
        except ModelFileError as error:
            assert str(path) in str(error)
            return "refused"
        if isinstance(x, Model):
            calls = [x.predict, x.predict_interval if x.task == "regression" else x.predict_proba]
            points = table
        elif isinstance(x, Function):
            calls, points = [x], X
        elif any(hasattr(x, name) for name in ("function_", "n_neighbors_", "means_", "search_", "steps")):
            names = ("predict", "predict_proba", "decision_function")
            calls, points = [getattr(x, name) for name in names if hasattr(x, name)], X
            if isinstance(x, OnlineMachine):  # goes on learning, in compiled loops
                calls.append(lambda points: x.partial_fit(points, x.predict(points)))
        else:
            return "loads"
        said = "predicts"
        for call in calls:
            try:
                call(points)
            except ValueError:
                said = "predict refuses"
        return said
