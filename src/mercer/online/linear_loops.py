"""What is done for every example where f = ⟨a, φ(·)⟩, in the part of Python that is compiled: see `loops`."""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset)

from __future__ import annotations

from math import sqrt

from mercer.online.loops import (
    FORGOTTEN,
    MISTAKES,
    NOISE,
    NOW,
    SCALE,
    SMALL,
    SUM,
    TINY,
    WIDTH,
    dot,
    rescale,
    step_length,
)


def grow(
    F: "f64[:,:]", K: "T[:,:]", L: "f64[:,:]", i: int, n: int, width: int, power: float, threshold: float
) -> int:
    """Give example i a coordinate of its own if it is farther than the threshold from the span of the others.

    The rows of F are coordinates in an orthonormal basis of that span; L leads from it back to kernels.
    """
    rest = power - dot(F[i], F[i], width)
    if rest <= threshold * threshold or rest <= NOISE * power:
        return width
    length = sqrt(rest)
    for c in range(width):
        L[width, c] = F[i, c]
    L[width, width] = length
    F[i, width] = length
    for r in range(i + 1, n):
        F[r, width] = (K[i, r] - dot(F[i], F[r], width)) / length
    return width + 1


def coordinates(
    F: "f64[:,:]",
    K: "T[:,:]",
    L: "f64[:,:]",
    A: "f64[:,:]",
    U: "f64[:,:]",
    diagonal: "f64[:]",
    chosen: "i64[:]",
    Y: "f64[:,:]",
    S: "f64[:,:]",
    eta: "f64[:]",
    weight: "f64[:]",
    offset: "f64[:,:]",
    state: "f64[:]",
    count: "i64[:]",
    y: "f64[:]",
    s: "f64[:]",
    g: "f64[:]",
    v: "f64[:]",
    w: "f64[:,:]",
    slope: "function(f64[:], f64[:], f64[:], f64[:,:], int)",
    value: "function(f64[:], f64[:], f64[:], f64[:,:], int)",
    n: int,
    t: int,
    lam: float,
    budget: int,
    threshold: float,
    rate: int,
    averaged: int,
    shifted: int,
):
    """f = ⟨a, φ(·)⟩, with coordinates φ that are given or (budget > 0) grow with the examples."""
    for i in range(n):
        count[NOW] = count[NOW] + 1
        width = count[WIDTH]
        for j in range(t):
            s[j] = state[SCALE] * dot(A[j], F[i], width) + offset[j, 0]
            y[j] = Y[i, j]
            S[i, j] = s[j]
        slope(y, s, g, w, t)
        length = step_length(value, y, s, g, v, w, t, rate, eta[i], diagonal[i] + float(shifted))
        state[SCALE] = state[SCALE] * (1.0 - 2.0 * length * lam)
        if state[SCALE] < TINY or (averaged == 1 and state[SCALE] < SMALL):
            rescale(A, U, state, t, width, averaged)
        total = 0.0
        for j in range(t):
            total += abs(g[j])
        if total * length * weight[i] > 0.0:
            state[MISTAKES] = state[MISTAKES] + 1.0
            if width < budget:
                width = grow(F, K, L, i, n, width, diagonal[i], threshold)
                if width > count[WIDTH]:
                    chosen[i] = 1
                    count[WIDTH] = width
            for j in range(t):
                change = -length * weight[i] * g[j] / state[SCALE]
                for c in range(width):
                    A[j, c] = A[j, c] + change * F[i, c]
                if averaged == 1:
                    for c in range(width):
                        U[j, c] = U[j, c] + state[SUM] * change * F[i, c]
                if shifted == 1:
                    offset[j, 0] = offset[j, 0] - length * weight[i] * g[j]
        if averaged == 1:
            state[SUM] = state[SUM] + state[SCALE]
            for j in range(t):
                offset[j, 1] = offset[j, 1] + offset[j, 0]
    if averaged == 1:
        rescale(A, U, state, t, count[WIDTH], averaged)


def recursive(
    F: "f64[:,:]",
    K: "T[:,:]",
    L: "f64[:,:]",
    A: "f64[:,:]",
    P: "f64[:,:]",
    diagonal: "f64[:]",
    chosen: "i64[:]",
    Y: "f64[:,:]",
    S: "f64[:,:]",
    weight: "f64[:]",
    count: "i64[:]",
    q: "f64[:]",
    n: int,
    t: int,
    budget: int,
    threshold: float,
    prior: float,
    keep: float,
):
    """Recursive least squares in coordinates: after T examples f minimises Σ keep^(T−t) (y − f)² +
    keep^T/prior ‖f‖².

    P is the inverse of the matrix of that problem; a new coordinate begins with what the penalty alone says
    of it, so one found at step t has keep^(T−t+1)/prior. P is kept exactly symmetric, and its diagonal below
    FORGOTTEN times the prior: where nothing new is learned forgetting would let it grow for ever.
    """
    for i in range(n):
        count[NOW] = count[NOW] + 1
        width = count[WIDTH]
        for j in range(t):
            S[i, j] = dot(A[j], F[i], width)
        if weight[i] > 0.0:
            if width < budget:
                width = grow(F, K, L, i, n, width, diagonal[i], threshold)
                if width > count[WIDTH]:
                    chosen[i] = 1
                    count[WIDTH] = width
                    P[width - 1, width - 1] = prior
            for c in range(width):
                q[c] = dot(P[c], F[i], width)
            power = keep / weight[i] + dot(q, F[i], width)
            root = sqrt(power)
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
            for j in range(t):
                change = (Y[i, j] - S[i, j]) / root
                for c in range(width):
                    A[j, c] = A[j, c] + change * q[c]
