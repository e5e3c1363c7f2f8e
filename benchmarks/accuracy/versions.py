"""Which program a result is of: the version of a peer's package, and of Mercer the source itself."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

PACKAGES = {"mercer": "mercer", "lightgbm": "lightgbm", "catboost": "catboost", "xrfm": "xrfm"}


@cache
def of(method: str) -> str:
    package = PACKAGES.get(method, "scikit-learn")
    if package == "mercer":
        return _mercer()
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:  # xRFM may be in an environment of its own
        return package


def _mercer() -> str:
    """Its version and a digest of its source; nothing of it is imported, as the process forks later."""
    found = find_spec("mercer")
    if found is None or found.origin is None:
        return "mercer"
    source, digest = Path(found.origin).parent, hashlib.blake2b(digest_size=4)
    for path in sorted(source.rglob("*.py")):
        digest.update(str(path.relative_to(source)).encode() + path.read_bytes())
    said = re.search(r'^__version__ = "(.+)"', Path(found.origin).read_text(), re.MULTILINE)
    return f"mercer {said.group(1) if said else ''}+{digest.hexdigest()}"
