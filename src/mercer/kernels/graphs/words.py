"""Labels of nodes and edges in words, for showing what features are."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.graphs import Labels

# Longer words are cut off.
LONGEST = 300


def label_words(labels: list[Labels | None], sizes: np.ndarray, nothing: str) -> list[str]:
    """The labels of all graphs, one after another; `nothing` where a graph has none."""
    out: list[str] = []
    for found, size in zip(labels, sizes, strict=True):
        out += [nothing] * int(size) if found is None else [str(label) for label in _plain(found)]
    return out


def cut(word: str) -> str:
    """The word, or its beginning."""
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + "…"


def _plain(labels: Labels) -> Any:
    return labels.tolist() if isinstance(labels, np.ndarray) else labels
