"""How long the lab takes to answer: whole requests, from the body to the bytes of the answer."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from typing import Any

from benchmarks.harness import measure
from benchmarks.table import count, number, text

TITLE = "The lab: milliseconds a request, 500 points"
NOTE = (
    "Medians and worst of 20 requests (after 3 others) through the ASGI application in one process: JSON "
    "read, computed, JSON written. Gaussian kernel, a grid of 64 × 64, and of fits everything wanted "
    "(spectrum, leave-one-out, bumps). “auto” finds λ, too. Online: 500 steps replayed, 20 terms. Cells: 50 "
    "centres, 30 iterations, all of them sent."
)
COLUMNS = (
    text("address", "address"),
    text("what", "what"),
    number("median, ms", "median", ".1f"),
    number("worst, ms", "worst", ".1f"),
    count("kB", "kilobytes"),
)

# Requests before those that count: code is compiled by the first.
_FIRST = 3
_KERNEL = {"kind": "gaussian", "sigma": 0.5}
_POINTS = ("task", "X", "y", "window")
_EVERYTHING = {"kernel": _KERNEL, "resolution": 64, "wanted": ["spectrum", "loo", "bumps"]}


def _cases(n: int):
    """(address, what, sample, keys taken from it, rest of the request)."""
    two, three, curve = (
        {"kind": kind, "n": n, "noise": 0.2, "seed": 0} for kind in ("moons", "blobs", "sine")
    )
    for lam in (1e-3, "auto"):
        said = "" if lam != "auto" else ", λ auto"
        for loss in ("logistic", "hinge", "squared_hinge", "squared", "exponential", "multinomial"):
            for sample, classes in ((two, 2), (three, 3)):
                body = _EVERYTHING | {"loss": {"kind": loss}, "lam": lam}
                yield "fit", f"{loss}, {classes} classes{said}", sample, _POINTS, body
        for loss in ("squared", "absolute", "huber", "epsilon_insensitive", "quantile"):
            yield (
                "fit",
                f"{loss}, a curve{said}",
                curve,
                _POINTS,
                _EVERYTHING | {"loss": {"kind": loss}, "lam": lam},
            )
    step = {"loss": {"kind": "hinge"}, "lam": 1e-3, "kernel": _KERNEL, "t": n, "resolution": 64}
    for budget in ("none", "oldest", "merge", "projection"):
        size = {} if budget == "none" else {"size": 20}
        yield "online", budget, two, _POINTS, step | {"budget": {"kind": budget} | size}
    for kernel, said in ((None, "k-means"), (_KERNEL, "kernel k-means")):
        yield "clusters", said, two, ("X", "window"), {"k": 5, "kernel": kernel, "resolution": 64}
    for density in ("uniform", "two"):
        yield "cells", density, None, (), {"density": {"kind": density}, "k": 50, "iterations": 30}
    move = {"class": {"kind": "half-spaces"}, "side": "label", "count": 4, "move": "start"}
    yield "game", "half-planes, 4 points", None, (), move
    yield "sample", "two moons", None, (), two


async def _post(app: Any, path: str, body: dict) -> bytes:
    """The answer of an ASGI application to one request."""
    data = json.dumps(body).encode()
    headers = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(len(data))}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", 80),
    }
    unread, sent = [{"type": "http.request", "body": data, "more_body": False}], []

    async def receive() -> Any:
        return unread.pop() if unread else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    answer = b"".join(message.get("body", b"") for message in sent[1:])
    if sent[0]["status"] != 200:
        raise RuntimeError(answer.decode())
    return answer


def timed(n: int, calls: int) -> list[dict]:
    """Every case, in this process."""
    from mercer.lab import make_app

    app, found = make_app(), []
    with asyncio.Runner() as runner:
        for path, what, sample, keys, body in _cases(n):
            if sample is not None:
                points = json.loads(runner.run(_post(app, "/api/sample", sample)))
                body = body | {key: points[key] for key in keys}
            milliseconds = []
            for _ in range(_FIRST + calls):
                start = time.perf_counter()
                answer = runner.run(_post(app, f"/api/{path}", body))
                milliseconds.append(1e3 * (time.perf_counter() - start))
            late = milliseconds[_FIRST:]
            record = {"address": f"/api/{path}", "what": what, "kilobytes": round(len(answer) / 1e3)}
            found.append(record | {"median": statistics.median(late), "worst": max(late)})
    return found


def run(quick: bool, limits: dict):
    n, calls = (60, 2) if quick else (500, 20)
    setup = "from benchmarks.bench_lab import timed"
    done = measure(setup, f"found = timed({n}, {calls})", report="extra.update(found=found)")
    yield from done.extra["found"] if not done.failure else [{"address": done.failure}]
