"""A client's batch that takes long: a thread checks it, and the log appends it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Generator

from kafkalite.log.acceptance import accept
from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.large_batch import append_large
from kafkalite.log.log import Log
from kafkalite.log.validation import validate
from kafkalite.wire.errors import KafkaError


class CheckedBatch:
    """`check` is for a thread; calling it is for the log, and raises what was found wrong.

    The check depends on nothing that other appends change.
    """

    def __init__(self, records: bytes | bytearray | memoryview, log: Log) -> None:
        self._records = records
        self._log = log
        self._config = log.config
        self._now_ms = log.now_ms()
        self._found: AcceptedBatch | KafkaError | None = None

    def check(self) -> None:
        """Look at every record; called again, it does nothing."""
        if self._found is not None:
            return
        records, config, now_ms = self._records, self._config, self._now_ms
        try:
            self._found = accept(records, config, now_ms) or validate(
                records, config, name=self._log.name, origin=AppendOrigin.CLIENT, now_ms=now_ms
            )
        except KafkaError as error:
            # Its traceback knows this object, which knows the error: such a circle, with all that
            # was decompressed, would be there until the collector comes.
            self._found = error.with_traceback(None)

    def appending(self, append: Callable[[], None]) -> Generator[Callable[[], None] | None]:
        """Check the batch, write most of it if it is large, and `append` it, in steps.

        A thread does what a step yields. `append` may refuse the batch.
        """
        yield self.check
        if isinstance(self._found, AcceptedBatch):
            yield from append_large(self._log, self._found, append)
        else:
            append()

    def __call__(self) -> AcceptedBatch:
        self.check()
        found = self._found
        assert found is not None
        if isinstance(found, KafkaError):
            self._found = None
            try:
                raise found
            finally:
                del found  # no circle, as above
        return found


class CheckFirst(Exception):
    """A batch is to be checked before it is appended, or, without one, others have their turn."""

    def __init__(self, checked: CheckedBatch | None) -> None:
        super().__init__()
        self.checked = checked
