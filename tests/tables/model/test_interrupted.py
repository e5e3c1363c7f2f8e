"""Ctrl-C, a deadline that passes, a solver that fails: there is a model all the same, and it says so."""

import os
import signal

import numpy as np
import pytest

import mercer
from mercer._threads import Stopped, stop_when
from mercer.operators import NotPositiveDefinite
from mercer.tables.model import evaluation
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.evaluation import evaluate
from mercer.tables.model.learn import Question
from mercer.tables.reading import Table

RNG = np.random.default_rng(0)
N = 150
X = {"x": RNG.uniform(0, 6, N), "w": RNG.choice(list("abc"), N)}
Y = np.sin(X["x"]) + (X["w"] == "a") + 0.1 * RNG.standard_normal(N)
LABELS = np.where(Y > 1.2, "high", np.where(Y > 0, "mid", "low"))
TEXTS = np.array([" ".join(RNG.choice(["sofa", "lamp", "rug", "bed"], 5)) for _ in range(N)], dtype=object)


@pytest.fixture
def quick(hasty):
    return lambda X, y, **asked: mercer.fit(X, y, **{"minutes": 1.0, **asked})


@pytest.fixture
def held_out(hasty, monkeypatch):
    """One part is held out, as where there are many rows."""
    monkeypatch.setattr(evaluation, "_HOLD_OUT_FROM", 100)
    monkeypatch.setattr(evaluation, "_SMALLEST_TEST", 40)


def interrupted_at(place, how=lambda: signal.raise_signal(signal.SIGINT)):
    """What is called with lines of progress, and interrupts once, at the first that begins so."""
    said = []

    def tell(text):
        said.append(text)
        if place in text and sum(place in line for line in said) == 1:
            how()

    tell.said = said
    return tell


def usable(model, tmp_path, X=X):
    """It predicts, is saved, and says the same when it comes back."""
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert len(model.predict([{"x": 1.0, "w": "a"}])) == 1
    if model.task == "regression":
        low, high = model.predict_interval(X).T
        assert (low < high).all()
    else:
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert again.summary() == model.summary() and "nan" not in model.summary()
    return model


MOMENTS = ["Kernel families", "three folds", "Losses", "Fitting", "part 2 of 2: Losses"]


@pytest.mark.parametrize("place", MOMENTS)
@pytest.mark.parametrize("labels", [False, True])
def test_before_the_model_is_done_the_first_one_remains(place, labels, quick, tmp_path):
    tell = interrupted_at(place)
    model = usable(quick(X, LABELS if labels else Y, progress=tell), tmp_path)
    assert "it was interrupted before the model was done" in model.summary()
    assert "it was interrupted" in model.evidence.cut[0]
    assert model.evidence.how == "37 rows that took no part" and model.evidence.rows == N
    assert model.machine.plan_.examples == N - 37
    assert list(c.name for c in model.evidence.contenders) == ["mercer", "constant"]
    if labels:
        assert model.classes_.tolist() == ["high", "low", "mid"]
    # It is a model, and no constant.
    error, constant = (c.scores[0].value for c in model.evidence.contenders)
    assert error < 0.7 * constant
    assert "Interrupted: what there is by now is kept" in tell.said


def test_who_interrupts_is_not_kept_waiting(quick, monkeypatch):
    """What is known of a model takes seconds where many rows are left out one by one."""
    monkeypatch.setattr("mercer.tables.model.evidence._FEW_ROWS", 50)
    assert quick(X, Y).evidence.loo_rows == N
    assert quick(X, Y, progress=interrupted_at("Kernel families")).evidence.loo_rows == 50


@pytest.mark.parametrize("how", ["folds", "held out"])
def test_what_is_learned_already_outlives_its_tests(how, quick, tmp_path, request):
    if how == "held out":
        request.getfixturevalue("held_out")
    whole, model = quick(X, Y), usable(quick(X, Y, progress=interrupted_at("Testing")), tmp_path)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    np.testing.assert_array_equal(model.evidence.predicted, whole.evidence.predicted)
    assert model.evidence.scores == whole.evidence.scores and model.machine.plan_.examples == N
    assert [c.name for c in model.evidence.contenders] == ["mercer", "constant"]
    assert all(i.increase == 0 for i in model.evidence.importance)
    assert any("interrupted before other models" in said for said in model.evidence.cut)


