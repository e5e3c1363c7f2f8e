"""Reading Markdown as people who check it do: blocks of code, links, headings, tables of contents."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

_FENCE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\s*(?P<info>\S*)[^\n]*\n(?P<body>.*?)^(?P=fence)\s*$", re.M | re.S
)
_LINK = re.compile(r"(?P<image>!?)\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
_INDENTED = re.compile(r"(?:^|\n)\n((?: {4}[^\n]*\n)+)")
_PARTS = re.compile(r"\s*(?:\|\|?|&&|;|>|<|2>)\s*")


def code_blocks(text: str) -> list[tuple[str, str]]:
    """(language, body) of every fenced block."""
    return [(block["info"], block["body"]) for block in _FENCE.finditer(text)]


def prose(text: str) -> str:
    """The page without blocks of code and code in backticks; boxes of colons are prose."""
    text = re.sub(r"^(`{3,}).*?^\1\s*$", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def links(text: str) -> list[tuple[bool, str]]:
    """(is an image, target) of every link in the prose, those with code for words among them."""
    return [(bool(link["image"]), link["target"]) for link in _LINK.finditer(prose(text))]


def anchors(text: str) -> set[str]:
    """Places of a page, made from its headings as the repository's pages and the site make them."""
    found: list[str] = []
    without_code = re.sub(r"^(`{3,}).*?^\1\s*$", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*$", without_code, flags=re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return set(found)


def toctree_entries(text: str) -> list[str]:
    """Pages named by the tables of contents of a page, as written there."""
    entries = []
    for info, body in code_blocks(text):
        if info == "{toctree}":
            lines = [line.strip() for line in body.splitlines()]
            written = [line for line in lines if line and not line.startswith(":")]
            entries += [re.sub(r"^.*<(.*)>$", r"\1", line) for line in written]
    return entries


def shell_commands(text: str, programme: str) -> Iterator[list[str]]:
    """Words of every command of `programme` in blocks for the shell: fenced as such, or indented."""
    bodies = [
        body for info, body in code_blocks(text) if info in ("console", "sh", "bash", "shell", "text", "")
    ]
    bodies += _INDENTED.findall(re.sub(r"^(`{3,}).*?^\1\s*$", "", text, flags=re.M | re.S))
    for body in bodies:
        lines = [line.strip() for line in re.sub(r"\\\n\s*", " ", body).splitlines()]
        typed = [
            line for line in lines if line.startswith("$ ")
        ]  # where there is a prompt, the rest is output
        for line in typed or lines:
            for part in _PARTS.split(re.sub(r"(^|\s)#.*", "", line.removeprefix("$ "))):
                if part.startswith(f"{programme} "):
                    yield shlex.split(part)


def markdown_files(root: Path) -> list[Path]:
    """All pages that people read: those of docs/ that are not made by a build, and those beside it."""
    made = {"_build", "gallery", "names"}
    inside = [path for path in (root / "docs").rglob("*.md") if not made & set(path.parts)]
    return sorted([*inside, root / "README.md", root / "CONTRIBUTING.md", root / "SECURITY.md"])
