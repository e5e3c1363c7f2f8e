"""What comes from files, goes to files, and stays in its own browser tab."""

import json

GOOD = "a,b,kind\n0,0,cat\n0,1,cat\n2,0,dog\n2,1,dog\n1,5,\n"
BAD = "a,b,kind\n0,0,cat\n1,2,dog,dog,dog\n"


NO_POINTS = '{"format": "mercer lab 1", "data": {"points": [{"x": "far"}]}}'
NO_KERNEL = """{"format": "mercer lab 1",
 "machine": {"kernel": {"kind": "sum"}, "lam": 1, "offset": true, "loss": null},
 "data": {"task": "labels", "points": [], "classes": [0, 1], "window": [0, 1, 0, 1]}}"""


def load(lab, name, text):
    lab.page.get_by_label("File with points").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    )


def test_a_csv_is_loaded(lab):
    lab.settled()
    load(lab, "pets.csv", GOOD)
    lab.page.get_by_text("pets.csv: 4 points").wait_for()
    assert sorted(lab.points()) == [(0, 0, "cat"), (0, 1, "cat"), (2, 0, "dog"), (2, 1, "dog")]
    assert "left out" in lab.page.locator(".notes").first.inner_text()
    assert lab.number("accuracy") == 100


def test_a_bad_csv_is_refused_and_harms_nothing(lab):
    lab.settled()
    before = lab.points()
    for text in (BAD, "", "only words\nhere\n"):
        load(lab, "bad.csv", text)
        problem = lab.page.get_by_label("Settings").get_by_role("alert")
        problem.wait_for()
        assert "bad.csv" in problem.inner_text()
        assert lab.points() == before
    assert lab.expected("Failed to load resource") == 3
    load(lab, "pets.csv", GOOD)
    lab.page.get_by_text("pets.csv: 4 points").wait_for()
    assert lab.page.get_by_label("Settings").get_by_role("alert").count() == 0


def test_json_goes_round(lab, tmp_path):
    lab.settled()
    lab.exactly("σ", 0.33)
    lab.settled()
    with lab.page.expect_download() as saved:
        lab.button("Save JSON").click()
    path = tmp_path / "lab.json"
    saved.value.save_as(path)
    before = lab.kept()
    assert json.loads(path.read_text())["machine"]["kernel"] == {"kind": "gaussian", "sigma": 0.33}
    lab.button("Clear", exact=False).click()
    lab.page.get_by_label("File with points").set_input_files(path)
    lab.wait_for_points(80)
    assert lab.kept() == before


def test_json_of_others_is_refused(lab):
    lab.settled()
    for text in ("{", "{}", NO_POINTS, NO_KERNEL):
        load(lab, "odd.json", text)
        lab.page.get_by_label("Settings").get_by_role("alert").wait_for()
    assert len(lab.points()) == 80


def test_csv_goes_round(lab, tmp_path):
    lab.settled()
    before = lab.points()
    with lab.page.expect_download() as saved:
        lab.button("Save CSV").click()
    saved.value.save_as(tmp_path / "points.csv")
    lab.button("Clear", exact=False).click()
    lab.page.get_by_label("File with points").set_input_files(tmp_path / "points.csv")
    lab.wait_for_points(80)
    assert [(x, y) for x, y, _ in lab.points()] == [(x, y) for x, y, _ in before]
    assert [str(label) for *_, label in lab.points()] == [str(label) for *_, label in before]


def test_two_tabs_do_not_disturb_each_other(lab):
    lab.settled()
    other = type(lab)(lab.context.new_page(), lab.url).open()
    other.settled()
    other.exactly("σ", 2)
    other.button("Clear", exact=False).click()
    lab.exactly("σ", 0.2)
    lab.settled()
    assert lab.kept()["machine"]["kernel"]["sigma"] == 0.2 and len(lab.points()) == 80
    assert other.kept()["machine"]["kernel"]["sigma"] == 2 and other.points() == []
    for page in (lab, other):  # and a reload changes nothing
        before = page.kept()
        page.page.reload()
        page.page.get_by_role("tab", name="Learn").wait_for()
        page.settled()
        assert page.kept() == before
    assert other.complaints == []


def test_what_an_older_page_kept_is_looked_at_first(lab):
    for kept in ("{", "[]", '{"data": 3, "machine": {}}'):
        lab.page.evaluate("kept => sessionStorage.setItem('mercer-lab/state', kept)", kept)
        lab.page.reload()
        lab.page.get_by_role("tab", name="Learn").wait_for()
        lab.settled()
        assert lab.kept()["machine"]["kernel"] == {"kind": "gaussian", "sigma": 0.5}
