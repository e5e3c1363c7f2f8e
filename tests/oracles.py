"""Dense float64 references, written without the library: formulas from the texts, minimised by SciPy.

Losses take targets y and scores s of shape (n, t) and give V (n,), ∂V (n, t) and ∂²V (n, t, t).
"""

import numpy as np
from scipy.optimize import linprog, minimize


def _separate(value, grad, hess):
    def loss(y, s):
        h = np.zeros((*s.shape, s.shape[1]))
        h[:, range(s.shape[1]), range(s.shape[1])] = hess(y, s)
        return value(y, s).sum(axis=1), grad(y, s), h

    return loss


def _multinomial(y, s):
    s = s - s.max(axis=1, keepdims=True)
    e = np.exp(s)
    p = e / e.sum(axis=1, keepdims=True)
    h = np.eye(s.shape[1]) * p[:, :, None] - p[:, :, None] * p[:, None, :]
    return np.log(e.sum(axis=1)) - (y * s).sum(axis=1), p - y, h


def sigmoid(m):
    return 1 / (1 + np.exp(-m))


def huber(delta):
    return _separate(
        lambda y, s: np.where(np.abs(y - s) <= delta, (y - s) ** 2, 2 * delta * np.abs(y - s) - delta**2),
        lambda y, s: np.where(np.abs(y - s) <= delta, 2 * (s - y), 2 * delta * np.sign(s - y)),
        lambda y, s: 2.0 * (np.abs(y - s) <= delta),
    )


LOSSES = {
    "Squared": _separate(lambda y, s: (y - s) ** 2, lambda y, s: 2 * (s - y), lambda y, s: 2 + 0 * s),
    "Huber": huber(1.0),
    "Poisson": _separate(lambda y, s: np.exp(s) - y * s, lambda y, s: np.exp(s) - y, lambda y, s: np.exp(s)),
    "SquaredEpsilonInsensitive": _separate(
        lambda y, s: np.maximum(0, np.abs(y - s) - 0.1) ** 2,
        lambda y, s: np.where(y - s > 0.1, -2 * (y - s - 0.1), np.where(s - y > 0.1, 2 * (s - y - 0.1), 0)),
        lambda y, s: 2.0 * (np.abs(y - s) > 0.1),
    ),
    "Logistic": _separate(
        lambda y, s: np.log(1 + np.exp(-y * s)),
        lambda y, s: -y * sigmoid(-y * s),
        lambda y, s: sigmoid(y * s) * sigmoid(-y * s),
    ),
    "SquaredHinge": _separate(
        lambda y, s: np.maximum(0, 1 - y * s) ** 2,
        lambda y, s: -2 * y * np.maximum(0, 1 - y * s),
        lambda y, s: 2.0 * (y * s < 1),
    ),
    "ModifiedHuber": _separate(
        lambda y, s: np.where(y * s < -1, -4 * y * s, np.maximum(0, 1 - y * s) ** 2),
        lambda y, s: np.where(y * s < -1, -4 * y, -2 * y * np.maximum(0, 1 - y * s)),
        lambda y, s: 2.0 * (np.abs(y * s) < 1),
    ),
    "Exponential": _separate(
        lambda y, s: np.exp(-y * s), lambda y, s: -y * np.exp(-y * s), lambda y, s: np.exp(-y * s)
    ),
    "Multinomial": _multinomial,
}


# Losses with kinks: V, and the box of −V' with the cost ε|a| of a there, as textbooks give the dual.
KINKED = {
    "Hinge": (lambda y, s: np.maximum(0, 1 - y * s), lambda y: (np.minimum(y, 0), np.maximum(y, 0), 0.0)),
    "Absolute": (lambda y, s: np.abs(y - s), lambda y: (-1 + 0 * y, 1 + 0 * y, 0.0)),
    "EpsilonInsensitive": (
        lambda y, s: np.maximum(0, np.abs(y - s) - 0.1),
        lambda y: (-1 + 0 * y, 1 + 0 * y, 0.1),
    ),
    "Quantile": (lambda y, s: 0.5 * np.abs(y - s), lambda y: (-0.5 + 0 * y, 0.5 + 0 * y, 0.0)),
}


