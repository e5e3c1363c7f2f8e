"""The command `mercer`: one file a command, gathered in `mercer.cli.app`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

# Exit codes: 0 done, 1 it could not be done (said on stderr), 2 the command was not understood.
FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; None takes the arguments of the process.

    Returns
    -------
    int
        The exit code.
    """
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
        app(args=None if arguments is None else list(arguments), prog_name="mercer")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else (FAILED if done.code else 0)
    return 0
