"""The tables of the comparison, in markdown."""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy import curves, kernel_machines, other_machines, sets, tuning
from benchmarks.accuracy.ours import COVERAGE
from benchmarks.accuracy.results import Duel, Results
from benchmarks.accuracy.score import ERROR

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
FAR = 1.05  # tables with more than this are named
HONEST = (0.87, 0.93)
HEADS = {
    "regression": ("Regression: RMSE on the test rows", 1.0),
    "classification": ("Classification: errors in % of the test rows", 100.0),
}


def markdown(results: Results) -> str:
    if not results.records and not results.known:
        return f"Nothing has been measured yet: {results.store.file} has no such results.\n"
    parts = [_protocol(results)]
    for task in HEADS:
        if names := results.names(task):
            parts += [_errors(results, task, names), _summary(results, names), _duels(results, task)]
    parts += [_everything(results), _halves(results), _since(results), _rows_worth(results)]
    parts += [_log_losses(results), _coverage(results), _notes(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _protocol(results: Results) -> str:
    machines, test = kernel_machines, f"{sets.MAX_TEST:,}"
    most = "all rows" if results.most is None else f"at most {results.most:,} rows"
    widths, costs, alphas = len(machines.GAMMAS), len(machines.COSTS), len(machines.ALPHAS)
    epsilons, rounds = len(machines.EPSILONS), other_machines.ROUNDS
    fewer = other_machines.MANY_CLASSES_ROUNDS
    versions = sorted({r["version"] for r in results.records.values()})
    text = f"""\
Mercer is `mercer.fit(X, y, minutes={results.minutes:g}, random_state=0)` with the task said and nothing else
chosen by hand. Everybody has the same rows: {most} for training and at most {test} for test, drawn with a
seed where a table has more; test rows are the same whatever the number for training. They are the file's
own, or its fold 0, or a fifth at random (of each class alike).
Tables of fewer than {sets.SMALL:,} rows are judged by the mean of three such splits.

The peers are scikit-learn's unless named otherwise, tuned by {tuning.FOLDS}-fold cross-validation over a
grid, on {tuning.ROWS:,} of the training rows where there are more, then fitted on all of them as found.

* SVM: `SVC` and `SVR`, Gaussian kernel, {widths} widths × {costs} values of C (× {epsilons} of epsilon), at
  most {machines.FINAL_STEPS:,} steps of LIBSVM.
* Ridge: `KernelRidge`, {widths} widths × {alphas} values of alpha; classes by regression on their indicators.
  Columns and y are standardised for these two. SVM and ridge get {machines.ROWS:,} rows at random of more.
* GP: `GaussianProcessRegressor` and `…Classifier`, one length a column, by the evidence from one start; up
  to {other_machines.GP_ROWS:,} training rows.
* Boosting: `HistGradientBoosting…`, rates × leaves × penalties ({rounds} rounds; {fewer}
  and no penalties from {other_machines.MANY_CLASSES} classes on); and as it comes.
* LightGBM and CatBoost: as they come, and told which columns hold codes of names
  ({_tables_with_names()}); everybody else, Mercer too, gets the codes as numbers.
* Linear: ridge by leave-one-out, logistic regression by cross-validation.
* xRFM: 0.4.5 with its documented defaults, a fifth of the training rows for its validation."""
    if versions:
        text += f"\n\nMeasured with {', '.join(versions)}."
    if results.known:
        pages = sorted({r["version"] for r in results.known.values()})
        text += f"\n\nWhat was not measured for this report is as {', '.join(pages)} shows it."
    return text


def _tables_with_names() -> str:
    return ", ".join(name for name, this in sets.SETS.items() if this.categories)


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
    text = f"**{text}**" if value == smallest else text
    used = results.used(name, method)
    return text if used is None else f"{text} ({used:,} rows)"


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
        cells = [_rank(results, with_mercer, ranks, m), str(wins.get(m, "–"))]
        cells += [f"{small_ranks[m]:.2f}" if m in small_ranks else "–", "" if time is None else f"{time:.3g}"]
        lines.append(_row([TITLES[m], *cells]))
    return "\n".join(lines)


def _rank(results: Results, names: list[str], ranks: dict[str, float], method: str) -> str:
    """With the number of tables it is the mean over, where those aren't all."""
    if method not in ranks:
        return "–"
    tried = sum(results.was_tried(n, method) for n in names)
    return f"{ranks[method]:.2f}" + (f" ({tried} tables)" if tried < len(names) else "")


def _everything(results: Results) -> str:
    names = [n for n in results.names() if results.value(n, "mercer") is not None]
    if not names:
        return ""
    methods = [m for m in TITLES if m in results.rankable(names)]
    ranks, wins = results.ranks(names, methods), results.wins(names, methods)
    if not ranks:
        return ""
    order = sorted(ranks, key=ranks.__getitem__)
    lines = [f"### All {len(names)} tables", "", _head(["", "average rank", "best on"])]
    lines += [_row([TITLES[m], _rank(results, names, ranks, m), str(wins[m])]) for m in order]
    lines += [
        "",
        "Equal errors share a rank, and both are best. A method that wasn't done in time, or failed, has the "
        "last rank on that table. A method that was not run on a table has no rank there: where k of K "
        "methods were, rank r counts as 1 + (r − 1)(K − 1)/(k − 1), so that first and last count the same "
        "everywhere, and the number of tables is said. The Gaussian process, meant for small tables only, "
        "and whatever was run on half of the tables or fewer is left out here; the rank with GP is over the "
        "tables it was run on. Everybody had one thread of a machine with two, beside other work: the "
        "seconds are orientation.",
    ]
    return "\n".join(lines)


def _halves(results: Results) -> str:
    """The same ranks for each half, and each task within it: columns are part, rows are methods."""
    parts = [
        (f"{half or 'all'}{', ' + task if task else ''}", names)
        for half in (*sets.HALVES, None)
        for task in (*HEADS, None)
        if (names := [n for n in results.names(task, half) if results.value(n, "mercer") is not None])
    ]
    if not parts:
        return ""
    # The same methods everywhere: a rank among eight is not one among eleven.
    everything = parts[-1][1]
    methods = [m for m in TITLES if m in results.rankable(everything)]
    ranks = [results.ranks(names, methods) for _, names in parts]
    if not ranks[-1]:
        return ""
    order = sorted(ranks[-1], key=ranks[-1].__getitem__)
    lines = [
        "### Ranks by halves",
        "",
        "A table belongs to the half *develop*, which may be looked at while Mercer is changed, or to the "
        "half *judge*, by the parity of the first byte of the BLAKE2b digest of its name.",
        "",
        _head(["", *(f"{title} ({len(names)})" for title, names in parts)]),
    ]
    for m in order:
        cells = [_rank(results, names, r, m) for (_, names), r in zip(parts, ranks)]
        lines.append(_row([TITLES[m], *cells]))
    lines += ["", "Against the best kernel machine, as above:", ""]
    for half in sets.HALVES:
        if duels := results.duels(results.names(half=half)):
            ratios = [d.ratio for d in duels]
            far = ", ".join(f"{d.set} {d.ratio:.3f}" for d in duels if d.ratio > FAR) or "none"
            lines.append(
                f"* {half}: {len(duels)} tables, median ratio {np.median(ratios):.3f}, worse by more than "
                f"{FAR - 1:.0%} on: {far}."
            )
    return "\n".join(lines)


def _since(results: Results) -> str:
    """Mercer beside what the page shows of it, where both are there."""
    rows = []
    for name in results.names():
        now, known = results.value(name, "mercer"), results.known.get((name, "mercer"))
        key = ERROR[known["task"]] if known else ""
        if now is None or known is None or key not in known or results.of(name, "mercer") == [known]:
            continue
        then, se = known[key], results.se(name, "mercer")
        ratio = 1.0 if now == then else now / then if then else float("inf")
        rows.append(
            (name, now * HEADS[known["task"]][1], then * HEADS[known["task"]][1], ratio, (now - then, se))
        )
    if not rows:
        return ""
    finite = [r[3] for r in rows if 0 < r[3] < float("inf")]
    better, worse = sum(r[3] < 1 for r in rows), sum(r[3] > 1 for r in rows)
    mean = f"{float(np.exp(np.mean(np.log(finite)))):.3f}" if finite else "–"
    lines = [
        "### Mercer beside its known results",
        "",
        f"Better on {better}, worse on {worse} of {len(rows)} tables; the geometric mean of the ratios is "
        f"{mean}.",
        "",
        _head(["table", "half", "now", "known", "ratio", "difference in standard errors of the error"]),
    ]
    for name, now, then, ratio, (difference, se) in sorted(rows, key=lambda r: -r[3]):
        errors = f"{difference / se:+.1f}" if se else ""
        lines.append(_row([name, sets.half(name), f"{now:.4g}", f"{then:.4g}", f"{ratio:.3f}", errors]))
    return "\n".join(lines)


def _rows_worth(results: Results) -> str:
    found = curves.points(results)
    if not found:
        return ""
    lines = [
        "### Error against training rows",
        "",
        f"On the same test rows; ± is one standard error of the test error. **Bold**: more than with fewer "
        f"rows by more than {curves.BEYOND_NOISE:g} standard errors of the difference, row by row where "
        f"predictions were kept. That is the noise of the test rows alone: what another draw of training "
        f"rows would have changed comes on top.",
        "",
        _head(["table", "method", "rows: error"]),
    ]
    shown = [(n, m) for n in dict.fromkeys(p.set for p in found) for m in TITLES]
    for name, method in shown:
        curve = [p for p in found if (p.set, p.method) == (name, method)]
        unit = HEADS[sets.SETS[name].task][1]
        cells = [_point(p, unit) for p in curve]
        if cells:
            lines.append(_row([name, TITLES[method], "; ".join(cells)]))
    worse = [f"{TITLES[p.method]} on {p.set} ({p.rise:+.1f})" for p in found if p.is_worse]
    lines += ["", f"More rows, and worse beyond noise: {', '.join(worse) or 'none'}."]
    return "\n".join(lines)


def _point(point: curves.Point, unit: float) -> str:
    error = f"{point.error * unit:.4g}" + (f" ± {point.se * unit:.2g}" if point.se else "")
    return f"{point.rows:,}: {f'**{error}**' if point.is_worse else error}"


def _duels(results: Results, task: str) -> str:
    duels = results.duels(results.names(task))
    if not duels:
        return ""
    unit = HEADS[task][1]
    worse = [d for d in duels if d.ratio > MARGIN]
    far = ", ".join(f"{d.set} ({d.ratio:.3f})" for d in duels if d.ratio > FAR)
    clearly = [d for d in worse if d.standard_errors is not None and d.standard_errors > 2]
    lines = [
        f"Against the kernel machine of scikit-learn that did best on the test rows (SVM, ridge, GP; chosen "
        f"afterwards, which favours them): worse by more than {MARGIN - 1:.0%} on {len(worse)} of "
        f"{len(duels)}, on {len(clearly)} of them by more than two standard errors of the difference; the "
        f"worst ratio is {duels[0].ratio:.3f}, the median {duels[len(duels) // 2].ratio:.3f}. Worse by "
        f"more than {FAR - 1:.0%}: {far or 'none'}. A difference with ≈ is not of paired rows, but of two "
        f"errors.",
        "",
        _head(["table", "Mercer", "best kernel machine", "", "ratio", "difference in standard errors"]),
    ]
    return "\n".join(lines + [_row(_duel(d, unit)) for d in duels])


def _duel(duel: Duel, unit: float) -> list[str]:
    errors = "" if duel.standard_errors is None else f"{duel.standard_errors:+.1f}"
    errors = errors if duel.paired or not errors else f"≈ {errors}"
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
