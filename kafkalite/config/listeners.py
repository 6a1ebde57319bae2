"""Listeners: `NAME://host:port`, several by comma, and the security protocol behind each name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kafkalite.config.definition import ConfigError

_MOST = 65535
# Hosts are those that Kafka takes (SocketServerConfigs): IPv6 addresses with or without brackets.
_LISTENER = re.compile(r"(?P<name>[^:/]+)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)]?:(?P<port>-?[0-9]+)")

# With the numbers of RegisterBrokerRecord (Kafka's SecurityProtocol).
SECURITY_PROTOCOLS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
WITH_TLS: Final = frozenset({"SSL", "SASL_SSL"})
WITH_SASL: Final = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})


class Listener(Struct, frozen=True):
    """One listener; an empty host is every interface, port 0 any free one."""

    name: str
    host: str
    port: int
    security_protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_protocol_map(text: str) -> dict[str, str]:
    """listener.security.protocol.map as {name: protocol}. Raises ConfigError."""
    protocols: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = item.rpartition(":")
        if not colon or protocol.strip().upper() not in SECURITY_PROTOCOLS:
            raise ConfigError(
                f"listener.security.protocol.map: {item!r} is not NAME:PROTOCOL with one of "
                + ", ".join(SECURITY_PROTOCOLS)
            )
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols


def parse_listeners(
    config_name: str, items: Sequence[str], protocols: Mapping[str, str]
) -> list[Listener]:
    """Listeners in the order given. Raises ConfigError, naming `config_name`."""
    listeners: list[Listener] = []
    for item in items:
        match = _LISTENER.fullmatch(item)
        if match is None or not 0 <= int(match["port"]) <= _MOST:
            raise ConfigError(f"{config_name}: {item!r} is not NAME://host:port")
        name = match["name"].upper()
        if name not in protocols:
            raise ConfigError(
                f"{config_name}: no security protocol for listener {name}; "
                "listener.security.protocol.map must name it"
            )
        listeners.append(Listener(name, match["host"], int(match["port"]), protocols[name]))
    names = [listener.name for listener in listeners]
    if len(set(names)) < len(names):
        raise ConfigError(f"{config_name}: each listener must have a different name")
    return listeners


def moved(config_name: str, listener: Listener, step: int) -> Listener:
    """The listener of the node that is `step` after the first: its port is as far on, unless it is
    0. Raises ConfigError, naming `config_name`, if there is no such port."""
    if not listener.port:
        return listener
    if listener.port + step > _MOST:
        raise ConfigError(
            f"{config_name}: there is no port {listener.port + step}: each further node takes the "
            f"next one after {listener.port}"
        )
    return replace(listener, port=listener.port + step)
