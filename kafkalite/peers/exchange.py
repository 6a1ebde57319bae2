"""One connection to another node, without its socket: requests out, answers in, one at a time.

Kafka's channels between nodes have one request in flight each. A second one would only wait behind
the first at the other side, and what is in flight alone needs no queue, no table and no task here.

    IDLE --request--> WAITING --whole answer--> IDLE
      |                  |
      +----- close ------+--> CLOSED
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.schema import message_of

_LENGTH_BYTES: Final = 4
# A Fetch answer of 10 MiB is the largest that is asked for, and one batch may exceed that.
MAX_FRAME_BYTES: Final = 104_857_600
_API_VERSIONS_VERSION: Final = 3


class Unserved(Exception):
    """The other node serves no version of an API that is known here."""


class Turn(Enum):
    """The side whose turn it is on the connection."""

    IDLE = "idle"
    WAITING = "waiting"
    CLOSED = "closed"


TRANSITIONS: Final[dict[Turn, frozenset[Turn]]] = {
    Turn.IDLE: frozenset({Turn.WAITING, Turn.CLOSED}),
    Turn.WAITING: frozenset({Turn.IDLE, Turn.CLOSED}),
    Turn.CLOSED: frozenset({Turn.CLOSED}),
}


class Exchange:
    """The client's side of one connection. `client_id` is shown in the other node's logs."""

    def __init__(self, client_id: str) -> None:
        self.turn = Turn.IDLE
        self._client_id = client_id
        self._correlation_id = 0
        self._asked: tuple[int, int] = (0, 0)
        self._buffer = bytearray()
        self._versions: dict[int, tuple[int, int]] = {}

    def versions_request(self) -> ApiVersionsRequest:
        """The first request on every connection; its answer goes to `versions_received`."""
        return ApiVersionsRequest(client_software_name="kafkalite", client_software_version="1")

    def versions_received(self, answer: Any) -> None:
        """Keep the versions that the other node serves."""
        self._versions = {
            each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
        }

    def version_of(self, body: object) -> int:
        """The highest version of a request's API that both know. Raises Unserved."""
        message = message_of(type(body))
        if message.key == ApiKey.API_VERSIONS:
            return _API_VERSIONS_VERSION
        lowest, highest = self._versions.get(message.key, (0, -1))
        version = min(highest, message.max_version)
        if version < max(lowest, message.min_version):
            raise Unserved(
                f"{ApiKey(message.key).name} is served there in versions {lowest} to {highest}, "
                f"known here in {message.min_version} to {message.max_version}"
            )
        return version

    def request(self, body: object) -> bytes:
        """The frame of a request, length and all. Raises Unserved, InvalidMessage."""
        key, version = message_of(type(body)).key, self.version_of(body)
        chunks = encode_request(key, version, self._correlation_id + 1, self._client_id, body)
        self._become(Turn.WAITING)
        self._correlation_id += 1
        self._asked = key, version
        return join(chunks)

    def receive(self, data: bytes | bytearray | memoryview) -> Any | None:
        """The answer once it is whole, else None. Raises ProtocolViolation."""
        self._buffer += data
        if len(self._buffer) < _LENGTH_BYTES:
            return None
        size = int.from_bytes(self._buffer[:_LENGTH_BYTES], "big")
        if not _LENGTH_BYTES <= size <= MAX_FRAME_BYTES:
            raise ProtocolViolation(f"a frame of {size} bytes")
        end = _LENGTH_BYTES + size
        if len(self._buffer) < end:
            return None
        if self.turn is not Turn.WAITING or len(self._buffer) > end:
            raise ProtocolViolation("an answer without a request")
        # To copy 90 MB of records takes 20 ms.
        frame = memoryview(self._buffer)[_LENGTH_BYTES:end]
        self._buffer = bytearray()
        correlation_id, answer = decode_response(*self._asked, frame)
        if correlation_id != self._correlation_id:
            raise ProtocolViolation(
                f"an answer to request {correlation_id}, not {self._correlation_id}"
            )
        self._become(Turn.IDLE)
        return answer

    def close(self) -> None:
        """Nothing more is asked here."""
        self._become(Turn.CLOSED)

    def _become(self, turn: Turn) -> None:
        if turn not in TRANSITIONS[self.turn]:
            raise ValueError(f"{self.turn} cannot become {turn}")
        self.turn = turn
