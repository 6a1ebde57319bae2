"""Producer ids: who a task is to the broker. Source: Kafka's TransactionManager; KIP-98."""

from __future__ import annotations

from kafkalite.spark.client import Client, check
from kafkalite.spark.encode import Producer
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest


def new_producer(client: Client) -> Producer:
    """A new id for an idempotent producer. Raises BrokerError."""

    def attempt() -> Producer:
        answer = client.ask(
            InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        )
        check(answer.error_code, "producer id")
        return Producer(answer.producer_id, answer.producer_epoch)

    producer: Producer = client.retry("producer id", attempt)
    return producer
