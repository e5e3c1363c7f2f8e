"""Run the comparison, write its tables, or take over results that a page already holds.

python -m benchmarks.accuracy [run] [--sets a,b] [--methods ours] [--rows N|all] [--minutes M] [--jobs J]
python -m benchmarks.accuracy known docs/accuracy.md [--store DIR]
python -m benchmarks.accuracy report [--rows N|all] [--store DIR]

What was stored is not run again without --force, so a run may be stopped and taken up at any time. Of peers a
result of any version will do; a result of Mercer is of this source, or of what --version says.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.accuracy import curves, known, ours, report, runner, sets, versions
from benchmarks.accuracy.results import Results
from benchmarks.accuracy.score import ERROR
from benchmarks.accuracy.store import RESULTS, Store

QUICK_ROWS, QUICK_MINUTES = 150, 0.1
WORDS = {"ours": [runner.OURS], "peers": [m for m in runner.METHODS if m != runner.OURS]}


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    name = "quick-accuracy" if options.quick else "accuracy"
    store = Store(options.store or RESULTS / name, runner.FIELDS)
    {"run": _run, "known": _known, "report": _report}[options.command](options, store)


def _run(options: argparse.Namespace, store: Store) -> None:
    names = sets.present(
        options.sets or (sets.QUICK if options.quick else [*sets.FORTY, *sets.GROUPS["large"]])
    )
    folds = options.folds if options.folds is not None else ([0] if options.quick else None)
    methods = options.methods or list(runner.METHODS)
    version = options.version
    if options.engine != "cpu":  # results of another engine stand beside those of the CPU
        methods, version = [runner.OURS], f"{version or versions.of(runner.OURS)}, {options.engine}"
    todo = runner.jobs(names, methods, folds, options.rows, options.minutes, version)
    wanted = len(todo)
    if not options.force:
        todo = runner.left(todo, store)
    print(f"{len(todo)} of {wanted} results to find; {store.file}", flush=True)
    how = runner.How(options.limit, options.jobs, options.threads, options.engine)
    for i, record in enumerate(runner.run(todo, store, how)):
        print(f"{i + 1}/{len(todo)} {_line(record)}", flush=True)


def _known(options: argparse.Namespace, store: Store) -> None:
    if options.page is None:
        raise SystemExit("known: which page? docs/accuracy.md")
    records, absent = known.records(options.page)
    there = store.read()
    new = [r for r in records if there.get(store.key(r)) != r]
    for record in new:
        store.add(record)
    for name in absent:
        print(f"{name} is skipped: no table of that name in the data folder")
    print(f"{len(records)} results of {options.page}, {len(new)} of them new; {store.file}")


def _report(options: argparse.Namespace, store: Store) -> None:
    results = Results(store, options.rows, options.minutes, options.version)
    text = report.markdown(results)
    target, points = store.folder / "report.md", store.folder / "rows.csv"
    if results.everything:
        target.write_text(text)
        points.write_text(curves.as_csv(curves.points(results)))
        print(f"written to {target} and {points}", file=sys.stderr)
    print(text)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__.split("\n")[0])
    parser.add_argument("command", nargs="?", choices=("run", "report", "known"), default="run")
    parser.add_argument("page", nargs="?", type=Path, help="known: the page whose tables are read")
    groups = ", ".join(sets.GROUPS)
    parser.add_argument("--sets", nargs="+", metavar="SET", help=f"{groups} or names; default: forty large")
    methods = f"ours, peers, or of {', '.join(runner.METHODS)}"
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help=methods)
    parser.add_argument("--folds", nargs="+", type=int, help="0–9; without: 0, 1, 2 of small tables, else 0")
    parser.add_argument(
        "--rows", type=_rows, metavar="N|all", help=f"for training; without: {sets.MAX_TRAIN}"
    )
    parser.add_argument("--minutes", type=float, help="Mercer's; default %(default)s", default=ours.MINUTES)
    parser.add_argument(
        "--engine", choices=("cpu", "cuda"), default="cpu", help="cuda: Mercer on a GPU, and no other method"
    )
    parser.add_argument("--version", help="a name for this state of Mercer; without: a digest of its source")
    parser.add_argument("--limit", type=float, default=900, help="seconds for a result (default %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=1, help="results found side by side (default %(default)s)"
    )
    parser.add_argument("--threads", type=int, default=1, help="of each of them (default %(default)s)")
    parser.add_argument("--store", type=Path, metavar="DIR", help=f"where results lie; without: {RESULTS}/…")
    parser.add_argument("--force", action="store_true", help="find again what is stored")
    parser.add_argument("--quick", action="store_true", help="four small tables, few rows: does it run?")
    options = parser.parse_args(arguments)
    options.sets = sets.chosen(parser, options.sets, sets.GROUPS, sets.SETS)
    options.methods = sets.chosen(parser, options.methods, WORDS, runner.METHODS)
    if options.rows is None:
        options.rows = QUICK_ROWS if options.quick else sets.MAX_TRAIN
    options.rows = options.rows or None  # 0: all
    if options.quick:
        options.minutes = min(options.minutes, QUICK_MINUTES)
    return options


def _rows(text: str) -> int:
    if text == "all":
        return 0
    rows = int(text)
    if rows < 1:
        raise argparse.ArgumentTypeError("a number of rows, or all")
    return rows


def _line(record: dict) -> str:
    head = f"{record['set']}/{record['fold']} {record['method']}, {record['rows']:,} rows: "
    if record["status"] != "ok":
        return f"{head}{record['status']}, {record['message']} ({record['seconds']} s)"
    key = ERROR[record["task"]]
    more = "".join(f", {k} {record[k]:.3g}" for k in ("r2", "logloss", "coverage", "width") if k in record)
    return (
        f"{head}{key} {record[key]:.4g} ± {record['se']:.2g}{more} ({record['seconds']} s) {record['chosen']}"
    )


if __name__ == "__main__":
    main()
