"""What symbols note, and what programmes give when they are run."""

import math

import numpy as np
import pytest

from mercer.codegen.programme import Programme, Tracer, run
from mercer.codegen.symbols import NotTraceable, Symbol


class OneNumber(Tracer):
    """Formulas of one number x."""

    tables = {**Tracer.tables, "x": None}


def traced(formula):
    tracer = OneNumber()
    return tracer.finish(formula(tracer.emit("x"), tracer))[0]


FORMULAS = [
    lambda x, xp: 2 * x - x / 4 + (1 - x) * 3,
    lambda x, xp: -x + abs(x) ** 3 - x**-2 + x**0,
    lambda x, xp: xp.sqrt(x) + xp.sin(x) * xp.cos(x) - xp.tanh(x),
    lambda x, xp: xp.maximum(x, 1.5) - xp.minimum(0.5, x) + xp.clip(x, 0.8, 2.0) + xp.square(x),
    lambda x, xp: np.float64(2.0) * x + np.sqrt(x) * np.pi,
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_programme_computes_what_the_formula_does(formula):
    x = np.linspace(0.3, 3.0, 7)
    values = traced(formula).on_arrays({"x": lambda: x}, np)
    np.testing.assert_allclose(values, formula(x, np), rtol=1e-13)


def test_numbers_are_computed_at_once_and_common_parts_once():
    programme = traced(lambda x, xp: (x + 1.0) * (x + 1.0) + xp.sqrt(xp.number(4.0)) * 0.5)
    assert programme == Programme(
        (("x",), ("constant", 0), ("add", 0, 1), ("mul", 2, 2), ("add", 3, 1)), (1.0,)
    )
    assert traced(lambda x, xp: (x * 2.0) * 3.0 * 1.0 + 0.0).constants == (6.0,)
    assert traced(lambda x, xp: (xp.sin(x), x)[1]).instructions == (("x",),)  # what is not needed is left out


@pytest.mark.parametrize(
    "formula, words",
    [
        (lambda x, xp: xp.arctan(x), "xp.arctan"),
        (lambda x, xp: 1 if x else 2, "branches on values"),
        (lambda x, xp: float(x), "asks for a value"),
        (lambda x, xp: np.asarray(x), "turns values into arrays"),
        (lambda x, xp: x**0.5, "a power 0.5"),
        (lambda x, xp: 2.0**x, "an exponent that is not a number"),
        (lambda x, xp: x + "a", "holds a str"),
        (lambda x, xp: x < 1.0, "xp.less"),
        (lambda x, xp: np.add.reduce(x), r"add\.reduce"),
    ],
)
def test_refusals(formula, words):
    with pytest.raises(NotTraceable, match=words):
        traced(formula)


def test_run_takes_sources_as_they_are_made():
    code = [("row", 3), ("x",), ("sub", 0, 1)]
    assert run(code, lambda op, a, b: (op, a, b), {"row": lambda i: 10 * i, "x": lambda: 1}) == ("sub", 30, 1)


def test_every_operator_reaches_the_recorder():
    class Notes:
        def apply(self, name, *inputs):
            return name, len(inputs)

    s = Symbol(Notes(), 0)
    assert [s + 1, 1 - s, s * s, 1 / s, s**2, -s, abs(s), s @ s] == [
        *(("add", 2), ("subtract", 2), ("multiply", 2), ("divide", 2), ("power", 2)),
        *(("negative", 1), ("absolute", 1), ("matmul", 2)),
    ]
    assert [s < 1, s >= 1, s == 1, s != 1][0] == ("less", 2)
    assert math.isfinite(hash(s))
