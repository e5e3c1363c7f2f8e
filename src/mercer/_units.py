"""Which rows belong together: equal rows, and rows of one group, lie on one side of every split.

A row that is tested, or judged while parameters are chosen, must not have a copy of itself among the rows
that were learned from: the machine would only have to remember. `units_of` numbers the sets of rows that
stay together; everything that splits rows deals out those.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from mercer._xp import issparse

# Codes (words, whole numbers) of which so few combinations are possible, each with two rows on average, are
# equal by necessity, not because a row was copied: new rows will be equal to old ones, too.
_FEW_CODES, _ROWS_A_CODE = 32, 2
_NAN = np.uint64(0x7FF8000000000000)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Split = tuple[np.ndarray, np.ndarray]


def units_of(X: Any, groups: Any = None) -> np.ndarray:
    """(n,) numbers from 0, in order of appearance: equal where rows are equal, or of one group.

    Groups that share a row (an equal one) are one unit. A row whose group is missing (None, NaN) has none.
    Columns of codes with hardly any possible combinations, such as two columns of 0 and 1, are not compared:
    there, equal rows say nothing. About the price of a sort of the rows.

    Parameters
    ----------
    X : array, sparse matrix, data frame or sequence of objects
    groups : (n,) labels of any kind, optional

    Examples
    --------
    >>> units_of([[0.5, 1.0], [2.5, 1.0], [0.5, 1.0]]).tolist()
    [0, 1, 0]
    >>> units_of([[0.5], [1.5], [2.5]], groups=["a", None, "a"]).tolist()
    [0, 1, 0]
    """
    n = _length(X)
    rows = np.arange(n) if few_codes(X) else equal_rows(X)
    return rows if groups is None else joined(rows, group_codes(groups, n))


def equal_rows(X: Any) -> np.ndarray:
    """(n,) numbers from 0, in order of appearance, that are equal where rows are."""
    return _numbered(row_bits(X))


def row_bits(X: Any) -> np.ndarray:
    """64 bits for every row that look random, equal where rows are, whether they are sparse or not.

    Of a million different rows two are taken for equal with probability 3e-8, and then merely stay together.
    """
    if issparse(X):
        return _sparse_bits(X)
    bits = np.zeros(_length(X), dtype=np.uint64)
    for j, column in enumerate(_columns(X)):
        bits += _cells(_bits(column), np.full(1, j, dtype=np.uint64))
    return bits


def few_codes(X: Any) -> bool:
    """Are there so few possible rows that equal ones must be among them?

    >>> few_codes([[0, 1], [1, 1], [0, 1], [0, 0]] * 2), few_codes([[0.5, 1.0], [1.5, 1.0]] * 4)
    (True, False)
    """
    n, possible = _length(X), 1
    if issparse(X) or n < _ROWS_A_CODE:
        return False
    for column in _columns(X):
        if not _is_code(column):
            return False
        possible *= len(np.unique(_bits(column)))
        if possible > min(_FEW_CODES, n // _ROWS_A_CODE):
            return False
    return True


def group_codes(groups: Any, n: int) -> np.ndarray:
    """Labels of groups as numbers; −1 where there is none."""
    given = np.asarray(groups)
    if given.shape != (n,):
        raise ValueError(
            f"groups must be one label a row, {n:,} of them; got an array of shape {given.shape}"
        )
    if given.dtype.kind == "O":
        absent = np.array([v is None or v != v for v in given], dtype=bool)
    else:
        absent = given != given  # NaN and NaT, which are not equal to themselves
    codes = np.full(n, -1, dtype=np.intp)
    codes[~absent] = _numbered(_bits(given[~absent]))
    return codes


def joined(units: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Units that also hold rows of one group together."""
    n, some = len(units), codes >= 0
    if not some.any():
        return units
    first, last = units[some], n + codes[some]
    size = n + int(codes.max()) + 1
    graph = coo_matrix((np.ones(len(first), dtype=np.int8), (first, last)), (size, size))
    return _numbered(connected_components(graph, directed=False)[1][units])


def alone(units: np.ndarray | None) -> bool:
    """Does every row stand for itself?"""
    return units is None or count(units) == len(units)


