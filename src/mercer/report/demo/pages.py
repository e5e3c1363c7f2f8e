"""The sections of the page."""

from __future__ import annotations

import numpy as np

from mercer import plot
from mercer.estimators.base import KernelMachine
from mercer.kernels import Gaussian, Linear, check
from mercer.plot.style import number
from mercer.report.demo import classification, regression
from mercer.report.demo.scores import Score
from mercer.report.page import Report

_SHEET = 12


def results(page: Report, regressions: list[Score], classifications: list[Score]) -> None:
    """The tables everything else explains."""
    page.section("Results")
    splits = max(len(s.score) for s in regressions)
    _table(
        page,
        [s for s in regressions if s.data == "diabetes"],
        ("test R²", "test RMSE"),
        3,
        f"Regression: diabetes. Mean ± standard deviation over {splits} random splits. R²: larger is better; "
        "RMSE: smaller is better. Seconds: tuning and fitting, for one split.",
    )
    _table(
        page,
        [s for s in regressions if s.data != "diabetes"],
        ("test R²", "test RMSE"),
        3,
        "Regression: a noisy curve.",
    )
    _table(
        page,
        classifications,
        ("test accuracy", "test log loss"),
        4,
        "Classification: digits. Accuracy: larger is better; log loss, which judges probabilities: "
        "smaller is better. A support vector machine has no probabilities. One split: a difference of a few "
        "images is chance, and with other seeds either kernel model comes out ahead.",
    )


def _table(page: Report, scores: list[Score], names: tuple[str, str], figures: int, caption: str) -> None:
    page.table(
        ("model", *names, "seconds", "tuned by"),
        [(s.model, *s.cells(figures), s.tuning) for s in scores],
        caption,
        strong=[i for i, s in enumerate(scores) if s.ours],
    )


def diabetes(page: Report, found: regression.Regression) -> None:
    page.section("Regression: diabetes")
    page.text(
        f"{len(found.y) + len(found.y_test)} patients with ten measurements each, standardised; the target "
        "is how far the disease has progressed a year later. Kernel ridge regression minimises (1/n) Σ "
        "(y_i − f(x_i) − b)² + λ‖f‖². For each width σ of a Gaussian kernel, one eigendecomposition gives "
        "the exact leave-one-out error for every λ at once; the lowest point of all curves is taken."
    )
    page.figures([_paths(found), _predictions(found)])
    page.text(_chosen(found.machine))


def curve(page: Report, found: regression.Regression) -> None:
    page.section("Regression: a noisy curve")
    page.text(
        f"{len(found.y)} points on a known curve, with noise of standard deviation 0.3: no model's test "
        "RMSE can be expected below that. A straight line has no chance; a Gaussian kernel of the right "
        "width finds the curve."
    )
    ax = plot.regression_1d(found.machine, found.X, found.y, plot.axes(), truth=regression.truth)
    page.figures([(ax, "Examples, the curve they came from, and the fitted function."), _paths(found)])
    page.text(_chosen(found.machine))


def digits(page: Report, found: classification.Classification, plane: classification.Plane) -> None:
    page.section("Classification: digits")
    page.text(
        f"Images of 8×8 pixels in ten classes: {found.examples} to learn from, {len(found.y_test)} to be "
        f"judged by, so that one image is {1 / len(found.y_test):.1%} of accuracy. Kernel logistic "
        "regression fits one function a class and gives probabilities. Width and λ were chosen by log "
        "loss on a quarter of the training set, then the machine was fitted to all of it."
    )
    predicted = found.machine.predict(found.X_test)
    sheet, caption = _unsure(found)
    page.figures(
        [
            (
                plot.confusion(found.y_test, predicted, plot.axes(4.8, 4.4)),
                "True digit against predicted digit, on the test set. The shade is the share of the true "
                "digit, its square root taken so that single mistakes show.",
            ),
            (sheet, caption),
        ]
    )
    page.text(_chosen(found.machine))
    ax = plot.decision_regions(plane.machine, plane.X, plane.y, plot.axes(5.2, 3.9))
    ax.set_xlabel("first principal component")
    ax.set_ylabel("second principal component")
    page.figures(
        [
            (
                ax,
                "Zeros, fours and sevens on their first two principal components. The colour is as strong "
                "as the machine is sure; lines are where two digits are equally probable.",
            ),
            (
                plot.convergence(found.machine.solution_, plot.axes(5.2, 3.9)),
                "Newton's method on the ten classes: norm of the gradient in the Hilbert space, "
                "relative to where it started.",
            ),
        ]
    )


