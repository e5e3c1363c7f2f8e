"""What uvicorn answers on its own: to a request that is no HTTP. It is JSON here, as all answers are."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mercer.tables.serve.refusal import to_bytes


class Protocol(H11Protocol):
    """HTTP as uvicorn speaks it, with errors that are JSON."""

    def send_400_response(self, msg: str) -> None:
        """Refuse what can't be understood, and close: where the next request begins nobody knows."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = to_bytes({"error": f"this is no request of HTTP: {msg.rstrip('.')}"})
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode("ascii")),
                (b"connection", b"close"),
            ]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
