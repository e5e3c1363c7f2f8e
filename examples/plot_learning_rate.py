"""
How fast risk falls
===================

The excess risk of kernel ridge regression is measured for samples of 64 to 1,024 examples, ten of each
size. On logarithmic axes the points lie on a line: risk falls as a power of n. Theory knows the power that
no method can beat, and within what ten samples can tell it is this one.

On a circle the eigenvalues of the kernel, i^(−b), and the smoothness r of the truth can be chosen, so the
best rate is known: n^(−2rb/(2rb+1)). It is attained with λ = n^(−b/(2rb+1)), where the bias, which grows
with λ, and the variance, which grows with the number of eigenvalues above λ over n, are of the same size. A
faster decay b means fewer directions to learn, hence a faster rate.
"""

import matplotlib.pyplot as plt

from mercer import KernelRidge, plot, theory

# %%
# Two decays of the eigenvalues.
fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True, layout="constrained")
for ax, (b, r) in zip(axes, ((2, 0.5), (4, 0.5)), strict=True):
    problem = theory.CircleProblem(b, r)

    def machine(n, problem=problem):
        return KernelRidge(problem.kernel, lam=problem.lam(n), offset=False)

    sizes = [64, 128, 256, 512, 1024]
    curve = theory.risk_curve(machine, problem.draw, sizes, risk=problem.excess, repetitions=10)
    plot.risk_curve(curve, ax, expected=problem.exponent, label=f"b = {b}, r = {r}")
    print(f"b = {b}, r = {r}: {curve.rate}, theory {problem.exponent:.2f}")
plt.show()
