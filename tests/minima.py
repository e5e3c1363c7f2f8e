"""The minimum of regularised problems, bracketed from both sides: without the library, in long double.

Every problem is brought to features first, C(u, b) = (1/n) Σ w_i V(y_i, Φ_i u + b) + λ‖u‖²; kernels are
factored by pivoted Cholesky in long double. Strictly convex losses are minimised by Newton's method, those
with pieces through their dual, a quadratic problem in a box, by an interior-point method. `minimum` gives a
value that is reached and one that can't be undercut (by strong convexity, or by duality), whatever was done.
"""

from dataclasses import dataclass
from itertools import product
from math import factorial

import numpy as np

LD = np.longdouble
_EPS = np.finfo(LD).eps


# -- kernels ------------------------------------------------------------------------------------------


def kernel_values(kernel, X, Z):
    """K(X, Z) in long double, for kernels given as (name, parameters)."""
    name, *p = kernel
    X, Z = X.astype(LD), Z.astype(LD)
    if name in ("linear", "polynomial"):
        S = X @ Z.T
        return S if name == "linear" else (S + LD(p[1])) ** int(p[0])
    G = X[:, None, :] - Z[None, :, :]
    if name == "gaussian":
        return np.exp(-(G * G).sum(axis=2) / (2 * LD(p[0]) ** 2))
    assert name == "laplacian"
    return np.exp(-np.sqrt((G * G).sum(axis=2)) / LD(p[0]))


def pivoted(K):
    """(order, L, left): K = L Lᵀ to the rounding of long double, and what is left of the diagonal."""
    n = len(K)
    d = K.diagonal().copy()
    scale = np.where(d > 0, d, 1)
    L, order = np.zeros((n, n), LD), []
    for j in range(n):
        i = int(np.argmax(d / scale))
        if d[i] <= 64 * n * _EPS * scale[i]:
            break
        column = K[:, i] - L[:, :j] @ L[i, :j]
        L[:, j] = column / np.sqrt(d[i])
        L[order, j] = 0
        d = d - L[:, j] ** 2
        d[[*order, i]] = 0
        order.append(i)
    return np.array(order, dtype=int), L[:, : len(order)], np.maximum(d, 0)


def lower_solve(L, B):
    """L⁻¹ B in long double."""
    X = np.array(B, LD)
    for i in range(len(L)):
        X[i] = (X[i] - L[i, :i] @ X[:i]) / L[i, i]
    return X


@dataclass
class Space:
    """Features Φ (n, p) of the functions allowed, what they miss of k(x, x), and whether none is cut off."""

    Phi: np.ndarray
    left: np.ndarray
    whole: bool


def full_space(kernel, X):
    if kernel[0] in ("linear", "polynomial"):
        return Space(monomials(kernel, X), np.zeros(len(X), LD), True)
    _, L, left = pivoted(kernel_values(kernel, X, X))
    return Space(L, left, True)


def monomials(kernel, X):
    """The coordinates of a linear or polynomial kernel, by the multinomial theorem, in long double."""
    X = X.astype(LD)
    if kernel[0] == "linear":
        return X
    degree, c = int(kernel[1]), LD(kernel[2])
    columns = []
    for powers in product(range(degree + 1), repeat=X.shape[1]):
        rest = degree - sum(powers)
        if rest >= 0 and (rest == 0 or c > 0):
            count = LD(factorial(degree)) / np.prod([factorial(k) for k in (*powers, rest)])
            columns.append(np.sqrt(count * c**rest) * np.prod(X ** np.array(powers), axis=1))
    return np.stack(columns, axis=1)


def centre_space(kernel, X, Z):
    Z = np.unique(Z, axis=0)
    order, L, _ = pivoted(kernel_values(kernel, Z, Z))
    Phi = lower_solve(L[order], kernel_values(kernel, X, Z[order]).T).T
    return Space(Phi, np.zeros(len(X), LD), len(order) == len(Z))


# -- losses -------------------------------------------------------------------------------------------


def _log1pexp(a):
    return np.maximum(a, 0) + np.log1p(np.exp(-np.abs(a)))


def _sigmoid(a):
    e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1, e) / (1 + e)


