"""The compiled part of Python as syntax: types in annotations, what functions write, what loops surely read.

Nothing here emits code; `subset_ir` does, with what is found out here.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class Unsupported(SyntaxError):
    """Python that is not in the subset."""


@dataclass(frozen=True)
class ArrayOf:
    """The type of an array: its entries and its number of axes."""

    entries: str
    axes: int


@dataclass(frozen=True)
class FunctionOf:
    """The type of a function that is handed over: those of what it is called with."""

    parameters: tuple[Any, ...]

    def __str__(self) -> str:
        return "a function"


@dataclass(frozen=True)
class RecordOf:
    """The type of a record, a NamedTuple: its name, and the names and types of what it holds."""

    name: str
    fields: tuple[tuple[str, Any], ...]


# Types are "int", "float", an ArrayOf, a FunctionOf or a RecordOf.
Kind = Any
Records = Mapping[str, RecordOf]
_ENTRIES = ("f64", "f32", "i64", "i32")
_NUMBERS = ("int", "float")


def tree_of(source: str) -> ast.FunctionDef:
    """The one function a source defines."""
    tree = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _kind(text: Any, fill: str) -> Kind | None:
    """The type that a word names; None if it names none."""
    if text in _NUMBERS:
        return text
    if not isinstance(text, str):
        return None
    if text.startswith("function(") and text.endswith(")"):
        inner = text.removeprefix("function(")[:-1].replace(", ", ";")
        parts = [_kind(p, fill) for p in inner.split(";")]
        return (
            None
            if None in parts or any(isinstance(p, FunctionOf) for p in parts)
            else FunctionOf(tuple(parts))
        )
    entries, _, axes = text.partition("[")
    entries = fill if entries == "T" else entries
    return ArrayOf(entries, axes.count(":")) if entries in _ENTRIES and axes in (":]", ":,:]") else None


def array_type(text: str) -> ArrayOf:
    """The type that "f64[:]" or the like names."""
    found = _kind(text, "f64")
    assert isinstance(found, ArrayOf)
    return found


def _noted(note: Any, fill: str, records: Records) -> Kind:
    if isinstance(note, ast.Name) and note.id in records:
        return records[note.id]
    text = note.value if isinstance(note, ast.Constant) else note.id if isinstance(note, ast.Name) else None
    found = _kind(text, fill)
    if found is None:
        given = ast.unparse(note) if isinstance(note, ast.AST) else repr(note)
        raise Unsupported(
            'a parameter is an int, a float, an array such as "f64[:]", a function of such things, '
            f'"function(f64[:], int)", or a record of all these; got {given}'
        )
    return found


def types_of(tree: ast.FunctionDef, fill: str, records: Records) -> tuple[list[Kind], Kind | None]:
    """Types of the parameters, and of the result: a number or None."""
    if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or tree.args.defaults:
        raise Unsupported(f"{tree.name} has parameters other than plain ones")
    result = None if tree.returns is None else _noted(tree.returns, fill, records)
    if result not in (None, *_NUMBERS):
        raise Unsupported(f"{tree.name} returns something other than a number")
    return [_noted(a.annotation, fill, records) for a in tree.args.args], result


def records_of(functions: Sequence[Callable | str]) -> dict[str, type]:
    """The classes of records that functions are annotated with, by name."""
    found = {}
    for function in functions:
        if not isinstance(function, str):
            for name in inspect.get_annotations(function).values():
                cls = function.__globals__.get(name) if isinstance(name, str) else name
                if isinstance(cls, type) and issubclass(cls, tuple):
                    found[cls.__name__] = cls
    return found


def record_type(source: str, fill: str) -> RecordOf:
    """The type that the source of a NamedTuple describes."""
    tree = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(tree, ast.ClassDef)
    fields = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
    return RecordOf(tree.name, tuple((ast.unparse(f.target), _noted(f.annotation, fill, {})) for f in fields))


def names_of(tree: ast.FunctionDef) -> list[str]:
    return [a.arg for a in tree.args.args]


def path(node: ast.expr) -> str:
    """The name of the array in `a`, `a[i]`, `r.a`, `r.a[i, j]`, or of a record; of other things none."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def written(trees: Sequence[ast.FunctionDef]) -> set[str]:
    """Parameters of the last function, `a` or `r.a`, that it or a function it calls may write to.

    What is handed to a function that was handed over counts as written: nobody knows here what that does.
    """
    known: dict[str, tuple[ast.FunctionDef, set[str]]] = {}
    out: set[str] = set()
    for tree in trees:
        parameters, out = names_of(tree), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                out.add(path(node))
            elif isinstance(node, ast.Call):
                name = path(node.func)
                if name.partition(".")[0] in parameters:
                    out |= {path(a) for a in node.args}
                elif name in known:
                    out |= _changed_by_call(tree, node, *known[name])
        known[tree.name] = tree, out
    return out


def _changed_by_call(
    tree: ast.FunctionDef, call: ast.Call, called: ast.FunctionDef, theirs: set[str]
) -> set[str]:
    """What a call changes of what it is given. Nothing of that may be given to it by another name, too."""
    given = {
        parameter.arg: path(argument)
        for parameter, argument in zip(called.args.args, call.args)
        if not (isinstance(parameter.annotation, ast.Name) and parameter.annotation.id in _NUMBERS)
    }
    changed = set()
    for name in theirs:
        root, dot, field = name.partition(".")
        if root not in given:
            continue
        here = given[root] + dot + field
        changed.add(here)
        others = [f"{path}." for parameter, path in given.items() if parameter != root]
        if any(f"{here}.".startswith(other) or other.startswith(f"{here}.") for other in others):
            raise Unsupported(f"{here} is given twice and written to, in {tree.name}, line {call.lineno}")
    return changed


def assigned(statements: Sequence[ast.stmt]) -> set[str]:
    """Names of numbers that these statements may change."""
    return {
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def leaves_early(statements: Sequence[ast.stmt]) -> bool:
    """Is there a way out of these statements before their end?"""
    ways_out = (ast.Break, ast.Continue, ast.Return)
    return any(isinstance(node, ways_out) for statement in statements for node in ast.walk(statement))


def certain(statements: Sequence[ast.stmt]) -> Iterator[ast.Subscript]:
    """Places in arrays that are surely looked at whenever these statements are run.

    Not those behind a condition, in a loop, or after something that may leave early.
    """
    for statement in statements:
        if isinstance(statement, (ast.If, ast.While)):
            yield from _certain_in(statement.test)
        elif isinstance(statement, ast.For):
            yield from _certain_in(statement.iter)
        else:
            yield from _certain_in(statement)
        if leaves_early([statement]):
            return


def _certain_in(node: ast.AST) -> Iterator[ast.Subscript]:
    if isinstance(node, ast.Subscript):
        yield node
    if isinstance(node, ast.BoolOp):
        yield from _certain_in(node.values[0])
    elif isinstance(node, ast.IfExp):
        yield from _certain_in(node.test)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _certain_in(child)


def parts_of(node: ast.Subscript) -> list[ast.expr]:
    """The index of each axis."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
