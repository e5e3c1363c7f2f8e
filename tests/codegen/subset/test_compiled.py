"""The compiled subset does what Python does with the same source; the rest is refused in a sentence."""

import math
from itertools import chain
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

# ruff: noqa: F821  (annotations are types of the compiled subset)
pytest.importorskip("llvmlite")

from mercer.codegen.subset import statements as emission
from mercer.codegen.subset.compiled import Callback, Compiled, Unsupported, compiled, source_of

NAMES = {name: getattr(math, name) for name in ("sqrt", "exp", "expm1", "log", "log1p", "tanh", "sin", "cos")}
STEPS, SHIFT = 7, 0.25


def both(source, *others, dtype=np.float64, constants=None):
    """The same function twice: as Python runs it, and as machine code."""
    space = {**NAMES, "inf": math.inf, **(constants or {})}
    for text in (*others, source):
        exec(text, space)
    name = source.split("def ")[1].split("(")[0]
    if constants is None:
        return space[name], compiled([*others, source], dtype)
    fill = {np.float64: "f64", np.float32: "f32"}[dtype]
    return space[name], Compiled([*others, source], fill, constants)


# -- a table of functions, one a construct ---------------------------------------------------------

NUMBERS = {
    "arithmetic": "x + 2.0 * y - x / (y * y + 1.0)",
    "minus": "-x - -y",
    "integer times number": "3 * x - 2 / 4 + 1",
    "integer division": "(i + 1) / 4 + x",
    "min": "min(x, y) + min(i, 3)",
    "max": "max(x, y) * max(i, 2)",
    "absolute": "abs(x) + abs(-i) + abs(i)",
    "rounding": "int(x * 10.0) + float(i)",
    "roots": "sqrt(abs(x)) + exp(-abs(y))",
    "library": "tanh(x) + sin(y) * cos(x) + log(1.0 + x * x) + log1p(abs(y)) + expm1(y / 4.0)",
    "choice": "x if x > y else y * 2.0",
    "choice of kinds": "i if x > y else y",
    "nested choice": "1.0 if x > 1.0 else (2.0 if x > 0.0 else (3.0 if x > -1.0 else 4.0))",
    "and": "1.0 if x > 0.0 and y > 0.0 and i > 1 else 0.0",
    "or": "1.0 if x > 0.0 or y > 0.0 or i > 1 else 0.0",
    "not": "1.0 if not x > 0.0 else 0.0",
    "comparisons": "(1.0 if x < y else 0.0) + (2.0 if x <= y else 0.0) + (4.0 if x >= y else 0.0)",
    "equalities": "(1.0 if x == y else 0.0) + (2.0 if x != y else 0.0) + (4.0 if i == 2 else 0.0)",
    "mixed comparison": "1.0 if x < i else 0.0",
    "truth of an integer": "1.0 if i else 2.0",
    "infinity": "min(x, inf) + (1.0 if -inf < y else 0.0)",
}


@pytest.mark.parametrize("text", NUMBERS.values(), ids=NUMBERS)
def test_expressions(text):
    plain, fast = both(f"def f(x: float, y: float, i: int) -> float:\n    return {text}\n")
    for x, y in [(0.7, -1.3), (-0.4, 2.2), (1.5, 1.5), (0.0, 0.0), (-3.0, -2.0), (1e3, -1e-3)]:
        for i in (0, 1, 2, 5):
            assert fast(x, y, i) == pytest.approx(plain(x, y, i), rel=1e-14, abs=1e-14)


