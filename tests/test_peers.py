"""Adapters for scikit-learn's tests translate; they compute nothing, and call things by their names."""

import inspect

import numpy as np
import pytest
import sklearn.metrics.pairwise as pairwise
import sklearn.svm
from peers import __main__ as peers
from peers import adapter, plugin, svm
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.utils import all_estimators

from mercer.kernels import Gaussian

REPLACED = plugin.replaced()
X = np.random.default_rng(0).standard_normal((12, 3))


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_machines_have_the_parameters_of_those_they_stand_for():
    theirs = dict(all_estimators())
    named = {name.rpartition(".")[2]: thing for name, thing in REPLACED.items()}
    machines = {name: thing for name, thing in named.items() if name in theirs}
    assert len(machines) > 30
    for name, machine in machines.items():
        assert inspect.signature(machine.__init__) == inspect.signature(theirs[name].__init__), name
        assert clone(machine()).get_params() == theirs[name]().get_params()
        assert machine.__name__ == name and not issubclass(machine, theirs[name])


@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian", "poly", "sigmoid", "cosine", "chi2"])
def test_kernels_are_those_of_that_name(name):
    points, words = abs(X), {"gamma": 0.3} if name not in ("linear", "cosine") else {}
    words |= {"coef0": 0.7} if name in ("poly", "sigmoid") else {}
    wanted = pairwise.pairwise_kernels(points, metric=name, **words)
    assert np.allclose(adapter.named_kernel(name, 0.3, 3, 0.7)(points), wanted, atol=1e-12)


def test_widths_are_those_of_that_name():
    theirs = sklearn.svm.SVC(gamma="scale").fit(X, X[:, 0] > 0)
    assert adapter.width("scale", X) == pytest.approx(theirs._gamma)
    assert adapter.width("auto", X) == adapter.width(None, X) == 1 / 3
    assert adapter.width(0.4, X) == 0.4


def test_support_vectors_are_in_the_layout_of_libsvm():
    points, labels = make_blobs(60, centers=4, cluster_std=2.5, random_state=0)
    ours = svm.SVC(C=1.0, gamma=0.2).fit(points, labels)
    theirs = sklearn.svm.SVC(C=1.0, gamma=0.2, tol=1e-8).fit(points, labels)
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    assert np.allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_what_is_not_there_is_lacking():
    with pytest.raises(adapter.Lacking, match="Gaussian has no depth"):
        adapter.ours(Gaussian, depth=3)
    with pytest.raises(adapter.Lacking, match="the kernel 'fancy'"):
        adapter.named_kernel("fancy", 1.0, 3, 0.0)
    with pytest.raises(adapter.Lacking, match="negative weights"):
        svm.SVR().fit(X, X[:, 0], sample_weight=-np.ones(12))


def failed(function):
    with pytest.raises(BaseException) as caught:
        function()
    return plugin.judged(caught)


def test_kinds_of_failures():
    def lacks():
        raise adapter.Lacking("such a thing")

    def hides():
        try:
            lacks()
        except adapter.Lacking as error:
            raise ValueError("all fits failed") from error

    def other_words():
        with pytest.raises(ValueError, match="theirs"):
            raise ValueError("ours")

    def no_warning():
        with pytest.warns(FutureWarning):
            pass

    def differs():
        np.testing.assert_allclose([1.0], [2.0])

    assert failed(lacks) == failed(hides) == ("lacking", "such a thing")
    assert failed(lambda: svm.SVC()._gamma)[0] == "inside"
    assert failed(other_words)[0] == failed(no_warning)[0] == "words"
    assert failed(differs)[0] == "wrong"


def test_what_fails_is_compared_with_the_list(tmp_path, monkeypatch):
    listed = [
        peers.Listed("lacking", "a/test_a.py::test_one[x-*", "there is none"),
        peers.Listed("words", "a/test_a.py::test_two*", "said otherwise"),
        peers.Listed("wrong", "a/test_a.py::test_three", "a bug"),
    ]
    outcomes = [
        peers.Outcome("a/test_a.py::test_one[x-1]", False, 1, "lacking", "?"),
        peers.Outcome("a/test_a.py::test_two[1]", False, 1, "wrong", "?"),
        peers.Outcome("a/test_a.py::test_three", True, 2),
        peers.Outcome("a/test_a.py::test_four", False, 1, "wrong", "1 is not 2"),
        peers.Outcome("a/test_a.py::test_five", False, 0, "wrong", "asks nothing of ours"),
    ]
    counts, fresh, stale = peers.counted(outcomes, listed)
    assert counts == {"lacking": 1, "words": 1, "passed": 1, "wrong": 1, "not about ours": 1}
    assert fresh == ["wrong | a/test_a.py::test_four | 1 is not 2"]
    assert stale == ["wrong | a/test_a.py::test_three | a bug"]
    monkeypatch.setattr(peers, "LIST", tmp_path / "remaining.txt")
    peers.write_list(listed, listed, fresh, set(stale))
    assert {str(line) for line in peers.read_list(peers.LIST)} == {*map(str, listed[:2]), fresh[0]}


def test_the_list_is_one():
    lines = peers.read_list()
    assert len({line.pattern for line in lines}) == len(lines)
    assert all(line.pattern.startswith(peers.FILES) for line in lines)