def of_loss(loss):
    """A smooth loss without a formula above, by its own (whose derivatives the laws check)."""

    def slopes(y, s, h=1e-6):
        return (loss.grad(y, s + h) - loss.grad(y, s - h)) / (2 * h)

    def joint(y, s):
        R = np.stack(
            [loss.hess_root(y, s).apply(np.tile(e, (len(s), 1))) for e in np.eye(s.shape[1])], axis=-1
        )
        return loss.value(y, s), loss.grad(y, s), R @ R.transpose(0, 2, 1)

    return joint if loss.joint else _separate(loss.value, loss.grad, loss.hess if loss.curved else slopes)


def kinks_of_loss(loss):
    """The same of a loss with kinks, by its own dual form."""

    def box(y):
        form = loss.dual(y)
        return form.lower, form.upper, form.kink

    return loss.value, box


def kinked_minimum(kinked, Phi, y, lam, w=None, offset=False):
    """(u, b, C) for a loss with kinks: the dual with c = c⁺ − c⁻ by SLSQP, b by trying every kink."""
    V, box = kinked
    n, t = y.shape
    w = np.ones(n) if w is None else np.asarray(w, float)
    w = w / w.sum()
    K = Phi @ Phi.T
    U, B, total = np.zeros((Phi.shape[1], t)), np.zeros(t), 0.0
    for j in range(t):
        lower, upper, cost = box(y[:, j])
        C = w / (2 * lam)
        ends = np.concatenate([C * upper, -C * lower])
        linear = np.concatenate([cost - y[:, j], cost + y[:, j]])

        def both(z, linear=linear):
            c = z[:n] - z[n:]
            g = K @ c
            return 0.5 * c @ g + linear @ z, np.concatenate([g, -g]) + linear

        sides = np.concatenate([np.ones(n), -np.ones(n)])
        equal = [{"type": "eq", "fun": lambda z, s=sides: s @ z, "jac": lambda z, s=sides: s}]
        equal = equal if offset else []
        options = {"maxiter": 2000, "ftol": 1e-15}
        bounds = list(zip(np.zeros(2 * n), ends, strict=True))
        # Where SLSQP gets no further depends on the last bits of BLAS; from elsewhere it does.
        for begin in (0.0, 0.5, 0.25, 0.75, 0.1, 0.9):
            z = begin * ends
            for _ in range(3):
                z = minimize(
                    both, z, jac=True, method="SLSQP", bounds=bounds, constraints=equal, options=options
                ).x
            c = z[:n] - z[n:]
            f = K @ c
            if offset:  # a piecewise linear function of b has its minimum at a kink
                kinks = np.concatenate([y[:, j] - f + e for e in {0.0, cost, -cost}])
                values = [w @ V(y[:, j], f + b) for b in kinks]
                best = np.flatnonzero(np.isclose(values, np.min(values), rtol=1e-7, atol=0))
                B[j] = kinks[best].mean()
            value = w @ V(y[:, j], f + B[j]) + lam * (c @ f)
            if value + 2 * lam * both(z)[0] < 1e-6 * max(value, 1e-3):
                break
        else:
            raise AssertionError("the oracle itself has a duality gap")
        U[:, j] = Phi.T @ c
        total += value
    return U, B, total


