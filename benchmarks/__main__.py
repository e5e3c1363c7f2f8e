"""Run the benchmarks (all, or those whose names are given), print their tables, keep their numbers.

python -m benchmarks [names…] [--quick] [--json FILE] [--plot FILE]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import time
from pathlib import Path

import benchmarks
from benchmarks import limits, plots
from benchmarks.table import header, line

RESULTS = Path(__file__).parent / "results"


def names() -> list[str]:
    """All benchmarks for this machine; that of the GPU has a command of its own."""
    found = (m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_"))
    return sorted(name.removeprefix("bench_") for name in found if name != "bench_gpu")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Mercer against its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of: {', '.join(names())}; all without any")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--json", type=Path, help="all results of this run in one file, too")
    parser.add_argument("--plot", type=Path, help="where the figure goes (one benchmark with a figure named)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names()):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(names())}")

    machine = limits.measure_all(options.quick)
    print(limits.table(machine), flush=True)
    results = {}
    for name in options.names or names():
        results[name] = run(name, options.quick, machine)
        # Quick runs show that things run; their numbers mean nothing and must not replace others.
        stem = RESULTS / (f"quick-{name}" if options.quick else name)
        RESULTS.mkdir(exist_ok=True)
        write(stem.with_suffix(".json"), results[name])
        draw(name, results[name], options.plot or stem.with_suffix(".svg"))
    if options.json:
        write(options.json, results)


def run(name: str, quick: bool, machine: dict) -> dict:
    bench = importlib.import_module(f"benchmarks.bench_{name}")
    print(f"\n## {bench.TITLE}\n\n{header(bench.COLUMNS)}", flush=True)
    records = []
    for record in bench.run(quick, machine):
        print(line(bench.COLUMNS, record), flush=True)
        records.append(record)
    if note := getattr(bench, "NOTE", ""):
        print(f"\n{note}")
    return {"title": bench.TITLE, "quick": quick, "run": this_run(), "limits": machine, "records": records}


def this_run() -> dict:
    """What one would ask about a table: when, on what, with which versions."""
    import numpy
    import sklearn

    import mercer
    from mercer._threads import cpu_count

    return {
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "processor": _processor(),
        "threads": cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": {
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "scikit-learn": sklearn.__version__,
            "mercer": mercer.__version__,
        },
    }


def _processor() -> str:
    try:
        for row in Path("/proc/cpuinfo").read_text().splitlines():
            if row.startswith("model name"):
                return row.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def draw(name: str, result: dict, path: Path) -> None:
    bench = importlib.import_module(f"benchmarks.bench_{name}")
    if not hasattr(bench, "plot"):
        return
    if not plots.drawable():
        print("\nno figure: matplotlib isn't installed (python -m benchmarks.report draws it where it is)")
        return
    plots.save(bench.plot(result), path)
    print(f"\nfigure: {path}")


def write(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
