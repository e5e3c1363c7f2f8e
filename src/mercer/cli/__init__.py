"""The command `mercer`: one file a command, gathered in `mercer.cli.app`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

# Exit codes: 0 done, 1 it could not be done (said on stderr), 2 the command was not understood, 130 Ctrl-C.
FAILED = 1
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; None takes the arguments of the process. What it returns is the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return _run(words)
    except KeyboardInterrupt:  # while a command was imported: later it answers itself
        said = "interrupted; nothing was written"
        print(json.dumps({"error": said}) if "--json" in words else f"mercer: {said}", file=sys.stderr)
        return INTERRUPTED


def _run(words: list[str]) -> int:
    try:
        from mercer.cli.app import app
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        print(
            f"mercer: {missing.name} is needed here and not installed: pip install 'mercer[cli,plot]'",
            file=sys.stderr,
        )
        return FAILED
    try:
        if "--json" in words:
            return _for_machines(app, words)
        app(args=words, prog_name="mercer")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else (FAILED if done.code else 0)
    return 0


def _for_machines(app: Any, words: list[str]) -> int:
    """The same, with wrong usage as a line of JSON, too."""
    try:
        return app(args=words, prog_name="mercer", standalone_mode=False) or 0
    except Exception as error:
        wrong: Any = error
        if not hasattr(wrong, "format_message"):  # which typer's errors of usage have, in every version
            raise
        print(json.dumps({"error": wrong.format_message()}), file=sys.stderr)
        return wrong.exit_code