ARRAYS = {
    "for": """
    for i in range(n):
        a[i] = b[i] + 1.0
""",
    "for from": """
    for i in range(2, n):
        a[i] += a[i - 1] * b[i - 2]
""",
    "empty for": """
    for i in range(n, 2):
        a[i] = 9.0
""",
    "the loop variable stays": """
    for i in range(n):
        a[i] = 1.0
    a[0] = i
""",
    "changing the loop variable": """
    for i in range(n):
        a[i] = b[i]
        i = 0
""",
    "while": """
    i = 0
    while i < n and b[i] < 2.0:
        a[i] = 7.0
        i += 1
""",
    "break and continue": """
    for i in range(n):
        if b[i] < 0.0:
            continue
        if a[i] > 1.5:
            break
        a[i] = 3.0
""",
    "break out of the inner one": """
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            a[i] += b[j]
""",
    "continue in while": """
    i = 0
    while i < n:
        i += 1
        if b[i - 1] > 0.0:
            continue
        a[i - 1] = -1.0
""",
    "else if": """
    for i in range(n):
        if b[i] < -0.5:
            a[i] = 1.0
        elif b[i] < 0.5:
            a[i] = 2.0
        else:
            a[i] = 3.0
""",
    "return early": """
    for i in range(n):
        a[i] = 5.0
        if i == 2:
            return
""",
    "augmented": """
    for i in range(n):
        a[i] -= 0.5
        a[i] *= b[i]
        a[i] /= 3.0
""",
    "local numbers": """
    total = 0.0
    k = 3
    for i in range(n):
        total += a[i] * b[i]
        k -= 1
    a[0] = total
    a[1] = k
""",
    "a condition kept": """
    flag = b[0] > 0.0
    for i in range(n):
        if flag or not b[i] > 0.0:
            a[i] = 8.0
""",
    "nothing": """
    pass
""",
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("body", ARRAYS.values(), ids=ARRAYS)
def test_statements(body, dtype):
    plain, fast = both(f'def f(a: "T[:]", b: "f64[:]", n: int):{body}', dtype=dtype)
    rng = np.random.default_rng(0)
    for n in (3, 6, 17):
        a, b = rng.standard_normal(n).astype(dtype), rng.standard_normal(n)
        slow, quick = a.copy(), a.copy()
        plain(slow, b, n)
        fast(quick, b, n)
        np.testing.assert_allclose(quick, slow, rtol=1e-6 if dtype == np.float32 else 1e-13)
        assert quick.dtype == dtype


def test_results_of_both_kinds():
    whole = "def f(n: int) -> int:\n    k = 1\n    for i in range(n):\n        k = k * 2\n    return k\n"
    plain, fast = both(whole)
    assert (fast(40), type(fast(40))) == (plain(40), int)
    plain, fast = both(
        "def g(x: float) -> float:\n    if x > 0.0:\n        return x\n    else:\n        return 2\n"
    )
    assert [fast(3.5), fast(-1.0)] == [plain(3.5), plain(-1.0)] == [3.5, 2.0]


def test_whole_numbers_in_arrays():
    plain, fast = both('def f(c: "i64[:]", n: int):\n    for i in range(n):\n        c[i] = c[i] * 3 - i\n')
    slow, quick = np.arange(6), np.arange(6)
    plain(slow, 6)
    fast(quick, 6)
    np.testing.assert_array_equal(quick, slow)


BITS = """
def bits(out: "i64[:]", a: int, b: int, by: int):
    out[0] = a & b
    out[1] = a | b
    out[2] = a ^ b
    out[3] = ~a
    out[4] = a >> by
    out[5] = a << by
    out[6] = (a + b) ^ (a - b) | ~(a << 1)
    out[7] = a >> 63 | b >> 64 | a >> 3
    out[8] = 1 << (by ^ 1) | a & ~b ^ 3 if b > a else -1 << 62 & b
    out[9] = b
    out[9] ^= a
    out[9] <<= by
    out[9] >>= by
    out[9] &= ~b
    out[9] |= 1
"""
whole_numbers = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 1])


class Wrapped(dict):
    """An array to plain Python: of an integer without end it keeps the last 64 bits."""

    def __setitem__(self, i, value):
        super().__setitem__(i, (value + 2**63) % 2**64 - 2**63)


def test_bits():
    plain, fast = both(BITS)

    @given(whole_numbers, whole_numbers, st.integers(0, 70))
    def agree(a, b, by):
        slow, quick = Wrapped(), np.zeros(10, np.int64)
        plain(slow, a, b, by)
        fast(quick, a, b, by)
        assert quick.tolist() == [slow[i] for i in range(10)]

    agree()
    quick = np.zeros(10, np.int64)
    for places in (64, 2**32, 2**63 - 1):  # plain Python has no memory for these
        fast(quick, -5, 7, places)
        assert quick[4:6].tolist() == [-1, 0]


