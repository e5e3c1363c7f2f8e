"""The online machine of the texts, written a second time: dense, slow, a dictionary of terms."""

import numpy as np

from mercer.online.expansion import draws

# Distances from a span that rounding can't tell from 0, as the machine has it.
NOISE = 1e-7


class Oldest:
    def __init__(self, size):
        self.size = size

    def __call__(self, f, i):
        if len(f.terms) > self.size:
            f.drop(min(f.terms))


class Smallest(Oldest):
    def __call__(self, f, i):
        if len(f.terms) > self.size:
            norms = {j: np.linalg.norm(a) * np.sqrt(f.K[j, j]) for j, a in f.terms.items()}
            f.drop(min(norms, key=norms.get))


class AtRandom(Oldest):
    def __init__(self, size, seed):
        self.size, self.seed = size, seed

    def __call__(self, f, i):
        if len(f.terms) > self.size:
            place = int(draws(self.seed, i, 1)[0] * len(f.terms))
            f.drop(sorted(f.terms)[place])


class Window(Oldest):
    def before(self, f, i):
        for j in [j for j in f.terms if j <= i - self.size]:
            f.drop(j)

    def __call__(self, f, i):
        pass


class Forgetron(Oldest):
    """Dekel, Shalev-Shwartz and Singer: Ψ(σφ, φμ) + Q ≤ 15/32 M for the largest φ in (0, 1]."""

    def __init__(self, size):
        self.size, self.spent = size, 0.0

    def __call__(self, f, i):
        if len(f.terms) <= self.size:
            return
        r = min(f.terms)
        (weight,) = f.terms[r]
        sigma, label = abs(weight) / f.eta, np.sign(weight)
        margin = label * f.at(r)[0] / f.eta
        left = 15 / 32 * f.updates - self.spent

        def price(phi):
            return (sigma * phi) ** 2 * f.K[r, r] + 2 * sigma * phi - 2 * sigma * phi * phi * margin

        phi = 1.0
        if price(1.0) > left:
            a = sigma**2 * f.K[r, r] - 2 * sigma * margin
            roots = np.roots([a, 2 * sigma, -left]) if a else np.array([left / (2 * sigma)])
            phi = max(z.real for z in roots if abs(z.imag) < 1e-9 and 0 < z.real <= 1)
        self.spent += price(phi)
        f.shrink(phi)
        f.drop(r)


class Merge(Oldest):
    def __call__(self, f, i):
        if len(f.terms) <= self.size:
            return
        K = f.K
        costs = {
            (a, b): np.sum(f.terms[a] ** 2) * (K[a, a] - K[a, b] ** 2 / K[b, b])
            for a in f.terms
            for b in f.terms
            if a != b
        }
        gone, onto = min(costs, key=costs.get)
        ratio = K[gone, onto] / K[onto, onto]
        f.terms[onto] = f.terms[onto] + ratio * f.terms[gone]
        f.sums[onto] = f.sums.get(onto, 0) + ratio * f.sums.get(gone, 0)
        f.drop(gone)


class Projection(Oldest):
    """Coefficients of the projection by the inverse of the matrix of kernel values."""

    def __init__(self, size, threshold):
        self.size, self.threshold, self.chosen = size, threshold, []

    def add(self, f, i, change):
        c, k = self.chosen, f.K[i, self.chosen]
        coef = np.linalg.solve(f.K[np.ix_(c, c)], k) if c else k
        rest = f.K[i, i] - k @ coef
        if rest > max(self.threshold**2, NOISE * f.K[i, i]) and len(c) < self.size:
            self.chosen.append(i)
            f.terms[i] = change
        else:
            for j, a in zip(c, coef, strict=True):
                f.terms[j] = f.terms.get(j, 0) + a * change

    def __call__(self, f, i):
        pass


class Machine:
    """f = Σ terms[j] k(x_j,·) + b over a stream whose kernel matrix is known."""

    def __init__(self, K, loss, lam, rate, budget=None, offset=False, since=1):
        self.K, self.loss, self.lam, self.rate, self.budget = K, loss, lam, rate, budget
        self.offset, self.since = offset, since
        self.terms, self.sums, self.b, self.b_sum, self.updates = {}, {}, 0.0, 0.0, 0
        self.scores, self.steps = [], 0

    def at(self, i):
        return sum((a * self.K[i, j] for j, a in self.terms.items()), 0.0)

    def drop(self, j):
        del self.terms[j]
        self.sums.pop(j, None)

    def shrink(self, factor):
        self.terms = {j: factor * a for j, a in self.terms.items()}

    def learn(self, i, y, weight=1.0):
        if hasattr(self.budget, "before"):
            self.budget.before(self, i)
        s = self.at(i) + self.b + np.zeros(len(y))
        self.scores.append(s)
        self.steps += 1
        g = self.loss.grad(y[None], s[None])[0]
        value = float(np.sum(self.loss.value(y[None], s[None])))
        self.eta = eta = self.rate(self.steps, self.lam, value, g, self.K[i, i] + self.offset)
        self.shrink(1 - 2 * eta * self.lam)
        change = -eta * weight * g
        if np.any(change != 0):
            self.updates += 1
            if hasattr(self.budget, "add"):
                self.budget.add(self, i, change)
            else:
                self.terms[i] = change
            if self.offset:
                self.b = self.b + change
            if self.budget is not None:
                self.budget(self, i)
        if self.steps >= self.since:
            for j, a in self.terms.items():
                self.sums[j] = self.sums.get(j, 0) + a
            self.b_sum = self.b_sum + self.b
        return self

    @property
    def counted(self):
        """Functions in the mean."""
        return max(self.steps - self.since + 1, 0)

    def constant(self, averaged=False):
        """b, the last or the mean."""
        averaged = averaged and self.counted
        return (self.b_sum / self.counted if averaged else self.b) + np.zeros(len(self.scores[0]))

    def values(self, averaged=False):
        """f (without b) at all points of the stream."""
        averaged = averaged and self.counted
        coef = {j: a / self.counted for j, a in self.sums.items()} if averaged else self.terms
        t = len(self.scores[0])
        return sum((np.outer(self.K[:, j], a) for j, a in coef.items()), np.zeros((len(self.K), t)))


def constant(eta):
    return lambda t, lam, value, g, power: eta


def inverse_root(eta):
    return lambda t, lam, value, g, power: eta / np.sqrt(t)


def pegasos(t, lam, value, g, power):
    return 1 / (2 * lam * t)


def passive_aggressive(C, variant):
    def rate(t, lam, value, g, power):
        squared = float(g @ g) * power
        if squared == 0 or value <= 0:
            return 0.0
        return [value / squared, min(C, value / squared), value / (squared + 1 / (2 * C))][variant]

    return rate