def _softmax(s):
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def value(loss, y, s):
    """V summed over outputs, (n,)."""
    name, *p = loss
    r = y - s
    if name == "squared":
        V = r * r
    elif name == "huber":
        c = np.clip(r, -p[0], p[0])
        V = c * (2 * r - c)
    elif name == "absolute":
        V = np.abs(r)
    elif name == "epsilon":
        V = np.maximum(np.abs(r) - p[0], 0)
    elif name == "squared_epsilon":
        V = np.maximum(np.abs(r) - p[0], 0) ** 2
    elif name == "quantile":
        V = np.maximum(p[0] * r, (p[0] - 1) * r)
    elif name == "logistic":
        V = _log1pexp(-y * s)
    elif name == "exponential":
        V = np.exp(-y * s)
    elif name == "poisson":
        V = np.exp(s) - y * s
    elif name == "hinge":
        V = np.maximum(1 - y * s, 0)
    elif name == "squared_hinge":
        V = np.maximum(1 - y * s, 0) ** 2
    else:
        top = s.max(axis=1)
        return top + np.log(np.exp(s - top[:, None]).sum(axis=1)) - (y * s).sum(axis=1)
    return V.sum(axis=1)


def derivatives(loss, y, s):
    """V' (n, t) and V'' (n, t, t) of the strictly convex losses."""
    name = loss[0]
    if name == "multinomial":
        p = _softmax(s)
        return p - y, np.eye(s.shape[1]) * p[:, :, None] - p[:, :, None] * p[:, None, :]
    if name == "squared":
        g, h = 2 * (s - y), 2 + 0 * s
    elif name == "logistic":
        g, h = -y * _sigmoid(-y * s), _sigmoid(y * s) * _sigmoid(-y * s)
    elif name == "exponential":
        g, h = -y * np.exp(-y * s), np.exp(-y * s)
    else:
        g, h = np.exp(s) - y, np.exp(s)
    return g, np.eye(s.shape[1]) * h[:, :, None]


PIECES = ("huber", "absolute", "epsilon", "squared_epsilon", "quantile", "hinge", "squared_hinge")


def box(loss, y):
    """V(y, s) = max over lower ≤ a ≤ upper of a (y − s) − kink |a| − ½ curvature a²; y of shape (n,)."""
    name, *p = loss
    one, zero, far = np.ones(len(y)), np.zeros(len(y)), np.full(len(y), np.inf)
    return {
        "huber": lambda: (-2 * p[0] * one, 2 * p[0] * one, 0.0, 0.5),
        "absolute": lambda: (-one, one, 0.0, 0.0),
        "epsilon": lambda: (-one, one, p[0], 0.0),
        "squared_epsilon": lambda: (-far, far, p[0], 0.5),
        "quantile": lambda: ((p[0] - 1) * one, p[0] * one, 0.0, 0.0),
        "hinge": lambda: (np.minimum(y, 0), np.maximum(y, 0), 0.0, 0.0),
        "squared_hinge": lambda: (np.where(y > 0, zero, -far), np.where(y > 0, far, zero), 0.0, 0.5),
    }[name]()


# -- minima -------------------------------------------------------------------------------------------


def objective(loss, y, s, lam, w, square):
    """(1/n) Σ w_i V(y_i, s_i) + λ‖f‖², in long double."""
    losses = np.where(w > 0, value(loss, y.astype(LD), s.astype(LD)), 0)
    return (w * losses).sum() / len(y) + LD(lam) * square


def minimum(space, y, loss, lam, w, offset):
    """(value reached, value that can't be undercut) by min over u, b."""
    Phi = space.Phi
    if offset:  # b takes up the mean of every feature, so that nothing large is left to cancel
        Phi = Phi - (w @ Phi) / w.sum()
    if loss[0] in PIECES:
        both = [_dual(Phi, space.left, y[:, j], loss, lam, w, offset) for j in range(y.shape[1])]
        high, low = (sum(v) for v in zip(*both, strict=True))
    else:
        high, low = _newton(Phi, space.left, y, loss, lam, w, offset)
    return high, low if space.whole else LD(-np.inf)


def constant(y, loss, lam, w, offset):
    """The objective of the best constant, or of 0 without an offset."""
    return minimum(Space(np.zeros((len(y), 0), LD), np.zeros(len(y), LD), True), y, loss, lam, w, offset)[0]


