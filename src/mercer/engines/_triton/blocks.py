"""A traced formula evaluated by torch on a block of pairs: simple, float64, for checks and rare functions."""

from __future__ import annotations

from typing import Any

from mercer.codegen.formula import Formula, Programme


def evaluate(formula: Formula, leaves: list[Any], rows: list[Any], columns: list[Any]) -> Any:
    """k from the values of leaves (n, m) and of scalars (n,), (m,)."""
    return run(
        formula.programme, leaf=leaves, row=[r[:, None] for r in rows], column=[c[None] for c in columns]
    )


def run(programme: Programme, **sources: Any) -> Any:
    """The programme's result, with `leaf`, `row`, `column` (or `x`, `z`) given."""
    import torch

    functions = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "exp2": torch.exp2,
        "log2": torch.log2,
        "sqrt": torch.sqrt,
        "sin": torch.sin,
        "cos": torch.cos,
        "tanh": torch.tanh,
        "arccos": torch.arccos,
        "abs": torch.abs,
        "max": lambda a, b: torch.clamp(a, min=b),
        "min": lambda a, b: torch.clamp(a, max=b),
    }
    values: list[Any] = []
    for operation, *operands in programme.instructions:
        if operation == "constant":
            values.append(programme.constants[operands[0]])
        elif operation in ("x", "z"):
            values.append(sources[operation])
        elif operation in ("leaf", "row", "column"):
            values.append(sources[operation][operands[0]])
        else:
            a = [values[o] for o in operands]
            if operation in ("max", "min") and isinstance(a[0], float):
                a.reverse()
            values.append(functions[operation](*a))
    return values[-1]


def statistic(leaf: Any, X: Any, Z: Any, centre: Any) -> Any:
    """scale · statistic of all pairs, for points as the leaf's view shows them."""
    import torch

    if leaf.statistic.name == "x·z":
        return leaf.scale * (X @ Z.T)
    if leaf.statistic.name == "‖x−z‖²":
        if X.shape[1] <= 32:
            S = torch.zeros(len(X), len(Z), dtype=X.dtype, device=X.device)
            for k in range(X.shape[1]):
                S += (X[:, k, None] - Z[None, :, k]) ** 2
            return leaf.scale * S
        X, Z = X - centre, Z - centre
        xx = (X * X).sum(1)
        S = xx[:, None] + (Z * Z).sum(1) - 2 * (X @ Z.T)
        close = 2e-6 * xx[:, None] > S
        i, j = torch.nonzero(close, as_tuple=True)
        S[i, j] = ((X[i] - Z[j]) ** 2).sum(1)
        return leaf.scale * S
    total = 0.0
    for k in range(X.shape[1]):
        total = total + run(leaf.term, x=X[:, k, None], z=Z[None, :, k])
    return leaf.scale * total
