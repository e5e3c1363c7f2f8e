"""All that can be promised of a fitted machine, in one table beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_outlier_detector

from mercer._units import alone, group_codes, joined
from mercer.estimators.facts import Facts, facts_of
from mercer.theory.applicable import Promise, cap_of, promises
from mercer.theory.bounds import Bound, binomial_bound, mean_bound, require_delta

_ELSEWHERE = (
    "; it was machines like this one, fitted to fewer examples, not this one itself, and if those share "
    "examples, as in cross-validation, the probability is not exact"
)

_EACH_GROUP = "each group of rows counting once"
_GROUPS = (
    "the {:,} groups (each a set of rows that belong together) are independent draws, like new ones; what "
    "was tested was fitted without them"
)
_DEPENDENT = "rows that belong together, being equal or of one group, are not independent examples"


@dataclass(frozen=True)
class RiskCertificate:
    """Bounds on the risk of a machine, beside its measured errors.

    Attributes
    ----------
    machine : its name and sizes, in words
    measure : what errors are measured by
    training, test : the measured error; test is None where no test examples were given
    guess : the training error of the best constant answer
    delta : the probability with which any of the bounds may fail; each has an equal share of it
    bounds : those that apply
    absent : (name, why not) of the others

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelSVC
    >>> from mercer.theory import certificate
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> y = X[:, 0] > 0
    >>> machine = KernelSVC("linear", lam=0.01).fit(X[:100], y[:100])
    >>> found = certificate(machine, X[:100], y[:100], X_test=X[100:], y_test=y[100:])
    >>> found.bounds[0].name, found.test <= found.bounds[0].value
    ('Test-set bound', True)
    """

    machine: str
    measure: str
    training: float
    test: float | None
    guess: float
    delta: float
    bounds: tuple[Bound, ...]
    absent: tuple[tuple[str, str], ...]

    header: ClassVar[tuple[str, ...]] = ("bound", "what it bounds", "measured", "at most", "how sure")

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """The table, a row a bound: name, what it bounds, measured, at most, how sure."""

        def sure(b: Bound) -> str:
            return "on average" if b.on_average else f"{100 * (1 - b.delta):.4g} %"

        return [(b.name, b.risk, f"{b.measured:.3g}", f"{b.value:.3g}", sure(b)) for b in self.bounds]

    @property
    def telling(self) -> tuple[Bound, ...]:
        """Those that say more than is known anyway, or a constant answer does."""
        return tuple(b for b, guess in self._guesses() if not b.vacuous and b.value < guess)

    def _guesses(self) -> list[tuple[Bound, float]]:
        # Another measure, such as a squared error, is not to be compared with the constant's.
        return [(b, self.guess if b.risk.startswith(self.measure) else math.inf) for b in self.bounds]

    def verdicts(self) -> list[tuple[str, str]]:
        """(name, what to make of it) for every bound."""
        return [(b.name, verdict(b, guess)) for b, guess in self._guesses()]

    def sharing(self) -> str:
        """How δ is shared, in a sentence."""
        sure = [b.delta for b in self.bounds if not b.on_average]
        if not sure:
            return ""
        whole = f"{100 * (1 - self.delta):.4g} %"
        if len(sure) == 1:
            words = f"The bound with a probability holds with {whole}."
        else:
            words = (
                f"All bounds with a probability hold at the same time with {whole}; for that each may fail "
                f"with {100 * max(sure):.3g} % only."
            )
        if len(sure) < len(self.bounds):
            words += " Those that hold on average are about the mean over samples, not about this one."
        return words

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        measured = f"{self.measure}: {self.training:.3g} on the training examples"
        if self.test is not None:
            measured += f", {self.test:.3g} on the test examples"
        lines = [self.machine, f"{measured}; the best constant answer has {self.guess:.3g}", ""]
        lines += _table(self.header, self.rows())
        lines += ["", *(f"{name}: {words}" for name, words in self.verdicts())]
        lines += [f"{name}: does not apply: {why}" for name, why in self.absent]
        if sharing := self.sharing():
            lines += ["", sharing]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str) -> str:
            return f"<tr>{''.join(f'<{tag}>{escape(c)}</{tag}>' for c in cells)}</tr>"

        body = "".join(line(row, "td") for row in self.rows())
        notes = "".join(f"<li>{escape(name)}: {escape(words)}</li>" for name, words in self.verdicts())
        return (
            f"<p>{escape(self.machine)}</p><table><thead>{line(self.header, 'th')}</thead>"
            f"<tbody>{body}</tbody></table>"
            f"<ul>{notes}</ul><p>{escape(self.sharing())}</p>"
        )


def certificate(
    machine: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    X_test: Any = None,
    y_test: Any = None,
    *,
    predicted: Any = None,
    tuned: bool = False,
    groups: Any = None,
    groups_test: Any = None,
) -> RiskCertificate:
    """Every bound on the risk of a fitted machine that applies to it, and what it is worth.

    It takes the scores of the examples, ‖f‖ and k(x_i,x_i); no n × n matrix is made, and nothing is fitted
    again.

    Parameters
    ----------
    machine : fitted KernelRidge, KernelLogistic, KernelSVC, KernelSVR, KernelClassifier or KernelRegressor
        Any other estimator with `predict` has the test-set bound only.
    X, y : the examples it was fitted to
    delta : δ: all bounds hold at once with probability 1 − δ; each has an equal share of it
    X_test, y_test : examples that took no part, optional
    predicted : array, optional
        Predictions for y_test by machines like this one, where not this one made them (cross-validation).
    tuned : bool
        Were kernel or λ chosen by looking at y? Then bounds from training errors are those of a machine like
        this one, fixed beforehand, and say so.
    groups, groups_test : labels of the rows of X and of the test examples, optional
        Rows of one group (of a patient, of a day) are not independent. The test-set bound is then about the
        mean of the groups' mean errors, and counts groups; bounds from training errors do not apply.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import KernelLogistic
    >>> from mercer.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> machine = KernelLogistic(Gaussian(4.0), lam=1e-3).fit(X[::2], y[::2])
    >>> found = certificate(machine, X[::2], y[::2], X_test=X[1::2], y_test=y[1::2])
    >>> for bound in found.bounds[:2]:
    ...     print(bound.name, round(bound.measured, 2), bound.vacuous)
    Test-set bound 0.05 False
    Margin bound 0.01 False
    """
    require_delta(delta)
    if not hasattr(machine, "predict") or is_outlier_detector(machine):
        raise TypeError(f"a certificate is of a fitted classifier or regression, got {machine!r}")
    tested, elsewhere = y_test is not None, predicted is not None
    if not tested and (X_test is not None or elsewhere):
        raise ValueError("test examples need their answers: give y_test too")
    if tested and predicted is None:
        if X_test is None:
            raise ValueError("y_test needs X_test, or predictions made elsewhere (predicted)")
        predicted = machine.predict(X_test)
    facts, y = facts_of(machine, X, y), np.asarray(y)
    made: list[Promise] = []
    if facts is not None and alone(_units(groups, len(y))):
        made, absent = promises(facts, tuned)
    else:
        absent = [("Bounds from training errors", _why_unknown(machine) if facts is None else _DEPENDENT)]
    sure = tested + sum(p.spends for p in made)
    share = delta / max(sure, 1)
    measure = _Measure(machine, y)
    training = measure.errors(y, machine.predict(X) if facts is None else facts.predicted)
    bounds: list[Bound] = []
    test = None
    if tested:
        test, bound = measure.test(np.asarray(y_test), np.asarray(predicted), share, groups_test)
        if elsewhere:
            bound = replace(bound, assumptions=bound.assumptions + _ELSEWHERE)
        bounds.append(bound)
    else:
        absent = [("Test-set bound", "no test examples were given"), *absent]
    bounds += [make(delta=share) for p in made for make in p.bounds]
    return RiskCertificate(
        _described(machine, facts, len(y)),
        measure.name,
        float(training.mean()),
        test,
        measure.guess(y),
        float(delta),
        tuple(bounds),
        tuple(absent),
    )


def _why_unknown(machine: Any) -> str:
    """Why nothing is known but predictions, and whom to ask instead."""
    if hasattr(machine, "best_estimator_"):
        return "it is a search: ask about its best_estimator_, with tuned=True"
    if hasattr(machine, "steps"):
        return (
            "it is a pipeline: ask about its last step, p[-1], with the points that one sees, "
            "p[:-1].transform(X)"
        )
    return "it is no function of a kernel's space with a known norm"


def _described(machine: Any, facts: Facts | None, n: int) -> str:
    name = type(machine).__name__
    if facts is None:
        return f"{name}, {n:,} examples"
    lam = f", λ = {facts.lam:.3g}" if facts.lam > 0 else ""
    offset = ", with an offset" if facts.has_offset else ""
    return f"{name}, {facts.n:,} examples{lam}, ‖f‖ = {facts.norm:.3g}{offset}"


class _Measure:
    """What a machine is judged by: wrong labels, or distances from the truth up to a cap."""

    def __init__(self, machine: Any, y: np.ndarray):
        self.labels = hasattr(machine, "classes_")
        self.cap = 1.0 if self.labels else cap_of(y)
        self.name = "error rate" if self.labels else f"mean error, capped at {self.cap:g}"

    def errors(self, truth: np.ndarray, predicted: Any) -> np.ndarray:
        if self.labels:
            return (truth != predicted).astype(float)
        return np.minimum(np.abs(truth - np.asarray(predicted).reshape(truth.shape)), self.cap)

    def guess(self, y: np.ndarray) -> float:
        """The mean error of the best constant answer."""
        if self.labels:
            return float(1 - np.unique(y, return_counts=True)[1].max() / len(y))
        return float(self.errors(y, np.broadcast_to(np.median(y, axis=0), y.shape)).mean())

    def test(self, truth: Any, predicted: Any, delta: float, groups: Any) -> tuple[float, Bound]:
        """The mean error on examples that took no part, and the bound it gives."""
        if truth.shape != predicted.shape:
            raise ValueError(f"y_test and predictions differ in shape: {truth.shape} and {predicted.shape}")
        if not self.labels and not (np.isfinite(truth).all() and np.isfinite(predicted).all()):
            raise ValueError("y_test or predictions contain NaN or infinity: leave those examples out")
        n, errors = len(truth), self.errors(truth, predicted)
        mean, units = float(errors.mean()), _units(groups, n)
        if not alone(units):
            means = np.bincount(units, errors) / np.bincount(units)
            risk = f"{self.name}, {_EACH_GROUP}"
            bound = mean_bound(float(means.mean()), len(means), delta, largest=self.cap, risk=risk)
            return mean, replace(bound, assumptions=_GROUPS.format(len(means)))
        if self.labels:
            return mean, binomial_bound(int(errors.sum()), n, delta)
        return mean, mean_bound(mean, n, delta, largest=self.cap, risk=self.name)


def _units(groups: Any, n: int) -> np.ndarray:
    """Which rows belong together."""
    return np.arange(n) if groups is None else joined(np.arange(n), group_codes(groups, n))


def verdict(bound: Bound, guess: float) -> str:
    """What to make of a bound, in a sentence or two: does it say anything, and if not, why not?

    >>> from mercer.theory import vc_bound
    >>> print(verdict(vc_bound(0.1, 70, 200), guess=0.5))
    vacuous: it promises no more than is known anyway, mostly because of VC dimension (0.991). All
    else being equal it would say something from 268 examples on.
    """
    top = bound.largest_term
    if bound.vacuous:
        words = "vacuous: it promises no more than is known anyway"
        if top is not None:
            words += f", mostly because of {top[0]} ({top[1]:.3g})"
        if bound.needed is not None:
            return f"{words}. All else being equal it would say something from {bound.needed:,} examples on."
        return f"{words}."
    if not bound.value < guess:
        words = f"weak: a constant answer, with {guess:.3g}, is below it"
        return words + (f"; most of it is {top[0]} ({top[1]:.3g})." if top is not None else ".")
    return f"it says something: at most {bound.value:.3g}, where {bound.measured:.3g} was measured."


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns side by side, numbers to the right."""
    widths = [max(len(r[j]) for r in (header, *rows)) for j in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = (v.rjust(w) if j in (2, 3) else v.ljust(w) for j, (v, w) in enumerate(zip(row, widths)))
        return "  ".join(cells).rstrip()

    return [line(header), "  ".join("─" * w for w in widths), *map(line, rows)]
