"""The interface of what answers frames: the dispatcher, or a substitute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kafkalite.requests.suspension import ResponseCoroutine
    from kafkalite.server.connection import Connection
    from kafkalite.wire.fields import InMemory, Records


class RequestHandler(Protocol):
    """Answers the frames of connections."""

    def respond(self, connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        """The chunks of the response, an empty list if there is none, or a coroutine of them.

        Raises ProtocolViolation, or CloseConnection, to close the connection.
        """
        ...
