"""Options that say what matters: the metric, the threshold, what errors cost, what labels weigh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from mercer.cli.options import option


@dataclass(frozen=True)
class Judging:
    """What a model is judged by, and how labels are decided on."""

    metric: Annotated[
        str | None,
        option(
            "--metric",
            metavar="NAME",
            help="What it is judged by: of labels accuracy (the default), balanced_accuracy, log_loss, auc, "
            "average_precision, of numbers rmse (the default), mae or r2.",
        ),
    ] = None
    threshold: Annotated[
        str | None,
        option(
            "--threshold",
            metavar="P",
            help="Of two labels the second (as they are sorted) is predicted from this probability on; auto: "
            "from that which is best.",
        ),
    ] = None
    costs: Annotated[
        str | None,
        option(
            "--costs",
            metavar="LIST",
            help="What errors cost, as true:predicted=cost, such as sick:well=10,well:sick=1; those that are "
            "not named cost 1.",
        ),
    ] = None
    class_weight: Annotated[
        str | None,
        option(
            "--class-weight",
            metavar="LIST",
            help="What rows of a label weigh in the fit: balanced, or a list such as sick=10,well=1.",
        ),
    ] = None

    def __post_init__(self) -> None:
        self.asked()  # what can't be read is said before the table is

    def asked(self) -> dict[str, Any]:
        """What was said, as `mercer.fit` takes it."""
        found: dict[str, Any] = {"metric": self.metric}
        if self.threshold is not None:
            found["threshold"] = "auto" if self.threshold == "auto" else _threshold(self.threshold)
        if self.costs is not None:
            found["costs"] = {_pair(name): cost for name, cost in _listed(self.costs, "--costs")}
        if self.class_weight is not None:
            balanced = self.class_weight == "balanced"
            found["class_weight"] = (
                "balanced" if balanced else dict(_listed(self.class_weight, "--class-weight"))
            )
        return {name: value for name, value in found.items() if value is not None}


def _threshold(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise typer.BadParameter(
            f"it must be a number between 0 and 1, or auto; got {text!r}", param_hint="--threshold"
        )
    return value


def _listed(text: str, hint: str) -> list[tuple[str, float]]:
    """Names and numbers, as in a=1,b=2."""
    found = []
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            form = "sick:well=10,well:sick=1" if hint == "--costs" else "sick=10,well=1, or balanced"
            raise typer.BadParameter(f"{part.strip()!r} is not of the form {form}", param_hint=hint)
        found.append((name.strip(), value))
    if twice := [name for i, (name, _) in enumerate(found) if name in dict(found[:i])]:
        raise typer.BadParameter(f"{twice[0]} is named twice", param_hint=hint)
    return found


def _pair(name: str) -> tuple[str, str]:
    """The true label and the predicted one."""
    true, colon, predicted = (part.strip() for part in name.partition(":"))
    if not colon or not true or not predicted or ":" in predicted:
        raise typer.BadParameter(
            f"{name!r} is no pair true:predicted, as in sick:well=10; labels with a colon are for "
            "mercer.fit(costs=…) in Python",
            param_hint="--costs",
        )
    return true, predicted
