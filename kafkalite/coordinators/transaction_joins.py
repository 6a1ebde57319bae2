"""Partitions join transactions whose coordinators are other brokers.

The leader of a partition asks before the first batch of a transaction in it: whether the client has
added the partition, or, in transactions v2, that the coordinator add it (KIP-890). One request to
each coordinator is under way at a time. Those that come meanwhile go together in the next, no
transactional id twice. Source: AddPartitionsToTxnManager.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import trio

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
from kafkalite.peers.link import Address, Connect, Link, PeerGone, connect_tcp
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

Codes = Mapping[TopicPartition, ErrorCode]

# The client of a Produce or TxnOffsetCommit gets a code that it knows for the coordinator's.
_AS_ANSWERED: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: ErrorCode.INVALID_TXN_STATE,
}


class TransactionJoins:
    """`coordinator_of` gives the address of a transactional id's coordinator, None for none."""

    def __init__(
        self,
        coordinator_of: Callable[[str], Address | None],
        timeout_seconds: float,
        connect: Connect = connect_tcp,
    ) -> None:
        self._coordinator_of = coordinator_of
        self._timeout_seconds = timeout_seconds
        self._connect = connect
        self._channels: dict[Address, _Channel] = {}

    async def join(
        self, producer: Producer, partitions: Collection[TopicPartition], *, adds: bool
    ) -> Codes:
        """The outcome for each partition: NONE, or the error to answer with. In a task.

        COORDINATOR_NOT_AVAILABLE: it is not known; NETWORK_EXCEPTION: it did not answer.
        """
        address = self._coordinator_of(producer.transactional_id)
        if address is None:
            return dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        channel = self._channels.get(address)
        if channel is None:
            channel = _Channel(address, self._timeout_seconds, self._connect)
            self._channels[address] = channel
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
        return await channel.ask(asked)

    async def close(self) -> None:
        """Give the connections back."""
        for channel in self._channels.values():
            await channel.close()


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
        """Begin to verify; False if the transaction is open already. The guard comes first.

        So the end of the transaction meanwhile makes it void.
        """
        producer = append.producer
        guard = append.partition.log.start_verification(
            producer.producer_id,
            append.base_sequence,
            producer.producer_epoch,
            supports_epoch_bump=adds,
        )
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

    One that still ends the producer's last transaction is asked again after `pause_seconds`, for
    `patience_seconds` in all, where it is to add the partition. Each time is a verification of its
    own, as the marker that comes meanwhile ends the one before. Source:
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


class _Asked:
    """One transaction's partitions, and what became of them."""

    def __init__(
        self, transaction: AddPartitionsToTxnTransaction, partitions: Collection[TopicPartition]
    ) -> None:
        self.transaction = transaction
        self.codes: Codes | None = None
        self._partitions = partitions

    def failed(self, code: ErrorCode) -> None:
        self.codes = dict.fromkeys(self._partitions, _AS_ANSWERED.get(code, code))

    def answered(self, result: AddPartitionsToTxnResult) -> None:
        codes = dict.fromkeys(self._partitions, ErrorCode.NONE)
        for topic in result.topic_results:
            for each in topic.results_by_partition:
                code = ErrorCode(each.partition_error_code)
                where = TopicPartition(topic.name, each.partition_index)
                codes[where] = _AS_ANSWERED.get(code, code)
        self.codes = codes


class _Channel:
    """The requests to one coordinator. The one whose turn it is sends all that wait."""

    def __init__(self, address: Address, timeout_seconds: float, connect: Connect) -> None:
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._link = Link("kafkalite-transactions", connect)
        self._waiting: list[_Asked] = []
        self._turn = trio.Lock()

    async def close(self) -> None:
        await self._link.close()

    async def ask(self, asked: _Asked) -> Codes:
        self._waiting.append(asked)
        try:
            async with self._turn:
                while asked.codes is None:
                    await self._send(self._next())
        finally:
            if asked in self._waiting:
                self._waiting.remove(asked)
        return asked.codes

    def _next(self) -> Sequence[_Asked]:
        """The first question that waits, for each transactional id."""
        first: dict[str, _Asked] = {}
        for each in self._waiting:
            first.setdefault(each.transaction.transactional_id, each)
        chosen = list(first.values())
        self._waiting = [each for each in self._waiting if each not in chosen]
        return chosen

    async def _send(self, batch: Sequence[_Asked]) -> None:
        request = AddPartitionsToTxnRequest(transactions=[each.transaction for each in batch])
        try:
            answer: AddPartitionsToTxnResponse = await self._link.ask(
                self._address, request, timeout_seconds=self._timeout_seconds
            )
            results = {each.transactional_id: each for each in answer.results_by_transaction}
            for each in batch:
                result = results.get(each.transaction.transactional_id)
                if answer.error_code or result is None:
                    code = ErrorCode(answer.error_code) or ErrorCode.UNKNOWN_SERVER_ERROR
                    each.failed(code)
                else:
                    each.answered(result)
        except PeerGone:
            pass
        finally:
            for each in batch:
                if each.codes is None:  # also where the task of the one that sends has ended
                    each.failed(ErrorCode.NETWORK_EXCEPTION)
