"""Tables of the gap-weighted subsequence kernel, as Python that is also compiled.

Let M_q(i, j) be the sum of λ^gaps over all pairs of equal subsequences of length q that end at the letters
x_i = z_j, the gaps being letters passed over in between. Then M_1 is 1 where letters are equal, and

    M_{q+1}(i, j) = D_q(i−1, j−1) where x_i = z_j,  D_q(i, j) = step Σ_{i'≤i, j'≤j} λ^{i−i'+j−j'} M_q(i', j').

Only one row of each D_q is kept. Longer subsequences come first, so that they still find the row before.
No term is negative: what overflows is infinite in the end, and then done again with numbers of any size.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037, E741  (annotations are types of the compiled subset)

from __future__ import annotations

import numpy as np

from mercer.kernels.strings.lanes import LANES

# Numbers of any size are t·2^(512 u) with t = 0 or 2^-256 ≤ t < 2^256.
LARGE, TINY, UP, DOWN = 2.0**256, 2.0**-256, 2.0**512, 2.0**-512


def begin(D: "f64[:,:]", size: int, length: int, total: "f64[:]"):
    """Before the first letter: D_0 is 1, all others 0."""
    for j in range(length * size):
        start = 1.0 if j < size else 0.0
        for l in range(LANES):
            D[j, l] = start
    for l in range(LANES):
        total[l] = 0.0


def gaps(
    a: "i64[:,:]",
    b: "i64[:,:]",
    n: int,
    first: int,
    last: int,
    length: int,
    decay: float,
    step: float,
    blended: int,
    D: "f64[:,:]",
    r: "f64[:]",
    m: int,
    total: "f64[:]",
):
    """total = ΣM_length (blended: of all lengths up to it), of each column of a with that of b.

    Letters of a from the first to the last; D and total are those of the letters before.
    """
    size = m + 1
    if first == 0:
        begin(D, size, length, total)
    for i in range(first, last):
        for s in range(length):
            q = length - s
            rest = 0 if blended == 1 else s  # letters that must be left for a subsequence to be completed
            if i >= q - 1 and i < n - rest:
                below = (q - 1) * size
                if s == 0 or blended == 1:
                    for j in range(q - 1, m):
                        old = below + j
                        for l in range(LANES):
                            total[l] = total[l] + (D[old, l] if a[i, l] == b[j, l] else 0.0)
                if s > 0:
                    for l in range(LANES):
                        r[l] = 0.0
                    for j in range(q - 1, m - rest):
                        old = below + j
                        new = old + size + 1
                        for l in range(LANES):
                            v = D[old, l]
                            v = v if a[i, l] == b[j, l] else 0.0
                            r[l] = decay * r[l] + v
                            D[new, l] = decay * D[new, l] + step * r[l]


def gaps_of_rows(
    codes: "i64[:]",
    starts: "i64[:]",
    first: int,
    last: int,
    b: "i64[:,:]",
    m: int,
    length: int,
    decay: float,
    step: float,
    blended: int,
    a: "i64[:,:]",
    D: "f64[:,:]",
    r: "f64[:]",
    out: "f64[:,:]",
):
    """`gaps` of some strings with each column of b, a row of `out` for each."""
    for k in range(first, last):
        start = starts[k]
        n = starts[k + 1] - start
        for i in range(n):
            letter = codes[start + i]
            for l in range(LANES):
                a[i, l] = letter
        gaps(a, b, n, 0, n, length, decay, step, blended, D, r, m, out[k])


def gaps_in_numpy(a, b, length, decay, step, blended):
    """`gaps` for any number of columns, each step for all of them; a may have one column for all."""
    D = np.zeros((length, len(b) + 1, b.shape[1]))
    D[0] = 1
    total = np.zeros(b.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(len(a)):
            same = b == a[i]
            for q in range(min(length, i + 1), 0, -1):
                terms = np.where(same, D[q - 1, :-1], 0)
                if q == length or blended:
                    total += terms.sum(axis=0)
                if q < length:
                    r = np.zeros(b.shape[1])
                    for j in range(len(b)):
                        r = decay * r + terms[j]
                        D[q, j + 1] = decay * D[q, j + 1] + step * r
    return total


# -- numbers of any size -------------------------------------------------------------------------------


def settle(t: "f64[:]", u: "i64[:]", k: int):
    if t[k] >= LARGE:
        t[k] = t[k] * DOWN
        u[k] = u[k] + 1
    elif t[k] > 0.0 and t[k] < TINY:
        t[k] = t[k] * UP
        u[k] = u[k] - 1


def grow(t: "f64[:]", u: "i64[:]", k: int, add: float, size: int):
    """Number k += add·2^(512 size)."""
    if add > 0.0:
        if t[k] == 0.0 or size > u[k] + 1:
            t[k] = add
            u[k] = size
        elif size == u[k] + 1:
            t[k] = t[k] * DOWN + add
            u[k] = size
        elif size == u[k]:
            t[k] = t[k] + add
        elif size == u[k] - 1:
            t[k] = t[k] + add * DOWN
        settle(t, u, k)


def shrink(t: "f64[:]", u: "i64[:]", k: int, factor: float, size: int):
    """Number k *= factor·2^(512 size)."""
    t[k] = t[k] * factor
    u[k] = u[k] + size
    settle(t, u, k)


def wide_gaps(
    a: "i64[:]",
    b: "i64[:]",
    n: int,
    m: int,
    first: int,
    last: int,
    length: int,
    decay: "f64[:]",
    sizes: "i64[:]",
    blended: int,
    D: "f64[:,:]",
    E: "i64[:,:]",
    t: "f64[:]",
    u: "i64[:]",
):
    """`gaps` of one pair in numbers of any size; number 0 of t, u is the total.

    D and E are 0 before the first letter, one row a length; ``decay`` and ``sizes`` are λ, step.
    """
    if first == 0:
        for j in range(m + 1):
            D[0, j] = 1.0
    for i in range(first, last):
        for s in range(length):
            q = length - s
            rest = 0 if blended == 1 else s
            if i >= q - 1 and i < n - rest:
                t[1] = 0.0
                u[1] = 0
                for j in range(q - 1, m - rest):
                    shrink(t, u, 1, decay[0], sizes[0])
                    if a[i] == b[j]:
                        grow(t, u, 1, D[q - 1, j], E[q - 1, j])
                        if s == 0 or blended == 1:
                            grow(t, u, 0, D[q - 1, j], E[q - 1, j])
                    if s > 0:
                        shrink(D[q], E[q], j + 1, decay[0], sizes[0])
                        t[2] = t[1]
                        u[2] = u[1]
                        shrink(t, u, 2, decay[1], sizes[1])
                        grow(D[q], E[q], j + 1, t[2], u[2])
