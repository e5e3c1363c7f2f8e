"""The demo, on reduced sizes: everything is there, and the scores are what they say."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from mercer.report.demo import STEPS, classification, regression, run


@pytest.fixture(scope="module")
def demo():
    steps = []
    found = run(1, quick=True, progress=steps.append, command="mercer demo --quick <&>")
    assert 0 < len(steps) <= STEPS
    return found


def test_page(demo, parse):
    page = parse(demo.report.html())
    text = " ".join(page.text)
    assert page.tags.count("svg") == 8 and page.tags.count("table") == 4
    assert all(link.startswith(("#", "data:")) for link in page.links)
    for words in (
        "Not a kernel",
        "the sum is -1",
        "relative gradient",
        "solved exactly",
        "mercer demo --quick <&>",
    ):
        assert words in text, words


def test_scores(demo):
    assert [s.model for s in demo.regression if s.data == "diabetes"] == [
        "Mercer KernelRidge",
        "scikit-learn KernelRidge",
        "scikit-learn Ridge (linear)",
    ]
    assert len(demo.classification) == 3
    best = {s.data: s for s in demo.regression + demo.classification if s.ours}
    assert np.mean(best["diabetes"].score) > 0.3 and best["noisy curve"].score[0] > 0.7
    assert best["digits"].score[0] > 0.9
    for s in demo.regression + demo.classification:
        assert all(0 <= v <= 1 for v in s.score) and all(v > 0 for v in s.error)


def test_repeats_with_its_seed(demo):
    again = regression.curve(1, 60)
    assert again.scores[0].error == next(
        s.error for s in demo.regression if s.ours and s.data == "noisy curve"
    )
    assert regression.curve(2, 60).scores[0].error != again.scores[0].error


def test_the_tuned_machine_is_at_the_lowest_point_of_all_paths():
    found = regression.curve(0, 60)
    lowest = min(p.loo_mse.min() for p in found.paths.values())
    np.testing.assert_allclose(np.mean(found.machine.loo_residuals_**2), lowest, rtol=1e-6)


def test_digits_are_judged_on_examples_kept_apart():
    found = classification.digits(0, 200, 2, lambda step: None)
    ours = found.scores[0]
    P = found.machine.predict_proba(found.X_test)
    assert ours.score == (accuracy_score(found.y_test, found.machine.classes_[P.argmax(axis=1)]),)
    assert ours.error == (log_loss(found.y_test, P),)
    assert found.examples + len(found.y_test) == 200 and len(found.machine.coef_) == found.examples
    assert found.scores[1].error == ()  # a support vector machine has no probabilities
