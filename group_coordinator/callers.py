"""Who sent a request, as far as the coordinator wants to know."""

from typing import Protocol


class Caller(Protocol):
    """The client."""

    @property
    def api_version(self) -> int: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...


class Context(Caller, Protocol):
    """Who asks, and which node was asked."""

    @property
    def node_id(self) -> int: ...