def certificates(page: Report, machines: list[tuple[str, KernelMachine]]) -> None:
    page.section("Certificates")
    page.text(
        "A machine says how close to the minimum of its objective it is, measured after the fact. The "
        "objective is strongly convex, so the norm of its gradient bounds the gap, how far above the "
        "minimum it can be (with an unpenalised offset b that bound does not hold, and none is given)."
    )
    rows = []
    for name, machine in machines:
        s, c = machine.solution_, machine.solution_.certificate
        rows.append(
            (
                name,
                s.solver,
                s.status,
                s.iterations,
                number(c.objective),
                number(c.relative_gradient),
                "—" if c.gap is None else number(c.gap),
                "—" if c.condition is None else number(c.condition),
            )
        )
    header = (
        "machine",
        "solver",
        "status",
        "iterations",
        "objective",
        "relative gradient",
        "gap ≤",
        "condition",
    )
    page.table(header, rows)
    page.text("And what was chosen for each, why, and what it was expected to take:")
    page.code("\n\n".join(f"{name}\n{machine.plan_}" for name, machine in machines))


def is_it_a_kernel(page: Report) -> None:
    page.section("Is it a kernel?")
    page.text(
        "A kernel must be symmetric and positive semidefinite: Σ c_i c_j k(x_i, x_j) ≥ 0 for all points "
        "and all c. The squared distance ‖x−z‖² looks like one and is not. The check answers with points "
        "and coefficients that anyone can verify by hand:"
    )

    def squared_distance(x, z):
        return float(np.sum((x - z) ** 2))

    verdict = check(squared_distance)
    page.code(f">>> mercer.kernels.check(lambda x, z: ((x - z)**2).sum())\n{verdict}")
    terms = list(zip(np.asarray(verdict.c), verdict.points, strict=True))
    total = sum(a * b * squared_distance(x, z) for a, x in terms for b, z in terms)
    page.text(f"Recomputed from the points above, term by term, the sum is {total:.6g}.")
    page.text("Where a rule applies, it is named:")
    page.code(
        f">>> mercer.kernels.check(Gaussian(1.0) + 2 * Linear())\n{check(Gaussian(1.0) + 2 * Linear())}"
    )


def reproduce(page: Report, command: str, facts: list[tuple[str, str]]) -> None:
    page.section("How to reproduce this")
    page.code(f"pip install 'mercer[plot,cli]'\n{command}")
    page.text("The same in Python, for a table of your own:")
    page.code(
        "from mercer import KernelRidge\n"
        "from mercer.selection import path\n\n"
        "p = path(KernelRidge(offset=True), X, y)\n"
        "machine = KernelRidge(lam=p.best_lam, offset=True).fit(X, y)\n"
        "print(machine.solution_)\n"
        "print(machine.plan_)"
    )
    page.facts(facts)


def _paths(found: regression.Regression):
    ax = plot.axes()
    for (sigma, path), colour in zip(found.paths.items(), plot.COLOURS, strict=False):
        plot.lam_path(path, ax, label=f"σ = {sigma:g}", colour=colour)
    # Above the error of the largest λ, which predicts the mean, nothing is worth seeing.
    lowest = min(p.loo_mse.min() for p in found.paths.values())
    highest = max(p.loo_mse[np.argmax(p.lams)] for p in found.paths.values())
    ax.set_ylim(lowest - 0.05 * (highest - lowest), highest + 0.05 * (highest - lowest))
    return ax, "Leave-one-out error against λ, one curve a kernel width, the minimum of each marked."


def _predictions(found: regression.Regression):
    ax = plot.predicted_vs_true(found.y_test, found.machine.predict(found.X_test), plot.axes())
    return ax, "Predictions on the test set of the first split; on the dashed line they would be right."


def _unsure(found: classification.Classification):
    """Test images to which the machine gave the right answer the least probability."""
    P = found.machine.predict_proba(found.X_test)
    column = np.searchsorted(found.machine.classes_, found.y_test)
    hardest = np.argsort(P[np.arange(len(P)), column], kind="stable")[:_SHEET]
    guesses = P[hardest].argmax(axis=1)
    captions = [
        f"{found.y_test[i]} → {found.machine.classes_[g]} ({P[i, g]:.0%})"
        for i, g in zip(hardest, guesses, strict=True)
    ]
    images = found.X_test[hardest].reshape(-1, 8, 8)
    ax = plot.image_sheet(images, captions, plot.axes(4.8, 4.4), columns=4)
    return ax, (
        f"The {len(hardest)} test images whose true digit was given the least probability: "
        "true → predicted (probability of the prediction)."
    )


def _chosen(machine: KernelMachine) -> str:
    return f"Chosen: {machine.kernel_!r}, λ = {number(machine.lam)}. Solved by {machine.solution_}."
