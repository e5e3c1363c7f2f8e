"""Reads the source tree: what `test_house` asserts, as plain lists. ``python tests/house.py`` prints them."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "mercer"
MOST_LINES = 60
# Rooms of a house within the house: each is read as a room of its own.
INNER = ("tables",)


@cache
def modules(source: Path = SOURCE) -> tuple[tuple[str, str, ast.Module], ...]:
    """(path, room, syntax tree) of every file; files directly below `mercer` are rooms of one file."""
    found = []
    for path in sorted(source.rglob("*.py")):
        where = path.relative_to(source)
        parts = list(where.with_suffix("").parts)
        room = ".".join(parts[:2]) if parts[0] in INNER and len(parts) > 2 else parts[0]
        found.append((str(where), room, ast.parse(path.read_text(encoding="utf-8"))))
    return tuple(found)


def looks_inside(source: Path = SOURCE) -> list[str]:
    """Where a solver looks inside an operator."""
    inside = {"kernel", "X", "Z", "engine"}
    return [
        f"{path}:{node.lineno} .{node.attr}"
        for path, room, tree in modules(source)
        if room == "solvers"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in inside
    ]


def private_across_rooms(source: Path = SOURCE) -> list[str]:
    """Private names that are imported from, or read on objects of, another room."""
    trees = modules(source)
    defined: dict[str, set[str]] = defaultdict(set)
    for _, room, tree in trees:
        for node in ast.walk(tree):
            defined[room] |= set(_names_made(node))
    everywhere = set().union(*defined.values())
    found = []
    for path, room, tree in trees:
        elsewhere = everywhere - defined[room]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mercer."):
                found += _private_imports(path, room, node)
            # A name that no room makes belongs to another package.
            if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr in elsewhere:
                found.append(f"{path}:{node.lineno} .{node.attr}")
    return found


def _private_imports(path: str, room: str, node: ast.ImportFrom) -> list[str]:
    module = str(node.module).split(".")[1:]
    there = ".".join(module[:2]) if module[0] in INNER and len(module) > 1 else module[0]
    names = [*module[1:], *(alias.name for alias in node.names)]
    private = [name for name in names if _is_private(name)]
    return [f"{path}:{node.lineno} {node.module}: {n}" for n in private if there != room]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _names_made(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id


def classes_twice(source: Path = SOURCE) -> dict[str, list[str]]:
    """Class names that are defined more than once, and where."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, _, tree in modules(source):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path)
    return {name: where for name, where in sorted(found.items()) if len(where) > 1}


def long_functions(source: Path = SOURCE, most: int = MOST_LINES) -> dict[str, int]:
    """Functions of more than `most` lines, docstrings and blank lines apart."""
    found = {}
    for path, _, tree in modules(source):
        lines = (source / path).read_text(encoding="utf-8").splitlines()
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = sum(bool(line.strip()) for line in lines[node.lineno - 1 : node.end_lineno])
                if (doc := ast.get_docstring(node, clean=False)) is not None:
                    length -= sum(bool(line.strip()) for line in doc.splitlines())
                if length > most:
                    found[f"{path}:{node.name}"] = length
    return found


def main() -> None:
    print("solvers look inside operators:", *looks_inside(), sep="\n  ")
    print("private names across rooms:", *private_across_rooms(), sep="\n  ")
    print("class names twice:", *(f"{k}: {', '.join(v)}" for k, v in classes_twice().items()), sep="\n  ")
    print("long functions:", *(f"{k} {v}" for k, v in long_functions().items()), sep="\n  ")
    total = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in SOURCE.rglob("*.py"))
    print("lines:", total)


if __name__ == "__main__":
    sys.exit(main())
