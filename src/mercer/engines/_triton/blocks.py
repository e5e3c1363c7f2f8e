"""A traced formula evaluated by torch on a block of pairs: simple, float64, for checks and rare functions."""

from __future__ import annotations

from typing import Any

from mercer.codegen.formula import Formula


def evaluate(formula: Formula, leaves: list[Any], rows: list[Any], columns: list[Any]) -> Any:
    """k from the values of leaves (n, m) and of scalars (n,), (m,)."""
    import torch

    sources = {
        "leaf": leaves.__getitem__,
        "row": lambda i: rows[i][:, None],
        "column": lambda i: columns[i][None],
    }
    return formula.programme.on_arrays(sources, torch)


def statistic(leaf: Any, X: Any, Z: Any, centre: Any) -> Any:
    """scale · statistic of all pairs, for points as the leaf's view shows them."""
    import torch

    if leaf.kind == "dot":
        return leaf.scale * (X @ Z.T)
    if leaf.kind == "distance":
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
        sources = {"x": lambda k=k: X[:, k, None], "z": lambda k=k: Z[None, :, k]}
        total = total + leaf.term.on_arrays(sources, torch)
    return leaf.scale * total
