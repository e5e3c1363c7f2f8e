"""A machine in a notebook."""

from __future__ import annotations

from typing import Any

from sklearn.utils import estimator_html_repr

from mercer._html import table
from mercer._state import is_fitted

# What is known of a fit, and what it is called.
_KNOWN = {"kernel_": "kernel", "lam_": "λ", "plan_": "plan", "solution_": "solution"}


def machine_html(machine: Any) -> str:
    """scikit-learn's diagram of a machine and, if it is fitted, a table of what was chosen and reached.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> machine = KernelRidge(lam=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> html = machine_html(machine)
    >>> "<th>kernel</th><td>Gaussian(sigma=1.0)</td>" in html, "cholesky: converged" in html
    (True, True)
    """
    diagram = estimator_html_repr(machine)
    if not is_fitted(machine):
        return diagram
    known = vars(machine)
    rows = [(words, known[name]) for name, words in _KNOWN.items() if known.get(name) is not None]
    return diagram + (table(rows) if rows else "")
