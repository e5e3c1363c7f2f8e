"""A loss as source code: V and V' for one example, traced from the formulas that work on arrays.

`value` and `grad` are called with symbols for a row of targets and a row of scores. NumPy's functions hand
themselves over to symbols, so whatever is written with arithmetic, ufuncs, `np.where` and sums or maxima over
a row becomes a few loops over the outputs, in the part of Python that `engines.fused.subset` compiles.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from mercer.losses.base import Loss


class NotTraceable(TypeError):
    """The formula uses something that is not written down as arithmetic on rows."""


_TWO = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_COMPARISONS = {
    "greater": ">",
    "greater_equal": ">=",
    "less": "<",
    "less_equal": "<=",
    "equal": "==",
    "not_equal": "!=",
}
_ONE = {
    "negative": "-({0})",
    "positive": "{0}",
    "absolute": "abs({0})",
    "fabs": "abs({0})",
    "square": "({0}) * ({0})",
    "sign": "(1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else 0.0))",
    "expit": "1.0 / (1.0 + exp(-({0})))",
    **{name: name + "({0})" for name in ("exp", "expm1", "log", "log1p", "tanh", "sqrt", "sin", "cos")},
}
_PAIR = {
    "maximum": "max({0}, {1})",
    "minimum": "min({0}, {1})",
    "logaddexp": "max({0}, {1}) + log1p(exp(-abs(({0}) - ({1}))))",
}


class Tape:
    """The loops written so far; every value is a row of the scratch array, or a number of the example."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.rows = self.numbers = 0

    def row(self, expression: str) -> Symbol:
        place = f"w[{self.rows}, j]"
        self.rows += 1
        self.lines += ["    for j in range(t):", f"        {place} = {expression}"]
        return Symbol(self, place, True)

    def number(self, first: str, expression: str | None = None) -> Symbol:
        """A number of the example; with an expression, what a loop over the outputs makes of the first."""
        name = f"v{self.numbers}"
        self.numbers += 1
        self.lines.append(f"    {name} = {first}")
        if expression is not None:
            self.lines += ["    for j in range(t):", f"        {name} = {expression.format(name)}"]
        return Symbol(self, name, False)


class Symbol:
    """A value whose formula is being written down."""

    symbolic = True
    ndim, dtype = 2, np.dtype(np.float64)

    def __init__(self, tape: Tape, text: str, is_row: bool):
        self.tape, self.text, self.is_row = tape, text, is_row

    @property
    def shape(self) -> Any:
        # Formulas compare shapes with each other; what they are is decided when the code runs.
        return ("n", "t")

    # -- NumPy -------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method != "__call__" or options:
            raise NotTraceable(f"{ufunc.__name__}.{method}")
        name = ufunc.__name__
        if name in _TWO:
            return self._made(f"({{0}}) {_TWO[name]} ({{1}})", *inputs)
        if name in _COMPARISONS:
            return self._made(f"(1.0 if {{0}} {_COMPARISONS[name]} {{1}} else 0.0)", *inputs)
        if name == "power":
            return self._power(*inputs)
        if name in _ONE or name in _PAIR:
            return self._made((_ONE | _PAIR)[name], *inputs)
        raise NotTraceable(name)

    def __array_function__(self, function, types, args, kwargs):
        name = function.__name__
        if name == "where" and len(args) == 3:
            return self._made("({1} if {0} != 0.0 else {2})", *args)
        if name == "clip" and len(args) == 3:
            return self._made("min(max({0}, {1}), {2})", *args)
        if name in ("zeros_like", "ones_like", "full_like"):
            fill = {"zeros_like": 0.0, "ones_like": 1.0}.get(name)
            return self._made("{0}", args[1] if fill is None else fill, like=args[0])
        if name in ("sum", "max", "amax") and not args[1:]:
            return (self.sum if name == "sum" else self.max)(**kwargs)
        raise NotTraceable(name)

    def _made(self, pattern: str, *inputs: Any, like: Any = None) -> Symbol:
        texts, is_row = [], bool(like is not None and like.is_row)
        value: Any
        for value in inputs:
            if isinstance(value, Symbol):
                texts.append(value.text)
                is_row |= value.is_row
            elif _is_constant(value):
                texts.append(_constant([float(v) for v in np.ravel(value)]))
                is_row |= np.size(value) > 1
            else:
                raise NotTraceable(f"{value!r} in the formula")
        text = pattern.format(*texts)
        return self.tape.row(text) if is_row else self.tape.number(text)

    def _power(self, base: Any, exponent: Any) -> Any:
        if isinstance(exponent, Symbol) or float(exponent) not in (1.0, 2.0, 3.0):
            raise NotTraceable(f"a power {exponent!r}")
        return self._made(" * ".join(["({0})"] * int(exponent)), base)

    # -- rows to numbers ---------------------------------------------------------------------------

    def _over_row(self, axis: Any, keepdims: bool, first: str, expression: str) -> Symbol:
        if axis not in (1, -1) or not self.is_row:
            raise NotTraceable("a sum or maximum over something other than the outputs")
        return self.tape.number(first, expression)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Symbol:
        return self._over_row(axis, keepdims, "0.0", f"{{0}} + {self.text}")

    def max(self, axis: Any = None, keepdims: bool = False) -> Symbol:
        return self._over_row(axis, keepdims, "-inf", f"max({{0}}, {self.text})")

    def clip(self, low: Any, high: Any) -> Symbol:
        return self._made("min(max({0}, {1}), {2})", self, low, high)

    def expit(self) -> Symbol:
        return self._made(_ONE["expit"], self)

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        return self

    def __bool__(self) -> bool:
        raise NotTraceable("a formula that branches on values")

    def __float__(self) -> float:
        raise NotTraceable("a formula that asks for a value")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotTraceable("a formula that needs an array")

    # -- arithmetic --------------------------------------------------------------------------------

    def __add__(self, o):
        return np.add(self, o)

    def __radd__(self, o):
        return np.add(o, self)

    def __sub__(self, o):
        return np.subtract(self, o)

    def __rsub__(self, o):
        return np.subtract(o, self)

    def __mul__(self, o):
        return np.multiply(self, o)

    def __rmul__(self, o):
        return np.multiply(o, self)

    def __truediv__(self, o):
        return np.divide(self, o)

    def __rtruediv__(self, o):
        return np.divide(o, self)

    def __pow__(self, o):
        return np.power(self, o)

    def __neg__(self):
        return np.negative(self)

    def __abs__(self):
        return np.absolute(self)

    def __lt__(self, o):
        return np.less(self, o)

    def __le__(self, o):
        return np.less_equal(self, o)

    def __gt__(self, o):
        return np.greater(self, o)

    def __ge__(self, o):
        return np.greater_equal(self, o)

    def __eq__(self, o):
        return np.equal(self, o)

    def __ne__(self, o):
        return np.not_equal(self, o)

    __hash__ = None  # type: ignore[assignment]


