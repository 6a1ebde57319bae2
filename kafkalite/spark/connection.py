"""One connection to a broker: a request, its answer, the next. Plain sockets, no threads.

One request may be sent ahead: the broker answers it while its answer is not yet needed.
"""

from __future__ import annotations

import socket
import struct
from typing import Any, Final, NamedTuple

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.errors import WireError
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.schema import message_of

CLIENT_ID = "kafkalite-spark"
# Versions above these name topics by id, ask for many things at once, or end a transaction in
# another way (KIP-890): more than a client this small needs. Every broker since Kafka 0.11 has some
# below.
_HIGHEST_VERSIONS: Final = {
    ApiKey.PRODUCE: 11,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 9,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.END_TXN: 4,
    ApiKey.OFFSET_FETCH: 7,
}
_FIRST_MEMORY_BYTES = 1 << 16
_API_VERSIONS_VERSION = 0  # which every broker answers
_UNSUPPORTED = "{host}:{port} has no version of {api} that is known here ({low}-{high})"


class ConnectionLost(OSError):
    """The broker is gone, or speaks another protocol; a new connection may help."""


class _Sent(NamedTuple):
    """A request whose answer was not received yet."""

    api_key: ApiKey
    version: int
    correlation_id: int
    body: Any


class Connection:
    """A socket, and which versions its broker speaks. Raises ConnectionLost and OSError."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.host, self.port = host, port
        self._seconds = seconds
        self._socket = socket.create_connection((host, port), timeout=seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0
        self._memory = bytearray()
        self._ahead: _Sent | None = None
        try:
            asked = ApiVersionsRequest()
            answer = self._answer(self._send(ApiKey.API_VERSIONS, _API_VERSIONS_VERSION, asked))
        except BaseException:
            self.close()
            raise
        self._versions = {
            api.api_key: (api.min_version, api.max_version) for api in answer.api_keys
        }

    def close(self) -> None:
        self._socket.close()

    def version(self, api_key: ApiKey, request_class: type[Any]) -> int:
        """The highest version that both sides know."""
        message = message_of(request_class)
        low, high = self._versions.get(api_key, (0, -1))
        highest = _HIGHEST_VERSIONS.get(api_key, message.max_version)
        version = min(high, message.max_version, highest)
        if version < max(low, message.min_version):
            raise ConnectionLost(
                _UNSUPPORTED.format(
                    host=self.host, port=self.port, api=api_key.name, low=low, high=high
                )
            )
        return version

    def ask(self, body: Any, seconds: float | None = None) -> Any:
        """Send a request, wait for the answer: up to so many seconds longer than usual.

        Records in it are a view of memory that the next answer overwrites.
        """
        if seconds is not None:
            self._socket.settimeout(self._seconds + seconds)
        try:
            sent, self._ahead = self._ahead, None
            if sent is not None:
                answer = self._answer(sent)
                if sent.body == body:
                    return answer
            return self._answer(self._request(body))
        except BaseException:
            self.close()  # half a response may have been read: the next one cannot be told from it
            raise

    def send_ahead(self, body: Any) -> None:
        """Send what will be asked next; if something else is, this answer is thrown away."""
        try:
            if self._ahead is None:
                self._ahead = self._request(body)
        except BaseException:
            self.close()
            raise

    @property
    def is_at_rest(self) -> bool:
        """True if no answer is on its way."""
        return self._ahead is None

    def _request(self, body: Any) -> _Sent:
        request_class = type(body)
        key = message_of(request_class).key
        assert key is not None
        api_key = ApiKey(key)
        return self._send(api_key, self.version(api_key, request_class), body)

    def _send(self, api_key: ApiKey, version: int, body: Any) -> _Sent:
        self._correlation_id += 1
        chunks = encode_request(api_key, version, self._correlation_id, CLIENT_ID, body)
        self._socket.sendall(join(chunks))
        return _Sent(api_key, version, self._correlation_id, body)

    def _answer(self, sent: _Sent) -> Any:
        (size,) = struct.unpack(">i", self._receive(4))
        try:
            frame = self._receive(size)
            correlation_id, answer = decode_response(sent.api_key, sent.version, frame)
        except WireError as error:
            raise ConnectionLost(f"{self.host}:{self.port}: {error}") from error
        if correlation_id != sent.correlation_id:
            raise ConnectionLost(f"{self.host}:{self.port}: answers out of order")
        return answer

    def _receive(self, size: int) -> memoryview:
        """So many bytes, in the memory of the last: fresh pages cost as much as the receiving."""
        if not 0 <= size < 1 << 31:
            raise ConnectionLost(f"{self.host}:{self.port}: a frame of {size} bytes: not Kafka?")
        position = 0
        while position < size:
            if position == len(self._memory):
                # no more than what came calls for: the size may be a lie
                more = min(size, max(2 * position, _FIRST_MEMORY_BYTES)) - position
                self._memory = self._memory + bytearray(more)
            frame = memoryview(self._memory)[position:size]
            count = self._socket.recv_into(frame)
            if not count:
                raise ConnectionLost(f"{self.host}:{self.port} closed the connection")
            position += count
        return memoryview(self._memory)[:size]
