"""Elimination, on the text's example and on random conjunctions."""

from itertools import product

import numpy as np
import pytest

from mercer.theory.learnability import Conjunction, Conjunctions, Inconsistent, sample_size


def of_the_text(fourth_ends_in):
    """The text's seven examples. Dots are filled as they begin and end; of the fourth more below."""

    def row(start, fill, *end):
        return [*start, *[fill] * (100 - len(start) - len(end)), *end]

    X = [
        row([1, 1, 1, 1, 1], 1, 1, 1),
        row([1, 1, 1, 0, 0, 0], 0, 0, 0),
        row([1, 0, 1, 1, 1, 0], 0, 0, 1),
        row([1, 1, 1, 1, 1, 0], 0, 0, fourth_ends_in),
        row([1, 0, 1, 0, 0, 0], 0, 1, 1),
        row([1, 1, 1, 1, 1, 1], 0, 0, 1),
        row([0, 1, 0, 1, 0, 0], 0, 1, 1),
    ]
    return X, [1, 0, 1, 1, 0, 1, 0]


@pytest.mark.parametrize("negations", [True, False])
def test_the_example_of_the_text(negations):
    X, y = of_the_text(1)
    h = Conjunctions(100, negations).learn(X, y)
    assert str(h) == "x₁ ∧ x₃ ∧ x₄ ∧ x₅ ∧ x₁₀₀"
    f = Conjunction((3, 4, 5, 100))
    assert (f(X) == np.array(y)).all()
    # It errs where x₁ = 0, though x₃, x₄, x₅ and x₁₀₀ are 1.
    missed = np.zeros((1, 100), int)
    missed[0, [2, 3, 4, 99]] = 1
    assert f(missed)[0] and not h(missed)[0]


def test_the_fourth_example_as_printed_contradicts_the_text():
    X, y = of_the_text(0)  # ⟨(1, 1, 1, 1, 1, 0, …, 0, 0), 1⟩: x₁₀₀ is 0
    assert not Conjunction((3, 4, 5, 100))(X)[3]
    assert str(Conjunctions(100).learn(X, y)) == "x₁ ∧ x₃ ∧ x₄ ∧ x₅"


def all_conjunctions(n, negations):
    kinds = (0, 1, -1) if negations else (0, 1)
    for chosen in product(kinds, repeat=n):
        yield Conjunction(tuple(s * (i + 1) for i, s in enumerate(chosen) if s))
    if negations:
        yield Conjunction((1, -1))


@pytest.mark.parametrize("negations", [True, False])
def test_against_all_there_are(negations):
    rng = np.random.default_rng(0)
    H = Conjunctions(3, negations)
    everything = list(all_conjunctions(3, negations))
    cube = np.array(list(product((0, 1), repeat=3)))
    assert len({tuple(h(cube)) for h in everything}) == H.size
    for _ in range(300):
        X, y = rng.integers(0, 2, (4, 3)), rng.integers(0, 2, 4).astype(bool)
        h = H.consistent(X, y)
        assert (h is not None) == any((g(X) == y).all() for g in everything)
        assert h is None or (h(X) == y).all()


def test_noise_is_refused_with_the_example():
    X = [[1, 1, 0], [1, 0, 0], [1, 1, 0]]
    with pytest.raises(Inconsistent, match=r"example 2, which is \(1, 1, 0\), labelled −") as e:
        Conjunctions().learn(X, [1, 1, 0])
    assert e.value.example == 2
    assert "satisfies x₁ ∧ ¬x₃" in str(e.value) and "no room for noise" in str(e.value)


def test_without_positive_examples():
    assert str(Conjunctions().learn([[1, 0]], [0])) == "false"
    assert Conjunctions(negations=False).consistent([[1, 1]], [0]) is None  # x₁ ∧ x₂ is the least there is
    assert str(Conjunctions(negations=False).consistent([[1, 0]], [0])) == "x₁ ∧ x₂"
    assert str(Conjunction(())) == "true"


def test_random_conjunctions_fail_less_often_than_promised():
    """The learner itself, at the m of the bound; the error is counted on the whole cube."""
    n, epsilon, delta, trials = 6, 0.2, 0.2, 200
    rng = np.random.default_rng(0)
    cube = np.array(list(product((0, 1), repeat=n)))
    for negations in (True, False):
        H = Conjunctions(n, negations)
        m = sample_size(H, epsilon=epsilon, delta=delta)
        failed = 0
        for _ in range(trials):
            size = rng.integers(0, n + 1)
            chosen = rng.choice(n, size, replace=False) + 1
            f = Conjunction(tuple(chosen * (rng.choice([-1, 1], size) if negations else 1)))
            weights = rng.dirichlet(np.full(len(cube), 0.1))  # a distribution of its own each time
            X = cube[rng.choice(len(cube), m, p=weights)]
            h = H.learn(X, f(X))
            failed += weights[h(cube) != f(cube)].sum() > epsilon
        assert failed / trials <= delta


def test_what_is_refused():
    with pytest.raises(ValueError, match="0 or 1"):
        Conjunctions().consistent([[2, 0]], [1])
    with pytest.raises(ValueError, match="4 coordinates, got 2"):
        Conjunctions(4).consistent([[1, 0]], [1])
    with pytest.raises(ValueError, match="needs 3 variables"):
        Conjunction((3,))([[1, 0]])
    with pytest.raises(ValueError, match="True or False"):
        Conjunctions(2, "yes").consistent([[1, 0]], [1])
    with pytest.raises(ValueError, match="say how many"):
        next(Conjunctions().candidates(2, np.random.default_rng(0)))
    assert Conjunctions(2).from_numbers([1, -2]) == Conjunction((1, -2))
    for H, numbers in ((Conjunctions(2), [3]), (Conjunctions(2), [0.5]), (Conjunctions(2, False), [-1])):
        with pytest.raises(ValueError):
            H.from_numbers(numbers)
