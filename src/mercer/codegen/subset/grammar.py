"""The compiled part of Python as syntax: types in annotations, what functions write, what loops surely read.

Nothing here emits code; `subset_ir` does, with what is found out here.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
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


# Types are "int", "float", an ArrayOf or a FunctionOf.
Kind = Any
_ENTRIES = ("f64", "f32", "i64")
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


def _noted(note: Any, fill: str) -> Kind:
    text = note.value if isinstance(note, ast.Constant) else note.id if isinstance(note, ast.Name) else None
    found = _kind(text, fill)
    if found is None:
        given = ast.unparse(note) if isinstance(note, ast.AST) else repr(note)
        raise Unsupported(
            'a parameter is an int, a float, an array such as "f64[:]" or a function of such things, '
            f'"function(f64[:], int)"; got {given}'
        )
    return found


def types_of(tree: ast.FunctionDef, fill: str) -> tuple[list[Kind], Kind | None]:
    """Types of the parameters, and of the result: a number or None."""
    if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or tree.args.defaults:
        raise Unsupported(f"{tree.name} has parameters other than plain ones")
    result = None if tree.returns is None else _noted(tree.returns, fill)
    if result not in (None, *_NUMBERS):
        raise Unsupported(f"{tree.name} returns something other than a number")
    return [_noted(a.annotation, fill) for a in tree.args.args], result


def names_of(tree: ast.FunctionDef) -> list[str]:
    return [a.arg for a in tree.args.args]


def _root(node: ast.expr) -> str | None:
    """The name of the array in `a`, `a[i]`, `a[i, j]`."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.id if isinstance(node, ast.Name) else None


def written(trees: Sequence[ast.FunctionDef]) -> set[str]:
    """Parameters of the last function that it, or a function it calls, may write to.

    What is handed to a function that was handed over counts as written: nobody knows here what that does.
    """
    known: dict[str, tuple[list[str], set[str]]] = {}
    out: set[str] = set()
    for tree in trees:
        parameters, out = names_of(tree), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                out.add(_root(node) or "")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names, theirs = known.get(node.func.id, ([], set()))
                handed_over = node.func.id in parameters
                for position, argument in enumerate(node.args):
                    if handed_over or (position < len(names) and names[position] in theirs):
                        out.add(_root(argument) or "")
        known[tree.name] = parameters, out
    return out


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