# -- rows, and functions that call each other ------------------------------------------------------

DOT = """
def dot(a: "f64[:]", b: "T[:]", n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total
"""
PRODUCT = """
def product(A: "f64[:,:]", B: "T[:,:]", out: "f64[:,:]", n: int, m: int, d: int):
    for i in range(n):
        for j in range(m):
            out[i, j] = dot(A[i], B[j], d)
"""


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
def test_rows_of_arrays(dtype):
    rng = np.random.default_rng(1)
    wide = rng.standard_normal((5, 40))
    A, B = wide[:, 3:20], rng.standard_normal((4, 17)).astype(dtype)  # A: rows apart from each other
    plain, fast = both(PRODUCT, DOT, dtype=dtype)
    slow, quick = np.zeros((5, 4)), np.zeros((5, 4))
    plain(A, B, slow, 5, 4, 17)
    fast(A, B, quick, 5, 4, 17)
    np.testing.assert_allclose(quick, A @ B.T.astype(float), rtol=1e-12)
    np.testing.assert_allclose(quick, slow, rtol=1e-12)


def test_rows_written_through_another_function():
    fill = 'def fill(a: "f64[:]", n: int, x: float):\n    for i in range(n):\n        a[i] = x\n'
    rows = 'def rows(A: "f64[:,:]", n: int, m: int):\n    for i in range(n):\n        fill(A[i], m, i)\n'
    A = np.full((4, 7), -1.0)
    compiled([fill, rows])(A[:, :5], 4, 5)
    np.testing.assert_array_equal(A[:, :5], np.arange(4.0)[:, None] * np.ones(5))
    np.testing.assert_array_equal(A[:, 5:], -1.0)


def apply(f: "function(f64[:], f64[:], int)", a: "f64[:]", out: "f64[:]", n: int):
    for i in range(n):
        f(a, out, i)


DOUBLE = 'def double(a: "f64[:]", out: "f64[:]", i: int):\n    out[i] = 2.0 * a[i]\n'


def test_functions_are_handed_over():
    a, out = np.arange(6.0), np.zeros(6)
    compiled([source_of(apply)])(compiled([DOUBLE]), a, out, 6)
    np.testing.assert_array_equal(out, 2 * a)


def test_python_is_called_back():
    a, out, calls = np.arange(4.0), np.zeros(4), []
    compiled([apply])(Callback(lambda: calls.append(out.sum())), a, out, 4)
    assert calls == [0.0] * 4


def test_an_error_in_a_callback_ends_the_loop_and_reaches_the_caller():
    calls = []

    def fails():
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError("number 2")

    callback = Callback(fails)
    with pytest.raises(ZeroDivisionError, match="number 2"):
        compiled([apply])(callback, np.zeros(4), np.zeros(4), 4)
    assert len(calls) == 2
    compiled([apply])(callback, np.zeros(4), np.zeros(4), 4)  # raised once
    assert len(calls) == 6


def test_a_function_that_takes_something_else_is_not_handed_over():
    other = compiled(['def other(a: "f64[:]", i: int):\n    a[i] = 1.0\n'])
    for wrong in (other, compiled([DOT]), 12345, None, len):
        with pytest.raises(TypeError, match="compiled function of"):
            compiled([apply])(wrong, np.zeros(3), np.zeros(3), 3)


# -- nothing outside of an array -------------------------------------------------------------------

OUTSIDE = {
    "a loop that is too long": "for i in range(n):\n        a[i] = 1.0",
    "one that begins before": "for i in range(0 - n, 1):\n        a[i] = 1.0",
    "a while loop": "i = 0\n    while a[i] < 9.0 and i < n:\n        i += 1",
    "a place that was computed": "a[2 * n] = 1.0",
    "a negative one": "a[0 - 1] = 1.0",
    "behind a condition": "for i in range(n):\n        if i > 2:\n            a[i] = 1.0",
    "a counter that was changed": "for i in range(2):\n        i = i + n\n        a[i] = 1.0",
    "a name from outside the loop": "for i in range(1):\n        a[n] = 1.0",
    "a row": "fill(B[n], 1)",
    "a row, too long": "fill(B[0], n)",
    "a negative shift": "n = n << -n",
    "a negative shift to the right": "n = n >> (n - 10)",
    "a column": "for i in range(2):\n        for j in range(n):\n            B[i, j] = 0.0",
    "a row of columns": "for i in range(n):\n        for j in range(3):\n            B[i, j] = 0.0",
    "in another function": "x = last(a, n)\n    a[0] = x",
    "an integer of infinity": "a[int(inf * n)] = 1.0",
    "an integer of nothing": "a[int(inf - inf)] = 1.0",
}
FILL = 'def fill(a: "f64[:]", n: int):\n    for i in range(n):\n        a[i] = 5.0\n'
LAST = 'def last(a: "f64[:]", n: int) -> float:\n    return a[n - 1]\n'


