"""
Regret
======

How much more does an online machine lose than the best fixed function in hindsight? Three streams: a noisy
sine with steps η/√t; a chequerboard with steps 1/(2λt), where regret grows as log T; and an adversary, who
always names the other class than the machine does, with the step U/√n that is best against functions of
norm U. Even there the bound holds.

Regret is Σ_t L_t(f_t) − min_f Σ_t L_t(f). For convex losses and steps η, L_t(f_t) − L_t(f) ≤ ⟨∇_t, f_t −
f⟩, and summing ‖f_{t+1} − f‖² = ‖f_t − f‖² − 2η⟨∇_t, f_t − f⟩ + η²‖∇_t‖² bounds it by ‖f‖²/(2η) + (η/2) Σ_t
‖∇_t‖²; with the best η this is ‖∇‖·‖f‖·√T. Divided by T it vanishes: on average one loses no more than the
best function does.

"Discussion" of the online kernel machine in [004].
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import OnlineKernelClassifier, OnlineKernelRegressor, plot
from mercer.kernels import Gaussian
from mercer.online import InverseRootStep, PegasosStep, regret

rng, n = np.random.default_rng(0), 1000


def sine(n):
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)


def chequers(n):
    X = rng.uniform(-2, 2, (n, 2))
    y = np.floor(X).sum(axis=1) % 2 == 0
    return X, y ^ (rng.uniform(size=n) < 0.05)


def adversary(machine, n):
    X, y = rng.uniform(-3, 3, (n, 1)), []
    machine = machine.clone()
    for i, x in enumerate(X):
        y.append(not machine.predict_one({"x": x[0]}) if i else True)
        machine.learn_one({"x": x[0]}, y[-1])
    return X, np.array(y)


# %%
# Each machine has the step that its bound is proved for.
radius = 3.0
line = OnlineKernelRegressor(Gaussian(0.5), lam=1e-3, step=InverseRootStep(0.4), budget=None)
plane = OnlineKernelClassifier(Gaussian(0.5), "hinge", lam=0.01, step=PegasosStep(), budget=None)
fooled = OnlineKernelClassifier(Gaussian(0.3), "hinge", lam=0.0, step=radius / n**0.5, budget=None)
streams = {
    "noisy sine: squared loss, η/√t": (line, *sine(n), None),
    "chequers: hinge loss, 1/(2λt)": (plane, *chequers(n), None),
    "adversary: hinge loss, U/√n": (fooled, *adversary(fooled, n), radius),
}

# %%
# On logarithmic axes √T is a line of slope ½.
fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (name, (machine, X, y, U)) in zip(axes, streams.items(), strict=True):
    found = regret(machine, X, y, radius=U)
    print(name, found, sep="\n", end="\n\n")
    plot.regret_curve(found, ax)
    ax.legend(frameon=False, labelcolor=plot.INK, fontsize=9, loc="lower right")
    ax.set_title(name, fontsize=10)
plt.show()
