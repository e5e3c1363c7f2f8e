"""axe-core on every tab, in both themes and sizes; the keyboard; nothing wider than the screen."""

import pytest

TABS = ("Learn", "Online", "Clusters", "Shattering", "Table")


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_lab, size, theme):
    lab = open_lab(size, theme)
    found = []
    for tab in TABS:
        lab.tab(tab)
        lab.settled()
        found += lab.serious_findings()
        assert lab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{tab} is too wide"
    assert found == []


def test_tabs_by_arrow_keys(lab):
    lab.page.get_by_role("tab", name="Learn").focus()
    for name in (*TABS[1:], "Learn"):
        lab.page.keyboard.press("ArrowRight")
        tab = lab.page.get_by_role("tab", name=name)
        assert tab.get_attribute("aria-selected") == "true"
        assert tab.evaluate("tab => tab === document.activeElement")
    lab.page.keyboard.press("End")
    assert lab.page.get_by_role("tab", name="Table").get_attribute("aria-selected") == "true"


def test_everything_is_reached_by_tab_and_shows_its_focus(lab):
    """Every control gets the focus in the order of the page, and none of them keeps it."""
    wanted = lab.page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, summary, [tabindex='0']")]
            .filter(e => !e.disabled && e.tabIndex >= 0 && e.checkVisibility())
            .filter(e => e.type !== "radio" || e.checked).length"""
    )
    reached = 0
    for _ in range(wanted + 5):
        lab.page.keyboard.press("Tab")
        if lab.page.evaluate("document.activeElement === document.body"):
            break
        reached += 1
        assert lab.page.evaluate("document.activeElement.matches(':focus-visible')")
    assert reached >= wanted - 1


def test_results_are_said(lab):
    lab.until(lambda: "of the examples right" in lab.page.locator("#said").inner_text())
    lab.plane.focus()
    lab.page.keyboard.press("n")
    lab.until(lambda: "point 1 of 80" in lab.page.locator("#said").inner_text())


def test_the_theme_is_remembered(lab):
    paper = "getComputedStyle(document.body).backgroundColor"
    light = lab.page.evaluate(paper)
    lab.page.get_by_label("Theme").select_option("dark")
    lab.until(lambda: lab.page.evaluate(paper) != light)
    dark = lab.page.evaluate(paper)
    lab.page.reload()
    lab.page.get_by_role("tab", name="Learn").wait_for()
    lab.until(lambda: lab.page.evaluate(paper) == dark)


def test_a_browser_that_keeps_nothing(open_lab, browser, address):
    """Storage that throws is no reason to fail."""
    context = browser.new_context()
    context.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, name, { get() { throw new Error('forbidden'); } });"
    )
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.locator("[data-figure=accuracy]").wait_for()
    page.get_by_label("Theme").select_option("dark")
    assert errors == []
    context.close()
