"""Choosing the model: leave-one-out, cross-validation and regularisation paths."""

from mercer.selection.folds import FoldPath, fold_path
from mercer.selection.path import Path, loo, path

__all__ = ["FoldPath", "Path", "fold_path", "loo", "path"]
