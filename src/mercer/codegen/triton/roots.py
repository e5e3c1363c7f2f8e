"""Numbers that multiply a root go under it, where they cost nothing."""

from __future__ import annotations

import math
from dataclasses import replace

from mercer.codegen.formula import Formula
from mercer.codegen.programme import Instruction, Programme

# Instructions whose operand is no position.
_SOURCES = ("leaf", "row", "column", "constant")


def absorbed(formula: Formula) -> Formula:
    """The formula with c·√s, c < 0, written as −√(c²s), where s is a statistic used for nothing but its root.

    The points are scaled beforehand, and a sign is free: of exp(−r/σ) a multiplication a pair is left out.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> from mercer.kernels.formula import trace
    >>> before = trace(Laplacian(2.0))
    >>> after = absorbed(before)
    >>> [i[0] for i in after.programme.instructions if i[0] != "constant"]
    ['leaf', 'sqrt', 'neg', 'exp2']
    >>> round(after.leaves[0].scale / before.programme.constants[0] ** 2, 12)
    1.0
    """
    for i, leaf in enumerate(formula.leaves):
        if leaf.kind == "distance" and leaf.scale > 0:
            formula = _absorbed(formula, i)
    return formula


def _absorbed(formula: Formula, leaf: int) -> Formula:
    code, constants = list(formula.programme.instructions), list(formula.programme.constants)
    root = _only_root(code, leaf)
    if root is None:
        return formula
    users = _users(code, root)
    # A number that something else shares would have to be kept for that.
    own = {j: code[code[j][2]][1] for j in users if code[j][:2] == ("mul", root) and _private(code, j)}
    exponent = next((j for j, k in own.items() if -math.inf < constants[k] < 0), None)
    if exponent is None:
        return formula
    c = constants[own.pop(exponent)]
    code[exponent] = ("neg", root)
    for k in own.values():
        constants[k] /= -c
    others = [j for j in users if j not in own and j != exponent]
    if others:
        code = _multiplied(code, root, others, len(constants))
        constants.append(1 / -c)
    leaves = list(formula.leaves)
    leaves[leaf] = replace(leaves[leaf], scale=leaves[leaf].scale * c * c)
    return replace(formula, programme=Programme(tuple(code), tuple(constants)), leaves=tuple(leaves))


def _multiplied(code: list[Instruction], at: int, users: list[int], number: int) -> list[Instruction]:
    """The code with some users of a result given that result times a constant."""
    product = at + 2

    def moved(j: int, operands: tuple[int, ...]) -> list[int]:
        return [product if o == at and j in users else o + 2 * (o > at) for o in operands]

    out: list[Instruction] = []
    for j, (operation, *operands) in enumerate(code):
        out.append((operation, *(operands if operation in _SOURCES else moved(j, tuple(operands)))))
        if j == at:
            out += [("constant", number), ("mul", at, at + 1)]
    return out


def _only_root(code: list[Instruction], leaf: int) -> int | None:
    """The position of the root of a leaf, if nothing else is made of that leaf."""
    users = [j for at, one in enumerate(code) if one == ("leaf", leaf) for j in _users(code, at)]
    return users[0] if len(users) == 1 and code[users[0]][0] == "sqrt" else None


def _users(code: list[Instruction], at: int) -> list[int]:
    """Positions of what is made of the result at a position."""
    return [
        j for j, (operation, *operands) in enumerate(code) if operation not in _SOURCES and at in operands
    ]


def _private(code: list[Instruction], at: int) -> bool:
    """Is the second operand of this multiplication a constant that nothing else uses?"""
    second = code[at][2]
    return code[second][0] == "constant" and _users(code, second) == [at]