@pytest.mark.parametrize("body", OUTSIDE.values(), ids=OUTSIDE)
def test_an_index_outside_of_its_array_is_an_error(body):
    """The arrays lie in the middle of larger ones, which stay as they are."""
    f = compiled([FILL, LAST, f'def f(a: "f64[:]", B: "f64[:,:]", n: int):\n    {body}\n'])
    rooms = np.full(64, 7.0), np.full((12, 8), 7.0)
    a, B = rooms[0][20:25], rooms[1][4:6, 2:5]
    with pytest.raises(IndexError, match="an index outside of its array, .*, or a negative shift"):
        f(a, B, 9)
    a[:], B[:] = 7.0, 7.0
    assert all((room == 7.0).all() for room in rooms)


def test_what_a_loop_does_not_do_is_no_error():
    source = """
def f(a: "f64[:]", n: int, skip: int) -> float:
    total = 0.0
    for i in range(n):
        if i >= 3 and skip == 1:
            break
        total += a[i]
    for i in range(n):
        total += a[i]
        if i == 2:
            break
    for i in range(0):
        total += a[n]
    for i in range(n):
        total += a[i] if i < 3 else 0.0
        if i < 3 and a[i] > 1.0:
            total += 1.0
    return total
"""
    f = compiled([source])
    assert f(np.array([1.0, 2.0, 4.0]), 10, 1) == 23.0
    with pytest.raises(IndexError, match=r"total \+= a\[i\]$"):
        f(np.array([1.0, 2.0, 4.0]), 10, 0)
    assert f(np.zeros(0), 0, 0) == 0.0


# -- random programmes -----------------------------------------------------------------------------


def expressions(depth):
    leaf = st.sampled_from(["x", "y", "a[i]", "b[i]", "float(i)"]) | st.floats(-3, 3).map(repr)
    if depth == 0:
        return leaf
    inner = expressions(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("({} / (1.0 + abs({})))".format, inner, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "tanh", "-"]), inner),
        st.builds("({} if {} else {})".format, inner, conditions(depth - 1), inner),
    )


def conditions(depth):
    inner = expressions(depth)
    compare = st.builds("{} {} {}".format, inner, st.sampled_from(["<", ">", "<=", ">="]), inner)
    return st.one_of(
        compare,
        st.builds("({} {} {})".format, compare, st.sampled_from(["and", "or"]), compare),
        st.builds("not ({})".format, compare),
    )


def indented(lines):
    return [f"    {line}" for line in lines]


def joined(blocks):
    return list(chain.from_iterable(blocks))


def statements(depth):
    target = st.sampled_from(["x", "y", "a[i]"])
    simple = st.builds(
        lambda t, o, e: [f"{t} {o} {e}"], target, st.sampled_from(["=", "+=", "-="]), expressions(2)
    )
    if depth == 0:
        return simple
    block = st.lists(statements(depth - 1), min_size=1, max_size=2).map(joined)
    return st.one_of(
        simple,
        st.builds(lambda c, b: [f"if {c}:", *indented(b)], conditions(1), block),
        st.builds(
            lambda c, b, e: [f"if {c}:", *indented(b), "else:", *indented(e)], conditions(1), block, block
        ),
        st.builds(lambda c: [f"if {c}:", "    continue"], conditions(0)),
        st.builds(lambda c: [f"if {c}:", "    break"], conditions(0)),
    )


