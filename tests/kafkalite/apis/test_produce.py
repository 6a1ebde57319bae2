"""Produce: what is acknowledged, what is refused and with which number, and what happens to
others."""

import os
import struct
from random import Random
from uuid import UUID, uuid4

import pytest
import trio

from kafkalite.log.accepted_batch import PIECE_BYTES
from kafkalite.log.files import Files
from kafkalite.testing import broker as test_broker
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.transactional import Transactional
from tests.log.conftest import read_all

FIRST_WITH_IDS = 13


def batch(*values: bytes, **settings) -> bytes:
    return build_batch(
        [Record(timestamp=1_600_000_000_000, value=value) for value in values], **settings
    )


def produce(topic: str | UUID, records: dict[int, bytes | None], acks: int = -1) -> ProduceRequest:
    named = {"topic_id": topic} if isinstance(topic, UUID) else {"name": topic}
    data = [PartitionProduceData(index=index, records=data) for index, data in records.items()]
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(**named, partition_data=data)]
    )


async def outcomes(client, request: ProduceRequest, version: int = 12) -> list:
    response = await client.ask(request, version)
    (topic,) = response.responses
    return topic.partition_responses


@pytest.fixture
def topic(broker: test_broker) -> str:
    broker.create_topic("words", partitions=2)
    return "words"


@pytest.mark.parametrize("version", range(3, 13))
@pytest.mark.parametrize("acks", [1, -1])
async def test_offsets_are_dense_per_partition(client, topic: str, version: int, acks: int) -> None:
    two, one = batch(b"a", b"b"), batch(b"c")
    answers = await outcomes(client, produce(topic, {0: two, 1: one}, acks), version)
    assert [(a.index, a.error_code, a.base_offset) for a in answers] == [(0, 0, 0), (1, 0, 0)]
    (answer,) = await outcomes(client, produce(topic, {0: one}, acks), version)
    assert (answer.base_offset, answer.log_append_time_ms) == (2, -1)
    assert answer.log_start_offset == (0 if version >= 5 else -1)


async def test_by_topic_id(client, broker: test_broker, topic: str) -> None:
    topic_id = broker.topic_id(topic)
    (answer,) = await outcomes(client, produce(topic_id, {0: batch(b"a")}), FIRST_WITH_IDS)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
    (answer,) = await outcomes(client, produce(uuid4(), {0: batch(b"a")}), FIRST_WITH_IDS)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID


async def test_no_answer_to_acks_0(client, topic: str) -> None:
    await client.send(produce(topic, {0: batch(b"a")}, acks=0), 9)
    client._asked.clear()
    client._correlation_id = 0
    (answer,) = await outcomes(client, produce(topic, {0: batch(b"b")}))
    assert answer.base_offset == 1


@pytest.mark.parametrize(
    "request_", [produce("words", {0: b"garbage"}, 0), produce("nowhere", {0: batch(b"a")}, 0)]
)
async def test_acks_0_with_an_error_closes_the_connection(
    client, topic: str, request_: ProduceRequest
) -> None:
    await client.send(request_, 9)
    assert await client.is_closed()


@pytest.mark.parametrize("acks", [2, -2, 32767])
async def test_unknown_acks_are_refused_for_every_partition(client, topic: str, acks: int) -> None:
    request = produce(topic, {0: batch(b"a"), 1: batch(b"a")}, acks)
    for answer in await outcomes(client, request):
        assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
        assert answer.base_offset == -1
    (answer,) = await outcomes(client, produce(topic, {0: batch(b"a")}))
    assert answer.base_offset == 0


def corrupted() -> bytes:
    data = bytearray(batch(b"value"))
    data[-1] ^= 1
    return bytes(data)


