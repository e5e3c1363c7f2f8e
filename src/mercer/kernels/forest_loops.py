"""Points falling through trees, and meeting others there, as Python that is also compiled.

Trees lie one after another in the same arrays. A node whose children do not come after it is a leaf, so that
every fall ends, whatever the arrays hold.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset)

from __future__ import annotations

import numpy as np


def fall(
    X: "f32[:,:]",
    first: int,
    last: int,
    starts: "i64[:]",
    trees: int,
    feature: "i32[:]",
    threshold: "f64[:]",
    left: "i32[:]",
    right: "i32[:]",
    out: "f32[:,:]",
):
    """out[i, t] = the leaf of tree t in which point i ends, counted from the tree's first node."""
    for t in range(trees):
        root = starts[t]
        for i in range(first, last):
            node = root
            while left[node] > node:
                node = left[node] if X[i, feature[node]] <= threshold[node] else right[node]
            out[i, t] = node - root


def fall_in_numpy(X, first, last, starts, trees, feature, threshold, left, right, out):
    """`fall` of all points through all trees at once, one level a step."""
    node = np.repeat(starts[None, :trees], last - first, axis=0)
    row = np.arange(first, last)[:, None]
    inner = left[node] > node
    while inner.any():
        goes_left = X[row, feature[node]] <= threshold[node]
        node = np.where(inner, np.where(goes_left, left[node], right[node]), node)
        inner = left[node] > node
    out[first:last] = node - starts[:trees]


def meet(
    leaf: "i32[:]",
    trees: int,
    first: int,
    last: int,
    starts: "i32[:]",
    members: "i32[:]",
    share: float,
    columns: int,
    out: "T[:,:]",
):
    """out[i, j] = the number of trees in which points i and j have the same leaf, times `share`.

    leaf : of point i in tree t at i·trees + t
    members : the points j in each leaf, from starts[leaf] on
    """
    for i in range(first, last):
        for j in range(columns):
            out[i, j] = 0.0
        for t in range(trees):
            here = leaf[i * trees + t]
            for p in range(starts[here], starts[here + 1]):
                j = members[p]
                out[i, j] = out[i, j] + 1.0
        for j in range(columns):
            out[i, j] = out[i, j] * share
