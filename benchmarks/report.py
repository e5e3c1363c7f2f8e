"""Put the kept results into docs/performance.md, between its markers, and draw its figures.

python -m benchmarks.report [RESULTS-FOLDER]
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from benchmarks import bench_gpu, limits, plots, roofline
from benchmarks.__main__ import RESULTS, names
from benchmarks.table import header, line

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- tables: begin (python -m benchmarks.report) -->", "<!-- tables: end -->"
FIRST = ("products", "formulas", "exact_ridge", "nystrom", "logistic", "svm", "quantile", "lambda_path")


def main(folder: Path) -> None:
    parts = []
    for name in sorted(names(), key=lambda n: FIRST.index(n) if n in FIRST else len(FIRST)):
        source = folder / f"{name}.json"
        if source.exists():
            parts.append(section(name, json.loads(source.read_text())))
    if records := gpu_records(folder):
        parts.append(gpu_section(records))
    page = DOCS / "performance.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    body = "\n\n".join(parts) or "Nothing has been measured yet."
    page.write_text(f"{before}{BEGIN}\n\n{body}\n\n{END}{after}")
    print(f"{page}: {len(parts)} tables")


def section(name: str, result: dict) -> str:
    bench = importlib.import_module(f"benchmarks.bench_{name}")
    lines = [f"### {result['title']}", "", f"`python -m benchmarks {name}`: {run_line(result['run'])}", ""]
    if name == "products":
        lines += [limits.table(result["limits"]), "", pivot(result["records"]), ""]
        lines += draw(roofline.figure, result, "performance.svg", "Pairs a second against d, under the limit")
    lines += [header(bench.COLUMNS), *(line(bench.COLUMNS, r) for r in result["records"])]
    if note := getattr(bench, "NOTE", ""):
        lines += ["", note]
    return "\n".join(lines)


def run_line(run: dict) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in run["versions"].items())
    return f"{run['when']}, {run['processor']}, {run['threads']} threads, load {run['load']}; {versions}."


def pivot(records: list[dict]) -> str:
    """A row a peer, a column a case: billion pairs a second and the share of the limit."""
    cases = list(dict.fromkeys(r["case"] for r in records))
    found = {(r["who"], r["case"]): r for r in records}
    lines = [f"| billion pairs/s (of the limit) | {' | '.join(cases)} |", "|---|" + "---|" * len(cases)]
    limit = {r["case"]: r["limit"] for r in records}
    lines.append("| limit | " + " | ".join(f"{limit[c] / 1e9:.3g}" for c in cases) + " |")
    for who in dict.fromkeys(r["who"] for r in records):
        cells = []
        for case in cases:
            r = found.get((who, case), {})
            cells.append(f"{r['rate'] / 1e9:.3g} ({r['share']:.0%})" if "rate" in r else "–")
        lines.append(f"| {who} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gpu_records(folder: Path) -> list[dict]:
    """Of all files of GPU runs; a job measured again with the same settings replaces the earlier one."""
    settings = ("job", "n", "m", "d", "sigma", "lam", "tol")
    files = sorted(folder.glob("gpu*.jsonl"), key=lambda path: path.stat().st_mtime)
    records = [r for path in files for r in bench_gpu.read(path)]
    return list({tuple(r.get(key) for key in settings): r for r in records}.values())


def gpu_section(records: list[dict]) -> str:
    card = next((r["card"] for r in records if "card" in r), "GPU")
    command = "`PYTHONPATH=src python -m benchmarks.bench_gpu`, jobs named as in the first column."
    lines = [f"### {card}", "", command, ""]
    if ceilings := next((r for r in records if r["job"] == "limits" and "fp32_flops" in r), None):
        rates = [f"{k} {ceilings[f'{k}_flops'] / 1e12:.3g}" for k in ("fp32", "tf32", "bf16")]
        text = f"Matrix products, TFLOP/s: {', '.join(rates)}."
        if "exponentials" in ceilings:
            text += f" Exponentials, from the clock: {ceilings['exponentials'] / 1e12:.3g} trillion/s."
        lines += [text, ""]
    rows = [r for r in records if r["job"] != "limits"]
    if any(r["job"].startswith(("scaling", "exact")) and "seconds" in r for r in rows):
        lines += draw(bench_gpu.figure, rows, "performance-gpu.svg", "Seconds against n on the GPU")
    lines += [header(bench_gpu.COLUMNS), *(line(bench_gpu.COLUMNS, r) for r in rows)]
    return "\n".join(lines)


def draw(figure, data, name: str, title: str) -> list[str]:
    """The figure drawn, if that can be done here; the line of the page that shows it, if there is one."""
    if plots.drawable():
        plots.save(figure(data), DOCS / name)
    return [f"![{title}]({name})", ""] if (DOCS / name).exists() else []


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
