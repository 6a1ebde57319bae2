"""What a handler may know about the request it answers, beside the message itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from kafkalite.requests.purgatory import Wake, Watchers
from kafkalite.wire.api_keys import ApiKey


class CloseConnection(Exception):
    """Raised by a handler whose only answer is to hang up; its text says why."""


class ClientConnection(Protocol):
    """The connection that a request came over, as far as a handler needs it."""

    async def own_task(self) -> None:
        """Awaited by a handler before it waits for anything: from here on, it may."""
        ...

    async def wait_until(
        self,
        done: Callable[[], bool],
        watched: Iterable[Watchers],
        deadline: float,
        *,
        answer_early: bool,
    ) -> Wake:
        """Suspend the request until `done()`, the deadline, or an interruption by the client."""
        ...


@dataclass(slots=True)
class RequestContext:
    """Who asks what, over which listener.

    There is one per connection, as a connection's requests are handled one after the other; dispatch
    sets what differs from request to request: API key and version, client id, `received_at`.
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
