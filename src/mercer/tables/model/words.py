"""A model in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.kernels import Kernel
from mercer.kernels.algebra import Sum
from mercer.kernels.transforms import LengthScales
from mercer.kernels.unary import Scale

if TYPE_CHECKING:
    from mercer.tables.model.model import Model


def kernel_words(kernel: Kernel) -> str:
    """A kernel in one short line: without the list of its length scales.

    >>> from mercer.kernels import Gaussian, Laplacian
    >>> kernel_words(0.5 * Gaussian(1.0).scaled([1.0, 1.0]) + Laplacian(1.0, norm="l1").scaled([0.5, 8.0]))
    "0.5·Gaussian(sigma=1.0)(x/1) + Laplacian(sigma=1.0, norm='l1')(x/ℓ), ℓ from 0.5 to 8"
    """
    if isinstance(kernel, Sum):
        return f"{kernel_words(kernel.left)} + {kernel_words(kernel.right)}"
    if isinstance(kernel, Scale):
        return f"{kernel.factor:.2g}·{kernel_words(kernel.kernel)}"
    if isinstance(kernel, LengthScales):
        lengths = np.asarray(kernel.lengths)
        if np.allclose(lengths, lengths[0]):
            return f"{kernel.kernel!r}(x/{lengths[0]:.3g})"
        return f"{kernel.kernel!r}(x/ℓ), ℓ from {lengths.min():.2g} to {lengths.max():.2g}"
    return repr(kernel)


def summary(model: Model) -> str:
    """What is known of a model, in a page of text."""
    e = model.evidence
    lines = [
        f"{model.task.capitalize()} of {model.target!r}, {e.rows:,} rows, {len(model.schema.columns)} columns"
    ]
    lines.append(f"  {model}")
    lines.append(f"Tested by {e.how}:")
    width = max(len(c.name) for c in e.contenders)
    for c in e.contenders:
        shown = "   ".join(
            f"{s.name} {s.value:.4g} [{s.low:.4g}, {s.high:.4g}]" for s in c.scores if s.name != "accuracy"
        )
        lines.append(f"  {c.name:<{width}}  {shown}")
    top = [i for i in e.importance if i.increase > 0 and i.column not in e.dropped][:6]
    if top:
        shown = ", ".join(f"{i.column} +{i.increase:.3g}" for i in top)
        lines.append(f"Columns that matter (growth of the error when shuffled): {shown}")
    for level, measured in e.coverage:
        if level == 0.9:
            lines.append(f"Intervals of nominal 90 % covered {measured:.1%} of test rows")
    lines.append(f"Solver: {e.certificate}")
    lines += [f"{bound}" for bound in e.telling]
    lines += [f"Left out: {name} ({why})" for name, why in list(e.dropped.items())[:8]]
    lines += [f"Note: {remark}" for remark in e.remarks]
    return "\n".join(lines)
