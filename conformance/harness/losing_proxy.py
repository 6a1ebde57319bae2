"""A proxy that loses answers: the broker has done it, and the client never hears.

The broker must advertise the proxy's address, as clients connect to what Metadata tells them.
"""

import contextlib
import queue
import socket
import struct
import threading
from types import TracebackType
from typing import Self


def read_frame(source: socket.socket) -> bytes | None:
    """A frame with its length; None at the end."""
    data = bytearray()
    wanted = 4
    while len(data) < wanted:
        piece = source.recv(wanted - len(data))
        if not piece:
            return None
        data += piece
        if len(data) == 4:
            wanted += struct.unpack(">i", data)[0]
    return bytes(data)


class LosingProxy:
    """Loses the first `count` answers to requests of `api_key`, and their connections with them.

    Every request must have an answer (no Produce with acks=0).
    """

    def __init__(self, broker: tuple[str, int], *, api_key: int, count: int) -> None:
        self.broker, self.api_key, self.left = broker, api_key, count
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.open: list[socket.socket] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        hang_up(self.listener, *self.open)

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(client)
            try:
                broker = socket.create_connection(self.broker)
            except OSError:
                client.close()
                continue
            self.open.append(broker)
            keys: queue.SimpleQueue[int] = queue.SimpleQueue()
            for pump in (self.requests, self.answers):
                threading.Thread(target=pump, args=(client, broker, keys), daemon=True).start()

    def requests(
        self, client: socket.socket, broker: socket.socket, keys: "queue.SimpleQueue[int]"
    ) -> None:
        try:
            while frame := read_frame(client):
                keys.put(struct.unpack_from(">h", frame, 4)[0])
                broker.sendall(frame)
        except OSError:
            pass
        finally:
            hang_up(client, broker)

    def answers(
        self, client: socket.socket, broker: socket.socket, keys: "queue.SimpleQueue[int]"
    ) -> None:
        """Answers come in the order of the requests."""
        try:
            while frame := read_frame(broker):
                if keys.get() == self.api_key and self.left > 0:
                    self.left -= 1
                    return
                client.sendall(frame)
        except OSError:
            pass
        finally:
            hang_up(client, broker)


def hang_up(*sockets: socket.socket) -> None:
    """Shut down first: that wakes who reads from them."""
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
