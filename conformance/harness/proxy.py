"""A proxy that loses answers: the broker has done what it was asked, and the client never hears of
it."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Generator

from kafkalite.wire.api_keys import ApiKey

# Their answers tell clients where brokers are, which has to be here.
_WITH_ADDRESSES = (ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER)
_BACKLOG = 64

LosesAnswer = Callable[[ApiKey], bool]


class LossyProxy:
    """Listens on `bootstrap` for one broker; `loses` is asked for every answer that passes.

    An answer that is lost takes the connection with it. `lost` counts them by API.
    """

    def __init__(self, broker_address: str, loses: LosesAnswer) -> None:
        host, _, port = broker_address.rpartition(":")
        self._broker = host, int(port)
        self._loses = loses
        self.lost: Counter[ApiKey] = Counter()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self._passing: list[socket.socket] = []
        self._port = int(self._server.getsockname()[1])
        self.bootstrap = f"127.0.0.1:{self._port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no connection any more, and end those that there are."""
        with hanging_up(self._server, *self._passing):
            pass

    def sees(self, connection: int, frame: bytes, *, is_request: bool) -> None:
        """Called for every frame that passes, as it was sent; does nothing here."""

    def with_own_address(self, api_key: ApiKey, frame: bytes) -> bytes:
        """An answer in which the broker's address is this proxy's."""
        if api_key not in _WITH_ADDRESSES:
            return frame
        return frame.replace(struct.pack(">i", self._broker[1]), struct.pack(">i", self._port))

    def _accept(self) -> None:
        for number in itertools.count():
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(self._broker)
            except OSError:
                client.close()
                continue
            self._passing += (client, broker)
            asked: dict[int, ApiKey] = {}
            for work in (self._forward_requests, self._forward_answers):
                arguments = number, client, broker, asked
                threading.Thread(target=work, args=arguments, daemon=True).start()

    def _forward_requests(
        self, number: int, client: socket.socket, broker: socket.socket, asked: dict[int, ApiKey]
    ) -> None:
        with contextlib.suppress(OSError), hanging_up(client, broker):
            while (frame := read_frame(client)) is not None:
                self.sees(number, frame, is_request=True)
                api_key, _, correlation_id = struct.unpack_from(">hhi", frame)
                asked[correlation_id] = ApiKey(api_key)
                broker.sendall(struct.pack(">i", len(frame)) + frame)

    def _forward_answers(
        self, number: int, client: socket.socket, broker: socket.socket, asked: dict[int, ApiKey]
    ) -> None:
        with contextlib.suppress(OSError), hanging_up(client, broker):
            while (frame := read_frame(broker)) is not None:
                self.sees(number, frame, is_request=False)
                api_key = asked.pop(int.from_bytes(frame[:4], "big"))
                if self._loses(api_key):
                    self.lost[api_key] += 1
                    break
                frame = self.with_own_address(api_key, frame)
                client.sendall(struct.pack(">i", len(frame)) + frame)


@contextlib.contextmanager
def hanging_up(*sides: socket.socket) -> Generator[None]:
    """End connections afterwards. Closing alone ends none that another thread reads from."""
    try:
        yield
    finally:
        for side in sides:
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()


def read_frame(source: socket.socket) -> bytes | None:
    """A frame without its length; None at the end."""
    head = _read(source, 4)
    return None if head is None else _read(source, int.from_bytes(head, "big"))


def _read(source: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            return None
        data += more
    return bytes(data)
