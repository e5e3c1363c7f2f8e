"""Does ``mercer.fit`` end when it was told to? Forty tables and wide ones made from a seed, one process each.

python -m benchmarks.on_time --minutes 0.5 [--threads 1] [--sets forty,wide] [--through fit|command]

What counts is the wall time of the whole call (of the whole command, for CSV files), compiling included. It
is allowed 1.2 times the minutes and ten seconds. A process has as many cores as threads. What was measured
with this source, or under the name that --version says, is not measured again without --force.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy import sets, threads, versions
from benchmarks.accuracy.store import RESULTS, Store

FIELDS = ("set", "minutes", "threads", "through", "version")
SHARE, GRACE = 1.2, 10.0  # the budget: so many times the minutes, and so many seconds
PATIENCE = 4.0  # budgets after which a process is ended
MARK = "@@"


@dataclass(frozen=True)
class Wide:
    """A table made from a seed; no classes: numbers are asked for."""

    rows: int
    columns: int
    classes: int = 0

    @property
    def name(self) -> str:
        return f"wide-{self.rows}x{self.columns}" + (f"-{self.classes}" if self.classes else "")

    @property
    def task(self) -> str:
        return "classification" if self.classes else "regression"

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers: a smooth function of five columns, and noise. Classes: clouds that overlap a little."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.rows, self.columns))
        if not self.classes:
            f = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.tanh(X[:, 3] + X[:, 4])
            return X, f + 0.3 * rng.standard_normal(self.rows)
        y = rng.permutation(np.arange(self.rows) % self.classes)
        centres = rng.standard_normal((self.classes, self.columns))
        return X + 3 / self.columns**0.5 * centres[y], y


_SHAPES = ((100, 3_000), (1_600, 64), (5_680, 276), (969, 100), (3_000, 5_000))
WIDE = {
    wide.name: wide
    for wide in (
        *(Wide(n, d, classes) for n, d in _SHAPES for classes in (0, 2)),
        Wide(6_000, 784, 10),
        Wide(4_000, 30, 100),
    )
}
GROUPS = {**sets.GROUPS, "wide": tuple(WIDE)}


@dataclass(frozen=True)
class Call:
    set: str
    minutes: float
    threads: int
    through: str
    version: str

    @property
    def budget(self) -> float:
        return budget(self.minutes)


def budget(minutes: float) -> float:
    """Seconds that a fit of so many minutes may take."""
    return SHARE * 60 * minutes + GRACE


def task(name: str) -> str:
    return WIDE[name].task if name in WIDE else sets.SETS[name].task


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in WIDE:
        return WIDE[name].load()
    split = sets.load(name)
    return split.X, split.y


def measured(calls: list[Call], store: Store) -> Iterator[dict]:
    """Records as they are found, each stored before it is handed out."""
    for call in calls:
        record = {**vars(call), "task": task(call.set), "budget": call.budget, **_alone(call)}
        if "seconds" in record:
            record["over"] = round(record["seconds"] - call.budget, 2)
        record["when"] = time.strftime("%Y-%m-%d %H:%M:%S")
        store.add(record)
        yield record


def _alone(call: Call) -> dict:
    """One call in a process of its own, on as many cores as it has threads."""
    environment = os.environ | dict.fromkeys(threads.VARIABLES, str(call.threads))
    cores = set(sorted(os.sched_getaffinity(0))[-call.threads :])
    X, y = load(call.set)
    size = {"n": len(y), "d": X.shape[1]}
    with tempfile.TemporaryDirectory() as folder:
        command = _csv(call, X, y, Path(folder)) if call.through == "command" else _fit(call)
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        try:
            out, problem = process.communicate(timeout=limit(call))
        except subprocess.TimeoutExpired:
            return {**size, "status": "stopped", "seconds": round(limit(call), 2)}
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        seconds = time.perf_counter() - start
    if process.returncode:
        last = (problem.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        return {**size, "status": "error", "message": last[:300]}
    if call.through == "fit":
        seconds = float(out.rpartition(MARK)[2])
    return {**size, "status": "ok", "seconds": round(seconds, 2)}


def limit(call: Call) -> float:
    """Seconds after which a process is ended; reading and importing take their time, too."""
    return PATIENCE * call.budget + 60


def _fit(call: Call) -> list[str]:
    return [sys.executable, "-m", "benchmarks.on_time", "--alone", json.dumps(vars(call))]


def _csv(call: Call, X: np.ndarray, y: np.ndarray, folder: Path) -> list[str]:
    """The table as a file, and the command that fits it."""
    names = [*(f"x{j}" for j in range(X.shape[1])), "y"]
    file = folder / "table.csv"
    # Seventeen digits would make a file of a hundred megabytes of some tables, and change nothing.
    np.savetxt(file, np.column_stack([X, y]), fmt="%.7g", delimiter=",", header=",".join(names), comments="")
    command = [sys.executable, "-m", "mercer", "fit", str(file), "--target", "y", "--task", task(call.set)]
    command += ["--minutes", str(call.minutes), "--output", str(folder / "table.mercer"), "--no-report"]
    return [*command, "--quiet"]


def alone(call: Call) -> float:
    """Seconds of the call, in the process that makes it: the table is there, and everything is imported."""
    import warnings

    import mercer

    warnings.simplefilter("ignore")
    X, y = load(call.set)
    start = time.perf_counter()
    mercer.fit(X, y, task=task(call.set), minutes=call.minutes, random_state=0)
    return time.perf_counter() - start


def line(record: dict) -> str:
    size = f"{record['n']:,} × {record['d']:,}"
    head = f"{record['set']:24} {record['task']:14} {size:>14}  "
    if record["status"] == "error":
        return f"{head}failed: {record['message']}"
    seconds = f"{'more than ' if record['status'] == 'stopped' else ''}{record['seconds']:.1f} s"
    verdict = f"OVER by {record['over']:.1f} s" if record["over"] > 0 else "in time"
    return f"{head}{seconds} of {record['budget']:.0f}: {verdict}"


def summary(records: list[dict]) -> str:
    """How many were over, and which, the worst first; failures are named as well."""
    timed = [r for r in records if "over" in r]
    over = sorted((r for r in timed if r["over"] > 0), key=lambda r: -r["over"])
    lines = [f"{len(over)} of {len(timed)} calls over their budget"]
    lines += [f"  {r['set']}: {r['seconds'] / r['budget']:.2f} budgets, {r['over']:+.1f} s" for r in over]
    if timed and not over:
        last = max(timed, key=lambda r: r["over"])
        lines[0] += f"; the slowest took {last['seconds'] / last['budget']:.2f} of it ({last['set']})"
    if failed := [r["set"] for r in records if r["status"] == "error"]:
        lines.append(f"failed: {', '.join(failed)}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    if options.alone:
        print(f"\n{MARK}{alone(Call(**json.loads(options.alone)))}")
        return
    store = Store(options.store, FIELDS)
    version = options.version or versions.of("mercer")
    calls = [
        Call(name, options.minutes, options.threads, options.through, version)
        for name in sets.present(options.sets)
    ]
    there = {} if options.force else store.read()
    done = [r for call in calls if (r := there.get(store.key(vars(call)))) and r["status"] != "error"]
    keys = {store.key(r) for r in done}
    todo = [call for call in calls if store.key(vars(call)) not in keys]
    print(f"{len(todo)} of {len(calls)} calls to make; {store.file}", flush=True)
    for record in done:
        print(line(record))
    for record in measured(todo, store):
        done.append(record)
        print(line(record), flush=True)
    print(summary(done))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.on_time", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--minutes", type=float, default=0.5, help="that a fit is given (default %(default)s)"
    )
    parser.add_argument("--threads", type=int, default=1, help="and cores (default %(default)s)")
    parser.add_argument("--sets", nargs="+", default=["forty", "wide"], help=f"{', '.join(GROUPS)} or names")
    parser.add_argument("--through", choices=("fit", "command"), default="fit", help="command: CSV files")
    parser.add_argument("--store", type=Path, metavar="DIR", default=RESULTS / "on-time")
    parser.add_argument("--version", help="a name for this state of Mercer; without: a digest of its source")
    parser.add_argument("--force", action="store_true", help="measure again what is stored")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.sets = sets.chosen(parser, options.sets, GROUPS, [*sets.SETS, *WIDE])
    return options


if __name__ == "__main__":
    main()
