"""The corner of tables: answers are the model's own."""

import numpy as np
import pytest

from asgi import ask, refused
from mercer.lab import make_app

ROW = {"size": 100.0, "city": "Bonn", "day": "2024-03-01"}


@pytest.fixture(scope="module")
def apps(models):
    return [make_app(model) for model in models]


def test_what_the_model_is(apps, models):
    for app, model in zip(apps, models):
        status, found = ask(app, "/api/model")
        assert status == 200 and (found["target"], found["task"]) == (model.target, model.task)
        columns = {c["name"]: c for c in found["columns"]}
        assert columns["size"]["kind"] == "number" and sorted(columns["city"]["levels"]) == ["Bonn", "Ulm"]
        assert columns["size"]["low"] <= columns["size"]["typical"] <= columns["size"]["high"]
        assert found["coverage"] == 0.9
        assert found["summary"] == model.summary() and found["importance"][0]["column"] == "size"
        assert ask(app, "/api/options")[1]["model"] == {"target": model.target, "task": model.task}
    assert ask(apps[1], "/api/model")[1]["classes"] == ["cheap", "dear"]


def test_what_if(apps, models):
    regression = models[0]
    status, found = ask(apps[0], "/api/predict", {"row": ROW, "column": "size"})
    table = [ROW | {"day": np.datetime64("2024-03-01")}]
    assert status == 200 and found["prediction"] == pytest.approx(regression.predict(table)[0])
    low, high = found["interval"]
    assert low < found["prediction"] < high and found["notes"] == [] and found["probabilities"] is None
    values, predicted = found["dependence"]["values"], found["dependence"]["predictions"]
    again = regression.predict([table[0] | {"size": v} for v in values])
    np.testing.assert_allclose(predicted, again, rtol=1e-9)
    far = ask(apps[0], "/api/predict", {"row": ROW | {"size": 1e5}})[1]
    assert "dependence" not in far and "outside of what was learned" in far["notes"][0]
    words = ask(apps[0], "/api/predict", {"row": ROW, "column": "city"})[1]["dependence"]
    assert sorted(words["values"]) == ["Bonn", "Ulm"]
    days = ask(apps[0], "/api/predict", {"row": ROW, "column": "day"})[1]["dependence"]
    assert days["values"][0].startswith("202")


def test_what_if_of_classes(apps, models):
    status, found = ask(apps[1], "/api/predict", {"row": ROW, "column": "size"})
    assert status == 200 and found["interval"] is None and found["prediction"] in ("cheap", "dear")
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    along = found["dependence"]
    assert along["of"] == found["prediction"] and along["predictions"] == along["probabilities"][along["of"]]


def test_the_report(apps):
    status, page = ask(apps[0], "/report")
    assert status == 200 and "price" in page and "<html" in page and "<script" not in page


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "row"),
        ({"row": []}, "row"),
        ({"row": {"size": 1}}, "row"),
        ({"row": ROW | {"size": "big"}}, "row"),
        ({"row": ROW | {"day": "soon"}}, "row"),
        ({"row": ROW, "column": "colour"}, "column"),
        ({"row": ROW, "column": 3}, "column"),
        ({"rows": [ROW]}, "rows"),
        ({"row": ROW | {"colour": "red"}}, "row"),
    ],
)
def test_wrong_requests(apps, body, field):
    refused(ask(apps[0], "/api/predict", body), field)


def test_without_a_model(lab):
    for path, body in (("/api/model", None), ("/report", None), ("/api/predict", {"row": ROW})):
        status, answer = lab(path, body)
        assert status == 404 and "mercer lab MODEL" in answer["error"]


def test_only_models_of_tables():
    with pytest.raises(TypeError, match="takes a Model"):
        make_app("houses.mercer")


def test_a_number_beyond_all_is_refused(apps):
    body = b'{"row": {"size": 1e999, "city": "Bonn", "day": "2024-03-01"}}'
    refused(ask(apps[0], "/api/predict", body), "row", "not as large")
