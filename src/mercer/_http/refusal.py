"""Why a request is not answered: a status, a sentence, and the place if there is one."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from starlette.responses import Response


class Refusal(Exception):
    """An error of a request, which becomes its answer: status of HTTP, what is wrong, and what to do.

    Rows count from 0, as in the lists of the request; `field` is the part of the request to blame, `witness`
    proves that a kernel is none. After `retry_after` seconds another try may help.
    """

    def __init__(
        self,
        status: int,
        problem: str,
        *,
        row: int | None = None,
        column: str | None = None,
        field: str | None = None,
        witness: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ):
        super().__init__(problem)
        self.status, self.problem, self.row, self.column = status, problem, row, column
        self.field, self.witness = field, witness
        self.headers = {} if retry_after is None else {"retry-after": str(retry_after)}

    def response(self) -> Response:
        """The answer: {"error": …}, with what else is known of the place, or the proof."""
        place = {"row": self.row, "column": self.column, "field": self.field, "witness": self.witness}
        body = {"error": self.problem} | {k: v for k, v in place.items() if v is not None}
        return as_json(body, self.status, self.headers)


def as_json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response of JSON: ASCII, so that even text that is no Unicode can be sent back; no NaN."""
    return Response(to_bytes(body), status, headers, "application/json")


def to_bytes(body: Any) -> bytes:
    """JSON, as `as_json` sends it."""
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode("ascii")


def plain(values: Any) -> Any:
    """Arrays and numbers as JSON has them: what is not finite is None.

    >>> plain(np.array([1.0, np.inf])), plain(np.float64("nan")), plain(2)
    ([1.0, None], None, 2)
    """
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            values = np.where(np.isfinite(values), values.astype(object), None)  # type: ignore[call-overload]
        return values.tolist()
    if isinstance(values, dict):
        return {key: plain(value) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [plain(value) for value in values]
    if isinstance(values, np.generic):
        values = values.item()
    if isinstance(values, float) and not math.isfinite(values):
        return None
    return values
