"""Risk against the number of examples, and the power of n it falls with.

On a circle the eigenvalues of the kernel (i^−b) and the smoothness of the truth (r) can be chosen, so the
best possible rate n^−2rb/(2rb+1) is known. Kernel ridge regression with λ = n^−b/(2rb+1) attains it.
"""

import argparse

from matplotlib.figure import Figure

from mercer import KernelRidge, plot, theory


def main(output):
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    for ax, (b, r) in zip(figure.subplots(1, 2), ((2, 0.5), (4, 0.5)), strict=True):
        problem = theory.CircleProblem(b, r)

        def machine(n, problem=problem):
            return KernelRidge(problem.kernel, lam=problem.lam(n), offset=False)

        curve = theory.risk_curve(
            machine, problem.draw, [64, 128, 256, 512, 1024], risk=problem.excess, repetitions=10
        )
        plot.risk_curve(curve, ax, expected=problem.exponent, label=f"b = {b}, r = {r}")
        print(f"b = {b}, r = {r}: {curve.rate}, theory {problem.exponent:.2f}")
    figure.savefig(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="learning_rate.svg", help="where to save the figure")
    main(parser.parse_args().output)
