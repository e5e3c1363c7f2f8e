"""Regret on three streams: how much more an online machine loses than the best fixed function in hindsight.

A noisy sine with steps η/√t; two classes with steps 1/(2λt), where regret grows as log T; and an adversary,
who always names the other class than the machine does, with the step U/√n that is best against functions of
norm U. Even there the bound holds, and at the end it is U√n: what can't be learned costs every function.
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

from mercer import OnlineKernelClassifier, OnlineKernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.online import InverseRootStep, PegasosStep, regret


def sine(n, rng):
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)


def chequers(n, rng):
    X = rng.uniform(-2, 2, (n, 2))
    y = np.floor(X).sum(axis=1) % 2 == 0
    return X, y ^ (rng.uniform(size=n) < 0.05)


def adversary(machine, n, rng):
    X, y = rng.uniform(-3, 3, (n, 1)), []
    machine = machine.clone()
    for i, x in enumerate(X):
        y.append(not machine.predict_one({"x": x[0]}) if i else True)
        machine.learn_one({"x": x[0]}, y[-1])
    return X, np.array(y)


def main(output):
    rng, n = np.random.default_rng(0), 1000
    line = OnlineKernelRegressor(Gaussian(0.5), lam=1e-3, step=InverseRootStep(0.4), budget=None)
    plane = OnlineKernelClassifier(Gaussian(0.5), "hinge", lam=0.01, step=PegasosStep(), budget=None)
    radius = 3.0
    fooled = OnlineKernelClassifier(Gaussian(0.3), "hinge", lam=0.0, step=radius / n**0.5, budget=None)
    streams = {
        "a noisy sine: squared loss, η/√t": (line, *sine(n, rng), None),
        "chequers: hinge loss, 1/(2λt)": (plane, *chequers(n, rng), None),
        "an adversary: hinge loss, U/√n": (fooled, *adversary(fooled, n, rng), radius),
    }
    figure = Figure(figsize=(14, 4), layout="constrained")
    for ax, (name, (machine, X, y, U)) in zip(figure.subplots(1, 3), streams.items(), strict=True):
        found = regret(machine, X, y, radius=U)
        print(name, found, sep="\n", end="\n\n")
        plot.regret_curve(found, ax)
        ax.set_title(name, fontsize=10)
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="regret.svg", help="where to save the figure")
    main(parser.parse_args().output)
