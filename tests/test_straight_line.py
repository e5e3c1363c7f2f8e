"""One fit and one predict, followed: the calls that docs/design.md lists, in its order, and no way back."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Gaussian

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "mercer"


def listed(title: str) -> list[tuple[str, str]]:
    """(file, function) of a table of docs/design.md."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = text.split(f"| {title} | where | call |\n")[1].split("\n\n")[0]
    rows = re.findall(r"^\| [^|]+ \| `([^`]+)` \| `([^`]+)` \|$", table, re.M)
    assert len(rows) == len(table.splitlines()) - 1
    return rows


def followed(call) -> list[tuple[str, str]]:
    """(file, function) of every call of mercer's."""
    found = []

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCE):
            found.append((str(path.relative_to(SOURCE)), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).standard_normal((300, 3))
    return X, X[:, 0]


def require_line(steps, calls):
    assert len({file for file, _ in steps}) == len(steps), "every file once"
    places = [[i for i, call in enumerate(calls) if call == step] for step in steps]
    assert [len(p) for p in places] == [1] * len(steps), dict(zip(steps, map(len, places)))
    assert places == sorted(places), "in the order of the list"


def test_fit(data):
    require_line(listed("fit"), followed(lambda: KernelRidge(Gaussian(1.0), lam=0.01).fit(*data)))


def test_predict(data):
    machine = KernelRidge(Gaussian(1.0), lam=0.01).fit(*data)
    require_line(listed("predict"), followed(lambda: machine.predict(data[0][:5])))


def test_a_second_prediction_prepares_nothing(data):
    """Nothing is traced, laid out, packed or compiled again, whatever the rows."""
    machine = KernelRidge(Gaussian(1.0), lam=0.01).fit(*data)
    first = followed(lambda: machine.predict(data[0][:1]))
    again = followed(lambda: machine.predict(data[0][1:2]))
    once = {("kernels/formula.py", "trace"), ("engines/fused/layout.py", "Layout.__init__")}
    once |= {("engines/fused/packed.py", "Packed.__init__"), ("engines/fused/code.py", "loops")}
    assert once <= set(first) and not once & set(again)


@pytest.mark.parametrize("d", [3, 10, 30])
def test_a_row_alone_has_the_value_it_has_among_others(d):
    X = np.random.default_rng(1).standard_normal((300, d))
    machine = KernelRidge(Gaussian(d**0.5), lam=0.01).fit(X, X[:, 0])
    together = machine.predict(X[:20])
    assert np.array_equal(together, [machine.predict(X[i : i + 1])[0] for i in range(20)])
