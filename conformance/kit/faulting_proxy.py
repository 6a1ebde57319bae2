"""A proxy that does to one request, on the wire, what a fault of kafkalite does in the broker.

So any broker can have the fault, Apache Kafka too. The proxy knows nothing of rules: each fault is
a few lines about frames.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.harness.proxy import LossyProxy, hanging_up, read_frame
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_request, decode_response, encode_response

# Changes a message, or makes an answer of a request.
Change = Callable[[Any], Any]
# Never a client's own: these are for the second copy of a request.
_OF_COPY = -7


@dataclass(frozen=True)
class WireFault:
    """One fault. Without any field the request and its answer pass as they are."""

    delay_seconds: float = 0
    # "before": the request never gets to the broker. "after": its answer never gets to the client.
    drop: str = ""
    silence: str = ""
    # In place of the broker's answer; the request does not get there.
    answer: Change | None = None
    # The answer is changed on its way.
    change: Change | None = None
    cut_bytes: int = 0
    piece_bytes: int = 0
    twice: bool = False


class FaultingProxy(LossyProxy):
    """Does the fault to the next request of an API after `arm`, and to no other."""

    def __init__(self, broker_address: str, api_key: ApiKey, fault: WireFault) -> None:
        self._api_key, self._fault = api_key, fault
        self._armed = False
        self.done = 0
        # Connections on which nothing passes any more, and (connection, correlation id) of those
        # requests whose answers the fault is for: the version of each.
        self._silent: set[int] = set()
        self._due: dict[tuple[int, int], int] = {}
        super().__init__(broker_address, lambda _: False)

    def arm(self) -> None:
        """The next request is the one."""
        self._armed = True

    def _forward_requests(
        self, number: int, client: socket.socket, broker: socket.socket, asked: dict[int, ApiKey]
    ) -> None:
        fault = self._fault
        with contextlib.suppress(OSError), hanging_up(client, broker):
            while (frame := read_frame(client)) is not None:
                api_key, version, correlation_id = struct.unpack_from(">hhi", frame)
                asked[correlation_id] = ApiKey(api_key)
                if number in self._silent:
                    continue
                if self._armed and api_key == self._api_key:
                    self._armed = False
                    self.done += 1
                    self._due[number, correlation_id] = version
                    time.sleep(fault.delay_seconds)
                    if fault.drop == "before":
                        break
                    if fault.silence == "before":
                        self._silent.add(number)
                        continue
                    if fault.answer is not None:
                        body = fault.answer(decode_request(frame).body)
                        send(client, encoded(self._api_key, version, correlation_id, body))
                        continue
                    if fault.twice:
                        asked[_OF_COPY] = ApiKey(api_key)
                        send(broker, frame[:4] + struct.pack(">i", _OF_COPY) + frame[8:])
                send(broker, frame)

    def _forward_answers(
        self, number: int, client: socket.socket, broker: socket.socket, asked: dict[int, ApiKey]
    ) -> None:
        with contextlib.suppress(OSError), hanging_up(client, broker):
            while (frame := read_frame(broker)) is not None:
                correlation_id = int.from_bytes(frame[:4], "big", signed=True)
                api_key = asked.pop(correlation_id)
                version = self._due.pop((number, correlation_id), None)
                if version is not None and self._fault.silence == "after":
                    self._silent.add(number)
                if number in self._silent or correlation_id == _OF_COPY:
                    continue
                if version is None:
                    send(client, self.with_own_address(api_key, frame))
                elif not self._answered(client, version, frame):
                    break

    def _answered(self, client: socket.socket, version: int, frame: bytes) -> bool:
        """Send the answer as the fault has it; whether the connection lives on."""
        fault = self._fault
        if fault.drop == "after":
            return False
        if fault.change is not None:
            correlation_id, body = decode_response(self._api_key, version, frame)
            frame = encoded(self._api_key, version, correlation_id, fault.change(body))
        whole = struct.pack(">i", len(frame)) + frame
        if fault.cut_bytes:
            client.sendall(whole[: fault.cut_bytes])
            return False
        step = fault.piece_bytes or len(whole)
        for start in range(0, len(whole), step):
            client.sendall(whole[start : start + step])
            time.sleep(0.01 if fault.piece_bytes else 0)
        return True


def encoded(api_key: int, version: int, correlation_id: int, body: object) -> bytes:
    """An answer without its length."""
    chunks = encode_response(api_key, version, correlation_id, body)
    return b"".join(bytes(each) for each in chunks)[4:]


def send(target: socket.socket, frame: bytes) -> None:
    target.sendall(struct.pack(">i", len(frame)) + frame)