@pytest.mark.parametrize(
    ("records", "error", "with_log_start"),
    [
        (None, ErrorCode.INVALID_RECORD, False),
        (b"", ErrorCode.INVALID_RECORD, False),
        (batch(b"a") + batch(b"b"), ErrorCode.INVALID_RECORD, False),
        (batch(b"a")[:-1], ErrorCode.INVALID_RECORD, False),
        (batch(b"a")[:16] + b"\1" + batch(b"a")[17:], ErrorCode.INVALID_RECORD, False),
        (corrupted(), ErrorCode.CORRUPT_MESSAGE, False),
        (batch(bytes(1_048_589)), ErrorCode.MESSAGE_TOO_LARGE, False),
        (batch(b"a", is_control=True), ErrorCode.INVALID_RECORD, True),
    ],
    ids=["null", "empty", "two", "half", "magic 1", "corrupt", "too large", "control"],
)
async def test_a_bad_batch_fails_alone(
    client, topic: str, records: bytes | None, error: ErrorCode, with_log_start: bool
) -> None:
    bad, good = await outcomes(client, produce(topic, {0: records, 1: batch(b"good")}))
    assert (bad.error_code, bad.base_offset) == (error, -1)
    assert bad.log_start_offset == (0 if with_log_start else -1)
    assert (good.error_code, good.base_offset) == (ErrorCode.NONE, 0)


async def test_what_cannot_be_read_at_all_takes_the_others_with_it(client, topic: str) -> None:
    """Apache Kafka comes upon it before it looks at any partition."""
    unreadable = batch(b"a")[:16] + b"\3" + batch(b"a")[17:]
    for answer in await outcomes(client, produce(topic, {0: batch(b"good"), 1: unreadable})):
        assert (answer.error_code, answer.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
        assert answer.error_message == "Invalid magic found in record: 3"


async def test_a_codec_that_there_is_none_of_takes_the_others_with_it(client, topic: str) -> None:
    """Before version 7, where Apache Kafka looks at the codec first, and has no error for it."""
    good, odd = batch(b"good"), batch(b"a")
    odd = odd[:22] + b"\7" + odd[23:]
    for answer in await outcomes(client, produce(topic, {0: good, 1: odd}), 6):
        assert (answer.error_code, answer.base_offset) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1)
    first, _ = await outcomes(client, produce(topic, {0: good, 5: odd}), 6)
    assert first.error_code == ErrorCode.NONE, "there is no such partition"


async def test_zstd_needs_version_7(client, topic: str) -> None:
    from kafkalite.wire.compression import Compression

    records = batch(b"a", compression=Compression.ZSTD)
    (old,) = await outcomes(client, produce(topic, {0: records}), 6)
    (new,) = await outcomes(client, produce(topic, {0: records}), 7)
    assert old.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert new.error_code == ErrorCode.NONE


async def test_unknown_topics_and_partitions(client, topic: str) -> None:
    answers = await outcomes(client, produce(topic, {2: batch(b"a"), -1: batch(b"a")}))
    assert {answer.error_code for answer in answers} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    (answer,) = await outcomes(client, produce("nowhere", {0: batch(b"a")}))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.log_start_offset == -1


async def test_of_a_partition_named_twice_the_last_batch_counts(client, topic: str) -> None:
    request = produce(topic, {0: batch(b"a", b"b"), 1: batch(b"c")})
    again = produce(topic, {0: batch(b"d")}).topic_data
    request.topic_data[0].partition_data += again[0].partition_data
    answers = await outcomes(client, request)
    assert [(each.index, each.error_code, each.base_offset) for each in answers] == [
        (0, 0, 0),
        (1, 0, 0),
    ]
    request = produce(topic, {0: batch(b"e", b"f"), 1: batch(b"g")})
    request.topic_data += again
    answers = await outcomes(client, request)
    assert [(each.index, each.base_offset) for each in answers] == [(0, 1), (1, 1)]
    (answer,) = await outcomes(client, produce(topic, {0: batch(b"h")}))
    assert answer.base_offset == 2