def _newton(Phi, left, y, loss, lam, w, offset):
    n, p = Phi.shape
    t = y.shape[1]
    y = y.astype(LD)
    penalty = np.concatenate([np.ones(p), np.zeros(int(offset))])
    F = np.hstack([Phi, np.ones((n, int(offset)), LD)])
    U = np.zeros((F.shape[1], t), LD)
    if offset and loss[0] == "squared":
        U[-1] = (w @ y) / w.sum()
    if offset and loss[0] == "poisson":
        U[-1] = np.log(np.maximum((w @ y) / w.sum(), 1e-9))

    def C(U):
        with np.errstate(over="ignore"):
            return objective(loss, y, F @ U, lam, w, (penalty[:, None] * U * U).sum())

    best, here, low = C(U), C(U), LD(-np.inf)
    for _ in range(200):
        g, h = derivatives(loss, y, F @ U)
        g = g * w[:, None]
        G = F.T @ g / n + 2 * lam * penalty[:, None] * U
        lost = np.sqrt(left) @ np.abs(g).sum(axis=1) / n
        low = max(low, here - _undercut(G, lost, lam, p, loss, U, offset))
        step = _newton_step(F, h * w[:, None, None], G, lam, penalty, t)
        slope, length = float((step * G).sum()), LD(1)
        while C(U + length * step) > here + 1e-4 * length * slope and length > 1e-12:
            length /= 2
        if length <= 1e-12:
            break
        U = U + length * step
        now = C(U)
        done = here - now <= 4 * _EPS * abs(here)
        here, best = now, min(best, now)
        if done and low > -np.inf and (here - low <= 1e-15 * abs(here) or length < 1e-6):
            break
    return best, low


def _undercut(G, lost, lam, p, loss, U, offset):
    """How much lower the minimum may be: strong convexity in u; for b, a generous reach times its slope."""
    square = (np.sqrt((G[:p] ** 2).sum()) + lost) ** 2 / (4 * LD(lam))
    if not offset:
        return square
    return square + np.abs(G[p:]).sum() * 10 * (1 + np.abs(U[p:]).max())


def _newton_step(F, h, G, lam, penalty, t):
    n, q = F.shape
    if q == 0:
        return np.zeros((0, t), LD)
    if t == 1:
        H = (F * h[:, 0]).T @ F / n + np.diag(2 * LD(lam) * penalty)
        return -_cholesky_solve(H, G)
    A = F.astype(np.float64)
    H = np.einsum("ia,ijk,ib->ajbk", A, h.astype(np.float64) / n, A, optimize=True).reshape(q * t, q * t)
    H[np.diag_indices_from(H)] += np.repeat(2 * lam * penalty, t)
    d = 1 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
    H = d[:, None] * H * d[None, :]
    H[np.diag_indices_from(H)] += 1e-13
    return LD(-1) * (d * np.linalg.solve(H, d * G.astype(np.float64).ravel())).reshape(q, t)


def _cholesky_solve(H, B):
    """H⁻¹ B in long double, what is singular to rounding being left out."""
    d = 1 / np.sqrt(np.maximum(H.diagonal(), LD(1e-300)))
    H, n = d[:, None] * H * d[None, :], len(H)
    L = np.zeros_like(H)
    for j in range(n):
        column = H[j:, j] - L[j:, :j] @ L[j, :j]
        L[j:, j] = column / np.sqrt(max(column[0], 64 * n * _EPS))
        L[j, j] = np.sqrt(max(column[0], 64 * n * _EPS))
    X = lower_solve(L, d[:, None] * B)
    for i in range(n - 1, -1, -1):
        X[i] = (X[i] - L[i + 1 :, i] @ X[i + 1 :]) / L[i, i]
    return d[:, None] * X


def _dual(Phi, left, y, loss, lam, w, offset):
    """One output of a loss with pieces, through minimise ½cᵀKc − yᵀc + κ|c|₁ + ½ Σ (δ/C) c² in a box."""
    n = len(y)
    seen = w > 0
    Phi, left, y, weights = Phi[seen], left[seen], y[seen].astype(LD), w[seen]
    lower, upper, kink, bend = box(loss, y.astype(np.float64))
    C = weights / (2 * lam * n)
    c = _interior(Phi.astype(np.float64), y, C * lower, C * upper, kink, bend / C, offset)
    high, low = LD(np.inf), LD(-np.inf)
    for trial in (c, _polished(Phi, y, C * lower, C * upper, kink, bend / C, offset, c)):
        trial = _feasible(trial, C * lower, C * upper, offset)
        u = Phi.T @ trial
        s = Phi @ u
        b = _best_offset(s, y, C, loss) if offset else 0
        square = (u * u).sum()
        P = (C * value(loss, y[:, None], (s + b)[:, None])).sum() + square / 2
        # The part of Σ c_i k(x_i,·) that the features miss is at most this long.
        reach = np.sqrt(square) + np.sqrt(left) @ np.abs(trial)
        D = reach**2 / 2 - (y * trial).sum() + kink * np.abs(trial).sum() + (bend / C * trial**2).sum() / 2
        high, low = min(high, P), max(low, -D)
    return 2 * LD(lam) * high, 2 * LD(lam) * low


