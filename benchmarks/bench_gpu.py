"""Mercer on a GPU: products, exact and Nyström fits, scaling. Runs from a source tree, nothing installed.

    PYTHONPATH=src python -m benchmarks.bench_gpu --list
    PYTHONPATH=src python -m benchmarks.bench_gpu products exact --exact-n 1000000 --sigma 2 --lam 1e-7
    PYTHONPATH=src python -m benchmarks.bench_gpu --budget 500 --limit 120 --out results.jsonl
    PYTHONPATH=src python -m benchmarks.bench_gpu svm --data build/data --limit 400
    PYTHONPATH=src python -m benchmarks.bench_gpu dense --lam 1e-8 --limit 120

Jobs are chosen by the beginnings of their names. Every result is a line of JSON, written when it is known, so
a run that is killed keeps what it had. Jobs share a process, which spares starting CUDA each time; if one
takes it down, the next ones get a new process.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, fields
from pathlib import Path

from benchmarks.gpu_jobs import Options, jobs, reset
from benchmarks.table import count, header, line, number, seconds, text

TITLE = "GPU"
COLUMNS = (
    text("job", "job"),
    text("", "who"),
    count("n", "n"),
    count("centres", "m"),
    count("d", "d"),
    seconds(),
    number("trillion pairs/s", "rate", ".3g", 1e-12),
    number("error", "error", ".0e"),
    count("iterations", "iterations"),
    text("status", "status"),
    number("residual", "residual", ".0e"),
    number("test RMSE", "rmse", ".4f"),
    number("test log loss", "loss", ".4f"),
    number("test accuracy", "accuracy", ".4f"),
    count("support vectors", "support"),
    number("gap", "gap", ".0e"),
    number("GPU GB", "gpu_memory", ".1f", 1e-9),
)
RESULTS = Path(__file__).parent / "results" / "gpu.jsonl"


def main() -> None:
    options, o = _parse()
    names = [n for n in jobs(o) if not options.jobs or any(n.startswith(j) for j in options.jobs)]
    if options.list:
        print("\n".join(names))
        return
    if not names:
        sys.exit(f"no job begins with {' or '.join(options.jobs)}; --list names them")
    if options.worker:
        work(names, o, options)
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("")
    print(header(COLUMNS), flush=True)
    end = time.time() + options.budget
    while names:
        # The worker prints and writes; what it didn't get to, because something ended it, gets another one.
        arguments = [*_arguments(o), "--out", str(options.out), "--limit", str(options.limit)]
        command = [sys.executable, "-m", "benchmarks.bench_gpu", "--worker", "--until", str(end), *arguments]
        died = subprocess.run([*command, "--exactly", *names]).returncode
        done = {r["job"] for r in read(options.out)}
        names = [n for n in names if n not in done]
        if names:
            _keep(options.out, {"job": names.pop(0), "failure": f"took its process down (exit code {died})"})
    if options.plot:
        _plot(options.out, options.plot)


def _parse():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_gpu", description=__doc__.split("\n")[0]
    )
    parser.add_argument("jobs", nargs="*", metavar="job", help="beginnings of names; all without any")
    parser.add_argument("--list", action="store_true", help="name the jobs, run nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON lines")
    parser.add_argument("--plot", type=Path, help="the scaling curve, if matplotlib is installed")
    parser.add_argument("--limit", type=float, default=180, help="seconds a job may take")
    parser.add_argument("--budget", type=float, default=540, help="seconds after which no job is started")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=float("inf"), help=argparse.SUPPRESS)
    parser.add_argument("--exactly", nargs="+", default=[], help=argparse.SUPPRESS)
    for field in fields(Options):
        many = isinstance(field.default, tuple)
        kind = type(field.default[0] if many else field.default)
        flag = "--" + field.name.replace("_", "-")
        parser.add_argument(flag, type=kind, nargs="+" if many else None, default=field.default)
    options = parser.parse_args()
    given = {f.name: getattr(options, f.name) for f in fields(Options)}
    o = Options(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})
    return options, o


def _arguments(o: Options) -> list[str]:
    """The options as a command line."""
    found = []
    for key, value in asdict(o).items():
        values = value if isinstance(value, tuple) else (value,)
        found += ["--" + key.replace("_", "-"), *map(str, values)]
    return found


def work(names: list[str], o: Options, options) -> None:
    table = jobs(o)
    signal.signal(signal.SIGALRM, _too_long)
    for name in options.exactly or names:
        limit = min(options.limit, options.until - time.time())
        if limit < 1:
            _keep(options.out, {"job": name, "failure": "not started: the budget is spent"})
            continue
        # The alarm interrupts Python; if the job hangs below Python, the process ends half a minute later.
        signal.setitimer(signal.ITIMER_REAL, limit)
        faulthandler.dump_traceback_later(limit + 30, exit=True)
        try:
            reset(o)  # what an earlier job, or its failure, left on the GPU
            record = table[name]()
        except Exception as error:
            traceback.print_exc()
            record = {"failure": f"{type(error).__name__}: {error}"[:200]}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
        _keep(options.out, {"job": name, **record})


def _too_long(*_):
    raise TimeoutError("stopped at its time limit")


def _keep(path: Path, record: dict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()
        os.fsync(file.fileno())
    print(line(COLUMNS, record), flush=True)
    if record["job"] == "limits":
        print(f"  {record}", flush=True)


def read(path: Path) -> list[dict]:
    """The records; a last line cut short by a kill doesn't count."""
    found = []
    for row in path.read_text().splitlines():
        try:
            found.append(json.loads(row))
        except json.JSONDecodeError:
            continue
    return found


def figure(records: list[dict]):
    """Seconds against n: products, Nyström and exact fits."""
    from benchmarks.plots import COLOURS, MARKS, axes

    ax = axes()
    kinds = {"exact": "exact ridge", "scaling-product": "K V, m = n", "scaling-nystrom": "Nyström ridge"}
    # The easy problem of every size; the ill-conditioned one is another curve, of a single point.
    easy = [r for r in records if "seconds" in r and r.get("sigma") != 2.0]
    for i, (prefix, label) in enumerate(kinds.items()):
        points = sorted((r["n"], r["seconds"]) for r in easy if r["job"].startswith(prefix))
        if points:
            ax.plot(*zip(*points), color=COLOURS[i], marker=MARKS[i], label=label)
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="seconds")
    ax.legend(frameon=False)
    return ax.figure


def _plot(source: Path, target: Path) -> None:
    from benchmarks.plots import drawable, save

    if drawable():
        save(figure(read(source)), target)
    else:
        print("no figure: matplotlib isn't installed (python -m benchmarks.report draws it where it is)")


if __name__ == "__main__":
    main()
