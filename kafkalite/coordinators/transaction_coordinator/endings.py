"""The transactions that are being ended: their markers are written until none is missing.

The markers of a few partitions are written at once. Those of more, and what could not be written,
are left to a task. Source: Kafka's TransactionMarkerChannelManager.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import trio

from kafkalite.coordinators.standing import Standing
from kafkalite.coordinators.transaction_coordinator.markers import Ending, Markers
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition, Transaction
from kafkalite.requests.purgatory import Watchers
from kafkalite.requests.slices import Steps, at_once, in_slices_of_task
from kafkalite.wire.errors import KafkaError

# A marker that is missing is tried again after this time (Kafka's request retry backoff).
_RETRY_SECONDS: Final = 0.1
# The markers of more partitions are written in slices: the first in a partition makes files.
_MARKERS_AT_ONCE: Final = 32


class Endings:
    """The endings of a coordinator; `complete` writes that all markers are there.

    `failed` tells of an id, of what was not done, and why.
    """

    def __init__(
        self,
        log: TransactionLog,
        markers: Markers,
        complete: Callable[[Transaction], None],
        failed: Callable[[str, str, KafkaError], None],
    ) -> None:
        self._log = log
        self._markers = markers
        self._complete = complete
        self._failed = failed
        self._endings: dict[str, Ending] = {}
        self._to_retry: deque[Ending] = deque()
        self._must_retry = trio.Event()
        # Notified when a transaction is complete.
        self.completions = Watchers()

    def __contains__(self, transactional_id: str) -> bool:
        return transactional_id in self._endings

    def begin(self, transaction: Transaction) -> None:
        """The end of the transaction is written: let its partitions know."""
        decision = Standing(self._log.partition_of(transaction.transactional_id))
        decision.decided()
        missing = {
            TopicPartition(topic, index)
            for topic, indexes in transaction.partitions.items()
            for index in indexes
        }
        ending = Ending(transaction, decision, missing)
        self._endings[transaction.transactional_id] = ending
        if len(ending.missing) > _MARKERS_AT_ONCE:
            self._retry_later(ending)
        else:
            at_once(self._sending(ending))

    def forget(self, is_elsewhere: Callable[[str], bool]) -> None:
        """Another coordinator ends the transactions of these ids."""
        for transactional_id in list(self._endings):
            if is_elsewhere(transactional_id):
                del self._endings[transactional_id]
        self.completions.check_and_complete()

    async def run(self) -> None:
        """See to the markers that could not be written."""
        while True:
            await self._must_retry.wait()
            self._must_retry = trio.Event()
            await trio.sleep(_RETRY_SECONDS)
            try:
                await in_slices_of_task(self.retry())
            finally:
                if self._to_retry:
                    self._must_retry.set()

    def retry(self) -> Steps[None]:
        """Try again to write the markers that are missing."""
        for _ in range(len(self._to_retry)):
            ending = self._to_retry.popleft()
            if self._is_current(ending):
                yield from self._sending(ending)

    def _sending(self, ending: Ending) -> Steps[None]:
        """An ending that fails is tried again, after the others."""
        try:
            yield from self._markers.sending(ending, self._sent)
        except Exception:
            self._retry_later(ending)
            raise

    def _is_current(self, ending: Ending) -> bool:
        """False once the transaction is complete, or its coordinator has resigned."""
        return self._endings.get(ending.transaction.transactional_id) is ending

    def _retry_later(self, ending: Ending) -> None:
        self._to_retry.append(ending)
        self._must_retry.set()

    def _sent(self, ending: Ending) -> None:
        """Markers are written, as far as they could be. Once all are, it is complete."""
        if not self._is_current(ending):
            return
        transactional_id = ending.transaction.transactional_id
        if not ending.missing:
            try:
                self._complete(ending.transaction)
            except KafkaError as error:
                self._failed(transactional_id, "not yet complete", error)
            else:
                del self._endings[transactional_id]
                self.completions.check_and_complete()
                return
        self._retry_later(ending)
