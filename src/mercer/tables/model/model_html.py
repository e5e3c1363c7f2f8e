"""A model in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._html import folded, shown, table

if TYPE_CHECKING:
    from mercer.tables.model.model import Model


def model_html(model: Model) -> str:
    """What is known of a model: its test beside that of others, the columns that matter, remarks.

    Nothing in it runs, and nothing is fetched: names and words of the table are shown as text.
    """
    e = model.evidence
    what = f"{model.task.capitalize()} of {model.target!r}"
    title = f"{what}, {model.learned_from}, {len(model.schema.names)} columns"
    measures = list(dict.fromkeys(s.name for c in e.contenders for s in c.scores if s.name in e.shown))
    rows = []
    for contender in e.contenders:
        known = {s.name: f"{s.value:.4g} [{s.low:.4g}, {s.high:.4g}]" for s in contender.scores}
        rows.append((contender.name, *(known.get(name, "") for name in measures)))
    parts = [
        f"<p><strong>{shown(title)}</strong><br>{shown(model)}</p>",
        f"<p>Tested by {shown(e.how)}:</p>",
        table(rows, ("", *measures)),
        folded("What is known", (f"{sentence[:1].upper()}{sentence[1:]}." for sentence in e.sentences)),
        folded("Columns that matter", (f"{i.column}: +{i.increase:.3g}" for i in e.weighty)),
        folded("Left out", (f"{name} ({why})" for name, why in e.dropped.items())),
        folded("Solver and bounds", (e.certificate, *e.telling)),
        folded("Notes", e.notes),
        folded("Columns", (f"{c.name}: {c.kind}" for c in model.schema.columns)),
    ]
    return f'<div class="mercer-model">{"".join(parts)}</div>'
