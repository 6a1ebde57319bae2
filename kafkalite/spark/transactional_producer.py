"""A transaction from outside a task: begun on the driver, written to by tasks, ended on the driver.

The transaction coordinator knows a transaction by its transactional id, producer id and epoch, and
not by its connection; so many processes can write into one. Source: Kafka's TransactionManager;
KIP-98.
"""

from __future__ import annotations

from typing import Any

from kafkalite.spark.client import Client, TopicPartition, check
from kafkalite.spark.encode import Producer
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest

_TRANSACTION = 1  # FindCoordinator's key type


class Transaction:
    """One producer epoch's transaction. Methods raise BrokerError."""

    def __init__(self, client: Client, transactional_id: str, producer: Producer) -> None:
        self.transactional_id = transactional_id
        self.producer = producer
        self._client = client

    @classmethod
    def begin(cls, client: Client, transactional_id: str, timeout_ms: int) -> Transaction:
        """A new epoch: the producer with the last one is fenced, and what it left open is ended
        first."""
        answer = _ask(
            client,
            transactional_id,
            InitProducerIdRequest(
                transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
            ),
        )
        producer = Producer(answer.producer_id, answer.producer_epoch, is_transactional=True)
        return cls(client, transactional_id, producer)

    def add(self, partition: TopicPartition) -> None:
        """The partition gets a marker when the transaction ends."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer.producer_id,
            v3_and_below_producer_epoch=self.producer.producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=partition[0], partitions=[partition[1]])
            ],
        )
        _ask(self._client, self.transactional_id, request)

    def has_written(self, partition: TopicPartition) -> bool:
        """True if a batch of this very epoch is in the partition."""

        def attempt() -> bool:
            topics = [TopicRequest(name=partition[0], partition_indexes=[partition[1]])]
            address = self._client.leader(partition)
            answer = self._client.ask(DescribeProducersRequest(topics=topics), address)
            [found] = answer.topics[0].partitions
            check(found.error_code, f"producers of {partition[0]}-{partition[1]}")
            return any(
                (each.producer_id, each.producer_epoch)
                == (self.producer.producer_id, self.producer.producer_epoch)
                and each.last_sequence >= 0
                for each in found.active_producers
            )

        found: bool = self._client.retry(f"producers of {partition[0]}", attempt)
        return found

    def end(self, *, commit: bool) -> None:
        """The outcome is decided when it returns, whatever dies next."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.producer_epoch,
            committed=commit,
        )
        _ask(self._client, self.transactional_id, request)


def _ask(client: Client, transactional_id: str, request: Any) -> Any:
    """Ask the transaction's coordinator, and look at every error code of the answer."""
    what = f"transaction {transactional_id!r}"

    def attempt() -> Any:
        answer = client.ask(request, _coordinator(client, transactional_id))
        check(getattr(answer, "error_code", 0), what)
        for topic in getattr(answer, "results_by_topic_v3_and_below", ()):
            for each in topic.results_by_partition:
                check(each.partition_error_code, f"{what}, {topic.name}-{each.partition_index}")
        return answer

    return client.retry(what, attempt)


def _coordinator(client: Client, transactional_id: str) -> tuple[str, int]:
    found = client.ask(FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTION))
    check(found.error_code, f"coordinator of {transactional_id!r}")
    return found.host, found.port