def test_while_one_part_is_held_out(quick, held_out, tmp_path):
    model = usable(quick(X, Y, progress=interrupted_at("Fitting")), tmp_path)
    assert "it was interrupted before the model was done" in model.summary()
    assert not any("it was interrupted" in said for said in quick(X, Y).evidence.remarks)


def test_in_the_middle_of_a_computation(quick, monkeypatch, tmp_path):
    """The signal comes while a candidate is fitted, on whichever thread that is."""
    from mercer.tables.model.search import KernelSearch

    refine, calls = KernelSearch.refine, []

    def signalled(*args, **more):
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return refine(*args, **more)

    monkeypatch.setattr(KernelSearch, "refine", signalled)
    model = usable(quick(X, Y), tmp_path)
    assert "it was interrupted before the model was done" in model.summary()


def test_before_the_first_model_there_is_nothing(quick, monkeypatch):
    def never(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation, "first_part", never)
    with pytest.raises(KeyboardInterrupt):
        quick(X, Y)


def test_texts_alone_have_no_first_model(quick):
    with pytest.raises(KeyboardInterrupt):
        quick({"t": TEXTS}, Y, kinds={"t": "text"}, progress=interrupted_at("Losses"))


def test_costs_groups_and_weights_of_a_first_model(quick, tmp_path):
    """What is decided on tested rows is decided on those of the first model, too."""
    tell = interrupted_at("Losses")
    labels = np.where(Y > 0.5, "high", "low")
    labels[3] = "odd"
    labels[90] = "odd"
    wishes = {"groups": np.arange(N) // 3, "costs": {("odd", "low"): 9.0}, "class_weight": "balanced"}
    model = usable(quick(X, labels, progress=tell, **wishes), tmp_path)
    assert model.classes_.tolist() == ["high", "low", "odd"] and model.evidence.scores[0].name == "mean cost"
    auto = quick(X, np.where(Y > 0.5, "high", "low"), progress=interrupted_at("Losses"), threshold="auto")
    assert 0 <= usable(auto, tmp_path).decision.threshold <= 1


# -- time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["folds", "held out"])
@pytest.mark.parametrize("target", ["numbers", "labels"])
def test_a_deadline_that_has_passed_already(how, target, quick, monkeypatch, tmp_path, request):
    """Whatever the time, there is a first model, and with few rows perhaps more."""
    if how == "held out":
        request.getfixturevalue("held_out")
    monkeypatch.setattr("mercer.tables.model.deadline._GRACE", -1e6)
    model = usable(quick(X, LABELS if target == "labels" else Y), tmp_path)
    assert any("the time was up before" in said for said in model.evidence.remarks)
    assert any("the time was up before" in said for said in model.evidence.cut)
    assert "the time was up before" in model.summary()


def test_who_is_given_up_gives_up(hasty):
    """A fit inside of something that nobody waits for any more does not answer with its first model."""
    asked, given_up = Question(Table.of(X), Y, "regression", None), []

    def tell(text):
        given_up.append(text)

    with pytest.raises(Stopped), stop_when(lambda: bool(given_up)):
        evaluate(asked, Deadline(60.0), 0, tell)


# -- solvers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [NotPositiveDefinite("no pivot"), np.linalg.LinAlgError("no pivot")])
def test_a_solver_that_fails_does_not_lose_the_call(error, quick, monkeypatch, tmp_path):
    def fails(*_):
        raise error

    monkeypatch.setattr("mercer.tables.model.learn.fit_alone", fails)
    model = usable(quick(X, Y), tmp_path)
    assert any("a solver failed (no pivot) before the model was done" in r for r in model.evidence.cut)


def test_a_mistake_of_ours_is_not_hidden(quick, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("mercer.tables.model.learn.fit_alone", fails)
    with pytest.raises(ZeroDivisionError):
        quick(X, Y)


def test_without_a_first_model_errors_are_those_of_the_solver(quick, monkeypatch):
    def fails(*_):
        raise NotPositiveDefinite("no pivot")

    monkeypatch.setattr(evaluation, "first_part", fails)
    assert quick(X, Y).evidence.cut == ()  # it is not needed
    monkeypatch.setattr("mercer.tables.model.learn.fit_alone", fails)
    with pytest.raises(NotPositiveDefinite):
        quick(X, Y)
