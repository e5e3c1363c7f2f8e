"""What is done for every example, one after another, in the part of Python that is compiled.

All three loops are the online machine of the texts: predict, receive the loss, f ← (1 − 2ηλ) f − η V' k(x,·).
They differ in what f is made of: kernels at examples, some of which have to go (`expansion`), fixed or
growing coordinates (`coordinates`), and coordinates with a second-order step (`recursive`). Kernel values and
features of a chunk of examples are computed beforehand, by an engine, so that any kernel will do. f is never
shrunk term by term: it is `scale` times what the arrays say, and shrinking changes that one number.

The mean of all functions so far, (1/T) Σ f_t, needs no sum over terms either. With s_t the scale after step t
and P_t = Σ_{u≤t} s_u, a change δ of a coefficient at step t counts (P_T − P_{t−1}) δ in the sum, so P_{t−1} δ
is noted (in U) and the sum is P_T a − U. That difference is only as good as s_t is large beside P_t, so now
and then (`rescale`, and when a loop ends) all of it is put into U, and P begins again at 0.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset, and functions are called by name)

from __future__ import annotations

from math import inf, sqrt

# Places in `state`.
SCALE, SUM, SPENT, MISTAKES = 0, 1, 2, 3
# Places in `count`.
HELD, FIRST, NOW, WIDTH = 0, 1, 2, 3
# Who goes when there are too many: see `budgets`.
NOBODY, OLDEST, SMALLEST, AT_RANDOM, FORGETRON, MERGE, WINDOW = 0, 1, 2, 3, 4, 5, 6
# How long a step is: as told, or by the loss (passive-aggressive, its three variants).
TOLD, PLAIN, CAPPED, SOFT = 0, 1, 2, 3
# A smaller scale is multiplied through, long before it is lost.
TINY = 1e-100
# With a mean to keep, that happens earlier.
SMALL = 0.01
# Sizes end here: infinity means that a term is gone.
HUGE = 1e300
# A squared distance from a span, over k(x,x), that rounding can't tell from 0: with rest r the coefficients
# of the projection may be as large as 1/r, and their rounding, eps/r, has to stay below r.
NOISE = 1e-7
# A penalty that has become so many times less is as good as none.
FORGOTTEN = 1e6
# The Forgetron may spend this part of a mistake on forgetting.
SHARE = 15.0 / 32.0


def dot(a: "f64[:]", b: "T[:]", n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


def rescale(A: "f64[:,:]", U: "f64[:,:]", state: "f64[:]", t: int, n: int, averaged: int):
    """Put the scale into the coefficients, which leaves f and the sum of functions as they are."""
    for j in range(t):
        for c in range(n):
            if averaged == 1:
                U[j, c] = U[j, c] - state[SUM] * A[j, c]
            A[j, c] = A[j, c] * state[SCALE]
    state[SUM] = 0.0
    state[SCALE] = 1.0


def step_length(
    value: "function(f64[:], f64[:], f64[:], f64[:,:], int)",
    y: "f64[:]",
    s: "f64[:]",
    g: "f64[:]",
    v: "f64[:]",
    w: "f64[:,:]",
    t: int,
    rate: int,
    told: float,
    power: float,
) -> float:
    """η: as told, or what makes the loss zero at this example, V/(‖V'‖² k(x,x)), bounded or damped.

    `power` is k(x,x), and 1 more if there is an offset, which moves as well.
    """
    if rate == TOLD:
        return told
    squared = 0.0
    for j in range(t):
        squared += g[j] * g[j]
    value(y, s, v, w, t)
    wanted = squared * power
    if rate == SOFT:
        wanted += 0.5 / told
    eta = v[0] / wanted if wanted > 0.0 and v[0] > 0.0 else 0.0
    return min(eta, told) if rate == CAPPED else eta


def drop(A: "f64[:,:]", U: "f64[:,:]", size: "f64[:]", count: "i64[:]", c: int, t: int, averaged: int):
    for j in range(t):
        A[j, c] = 0.0
        if averaged == 1:
            U[j, c] = 0.0
    size[c] = inf
    count[HELD] = count[HELD] - 1


def oldest(size: "f64[:]", count: "i64[:]") -> int:
    first = count[FIRST]
    while size[first] == inf:
        first += 1
    count[FIRST] = first
    return first


def smallest(size: "f64[:]", n: int) -> int:
    """The first column of least size."""
    least = inf
    for c in range(n):
        least = min(least, size[c])
    found = n
    for c in range(n):
        found = min(found, c if size[c] == least else n)
    return found


def at_random(size: "f64[:]", held: int, draw: float) -> int:
    """One of those held, each as likely as the others."""
    left = int(draw * float(held))
    c = 0
    while size[c] == inf or left > 0:
        if size[c] != inf:
            left -= 1
        c += 1
    return c


def forget(
    K: "T[:,:]", A: "f64[:,:]", diagonal: "f64[:]", state: "f64[:]", r: int, n: int, t: int, eta: float
):
    """Shrink f before its oldest term r is dropped, by so much that the mistakes this may cause are paid for.

    With σ the weight of that term and μ = y_r f(x_r), both in units of η, the largest φ ≤ 1 is taken for
    which φ²(σ² k − 2σμ) + 2φσ, added to what was spent before, is at most 15/32 of the mistakes so far.
    """
    squared = 0.0
    margin = 0.0
    for j in range(t):
        squared += A[j, r] * A[j, r]
        margin += A[j, r] * dot(A[j], K[r], n)
    scale = state[SCALE] / eta
    sigma = sqrt(squared) * scale
    a = squared * scale * scale * diagonal[r] - 2.0 * margin * scale * scale
    b = 2.0 * sigma
    left = SHARE * state[MISTAKES] - state[SPENT]
    phi = 1.0
    if a + b > left:
        phi = 2.0 * left / (b + sqrt(max(b * b + 4.0 * a * left, 0.0)))
    state[SPENT] = state[SPENT] + phi * (phi * a + b)
    state[SCALE] = state[SCALE] * phi


def likeness(value: float, first: float, second: float) -> float:
    """cos² of the angle between two kernels, from k between their points and k of each with itself."""
    both = first * second
    return value * value / both if both > 0.0 else 0.0


def find_partner(
    row: "T[:]",
    diagonal: "f64[:]",
    size: "f64[:]",
    partner: "i64[:]",
    near: "f64[:]",
    i: int,
    n: int,
):
    """Of those held, the one most like i."""
    best = -1.0
    found = -1
    own = diagonal[i]
    for c in range(n):
        value = row[c]
        other = diagonal[c]
        if size[c] != inf and c != i:
            like = likeness(value, own, other)
            if like > best:
                best = like
                found = c
    partner[i] = found
    near[i] = best


def join(
    K: "T[:,:]",
    diagonal: "f64[:]",
    size: "f64[:]",
    partner: "i64[:]",
    near: "f64[:]",
    c: int,
    n: int,
):
    """c is new: its partner, and it may be the partner of others."""
    find_partner(K[c], diagonal, size, partner, near, c, n)
    own = diagonal[c]
    for i in range(n):
        value = K[c, i]
        other = diagonal[i]
        nearest = near[i]
        if size[i] != inf and i != c:
            like = likeness(value, own, other)
            if like > nearest:
                near[i] = like
                partner[i] = c


def merge(
    K: "T[:,:]",
    A: "f64[:,:]",
    U: "f64[:,:]",
    size: "f64[:]",
    diagonal: "f64[:]",
    partner: "i64[:]",
    near: "f64[:]",
    count: "i64[:]",
    n: int,
    t: int,
    averaged: int,
):
    """Of all pairs, put that term onto the other's that changes f least: its projection stays."""
    least = inf
    i = 0
    for c in range(n):
        rest = 1.0 - near[c]
        if size[c] != inf:
            cost = size[c] * rest if rest > 0.0 else 0.0
            if cost < least:
                least = cost
                i = c
    p = partner[i]
    if p >= 0 and diagonal[p] > 0.0:
        ratio = K[i, p] / diagonal[p]
        total = 0.0
        for j in range(t):
            A[j, p] = A[j, p] + ratio * A[j, i]
            total += A[j, p] * A[j, p]
            if averaged == 1:
                U[j, p] = U[j, p] + ratio * U[j, i]
        size[p] = min(total * diagonal[p], HUGE)
    drop(A, U, size, count, i, t, averaged)
    for c in range(n):
        if size[c] != inf and partner[c] == i:
            find_partner(K[c], diagonal, size, partner, near, c, n)


def expansion(
    K: "T[:,:]",
    A: "f64[:,:]",
    U: "f64[:,:]",
    size: "f64[:]",
    diagonal: "f64[:]",
    birth: "i64[:]",
    Y: "f64[:,:]",
    S: "f64[:,:]",
    eta: "f64[:]",
    weight: "f64[:]",
    draws: "f64[:]",
    offset: "f64[:,:]",
    state: "f64[:]",
    count: "i64[:]",
    partner: "i64[:]",
    near: "f64[:]",
    y: "f64[:]",
    s: "f64[:]",
    g: "f64[:]",
    v: "f64[:]",
    w: "f64[:,:]",
    slope: "function(f64[:], f64[:], f64[:], f64[:,:], int)",
    value: "function(f64[:], f64[:], f64[:], f64[:,:], int)",
    base: int,
    m: int,
    n: int,
    t: int,
    lam: float,
    policy: int,
    budget: int,
    rate: int,
    averaged: int,
    shifted: int,
):
    """f = Σ a_c k(x_c,·): columns are m terms from before and the n examples of this chunk, oldest first.

    K has rows for all columns, or (base = 0) for the examples only. S gets the scores before each step.
    """
    for i in range(n):
        c = m + i
        count[NOW] = count[NOW] + 1
        if policy == WINDOW:
            while count[FIRST] < c and (
                size[count[FIRST]] == inf or birth[count[FIRST]] <= count[NOW] - budget
            ):
                if size[count[FIRST]] != inf:
                    drop(A, U, size, count, count[FIRST], t, averaged)
                count[FIRST] = count[FIRST] + 1
        for j in range(t):
            s[j] = state[SCALE] * dot(A[j], K[base + i], c) + offset[j, 0]
            y[j] = Y[i, j]
            S[i, j] = s[j]
        slope(y, s, g, w, t)
        length = step_length(value, y, s, g, v, w, t, rate, eta[i], diagonal[c] + float(shifted))
        state[SCALE] = state[SCALE] * (1.0 - 2.0 * length * lam)
        if state[SCALE] < TINY or (averaged == 1 and state[SCALE] < SMALL):
            before = state[SCALE]
            rescale(A, U, state, t, c, averaged)
            for b in range(c):
                if size[b] != inf:
                    size[b] = size[b] * before * before
        total = 0.0
        for j in range(t):
            change = -length * weight[i] * g[j] / state[SCALE]
            A[j, c] = change
            total += change * change
            if averaged == 1:
                U[j, c] = state[SUM] * change
            if shifted == 1:
                offset[j, 0] = offset[j, 0] - length * weight[i] * g[j]
        if total > 0.0:
            size[c] = min(total * diagonal[c], HUGE) if diagonal[c] > 0.0 else 0.0
            birth[c] = count[NOW]
            count[HELD] = count[HELD] + 1
            state[MISTAKES] = state[MISTAKES] + 1.0
            if policy == MERGE:
                join(K, diagonal, size, partner, near, c, c + 1)
            if policy != NOBODY and policy != WINDOW and count[HELD] > budget:
                if policy == MERGE:
                    merge(K, A, U, size, diagonal, partner, near, count, c + 1, t, averaged)
                else:
                    gone = c
                    if policy == SMALLEST:
                        gone = smallest(size, c + 1)
                    elif policy == AT_RANDOM:
                        gone = at_random(size, count[HELD], draws[i])
                    else:
                        gone = oldest(size, count)
                    if policy == FORGETRON:
                        forget(K, A, diagonal, state, gone, c + 1, t, length)
                    drop(A, U, size, count, gone, t, averaged)
        if averaged == 1:
            state[SUM] = state[SUM] + state[SCALE]
            for j in range(t):
                offset[j, 1] = offset[j, 1] + offset[j, 0]
    if averaged == 1:
        rescale(A, U, state, t, m + n, averaged)
