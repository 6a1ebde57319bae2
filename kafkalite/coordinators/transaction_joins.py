"""Partitions join transactions whose coordinators are other brokers.

The leader of a partition asks before the first batch of a transaction in it: whether the client has
added the partition, or, in transactions v2, that the coordinator add it (KIP-890). Source:
AddPartitionsToTxnManager.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import trio

from kafkalite.coordinators.shared_requests import Codes, Question, SharedRequests
from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.peers.link import Address, Connect
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from kafkalite.log.verification import VerificationGuard
    from kafkalite.replica.partition import Partition

# The client of a Produce or TxnOffsetCommit gets a code that it knows for the coordinator's.
_AS_ANSWERED: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: ErrorCode.INVALID_TXN_STATE,
}


class TransactionJoins:
    """`coordinator_of` gives the address of a transactional id's coordinator, None if there is
    none."""

    def __init__(
        self,
        coordinator_of: Callable[[str], Address | None],
        timeout_seconds: float,
        connect: Connect,
    ) -> None:
        self._coordinator_of = coordinator_of
        self._requests = SharedRequests(
            "kafkalite-transactions", _Joins(), timeout_seconds, connect
        )

    async def join(
        self, producer: Producer, partitions: Collection[TopicPartition], *, adds: bool
    ) -> Codes:
        """The outcome for each partition: NONE, or the error to answer with. In a task.

        COORDINATOR_NOT_AVAILABLE: it is not known; NETWORK_EXCEPTION: it did not answer.
        """
        address = self._coordinator_of(producer.transactional_id)
        if address is None:
            return dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for name, index in partitions:
            topic = topics.setdefault(name, AddPartitionsToTxnTopic(name=name))
            topic.partitions.append(index)
        asked = _Asked(
            AddPartitionsToTxnTransaction(
                transactional_id=producer.transactional_id,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                verify_only=not adds,
                topics=list(topics.values()),
            ),
            partitions,
        )
        return await self._requests.ask(address, asked)

    async def close(self) -> None:
        """Give the connections back."""
        await self._requests.close()


class FirstAppend(NamedTuple):
    """The first append of a transaction to a partition, perhaps."""

    partition: Partition
    producer: Producer
    base_sequence: int


class Joined:
    """The guards of appends, and the errors of those that may not be made."""

    def __init__(self) -> None:
        self._guards: dict[Partition, VerificationGuard | None] = {}
        self._errors: dict[Partition, ErrorCode] = {}

    def guard_of(self, partition: Partition) -> VerificationGuard | None:
        """The guard for an append to a partition; None if its transaction is open already.

        Raises KafkaError: the coordinator's, NOT_COORDINATOR if it was not asked.
        """
        if partition not in self._guards:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if code := self._errors.get(partition, ErrorCode.NONE):
            raise KafkaError(code)
        return self._guards[partition]

    def begin(self, append: FirstAppend, *, adds: bool) -> bool:
        """Begin to verify; False if the transaction is open already, or the epoch is too old.

        The guard comes first: the end of the transaction meanwhile makes it void.
        """
        producer = append.producer
        try:
            guard = append.partition.log.start_verification(
                producer.producer_id,
                append.base_sequence,
                producer.producer_epoch,
                supports_epoch_bump=adds,
            )
        except KafkaError as error:
            guard = None
            self._errors[append.partition] = error.code
        self._guards[append.partition] = guard
        return guard is not None

    def take(self, partitions: Mapping[TopicPartition, Partition], codes: Codes) -> None:
        """The coordinator has answered."""
        self._errors.update((partition, codes[where]) for where, partition in partitions.items())


async def join_all(
    joins: TransactionJoins,
    appends: Sequence[FirstAppend],
    *,
    adds: bool,
    pause_seconds: float,
    patience_seconds: float,
) -> Joined:
    """Ask the coordinators about first appends. In a task.

    A coordinator that still ends the producer's last transaction is asked again after
    `pause_seconds`, for `patience_seconds` in all, if it is to add the partition. Each attempt is
    a new verification: the marker that comes in between ends the one before. Source:
    ReplicaManager.handleProduceAppend.
    """
    joined = Joined()
    until = trio.current_time() + patience_seconds
    by_producer: dict[Producer, list[FirstAppend]] = {}
    for append in appends:
        by_producer.setdefault(append.producer, []).append(append)
    for producer, those in by_producer.items():
        while True:
            asked = {
                TopicPartition(append.partition.topic, append.partition.index): append.partition
                for append in those
                if joined.begin(append, adds=adds)
            }
            codes: Mapping[TopicPartition, ErrorCode] = {}
            if asked:
                codes = await joins.join(producer, asked, adds=adds)
            joined.take(asked, codes)
            is_concurrent = ErrorCode.CONCURRENT_TRANSACTIONS in codes.values()
            if not (adds and is_concurrent and trio.current_time() < until):
                break
            await trio.sleep(pause_seconds)
    return joined


class _Asked(Question):
    """One transaction's partitions, and what became of them."""

    def __init__(
        self, transaction: AddPartitionsToTxnTransaction, partitions: Collection[TopicPartition]
    ) -> None:
        super().__init__(partitions)
        self.transaction = transaction

    def failed(self, code: ErrorCode) -> None:
        super().failed(_AS_ANSWERED.get(code, code))

    def answered(self, result: AddPartitionsToTxnResult) -> None:
        codes = dict.fromkeys(self.partitions, ErrorCode.NONE)
        for topic in result.topic_results:
            for each in topic.results_by_partition:
                code = ErrorCode(each.partition_error_code)
                where = TopicPartition(topic.name, each.partition_index)
                codes[where] = _AS_ANSWERED.get(code, code)
        self.codes = codes


class _Joins:
    """Many transactions in one AddPartitionsToTxn, none twice."""

    def is_separate(self, question: _Asked, chosen: Sequence[_Asked]) -> bool:
        name = question.transaction.transactional_id
        return any(each.transaction.transactional_id == name for each in chosen)

    def request(self, questions: Sequence[_Asked]) -> AddPartitionsToTxnRequest:
        return AddPartitionsToTxnRequest(transactions=[each.transaction for each in questions])

    def take(self, questions: Sequence[_Asked], answer: AddPartitionsToTxnResponse) -> None:
        results = {each.transactional_id: each for each in answer.results_by_transaction}
        for each in questions:
            result = results.get(each.transaction.transactional_id)
            if answer.error_code or result is None:
                each.failed(ErrorCode(answer.error_code) or ErrorCode.UNKNOWN_SERVER_ERROR)
            else:
                each.answered(result)
