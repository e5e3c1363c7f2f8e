"""An online machine, step by step, until its budget bites."""

import numpy as np
import pytest

from mercer import OnlineKernelClassifier
from mercer.kernels import Gaussian
from mercer.online import ConstantStep, Oldest, PerceptronLoss


def test_steps_until_the_budget_bites(lab):
    lab.tab("Online")
    lab.exactly("Terms", 3)
    assert lab.figure("t").startswith("0 of")
    assert "f = 0" in lab.page.locator(".story").inner_text()
    lab.button("One step").click()
    assert lab.figure("t").startswith("1 of") and lab.figure("size") == "1 of 3"
    assert "it was added" in lab.page.locator(".story").inner_text()
    step = 1
    while "the budget took" not in lab.page.locator(".story").inner_text():
        step += 1
        assert step < 80, "the budget never took a term"
        lab.button("One step").click()
        lab.settled()
    assert lab.figure("size") == "3 of 3"

    points = lab.points()[:step]
    machine = OnlineKernelClassifier(
        Gaussian(0.5), PerceptronLoss(), lam=0.01, step=ConstantStep(0.25), budget=Oldest(3), random_state=0
    )
    for x, y, label in points:
        machine.partial_fit(np.array([[x, y]]), [label], classes=[0, 1])
    assert lab.number("norm") == pytest.approx(machine.function_.norm(), rel=6e-3)
    assert lab.page.locator(".terms circle").count() == 3

    lab.button("One step back").click()
    assert lab.figure("t").startswith(f"{step - 1} of")


def test_ten_steps_play_and_pause(lab):
    lab.tab("Online")
    lab.button("Ten steps").click()
    assert lab.figure("t").startswith("10 of")
    lab.button("Play").click()
    lab.until(lambda: int(lab.page.locator("[data-figure=t]").inner_text().split()[0]) >= 13)
    lab.button("Pause").click()
    stopped = lab.figure("t")
    lab.page.wait_for_timeout(600)
    assert lab.figure("t") == stopped
    lab.button("Back to the start").click()
    assert lab.figure("t").startswith("0 of")


def test_a_step_that_does_not_go_with_lambda_is_refused_beside_it(lab):
    lab.tab("Online")
    lab.page.get_by_label("Step size").select_option("passive_aggressive")
    problem = lab.page.get_by_label("Settings").get_by_role("alert")
    problem.wait_for()
    lab.page.get_by_label("no penalty (λ = 0)").check()
    problem.wait_for(state="detached")
    assert lab.expected("Failed to load resource") >= 1
