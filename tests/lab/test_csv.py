"""/api/csv: files of people, as they are."""

import pytest

from asgi import refused


def given(lab, text, name="mine.csv"):
    return lab("/api/csv", {"text": text, "name": name})


def test_labels(lab):
    status, found = given(lab, "width,height,kind\n1,2,cat\n3,4.5,dog\n5,6,cat\n,7,dog\n8,9,\n")
    assert status == 200 and found["task"] == "labels"
    assert found["X"] == [[1, 2], [3, 4.5], [5, 6]] and found["y"] == ["cat", "dog", "cat"]
    assert found["columns"] == ["width", "height", "kind"]
    assert found["notes"] == [
        "1 of 5 rows had no number and were left out",
        "1 of 5 rows had no label and were left out",
    ]


def test_a_third_column_of_few_whole_numbers_holds_labels(lab):
    found = given(lab, "a,b,c\n1,2,0\n3,4,1\n5,6,1\n")[1]
    assert found["task"] == "labels" and found["y"] == ["0", "1", "1"]
    found = given(lab, "a,b,c\n1,2,0.5\n3,4,1\n5,6,1\n")[1]
    assert found["task"] == "curve" and "c" in found["notes"][0]


def test_curves_and_other_separators(lab):
    found = given(lab, "x;y\n1,5;2\n2,5;3\n")[1]
    assert found["task"] == "curve" and found["X"] == [[1.5], [2.5]] and found["y"] == [2, 3]


def test_too_many_points_are_thinned_and_too_large_ones_left_out(lab):
    rows = "\n".join(f"{i},{i % 7}" for i in range(3000))
    found = given(lab, f"x,y\n{rows}\n1e9,2\n")[1]
    assert len(found["X"]) == 2000 and len(found["notes"]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,c\n1,2,x\n3,4,y,9\n", ("mine.csv, line 3",)),
        ("a,b\n1,2\n2,oops\n3,4\n4,5\n5,6\n", ("two columns of numbers",)),
        ("", ("empty",)),
        ("\ud800", ("Unicode",)),
        ("a,a\n1,2\n", ("same name",)),
        ("one\n1\n2\n", ("two columns of numbers",)),
        ("a,b,c\n1,2,x\n3,4,x\n", ("different labels",)),
        ("a,b\n1,2\n", ("two are needed",)),
        ("a,b,c\n" + "".join(f"{i},{i},w{i}\n" for i in range(9)), ("9 different labels",)),
    ],
)
def test_bad_files_say_what_is_wrong(lab, text, words):
    answer = given(lab, text)
    assert answer[0] == 400
    refused(answer, "text", *words)


def test_wrong_requests(lab):
    refused(lab("/api/csv", {"text": 5}), "text")
    refused(lab("/api/csv", {"text": "a,b\n1,2\n", "name": "x" * 300}), "name")
    assert given(lab, "a,b\n1,2\n2,3\n", "../../etc/passwd")[0] == 200  # only its last part is ever shown
