"""The report of a model: complete, escaped, silent about the machine it was made on, of bounded size."""

import ast
import platform
import re
import shlex
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import mercer
from mercer.tables.model.decision import Decision
from mercer.tables.report import model_report
from mercer.tables.report.model.page import _deciding

_SECTIONS = [
    "The answer",
    "The model",
    "How good it is",
    "Which columns matter",
    "How it depends on them",
    "Prediction intervals",
    "What was tried",
    "The columns",
    "Certificate and bounds",
    "Reproduce",
    "Glossary",
]


def _sections(text):
    return re.findall("<h2>(.*?)</h2>", text)


def test_sections_come_in_the_order_a_reader_asks(pages):
    assert _sections(pages["regression"]) == _SECTIONS
    assert _sections(pages["classification"]) == [s for s in _SECTIONS if s != "Prediction intervals"]


@pytest.mark.parametrize("name", ["regression", "classification", "wide"])
def test_page_stands_alone_and_is_escaped(pages, parse, name):
    page = parse(pages[name])
    assert not {"script", "img", "iframe", "form"} & set(page.tags)
    assert page.tags.count("style") == page.tags.count("title") == 1
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert "http:" not in pages[name] and "https:" not in pages[name]
    assert len(pages[name].encode()) < 1_500_000
    assert "<script>" in "".join(page.text)
    assert "nan" not in re.findall(r"[a-z]+", "".join(page.text).lower())


def test_every_column_is_on_the_page(pages, parse, hostile):
    text = "".join(parse(pages["regression"]).text)
    for words in ("size", "kind", "sold", "always", hostile, "constant", " to 2024-0"):
        assert words in text, words


def test_it_says_how_to_repeat_it(pages, parse):
    text = "".join(parse(pages["regression"]).text)
    assert "mercer fit table.csv --target y" in text and "Tabletable.csv" in text
    for version in (mercer.__version__, np.__version__, platform.python_version()):
        assert version in text, version
    code = re.findall("<pre>(.*?)</pre>", pages["classification"], re.DOTALL)[-1]
    asked = "&#x27;weather&#x27;, task=&#x27;classification&#x27;, minutes=0.5, random_state=0"
    assert f"mercer.fit(table, {asked})" in code


def test_nothing_is_said_of_the_machine(pages):
    for text in pages.values():
        assert "somebody" not in text and "/home" not in text and "/tmp" not in text
        if len(platform.node()) > 3:
            assert platform.node() not in text


def test_what_is_vacuous_is_called_so(regression_model, pages, parse):
    text = "".join(parse(pages["regression"]).text)
    risk = regression_model.evidence.risk
    vacuous = [b.vacuous for b in risk.bounds]
    assert not vacuous[0] and any(vacuous)
    assert text.count("vacuous") == pages["regression"].count('<aside class="warn">') == sum(vacuous)
    for bound, (_, words) in zip(risk.bounds, risk.verdicts(), strict=True):
        assert f"It assumes {bound.assumptions}." in text and words[1:] in text
    for _, why in risk.absent:
        assert f"does not apply: {why}" in text
    assert risk.sharing() in text.replace("\xa0", " ")


def test_a_model_of_an_earlier_version_shows_the_bounds_it_has(regression_model, parse):
    old = replace(regression_model, evidence=replace(regression_model.evidence, risk=None))
    text = "".join(parse(model_report(old).html()).text)
    for bound in old.evidence.bounds:
        assert f"It assumes {bound.assumptions}." in text


def test_long_lists_are_cut(wide_model, pages, parse):
    text = " ".join(parse(pages["wide"]).text)
    assert "and 6 more labels" in text and text.count("and 20 more columns") == 2
    in_figures = set(re.findall(r"<text[^>]*>(measurement no. \d+)</text>", pages["wide"]))
    assert in_figures <= {i.column for i in wide_model.evidence.importance[:20]}


def test_a_loaded_model_has_the_same_report(classification_model, pages, tmp_path):
    mercer.save(classification_model, tmp_path / "model")
    again = model_report(mercer.load(tmp_path / "model")).html()

    def words(text):  # numbers of figures go up with every page
        return re.sub(r"f\d+-", "", text)

    assert words(again) == words(pages["classification"])


def test_the_command_or_the_call_that_made_it(regression_model, parse):
    """A model that knows its command shows it; others show Python, which mercer understands."""
    told = "".join(parse(model_report(regression_model).html()).text)
    call = re.search(r"mercer\.fit\((.*)\)\n", told)[0]
    assert ast.parse(call.strip()) and f"random_state={regression_model.evidence.seed}" in call
    command = shlex.join(["mercer", "fit", "my prices.csv", "--target", "it's"])
    evidence = replace(regression_model.evidence, command=command, source="my prices.csv")
    page = model_report(replace(regression_model, evidence=evidence))
    told = "".join(parse(page.html()).text)
    assert command in told and "mercer.fit(" not in told and "my prices.csv, 120 rows" in page.lead
    # What is said now counts more than what was said then.
    told = "".join(
        parse(model_report(replace(regression_model, evidence=evidence), command="other").html()).text
    )
    assert command not in told and "other" in told


@pytest.mark.parametrize(
    "weights, decision, words",
    [
        (None, None, ""),
        (None, Decision(threshold=0.25), ", threshold=0.25"),
        (
            {"a": 1.5, "b": 0.5},
            Decision(costs=np.array([[0, 1.5], [0.5, 0]])),
            ", class_weight={'a': 1.5, 'b': 0.5}",
        ),
        (None, Decision(costs=np.array([[0.0, 2.0], [1.0, 0.0]])), ", costs=[[0.0, 2.0], [1.0, 0.0]]"),
        (
            {"a": 1.5, "b": 0.5},
            Decision(costs=np.array([[0.0, 2.0], [1.0, 0.0]])),
            ", class_weight={'a': 1.5, 'b': 0.5}, costs=[[0.0, 2.0], [1.0, 0.0]]",
        ),
    ],
)
def test_arguments_that_decide(weights, decision, words):
    machine = SimpleNamespace(class_weight=weights)
    assert (
        _deciding(SimpleNamespace(machine=machine, decision=decision, classes_=np.array(["a", "b"]))) == words
    )
