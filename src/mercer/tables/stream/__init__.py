"""Learning from streams: predict, learn, watch for change, keep a checkpoint, go on where it ended."""

from mercer.tables.stream.run import run_stream
from mercer.tables.stream.streamed import Streamed

__all__ = ["Streamed", "run_stream"]
