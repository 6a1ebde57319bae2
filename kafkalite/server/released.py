"""Connections that a broker gives up, for another one that takes its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.requests.principal import Principal
    from kafkalite.server.transport import Transport


class Released(NamedTuple):
    """An open connection between two requests, and what is known of its client."""

    transport: Transport
    address: tuple[str, int]
    node_id: int
    listener_name: str
    client_id: str
    client_software: tuple[str, str]
    principal: Principal

    def tell(self, context: RequestContext) -> None:
        """Say of the client what was known before."""
        context.client_id = self.client_id
        context.client_software = self.client_software
        context.principal = self.principal


def close_released(released: Iterable[Released]) -> None:
    """Close connections that were released and not adopted."""
    for each in released:
        each.transport.close()
