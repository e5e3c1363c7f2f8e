"""A table model in the lab: what if?"""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import mercer

COLUMNS = ("sepal length", "sepal width", "petal length", "petal width")


@pytest.fixture(scope="module")
def model():
    iris = load_iris(as_frame=True)
    columns = dict(zip(COLUMNS, iris.data.to_numpy().T))
    columns["kind"] = iris.target_names[iris.target]
    return mercer.fit(columns, target="kind", minutes=0.05, random_state=0)


def test_without_a_model_the_page_says_how_to_get_one(lab):
    lab.tab("Table")
    assert "mercer fit people.csv --target income" in lab.page.locator(".empty").inner_text()


def test_what_if(model, start_lab, open_lab, tmp_path):
    mercer.save(model, tmp_path / "iris.mercer")
    url, _ = start_lab(str(tmp_path / "iris.mercer"))
    lab = open_lab(url=url)
    lab.tab("Table")
    lab.page.locator("[data-figure=prediction]").wait_for()
    lab.exactly("petal length", 1.4)
    lab.exactly("petal width", 0.2)
    lab.settled()
    row = {c: float(lab.page.get_by_label(f"{c}, exactly").input_value()) for c in COLUMNS}
    table = {name: np.array([value]) for name, value in row.items()}
    assert lab.figure("prediction") == "setosa" == model.predict(table)[0]
    lines = lab.page.locator(".results .shares li").all()
    shown = {
        line.locator("span").first.inner_text(): line.locator("span").last.inner_text() for line in lines
    }
    likely = dict(zip(model.classes_, model.predict_proba(table)[0]))
    for name, share in likely.items():
        assert float(shown[name].rstrip(" %")) == pytest.approx(100 * share, abs=0.06)
    assert "probability of setosa as petal width changes" in lab.page.locator(".results .chart").inner_text()
    assert lab.page.locator("figure line[x1=NaN]").count() == 0
    lab.exactly("petal width", 2.6)  # seen: 0.1 to 2.5
    lab.until(lambda: "outside of what was learned" in lab.page.locator(".results").inner_text())
    assert lab.serious_findings() == []
    with lab.context.expect_page() as report:
        lab.page.get_by_role("link", name="Open its report").click()
    report.value.wait_for_load_state()
    assert "kind" in report.value.title() + report.value.content()