def _feasible(c, lower, upper, offset):
    c = np.clip(c.astype(LD), lower, upper)
    if not offset:
        return c
    for _ in range(3):
        missing = -c.sum()
        room = np.minimum(upper - c if missing > 0 else c - lower, np.abs(c) + abs(missing))
        if missing == 0 or room.sum() == 0:
            break
        c = np.clip(c + np.sign(missing) * room * min(abs(missing) / room.sum(), 1), lower, upper)
    return c


def _best_offset(s, y, C, loss):
    """b with the least Σ C V(y, s + b): bisection on its slope."""
    low, high = (y - s).min() - 2, (y - s).max() + 2
    for _ in range(100):
        b = (low + high) / 2
        h = (high - low) * LD(1e-3)
        up, down = (float((C * value(loss, y[:, None], (s + b + e)[:, None])).sum()) for e in (h, -h))
        low, high = (low, b + h) if up > down else (b - h, high)
    return (low + high) / 2


def _interior(Phi, y, lower, upper, kink, extra, offset):
    """Mehrotra's method on x in [0, h]; with a kink c = p − q."""
    y, n = y.astype(np.float64), len(y)
    if kink:
        sign = np.concatenate([np.ones(n), -np.ones(n)])
        at, h = np.concatenate([np.arange(n)] * 2), np.concatenate([upper, -lower])
        base = np.zeros(n)
    else:
        down = ~np.isfinite(lower)
        sign, at = np.where(down, -1.0, 1.0), np.arange(n)
        base = np.where(down, upper, lower)
        h = np.where(np.isfinite(upper) & np.isfinite(lower), upper - lower, np.inf)
    K = Phi @ Phi.T + np.diag(extra)
    Q = sign[:, None] * K[np.ix_(at, at)] * sign[None, :]
    if kink:  # p and q of one example are never both positive, so that what they share does not matter
        Q = sign[:, None] * (Phi @ Phi.T)[np.ix_(at, at)] * sign[None, :] + np.diag(extra[at])
    q = sign * (K @ base - y)[at] + kink
    E, e = sign, -base.sum()
    size = np.where(np.isfinite(h), h, 1 / np.maximum(Q.diagonal(), 1e-12))
    x = np.where(np.isfinite(h), 0.5 * h, size)
    scale = max(float(np.abs(q).max()), 1e-12)
    z, v, mult = np.full(len(x), scale), np.where(np.isfinite(h), scale, 0.0), 0.0
    finite = np.isfinite(h)
    for _ in range(120):
        gap = np.where(finite, h - x, 1.0)
        stationary = Q @ x + q - z + v + (mult * E if offset else 0)
        balance = E @ x - e if offset else 0.0
        mu = (x @ z + (gap * v)[finite].sum()) / (len(x) + finite.sum())
        if mu <= 1e-15 * scale * float(np.abs(x).mean()):
            break
        M = Q + np.diag(z / x + np.where(finite, v / gap, 0))
        d = 1 / np.sqrt(M.diagonal())
        M = d[:, None] * M * d[None, :]
        M[np.diag_indices_from(M)] += 1e-15
        try:
            solve = np.linalg.inv(np.linalg.cholesky(M))
        except np.linalg.LinAlgError:
            break

        at_point = (x, z, v, gap, stationary, balance, d, solve, E if offset else None, finite)
        dx, dz, dv, _ = _direction(at_point, 0.0, 0.0, 0.0)
        a = _longest(x, dx, z, dz, gap, v, dv, finite)
        after = ((x + a * dx) @ (z + a * dz) + ((gap - a * dx) * (v + a * dv))[finite].sum()) / (
            len(x) + finite.sum()
        )
        target = mu * max(after / mu, 0) ** 3
        dx, dz, dv, dm = _direction(at_point, target, dx * dz, np.where(finite, -dx * dv, 0))
        a = 0.995 * _longest(x, dx, z, dz, gap, v, dv, finite)
        x, z, v, mult = x + a * dx, z + a * dz, v + a * dv, mult + a * dm
        if finite.any():
            x = np.where(finite, np.minimum(x, h * (1 - 1e-16)), x)
    c = base.copy()
    np.add.at(c, at, sign * x)
    return c


def _direction(point, target, second, third):
    """Newton's step towards x z = v (h − x) = target, less terms of second order."""
    x, z, v, gap, stationary, balance, d, solve, E, finite = point
    rz, rv = target - x * z - second, np.where(finite, target - gap * v - third, 0)

    def back(r):
        return d * (solve.T @ (solve @ (d * r)))

    dx, dm = back(-stationary + rz / x - np.where(finite, rv / gap, 0)), 0.0
    if E is not None:
        one = back(E)
        dm = (E @ dx + balance) / (E @ one)
        dx = dx - dm * one
    return dx, (rz - z * dx) / x, np.where(finite, (rv + v * dx) / gap, 0), dm