@settings(max_examples=30)
@given(
    body=st.lists(statements(2), min_size=1, max_size=4).map(joined),
    seed=st.integers(0, 99),
)
def test_random_programmes(body, seed):
    head = ['def f(a: "f64[:]", b: "f64[:]", n: int, x: float, y: float) -> float:', "    for i in range(n):"]
    source = "\n".join([*head, *indented(indented(body)), "    return x + y", ""])
    plain, fast = both(source)
    a, b = np.random.default_rng(seed).uniform(-2, 2, (2, 5))
    slow, quick = a.copy(), a.copy()
    with np.errstate(all="ignore"):
        expected = plain(slow, b, 5, 0.3, -0.8)
    found = fast(quick, b, 5, 0.3, -0.8)
    # Squaring five times over leaves the range of floats, where order of evaluation matters.
    if np.abs(slow).max() < 1e6 and abs(expected) < 1e6:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(quick, slow, rtol=1e-9, atol=1e-9)


# -- refusals --------------------------------------------------------------------------------------

REFUSED = {
    "a step in range": ("for i in range(0, n, 2):\n        pass", "For in f"),
    "a list to go through": ("for i in a:\n        pass", "For in f"),
    "for … else": ("for i in range(n):\n        pass\n    else:\n        n = 2", "For in f"),
    "while … else": ("while n > 2:\n        n = 1\n    else:\n        n = 2", "While in f"),
    "a pair as loop variable": ("for i, j in range(n):\n        pass", "For in f"),
    "with": ("with a:\n        pass", "With in f"),
    "two targets": ("i = j = n", "Assign in f"),
    "a tuple": ("i, j = n, n", "Tuple in f"),
    "a chain of comparisons": ("i = 0 if 1 < n < 3 else 1", "Compare in f"),
    "in": ("i = 0 if n in a else 1", "Compare in f"),
    "floor division": ("i = n // 2", "BinOp in f"),
    "remainder of numbers": ("x = a[0] % 2.0", "BinOp in f"),
    "a string": ("x = 'word'", "Constant in f"),
    "a truth value": ("x = True", "Constant in f"),
    "plus": ("x = +a[0]", "UnaryOp in f"),
    "bits of a number": ("x = a[0] & a[1]", "BinOp in f"),
    "a number of places that is no integer": ("x = n << a[0]", "BinOp in f"),
    "not bits": ("x = ~a[0]", "UnaryOp in f"),
    "not a truth value": ("x = ~(n > 1)", "UnaryOp in f"),
    "an attribute": ("x = a.size", "Attribute in f"),
    "a slice": ("x = a[1:2]", "Slice in f"),
    "two indices": ("x = a[1, 2]", "Subscript in f"),
    "an index of a number": ("x = n[0]", "Subscript in f"),
    "an unknown function": ("x = arctan(a[0])", "Call in f"),
    "a method": ("x = a.sum()", "Call in f"),
    "a keyword": ("x = min(a[0], a[1], default=3)", "Call in f"),
    "too few arguments": ("x = sqrt()", "Call in f"),
    "an unknown name": ("x = m + 1.0", "m has no value"),
    "a number of another kind": ("n = a[0]", "double where i64 is needed"),
    "an index that is no integer": ("x = a[a[0]]", "double where i64 is needed"),
    "the truth of a number": ("if a[0]:\n        pass", "double where i64 is needed"),
    "an array in a sum": ("x = a + 1.0", "where double is needed"),
    "minus an array": ("x = -a", "where double is needed"),
    "an array by another name": ("b = a", "b can only be given a number"),
    "an array replaced": ("a = 1.0", "a can't be assigned to"),
    "a choice of arrays": ("x = a if n > 1 else a", "IfExp in f"),
    "a result where none is due": ("return 1.0", "Return in f"),
    "a lambda": ("x = lambda: 1", "Lambda in f"),
    "an annotation": ("x: float = 1.0", "AnnAssign in f"),
    "a function inside": ("def g():\n        pass", "FunctionDef in f"),
}


@pytest.mark.parametrize("body, words", REFUSED.values(), ids=REFUSED)
def test_refusals(body, words):
    with pytest.raises(Unsupported, match=words):
        compiled([f'def f(a: "f64[:]", n: int):\n    {body}\n'])