async def test_a_batch_that_does_not_count_has_no_producer(client, topic: str) -> None:
    """The others have one producer, as all of a transaction must."""
    writer = Transactional(client)
    await writer.find_coordinators()
    assert await writer.init() is ErrorCode.NONE
    ours, others = (
        batch(b"a", producer_id=each, producer_epoch=0, base_sequence=0, is_transactional=True)
        for each in (writer.producer_id, writer.producer_id + 1)
    )
    for of_others in ({0: others}, {1: others * 2}):
        request = produce(topic, of_others)
        request.transactional_id = writer.id
        request.topic_data += produce(topic, {0: ours}).topic_data
        codes = {each.index: each.error_code for each in await outcomes(client, request)}
        assert codes == dict.fromkeys(of_others, ErrorCode.INVALID_RECORD) | {0: ErrorCode.NONE}


async def test_internal_topics_are_not_for_clients(clients, broker: test_broker) -> None:
    broker.create_topic("__consumer_offsets", partitions=1)
    client = await clients.connect()
    (answer,) = await outcomes(client, produce("__consumer_offsets", {0: batch(b"a")}))
    assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    admin = await clients.connect(client_id="__admin_client")
    keyed = build_batch([Record(timestamp=1, key=b"k", value=b"v")])
    (answer,) = await outcomes(admin, produce("__consumer_offsets", {0: keyed}))
    assert answer.error_code == ErrorCode.NONE


async def test_a_retry_is_answered_with_the_first_offset(client, topic: str) -> None:
    async def send(sequence: int) -> tuple[int, int]:
        data = batch(b"a", b"b", producer_id=7, producer_epoch=0, base_sequence=sequence)
        (answer,) = await outcomes(client, produce(topic, {0: data}))
        return answer.error_code, answer.base_offset

    assert await send(0) == (ErrorCode.NONE, 0)
    assert await send(2) == (ErrorCode.NONE, 2)
    assert await send(0) == (ErrorCode.NONE, 0)
    assert await send(6) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert await send(4) == (ErrorCode.NONE, 4)


async def test_a_pipelined_burst_keeps_its_order(client, topic: str) -> None:
    requests = [produce(topic, {0: batch(b"%d" % number)}) for number in range(300)]
    async with trio.open_nursery() as nursery:

        async def send() -> None:
            for request in requests:
                await client.send(request, 12)

        nursery.start_soon(send)
        await trio.testing.wait_all_tasks_blocked()
    offsets = [
        (await client.answer()).responses[0].partition_responses[0].base_offset for _ in requests
    ]
    assert offsets == list(range(300))


async def test_another_node_leads() -> None:
    async with test_broker(nodes=3) as running:
        running.create_topic("spread", partitions=3)
        from kafkalite.wire.codec import decode_response, encode_request

        errors: list[int] = []
        ports = [int(each.rpartition(":")[2]) for each in running.bootstrap.split(",")]
        for port in ports:
            stream = await trio.open_tcp_stream("127.0.0.1", port)
            request = produce("spread", {index: batch(b"a") for index in range(3)})
            await stream.send_all(b"".join(map(bytes, encode_request(0, 12, 1, "c", request))))
            data = b""
            while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
                data += await stream.receive_some()
            _, response = decode_response(0, 12, data[4:])
            for answer in response.responses[0].partition_responses:
                if answer.error_code:
                    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
                    leader = answer.current_leader.leader_id
                    errors.append(leader)
                    (endpoint,) = [e for e in response.node_endpoints if e.node_id == leader]
                    assert endpoint.port == ports[leader - 1]
            await stream.aclose()
        assert sorted(errors) == [1, 1, 2, 2, 3, 3]


async def test_a_connection_that_asks_little_is_served_beside_a_busy_one(
    clients, topic: str
) -> None:
    busy, quiet = await clients.connect(), await clients.connect()
    for _ in range(50):
        await busy.send(produce(topic, {0: batch(bytes(10_000))}), 12)
    good = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    assert await quiet.ask(good)
    for _ in range(50):
        assert (await busy.answer()).responses[0].partition_responses[0].error_code == 0


# Batches whose check takes long


