"""Addresses of clients as texts: as Java writes them, as ACLs and quotas are kept with these."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
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


def is_address(host: str) -> bool:
    """True for an address, False for a name of one."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def addresses_of(hosts: Iterable[str]) -> dict[str, str]:
    """The first address of each host, as of Java's InetAddress.getByName; "" if there is none.

    It takes as long as the system's resolver.
    """
    return {host: _address(host) for host in hosts}


def _address(host: str) -> str:
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, UnicodeError):
            return host_text(str(socket.getaddrinfo(host or None, None, family)[0][4][0]))
    return ""
