"""Writes the files of this folder: `python tests/io/golden/write.py` with the mercer whose format they keep.

They were written once, by the first mercer that had their format. They are not written again: that later
versions load them is what they are for. A new format gets files of its own beside them.
"""

import json
from pathlib import Path

import numpy as np

import mercer
from mercer.io import save
from mercer.io.migrations import VERSION
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.representations import Features

HERE = Path(__file__).parent


def machines():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((16, 2)).round(3)
    y = (X[:, 0] * X[:, 1] + X[:, 0]).round(3)
    words = np.array(["low", "middle", "high"])[np.digitize(y, [-0.4, 0.4])]
    expression = Gaussian(1.5) + 0.2 * Linear().on([1]) * Gaussian(2.0).scaled([1.0, 3.0])
    return X, {
        "ridge": mercer.KernelRidge(expression, lam=0.01, offset=True).fit(X, y),
        "monomials": mercer.KernelLogistic(Polynomial(2), lam=0.1, representation=Features()).fit(X, y > 0),
        "margins": mercer.KernelSVC(Gaussian(1.0), lam=0.05, probability=True).fit(X, words),
    }


def write_table():
    """A model of a table with words, dates and gaps; written when `mercer.fit` was new."""
    rng = np.random.default_rng(2)
    n = 30
    size = rng.uniform(20, 120, n).round(1)
    rows = [
        {
            "size": None if i == 3 else float(size[i]),
            "city": ("Bonn", "Ulm", "Kiel")[i % 3],
            "built": f"{1990 + i}-05-01",
        }
        for i in range(n)
    ]
    model = mercer.fit(rows, (3 * size + 20 * (np.arange(n) % 3)).round(), target="price", minutes=0.01)
    save(model, HERE / f"format{VERSION}-table.mercer")
    answers = {
        "X": rows[:6],
        "repr": repr(model),
        "predict": model.predict(rows[:6]).tolist(),
        "predict_interval": model.predict_interval(rows[:6], 0.8).tolist(),
    }
    (HERE / f"format{VERSION}-table.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    write_table()
    X, fitted = machines()
    X = np.vstack([X, [[3.0, -2.0]]])
    for name, machine in fitted.items():
        save(machine, HERE / f"format{VERSION}-{name}.mercer")
        answers = {"X": X.tolist(), "repr": repr(machine), "predict": machine.predict(X).tolist()}
        if hasattr(machine, "predict_proba"):
            answers["predict_proba"] = machine.predict_proba(X).tolist()
        (HERE / f"format{VERSION}-{name}.json").write_text(json.dumps(answers, indent=1) + "\n")
