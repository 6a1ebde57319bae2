"""Connections to the brokers of a cluster by address, made when needed."""

from __future__ import annotations

import re
from typing import Any, Final

from kafkalite.spark.connection import Connection, ConnectionLost
from kafkalite.spark.errors import BrokerError

Address = tuple[str, int]

_PROTOCOL: Final = re.compile(r"^[0-9A-Za-z%._-]*://")
_LAST_PORT: Final = 65535


class Connections:
    """`bootstrap` names brokers as Kafka's clients do: "host:port,host:port"."""

    def __init__(self, bootstrap: str, request_seconds: float) -> None:
        """Raises BrokerError."""
        self._bootstrap = [_address(each) for each in bootstrap.split(",") if each.strip()]
        if not self._bootstrap:
            raise BrokerError("kafka.bootstrap.servers is empty: name a broker as host:port")
        self._request_seconds = request_seconds
        self._open: dict[Address, Connection] = {}

    def get(self, address: Address) -> Connection | None:
        """The connection to a broker, if it is open."""
        return self._open.get(address)

    def ask(self, body: Any, address: Address | None = None, seconds: float = 0) -> Any:
        """One request to a broker, any if none is named. Raises OSError.

        `seconds` is how long the broker may wait by itself, before `request_seconds` begin.
        """
        problems: list[str] = []
        for candidate in [address] if address else [*self._open, *self._bootstrap]:
            try:
                connection = self._open.get(candidate)
                if connection is None:
                    connection = Connection(*candidate, self._request_seconds)
                    self._open[candidate] = connection
                return connection.ask(body, seconds)
            except OSError as error:
                lost = self._open.pop(candidate, None)
                if lost is not None:
                    lost.close()
                problems.append(_located(candidate, error))
                problem = error
        raise ConnectionLost("; ".join(dict.fromkeys(problems))) from problem

    def rest(self) -> None:
        """Close those on which an unwanted response is under way."""
        for address, connection in list(self._open.items()):
            if not connection.is_at_rest:
                self._open.pop(address).close()

    def close(self) -> None:
        """Close them all; the next request opens others."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()


def _address(text: str) -> Address:
    """A protocol before it counts for nothing, as in Kafka's own clients."""
    host, _, port = _PROTOCOL.sub("", text.strip()).rpartition(":")
    if not host or not port.isdecimal() or int(port) > _LAST_PORT:
        raise BrokerError(f"kafka.bootstrap.servers: {text.strip()!r} is not host:port")
    return host.strip("[]"), int(port)


def _located(address: Address, error: OSError) -> str:
    """The problem with the address it happened at."""
    where, text = "{}:{}".format(*address), str(error.strerror or error)
    return text if text.startswith(where) else f"{where}: {text}"
