"""Addresses of clients as texts: as Java writes them, as ACLs and quotas are kept with these."""

from __future__ import annotations

import socket
import struct
from typing import Final

_MAPPED: Final = "::ffff:"


def host_text(address: str) -> str:
    """An address as Kafka names it (InetAddress.getHostAddress): of IPv6 each group is written.

    An IPv4 address that came by a socket of IPv6 is one of IPv4.
    """
    if ":" not in address:
        return address
    if address.startswith(_MAPPED) and "." in address:
        return address.removeprefix(_MAPPED)
    plain, percent, scope = address.partition("%")
    try:
        groups = struct.unpack("!8H", socket.inet_pton(socket.AF_INET6, plain))
    except OSError:
        return address
    return ":".join(f"{group:x}" for group in groups) + percent + scope
