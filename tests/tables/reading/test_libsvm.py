"""LIBSVM files, against scikit-learn's writer and reader."""

import numpy as np
import pytest
import scipy.sparse as sparse
from sklearn.datasets import dump_svmlight_file

from mercer.tables.reading import Table, TableError, read
from mercer.tables.reading.libsvm import Libsvm


def save(tmp_path, text, name="a.svm"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("zero_based", [True, False])
def test_what_scikit_learn_writes(tmp_path, zero_based):
    rng = np.random.default_rng(0)
    X = sparse.random(40, 7, 0.4, format="csr", random_state=rng)
    X = ((X * 1024).floor() / 1024).tolil()  # scikit-learn writes 16 digits
    X[0, 0] = X[0, 6] = 1.5
    y = rng.integers(0, 3, 40).astype(float)
    dump_svmlight_file(X.tocsr(), y, str(tmp_path / "a.libsvm"), zero_based=zero_based, comment="from a test")
    table = read(tmp_path / "a.libsvm")
    first = 0 if zero_based else 1
    assert table.names == ("target", *(f"x{j + first}" for j in range(7)))
    np.testing.assert_array_equal(table["target"], y)
    np.testing.assert_array_equal(np.column_stack([table[n] for n in table.names[1:]]), X.toarray())


def test_comments_queries_blank_lines_and_missing_values(tmp_path):
    path = save(tmp_path, "# head\n+1 qid:3 1:0.5 3:nan # tail\n\n-1\n2.5 2:1e-3\n")
    expected = {"target": [1, -1, 2.5], "x1": [0.5, 0, 0], "x2": [0, 0, 1e-3], "x3": [None, 0, 0]}
    assert read(path) == Table.of(expected)
    assert read(path, limit=3).n_rows <= 3
    assert read(path, kinds={"target": "text"})["target"].tolist() == ["1", "-1", "2.5"]


@pytest.mark.parametrize(
    "line, message",
    [
        ("x 1:2", "the target 'x' is not a finite number"),
        ("inf 1:2", "target 'inf'"),
        ("1 2", "'2' is no pair"),
        ("1 a:2", "'a:2' is no pair"),
        ("1 1:x", "'x' .for index 1. is not a number"),
        ("1 1:1_0", "'1_0'"),
        ("1 1:1e999", "'1e999' .for index 1. is not a finite number"),
        ("1 2:1 1:1", "index 1 comes after 2; indices must rise"),
        ("1 2:1 2:1", "indices must rise"),
        ("1 -1:1", "no pair"),
        ("1,2 1:1", "target '1,2'"),
        ("1 99999999999999999999:1", "no pair"),
        ("1 1:2\u00a03:4", "is not a number"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path, line, message):
    with pytest.raises(TableError, match=message) as caught:
        read(save(tmp_path, f"1 1:1\n\n{line}\n1 1:1\n"))
    assert caught.value.line == 3


@pytest.mark.parametrize("text", ["1 100000001:1\n1 1:1\n1 1:1\n", "1 999999999999:1\n", "1 2000000:1\n"])
def test_too_wide_for_a_dense_table(tmp_path, text):
    with pytest.raises(TableError, match="too many for a table, which is dense"):
        read(save(tmp_path, text))


def test_recognised_by_look_in_files_of_other_names(tmp_path):
    text = "# c\n+1 1:0.5 7:1\n-1 2:3\n"
    expected = read(save(tmp_path, text))
    for name in ("a.txt", "a9a", "a9a.t", "a.dat"):
        assert read(save(tmp_path, text, name)) == expected
    assert read(save(tmp_path, "a,b\n1,2\n", "b.txt")).names == ("a", "b")
    assert not Libsvm().looks_so("time 10:30\n") and not Libsvm().looks_so("1,2\n")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path, ends):
    path = save(tmp_path, ends.join(["1 1:2", "-1 2:3", ""]))
    assert read(path) == Table.of({"target": [1, -1], "x1": [2, 0], "x2": [0, 3]})


def test_no_rows(tmp_path):
    with pytest.raises(TableError, match="no rows"):
        read(save(tmp_path, "# only words\n"))
    assert read(save(tmp_path, "1\n2\n")).names == ("target",)