SIGNATURES = {
    "no annotation": ("def f(x):\n    pass", "an int, a float.*got None"),
    "an unknown kind": ("def f(x: str):\n    pass", "got str"),
    "unknown entries": ('def f(x: "f16[:]"):\n    pass', "got 'f16"),
    "three axes": ('def f(x: "f64[:,:,:]"):\n    pass', "got 'f64"),
    "a default": ("def f(x: float = 1.0):\n    pass", "other than plain"),
    "any number": ("def f(*x: float):\n    pass", "other than plain"),
    "an array as result": ('def f(x: float) -> "f64[:]":\n    pass', "returns something other than a number"),
    "no result on one path": (
        "def f(x: float) -> float:\n    if x > 0.0:\n        return x\n",
        "f ends without a result",
    ),
    "an empty return": ("def f(x: float) -> float:\n    return\n", "Return in f"),
}


@pytest.mark.parametrize("source, words", SIGNATURES.values(), ids=SIGNATURES)
def test_signatures_that_are_refused(source, words):
    with pytest.raises(Unsupported, match=words):
        compiled([source])


def test_calls_between_functions_are_checked():
    with pytest.raises(Unsupported, match="dot needs 3 arguments, got 2"):
        compiled([DOT, 'def f(a: "f64[:]") -> float:\n    return dot(a, 3)\n'])
    with pytest.raises(Unsupported, match="dot needs .*f32"):
        compiled([DOT, 'def f(a: "f64[:]") -> float:\n    return dot(a, a, 3)\n'], np.float32)
    with pytest.raises(Unsupported, match="a function where double"):
        compiled(['def f(g: "function(int)") -> float:\n    return g + 1.0\n'])


def test_arrays_are_checked_when_called():
    f = compiled([DOT])
    a = np.arange(8.0)
    assert f(a, a, 8) == a @ a  # both are only read
    shifted = np.frombuffer(bytes(1) + a.tobytes(), np.uint8)[1:].view(np.float64)
    backwards, foreign = a[::-1], a.astype(">f8")
    for wrong in (a.astype(np.float32), a.astype(int), a[::2], a[:, None], shifted, backwards, foreign):
        with pytest.raises(TypeError, match="in rows, is needed"):
            f(a, wrong, 3)
    for wrong in ([1.0, 2.0, 3.0], None, np.ma.array(a), np.float64(1.0)):
        with pytest.raises(TypeError, match="an array is needed"):
            f(a, wrong, 3)
    with pytest.raises(ValueError, match="argument"):
        f(a, a)
    with pytest.raises(OverflowError):
        f(a, a, 2**64 + 1)
    with pytest.raises(TypeError):
        f(a, a, 3.0)


def test_what_is_written_is_writeable_and_shares_no_memory():
    f = compiled(
        ['def f(a: "f64[:]", B: "f64[:,:]", n: int):\n    for i in range(n):\n        B[i, 0] = a[i]\n']
    )
    a, room = np.arange(4.0), np.zeros((6, 5))
    f(a, room[:4, :2], 4)
    np.testing.assert_array_equal(room[:4, 0], a)
    frozen = room.copy()
    frozen.flags.writeable = False
    f(frozen[0], room, 4)  # what is only read may be read-only
    with pytest.raises(ValueError, match="B is read-only"):
        f(a, frozen, 4)
    with pytest.raises(ValueError, match="share memory"):
        f(room[2], room, 4)
    for stride in (0, 8, -40):
        start = room.ctypes.data + 80
        rows = np.lib.stride_tricks.as_strided(room[2:], (2, 2), (stride, 8))
        assert rows.ctypes.data == start
        with pytest.raises(TypeError, match="rows overlap or run backwards"):
            f(a, rows, 2)


# -- compiled once ---------------------------------------------------------------------------------

SCALED = "def scaled(x: float) -> float:\n    return FACTOR * x + LEAP\n"


def test_constants_are_part_of_the_code():
    for factor, leap in ((2.0, 1), (3.0, 1), (3.0, 2)):
        plain, fast = both(SCALED, constants={"FACTOR": factor, "LEAP": leap})
        assert fast(5.0) == plain(5.0) == factor * 5 + leap


