"""The one error of files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model could not be saved to, or loaded from, a file; the message says why and what to do.

    Examples
    --------
    >>> from mercer.io import load
    >>> try:
    ...     load("nowhere.mercer")
    ... except ModelFileError as error:
    ...     print(error)
    can't load nowhere.mercer: No such file or directory.
    """
