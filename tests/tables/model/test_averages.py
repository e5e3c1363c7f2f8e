"""Averages of kernels, against solutions of their systems written out."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from mercer import KernelRidge
from mercer._threads import Stopped, stop_when
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Matern
from mercer.tables.model.averages import Average, combined, near_ties
from mercer.tables.model.families import Candidate
from mercer.tables.model.judging import Judge

SQUARES = Judge(np.zeros(1), 1.0)


def candidate(kernel, mu, family="", **more):
    return Candidate("keep", family or repr(kernel), kernel, mu, **more)


def problem(n=80, fresh=60, seed=0, outputs=1):
    """A straight line and waves about it: no kernel here has both."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n + fresh, 2))
    Y = (
        np.sin(4 * X[:, :1])
        + 2 * X[:, 1:] @ np.ones((1, outputs))
        + 0.1 * rng.standard_normal((n + fresh, outputs))
    )
    Y -= Y[:n].mean(axis=0)
    return X[:n], Y[:n], X[n:], Y[n:]


def average(members, data=None, judge=SQUARES):
    return Average(members, *(problem() if data is None else data), judge)


def written_out(members, shares, shift, data):
    """Σ w k/μ + cI in float64, and its predictions at the other rows."""
    X, Y, there, _ = data
    K = sum(w * m.kernel(X, X) / m.mu for w, m in zip(shares, members, strict=True))
    k = sum(w * m.kernel(there, X) / m.mu for w, m in zip(shares, members, strict=True))
    return k @ np.linalg.solve(K + shift * np.eye(len(X)), Y)


MEMBERS = [
    candidate(Laplacian(2.0), 0.3, "laplacian"),
    candidate(3.0 * Gaussian(0.5), 0.05, "gaussian"),
    candidate(Linear(), 1.0, "linear"),
]