def count(units: np.ndarray) -> int:
    """How many units there are; of a part of the rows, too."""
    return len(np.unique(units))


def one_each(units: np.ndarray, random_state: int = 0) -> np.ndarray:
    """One row of every unit, drawn at random: independent where units are."""
    order = np.random.default_rng(random_state).permutation(len(units))
    return np.sort(order[np.unique(units[order], return_index=True)[1]])


def fewest_in_a_class(labels: np.ndarray, units: np.ndarray) -> int:
    """The number of units of the class that occurs in the fewest."""
    return int(_counts(units, labels).astype(bool).sum(axis=0).min())


def worth(units: np.ndarray) -> float:
    """So many independent rows say at least as much about a mean: n²/Σ size².

    >>> worth(np.array([0, 0, 1, 1])), worth(np.arange(3))
    (2.0, 3.0)
    """
    sizes = np.unique(units, return_counts=True)[1].astype(float)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def by_size(units: np.ndarray) -> list[np.ndarray]:
    """Positions of the rows of units, one array (units, size) for each size."""
    order = np.argsort(units, kind="stable")
    starts, sizes = np.unique(units[order], return_index=True, return_counts=True)[1:]
    return [order[starts[sizes == s][:, None] + np.arange(s)] for s in np.unique(sizes)]


