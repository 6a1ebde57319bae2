"""One connection to a broker: a request, its answer, the next. Plain sockets, no threads."""

from __future__ import annotations

import socket
import struct
from typing import Any, Final

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.bodies import join
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.declare import message_of
from kafkalite.wire.errors import WireError
from kafkalite.wire.messages.api_versions import ApiVersionsRequest

CLIENT_ID = "kafkalite-spark"
# Versions above these name topics by id, ask for many things at once, or end a transaction in another
# way (KIP-890): more than a client this small needs. Every broker since Kafka 0.11 has some below.
_HIGHEST_VERSIONS: Final = {
    ApiKey.PRODUCE: 11,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 9,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.END_TXN: 4,
    ApiKey.OFFSET_FETCH: 7,
}
_API_VERSIONS_VERSION = 0  # which every broker answers
_UNSUPPORTED = "{host}:{port} has no version of {api} that is known here ({low}-{high})"


class ConnectionLost(OSError):
    """The broker is gone, or speaks another protocol; a new connection may help."""


class Connection:
    """A socket, and which versions its broker speaks. Raises ConnectionLost and OSError."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.host, self.port = host, port
        self._seconds = seconds
        self._socket = socket.create_connection((host, port), timeout=seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0
        self._memory = bytearray()
        try:
            answer = self._ask(ApiKey.API_VERSIONS, _API_VERSIONS_VERSION, ApiVersionsRequest())
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
        key = message_of(type(body)).key
        assert key is not None
        api_key = ApiKey(key)
        if seconds is not None:
            self._socket.settimeout(self._seconds + seconds)
        return self._ask(api_key, self.version(api_key, type(body)), body)

    def _ask(self, api_key: ApiKey, version: int, body: Any) -> Any:
        self._correlation_id += 1
        chunks = encode_request(api_key, version, self._correlation_id, CLIENT_ID, body)
        self._socket.sendall(join(chunks))
        (size,) = struct.unpack(">i", self._receive(4))
        try:
            correlation_id, answer = decode_response(api_key, version, self._receive(size))
        except WireError as error:
            raise ConnectionLost(f"{self.host}:{self.port}: {error}") from error
        if correlation_id != self._correlation_id:
            raise ConnectionLost(f"{self.host}:{self.port}: answers out of order")
        return answer

    def _receive(self, size: int) -> memoryview:
        """So many bytes, in the memory of the last: fresh pages cost as much as the receiving."""
        if not 0 <= size < 1 << 31:
            raise ConnectionLost(f"{self.host}:{self.port}: a frame of {size} bytes: not Kafka?")
        if len(self._memory) < size:
            self._memory = bytearray(size)
        frame = memoryview(self._memory)[:size]
        position = 0
        while position < size:
            count = self._socket.recv_into(frame[position:])
            if not count:
                raise ConnectionLost(f"{self.host}:{self.port} closed the connection")
            position += count
        return frame
