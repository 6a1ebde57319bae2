"""Produce, InitProducerId."""

import struct
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from crc32c import crc32c

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, TimestampType, build_batch

VERSIONS = range(3, 14)
LAST = 13
NOW = int(time.time() * 1000)


def batch(
    count: int = 3, *, key: bytes | None = b"k", timestamp: int = NOW, **options: Any
) -> bytes:
    records = [Record(timestamp=timestamp, key=key, value=b"value") for _ in range(count)]
    return build_batch(records, **options)


def producing(
    topic: str, version: int, records: bytes | None, *, partition: int = 0, acks: int = -1
) -> Callable[[Side], ProduceRequest]:
    def make(side: Side) -> ProduceRequest:
        data = PartitionProduceData(index=partition, records=records)
        name = {"topic_id": side.topic_id(topic)} if version >= 13 else {"name": topic}
        return ProduceRequest(
            acks=acks,
            timeout_ms=5000,
            topic_data=[TopicProduceData(partition_data=[data], **name)],
        )

    return make


def patched(
    records: bytes, position: int, code: str, value: int, *, is_crc_good: bool = True
) -> bytes:
    """The batch with one field overwritten, and its checksum made good unless told."""
    data = bytearray(records)
    struct.pack_into(f">{code}", data, position, value)
    if is_crc_good:
        struct.pack_into(">I", data, 17, crc32c(data[21:]))
    return bytes(data)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
def test_a_batch(pair: Pair, topic: str, version: int, codec: Compression) -> None:
    pair.create_topic(topic)
    for acks in (1, -1):
        records = batch(compression=codec)
        pair.ask(ApiKey.PRODUCE, version, producing(topic, version, records, acks=acks))


@pytest.mark.parametrize("version", VERSIONS)
def test_where_it_cannot_go(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    good = batch()
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, good, partition=1))
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, good, partition=-1))
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, good, acks=2))
    pair.ask(ApiKey.PRODUCE, version, producing(f"{topic}-unknown", version, good))
    pair.ask(ApiKey.PRODUCE, version, ProduceRequest(acks=1, timeout_ms=1000, topic_data=[]))


BATCHES: dict[str, bytes | None] = {
    "nothing": b"",
    "two batches": batch() + batch(),
    "two batches of zstd": batch(compression=Compression.ZSTD) * 2,
    "two batches of an unknown codec": patched(batch(), 21, "h", 7) * 2,
    "half a batch": batch()[:-5],
    "half a header": batch()[:30],
    "a batch and a half": batch() + batch()[:40],
    "no records": build_batch([]),
    "not from 0": batch(base_offset=5),
    "checksum wrong": patched(batch(), 17, "I", 12345, is_crc_good=False),
    "magic 1": patched(batch(), 16, "b", 1),
    "magic 0": patched(batch(), 16, "b", 0),
    "magic 3": patched(batch(), 16, "b", 3),
    "length negative": patched(batch(), 8, "i", -1),
    "length 0": patched(batch(), 8, "i", 0),
    "control batch": batch(1, is_control=True, producer_id=5, producer_epoch=0, base_sequence=0),
    "own time of the broker": batch(
        timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=NOW
    ),
    "last offset too far": batch(last_offset=10),
    "in the far future": batch(timestamp=NOW + 10 * 3_600_000),
    "in the far past": batch(timestamp=1),
    "without a time": batch(timestamp=-1),
    "a producer without a sequence": batch(producer_id=7, producer_epoch=0, base_sequence=-1),
    "unknown codec": patched(batch(), 21, "h", 7),
    "garbage instead of gzip": patched(batch(), 21, "h", 1),
    "magic -1": patched(batch(), 16, "b", -1),
    "length beyond an int32": patched(batch(), 8, "i", 2**31 - 12),
    "zeros behind it": batch() + bytes(30),
    "few zeros behind it": batch() + bytes(12),
    "too few bytes behind it": batch() + bytes(11),
    "magic 3 behind it": batch() + patched(batch(), 16, "b", 3)[:20],
    "length beyond an int32 behind it": batch() + patched(batch(), 8, "i", 2**31 - 1)[:20],
    "few zeros": bytes(12),
    "of a transaction, cut short": batch(
        is_transactional=True, producer_id=5, producer_epoch=0, base_sequence=0
    )[:-1],
}
# The whole request may fail for them.
OF_ALL = ["length 0", "length negative", "magic 3", "half a header", "magic -1"] + [
    each for each in BATCHES if "int32" in each or "codec" in each or "zeros" in each
]


@pytest.mark.parametrize("version", [3, 8, 11, LAST])
@pytest.mark.parametrize("bad", OF_ALL)
def test_a_bad_batch_beside_good_ones(pair: Pair, topic: str, version: int, bad: str) -> None:
    """A batch that cannot be read at all fails the whole request, with or without the topic."""
    pair.create_topic(topic, 2)

    def of_both(
        first: bytes | None, second: bytes | None, transactional_id: str | None = None
    ) -> Callable[[Side], ProduceRequest]:
        def make(side: Side) -> ProduceRequest:
            request = producing(topic, version, first)(side)
            request.transactional_id = transactional_id
            data = PartitionProduceData(index=1, records=second)
            request.topic_data[0].partition_data.append(data)
            return request

        return make

    pair.ask(ApiKey.PRODUCE, version, of_both(BATCHES[bad], batch()))
    pair.ask(ApiKey.PRODUCE, version, of_both(batch(), BATCHES[bad]))
    # Apache Kafka looks for a transactional batch first: after one, it looks no further.
    of_transaction = batch(is_transactional=True, producer_id=5, producer_epoch=0, base_sequence=0)
    pair.ask(ApiKey.PRODUCE, version, of_both(of_transaction, BATCHES[bad], f"id-{topic}"))
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, BATCHES[bad], partition=7))
    pair.ask(ApiKey.PRODUCE, version, producing(f"{topic}-unknown", version, BATCHES[bad]))


