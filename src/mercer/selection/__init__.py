"""Choosing the model: leave-one-out and regularisation paths."""

from mercer.selection.path import Path, loo, path

__all__ = ["Path", "loo", "path"]