@pytest.mark.parametrize("codec", [each for each in Compression if each])
async def test_a_batch_that_unfolds_to_much_holds_nobody(
    client, connect, broker: test_broker, topic: str, codec: Compression
) -> None:
    """50 MB of zeros are compressed to 1.6 kB by zstd. `loop_is_not_held` measures."""
    large, small = batch(bytes(50_000_000), compression=codec), batch(b"a")
    broker.create_topic("large", partitions=2, configs={"max.message.bytes": "10000000"})
    answers = await outcomes(client, produce("large", {0: small, 1: large}))
    assert [(a.index, a.error_code, a.base_offset) for a in answers] == [(0, 0, 0), (1, 0, 0)]
    # A batch that is refused takes no less.
    broken = batch(bytes(50_000_000), compression=codec, base_offset=1)
    answers = await outcomes(client, produce("large", {0: broken, 1: small}))
    assert [a.error_code for a in answers] == [ErrorCode.INVALID_RECORD, 0]


async def test_many_batches_that_unfold_to_something_hold_nobody(
    client, broker: test_broker
) -> None:
    # To unfold digits takes longer than to unfold zeros.
    digits = Random(1).randbytes(500_000).hex().encode()
    some = batch(digits, compression=Compression.GZIP)
    broker.create_topic("words", partitions=30)
    answers = await outcomes(client, produce("words", dict.fromkeys(range(30), some)))
    assert [(a.index, a.error_code, a.base_offset) for a in answers] == [
        (index, 0, 0) for index in range(30)
    ]


async def test_batches_of_many_topics_that_unfold_hold_nobody(client, broker: test_broker) -> None:
    some = batch(bytes(1_000_000), compression=Compression.GZIP)
    names = [f"words-{number}" for number in range(60)]
    for name in names:
        broker.create_topic(name)
    data = [PartitionProduceData(index=0, records=some)]
    topics = [TopicProduceData(name=name, partition_data=data) for name in names]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics)
    response = await client.ask(request, 12)
    assert [each.partition_responses[0].error_code for each in response.responses] == [0] * 60


async def test_many_records_hold_nobody(client, broker: test_broker) -> None:
    broker.create_topic("words", configs={"max.message.bytes": "10000000"})
    answers = await outcomes(client, produce("words", {0: batch(*[b"a"] * 100_000)}))
    assert (answers[0].error_code, answers[0].base_offset) == (0, 0)
    wrong = batch(*[b"a"] * 100_000, base_offset=1)
    (answer,) = await outcomes(client, produce("words", {0: wrong}))
    assert answer.error_code == ErrorCode.INVALID_RECORD


async def test_large_batches_are_written_in_pieces_while_others_append(
    clients, broker: test_broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def pwrite(descriptor: int, data: bytes, position: int) -> int:
        written.append(len(data))
        return os.pwrite(descriptor, data, position)

    monkeypatch.setattr(Files, "pwrite", staticmethod(pwrite))
    broker.create_topic("large", configs={"max.message.bytes": str(1 << 30)})
    producer = {"producer_id": 7, "producer_epoch": 0}
    pieces = [bytes([fill]) * (4 * PIECE_BYTES) for fill in b"ab"]
    others: list[int] = []

    async def produce_small() -> None:
        for _ in range(20):
            (answer,) = await outcomes(other, produce("large", {0: batch(b"small")}))
            others.append(answer.base_offset)

    client, other = await clients.connect(), await clients.connect()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(produce_small)
        # The last is sent again: it is written, found to be there, and cut off.
        for number, value in enumerate([*pieces, pieces[-1]]):
            sequence = min(number, 1)
            large = batch(value, base_sequence=sequence, **producer)
            (answer,) = await outcomes(client, produce("large", {0: large}))
            assert answer.error_code == 0
    assert max(written) <= PIECE_BYTES
    log = broker._partition("large", 0).log
    assert log.segments.active.file.path.stat().st_size == log.size_bytes
    values = [record.value for record in read_all(log)]
    assert [value for value in values if len(value) > 5] == pieces
    assert sorted(others) == others
    assert [values[offset] for offset in others] == [b"small"] * 20
