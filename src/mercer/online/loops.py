"""What is done for every example, one after another, in the part of Python that is compiled.

All three loops are the online machine of the texts: predict, receive the loss, f ← (1 − 2ηλ) f − η V' k(x,·).
They differ in what f is made of: kernels at examples, some of which have to go (`expansion`), fixed or
growing coordinates (`coordinates`), and coordinates with a second-order step (`recursive`). Kernel values and
features of a chunk of examples are computed beforehand, by an engine, so that any kernel will do. f is never
shrunk term by term: it is `scale` times what the arrays say, and shrinking changes that one number.

The mean of all functions so far, (1/T) Σ f_t, needs no sum over terms either. With s_t the scale after step t
and P_t = Σ_{u≤t} s_u, a change δ of a coefficient at step t counts (P_T − P_{t−1}) δ in the sum, so P_{t−1} δ
is noted (in U) and the sum is P_T a − U. Where functions count from a later step on, P is 0 until then. That
difference is only as good as s_t is large beside P_t, so now and then (`rescale`, and when a loop ends) all
of it is put into U, and P begins again at 0.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset, and functions are called by name)

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

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


class LossAt(NamedTuple):
    """Where a loss finds one example, and leaves what it says of it: see `code.LossCode`."""

    y: "f64[:]"
    s: "f64[:]"
    g: "f64[:]"
    v: "f64[:]"
    w: "f64[:,:]"
    slope: "function(f64[:], f64[:], f64[:], f64[:,:], int)"
    value: "function(f64[:], f64[:], f64[:], f64[:,:], int)"


class Chunk(NamedTuple):
    """n examples of t outputs: targets, room for the scores before each step, steps as told, weights."""

    Y: "f64[:,:]"
    S: "f64[:,:]"
    eta: "f64[:]"
    weight: "f64[:]"
    n: int
    t: int


class Course(NamedTuple):
    """What changes from step to step beside the coefficients, and what does not: λ and three choices.

    `averaged` is the step from which on functions count in the mean; 0: there is none.
    """

    state: "f64[:]"
    count: "i64[:]"
    offset: "f64[:,:]"
    lam: float
    rate: int
    averaged: int
    shifted: int


class Terms(NamedTuple):
    """Columns, oldest first: kernel values, coefficients, ‖a_c k(x_c,·)‖², k(x,x), when they came.

    Of each, too, the one most like it and how like it is, where terms are merged.
    """

    K: "T[:,:]"
    A: "f64[:,:]"
    U: "f64[:,:]"
    size: "f64[:]"
    diagonal: "f64[:]"
    birth: "i64[:]"
    partner: "i64[:]"
    near: "f64[:]"


class Keeping(NamedTuple):
    """Who goes when there are too many; m terms are from before, row `base` of K is the first example's."""

    draws: "f64[:]"
    policy: int
    budget: int
    base: int
    m: int


