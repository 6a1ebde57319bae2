"""kafka-transactions.sh: list, describe, find what hangs, abort it."""

import time
from collections.abc import Callable

from confluent_kafka import Producer

from conformance.conftest import NewBroker
from conformance.differential.wait_ready import wait_until_settled
from conformance.exactly_once_soak.__main__ import make_topics
from conformance.exactly_once_soak.judge import Judge
from conformance.harness.broker import Broker
from conformance.harness.raw import RawConnection
from conformance.harness.tools import run_tool
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch

SECONDS = 30
HOUR_MS = 3_600_000


def transactions(broker: Broker, *arguments: str) -> list[list[str]]:
    """The rows that the tool prints, without the header."""
    ran = run_tool("kafka-transactions", "--bootstrap-server", broker.bootstrap, *arguments)
    assert ran.status == 0, ran.errors
    return [line.split() for line in ran.lines[1:]]


def test_list_and_describe(broker: Broker, unique: Callable[[str], str]) -> None:
    topic, transactional_id = unique("topic"), unique("id")
    make_topics(broker, [topic])
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id}
    )
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=1)
    producer.flush(SECONDS)
    (listed,) = [row for row in transactions(broker, "list") if row[0] == transactional_id]
    assert listed[3] == "Ongoing"
    (described,) = transactions(broker, "describe", "--transactional-id", transactional_id)
    assert described[1] == transactional_id
    assert "Ongoing" in described
    assert described[-1] == f"{topic}-1"
    (writing,) = transactions(broker, "describe-producers", "--topic", topic, "--partition", "1")
    assert writing[0] == listed[2]
    assert writing[-1] == "0"
    producer.commit_transaction(SECONDS)
    deadline = time.monotonic() + SECONDS
    while "PrepareCommit" in described or "Ongoing" in described:
        # Apache Kafka answers before the markers are written.
        assert time.monotonic() < deadline
        (described,) = transactions(broker, "describe", "--transactional-id", transactional_id)
    assert "CompleteCommit" in described


def write_what_hangs(address: str, topic: str) -> None:
    """A batch of an hour ago in partition 0, of a transaction that no coordinator knows.

    The partition's leader, which has this address, must not verify transactions.
    """
    an_hour_ago = int(time.time() * 1000) - HOUR_MS
    records = build_batch(
        [Record(timestamp=an_hour_ago, value=b"hangs")],
        producer_id=4242,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    request = ProduceRequest(
        transactional_id="nobody",
        acks=-1,
        timeout_ms=5000,
        topic_data=[
            TopicProduceData(
                name=topic, partition_data=[PartitionProduceData(index=0, records=records)]
            )
        ],
    )
    connection = RawConnection(address, seconds=SECONDS)
    chunks = encode_request(ApiKey.PRODUCE, 11, 1, "raw", request)
    connection.send(b"".join(bytes(chunk) for chunk in chunks))
    answer = decode_response(ApiKey.PRODUCE, 11, connection.receive())[1]
    connection.socket.close()
    assert answer.responses[0].partition_responses[0].error_code == 0


def test_a_hanging_transaction_is_found_and_aborted(
    new_broker: NewBroker, unique: Callable[[str], str]
) -> None:
    """Nothing is verified here, so that a batch gets in of which no coordinator knows."""
    broker = new_broker({"transaction.partition.verification.enable": "false"})
    topic = unique("topic")
    make_topics(broker, [topic])
    wait_until_settled(broker)
    write_what_hangs(broker.bootstrap.split(",")[0], topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, b"0", partition=0)
    producer.flush(SECONDS)
    judge = Judge(broker.bootstrap, [topic], 1)
    judge.start()
    (hanging,) = transactions(broker, "find-hanging", "--broker-id", "1")
    assert hanging[:3] == [topic, "0", "4242"]
    assert judge.next[topic, 0] == 0
    where = ("--topic", topic, "--partition", "0", "--start-offset", "0")
    assert transactions(broker, "abort", *where) == []
    deadline = time.monotonic() + SECONDS
    while judge.next[topic, 0] < 1 and judge.verdict is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    judge.enough.set()
    judge.join()
    assert judge.verdict is None
    assert transactions(broker, "find-hanging", "--broker-id", "1") == []
