"""Texts are learned from where they help, beside numbers or alone, and only there."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeCV

import mercer
from mercer.onnx import to_onnx
from mercer.tables.model.effort import Effort
from mercer.tables.model.forests import has_forest
from mercer.tables.model.learn import Question, learn
from mercer.tables.model.texts import free_texts
from mercer.tables.reading import Table
from mercer.tables.report import model_report
from mercer.tables.serve.rows import parse, schema


def silent(text):
    pass


def names(n):
    """Names that say nothing."""
    rng = np.random.default_rng(0)
    return np.array(["".join(rng.choice(list("abcdefgh"), 7)) for _ in range(n)], dtype=object)


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def test_numbers_and_words_are_both_found(review_model, reviews):
    table, stars = reviews(110, 0)
    new, truth = reviews(300, 1)
    tfidf = TfidfVectorizer(sublinear_tf=True)
    A = hstack([csr_matrix(table["size"][:, None]), tfidf.fit_transform(table["review"])]).tocsr()
    B = hstack([csr_matrix(new["size"][:, None]), tfidf.transform(new["review"])]).tocsr()
    linear = RidgeCV(np.logspace(-3, 3, 13)).fit(A, stars).predict(B)
    ours = rmse(review_model.predict(new), truth)
    # The words alone leave 0.58, the number alone 1: the noise is 0.1.
    assert ours < 0.3 and ours < 1.1 * rmse(linear, truth)
    top = [i.column for i in review_model.evidence.importance[:2]]
    assert set(top) == {"size", "review"} and review_model.columns.texts == ("review",)
    assert {c.name for c in review_model.evidence.contenders} >= {"linear model", "gradient boosting"}
    assert any(t.stage == "texts" for t in review_model.evidence.trials)
    assert "'review', too, gradient boosting from the other columns only" in review_model.evidence.remarks[-1]


def test_the_planted_words_carry_it(review_model):
    found = review_model.words(60)
    for planted, sign in (("splendid", 1), ("awful", -1)):
        heaviest = [word.text.strip() for word in found if sign * word.weight > 0][:3]
        assert heaviest and all(text in planted for text in heaviest)
    assert found[0].text in review_model.summary() and "'review'" in str(review_model)
    page = model_report(review_model).html()
    assert "Which words carry it" in page and found[0].text.strip() in page and "free text" in page
    with pytest.raises(ValueError, match="count"):
        review_model.words(0)


def test_files_keep_it_whole(review_model, reviews, tmp_path):
    new, _ = reviews(20, 2)
    mercer.save(review_model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict(new), review_model.predict(new))
    np.testing.assert_array_equal(again.predict_interval(new), review_model.predict_interval(new))
    assert again.words() == review_model.words() and str(again) == str(review_model)


def test_a_missing_text_is_an_empty_one(review_model):
    row = {"size": 0.2, "luck": 0.0}
    none, empty, unknown = review_model.predict([row | {"review": r} for r in (None, "", "zzz qqq")])
    assert none == empty and np.isfinite([none, unknown]).all()
    assert review_model.outside([row | {"review": "never seen"}]) == ()


def test_requests_and_other_formats(review_model):
    kinds = schema(review_model)["row"]["properties"]
    assert kinds["review"] == {"type": ["string", "null"], "description": "free text; 1% were missing"}
    asked = parse(b'{"rows": [{"size": 0.1, "luck": 0, "review": "splendid"}]}', review_model, 10)
    assert review_model.predict(asked.table)[0] > 3.5
    with pytest.raises(TypeError, match="learns from text .'review'."):
        to_onnx(review_model)


def test_names_that_say_nothing_change_nothing(reviews, hasty):
    table, stars = reviews(80, 3)
    numbers = Table.of({"size": table["size"], "luck": table["luck"]})
    both = Table.of({**numbers.columns, "name": names(80)})
    y = stars - np.round(stars)
    assert free_texts(both) == ("name",)
    with_names = learn(Question(both, y, "regression", None, None, ("name",)), 0.5, 0, silent)
    alone = learn(Question(numbers, y, "regression", None), 0.5, 0, silent)
    np.testing.assert_array_equal(with_names.predict(both), alone.predict(numbers))
    assert "did not help" in with_names.columns.dropped_["name"]
    assert with_names.found.trials[: len(alone.found.trials)] != ()


def test_labels_of_texts_alone(reviews, hasty):
    table, _ = reviews(130, 4)
    texts = Table.of({"name": names(130), "review": table["review"]})
    labels = np.array(["good" if "splendid" in text else "bad" for text in table["review"]])
    question = Question(texts, labels, "classification", np.unique(labels), None, ("name", "review"))
    learned = learn(question.take(np.arange(100)), 0.5, 0, silent)
    rest = question.take(np.arange(100, 130))
    assert np.mean(learned.predict(rest.table) == rest.y) > 0.9
    assert learned.predict_proba(rest.table).shape == (30, 2)
    assert learned.columns.width == 0 and learned.columns.texts == ("review",)
    assert "did not help" in learned.columns.dropped_["name"]


def test_the_command(reviews, hasty, tmp_path):
    from typer.testing import CliRunner

    from mercer.cli.app import app
    from mercer.tables.reading import write

    table, stars = reviews(60, 5)
    file = write(
        Table.of({"review": table["review"], "stars": np.round(stars - table["size"], 2)}),
        tmp_path / "reviews.csv",
    )
    model_file = tmp_path / "reviews.mercer"
    said = ["--target", "stars", "--minutes", "0.01", "--no-report", "-o", str(model_file)]
    run = CliRunner().invoke(app, ["fit", str(file), *said])
    assert run.exit_code == 0, run.output
    model = mercer.load(model_file)
    first = model.words(1)[0].text
    assert "Words that matter" in run.stdout and first in run.stdout
    assert first.strip() in "splendid" or first.strip() in "awful"
    low, high = model.predict({"review": ["awful lamp", "splendid lamp"]})
    assert low < high


def test_no_forest_beside_texts(reviews, monkeypatch):
    """It would know the rows on which texts are weighed, and leave nothing to them."""
    effort = Effort(60, 60, 60, 2, 2, 2, by_folds=True, trees=10)
    monkeypatch.setattr(Effort, "within", staticmethod(lambda *sizes: effort))
    table, stars = reviews(70, 6)
    # Time is no matter here.
    asked = Question(Table.of(table), stars, "regression", None, None, ("review",))
    beside = learn(asked, 600.0, 0, silent)
    without = learn(Question(Table.of({"size": table["size"]}), stars, "regression", None), 600.0, 0, silent)
    assert not has_forest(beside.machine.kernel_) and beside.columns.texts == ("review",)
    tried = [
        {t.kernel for t in learned.found.trials if "forest" in t.kernel} for learned in (beside, without)
    ]
    assert tried[0] == set() != tried[1]
