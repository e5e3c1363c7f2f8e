"""Mercer with nothing said but the task, the minutes and the seed."""

from __future__ import annotations

from benchmarks.accuracy.score import Answer
from benchmarks.accuracy.sets import Split

MINUTES = 2.0
COVERAGE = 0.9


def mercer(task: str, split: Split, minutes: float = MINUTES, engine: str = "cpu") -> Answer:
    # Imported here: the parent process must not have started threads when it forks.
    from mercer import fit

    # The task is said: marks such as wine's would be a fair guess either way.
    model = fit(split.X, split.y, task=task, minutes=minutes, random_state=0, engine=engine)
    chosen = {"model": str(model)[:500]}
    if engine != "cpu":
        chosen["engine"] = "; ".join(said for said in model.evidence.remarks if "GPU" in said)
    if task == "regression":
        interval = model.predict_interval(split.X_test, coverage=COVERAGE)
        return Answer(model.predict(split.X_test), interval=interval, chosen=chosen)
    proba = model.predict_proba(split.X_test)
    return Answer(model.predict(split.X_test), proba, model.classes_, chosen=chosen)