def dot(a: "f64[:]", b: "T[:]", n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


# -- what all loops do ---------------------------------------------------------------------------------


def predict(A: "f64[:,:]", row: "T[:]", width: int, i: int, chunk: Chunk, course: Course, loss: LossAt):
    """Scores of example i, which are noted, and their slopes."""
    for j in range(chunk.t):
        loss.s[j] = course.state[SCALE] * dot(A[j], row, width) + course.offset[j, 0]
        loss.y[j] = chunk.Y[i, j]
        chunk.S[i, j] = loss.s[j]
    loss.slope(loss.y, loss.s, loss.g, loss.w, chunk.t)


def step_length(loss: LossAt, t: int, rate: int, told: float, power: float) -> float:
    """η: as told, or what makes the loss zero at this example, V/(‖V'‖² k(x,x)), bounded or damped.

    `power` is k(x,x), and 1 more if there is an offset, which moves as well.
    """
    if rate == TOLD:
        return told
    squared = 0.0
    for j in range(t):
        squared += loss.g[j] * loss.g[j]
    loss.value(loss.y, loss.s, loss.v, loss.w, t)
    wanted = squared * power
    if rate == SOFT:
        wanted += 0.5 / told
    eta = loss.v[0] / wanted if wanted > 0.0 and loss.v[0] > 0.0 else 0.0
    return min(eta, told) if rate == CAPPED else eta


def shrink(i: int, power: float, chunk: Chunk, course: Course, loss: LossAt) -> float:
    """The length of the step; f shrinks by 1 − 2ηλ."""
    told = chunk.eta[i]
    length = step_length(loss, chunk.t, course.rate, told, power + float(course.shifted))
    course.state[SCALE] = course.state[SCALE] * (1.0 - 2.0 * length * course.lam)
    return length


def is_small(course: Course) -> int:
    """Has f to be put into its coefficients again?"""
    scale = course.state[SCALE]
    return 1 if scale < TINY or (course.averaged > 0 and scale < SMALL) else 0


def rescale(A: "f64[:,:]", U: "f64[:,:]", t: int, n: int, course: Course):
    """Put the scale into the coefficients, which leaves f and the sum of functions as they are."""
    for j in range(t):
        for c in range(n):
            if course.averaged > 0:
                U[j, c] = U[j, c] - course.state[SUM] * A[j, c]
            A[j, c] = A[j, c] * course.state[SCALE]
    course.state[SUM] = 0.0
    course.state[SCALE] = 1.0


def add_to_sum(t: int, course: Course):
    """f as it is now joins the sum of all functions."""
    if course.averaged > 0 and course.count[NOW] >= course.averaged:
        course.state[SUM] = course.state[SUM] + course.state[SCALE]
        for j in range(t):
            course.offset[j, 1] = course.offset[j, 1] + course.offset[j, 0]


# -- terms that go -------------------------------------------------------------------------------------


def drop(terms: Terms, course: Course, c: int, t: int):
    for j in range(t):
        terms.A[j, c] = 0.0
        if course.averaged > 0:
            terms.U[j, c] = 0.0
    terms.size[c] = inf
    course.count[HELD] = course.count[HELD] - 1


def leave_window(terms: Terms, course: Course, budget: int, c: int, t: int):
    """Drop what came more than `budget` examples ago."""
    first = course.count[FIRST]
    last = course.count[NOW] - budget
    while first < c and (terms.size[first] == inf or terms.birth[first] <= last):
        if terms.size[first] != inf:
            drop(terms, course, first, t)
        first += 1
    course.count[FIRST] = first


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


def forget(terms: Terms, state: "f64[:]", r: int, n: int, t: int, eta: float):
    """Shrink f before its oldest term r is dropped, by so much that the mistakes this may cause are paid for.

    With σ the weight of that term and μ = y_r f(x_r), both in units of η, the largest φ ≤ 1 is taken for
    which φ²(σ² k − 2σμ) + 2φσ, added to what was spent before, is at most 15/32 of the mistakes so far.
    """
    squared = 0.0
    margin = 0.0
    for j in range(t):
        squared += terms.A[j, r] * terms.A[j, r]
        margin += terms.A[j, r] * dot(terms.A[j], terms.K[r], n)
    scale = state[SCALE] / eta
    sigma = sqrt(squared) * scale
    a = squared * scale * scale * terms.diagonal[r] - 2.0 * margin * scale * scale
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


def find_partner(terms: Terms, row: "T[:]", i: int, n: int):
    """Of those held, the one most like i."""
    best = -1.0
    found = -1
    own = terms.diagonal[i]
    for c in range(n):
        value = row[c]
        other = terms.diagonal[c]
        if terms.size[c] != inf and c != i:
            like = likeness(value, own, other)
            if like > best:
                best = like
                found = c
    terms.partner[i] = found
    terms.near[i] = best


def join(terms: Terms, c: int, n: int):
    """c is new: its partner, and it may be the partner of others."""
    find_partner(terms, terms.K[c], c, n)
    own = terms.diagonal[c]
    for i in range(n):
        value = terms.K[c, i]
        other = terms.diagonal[i]
        nearest = terms.near[i]
        if terms.size[i] != inf and i != c:
            like = likeness(value, own, other)
            if like > nearest:
                terms.near[i] = like
                terms.partner[i] = c


def merge(terms: Terms, course: Course, n: int, t: int):
    """Of all pairs, put that term onto the other's that changes f least: its projection stays."""
    least = inf
    i = 0
    for c in range(n):
        rest = 1.0 - terms.near[c]
        if terms.size[c] != inf:
            cost = terms.size[c] * rest if rest > 0.0 else 0.0
            if cost < least:
                least = cost
                i = c
    p = terms.partner[i]
    if p >= 0 and terms.diagonal[p] > 0.0:
        ratio = terms.K[i, p] / terms.diagonal[p]
        total = 0.0
        for j in range(t):
            terms.A[j, p] = terms.A[j, p] + ratio * terms.A[j, i]
            total += terms.A[j, p] * terms.A[j, p]
            if course.averaged > 0:
                terms.U[j, p] = terms.U[j, p] + ratio * terms.U[j, i]
        terms.size[p] = min(total * terms.diagonal[p], HUGE)
    drop(terms, course, i, t)
    for c in range(n):
        if terms.size[c] != inf and terms.partner[c] == i:
            find_partner(terms, terms.K[c], c, n)


def make_room(terms: Terms, course: Course, keeping: Keeping, i: int, n: int, t: int, length: float):
    """One of n terms is too many, after a step of that length at example i."""
    if keeping.policy == MERGE:
        merge(terms, course, n, t)
        return
    gone = 0
    if keeping.policy == SMALLEST:
        gone = smallest(terms.size, n)
    elif keeping.policy == AT_RANDOM:
        gone = at_random(terms.size, course.count[HELD], keeping.draws[i])
    else:
        gone = oldest(terms.size, course.count)
    if keeping.policy == FORGETRON:
        forget(terms, course.state, gone, n, t, length)
    drop(terms, course, gone, t)


# -- the loop ------------------------------------------------------------------------------------------


def rescale_terms(terms: Terms, course: Course, c: int, t: int):
    before = course.state[SCALE]
    rescale(terms.A, terms.U, t, c, course)
    for b in range(c):
        if terms.size[b] != inf:
            terms.size[b] = terms.size[b] * before * before


def add_term(terms: Terms, course: Course, loss: LossAt, c: int, t: int, weighted: float) -> float:
    """f − η w V' k(x_c,·), given ηw; ‖a_c‖²."""
    total = 0.0
    for j in range(t):
        change = -weighted * loss.g[j] / course.state[SCALE]
        terms.A[j, c] = change
        total += change * change
        if course.averaged > 0:
            terms.U[j, c] = course.state[SUM] * change
        if course.shifted == 1:
            course.offset[j, 0] = course.offset[j, 0] - weighted * loss.g[j]
    return total


def hold(terms: Terms, course: Course, keeping: Keeping, c: int, total: float):
    """Term c is one of those held."""
    power = terms.diagonal[c]
    terms.size[c] = min(total * power, HUGE) if power > 0.0 else 0.0
    terms.birth[c] = course.count[NOW]
    course.count[HELD] = course.count[HELD] + 1
    course.state[MISTAKES] = course.state[MISTAKES] + 1.0
    if keeping.policy == MERGE:
        join(terms, c, c + 1)


def expansion(terms: Terms, chunk: Chunk, course: Course, keeping: Keeping, loss: LossAt):
    """f = Σ a_c k(x_c,·): columns are m terms from before and the n examples of this chunk, oldest first.

    K has rows for all columns, or (base = 0) for the examples only. S gets the scores before each step.
    """
    t = chunk.t
    for i in range(chunk.n):
        c = keeping.m + i
        course.count[NOW] = course.count[NOW] + 1
        if keeping.policy == WINDOW:
            leave_window(terms, course, keeping.budget, c, t)
        predict(terms.A, terms.K[keeping.base + i], c, i, chunk, course, loss)
        length = shrink(i, terms.diagonal[c], chunk, course, loss)
        if is_small(course):
            rescale_terms(terms, course, c, t)
        total = add_term(terms, course, loss, c, t, length * chunk.weight[i])
        if total > 0.0:
            hold(terms, course, keeping, c, total)
            bounded = keeping.policy != NOBODY and keeping.policy != WINDOW
            if bounded and course.count[HELD] > keeping.budget:
                make_room(terms, course, keeping, i, c + 1, t, length)
        add_to_sum(t, course)
    if course.averaged > 0:
        rescale(terms.A, terms.U, t, keeping.m + chunk.n, course)
