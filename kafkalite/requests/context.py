"""What a handler may know about the request it answers, beside the message itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkalite.requests.purgatory import WakeReason, Watchers
    from kafkalite.wire.api_keys import ApiKey


class CloseConnection(Exception):
    """Raised by a handler whose only answer is to hang up; its text says why."""


class ClientConnection(Protocol):
    """The connection of a request, as far as its handler may use it."""

    async def move_to_task(self) -> None:
        """Move to the connection's task, where a handler may await anything."""
        ...

    async def wait_until(
        self,
        done: Callable[[], bool],
        watched: Iterable[Watchers],
        deadline: float,
        *,
        answer_early: bool,
    ) -> WakeReason:
        """Wait until `done()`, the deadline, or, if `answer_early`, the client's next request."""
        ...


@dataclass(slots=True)
class RequestContext:
    """Who asks what, over which listener.

    There is one per connection, as a connection's requests are handled one after the other. Dispatch
    sets what differs between requests: API key and version, client id, `received_at`.

    `node_id` is the node whose listener received the request; `client_id` is never None (Kafka
    treats a null client id as ""); `received_at` is in seconds of trio's clock.
    """

    node_id: int
    api_key: ApiKey
    api_version: int
    client_id: str
    client_host: str
    listener_name: str
    received_at: float
    connection: ClientConnection
