"""A directory goes from one broker to the other and back: records, offsets, topics, configs,
producers."""

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from conformance.differential.broker_side import Side
from conformance.harness.broker import Broker
from conformance.harness.tools import run_tool
from conformance.storage.clients import SECONDS, commit, committed, create, producer, read
from conformance.storage.conftest import Start
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
OTHER = {"kafka": "kafkalite", "kafkalite": "kafka"}


def fill(broker: Broker) -> None:
    """Topics of several kinds, a committed offset."""
    for codec in CODECS:
        create(broker.bootstrap, f"plain-{codec}", retention_ms="123456789")
        sender = producer(broker.bootstrap, enable_idempotence=True, compression_type=codec)
        send(sender, f"plain-{codec}", 300)
    create(broker.bootstrap, "stamped", message_timestamp_type="LogAppendTime")
    send(producer(broker.bootstrap), "stamped", 10)
    commit(broker.bootstrap, "group", "stamped", 7)


def send(sender: Producer, topic: str, count: int, prefix: str = "v") -> None:
    for i in range(count):
        sender.produce(
            topic,
            key=f"k{i % 40}",
            value=f"{prefix}{i}" * (i % 9),
            headers=[("h", f"{i}")] if i % 3 == 0 else None,
            partition=0,
        )
        if i % 25 == 0:
            sender.flush(SECONDS)
    assert sender.flush(SECONDS) == 0


def everything(broker: Broker) -> dict[str, Any]:
    found: dict[str, Any] = {
        topic: read(broker.bootstrap, topic)
        for topic in [*(f"plain-{codec}" for codec in CODECS), "stamped"]
    }
    found["committed"] = committed(broker.bootstrap, "group", "stamped")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    resource = ConfigResource(ResourceType.TOPIC, "plain-lz4")
    configs = admin.describe_configs([resource])[resource].result(SECONDS)
    found["retention.ms"] = configs["retention.ms"].value
    return found


def batch(producer_id: int, epoch: int, sequence: int) -> ProduceRequest:
    """The records that an idempotent producer sends to `numbered`."""
    records = build_batch(
        [Record(timestamp=time.time_ns() // 1_000_000, value=b"%d" % sequence)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    data = PartitionProduceData(index=0, records=records)
    topic = TopicProduceData(name="numbered", partition_data=[data])
    return ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic])


class NumberedProducer:
    """An idempotent producer that outlives its brokers; `answers` are (error code, base offset)."""

    def __init__(self, broker: Broker) -> None:
        create(broker.bootstrap, "numbered")
        side = Side(broker)
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        answer = side.ask(ApiKey.INIT_PRODUCER_ID, 4, request)
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        side.close()

    def answers(self, broker: Broker, *sequences: int) -> list[tuple[int, int]]:
        side = Side(broker)
        found: list[tuple[int, int]] = []
        for sequence in sequences:
            request = batch(self.producer_id, self.epoch, sequence)
            answer = side.ask(ApiKey.PRODUCE, 9, request)
            one = answer.responses[0].partition_responses[0]
            found.append((one.error_code, one.base_offset))
        side.close()
        return found


@pytest.mark.parametrize(
    ("first", "is_clean"),
    [("kafka", False), ("kafkalite", True)],
    ids=["kafka killed", "kafkalite stopped"],
)
def test_what_one_wrote_the_other_serves(start: Start, first: str, is_clean: bool) -> None:
    writer = start(first)
    fill(writer)
    numbered = NumberedProducer(writer)
    assert numbered.answers(writer, 0, 1, 2) == [(0, 0), (0, 1), (0, 2)]
    expected = everything(writer)
    assert [len(read(writer.bootstrap, "plain-zstd"))] == [300]
    writer.stop() if is_clean else writer.kill()

    second = start(OTHER[first], writer.data_dir)
    assert everything(second) == expected
    # A retry is known, and so is what comes next.
    out_of_order = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert numbered.answers(second, 2, 9, 3) == [(0, 2), out_of_order, (0, 3)]
    if first == "kafkalite":
        records = console_consumer(second, "plain-zstd", 300)
        assert records == [(row[2] or b"").decode() for row in expected["plain-zstd"]]
    send(producer(second.bootstrap, enable_idempotence=True), "plain-lz4", 50, "other")
    commit(second.bootstrap, "group", "stamped", 9)
    expected = everything(second)
    second.stop() if is_clean else second.kill()

    back = start(first, second.data_dir)
    assert everything(back) == expected
    assert numbered.answers(back, 3, 4) == [(0, 3), (0, 4)]
    assert expected["committed"] == 9
    assert expected["retention.ms"] == "123456789"


def console_consumer(broker: Broker, topic: str, count: int) -> list[str]:
    """The topic as Apache Kafka's own command shows it."""
    where = ("--bootstrap-server", broker.bootstrap, "--topic", topic, "--from-beginning")
    ran = run_tool("kafka-console-consumer", *where, "--max-messages", str(count))
    assert ran.status == 0, ran.errors
    return ran.output.split("\n")[:count]


def dump(*arguments: str) -> str:
    ran = run_tool("kafka-dump-log", *arguments)
    assert ran.status == 0, ran.errors
    return ran.output


def test_kafkas_dump_tool_accepts_every_file(start: Start) -> None:
    broker = start("kafkalite", log_index_interval_bytes="200")
    fill(broker)
    broker.stop()
    for codec in ("none", "zstd"):
        directory = broker.data_dir / f"plain-{codec}-0"
        log, index, times = (
            str(directory / f"{0:020d}{suffix}") for suffix in (".log", ".index", ".timeindex")
        )
        records = dump("--deep-iteration", "--print-data-log", "--files", log)
        assert records.count("| offset:") == 300
        assert "isvalid: false" not in records
        assert Path(index).stat().st_size >= 80
        output = dump("--deep-iteration", "--files", f"{log},{index},{times}")
        for complaint in ("Mismatches", "Non-consecutive", "not sorted", "not found", "less than"):
            assert complaint not in output, output
        assert f"{index} passed sanity check" in dump("--index-sanity-check", "--files", index)
        snapshot = dump("--files", str(directory / f"{300:020d}.snapshot"))
        assert "lastSequence: 299 lastOffset: 299" in snapshot


def test_transactions_that_kafka_wrote(start: Start) -> None:
    kafka = start("kafka")
    create(kafka.bootstrap, "t")
    sender = producer(kafka.bootstrap, transactional_id="one")
    sender.init_transactions(SECONDS)
    for i, ending in enumerate("cacca"):
        sender.begin_transaction()
        for j in range(20):
            sender.produce("t", key=f"{j}", value=f"{i}.{j}", partition=0)
        if ending == "c":
            sender.commit_transaction(SECONDS)
        else:
            sender.flush(SECONDS)
            sender.abort_transaction(SECONDS)
    sender.begin_transaction()
    sender.produce("t", value="open", partition=0)
    sender.flush(SECONDS)
    expected = {level: read(kafka.bootstrap, "t", 0, level) for level in LEVELS}
    assert [len(expected[level]) for level in LEVELS] == [60, 101]
    kafka.kill()

    other = start("kafkalite", kafka.data_dir)
    assert {level: read(other.bootstrap, "t", 0, level) for level in LEVELS} == expected


LEVELS = ("read_committed", "read_uncommitted")
