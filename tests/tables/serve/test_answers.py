"""Answers are the model's own, cut into the right pieces."""

import json
from types import SimpleNamespace

import numpy as np

from mercer._http.refusal import Refusal
from mercer.tables.serve.answers import Answers
from mercer.tables.serve.rows import Asked, parse


def asked(model, rows, interval=None):
    body = {"rows": rows} | ({} if interval is None else {"interval": interval})
    return parse(json.dumps(body).encode(), model, 1000)


def test_each_gets_its_own_rows(regression, rows):
    parts = [rows(n, seed) for seed, n in enumerate([3, 0, 1, 20])]
    batch = [asked(regression, part) for part in parts]
    for part, answer in zip(parts, Answers(regression)(batch), strict=True):
        found = json.loads(answer)
        assert set(found) <= {"predictions", "outside"}
        expected = regression.predict(part) if part else []
        np.testing.assert_allclose(found["predictions"], expected, rtol=1e-9)


def test_what_lies_beyond_is_said_to_whom_it_concerns(regression, rows):
    far = [row | {"size": 1e6} for row in rows(2, 7)]
    batch = [asked(regression, part) for part in ([], far)]
    near, beyond = (json.loads(answer) for answer in Answers(regression)(batch))
    assert "outside" not in near
    assert [(o["row"], o["column"], o["value"]) for o in beyond["outside"] if o["column"] == "size"] == [
        (0, "size", 1e6),
        (1, "size", 1e6),
    ]


def test_alone_it_is_what_predict_says_to_the_last_bit(regression, classification, rows):
    for n in (1, 5, 13):
        found = json.loads(Answers(regression)([asked(regression, rows(n, n), 0.8)])[0])
        assert found["predictions"] == regression.predict(rows(n, n)).tolist()
        assert found["intervals"] == regression.predict_interval(rows(n, n), 0.8).tolist()
        found = json.loads(Answers(classification)([asked(classification, rows(n, n))])[0])
        assert found["predictions"] == classification.predict(rows(n, n)).tolist()
        assert found["probabilities"] == classification.predict_proba(rows(n, n)).tolist()
        assert found["classes"] == ["cheap", "dear", "fair"]


def test_intervals_of_different_coverage_in_one_batch(regression, rows):
    wanted = [0.5, None, 0.9, 0.5]
    batch = [asked(regression, rows(4, seed), level) for seed, level in enumerate(wanted)]
    for seed, (level, answer) in enumerate(zip(wanted, Answers(regression)(batch), strict=True)):
        found = json.loads(answer)
        assert ("intervals" in found) == (level is not None)
        if level is not None:
            np.testing.assert_allclose(
                found["intervals"], regression.predict_interval(rows(4, seed), level), rtol=1e-9
            )


def test_an_interval_without_an_end_is_null(regression, rows):
    answer = json.loads(Answers(regression)([asked(regression, rows(2), 0.9999)])[0])
    assert answer["intervals"] == [[None, None], [None, None]]


def test_no_rows_have_empty_answers(regression, classification):
    assert json.loads(Answers(regression)([asked(regression, [], 0.9)])[0]) == {
        "predictions": [],
        "intervals": [],
    }
    assert json.loads(Answers(classification)([asked(classification, [])])[0]) == {
        "predictions": [],
        "classes": ["cheap", "dear", "fair"],
        "probabilities": [],
    }


def test_one_that_fails_does_not_spoil_the_others(regression, rows, caplog):
    def predict(table):
        if (table["size"] == 13).any():
            raise ValueError("thirteen")
        if (table["size"] == 14).any():
            raise RuntimeError("fourteen")
        return regression.predict(table)

    model = SimpleNamespace(task="regression", predict=predict, outside=lambda table: ())
    batch = [asked(regression, rows(2, i)) for i in range(4)]
    bad = {1: 13, 2: 14}
    for i, size in bad.items():
        batch[i] = asked(regression, [row | {"size": size} for row in rows(2, i)])
    found = Answers(model)(batch)
    assert isinstance(found[1], Refusal) and (found[1].status, found[1].problem) == (422, "thirteen")
    assert isinstance(found[2], Refusal) and found[2].status == 500 and "fourteen" not in found[2].problem
    for i in (0, 3):
        assert json.loads(found[i])["predictions"] == regression.predict(rows(2, i)).tolist()
    assert "fourteen" in caplog.text  # for whoever runs the server


def test_numbers_too_large_to_compute_with_are_refused(regression, rows):
    far = asked(regression, [row | {"size": 1e308} for row in rows(1)])
    near = asked(regression, rows(3))
    first, second = Answers(regression)([far, near])
    if isinstance(first, Refusal):
        assert first.status == 422
    else:
        assert np.isfinite(json.loads(first)["predictions"]).all()
    np.testing.assert_allclose(json.loads(second)["predictions"], regression.predict(rows(3)), rtol=1e-9)


def test_asked_has_the_length_of_its_table(regression, rows):
    assert len(Asked(asked(regression, rows(5)).table, None)) == 5
