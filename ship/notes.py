"""Notes of a release, from its section of CHANGELOG.md: what is new, by headings, links as they are.

    python ship/notes.py             # of what is not released yet
    python ship/notes.py 0.2.0       # of a release

`ship/notes.py --release 0.2.0` ends development: the section is put in order and gets the version and
today's date, an empty one follows above it, and the version in the package and in CITATION.cff is that one.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNRELEASED = "Unreleased"
# One heading for one kind of change, whatever the room it is about; in this order.
ORDER = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def section(changes: str, version: str) -> str:
    """The body below the heading of this version.

    >>> section("## Unreleased\\n\\n- a\\n\\n## 0.1.0 - 2026-01-01\\n\\n- b\\n", "Unreleased")
    '- a'
    """
    return _found(changes, version)[1].strip()


def _found(changes: str, version: str) -> re.Match[str]:
    found = re.search(rf"^## \[?{re.escape(version)}\]?(?: [^\n]*)?$(.*?)(?=^## |\Z)", changes, re.M | re.S)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section {version}")
    return found


def ordered(body: str) -> str:
    """The parts below "### …", those of a kind together, those of one heading as one.

    >>> print(ordered("### Fixed\\n- a\\n\\n### Added: y\\n- b\\n\\n### Added: x\\n- c\\n\\n### Fixed\\n- d"))
    ### Added: y
    <BLANKLINE>
    - b
    <BLANKLINE>
    ### Added: x
    <BLANKLINE>
    - c
    <BLANKLINE>
    ### Fixed
    <BLANKLINE>
    - a
    - d
    """
    lead, *parts = re.split(r"^### ", body, flags=re.M)
    together: dict[str, list[str]] = {}
    for heading, _, lines in (part.partition("\n") for part in parts):
        together.setdefault(heading.strip(), []).append(lines.strip())
    unknown = [heading for heading in together if _kind(heading) not in ORDER]
    if unknown:
        raise SystemExit(f"headings of no kind ({', '.join(ORDER)}): {unknown}")
    headings = sorted(together, key=lambda heading: ORDER.index(_kind(heading)))
    texts = [f"### {heading}\n\n" + "\n".join(together[heading]) for heading in headings]
    return "\n\n".join(text for text in (lead.strip(), *texts) if text)


def _kind(heading: str) -> str:
    return heading.partition(":")[0].strip()


def released(changes: str, version: str, day: str) -> str:
    """CHANGELOG.md with what was unreleased as this version, in order.

    >>> print(released("# C\\n\\n## Unreleased\\n\\n- a\\n\\n## 0.1.0\\n\\n- b\\n", "0.2.0", "2026-11-20"))
    # C
    <BLANKLINE>
    ## Unreleased
    <BLANKLINE>
    ## 0.2.0 - 2026-11-20
    <BLANKLINE>
    - a
    <BLANKLINE>
    ## 0.1.0
    <BLANKLINE>
    - b
    <BLANKLINE>
    """
    found = _found(changes, UNRELEASED)
    before, after = changes[: found.start()], changes[found.end() :]
    texts = (f"## {UNRELEASED}", f"## {version} - {day}", ordered(found[1].strip()), after)
    return before + "\n\n".join(text for text in texts if text).rstrip() + "\n"


def release(version: str, root: Path = ROOT) -> None:
    """Write the version and the day where they are said."""
    day = datetime.date.today().isoformat()
    edits = {
        "CHANGELOG.md": lambda text: released(text, version, day),
        "src/mercer/__init__.py": lambda text: _put(
            r'^__version__ = ".*"$', f'__version__ = "{version}"', text
        ),
        "CITATION.cff": lambda text: _put(
            r"^version: .*$(?:\ndate-released: .*$)?", f"version: {version}\ndate-released: {day}", text
        ),
        "docs/start.md": lambda text: _put(r"^mercer \d.*$", f"mercer {version}", text),
    }
    written = {name: edit((root / name).read_text(encoding="utf-8")) for name, edit in edits.items()}
    for name, text in written.items():
        (root / name).write_text(text, encoding="utf-8")


def _put(pattern: str, words: str, text: str) -> str:
    changed, count = re.subn(pattern, words, text, count=1, flags=re.M)
    assert count == 1, f"nothing fits {pattern}"
    return changed


def main() -> None:
    """Notes on standard output, or a release."""
    parser = argparse.ArgumentParser(description="Release notes from CHANGELOG.md.")
    parser.add_argument("version", nargs="?", default=UNRELEASED)
    parser.add_argument("--release", action="store_true", help="make what is unreleased this version")
    options = parser.parse_args()
    if options.release:
        if not re.fullmatch(r"\d+\.\d+\.\d+", options.version):
            sys.exit("say which version: notes.py --release 0.2.0")
        release(options.version)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    print(ordered(section(changes, options.version)))


if __name__ == "__main__":
    main()
