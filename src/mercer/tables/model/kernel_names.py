"""Names that a search has for kernels, and what they mean to somebody who wants to know what was learned."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.kernels import Forest, Kernel
from mercer.kernels.transforms import LengthScales, Mahalanobis
from mercer.tables.model.families import FAMILIES
from mercer.tables.model.texts import bag_of, kernel_terms

LEARNED, LENGTHS, WIDTH = ", learned metric", ", learned lengths", ", one width"
_MEANING: Mapping[str, str] = {
    "laplacian l1": "curves that may have kinks, and change along one column at a time",
    "laplacian": "curves that may have kinks, in any direction",
    "matern 3/2": "smooth curves, without kinks",
    "gaussian": "very smooth curves",
    "linear": "straight lines: each column adds its part, in proportion",
    "quadratic": "straight lines, squares, and products of two columns",
    "forest": "steps: rows are alike if many decision trees put them into the same leaf",
}
_DISTANCES: Mapping[str, str] = {
    LEARNED: "distances along the directions in which predictions change most",
    LENGTHS: "a length scale for each column, from how fast predictions change along it",
    WIDTH: "the same width for all columns",
}

# A number with more digits than anybody reads.
_LONG = re.compile(r"\d+\.\d{4,}(e[+-]?\d+)?")


def meaning(name: str) -> str:
    """What a kernel of this name is good at, in words; nothing for a name without.

    >>> meaning("gaussian, one width")
    'very smooth curves; the same width for all columns'
    >>> meaning("forest")
    'steps: rows are alike if many decision trees put them into the same leaf'
    """
    base, comma, distances = name.partition(",")
    if base not in _MEANING:
        return ""
    said = _DISTANCES.get(comma + distances)
    if said is None and base not in ("linear", "quadratic", "forest"):
        said = "a length scale for each column"
    return f"{_MEANING[base]}; {said}" if said else _MEANING[base]


def name_of(kernel: Kernel) -> str:
    """The name the search has for a kernel of its own, or for a sum of them.

    >>> from mercer.kernels import Gaussian, Laplacian
    >>> name_of(Gaussian(1.0).scaled([1.0, 2.0]) + 0.5 * Laplacian(1.0).metric([[2.0, 1.0], [1.0, 2.0]]))
    'gaussian + laplacian, learned metric'
    """
    named: list[str] = []
    for _, term in kernel_terms(kernel):
        bag = bag_of(term)
        if bag is not None:
            named += [bag[0]] * (bag[0] not in named)  # of several texts
        elif isinstance(term, Forest):
            named.append("forest")
        elif isinstance(term, Mahalanobis):
            named.append(_of_family(term.kernel) + LEARNED)
        else:
            named.append(
                _of_family(term.kernel) if isinstance(term, LengthScales) else _of_family(term) + WIDTH
            )
    return " + ".join(named)


def _of_family(kernel: Kernel) -> str:
    for name, family in FAMILIES.items():
        base = family.base
        free = {parameter: getattr(base, parameter) for parameter in (*base.positive, *base.log_params)}
        if type(kernel) is type(base) and kernel.replace(**free) == base:
            return name
    return repr(kernel)


def kernel_words(kernel: Kernel, names: Any = ()) -> str:
    """A kernel in one short line: without the list of its length scales. `names` are those of coordinates.

    >>> from mercer.kernels import Gaussian, Laplacian
    >>> kernel_words(0.5 * Gaussian(1.0).scaled([1.0, 1.0]) + Laplacian(1.0, norm="l1").scaled([0.5, 8.0]))
    "0.5·Gaussian(sigma=1.0)(x/1) + Laplacian(sigma=1.0, norm='l1')(x/ℓ), ℓ from 0.5 to 8"
    """

    def words(factor: float, part: Kernel) -> str:
        bag = bag_of(part)
        learned = ""
        if isinstance(part, Mahalanobis):
            learned, part = f" in a learned metric of {len(part.matrix):,} coordinates", part.kernel
        said = repr(part) if bag is None else f"tf–idf cosine of {bag[0]} in {names[bag[1]]!r}"
        if isinstance(part, LengthScales):
            lengths = np.asarray(part.lengths)
            said = f"{part.kernel!r}(x/ℓ), ℓ from {lengths.min():.2g} to {lengths.max():.2g}"
            if np.allclose(lengths, lengths[0]):
                said = f"{part.kernel!r}(x/{lengths[0]:.3g})"
        if bag is None:
            said = _LONG.sub(lambda number: f"{float(number[0]):.4g}", said)
        return f"{'' if factor == 1 else f'{factor:.2g}·'}{said}{learned}"

    return " + ".join(words(*term) for term in kernel_terms(kernel))