@pytest.mark.parametrize("version", [3, 7, 8, 11, LAST])
@pytest.mark.parametrize("case", BATCHES)
def test_odd_batches(pair: Pair, topic: str, version: int, case: str) -> None:
    pair.create_topic(topic)
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, BATCHES[case]))
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, batch()))


@pytest.mark.parametrize("version", [3, 8, LAST])
def test_a_compacted_topic(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, cleanup_policy="compact")
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, batch()))
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, batch(key=None)))


@pytest.mark.parametrize("version", [3, 8, LAST])
def test_limits_of_a_topic(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, max_message_bytes="200", message_timestamp_after_max_ms="1000")
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, batch(20)))
    too_late = batch(timestamp=NOW + 3_000_000)
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, too_late))
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, batch(1)))


@pytest.mark.parametrize("version", [3, 8, LAST])
def test_a_batch_larger_than_a_segment(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, segment_bytes="1048576", max_message_bytes="2000000")
    records = build_batch([Record(timestamp=NOW, key=b"k", value=bytes(1_100_000))])
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, records))


@pytest.mark.parametrize("version", [3, 8, LAST])
def test_the_time_is_the_brokers(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, message_timestamp_type="LogAppendTime")
    pair.ask(ApiKey.PRODUCE, version, producing(topic, version, batch()))


@pytest.mark.parametrize("codec", ["gzip", "zstd", "uncompressed"])
def test_the_codec_is_the_brokers(pair: Pair, topic: str, codec: str) -> None:
    pair.create_topic(topic, compression_type=codec)
    pair.ask(ApiKey.PRODUCE, LAST, producing(topic, LAST, batch(50)))
    garbage = BATCHES["garbage instead of gzip"]
    pair.ask(ApiKey.PRODUCE, LAST, producing(topic, LAST, garbage))


SEQUENCES: dict[str, list[tuple[int, int, int]]] = {
    # epoch, first sequence, count
    "in order": [(0, 0, 3), (0, 3, 2), (0, 5, 1)],
    "once more": [(0, 0, 3), (0, 3, 2), (0, 0, 3), (0, 3, 2), (0, 5, 1)],
    "a gap": [(0, 0, 3), (0, 4, 1), (0, 3, 1)],
    "back": [(0, 0, 3), (0, 1, 1), (0, 2, 5)],
    "too old to know": [(0, i, 1) for i in range(7)] + [(0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 6, 1)],
    "not from 0": [(0, 5, 3), (0, 8, 1)],
    "a new epoch": [(0, 0, 3), (1, 0, 1), (0, 3, 1)],
    "a new epoch, not from 0": [(0, 0, 3), (1, 3, 1), (1, 0, 1)],
    "around the end": [(0, 2**31 - 2, 2), (0, 0, 1), (0, 2**31 - 2, 2)],
    "over the end": [(0, 2**31 - 2, 5), (0, 3, 1)],
}


@pytest.mark.parametrize("version", [3, LAST])
@pytest.mark.parametrize("case", SEQUENCES)
def test_sequences(pair: Pair, topic: str, version: int, case: str) -> None:
    pair.create_topic(topic)
    for epoch, sequence, count in SEQUENCES[case]:
        records = batch(count, producer_id=1000, producer_epoch=epoch, base_sequence=sequence)
        pair.ask(ApiKey.PRODUCE, version, producing(topic, version, records))


def test_an_id_that_was_another_topics(pair: Pair, topic: str) -> None:
    unknown = TopicProduceData(
        topic_id=UUID(int=99), partition_data=[PartitionProduceData(index=0, records=batch())]
    )
    none = TopicProduceData(
        topic_id=UUID(int=0), partition_data=[PartitionProduceData(index=0, records=batch())]
    )
    for data in (unknown, none):
        pair.ask(ApiKey.PRODUCE, LAST, ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]))


def test_what_belongs_to_the_broker(pair: Pair, topic: str) -> None:
    pair.ask(ApiKey.PRODUCE, 12, producing("__consumer_offsets", 12, batch()))


@pytest.mark.parametrize("version", range(6))
def test_producer_ids(pair: Pair, version: int) -> None:
    pair.ask(
        ApiKey.INIT_PRODUCER_ID,
        version,
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000),
        retry=14,
    )
    pair.ask(
        ApiKey.INIT_PRODUCER_ID,
        version,
        InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000),
    )
    pair.ask(
        ApiKey.INIT_PRODUCER_ID,
        version,
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1),
    )
    if version >= 3:
        for producer_id, epoch in ((1, -1), (-1, 1), (1, 1)):
            request = InitProducerIdRequest(
                transactional_id=None,
                transaction_timeout_ms=1000,
                producer_id=producer_id,
                producer_epoch=epoch,
            )
            pair.ask(ApiKey.INIT_PRODUCER_ID, version, request)
