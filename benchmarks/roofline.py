"""Pairs a second against d: measured, and allowed by the machine. ``python -m benchmarks.roofline``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks import limits as machine
from benchmarks import peers
from benchmarks.plots import COLOURS, MARKS, axes, save

ROOT = Path(__file__).parent


def figure(result: dict):
    """From the result of bench_products, limits included."""
    ax = axes()
    records = [r for r in result["records"] if "rate" in r]
    limits = result["limits"]
    low, high = min(r["d"] for r in records), max(r["d"] for r in records)
    ds = [low * (high / low) ** (i / 200) for i in range(201)]
    ax.plot(
        ds, [machine.pairs(limits, d) / 1e9 for d in ds], "k-", linewidth=1.2, label="limit of the machine"
    )
    flops, exps = limits["sgemm"]["best"], limits["exp"]["best"]
    ax.axhline(exps / 1e9, color="0.6", linewidth=0.8, linestyle=":")
    ax.plot(ds, [flops / (2 * d) / 1e9 for d in ds], color="0.6", linewidth=0.8, linestyle=":")
    ax.text(high, exps / 1e9, "exponentials ", ha="right", va="bottom", fontsize=8, color="0.4")
    # Beside the upper end of its line, where no points can be.
    ax.text(flops / (3 * exps), 1.5 * exps / 1e9, " multiply-adds", ha="left", fontsize=8, color="0.4")
    for i, key in enumerate(peers.with_objective("product")):
        points = sorted((r["d"], r["rate"] / 1e9) for r in records if r["key"] == key)
        if not points:
            continue
        style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKS[i % len(MARKS)]}
        style |= {"linewidth": 2.0, "zorder": 3} if key == "ours" else {"linewidth": 0.8}
        ax.plot(*zip(*points), **style, label=peers.load(key).name)
    ax.set(xscale="log", yscale="log", xlabel="d, coordinates a point", ylabel="billion pairs a second")
    ax.set_ylim(top=2 * exps / 1e9)
    ticks = sorted({r["d"] for r in records})
    ax.set_xticks(ticks, [str(d) for d in ticks])
    ax.minorticks_off()
    ax.legend(fontsize=8, frameon=False)
    return ax.figure


def main(arguments: list[str]) -> None:
    source = Path(arguments[0]) if arguments else ROOT / "results" / "products.json"
    target = Path(arguments[1]) if len(arguments) > 1 else ROOT.parent / "docs" / "performance.svg"
    save(figure(json.loads(source.read_text())), target)
    print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