def test_capitals_of_the_module_are_constants():
    def f(x: float) -> float:
        return x * STEPS + SHIFT

    assert compiled([f])(2.0) == 2.0 * STEPS + SHIFT


def test_the_same_source_is_compiled_once(monkeypatch):
    made, emit = [], emission.subset_ir
    monkeypatch.setattr(emission, "subset_ir", lambda *a: made.append(a) or emit(*a))
    source = "def once(x: float) -> float:\n    return x + 1234.5\n"
    constants = {"FRESH": float(np.random.default_rng().random())}  # so that no file has it
    for _ in range(3):
        assert Compiled([source], "f64", constants)(1.0) == 1235.5
    assert len(made) == 1
    assert Compiled([source], "f64", {"FRESH": 2.0 + constants["FRESH"]})(1.0) == 1235.5
    assert len(made) == 2


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError])
def test_no_machine_code_where_llvm_fails(monkeypatch, error):
    def broken(*args):
        raise error("no LLVM here")

    monkeypatch.setattr("mercer.codegen.llvm.code.function", broken)
    assert compiled(["def f(x: float) -> float:\n    return x\n"]) is None


# -- records ------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    x: "f64[:]"
    out: "f64[:]"
    slope: float
    n: int
    use: "function(f64[:], int)"


def along(line: Line, first: int) -> float:
    for i in range(first, line.n):
        line.out[i] = line.slope * line.x[i]
    line.use(line.out, line.n)
    return line.out[0]


def twice(line: Line) -> float:
    return along(line, 0) + along(line, 1)


def ones(a: "f64[:]", n: int):
    a[0] = a[0] + 1.0


def test_records_are_spread_out_at_the_door():
    given = Line(np.arange(4.0), np.zeros(4), 2.0, 4, compiled([ones]))
    assert compiled([along, twice])(given) == 3.0
    assert given.out.tolist() == [2.0, 2.0, 4.0, 6.0]
    plain = Line(np.arange(4.0), np.zeros(4), 2.0, 4, ones)
    assert twice(plain) == 3.0 and plain.out.tolist() == given.out.tolist()


def test_what_a_record_holds_is_checked():
    run, one = compiled([along, twice]), compiled([ones])
    with pytest.raises(TypeError, match="a record Line is needed, got tuple"):
        run((np.zeros(2), np.zeros(2), 1.0, 2, one))
    with pytest.raises(TypeError, match=r"line\.x: an aligned array"):
        run(Line(np.zeros((2, 2)), np.zeros(2), 1.0, 2, one))
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match=r"line\.out is read-only"):
        run(Line(np.zeros(2), fixed, 1.0, 2, one))
    run(Line(fixed, np.zeros(2), 1.0, 2, one))
    with pytest.raises(ValueError, match="share memory"):
        run(Line(both := np.zeros(2), both, 1.0, 2, one))
    with pytest.raises(IndexError, match=r"line\.out\[i\]"):
        run(Line(np.zeros(9), np.zeros(2), 1.0, 9, one))


def fills(a: "f64[:]", b: "f64[:]", n: int):
    for i in range(n):
        a[i] = b[i]


def fills_itself(line: Line):
    fills(line.out, line.out, line.n)


def fills_from_inside(line: Line, a: "f64[:]"):
    fills(a, line.x, line.n)
    fills(line.out, a, line.n)


def hands_on(line: Line, first: int) -> float:
    fills_from_inside(line, line.out)
    return 0.0


@pytest.mark.parametrize("functions", [[fills, fills_itself], [fills, fills_from_inside, hands_on]])
def test_one_array_by_two_names_is_refused_where_it_is_written(functions):
    with pytest.raises(Unsupported, match=r"line\.out is given twice"):
        compiled(functions)


def unknown(line: Line):
    line.missing[0] = 1.0


def assigns(line: Line):
    line.slope = 2.0


@pytest.mark.parametrize(
    "function, words", [(unknown, "Attribute in unknown"), (assigns, "Attribute in assigns")]
)
def test_what_records_do_not_have(function, words):
    with pytest.raises(Unsupported, match=words):
        compiled([function])
