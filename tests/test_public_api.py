"""What people see: names, documentation, and how long the door takes to open."""

import ast
import doctest
import importlib
import inspect
import subprocess
import sys

import pytest

import mercer
import reference

# Rooms, and rooms inside others: the same that have pages in the reference.
ROOMS = reference.rooms()


def public():
    """(room, name, object) for everything exported."""
    for room in ROOMS:
        for name, thing in reference.members(importlib.import_module(f"mercer.{room}")):
            yield room, name, thing


PUBLIC = list(public())


def test_rooms_are_found():
    assert {room.partition(".")[0] for room in ROOMS} < set(dir(mercer))
    assert {"operators", "plot", "functions.functionals", "theory.learnability", "tables.reading"} < set(
        ROOMS
    )
    assert len(PUBLIC) > 400


def test_top_level_names():
    for name in mercer.__all__:
        assert getattr(mercer, name) is not None, name
        assert name in dir(mercer)


@pytest.mark.parametrize("name", ["mercer", "mercer.tables"])
def test_checkers_of_types_see_the_names_that_are_had_on_first_use(name):
    """What `__getattr__` finds is `Any` to them; they read the imports that never run."""
    module = importlib.import_module(name)
    (block,) = (
        node
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    read = {}
    for line in block.body:
        (alias,) = line.names
        assert alias.name == alias.asname, "only names imported `as` themselves are passed on"
        read[alias.name] = line.module
    assert set(read) == set(dir(module)) - {"__version__"}
    for word, origin in read.items():
        assert getattr(importlib.import_module(origin), word) is getattr(module, word)


def test_all_names_can_be_had_without_extras():
    """Rooms that need an optional package are not in the way of those who do not have it."""
    code = (
        "import sys; sys.modules |= dict.fromkeys(['starlette', 'uvicorn', 'matplotlib', 'onnx']);"
        "from mercer import *; print(KernelRidge.__name__, kernels.__name__);"
        "print('lab' in dir(), 'plot' in dir());"
        "import mercer; print({'lab', 'plot'} <= set(dir(mercer)))"
    )
    assert run(code).split() == ["KernelRidge", "mercer.kernels", "False", "False", "True"]
    assert mercer.lab.__name__ == "mercer.lab" and mercer.plot.__name__ == "mercer.plot"


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'KernelRigde'"):
        mercer.KernelRigde  # noqa: B018


def test_version():
    assert mercer.__version__.count(".") >= 2


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_say_what_they_are_for(room):
    module = importlib.import_module(f"mercer.{room}")
    assert module.__doc__ and len(module.__doc__.strip()) > 20
    assert len(module.__all__) == len(set(module.__all__))
    assert all(not name.startswith("_") for name in module.__all__)


def test_everything_is_documented():
    for room, name, thing in PUBLIC:
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        assert thing.__doc__ and thing.__doc__.strip(), f"{room}.{name} has no docstring"
        if inspect.isclass(thing):
            assert vars(thing).get("__doc__"), f"{room}.{name} only inherits its docstring"


# What has no example of its own, each with its reason.
WITHOUT_EXAMPLE = {
    "solvers.ConvergenceWarning": "scikit-learn's own",
    "tables.serve.run": "serves until it is told to stop",
}


def test_everything_has_an_example():
    for room, name, thing in PUBLIC:
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        examples = doctest.DocTestParser().get_examples(thing.__doc__ or "")
        label = f"{room}.{name}"
        assert bool(examples) != (label in WITHOUT_EXAMPLE), (
            f"{label} has no example" if not examples else f"{label} has an example now: take it off the list"
        )


def test_public_methods_are_documented():
    for room, name, thing in PUBLIC:
        if not inspect.isclass(thing) or not thing.__module__.startswith("mercer"):
            continue
        for method, function in vars(thing).items():
            if method.startswith("_") or not inspect.isfunction(function) or function.__name__ == "<lambda>":
                continue
            bases = (getattr(base, method, None) for base in thing.__mro__[1:])
            inherited = any(getattr(base, "__doc__", None) for base in bases)
            assert function.__doc__ or inherited, f"{room}.{name}.{method} has no docstring"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_is_light():
    code = (
        "import sys, mercer; heavy = 'sklearn', 'scipy', 'numpy', 'numba', 'matplotlib', 'torch', 'pandas';"
        "print(*[m for m in heavy if m in sys.modules])"
    )
    assert run(code).split() == []


@pytest.mark.parametrize("room", ["kernels", "engines"])
def test_kernels_and_engines_need_only_numpy(room):
    code = (
        f"import sys, mercer.{room}; heavy = 'sklearn', 'scipy', 'numba', 'matplotlib', 'torch', 'pandas';"
        "print(*[m for m in heavy if m in sys.modules])"
    )
    assert run(code).split() == []


def test_machines_do_not_draw():
    code = (
        "import sys, mercer; mercer.KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0]);"
        "print(*[m for m in ('matplotlib', 'torch', 'dask') if m in sys.modules])"
    )
    assert run(code).split() == []


def test_names_in_the_design_are_there():
    from mercer.engines import Tiled
    from mercer.functions.functionals import Evaluation, SquaredNorm
    from mercer.kernels import check
    from mercer.selection import loo, path

    assert all(map(callable, (Tiled, Evaluation, SquaredNorm, check, loo, path)))
    exported = set(mercer.kernels.__all__) | set(mercer.losses.__all__)
    assert exported >= {"Linear", "Polynomial", "Gaussian", "Laplacian", "Matern", "RationalQuadratic"}
    assert exported >= {"Periodic", "Cosine", "Sigmoid", "ChiSquared", "HistogramIntersection", "ArcCosine"}
    assert exported >= {"Finite", "FunctionKernel", "Squared", "Logistic", "Multinomial", "Hinge", "Huber"}
    assert exported >= {
        "SquaredHinge",
        "EpsilonInsensitive",
        "SquaredEpsilonInsensitive",
        "CrammerSinger",
        "Absolute",
        "Quantile",
        "Exponential",
        "Poisson",
    }


def test_signature_of_the_design():
    parameters = inspect.signature(mercer.KernelRidge).parameters
    assert list(parameters) == [
        "kernel",
        "lam",
        "representation",
        "solver",
        "engine",
        "offset",
        "indefinite",
        "random_state",
    ]
    assert repr(mercer.KernelRidge()) == "KernelRidge()"
