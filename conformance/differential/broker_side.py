"""One of the brokers that are compared: asked in bytes, on connections with names."""

from __future__ import annotations

import contextlib
import re
import select
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from conformance.differential.normalize import OWN, ZERO, Names, error_codes
from conformance.harness.broker import Broker
from conformance.harness.messages import fitting
from conformance.harness.raw import RawConnection
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from kafkalite.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

CLIENT_ID = "referee"
SECONDS = 20.0

_NODE = re.compile(r"@(\d+)$")

# A request, or how to make it from what this side calls its ids.
Body = Any | Callable[["Side"], Any]


class Side:
    """A broker, connections to it by name, and what its ids stand for.

    A connection whose name ends like `main@3` is one to that node. Any other one goes to the node
    that `routes` has for the API, or else to the first.
    """

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.addresses = broker.bootstrap.split(",")
        self.connections: dict[str, RawConnection] = {}
        self.names = Names(self.addresses, str(broker.data_dir))
        self.session_ids: dict[str, int] = {}
        self.member_ids: dict[str, str] = {}
        self.routes: dict[ApiKey, int] = {}
        self.correlation_id = 0
        self.marks = 0

    def close(self) -> None:
        for name in list(self.connections):
            self.hang_up(name)

    def hang_up(self, connection: str) -> None:
        if connection in self.connections:
            self.connections.pop(connection).socket.close()

    def hang_up_everywhere(self, connection: str) -> None:
        """Close the connections of this name to whatever nodes."""
        for name in list(self.connections):
            if _NODE.sub("", name) == connection:
                self.hang_up(name)

    def forget(self) -> None:
        """Go on as if nothing had been asked before."""
        self.close()
        self.names.generated.clear()
        self.names.prefix = ""
        self.session_ids.clear()
        self.member_ids.clear()
        self.routes.clear()

    def ask(self, api: ApiKey, version: int, body: Body, connection: str = "main") -> Any:
        """The answer as it came, or None when the connection was closed instead."""
        self.send(api, version, body, connection)
        return self.receive(api, version, connection)

    def send(self, api: ApiKey, version: int, body: Body, connection: str = "main") -> None:
        self.correlation_id += 1
        message = fitting(body(self) if callable(body) else body, version)
        chunks = encode_request(api, version, self.correlation_id, CLIENT_ID, message)
        data = b"".join(bytes(chunk) for chunk in chunks)
        self.send_bytes(data, self._routed(api, connection))

    def _routed(self, api: ApiKey, connection: str) -> str:
        if api in self.routes and not _NODE.search(connection):
            return at(self.routes[api], connection)
        return connection

    def send_bytes(self, data: bytes, connection: str = "main") -> None:
        """These bytes as they are, on a connection that is made when there is none."""
        if connection not in self.connections:
            address = self.addresses[node_of(connection) - 1]
            self.connections[connection] = RawConnection(address, seconds=SECONDS)
        with contextlib.suppress(ConnectionError):  # that it was closed is what reading says
            self.connections[connection].send(data)

    def receive(self, api: ApiKey, version: int, connection: str = "main") -> Any:
        frame = self.receive_frame(self._routed(api, connection))
        return None if frame is None else decode_response(api, version, frame)[1]

    def receive_frame(self, connection: str = "main") -> bytes | None:
        """The next answer; None when the connection was closed instead."""
        try:
            return self.connections[connection].receive()
        except ConnectionError:
            self.hang_up(connection)
            return None

    def has_answer(self, connection: str, seconds: float) -> bool:
        """True if something has come, or comes in time."""
        socket = self.connections[connection].socket
        return bool(select.select([socket], [], [], seconds)[0])

    def topic_id(self, name: str) -> UUID:
        """The id this broker gave the topic."""
        wanted = MetadataRequest(
            topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
        )
        answer = self.ask(ApiKey.METADATA, 12, wanted, OWN)
        found: UUID = answer.topics[0].topic_id
        if found != ZERO:
            self.names.topic_ids[found] = f"id of {name}"
        return found

    def until(
        self, api: ApiKey, version: int, body: Body, done: Callable[[Any], bool], node: int = 1
    ) -> Any:
        """Ask the node until it is so; fails when it is never so."""
        deadline = time.monotonic() + SECONDS
        pause = 0.0005
        while not done(answer := self.ask(api, version, body, at(node, OWN))):
            assert time.monotonic() < deadline, f"{self.broker.kind} still says {answer}"
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return answer

    def until_no_error(self, api: ApiKey, version: int, body: Body, node: int = 1) -> Any:
        return self.until(api, version, body, lambda answer: error_codes(answer) <= {0}, node)

    @property
    def nodes(self) -> range:
        """The ids of the nodes."""
        return range(1, len(self.addresses) + 1)

    def settle(self) -> None:
        """Wait until every node has applied all decisions that the controller has taken so far.

        Apache Kafka's controller answers, and its nodes hear of it a moment later, one decision
        after the other and each to the end. So a mark is written, and when it is seen a second one:
        when that is seen, all before the first is done. kafkalite promises that there is nothing to
        wait for.
        """
        if self.broker.kind == "kafkalite":
            return
        for _ in range(2):
            self.marks += 1
            value = float(self.marks)
            entry = EntryDataRequest(
                entity=[EntityData(entity_type="user", entity_name=OWN)],
                ops=[OpData(key="producer_byte_rate", value=value)],
            )
            self.until_no_error(
                ApiKey.ALTER_CLIENT_QUOTAS, 1, AlterClientQuotasRequest(entries=[entry])
            )
            mark = ComponentData(entity_type="user", match_type=0, match=OWN)
            for node in self.nodes:
                self.until(
                    ApiKey.DESCRIBE_CLIENT_QUOTAS,
                    1,
                    DescribeClientQuotasRequest(components=[mark]),
                    partial(_has_quota, value),
                    node,
                )


def _has_quota(value: float, answer: Any) -> bool:
    return bool(answer.entries) and answer.entries[0].values[0].value == value


def at(node: int, connection: str = "main") -> str:
    """The name of a connection to that node."""
    return f"{connection}@{node}"


def node_of(connection: str) -> int:
    """The node that a connection of this name goes to."""
    found = _NODE.search(connection)
    return int(found[1]) if found else 1


def with_length(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame
