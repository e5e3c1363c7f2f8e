"""Kernels as the page writes them, trees of JSON, and as the library has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

from mercer import kernels
from mercer._http.refusal import Refusal, plain
from mercer.kernels.door import doubt
from mercer.lab.fields import LIMITS, Fields, wrong


@dataclass(frozen=True)
class Slider:
    """A number that can be set: its name in the library, its sign on the page, and how far it goes."""

    name: str
    title: str
    default: float
    low: float
    high: float
    scale: str = "log"
    from_data: bool = False  # may it be left open?
    step: float | None = None  # where only some values have a meaning

    def read(self, fields: Fields) -> Any:
        """The value that a request gives it."""
        if self.from_data and fields.get(self.name, "auto") == "auto" and self.name in fields.values:
            return None
        if self.scale == "integer":
            return fields.count(self.name, int(self.low), int(self.high), int(self.default))
        value = fields.number(self.name, self.low, self.high, self.default)
        return value if self.step is None else self.low + self.step * round((value - self.low) / self.step)

    def described(self) -> dict[str, Any]:
        """As /api/options says it."""
        said = {"name": self.name, "title": self.title, "default": self.default, "low": self.low}
        more = {"high": self.high, "scale": self.scale, "from_data": self.from_data, "step": self.step}
        return said | more


@dataclass(frozen=True)
class Choosable:
    """Something with a few parameters that the page can choose."""

    kind: str
    title: str
    formula: str
    make: Any
    sliders: tuple[Slider, ...] = ()

    def of(self, fields: Fields) -> Any:
        """The object of the library that a request means."""
        fields.only("kind", *(slider.name for slider in self.sliders))
        return self.make(**{slider.name: slider.read(fields) for slider in self.sliders})

    def described(self) -> dict[str, Any]:
        """As /api/options says it."""
        parameters = [slider.described() for slider in self.sliders]
        return {"kind": self.kind, "title": self.title, "formula": self.formula, "parameters": parameters}


def chosen(known: tuple[Choosable, ...], fields: Fields) -> Any:
    """The object that the field `kind` and its parameters mean."""
    kinds = {one.kind: one for one in known}
    return kinds[fields.word("kind", tuple(kinds))].of(fields)


_SIGMA = Slider("sigma", "σ", 0.5, 0.01, 10.0, from_data=True)

KERNELS = (
    Choosable("gaussian", "Gaussian", "exp(−‖x−z‖²/2σ²)", kernels.Gaussian, (_SIGMA,)),
    Choosable("laplacian", "Laplacian", "exp(−‖x−z‖/σ)", kernels.Laplacian, (_SIGMA,)),
    Choosable(
        "matern",
        "Matérn",
        "Matérn's, ν − ½ times differentiable",
        kernels.Matern,
        (Slider("nu", "ν", 1.5, 0.5, 2.5, "linear", step=1.0), _SIGMA),
    ),
    Choosable(
        "rational_quadratic",
        "rational quadratic",
        "(1 + ‖x−z‖²/2ασ²)^−α",
        kernels.RationalQuadratic,
        (Slider("alpha", "α", 1.0, 0.1, 10.0), _SIGMA),
    ),
    Choosable("linear", "linear", "x·z", kernels.Linear),
    Choosable(
        "polynomial",
        "polynomial",
        "(x·z + c)^degree",
        kernels.Polynomial,
        (Slider("degree", "degree", 2, 1, 8, "integer"), Slider("c", "c", 1.0, 0.0, 10.0, "linear")),
    ),
    Choosable(
        "periodic",
        "periodic",
        "exp(−2 sin²(π(x−z)/p)/σ²)",
        kernels.Periodic,
        (Slider("period", "p", 1.0, 0.1, 10.0), Slider("sigma", "σ", 1.0, 0.05, 10.0)),
    ),
    Choosable("cosine", "cosine", "x·z / ‖x‖‖z‖", kernels.Cosine),
    Choosable(
        "arc_cosine",
        "arc cosine",
        "a network of one hidden layer, infinitely wide",
        kernels.ArcCosine,
        (Slider("order", "order", 1, 0, 2, "integer"),),
    ),
    Choosable(
        "constant", "constant", "c", kernels.Constant, (Slider("value", "c", 1.0, 0.0, 10.0, "linear"),)
    ),
    Choosable(
        "sigmoid",
        "sigmoid (no kernel in general)",
        "tanh(a x·z + c)",
        kernels.Sigmoid,
        (Slider("a", "a", 1.0, 0.01, 5.0, "linear"), Slider("c", "c", 0.0, -5.0, 5.0, "linear")),
    ),
)

COMBINATIONS = (
    {"kind": "sum", "title": "k₁ + k₂", "arity": "many", "parameters": []},
    {"kind": "product", "title": "k₁ · k₂", "arity": "many", "parameters": []},
    {
        "kind": "scale",
        "title": "c · k",
        "arity": "one",
        "parameters": [Slider("factor", "c", 1.0, -10.0, 10.0, "linear").described()],
    },
    {
        "kind": "power",
        "title": "kᵖ",
        "arity": "one",
        "parameters": [Slider("exponent", "p", 2, 1, 8, "integer").described()],
    },
    {"kind": "exp", "title": "exp(k)", "arity": "one", "parameters": []},
    {"kind": "normalized", "title": "k(x,z)/√(k(x,x) k(z,z))", "arity": "one", "parameters": []},
)

_MANY = {"sum": add, "product": mul}


def kernel_of(spec: Any, field: str = "kernel") -> kernels.Kernel:
    """The kernel that a tree of JSON means.

    >>> kernel_of({"kind": "sum", "parts": [{"kind": "gaussian", "sigma": 2}, {"kind": "linear"}]})
    Gaussian(sigma=2.0) + Linear()
    """
    left = [LIMITS["nodes"]]
    try:
        return _node(spec, field, 1, left)
    except ValueError as error:  # what the algebra of the library refuses, such as a negative factor
        raise Refusal(422, f"kernel: {error}", field="kernel") from None


def _node(spec: Any, place: str, depth: int, left: list[int]) -> kernels.Kernel:
    left[0] -= 1
    if depth > LIMITS["depth"]:
        raise wrong(place, f"kernels are nested more than {LIMITS['depth']} deep")
    if left[0] < 0:
        raise wrong(place, f"a kernel is made of {LIMITS['nodes']} parts at most")
    fields = Fields(spec, place)
    kind = fields.word("kind", [k.kind for k in KERNELS] + [str(c["kind"]) for c in COMBINATIONS])
    if kind in _MANY:
        parts = fields.only("kind", "parts").get("parts")
        if not isinstance(parts, list) or not parts:
            raise fields.wrong("parts", "give a list of kernels, one at least")
        made = [_node(part, f"{place}.parts[{i}]", depth + 1, left) for i, part in enumerate(parts)]
        return reduce(_MANY[kind], made)
    if kind not in ("scale", "power", "exp", "normalized"):
        kernel = chosen(KERNELS, fields)
    else:
        kernel = _of_one(kind, fields, _node(fields.get("of"), f"{place}.of", depth + 1, left))
    kernel.validate()
    return kernel


def _of_one(kind: str, fields: Fields, inner: kernels.Kernel) -> kernels.Kernel:
    if kind == "scale":
        factor = fields.only("kind", "factor", "of").number("factor", -1e3, 1e3, 1.0)
        # A negative multiple goes on as a plain function: `admitted` finds the points that speak against it.
        return _Negative(inner, factor) if factor < 0 else kernels.Scale(inner, factor)
    if kind == "power":
        exponent = fields.only("kind", "exponent", "of").number("exponent", 0.0, 20.0, 2.0)
        return kernels.Power(inner, int(exponent) if exponent.is_integer() else exponent)
    fields.only("kind", "of")
    return kernels.Exp(inner) if kind == "exp" else kernels.Normalized(inner)


class _Negative(kernels.FunctionKernel):
    """A negative multiple of a kernel, as a plain function; parameters are found from the data once."""

    def __init__(self, inner: kernels.Kernel, factor: float):
        super().__init__(lambda X, Z: factor * inner(X, Z), vectorized=True)
        self.inner, self.factor = inner, factor

    def __repr__(self) -> str:
        return f"{self.factor:g} * ({self.inner!r})"


def admitted(kernel: kernels.Kernel, X: np.ndarray) -> kernels.Kernel:
    """The kernel with parameters found from the points; refused, with a witness, where it is none on them."""
    kernel = kernel.resolve(X)
    with np.errstate(all="ignore"):
        against = doubt(kernel, kernel.points(X))
    if against is None:
        return kernel
    points = [] if against.points is None else [np.asarray(p, np.float64) for p in against.points]
    witness = {"points": plain(points), "c": plain(against.c), "value": plain(against.value)}
    raise Refusal(422, f"kernel: this is no kernel: {_reason(against)}", field="kernel", witness=witness)


def _reason(against: kernels.Verdict) -> str:
    if against.c is None or against.value is None:
        return f"{against.reason}; take another one"
    return (
        f"{against.reason}, for Σ c_i c_j k(x_i, x_j) = {against.value:.4g} < 0 at {len(against.c)} of the "
        "points; take another one, or combine kernels by +, · and positive factors"
    )