def _longest(x, dx, z, dz, gap, v, dv, finite):
    a = 1.0
    for value, change in ((x, dx), (z, dz), (gap[finite], -dx[finite]), (v[finite], dv[finite])):
        falls = change < 0
        if falls.any():
            a = min(a, float((-value[falls] / change[falls]).min()))
    return a


def _polished(Phi, y, lower, upper, kink, extra, offset, c):
    """The coefficients that seem free, solved for with the others put to their bound or to 0."""
    c = np.clip(np.asarray(c, np.float64), lower, upper)
    size = np.where(np.isfinite(upper - lower), upper - lower, np.abs(c).max() + 1e-300)
    stops = np.stack([lower, upper, np.zeros(len(c))] if kink else [lower, upper])
    near = np.abs(stops - c)
    nearest = near.argmin(axis=0)
    held = near.min(axis=0) <= 1e-6 * size
    out = np.where(held, stops[nearest, np.arange(len(c))], c).astype(LD)
    free = np.flatnonzero(~held)
    if len(free) == 0:
        return out
    F = Phi[free]
    K = (F @ F.T + np.diag(extra[free])).astype(np.float64)
    rhs = y[free] - kink * np.sign(c[free]) - F @ (Phi[held].T @ out[held])
    if offset:
        K = np.block([[K, np.ones((len(free), 1))], [np.ones((1, len(free))), np.zeros((1, 1))]])
        rhs = np.append(rhs, -out[held].sum())
    d = np.append(1 / np.sqrt(np.maximum(K.diagonal()[: len(free)], 1e-300)), [1.0] * offset)
    out[free] = (d * np.linalg.lstsq(d[:, None] * K * d, d * rhs.astype(np.float64), rcond=1e-15)[0])[
        : len(free)
    ]
    return out


def lasso(Phi, y, loss, lam, w, offset):
    """(reached, not undercut) for λ‖c‖₁, squared or logistic: proximal steps, and Fenchel's dual."""
    n, y = len(y), y[:, 0].astype(LD)
    Phi = Phi.astype(LD)
    middle = (w @ Phi) / w.sum() if offset else np.zeros(Phi.shape[1], LD)
    scale = np.abs(Phi - middle).max(axis=0)
    scale = np.where(scale > 0, scale, 1)
    F, t = ((Phi - middle) / scale).astype(np.float64), lam / scale.astype(np.float64)
    Y, c, b = y.astype(np.float64), np.zeros(Phi.shape[1]), 0.0
    bend = {"squared": 2.0, "logistic": 0.25}[loss[0]]
    curvature = bend * (w @ F**2) / n
    high, low, s = np.inf, -np.inf, np.zeros(n)

    def slope(s):
        return w * (2 * (s - Y) if loss[0] == "squared" else -Y * _sigmoid(-Y * s))

    for sweep in range(3000):
        if offset:
            for _ in range(1 if loss[0] == "squared" else 5):
                d = -slope(s).sum() / (bend * w.sum())
                b, s = b + d, s + d
        for j in np.flatnonzero(curvature):
            g = F[:, j] @ slope(s) / n
            new = c[j] - g / curvature[j]
            new = np.sign(new) * max(abs(new) - t[j] / curvature[j], 0)
            if new != c[j]:
                s = s + F[:, j] * (new - c[j])
                c[j] = new
        if sweep % 50 == 49:
            high = min(
                high, float((w * value(loss, y[:, None], s[:, None])).sum() / n + (t * np.abs(c)).sum())
            )
            u = slope(s)
            u = u - offset * w * u.sum() / w.sum()
            u = u * min(1, 1 / max(float((np.abs(F.T @ u) / n / t).max(initial=0)), 1e-300))
            a = np.divide(u, w, out=np.zeros(n), where=w > 0)
            if loss[0] == "squared":
                conjugate = a * Y + a * a / 4
            else:
                p = np.clip(-a * Y, 0, 1)
                conjugate = np.where(p > 0, p * np.log(np.maximum(p, 1e-300)), 0)
                conjugate = conjugate + np.where(p < 1, (1 - p) * np.log(np.maximum(1 - p, 1e-300)), 0)
                if (np.abs(p + a * Y) > 1e-12).any():
                    conjugate = np.inf * np.ones(n)
            low = max(low, float(-(w * conjugate).sum() / n))
            if high - low <= 1e-10 * abs(high):
                break
    return high, low
