"""What a kind of thing in a file is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.io.codec import Decoder, Encoder

Put = Callable[[Any, str], Any]
Get = Callable[[Any], Any]


class Kind:
    """Contract: which things it takes, how they are written down as entries of a row, and the way back.

    ``put(part, where)`` is the description of a part, found at `where` below `path`; ``get(description)`` is
    the part again. `decode` may be given anything in its entries.
    """

    name: str = ""
    fields: tuple[str, ...] = ()

    def takes(self, x: Any) -> bool:
        raise NotImplementedError

    def encode(self, x: Any, put: Put, encoder: Encoder, path: str) -> dict[str, Any]:
        raise NotImplementedError

    def decode(self, row: dict[str, Any], get: Get, decoder: Decoder) -> Any:
        raise NotImplementedError
