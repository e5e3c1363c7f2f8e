"""Points, kernels and what is learned: by mouse and by keyboard, beside the library's own answers."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRidge
from mercer.kernels import Gaussian, Linear

# One pixel a number of the grid, rows from above: 1 where the second class is drawn, 0 for the first,
# −1 where nothing is.
PIXELS = """() => {
  const seen = document.querySelector(".heat canvas");
  const copy = Object.assign(document.createElement("canvas"), { width: seen.width, height: seen.height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(seen, 0, 0);
  const { data, width, height } = context.getImageData(0, 0, copy.width, copy.height);
  const look = ([red, , blue, alpha]) => alpha < 20 ? -1 : red > blue ? 1 : 0;
  return Array.from({ length: width * height }, (_, k) => look(data.slice(4 * k, 4 * k + 4)));
}"""


def library_answer(lab, kernel, **options):
    points = lab.points()
    X = np.array([(x, y) for x, y, _ in points])
    return KernelClassifier(kernel, "logistic", **options).fit(X, [label for *_, label in points])


def grid(window, n=64):
    x, y = np.linspace(*window[:2], n), np.linspace(*window[2:], n)[::-1]
    return np.array([(a, b) for b in y for a in x])


def test_points_by_mouse(empty):
    box = empty.plane.bounding_box()
    empty.plane.click(position={"x": 150, "y": 150})
    empty.page.get_by_label("class 1", exact=True).check()
    empty.plane.click(position={"x": 400, "y": 400})
    (x0, y0, first), (x1, y1, second) = empty.points()
    assert (first, second) == (0, 1) and x0 < x1 and y0 > y1
    # A drag moves; the tool changes what a click does.
    empty.page.mouse.move(box["x"] + 400, box["y"] + 400)
    empty.page.mouse.down()
    empty.page.mouse.move(box["x"] + 300, box["y"] + 350, steps=5)
    empty.page.mouse.up()
    moved = empty.points()[1]
    assert moved[0] < x1 and moved[1] > y1 and len(empty.points()) == 2
    empty.page.get_by_role("radio", name="Relabel").check()
    empty.plane.click(position={"x": 150, "y": 150})
    assert [label for *_, label in empty.points()] == [1, 1]
    empty.page.get_by_role("radio", name="Erase").check()
    empty.plane.click(position={"x": 150, "y": 150})
    assert empty.points() == [moved]
    empty.button("Undo").click()
    empty.button("Undo").click()
    assert [label for *_, label in empty.points()] == [0, 1]
    empty.button("Redo").click()
    assert [label for *_, label in empty.points()] == [1, 1]


def test_points_by_keyboard(empty):
    empty.plane.focus()
    keys = ["Enter", "Shift+ArrowRight", "ArrowUp", "2", "Enter"]
    for key in keys:
        empty.page.keyboard.press(key)
    left, right, low, high = empty.kept()["data"]["window"]
    (x0, y0, first), (x1, y1, second) = empty.points()
    assert (x0, y0) == pytest.approx(((left + right) / 2, (low + high) / 2), abs=1e-5)
    assert (x1 - x0, y1 - y0) == pytest.approx(((right - left) / 8, (high - low) / 40), abs=1e-4)
    assert (first, second) == (0, 1)
    assert empty.number("accuracy") == 100
    for key in ("Enter", "ArrowDown", "ArrowDown", "Enter", "1"):  # taken up, moved, put down, relabelled
        empty.page.keyboard.press(key)
    assert empty.points()[1][1] == pytest.approx(y0 - (high - low) / 40, abs=1e-4)
    assert [label for *_, label in empty.points()] == [0, 0]
    empty.page.keyboard.press("p")
    empty.page.keyboard.press("Delete")
    assert len(empty.points()) == 1 and empty.points()[0][0] == x1
    empty.page.keyboard.press("Control+z")
    assert len(empty.points()) == 2


def test_sigma_changes_the_function_as_in_the_library(lab):
    lab.settled()
    seen = []
    for sigma in (0.5, 0.15):
        lab.exactly("σ", sigma)
        lab.settled()
        machine = library_answer(lab, Gaussian(sigma), lam=0.01, offset=True)
        assert lab.number("norm") == pytest.approx(machine.function_.norm(), rel=6e-3)
        assert lab.number("offset") == pytest.approx(float(machine.intercept_), rel=6e-3, abs=1e-3)
        pixels = np.array(lab.page.evaluate(PIXELS))
        scores = machine.decision_function(grid(lab.kept()["data"]["window"]))
        drawn = pixels >= 0
        assert drawn.mean() > 0.2 and (pixels[drawn] == (scores[drawn] > 0)).all()
        seen.append(pixels)
    assert (seen[0] != seen[1]).any()


def test_sigma_by_the_arrow_keys_of_its_slider(lab):
    before = lab.number("norm")
    for _ in range(10):
        lab.page.get_by_label("σ", exact=True).press("ArrowLeft")
    assert lab.kept()["machine"]["kernel"]["sigma"] < 0.5
    assert lab.number("norm") != before


def test_a_kernel_is_composed(lab):
    lab.settled()
    lab.button("Add a kernel").click()
    lab.page.get_by_label("Kernel, part 2", exact=True).select_option("linear")
    lab.page.get_by_label("Wrap, part 2").select_option("scale")
    lab.exactly("c", 2)
    lab.settled()
    assert lab.page.locator("#kernel-sentence").inner_text() == "gaussian(σ = 0.5) + 2·linear"
    machine = library_answer(lab, Gaussian(0.5) + 2 * Linear(), lam=0.01, offset=True)
    assert lab.number("norm") == pytest.approx(machine.function_.norm(), rel=6e-3)
    lab.button("Unwrap, part 2").click()
    lab.button("Remove, part 2").click()
    assert lab.page.locator("#kernel-sentence").inner_text() == "gaussian(σ = 0.5)"


def test_what_is_no_kernel_is_refused_beside_the_kernel(lab):
    lab.settled()
    lab.page.get_by_label("Wrap", exact=True).select_option("scale")
    lab.exactly("c", -1)
    problem = lab.page.get_by_label("Settings").get_by_role("alert")
    problem.wait_for()
    assert "no kernel" in problem.inner_text()
    lab.exactly("c", 1)
    problem.wait_for(state="detached")
    assert lab.number("accuracy") > 50
    assert lab.expected("status of 422") >= 1


def test_losses_and_lambda(lab):
    lab.settled()
    lab.page.get_by_label("Loss").select_option("hinge")
    lab.settled()
    held, _, n = lab.figure("support").partition(" of ")
    assert 2 <= int(held) < int(n) == 80
    assert lab.number("margin") == pytest.approx(1 / lab.number("norm"), rel=0.02)
    lab.page.get_by_label("λ, exactly").fill("0.5")
    less = lab.number("norm")
    lab.page.get_by_label("λ from the data").check()
    assert lab.number("norm") > less and lab.number("lam") != 0.5


def test_a_curve_beside_the_library(lab):
    lab.settled()
    lab.page.get_by_role("radio", name="Curve").check()
    lab.button("Take the sample").click()
    lab.until(lambda: [x for x, *_ in lab.points()] == sorted(x for x, *_ in lab.points()))
    lab.settled()
    points = lab.points()
    X, y = np.array([[x] for x, *_ in points]), np.array([p[1] for p in points])
    machine = KernelRidge(Gaussian(0.5), lam=0.01, offset=True).fit(X, y)
    residuals = machine.predict(X) - y
    assert lab.number("rmse") == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=6e-3)
    assert lab.number("loo") == pytest.approx(np.sqrt(np.mean(machine.loo_residuals() ** 2)), rel=6e-3)
    lab.page.get_by_label("bumps").check()
    assert lab.page.locator(".curve .bump").count() == 10


def test_the_table_of_the_points(lab):
    lab.settled()
    lab.page.get_by_text("Table of the points").click()
    cell = lab.page.get_by_label("x of point 1", exact=True)
    cell.fill("9")
    cell.press("Tab")
    assert lab.points()[0][0] == 9 and lab.kept()["data"]["window"][1] == 9
    lab.page.get_by_label("class of point 1", exact=True).select_option("1")
    assert lab.points()[0][2] == 1
    lab.button("delete point 1").click()
    assert len(lab.points()) == 79


def test_newest_wins(lab):
    """Of many values typed in a row, the last one's answer stays."""
    for sigma in (0.1, 0.9, 0.2, 0.8, 0.3, 0.7):
        lab.exactly("σ", sigma)
    lab.settled()
    machine = library_answer(lab, Gaussian(0.7), lam=0.01, offset=True)
    assert lab.number("norm") == pytest.approx(machine.function_.norm(), rel=6e-3)


def test_by_finger(open_lab):
    lab = open_lab("phone")
    lab.settled()
    lab.button("Clear", exact=False).tap()
    box = lab.plane.bounding_box()
    lab.page.touchscreen.tap(box["x"] + 120, box["y"] + 120)
    lab.page.touchscreen.tap(box["x"] + 220, box["y"] + 220)
    assert len(lab.points()) == 2


def test_what_is_drawn_is_called_by_its_name(lab):
    lab.settled()
    assert "f + b = 0" in lab.page.locator(".legend").inner_text()
    assert "f(xᵢ) + b) + λ‖f‖²" in lab.page.locator(".objective").inner_text()
    lab.page.get_by_label("offset b").uncheck()
    lab.until(lambda: lab.page.locator(".legend").inner_text().startswith("f = 0"))
    assert "+ b" not in lab.page.locator(".objective").inner_text()


def test_what_a_number_means_is_said_by_keyboard(lab):
    lab.settled()
    button = lab.button("What is “‖f‖”?")
    button.focus()
    lab.page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert "the space of the kernel" in lab.page.locator(".figures .meaning").inner_text()


def test_the_first_sample_can_not_be_undone_away(lab):
    lab.settled()
    lab.page.keyboard.press("Control+z")
    assert len(lab.points()) == 80 and lab.button("Undo").is_disabled()
    assert lab.page.get_by_label("Points, exactly").input_value() == "80"


def test_digits_make_one_class_and_clear_takes_it_away(lab):
    lab.settled()
    lab.plane.focus()
    lab.page.keyboard.press("5")
    lab.until(lambda: "the new class 2" in lab.page.locator("#said").inner_text())
    assert lab.kept()["data"]["classes"] == [0, 1, 2]
    lab.page.keyboard.press("1")
    lab.until(lambda: "new points are of class 0" in lab.page.locator("#said").inner_text())
    lab.button("Clear", exact=False).click()
    lab.until(lambda: lab.kept()["data"]["classes"] == [0, 1])


def test_n_and_p_visit_every_point_though_they_lie_close(empty):
    empty.plane.focus()
    for _ in range(3):
        empty.page.keyboard.press("Enter")
        for _ in range(2):
            empty.page.keyboard.press("ArrowRight")
    empty.page.get_by_text("Table of the points").click()
    for i in (2, 3):  # both where the first one is
        cell = empty.page.get_by_label(f"x of point {i}", exact=True)
        cell.fill(empty.page.get_by_label("x of point 1", exact=True).input_value())
        cell.press("Tab")
    empty.settled()  # or what is said of the fit comes after what is said of a point
    empty.plane.focus()
    said = empty.page.locator("#said")
    for key, i in (("N", 1), ("n", 2), ("Shift+N", 3), ("p", 2)):
        empty.page.keyboard.press(key)
        empty.until(lambda i=i: f"point {i} of 3" in said.locator("p").last.inner_text())


def test_lambda_beyond_its_slider(lab):
    lab.exactly("λ", 1e5)
    assert lab.number("lam") == pytest.approx(1e5) and lab.number("norm") < 1e-3
