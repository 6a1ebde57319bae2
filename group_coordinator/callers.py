"""The sender of a request, as far as the coordinator needs to know."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Protocol

from kafkalite.wire.errors import ErrorCode, KafkaError


class Caller(Protocol):
    """The client."""

    @property
    def api_version(self) -> int: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...


def shown_host(caller: Caller) -> str:
    """The client's address as Java prints it, which is how Kafka keeps and shows it.

    It begins with a slash. IPv6 has all its zeros. An IPv4 client of an IPv6 socket has its IPv4
    address.
    """
    return _shown(caller.client_host)


@lru_cache(maxsize=1024)  # a client says it with every heartbeat
def _shown(client_host: str) -> str:
    host, percent, scope = client_host.partition("%")
    address = ip_address(host)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return f"/{address.ipv4_mapped}"
        host = ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))
    return f"/{host}{percent}{scope}"


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
