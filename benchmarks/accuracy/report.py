"""The tables of the comparison, in markdown."""

from __future__ import annotations

from benchmarks.accuracy import kernel_machines, other_machines, sets, tuning
from benchmarks.accuracy.ours import COVERAGE, MINUTES
from benchmarks.accuracy.results import Duel, Results
from benchmarks.accuracy.store import Store

TITLES = {
    "mercer": "Mercer",
    "svm": "SVM",
    "ridge-gaussian": "ridge, Gaussian",
    "ridge-laplacian": "ridge, Laplacian",
    "gp": "GP",
    "boosting": "boosting, tuned",
    "boosting-defaults": "boosting",
    "linear": "linear",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "xrfm": "xRFM",
}
MARGIN = 1.02  # what "not worse" means: at most 2 % more error than the best kernel machine
HONEST = (0.87, 0.93)
HEADS = {
    "regression": ("Regression: RMSE on the test rows", 1.0),
    "classification": ("Classification: errors in % of the test rows", 100.0),
}


def curves_as_csv(results):
    return ''


def markdown(store: Store) -> str:
    results = Results(store)
    if not results.records:
        return f"Nothing has been measured yet: {store.file} isn't there.\n"
    parts = [_protocol()]
    for task in HEADS:
        if names := results.names(task):
            parts += [_errors(results, task, names), _summary(results, names), _duels(results, task)]
    parts += [_everything(results), _log_losses(results), _coverage(results), _notes(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _protocol() -> str:
    machines, most, test = kernel_machines, f"{sets.MAX_TRAIN:,}", f"{sets.MAX_TEST:,}"
    widths, costs, alphas = len(machines.GAMMAS), len(machines.COSTS), len(machines.ALPHAS)
    epsilons, rounds = len(machines.EPSILONS), other_machines.ROUNDS
    fewer = other_machines.MANY_CLASSES_ROUNDS
    return f"""\
Mercer is `mercer.fit(X, y, minutes={MINUTES:g}, random_state=0)` with the task said and nothing else
chosen by hand. Everybody has the same rows: at most {most} for training and {test} for test, drawn with a
seed where a table has more. Test rows are the file's own, or its fold 0, or a fifth at random (of each
class alike).
Tables of fewer than {sets.SMALL:,} rows are judged by the mean of three such splits.

The peers are scikit-learn's unless named otherwise, tuned by {tuning.FOLDS}-fold cross-validation over a
grid, on {tuning.ROWS:,} of the training rows where there are more, then fitted on all of them as found.

* SVM: `SVC` and `SVR`, Gaussian kernel, {widths} widths × {costs} values of C (× {epsilons} of epsilon), at
  most {machines.FINAL_STEPS:,} steps of LIBSVM.
* Ridge: `KernelRidge`, {widths} widths × {alphas} values of alpha; classes by regression on their indicators.
  Columns and y are standardised for these two.
* GP: `GaussianProcessRegressor` and `…Classifier`, one length a column, by the evidence from one start; up
  to {other_machines.GP_ROWS:,} training rows.
* Boosting: `HistGradientBoosting…`, rates × leaves × penalties ({rounds} rounds; {fewer}
  and no penalties from {other_machines.MANY_CLASSES} classes on); and as it comes.
* Linear: ridge by leave-one-out, logistic regression by cross-validation.
* xRFM: 0.4.5 with its documented defaults, a fifth of the training rows for its validation."""


def _errors(results: Results, task: str, names: list[str]) -> str:
    title, unit = HEADS[task]
    methods = [m for m in TITLES if any(results.value(n, m) is not None for n in names)]
    lines = [f"### {title}", "", _head(["table", "n", "d", *(TITLES[m] for m in methods)])]
    for name in names:
        best = results.best(name, methods)
        smallest = None if best is None else results.value(name, best)
        cells = [_cell(results, name, m, unit, smallest) for m in methods]
        n, d = results.shape(name)
        lines.append(_row([name, f"{n:,}", f"{d}", *cells]))
    return "\n".join(lines)


def _cell(results: Results, name: str, method: str, unit: float, smallest: float | None) -> str:
    value = results.value(name, method)
    if value is None:
        return {"timeout": "too slow", "error": "failed"}.get(results.status(name, method), "–")
    text = f"{value * unit:.4g}"
    return f"**{text}**" if value == smallest else text


def _summary(results: Results, names: list[str]) -> str:
    """Ranks over all sets, and beside them those on the sets small enough for the Gaussian process."""
    with_mercer = [n for n in names if results.value(n, "mercer") is not None] or names
    methods = [m for m in TITLES if m in results.rankable(with_mercer)]
    small = [n for n in with_mercer if results.value(n, "gp") is not None]
    small_methods = [m for m in TITLES if m in results.rankable(small)] if small else []
    ranks, wins = results.ranks(with_mercer, methods), results.wins(with_mercer, methods)
    small_ranks = results.ranks(small, small_methods)
    heads = [
        "",
        f"average rank, {len(with_mercer)} tables",
        "best on",
        f"rank, {len(small)} tables with GP",
        "median s",
    ]
    lines = [_head(heads)]
    for m in sorted(
        set(methods) | set(small_methods), key=lambda m: ranks.get(m, small_ranks.get(m, 0) + 99)
    ):
        time = results.seconds(with_mercer, m)
        cells = [f"{ranks[m]:.2f}" if m in ranks else "–", str(wins.get(m, "–"))]
        cells += [f"{small_ranks[m]:.2f}" if m in small_ranks else "–", "" if time is None else f"{time:.3g}"]
        lines.append(_row([TITLES[m], *cells]))
    return "\n".join(lines)


def _everything(results: Results) -> str:
    names = [n for task in HEADS for n in results.names(task) if results.value(n, "mercer") is not None]
    if not names:
        return ""
    methods = [m for m in TITLES if m in results.rankable(names)]
    ranks, wins = results.ranks(names, methods), results.wins(names, methods)
    order = sorted(methods, key=ranks.__getitem__)
    lines = [f"### All {len(names)} tables", "", _head(["", "average rank", "best on"])]
    lines += [_row([TITLES[m], f"{ranks[m]:.2f}", str(wins[m])]) for m in order]
    lines += [
        "",
        "Equal errors share a rank, and both are best. A method that wasn't done in time, or failed, has the "
        "last rank on that table. The Gaussian process, meant for small tables only, and whatever wasn't run "
        "on all tables is left out here; the rank with GP is over the tables it was run on. Everybody had "
        "one thread of a machine with two, beside other work: the seconds are orientation.",
    ]
    return "\n".join(lines)


def _duels(results: Results, task: str) -> str:
    duels = results.duels(task)
    if not duels:
        return ""
    unit = HEADS[task][1]
    worse = [d for d in duels if d.ratio > MARGIN]
    clearly = [d for d in worse if d.standard_errors is not None and d.standard_errors > 2]
    lines = [
        f"Against the kernel machine of scikit-learn that did best on the test rows (SVM, ridge, GP; chosen "
        f"afterwards, which favours them): worse by more than {MARGIN - 1:.0%} on {len(worse)} of "
        f"{len(duels)}, on {len(clearly)} of them by more than two standard errors of the difference; the "
        f"worst ratio is {duels[0].ratio:.3f}, the median {duels[len(duels) // 2].ratio:.3f}.",
        "",
        _head(["table", "Mercer", "best kernel machine", "", "ratio", "difference in standard errors"]),
    ]
    return "\n".join(lines + [_row(_duel(d, unit)) for d in duels])


def _duel(duel: Duel, unit: float) -> list[str]:
    errors = "" if duel.standard_errors is None else f"{duel.standard_errors:+.1f}"
    ratio = f"**{duel.ratio:.3f}**" if duel.ratio > MARGIN else f"{duel.ratio:.3f}"
    return [
        duel.set,
        f"{duel.ours * unit:.4g}",
        f"{duel.theirs * unit:.4g}",
        TITLES[duel.peer],
        ratio,
        errors,
    ]


def _log_losses(results: Results) -> str:
    names = results.names("classification")
    methods = [m for m in TITLES if any(results.value(n, m, "logloss") is not None for n in names)]
    if not methods:
        return ""
    lines = [
        "### Log loss, where there are probabilities",
        "",
        _head(["table", *(TITLES[m] for m in methods)]),
    ]
    for name in names:
        values = {m: v for m in methods if (v := results.value(name, m, "logloss")) is not None}
        cells = [f"{values[m]:.3f}" if m in values else "–" for m in methods]
        if values:
            i = methods.index(min(values, key=values.__getitem__))
            cells[i] = f"**{cells[i]}**"
        lines.append(_row([name, *cells]))
    return "\n".join(lines)


def _coverage(results: Results) -> str:
    found = results.coverages()
    if not found:
        return ""
    low, high = HONEST
    inside = [c for c in found if low <= c.covered <= high]
    chance = [c for c in found if low - c.chance <= c.covered <= high + c.chance]
    lines = [
        f"### Intervals: {COVERAGE:.0%} promised",
        "",
        f"On {len(inside)} of {len(found)} tables {low:.0%} to {high:.0%} of the test rows are covered, on "
        f"{len(chance)} with two standard errors allowed for the number of rows; on the mean of the tables "
        f"{sum(c.covered for c in found) / len(found):.1%}. The width is in standard deviations of y.",
        "",
        _head(["table", "test rows", "covered", "± by chance", "mean width"]),
    ]
    for c in sorted(found, key=lambda c: c.covered):
        covered = f"{c.covered:.1%}" if c in inside else f"**{c.covered:.1%}**"
        lines.append(_row([c.set, f"{c.rows:,}", covered, f"{c.chance:.1%}", f"{c.width:.2f}"]))
    return "\n".join(lines)


def _notes(results: Results) -> str:
    names = [n for task in HEADS for n in results.names(task)]
    notes = [f"* {n}: {sets.SETS[n].note}." for n in names if sets.SETS[n].note]
    slow = [
        f"{TITLES[m]} on {n} ({results.status(n, m)})"
        for n in names
        for m in TITLES
        if results.value(n, m) is None and results.status(n, m) in ("timeout", "error")
    ]
    if slow:
        notes.append(f"* No result: {', '.join(slow)}.")
    return "\n".join(["### Notes", "", *notes]) if notes else ""


def _head(cells: list[str]) -> str:
    return f"{_row(cells)}\n|{'---|' * len(cells)}"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
