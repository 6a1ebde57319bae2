"""Proxies before the listeners on which brokers reach each other; a broker can be parted from all
others, in both ways or in one.

Clients and controllers still reach it: a network that is broken in part. What is sent over a parted
link is lost, and its connections break when the link is whole again.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress

from conformance.harness.losing_proxy import hang_up, read_frame
from conformance.harness.ports import free_ports

_READ_BYTES = 1 << 16
# Both kinds of brokers name their fetchers so, and Apache Kafka's name all their clients so.
_CLIENT_ID = re.compile(rb"broker-(\d+)-")


class BrokerLinks:
    """One proxy for each broker. Which broker asks is read from its first request."""

    def __init__(self, brokers: Mapping[int, int]) -> None:
        """`brokers`: ids, and the ports for clients."""
        self._brokers = dict(brokers)
        self._ports = dict(zip(brokers, free_ports(len(brokers)), strict=True))
        self._doors = {node_id: socket.create_server(("127.0.0.1", 0)) for node_id in brokers}
        self._unheard: int | None = None
        self._deaf: int | None = None
        self._lock = threading.Lock()
        self._broken: list[socket.socket] = []
        for node_id, door in self._doors.items():
            threading.Thread(target=self._accept, args=(node_id, door), daemon=True).start()

    def properties(self, node_id: int) -> dict[str, str]:
        """A node's, over those of a cluster whose brokers have one listener."""
        everything = {
            "listener.security.protocol.map": (
                "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,PLAINTEXT:PLAINTEXT"
            )
        }
        if node_id in self._brokers:
            door = self._doors[node_id].getsockname()[1]
            everything |= {
                "inter.broker.listener.name": "INTERNAL",
                "advertised.listeners": (
                    f"PLAINTEXT://127.0.0.1:{self._brokers[node_id]},INTERNAL://127.0.0.1:{door}"
                ),
            }
        return everything

    def listener(self, node_id: int) -> str:
        """The listener of a broker for brokers, behind its proxy."""
        return f"INTERNAL://127.0.0.1:{self._ports[node_id]}"

    def part(self, node_id: int, *, is_unheard: bool = True, is_deaf: bool = True) -> None:
        """Lose all that this broker sends to others from now on, all that they send, or both."""
        self._unheard = node_id if is_unheard else None
        self._deaf = node_id if is_deaf else None

    def join(self) -> None:
        """All links are whole again."""
        self._unheard = self._deaf = None
        with self._lock:
            broken, self._broken = self._broken, []
        hang_up(*broken)

    def close(self) -> None:
        hang_up(*self._doors.values())
        self.join()

    def _accept(self, node_id: int, door: socket.socket) -> None:
        while True:
            try:
                client, _ = door.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(node_id, client), daemon=True).start()

    def _serve(self, node_id: int, client: socket.socket) -> None:
        """The requests of one connection; its answers have a thread of their own."""
        ends = [client]
        try:
            first = read_frame(client)
            if first is None:
                return
            named = _CLIENT_ID.search(first[:64])
            asking = int(named[1]) if named else -1
            broker = socket.create_connection(("127.0.0.1", self._ports[node_id]))
            ends.append(broker)
            answers, requests = (node_id, asking), (asking, node_id)
            pump = threading.Thread(target=self._pump, args=(answers, broker, client), daemon=True)
            pump.start()
            self._pass(requests, first, broker)
            self._pump(requests, client, broker)
            pump.join()
        except OSError:  # the broker is gone
            pass
        finally:
            hang_up(*ends)

    def _pump(self, way: tuple[int, int], source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_READ_BYTES):
                self._pass(way, data, target)
        hang_up(source, target)

    def _pass(self, way: tuple[int, int], data: bytes, target: socket.socket) -> None:
        """Send it on, or lose it. `way` is who sends, and who is to get it."""
        sender, receiver = way
        if sender == self._unheard or receiver == self._deaf:
            with self._lock:
                self._broken.append(target)
        else:
            target.sendall(data)
