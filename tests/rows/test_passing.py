"""What is said of the passes of a fit."""

import numpy as np
import pytest

import mercer
from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.representations import Nystrom
from mercer.rows import ArrayRows, progress
from mercer.rows.passing import Passing

X = np.random.default_rng(0).uniform(-2, 2, (300, 1))


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a test says so."""
    now = [0.0]
    monkeypatch.setattr("mercer.rows.passing.time.monotonic", lambda: now[0])
    return now


def test_how_long_it_will_take(clock):
    said = []
    passing = Passing(said.append, passes=5)
    for done in (500, 1000, 500, 1000):  # 10 seconds a pass
        clock[0] += 5
        passing(done, 1000)
    assert said == [
        "pass 1, 500 of 1,000 rows",
        "pass 1, 1,000 of 1,000 rows",
        "about 35 s left, pass 2, 500 of 1,000 rows",
        "about 30 s left, pass 2, 1,000 of 1,000 rows",
    ]
    passing(10, 20)
    assert said[-1] == "pass 1, 10 of 20 rows"


def test_no_more_often_than_asked(clock):
    said = []
    passing = Passing(said.append, every=3)
    for done in range(1, 11):
        clock[0] += 1
        passing(done, 10)
    assert [text.split(",")[1] for text in said] == [
        " 1 of 10 rows",
        " 4 of 10 rows",
        " 7 of 10 rows",
        " 10 of 10 rows",
    ]
    assert passing.passes == 2


def test_a_fit_says_its_passes(capsys):
    machine = KernelRidge(Gaussian(1.0), lam=1e-3, representation=Nystrom(10), random_state=0)
    rows, said = ArrayRows(X, np.sin(X[:, 0]), rows=100), []
    with progress(said.append, every=0):
        machine.fit(rows)
    # A look at the rows comes first; the certificate's is one of the solver's passes.
    assert len(said) == 3 * (1 + machine.solution_.iterations)
    assert said[0] == "pass 1, 100 of 300 rows" and said[-1].endswith(
        f"pass {len(said) // 3}, 300 of 300 rows"
    )
    machine.fit(rows)
    assert len(said) == 3 * (1 + machine.solution_.iterations) and capsys.readouterr() == ("", "")
    assert mercer.progress is progress
    with mercer.progress():
        machine.predict(rows)
    assert capsys.readouterr() == ("", "pass 1, 100 of 300 rows\n")
