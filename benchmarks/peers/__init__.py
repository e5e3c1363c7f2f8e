"""Peers, one file each, and Mercer itself as one of them.

A peer is a module with

    name             as it stands in tables
    available()      None, or why it can't run here
    product(X, Z, V, sigma)            → a function without arguments that computes the Gaussian K(X,Z) V
    exact_ridge(sigma, lam, n)         → an estimator with fit and predict
    nystrom_ridge(m, sigma, lam, n)    → the same, with m centres
    nystrom_logistic(m, sigma, lam, n) → a classifier
    svc(C, gamma, tol)                 → a classifier; LIBSVM's C, gamma = 1/(2σ²) and stopping rule
    string_grams, graph_grams          two dictionaries: the name that a kernel has in bench_strings or
                                       bench_graphs → a function of the points and the kernel's parameters
                                       → a function without arguments that computes the matrix K(X,X)

of which it has those that it has something for. What `product` or the maker of a matrix does before it
returns (norms, conversions, a trial of block sizes) isn't timed. λ is Mercer's: (1/n) Σ V + λ‖f‖².
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from types import ModuleType


def load(key: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.peers.{key}")


def keys() -> list[str]:
    """Mercer first, the others by name."""
    found = sorted(m.name for m in pkgutil.iter_modules(__path__))
    return ["ours", *(k for k in found if k != "ours")]


def with_objective(objective: str) -> list[str]:
    return [k for k in keys() if hasattr(load(k), objective)]


def missing(*modules: str) -> str | None:
    """The first of `modules` that isn't installed, in words; they are looked for, not imported."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f"{module} isn't installed"
    return None
