"""A file to stream from, and machines for it; what `test_kill` runs in a process that it kills."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import numpy as np

from mercer import OnlineKernelClassifier, OnlineKernelRegressor
from mercer.kernels import Gaussian
from mercer.online import AtRandom, Merge, Oldest, Projection, krls
from mercer.representations import Features
from mercer.tables.stream import run_stream

ROWS = 2000

MACHINES = {
    "oldest": lambda: OnlineKernelRegressor(Gaussian(1.0), budget=Oldest(60), lam=1e-3, random_state=3),
    "projection": lambda: OnlineKernelRegressor(budget=Projection(60), random_state=3),
    "random": lambda: OnlineKernelClassifier(budget=AtRandom(60), random_state=3),
    "merge": lambda: OnlineKernelClassifier(loss="hinge", budget=Merge(60), offset=True, random_state=3),
    "features": lambda: OnlineKernelRegressor(representation=Features(n_features=40), random_state=3),
    "averaging": lambda: OnlineKernelClassifier(budget=Oldest(60), averaging=True, random_state=3),
    "recursive": lambda: krls(n_terms=40, forgetting=0.999, random_state=3),
}


def write_table(path: Path, rows: int = ROWS) -> Path:
    """Numbers with gaps, words, and a target of each kind; half-way everything changes."""
    rng = np.random.default_rng(0)
    X, city = rng.normal(3.0, 2.0, (rows, 3)), rng.choice(["Bonn", "Ulm", "Kiel"], rows)
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + (city == "Ulm") + 0.1 * rng.standard_normal(rows)
    y[rows // 2 :] *= -1
    label = np.where(y > y.mean(), "high", "low")
    label[(np.arange(rows) > rows // 3) & (X[:, 2] > 5)] = "other"
    with open(path, "w") as out:
        out.write("a,b,c,city,y,label\n")
        for i, (a, b, c) in enumerate(X):
            gap = "" if i % 17 == 0 else f"{b:.6f}"
            out.write(f"{a:.6f},{gap},{c:.6f},{city[i]},{y[i]:.6f},{label[i]}\n")
    return path


def stream(name: str, table: Path, folder: Path, **options):
    """Stream a table through one of the machines, with everything kept in a folder."""
    machine = MACHINES[name]()
    labels = isinstance(machine, OnlineKernelClassifier)
    return run_stream(
        machine,
        table,
        target="label" if labels else "y",
        ignore=["y"] if labels else ["label"],
        batch=32,
        every=150,
        window=200,
        checkpoint=folder / f"{name}.mercer",
        predictions=folder / f"{name}.csv",
        drift=True,
        on_drift="restart" if name == "projection" else "report",
        **options,
    )


def main(table: str, folder: str) -> None:
    """All of them side by side, each from where it was; they say on every batch where they are."""
    places = dict.fromkeys(MACHINES, 0.0)
    lock = threading.Lock()

    def tell(line: str) -> None:
        with lock:
            print(line, flush=True)

    def work(name: str) -> None:
        def say(state):
            places[name] = state.position
            tell(f"{name} {state.position}")
            time.sleep(0.002)
            for _ in range(10_000):
                if min(places.values()) + 96 >= state.position:  # nobody runs ahead
                    break
                time.sleep(0.001)

        try:
            stream(name, Path(table), Path(folder), resume=True, progress=say)
        finally:
            places[name] = np.inf
        tell(f"{name} done")

    threads = [threading.Thread(target=work, args=[name]) for name in MACHINES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
