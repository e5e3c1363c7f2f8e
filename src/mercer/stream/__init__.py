"""Learning from streams: predict, learn, watch for change, keep a checkpoint, go on where it ended."""

from mercer.model.streamed import Streamed
from mercer.stream.run import run_stream

__all__ = ["Streamed", "run_stream"]
