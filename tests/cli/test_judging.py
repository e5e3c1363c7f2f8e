"""`mercer fit --metric … --threshold … --costs … --class-weight …`: what is asked, shown and refused."""

import json

import numpy as np
import pytest

import mercer
from mercer.tables.reading import Table


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table of whom few are sick."""
    rng = np.random.default_rng(0)
    dose = rng.standard_normal(200)
    state = np.where(dose + 0.5 * rng.standard_normal(200) > 1.9, "sick", "well")
    folder = tmp_path_factory.mktemp("people")
    return mercer.tables.write(Table.of({"dose": dose, "state": state}), folder / "people.csv")


def fit(call, people, tmp_path, *options):
    return call(
        "fit",
        people,
        "-t",
        "state",
        "--minutes",
        "0.01",
        "-o",
        tmp_path / "m.mercer",
        "--no-report",
        *options,
    )


def test_the_chosen_metric_is_first(call, people, tmp_path):
    result = fit(call, people, tmp_path, "--metric", "auc", "--threshold", "0.9")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    table = next(i for i, line in enumerate(lines) if line.startswith("Tested by"))
    assert lines[table + 1].split()[:2] == ["AUC", "(95"]
    assert "'well' is predicted where its probability is at least 0.9." in result.stdout
    assert result.stdout.count("'sick' is rare") == 1
    model = mercer.load(tmp_path / "m.mercer")
    assert model.decision.threshold == 0.9 and model.evidence.metric == "auc"
    assert model.evidence.command.endswith("--metric auc --threshold 0.9")
    info = call("info", tmp_path / "m.mercer")
    assert "AUC (95 %)" in info.stdout and "at least 0.9" in info.stdout


def test_costs_decide_what_predict_says(call, people, tmp_path):
    result = fit(call, people, tmp_path, "--costs", "sick:well=30,well:sick=1", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["decision"]["costs"] == [[0, 30], [1, 0]] and facts["tested"]["metric"] == "accuracy"
    assert next(iter(facts["tested"]["scores"])) == "mean cost"
    assert (
        call("predict", tmp_path / "m.mercer", people, "--proba", "-o", tmp_path / "out.csv", "-q").exit_code
        == 0
    )
    said = mercer.tables.read(tmp_path / "out.csv")
    p = said["probability sick"]
    np.testing.assert_array_equal(said["prediction"], np.where(30 * p > 1 - p, "sick", "well"))


def test_auto_and_weights(call, people, tmp_path):
    options = ["--metric", "balanced_accuracy", "--threshold", "auto", "--class-weight", "sick=8"]
    result = fit(call, people, tmp_path, *options)
    assert result.exit_code == 0, result.output
    model = mercer.load(tmp_path / "m.mercer")
    weights = model.machine.class_weight
    assert weights["sick"] == pytest.approx(8 * weights["well"]) and 0 < model.decision.threshold < 1
    page = tmp_path / "m.html"
    assert call("report", tmp_path / "m.mercer", "-o", page, "-q").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "Judged by balanced accuracy" in text and "Average precision" in text and "is rare" in text


@pytest.mark.parametrize(
    "options, code, words",
    [
        (["--metric", "f1"], 1, "metric must be 'accuracy'"),
        (["--metric", "rmse"], 1, "metric 'rmse' is none of labels: choose 'accuracy'"),
        (["--threshold", "1.5"], 2, "it must be a number between 0 and 1, or auto; got '1.5'"),
        (["--threshold", "high"], 2, "or auto; got 'high'"),
        (["--costs", "sick=3"], 2, "is no pair true:predicted"),
        (["--costs", "sick:well"], 2, "'sick:well' is not of the form sick:well=10,well:sick=1"),
        (["--costs", "sick:well=x"], 2, "is not of the form"),
        (["--costs", "sick:well=1,sick:well=2"], 2, "sick:well is named twice"),
        (["--costs", "ill:well=3"], 1, "costs: there is no label 'ill'; the labels are 'sick', 'well'"),
        (["--costs", "sick:well=inf"], 1, "no finite number"),
        (["--costs", "sick:well=3", "--threshold", "0.2"], 1, "say one of them"),
        (["--class-weight", "equal"], 2, "'equal' is not of the form sick=10,well=1, or balanced"),
        (["--class-weight", "ill=3"], 1, "class_weight: there is no label 'ill'"),
    ],
)
def test_what_is_refused(call, people, tmp_path, options, code, words):
    result = fit(call, people, tmp_path, *options)
    assert result.exit_code == code
    said = " ".join(result.stderr.replace("│", " ").split())
    assert words in said and not (tmp_path / "m.mercer").exists()