def shares_minimum(Phi, y, lam, w=None, offset=False):
    """(U, b, C) for Crammer and Singer's hinge loss: the dual, over shares of classes, by SLSQP.

    The dual minimises ½ Σ_l c_lᵀKc_l − Σ y c over c = C (y − p), p ≥ 0, Σ_l p_l = 1 (and Σ_i c_i = 0); b and
    the losses are then a linear programme. The duality gap is checked.
    """
    n, k = y.shape
    w = np.ones(n) if w is None else np.asarray(w, float)
    w = w / w.sum()
    C = (w / (2 * lam))[:, None]
    K = Phi @ Phi.T

    def both(p):
        c = C * (y - p.reshape(n, k))
        g = K @ c
        return 0.5 * (c * g).sum() - (y * c).sum(), (-C * (g - y)).ravel()

    sums = np.kron(np.eye(n), np.ones(k))
    targets = np.ones(n)
    if offset:
        balance = np.kron(C.T, np.eye(k))[:-1]  # the last follows from the others
        sums, targets = np.vstack([sums, balance]), np.append(targets, (C * y).sum(axis=0)[:-1])
    equal = {"type": "eq", "fun": lambda p: sums @ p - targets, "jac": lambda p: sums}
    best = None
    for begin in (np.full((n, k), 1 / k), 0.7 * y + 0.3 / k, 0.2 * y + 0.8 / k):
        p = begin.ravel()
        for _ in range(4):
            options = {"maxiter": 2000, "ftol": 1e-15}
            p = minimize(
                both,
                p,
                jac=True,
                method="SLSQP",
                bounds=[(0, 1)] * (n * k),
                constraints=equal,
                options=options,
            ).x
        c = C * (y - p.reshape(n, k))
        F = K @ c
        b, losses = np.zeros(k), w @ ((F + 1 - y).max(axis=1) - (y * F).sum(axis=1))
        if offset:
            # min Σ w θ − Σ w y·(F + b) over b, θ with θ_i ≥ F_il + b_l + 1 − y_il, and Σb = 0
            A = np.hstack([np.tile(np.eye(k), (n, 1)), -np.kron(np.eye(n), np.ones((k, 1)))])
            cost = np.concatenate([-(w[:, None] * y).sum(axis=0), w])
            gauge = np.concatenate([np.ones(k), np.zeros(n)])[None]
            found = linprog(cost, A, (y - 1 - F).ravel(), gauge, [0.0], bounds=[(None, None)] * (k + n))
            b = found.x[:k]
            losses = found.fun - w @ (y * F).sum(axis=1)
        value = losses + lam * (c * F).sum()
        gap = value + 2 * lam * both(p)[0]
        if best is None or gap < best[0]:
            best = gap, Phi.T @ c, b, value
        if gap < 1e-7 * max(value, 1e-3):
            break
    assert best[0] < 1e-6 * max(best[3], 1e-3), "the oracle itself has a duality gap"
    return best[1:]


def gaussian(X, Z, sigma=1.0):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * sigma**2))


def whitening(B):
    """T with TᵀBT = I, directions below rounding left out."""
    values, vectors = np.linalg.eigh(B)
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def minimum(loss, Phi, y, lam, w=None, offset=False):
    """(u, b, C) minimising C = Σ w_i V(y_i, Φ_i u + b)/Σw + λ‖u‖², u of shape (p, t)."""
    n, t = y.shape
    w = np.ones(n) if w is None else np.asarray(w, float)
    w = w / w.sum()
    A = np.hstack([Phi, np.ones((n, 1))]) if offset else Phi
    p = A.shape[1]
    ridge = np.full(p, lam)
    if offset:
        ridge[-1] = 0

    def value(v):
        with np.errstate(over="ignore"):
            return w @ loss(y, A @ v.reshape(p, t))[0] + (ridge[:, None] * v.reshape(p, t) ** 2).sum()

    def gradient(v):
        V = v.reshape(p, t)
        return (A.T @ (w[:, None] * loss(y, A @ V)[1]) + 2 * ridge[:, None] * V).ravel()

    def hessian(v):
        H = np.einsum("i,ip,ist,iq->psqt", w, A, loss(y, A @ v.reshape(p, t))[2], A, optimize=True)
        return H.reshape(p * t, p * t) + 2 * np.diag(np.repeat(ridge, t))

    found = minimize(
        value, np.zeros(p * t), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-9}
    )
    v = found.x
    for _ in range(3):  # trust-exact stops where the decrease drowns in rounding; Newton steps do not
        step = np.linalg.lstsq(hessian(v), -gradient(v), rcond=1e-14)[0]
        if np.linalg.norm(gradient(v + step)) < np.linalg.norm(gradient(v)):
            v = v + step
    assert np.linalg.norm(gradient(v)) < 1e-9, "the oracle itself has not converged"
    V = v.reshape(p, t)
    if not offset:
        return V, np.zeros(t), value(v)
    # The multinomial loss doesn't see a number added to all offsets; of the minima, the symmetric one.
    return V[:-1], V[-1] - V[-1].mean() * (loss is _multinomial), value(v)


def lasso_minimum(loss, Phi, y, lam, w=None, offset=False):
    """(c, b, C) minimising Σ w_i V(y_i, Φ_i c + b)/Σw + λ‖c‖₁ for one output."""
    c, b, value = net_minimum(loss, Phi, y, lam, w, offset)
    return c[:, 0], b[0], value


