"""Files of earlier formats, brought up to date one version at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.io.errors import ModelFileError

# The format this mercer writes.
VERSION = 1

# From version v: a function of what model.json says (a dict of plain data) that returns what a file of
# version v + 1 would say. Arrays stay as they are. None yet, since 1 is the first.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def up_to_date(structure: dict[str, Any]) -> dict[str, Any]:
    """The structure as this mercer would have written it."""
    version, writer = structure.get("version"), str(structure.get("mercer"))[:40]
    if type(version) is not int or version < 1:
        raise ModelFileError("it does not say of which format it is")
    if version > VERSION:
        raise ModelFileError(
            f"it is of format {version}, written by mercer {writer}, and this mercer reads up to {VERSION}: "
            "install a newer mercer"
        )
    for v in range(version, VERSION):
        structure = {**MIGRATIONS[v](structure), "version": v + 1}
    return structure
