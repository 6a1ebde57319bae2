"""A proxy that writes down what clients and a broker say to each other, in the order it passes."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from conformance.harness.proxy import LossyProxy


@dataclass(frozen=True, slots=True)
class Passed:
    """One frame, without its length; `connection` numbers them in the order they were opened."""

    connection: int
    is_request: bool
    frame: bytes


class RecordingProxy(LossyProxy):
    """Listens on `bootstrap` for one broker; loses nothing, and keeps all of it in `passed`."""

    def __init__(self, broker_address: str) -> None:
        self.passed: list[Passed] = []
        self._lock = threading.Lock()
        super().__init__(broker_address, lambda api_key: False)

    def sees(self, connection: int, frame: bytes, *, is_request: bool) -> None:
        with self._lock:
            self.passed.append(Passed(connection, is_request, frame))
