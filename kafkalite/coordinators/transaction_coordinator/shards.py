"""The transactional ids that are coordinated here, by the partitions of `__transaction_state`.

An id belongs to the partition that it hashes to, and is coordinated where this one is led. On being
elected the coordinator loads the partition, on resigning it forgets it. Loading may take a while,
in which its ids are refused. Source: Kafka's TransactionStateManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.coordinators.transaction_coordinator.state_log import Leadership, TransactionLog
    from kafkalite.coordinators.transaction_coordinator.transaction import Transaction
    from kafkalite.requests.slices import Steps

Shard = dict[str, "Transaction"]
"""Transactions by transactional id."""


class TransactionShards:
    """The partitions that are loaded here, for each node of this process.

    `load` takes the steps that load a partition. `loaded` is called with each transaction of a
    partition that was loaded, and `resigned` with its index when it is led elsewhere.
    """

    def __init__(
        self,
        log: TransactionLog,
        load: Callable[[Steps[None]], object],
        *,
        loaded: Callable[[Transaction], None],
        resigned: Callable[[int], None],
    ) -> None:
        self._log = log
        self._load = load
        self._loaded_one = loaded
        self._resigned = resigned
        self._leaderships: dict[int, Leadership] = {}
        self._loaded: dict[int, Shard] = {}
        self._loading: dict[int, Shard] = {}

    def leaders_changed(self) -> None:
        """Load the partitions that are led here now, or in another epoch; drop the others."""
        found = {index: self._log.leadership(index) for index in range(self._log.partition_count)}
        leaderships = {index: each for index, each in found.items() if each is not None}
        before, self._leaderships = self._leaderships, leaderships
        for index in before.keys() | leaderships.keys():
            now = leaderships.get(index)
            if before.get(index) != now:
                self._resign(index)
                if now is not None:
                    shard = self._loading[index] = {}
                    self._load(self._loading_steps(index, shard))

    def _resign(self, index: int) -> None:
        self._loading.pop(index, None)
        if self._loaded.pop(index, None) is not None:
            self._resigned(index)

    def _loading_steps(self, index: int, shard: Shard) -> Steps[None]:
        """Load a partition, one record a step, unless the coordinator resigns meanwhile.

        Nothing else is written to the partition meanwhile, as its ids are refused.
        """
        try:
            for transactional_id, transaction in (
                self._log.replay(index) if self._is_wanted(index, shard) else ()
            ):
                if transaction is None:
                    shard.pop(transactional_id, None)
                else:
                    shard[transactional_id] = transaction
                yield
                if not self._is_wanted(index, shard):
                    return
            # A log that cannot be read is offline by now.
            if self._is_wanted(index, shard) and self._log.leadership(index) is not None:
                self._loaded[index] = shard
        finally:
            if self._is_wanted(index, shard):
                del self._loading[index]
        for transaction in list(shard.values()):
            if self._loaded.get(index) is shard:
                self._loaded_one(transaction)
            yield

    def _is_wanted(self, index: int, shard: Shard) -> bool:
        return self._loading.get(index) is shard

    def find(self, transactional_id: str, node_id: int) -> Transaction | None:
        """The transaction of an id; None if nothing is known of it.

        Raises KafkaError: NOT_COORDINATOR if it is not this node's, COORDINATOR_LOAD_IN_PROGRESS.
        """
        return self._shard_of(transactional_id, node_id).get(transactional_id)

    def _shard_of(self, transactional_id: str, node_id: int) -> Shard:
        index = self._log.index_of(transactional_id)
        if self._log.partition(index).coordinated_here != node_id:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if index in self._loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        shard = self._loaded.get(index)
        if shard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return shard

    def put(self, transaction: Transaction) -> Transaction | None:
        """Keep what was written; what was there before."""
        transactional_id = transaction.transactional_id
        shard = self._loaded[self._log.index_of(transactional_id)]
        before = shard.get(transactional_id)
        shard[transactional_id] = transaction
        return before

    def remove(self, transactional_id: str) -> None:
        """The id was forgotten."""
        del self._loaded[self._log.index_of(transactional_id)][transactional_id]

    def of_node(self, node_id: int) -> Iterable[Transaction]:
        """All that a node coordinates. Raises KafkaError(COORDINATOR_LOAD_IN_PROGRESS)."""
        if any(self._log.partition(index).leader_id == node_id for index in self._loading):
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return [
            transaction
            for index, shard in self._loaded.items()
            if self._log.partition(index).leader_id == node_id
            for transaction in shard.values()
        ]

    def in_steps(self) -> Iterator[Transaction]:
        """All that this process coordinates; others may change them before the next one."""
        for index, shard in list(self._loaded.items()):
            for transactional_id in list(shard):
                transaction = shard.get(transactional_id)
                if transaction is not None and self._loaded.get(index) is shard:
                    yield transaction

    def all(self) -> Iterable[Transaction]:
        """All that this process coordinates, as of now."""
        return [each for shard in self._loaded.values() for each in shard.values()]