@pytest.mark.parametrize("counts", [[1, 0, 0], [1, 1, 0], [3, 0, 2], [1, 2, 1]])
@pytest.mark.parametrize("shift", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_error_is_that_of_the_system(counts, shift, outputs):
    data = problem(outputs=outputs)
    shares = np.array(counts) / sum(counts)
    expected = np.mean((written_out(MEMBERS, shares, shift, data) - data[3]) ** 2)
    assert average(MEMBERS, data).error(counts, shift) == pytest.approx(expected, rel=1e-9)


def test_one_member_alone_is_its_own_machine():
    X, Y, there, truth = data = problem()
    for i, m in enumerate(MEMBERS):
        machine = KernelRidge(m.kernel, lam=m.mu / len(X), offset=False, representation="full").fit(X, Y)
        expected = np.mean((machine.predict(there).reshape(-1, 1) - truth) ** 2)
        assert average(MEMBERS, data).error([int(i == j) for j in range(3)]) == pytest.approx(
            expected, rel=1e-6
        )


def test_errors_are_what_the_judge_says():
    data = problem()
    S = written_out(MEMBERS, [0.5, 0.5, 0], 1.0, data)
    sizes = Judge(np.zeros(1), 1.0, metric="mae")
    found = average(MEMBERS, data, sizes).error([1, 1, 0])
    assert found == pytest.approx(np.mean(np.abs(S - data[3])), rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_the_candidate_predicts_what_was_judged(scale):
    """Members' kernels and μ may be in units of their own: k/μ is what counts."""
    X, Y, there, truth = data = problem()
    members = [replace(m, kernel=scale**i * m.kernel, mu=scale**i * m.mu) for i, m in enumerate(MEMBERS)]
    best = average(members, data).best()
    assert best is not None and best.stage == "average" and best.fresh == best.error and best.rows == len(X)
    machine = KernelRidge(best.kernel, lam=best.mu / len(X), offset=False, representation="full").fit(X, Y)
    predicted = machine.predict(there).reshape(-1, 1)
    assert np.mean((predicted - truth) ** 2) == pytest.approx(best.error, rel=1e-5)
    # Its values k(x,x) are as large as those of the first member, so that μ has the meaning it had.
    assert np.mean(best.kernel.diag(X)) == pytest.approx(np.mean(members[0].kernel.diag(X)))
    names, shares = zip(*best.parts, strict=True)
    assert names[0] == "laplacian" and sum(shares) == pytest.approx(1) and np.isnan(best.loo)
    assert best.family.startswith("average of laplacian (") and "linear (" in best.family
    # It is the system with these shares.
    by_name = {m.family: m for m in members}
    again = [written_out([by_name[n] for n in names], shares, c, data) for c in (0.5, 1.0, 2.0)]
    assert min(np.abs(predicted - S).max() for S in again) < 1e-4


def test_the_best_is_better_than_each_alone_and_no_single_change_of_it_is_worth_it():
    data = problem()
    judged = average(MEMBERS, data)
    best = judged.best()
    alone = [judged.error([int(i == j) for j in range(3)]) for i in range(3)]
    assert best.error <= 0.997 * min(alone)
    # On other rows, too.
    X, Y, _, _ = data
    there, truth = problem(seed=7)[2:]

    def error(kernel, mu):
        machine = KernelRidge(kernel, lam=mu / len(X), offset=False, representation="full").fit(X, Y)
        return np.mean((machine.predict(there).reshape(-1, 1) - truth) ** 2)

    assert error(best.kernel, best.mu) < 0.9 * min(error(m.kernel, m.mu) for m in MEMBERS)


def test_nothing_gained_is_nothing():
    first = MEMBERS[1]
    assert average([first]).best() is None
    assert average([first, first, replace(first, family="again")]).best() is None
    # What only knows noise.
    assert average([first, candidate(Gaussian(1e-6), 1.0)]).best() is None


class NotOne(Kernel):
    """x·z − 5: no kernel at all."""

    def pairwise(self, X, Z):
        return X @ Z.T - 5.0

    def diagonal(self, X):
        return (X**2).sum(axis=1) - 5.0

    def rule(self):
        return "none"


def test_a_member_whose_matrix_cannot_be_factored_is_passed_over():
    bad = candidate(NotOne(), 1e-3)
    data = problem()
    judged = average([MEMBERS[0], bad, MEMBERS[2]], data)
    assert judged.error([0, 1, 0]) == np.inf
    best = judged.best()
    assert [name for name, _ in best.parts] == ["laplacian", "linear"]
    assert best.error == pytest.approx(average([MEMBERS[0], MEMBERS[2]], data).best().error)
    # Where that is the first one, or all of them, there is nothing to gain from it.
    assert average([bad], data).best() is None and average([bad, bad], data).best() is None


def test_values_that_are_no_numbers_are_passed_over():
    class Wild(NotOne):
        def pairwise(self, X, Z):
            return np.full((len(X), len(Z)), np.nan)

    data = problem()
    judged = average([MEMBERS[0], candidate(Wild(), 1.0), MEMBERS[2]], data)
    with np.errstate(invalid="ignore"):
        assert judged.error([1, 1, 0]) == np.inf
        assert [name for name, _ in judged.best().parts] == ["laplacian", "linear"]


def test_it_is_given_up_when_somebody_says_so():
    with pytest.raises(Stopped), stop_when(lambda: True):
        average(MEMBERS).best()


def test_combined_by_hand():
    X, Y, there, _ = data = problem()
    shares = [0.2, 0.5, 0.3]
    made = combined(list(zip(shares, MEMBERS, strict=True)), X, shift=2.0)
    K = made.kernel(X, X) + made.mu * np.eye(len(X))
    predicted = made.kernel(there, X) @ np.linalg.solve(K, Y)
    np.testing.assert_allclose(predicted, written_out(MEMBERS, shares, 2.0, data), rtol=1e-6, atol=1e-9)
    assert made.parts == (("laplacian", 0.2), ("gaussian", 0.5), ("linear", 0.3))


def test_points_of_which_a_kernel_knows_nothing():
    """x·z is 0 of the point 0: there is no size to go by."""
    zeros = np.zeros((5, 2))
    made = combined([(0.5, MEMBERS[2]), (0.5, MEMBERS[2])], zeros)
    assert np.isfinite(made.mu) and made.mu > 0 and (made.kernel(zeros) == 0).all()


# -- near ties ---------------------------------------------------------------------------------------


def test_near_ties():
    tried = partial(candidate, Matern(1.5, 1.0), 1.0)
    pool = [tried(f"{error}", error=error) for error in (0.3, 0.1, 0.12, 0.125, 0.1251, 0.2)]
    assert [c.error for c in near_ties(pool, 5)] == [0.1, 0.12, 0.125]
    assert [c.error for c in near_ties(pool, 2)] == [0.1, 0.12]
    assert [c.error for c in near_ties(pool, 1)] == [0.1] and [c.error for c in near_ties(pool[:1], 3)] == [
        0.3
    ]


def test_ties_on_another_preparation_cannot_be_averaged():
    a, b, c = (candidate(Linear(), 1.0, error=error) for error in (0.1, 0.11, 0.12))
    assert near_ties([c, replace(b, outliers="squash"), a], 5) == [a, c]
