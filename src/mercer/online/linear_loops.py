"""What is done for every example where f = ⟨a, φ(·)⟩, in the part of Python that is compiled: see `loops`."""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset)

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from mercer.online.loops import (
    FORGOTTEN,
    MISTAKES,
    NOISE,
    NOW,
    SCALE,
    SUM,
    WIDTH,
    Chunk,
    Course,
    LossAt,
    add_to_sum,
    dot,
    is_small,
    predict,
    rescale,
    shrink,
)


class Directions(NamedTuple):
    """Coordinates F of the examples in an orthonormal basis of a span; L leads from it back to kernels.

    An example becomes part of it (`chosen`) if it is farther than the threshold from it, and there is room.
    """

    F: "f64[:,:]"
    K: "T[:,:]"
    L: "f64[:,:]"
    diagonal: "f64[:]"
    chosen: "i64[:]"
    budget: int
    threshold: float


def grow(span: Directions, i: int, n: int, width: int) -> int:
    """Give example i a coordinate of its own, if it needs one; how many there are then."""
    if width >= span.budget:
        return width
    power = span.diagonal[i]
    rest = power - dot(span.F[i], span.F[i], width)
    if rest <= span.threshold * span.threshold or rest <= NOISE * power:
        return width
    length = sqrt(rest)
    for c in range(width):
        span.L[width, c] = span.F[i, c]
    span.L[width, width] = length
    span.F[i, width] = length
    for r in range(i + 1, n):
        span.F[r, width] = (span.K[i, r] - dot(span.F[i], span.F[r], width)) / length
    span.chosen[i] = 1
    return width + 1


def move(
    A: "f64[:,:]",
    U: "f64[:,:]",
    row: "f64[:]",
    width: int,
    t: int,
    weighted: float,
    course: Course,
    loss: LossAt,
):
    """a − η w V' φ(x), given ηw."""
    for j in range(t):
        change = -weighted * loss.g[j] / course.state[SCALE]
        for c in range(width):
            A[j, c] = A[j, c] + change * row[c]
        if course.averaged > 0:
            for c in range(width):
                U[j, c] = U[j, c] + course.state[SUM] * change * row[c]
        if course.shifted == 1:
            course.offset[j, 0] = course.offset[j, 0] - weighted * loss.g[j]


def coordinates(A: "f64[:,:]", U: "f64[:,:]", span: Directions, chunk: Chunk, course: Course, loss: LossAt):
    """f = ⟨a, φ(·)⟩, with coordinates φ that are given or (budget > 0) grow with the examples."""
    t = chunk.t
    for i in range(chunk.n):
        course.count[NOW] = course.count[NOW] + 1
        width = course.count[WIDTH]
        predict(A, span.F[i], width, i, chunk, course, loss)
        length = shrink(i, span.diagonal[i], chunk, course, loss)
        if is_small(course):
            rescale(A, U, t, width, course)
        total = 0.0
        for j in range(t):
            total += abs(loss.g[j])
        weighted = length * chunk.weight[i]
        if total * weighted > 0.0:
            course.state[MISTAKES] = course.state[MISTAKES] + 1.0
            width = grow(span, i, chunk.n, width)
            course.count[WIDTH] = width
            move(A, U, span.F[i], width, t, weighted, course, loss)
        add_to_sum(t, course)
    if course.averaged > 0:
        rescale(A, U, t, course.count[WIDTH], course)


def learn_from(
    P: "f64[:,:]", q: "f64[:]", row: "f64[:]", width: int, weight: float, prior: float, keep: float
) -> float:
    """Take an example into P, the inverse of the problem's matrix; q by the number returned is its gain.

    P is kept exactly symmetric, and its diagonal below FORGOTTEN times the prior: where nothing new is
    learned forgetting would let it grow for ever.
    """
    for c in range(width):
        q[c] = dot(P[c], row, width)
    root = sqrt(keep / weight + dot(q, row, width))
    for c in range(width):
        q[c] = q[c] / root
    for c in range(width):
        for b in range(width):
            P[c, b] = (P[c, b] - q[c] * q[b]) / keep
    for c in range(width):
        if P[c, c] > FORGOTTEN * prior:
            ratio = sqrt(FORGOTTEN * prior / P[c, c])
            for b in range(width):
                P[c, b] = P[c, b] * ratio
                P[b, c] = P[b, c] * ratio
    return root


def recursive(
    A: "f64[:,:]",
    P: "f64[:,:]",
    q: "f64[:]",
    span: Directions,
    chunk: Chunk,
    count: "i64[:]",
    prior: float,
    keep: float,
):
    """Recursive least squares in coordinates: after T examples f minimises Σ keep^(T−t) (y − f)² +
    keep^T/prior ‖f‖².

    A new coordinate begins with what the penalty alone says of it, so one found at step t has
    keep^(T−t+1)/prior.
    """
    t = chunk.t
    for i in range(chunk.n):
        count[NOW] = count[NOW] + 1
        width = count[WIDTH]
        for j in range(t):
            chunk.S[i, j] = dot(A[j], span.F[i], width)
        if chunk.weight[i] > 0.0:
            width = grow(span, i, chunk.n, width)
            if width > count[WIDTH]:
                count[WIDTH] = width
                P[width - 1, width - 1] = prior
            root = learn_from(P, q, span.F[i], width, chunk.weight[i], prior, keep)
            for j in range(t):
                change = (chunk.Y[i, j] - chunk.S[i, j]) / root
                for c in range(width):
                    A[j, c] = A[j, c] + change * q[c]