def _is_constant(value: Any) -> bool:
    return isinstance(value, (Real, np.ndarray)) and np.ndim(value) < 2 and np.size(value) > 0  # type: ignore[arg-type]


def _constant(values: list[float]) -> str:
    """A number, or the one that belongs to output j."""
    first, *others = values
    text = {np.inf: "inf", -np.inf: "(-inf)"}.get(first, repr(first))
    # Counted from the last, so that the rest can be written the same way.
    return f"({text} if j == t - {len(values)} else {_constant(others)})" if others else text


def loss_source(loss: Loss, what: str) -> tuple[str, int]:
    """(source, rows of scratch) of ``slope(y, s, g, w, t)``, which fills g with V' or, of one number, with V.

    Parameters
    ----------
    loss : Loss
    what : "grad" or "value"
        The value is summed over the outputs.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> print(loss_source(Hinge(), "value")[0])
    def slope(y: "f64[:]", s: "f64[:]", g: "f64[:]", w: "f64[:,:]", t: int):
        for j in range(t):
            w[0, j] = (y[j]) * (s[j])
        for j in range(t):
            w[1, j] = (1.0) - (w[0, j])
        for j in range(t):
            w[2, j] = max(w[1, j], 0.0)
        v0 = 0.0
        for j in range(t):
            v0 = v0 + w[2, j]
        g[0] = v0
    """
    tape = Tape()
    y, s = Symbol(tape, "y[j]", True), Symbol(tape, "s[j]", True)
    try:
        out: Any = loss.grad(y, s) if what == "grad" else loss.value(y, s)  # type: ignore[arg-type]
        if what == "value" and isinstance(out, Symbol) and out.is_row:
            out = out.sum(axis=1)
    except NotTraceable:
        raise
    except Exception as error:  # it expected an array
        raise NotTraceable(f"{type(loss).__name__}: {error}") from error
    if not isinstance(out, Symbol) or out.is_row != (what == "grad"):
        raise NotTraceable(f"{type(loss).__name__} gives {out!r}")
    head = 'def slope(y: "f64[:]", s: "f64[:]", g: "f64[:]", w: "f64[:,:]", t: int):'
    last = ["    for j in range(t):", f"        g[j] = {out.text}"]
    last = last if what == "grad" else [f"    g[0] = {out.text}"]
    return "\n".join([head, *tape.lines, *last]), max(tape.rows, 1)