def net_minimum(loss, Phi, y, lam, w=None, offset=False, ratio=1.0, positive=False):
    """(c, b, C) minimising Σ w_i V(y_i, Φ_i c + b)/Σw + λ(ρ‖c‖₁ + ½(1−ρ)‖c‖²), by splitting c = c⁺ − c⁻."""
    (n, p), t = Phi.shape, y.shape[1]
    w = np.ones(n) if w is None else np.asarray(w, float)
    w = w / w.sum()
    k = p * t

    def parts(v):
        return (v[:k] - v[k : 2 * k]).reshape(p, t), v[2 * k :] if offset else np.zeros(t)

    def both(v):
        c, b = parts(v)
        values, slopes, _ = loss(y, Phi @ c + b)
        values = values if values.ndim == 1 else values.sum(axis=1)
        g = (Phi.T @ (w[:, None] * slopes) + lam * (1 - ratio) * c).ravel()
        gradient = np.concatenate([g + lam * ratio, lam * ratio - g, w @ slopes if offset else []])
        penalty = ratio * v[: 2 * k].sum() + 0.5 * (1 - ratio) * (c**2).sum()
        return w @ values + lam * penalty, gradient

    bounds = [(0, None)] * k + [(0, 0.0 if positive else None)] * k + [(None, None)] * (t * offset)
    options = {"maxiter": 50_000, "maxfun": 500_000, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 30}
    found = minimize(
        both, np.zeros(2 * k + t * offset), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    c, b = parts(found.x)
    return c, b - b.mean() * (loss is _multinomial), found.fun


def kinked_net_minimum(kinked, Phi, y, lam, w=None, offset=False, ratio=1.0, positive=False):
    """The same of a loss that is a maximum of lines: a linear programme, or a sequence of them.

    The square of c is replaced by its tangents at all solutions so far, so that what the programme reaches
    is a bound from below, and what its solution costs one from above.
    """
    V, box = kinked
    (n, p), t = Phi.shape, y.shape[1]
    w = np.ones(n) if w is None else np.asarray(w, float)
    w = w / w.sum()
    C, B, total = np.zeros((p, t)), np.zeros(t), 0.0
    for j in range(t):
        lower, upper, cost = box(y[:, j])
        lower, upper = np.broadcast_to(lower, n), np.broadcast_to(upper, n)
        # Unknown: c⁺, c⁻, b, the loss of every example, the square of every coefficient.
        sizes = np.concatenate([np.full(2 * p, lam * ratio), [0.0], w, np.full(p, 0.5 * lam * (1 - ratio))])
        scores = np.hstack([Phi, -Phi, np.ones((n, 1))])
        lines = [np.hstack([-a[:, None] * scores, -np.eye(n)]) for a in (upper, lower)]
        rows = np.hstack([np.vstack(lines), np.zeros((2 * n, p))])
        most = np.concatenate([cost * upper - upper * y[:, j], -cost * lower - lower * y[:, j]])
        bounds = [(0, None)] * p + [(0, 0 if positive else None)] * p
        bounds += [(None, None) if offset else (0, 0)] + [(0, None)] * (n + p)
        best, reach = (np.inf, None, None), np.linspace(-4, 4, 33)[:, None] * np.ones(p)
        for _ in range(200):
            tangents, heights = [], []
            for c in reach if ratio < 1 else []:
                slopes = 2 * np.diag(c)
                tangents.append(np.hstack([slopes, -slopes, np.zeros((p, 1 + n)), -np.eye(p)]))
                heights.append(c**2)
            found = linprog(
                sizes,
                np.vstack([rows, *tangents]),
                np.concatenate([most, *heights]),
                bounds=bounds,
                options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
            )
            c, b = found.x[:p] - found.x[p : 2 * p], found.x[2 * p]
            value = w @ V(y[:, j], Phi @ c + b)
            value += lam * (ratio * np.abs(c).sum() + 0.5 * (1 - ratio) * (c**2).sum())
            best = min(best, (value, tuple(c), b))
            if best[0] - found.fun < 1e-9 * max(best[0], 1e-3):
                break
            reach = np.vstack([reach, c])
        else:
            raise AssertionError("the oracle itself has a gap")
        C[:, j], B[j] = best[1], best[2]
        total += best[0]
    return C, B, total
