"""A client's batch whose check takes long: a thread does it, and the log appends it afterwards."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.log.acceptance import accept
from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.log.config import LogConfig
from kafkalite.log.producer_state import AppendOrigin
from kafkalite.log.validation import validate
from kafkalite.wire.errors import KafkaError


class CheckedBatch:
    """`check` is for a thread; calling it is for the log, and raises what was found wrong.

    The check depends on nothing that other appends change.
    """

    def __init__(
        self,
        records: bytes | bytearray | memoryview,
        config: LogConfig,
        name: str,
        now_ms: Callable[[], int],
    ) -> None:
        self._records = records
        self._config = config
        self._name = name
        self._now_ms = now_ms()
        self._found: AcceptedBatch | KafkaError | None = None

    def check(self) -> None:
        """Look at every record; called again, it does nothing."""
        if self._found is not None:
            return
        records, config, now_ms = self._records, self._config, self._now_ms
        try:
            self._found = accept(records, config, now_ms) or validate(
                records, config, name=self._name, origin=AppendOrigin.CLIENT, now_ms=now_ms
            )
        except KafkaError as error:
            self._found = error

    def __call__(self) -> AcceptedBatch:
        self.check()
        assert self._found is not None
        if isinstance(self._found, KafkaError):
            raise self._found
        return self._found


class CheckFirst(Exception):
    """A batch is to be checked before it is appended, or, without one, others have their turn."""

    def __init__(self, checked: CheckedBatch | None) -> None:
        super().__init__()
        self.checked = checked
