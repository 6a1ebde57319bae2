"""One of the two brokers that are compared: asked in bytes, its answers made comparable.

What cannot be the same on two brokers (ids, addresses, clocks) is given a name: a topic's id becomes
"id of <topic>", a generated member id "member 1", in the order in which they are first seen. What is
left over is compared as it is.
"""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any
from uuid import UUID

from conformance.harness.broker import Broker
from conformance.harness.messages import fitting
from conformance.harness.raw import RawConnection
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

CLIENT_ID = "referee"
CLOSED = "the connection was closed"
ZERO = UUID(int=0)
MEMBER_ID = re.compile(r"^.+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^[A-Za-z0-9_-]{22}$")

_TIMES = ("log_append_time_ms", "transaction_start_time_ms", "last_timestamp")

# A request, or how to make it from what this side calls its ids.
Body = Any | Callable[["Side"], Any]


class Side:
    """A broker, connections to it by name, and what its ids stand for."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.addresses = broker.bootstrap.split(",")
        self.connections: dict[str, RawConnection] = {}
        self.names: dict[str, str] = {}
        self.generated: dict[str, str] = {}
        self.session_ids: dict[str, int] = {}
        self.member_ids: dict[str, str] = {}
        self.correlation_id = 0

    def close(self) -> None:
        for connection in self.connections.values():
            connection.socket.close()
        self.connections.clear()

    def ask(self, api: ApiKey, version: int, body: Body, connection: str = "main") -> Any:
        """The answer as it came, or None when the connection was closed instead."""
        self.send(api, version, body, connection)
        return self.receive(api, version, connection)

    def send(self, api: ApiKey, version: int, body: Body, connection: str = "main") -> None:
        if connection not in self.connections:
            self.connections[connection] = RawConnection(self.addresses[0], seconds=20)
        self.correlation_id += 1
        message = fitting(body(self) if callable(body) else body, version)
        chunks = encode_request(api, version, self.correlation_id, CLIENT_ID, message)
        self.connections[connection].send(b"".join(bytes(chunk) for chunk in chunks))

    def receive(self, api: ApiKey, version: int, connection: str = "main") -> Any:
        try:
            frame = self.connections[connection].receive()
        except ConnectionError:
            self.connections.pop(connection).socket.close()
            return None
        return decode_response(api, version, frame)[1]

    def topic_id(self, name: str) -> UUID:
        """The id this broker gave the topic."""
        answer = self.ask(
            ApiKey.METADATA,
            12,
            MetadataRequest(
                topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
            ),
            "ids",
        )
        found: UUID = answer.topics[0].topic_id
        if found != ZERO:
            self.names[str(found)] = f"id of {name}"
        return found

    def plain(self, value: Any, name: str = "") -> Any:
        """The answer as dicts and lists, with names instead of what may differ."""
        if value is None and name == "":
            return CLOSED
        if is_dataclass(value):
            return {
                field.name: self.plain(getattr(value, field.name), field.name)
                for field in fields(value)
                if field.name not in ("throttle_time_ms", "unknown_tagged_fields")
            }
        if isinstance(value, list):
            return [self.plain(item, f"{name}[]") for item in value]
        if isinstance(value, UUID):
            return self.names.get(str(value), "no id" if value == ZERO else "some id")
        if isinstance(value, bytes | memoryview):
            return bytes(value).hex()
        return self.named(name, value)

    def named(self, name: str, value: Any) -> Any:
        """A number or a text, by the name of its field."""
        if name == "port" and value > 0:
            known = [address.rpartition(":")[2] for address in self.addresses]
            return f"port of node {known.index(str(value)) + 1}"
        if name == "cluster_id" and value:
            return "the cluster's id"
        if name == "producer_id" and value >= 0:
            return "a producer id"
        if name == "session_id" and value > 0:
            return "a fetch session"
        if name in _TIMES and value > 0:
            return "a time"
        if name in ("error_message", "batch_index_error_message"):
            return None if value is None else comparable(value)
        if name in ("member_id", "leader") and isinstance(value, str) and MEMBER_ID.match(value):
            return self.generated.setdefault(value, f"member {len(self.generated) + 1}")
        return value


def comparable(text: str) -> str:
    """What a broker says of an error, without the times in it, and without what its library for
    regular expressions says: RE2's own words here, those of its port to Java there."""
    text = re.sub(r"-?\b[0-9]{13,19}\b", "a time", text)
    return re.sub(r"(is not a valid regular expression: ).*", r"\1...", text)