def folds(units: np.ndarray, k: int, labels: np.ndarray | None = None, random_state: int = 0) -> list[Split]:
    """(train, test) for each of k folds of units, with the shares of classes kept as well as units allow.

    Examples
    --------
    >>> [test.tolist() for _, test in folds(np.array([0, 0, 1, 2, 2, 1]), 3)]
    [[3, 4], [0, 1], [2, 5]]
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    if alone(units):
        splitter = KFold if labels is None else StratifiedKFold
        made = splitter(k, shuffle=True, random_state=random_state)
        return list(made.split(np.zeros(len(units)), labels))
    dealt = _dealt(units, k, labels, random_state)
    return [(np.flatnonzero(dealt != f), np.flatnonzero(dealt == f)) for f in range(k)]


def held_out(units: np.ndarray, size: int, labels: np.ndarray | None = None, random_state: int = 0) -> Split:
    """(train, test) with about `size` rows to test on."""
    from sklearn.model_selection import train_test_split

    n = len(units)
    if alone(units):
        train, test = train_test_split(
            np.arange(n), test_size=size, random_state=random_state, stratify=labels
        )
        return train, test
    k = min(max(2, round(n / size)), count(units))
    dealt = _dealt(units, k, labels, random_state)
    # The fold nearest to that size: one large unit may be a fold of its own.
    sizes = np.bincount(dealt, minlength=k)
    test = dealt == int(np.argmin(np.abs(sizes - size)))
    return np.flatnonzero(~test), np.flatnonzero(test)


def _dealt(units: np.ndarray, k: int, labels: np.ndarray | None, random_state: int) -> np.ndarray:
    """The fold of every row.

    Unit by unit, those with the largest share of a class first, each goes where it adds least to the sum of
    squared shares of classes; of equals where there are the fewest rows.
    """
    some = count(units)
    if some < 2:
        raise ValueError(
            "all rows are equal, or of one group: held out together, they leave none to learn from"
        )
    if not 2 <= k <= some:
        raise ValueError(
            f"{k} folds need as many different rows or groups at least, and there are {some}: ask for fewer "
            "folds"
        )
    counts = _counts(units, labels)
    shares = counts.multiply(1 / np.asarray(counts.sum(axis=0))).tocsr()
    sizes = np.asarray(counts.sum(axis=1)).ravel()
    shuffled = np.random.default_rng(random_state).permutation(some)
    largest = np.asarray(shares.max(axis=1).todense()).ravel()
    filled, total = np.zeros((k, counts.shape[1])), np.zeros(k)
    fold = np.empty(some, dtype=np.intp)
    for u in shuffled[np.argsort(-largest[shuffled], kind="stable")]:
        own = slice(shares.indptr[u], shares.indptr[u + 1])
        classes, share = shares.indices[own], shares.data[own]
        cost = filled[:, classes] @ share
        least = np.flatnonzero(cost <= cost.min() * (1 + 1e-9))
        fold[u] = best = least[np.argmin(total[least])]
        filled[best, classes] += share
        total[best] += sizes[u]
    return fold[np.unique(units, return_inverse=True)[1]]


def _counts(units: np.ndarray, labels: np.ndarray | None) -> csr_matrix:
    """(units, classes): how many rows of each class a unit has."""
    rows = np.unique(units, return_inverse=True)[1]
    columns = np.zeros(len(rows), dtype=np.intp)
    if labels is not None:
        columns = np.unique(labels, return_inverse=True)[1].ravel()
    return coo_matrix((np.ones(len(rows)), (rows, columns))).tocsr()


# -- telling rows apart -----------------------------------------------------------------------------


def _numbered(values: np.ndarray) -> np.ndarray:
    """Numbers from 0, in order of appearance."""
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place.ravel()]


def _columns(X: Any) -> Iterator[np.ndarray]:
    """The columns of a table or an array; of a sequence of objects there is one."""
    if hasattr(X, "columns") and not isinstance(X, np.ndarray):
        yield from (np.asarray(X[name]) for name in X.columns)
        return
    array = X if isinstance(X, np.ndarray) else _as_array(X)
    if array.ndim == 1:
        yield array
    else:
        flat = array.reshape(len(array), -1)
        yield from (flat[:, j] for j in range(flat.shape[1]))


def _length(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _as_array(X: Any) -> np.ndarray:
    try:
        array = np.asarray(X)
    except ValueError:  # objects of different shapes
        array = np.empty(0)
    if array.ndim and len(array) == len(X):
        return array
    made = np.empty(len(X), dtype=object)
    made[:] = list(X)
    return made


def _is_code(column: np.ndarray) -> bool:
    if column.dtype.kind == "f":
        return bool(((column == np.round(column)) | np.isnan(column)).all())
    if column.dtype.kind == "O":
        return all(isinstance(v, str | int | None) for v in column)
    return column.dtype.kind in "biuUS"


def _bits(column: np.ndarray) -> np.ndarray:
    """64 bits of every value, the same for equal ones; 0 and −0 are equal, and so are all NaN."""
    kind = column.dtype.kind
    if kind in "biu":
        return column.astype(np.uint64, casting="unsafe")
    if kind in "mM":
        return column.astype(np.int64).astype(np.uint64)
    if kind == "f":
        values = column.astype(np.float64) + 0.0
        return np.where(np.isnan(values), _NAN, values.view(np.uint64))
    if kind == "c":
        return _mixed(_bits(column.real.copy())) + _bits(column.imag.copy())
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(_key(v), len(seen)) for v in column], dtype=np.uint64)


def _key(value: Any) -> Hashable:
    """What tells an object from others; one that can't be compared is equal to itself only."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return id(value)
    return "missing", value != value if value != value else value


def _sparse_bits(X: Any) -> np.ndarray:
    rows = csr_matrix(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    cells = _cells(_bits(rows.data), rows.indices.astype(np.uint64))
    # Sums modulo 2⁶⁴ of the cells of a row, as differences of running sums.
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells)])
    return running[rows.indptr[1:]] - running[rows.indptr[:-1]]


def _cells(bits: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """What cells add to the bits of their rows; zeros add nothing, so that they need not be there."""
    return np.where(bits == 0, np.uint64(0), _mixed(bits + _mixed(columns + np.uint64(1))))


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Numbers that look random, the same for equal ones (the steps of SplitMix64)."""
    z = bits + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def in_turn(units: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The rows of an order, so that every unit has its first row before any has its second.

    >>> in_turn(np.array([0, 0, 0, 1, 2]), np.arange(5)).tolist()
    [0, 3, 4, 1, 2]
    """
    _, place, counts = np.unique(units[order], return_inverse=True, return_counts=True)
    rank = np.empty(len(order), dtype=np.intp)  # how many of its unit come before a row
    rank[np.argsort(place, kind="stable")] = np.arange(len(order)) - np.repeat(
        counts.cumsum() - counts, counts
    )
    return order[np.argsort(rank, kind="stable")]
