"""The game of shattering: both sides, won and lost."""

import pytest


def verdict(lab):
    lab.settled()
    return lab.page.locator(".verdict").inner_text()


@pytest.fixture
def game(lab):
    lab.tab("Shattering")
    lab.button("Challenge the machine").wait_for()
    return lab


def flip(game, *points):
    for i in points:
        game.page.get_by_role("button", name=f"point {i} is").click()


def test_who_labels_three_points_loses_and_is_told_why(game):
    game.exactly("Points", 3)
    game.button("Challenge the machine").wait_for()
    flip(game, 2)
    game.button("Challenge the machine").click()
    assert "You lose" in verdict(game) and "-+-" in verdict(game)
    assert (game.figure("you"), game.figure("machine"), game.figure("vc")) == ("0", "1", "3")
    assert game.page.locator(".game .region").count() == 1
    assert game.figure("met") == "1 of 8"
    assert game.serious_findings() == []
    game.button("Could I have won?").click()
    game.until(lambda: "No labelling would have won" in verdict(game))


def test_who_labels_four_points_can_win(game):
    """Four points on a parabola: no half-plane holds the first and the third alone."""
    flip(game, 1, 3)
    game.button("Challenge the machine").click()
    assert "You win" in verdict(game)
    assert (game.figure("you"), game.figure("machine")) == ("1", "0")
    assert "Why" in verdict(game)


def test_labels_by_click_and_by_keyboard(game):
    spot = game.page.locator(".game .spot").nth(1)
    box = spot.bounding_box()
    game.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert game.page.get_by_role("button", name="point 2 is plus").count() == 1
    game.plane.focus()
    game.page.keyboard.press("n")
    game.page.keyboard.press("n")
    game.page.keyboard.press("Enter")
    assert game.kept("game")["labels"].count("+") == 2


def place(game, *spots):
    game.page.get_by_role("radio", name="You place").check()
    game.button("Place 4 more").wait_for()
    box = game.plane.bounding_box()
    for across, up in spots:
        game.plane.click(position={"x": across * box["width"], "y": up * box["height"]})
    game.button("Done: let the machine label").click()
    game.button("This one!").wait_for()


def test_who_places_four_points_loses_to_the_machine(game):
    place(game, (0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7))
    game.button("This one!").click()
    problem = game.page.get_by_role("alert")
    problem.wait_for()
    assert "look at point" in problem.inner_text()
    assert game.expected("status of 400") == 1
    game.button("Give up").click()
    assert "You lose" in verdict(game) and "None of the half-planes" in verdict(game)
    assert game.figure("machine") == "1"


def test_who_places_two_points_can_win(game):
    game.exactly("Points", 2)
    game.page.get_by_role("radio", name="You place").check()
    game.button("Place 2 more").wait_for()
    box = game.plane.bounding_box()
    for across in (0.3, 0.7):
        game.plane.click(position={"x": across * box["width"], "y": 0.5 * box["height"]})
    game.button("Done: let the machine label").click()
    game.button("This one!").wait_for()
    wanted = game.kept("game")["labels"]
    # Handles A and B by keyboard: beside both points, between them, or turned about.
    if wanted in ("++", "--"):
        game.plane.focus()
        for handle in "nn":
            game.page.keyboard.press(handle)
            for key in ["Enter", *["Shift+ArrowRight"] * 3, "Enter"]:
                game.page.keyboard.press(key)
    if wanted in ("-+", "--"):
        game.button("Other side").click()
    game.button("This one!").click()
    assert "You win" in verdict(game)
    assert game.figure("you") == "1"


@pytest.mark.parametrize("kind", ["rectangles", "polynomials", "intervals", "unions"])
def test_other_classes_are_played(game, kind):
    game.page.get_by_label("Class", exact=True).select_option(kind)
    game.exactly("Points", 2)
    game.button("Challenge the machine").wait_for()
    flip(game, 1)
    game.button("Challenge the machine").click()
    assert "You lose" in verdict(game)
    assert game.page.locator(".game .region").count() >= 1
    game.page.get_by_role("radio", name="You place").check()
    game.button("Place 2 more").wait_for()
    box = game.plane.bounding_box()
    for across in (0.3, 0.7):
        game.plane.click(position={"x": across * box["width"], "y": 0.5 * box["height"]})
    game.button("Done: let the machine label").click()
    game.button("Give up").click()
    assert "You lose" in verdict(game) and "though" in verdict(game)
