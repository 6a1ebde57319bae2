"""The sender of a request, as far as the coordinator needs to know."""

from collections.abc import Callable
from typing import Protocol

from kafkalite.wire.errors import ErrorCode, KafkaError


class Caller(Protocol):
    """The client."""

    @property
    def api_version(self) -> int: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str:
        """The address as Java writes it: each group of IPv6, and IPv4 within IPv6 as IPv4."""
        ...

    @property
    def may_describe(self) -> Callable[[str], bool] | None:
        """True of a topic that may be shown to it; None if all may."""
        ...


def shown_host(caller: Caller) -> str:
    """The address as Java prints it (InetAddress.toString): so Kafka keeps and shows it."""
    return f"/{caller.client_host}"


class Context(Caller, Protocol):
    """The client that asks, and the node that is asked."""

    @property
    def node_id(self) -> int: ...


def check_group_id(group_id: str) -> None:
    """A group with members must have a name. Offsets may be kept under "" too.

    Raises KafkaError(INVALID_GROUP_ID).
    """
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
