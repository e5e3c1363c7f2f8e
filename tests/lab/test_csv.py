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
        "1 of 5 rows had no number and was left out",
        "1 of 5 rows had no label and was left out",
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
    ("text", "X", "y"),
    [
        ("1,2\n3,4\n5,6\n", [[1], [3], [5]], [2, 4, 6]),
        ("\ufeff1;2,5\n3;4,5\n", [[1], [3]], [2.5, 4.5]),
        ("1,2,cat\n3,4,dog\n5,6,cat\n", [[1, 2], [3, 4], [5, 6]], ["cat", "dog", "cat"]),
        ("1\t2\t0\n3\t4\t1\n5\t6\t1\n", [[1, 2], [3, 4], [5, 6]], ["0", "1", "1"]),
    ],
)
def test_a_file_without_names(lab, text, X, y):
    status, found = given(lab, text)
    assert status == 200 and found["X"] == X and found["y"] == y
    assert "no line of names" in found["notes"][0] and found["columns"][0] == "column 1"


def test_names_that_are_numbers_are_names_where_a_word_stands_beside_them(lab):
    found = given(lab, "2020,2021,kind\n1,2,cat\n3,4,dog\n5,6,cat\n")[1]
    assert found["columns"] == ["2020", "2021", "kind"] and len(found["X"]) == 3


def test_lines_are_counted_as_in_the_file(lab):
    refused(given(lab, "1,2\n3,4\n5,6,7\n"), "text", "mine.csv, line 3")


def test_labels_that_are_dates(lab):
    found = given(lab, "a,b,day\n1,2,2024-02-01\n3,4,2024-02-02\n5,6,2024-02-02\n")[1]
    assert found["y"] == ["2024-02-01", "2024-02-02", "2024-02-02"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,c\n1,2,x\n3,4,y,9\n", ("mine.csv, line 3",)),
        ("a,b\n1,2\n2,oops\n3,4\n4,5\n5,6\n", ("two columns of numbers",)),
        ("a,b\n" + "1,2\n" * 60 + "2,oops\n", ("line 62", "'oops' is not a number")),
        ("", ("empty",)),
        ("\ud800", ("Unicode",)),
        ("a,a\n1,2\n", ("same name",)),
        ("one\n1\n2\n", ("two columns of numbers",)),
        ("a,b,c\n1,2,x\n3,4,x\n", ("different labels",)),
        ("a,b\n1,2\n", ("two are needed",)),
        ("a,b\n1e8,2\n2e8,3\n", ("two are needed", "beyond 1,000,000")),
        ("," * 1000 + "\n", ("1,001 columns are too many",)),
        (f"a,b,c\n1,2,{'w' * 61}\n3,4,x\n", ("is no label",)),
        ("a,b,c\n1,2,x\x01\n3,4,x\n", ("is no label",)),
        ("a,b,c\n" + "".join(f"{i},{i},w{i}\n" for i in range(9)), ("9 different labels",)),
    ],
)
def test_bad_files_say_what_is_wrong(lab, text, words):
    answer = given(lab, text)
    assert answer[0] == 400
    error = refused(answer, "text", *words)["error"]
    assert "kinds=" not in error and "--" not in error


def test_wrong_requests(lab):
    refused(lab("/api/csv", {"text": 5}), "text")
    refused(lab("/api/csv", {"text": "a,b\n1,2\n", "name": "x" * 300}), "name")
    assert given(lab, "a,b\n1,2\n2,3\n", "../../etc/passwd")[0] == 200  # only its last part is ever shown
