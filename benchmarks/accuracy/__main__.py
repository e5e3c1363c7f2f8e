"""Run the comparison, or write its tables.

python -m benchmarks.accuracy [run] [--sets …] [--methods …] [--folds …] [--limit S] [--force] [--quick]
python -m benchmarks.accuracy report [--quick]

What was stored is not run again without --force, so a run may be stopped and taken up at any time.
"""

from __future__ import annotations

import argparse
import functools
import sys

from benchmarks import real
from benchmarks.accuracy import ours, report, runner, sets
from benchmarks.accuracy.score import ERROR
from benchmarks.accuracy.store import Store

QUICK_ROWS, QUICK_MINUTES = 150, 0.1


def main() -> None:
    options = _options()
    store = Store("quick-accuracy" if options.quick else "accuracy")
    if options.command == "report":
        text = report.markdown(store)
        target = store.file.with_suffix(".md")
        target.write_text(text)
        print(text)
        print(f"written to {target}", file=sys.stderr)
        return
    names = _present(options.sets or (sets.QUICK if options.quick else list(sets.SETS)))
    if options.quick:
        runner.METHODS["mercer"] = functools.partial(ours.mercer, minutes=QUICK_MINUTES)
    folds = options.folds if options.folds is not None else ([0] if options.quick else None)
    wanted = runner.jobs(names, options.methods or runner.METHODS, folds)
    done = {} if options.force else store.read()
    # A peer that isn't installed, or a method that failed, deserves another try.
    todo = [job for job in wanted if done.get(job.key, {}).get("status") not in ("ok", "timeout", "skipped")]
    print(f"{len(todo)} of {len(wanted)} results to find; {store.file}", flush=True)
    rows = QUICK_ROWS if options.quick else sets.MAX_TRAIN
    for i, record in enumerate(runner.run(todo, store, options.limit, rows)):
        print(f"{i + 1}/{len(todo)} {_line(record)}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__.split("\n")[0])
    parser.add_argument("command", nargs="?", choices=("run", "report"), default="run")
    parser.add_argument("--sets", nargs="+", metavar="SET", choices=list(sets.SETS), help="of: %(choices)s")
    methods = list(runner.METHODS)
    parser.add_argument("--methods", nargs="+", metavar="METHOD", choices=methods, help="of: %(choices)s")
    parser.add_argument("--folds", nargs="+", type=int, help="0–9; without: 0, 1, 2 of small tables, else 0")
    parser.add_argument("--limit", type=float, default=900, help="seconds for a result (default %(default)s)")
    parser.add_argument("--force", action="store_true", help="find again what is stored")
    parser.add_argument("--quick", action="store_true", help="four small tables, few rows: does it run?")
    return parser.parse_args()


def _present(names: list[str] | tuple[str, ...]) -> list[str]:
    absent = set(sets.missing()) & set(names)
    if len(absent) == len(names):
        raise SystemExit(f"no data in {real.folder()}: set MERCER_DATA to the folder that has them")
    for name in sorted(absent):
        print(f"{name} is skipped: no {sets.SETS[name].file} in the data folder")
    return [name for name in names if name not in absent]


def _line(record: dict) -> str:
    head = f"{record['set']}/{record['fold']} {record['method']}: "
    if record["status"] != "ok":
        return f"{head}{record['status']}, {record['message']} ({record['seconds']} s)"
    key = ERROR[record["task"]]
    more = "".join(f", {k} {record[k]:.3g}" for k in ("r2", "logloss", "coverage", "width") if k in record)
    return f"{head}{key} {record[key]:.4g}{more} ({record['seconds']} s) {record['chosen']}"


if __name__ == "__main__":
    main()
