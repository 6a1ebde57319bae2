"""A huge request, sound or broken, does not keep others waiting: nothing holds the loop for
long."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from uuid import UUID

import pytest
import trio

from kafkalite.apis import APIS
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.codec import encode_request
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.fields import unsigned_varint
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.kafkalite.conftest import Client
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.longest_turn import longest_turn
from tests.kafkalite.many_elements import (
    FREQUENT,
    PARTITIONS,
    TOPIC,
    Filling,
    lists,
    paths,
)
from tests.kafkalite.transactional import TOPIC as WORDS
from tests.kafkalite.transactional import Transactional

# Five times 20 ms, for a busy machine. In one piece, most requests take ten times as long as this.
MOST_SECONDS = 0.1
COUNT = 200_000
# In each list of a request. `make slow ELEMENTS=50000` finds what takes 2 microseconds each.
ELEMENTS = int(os.environ.get("KAFKALITE_ELEMENTS", "20000"))
FIND_COORDINATOR = struct.pack(">hhihh1s", 10, 0, 7, -1, 1, b"g")


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def metadata(count: int) -> bytes:
    """Metadata 4 for so many names that do not exist; nothing is to be created."""
    names = b"".join(struct.pack(">h", 6) + b"%06d" % number for number in range(count))
    return struct.pack(">hhihi", 3, 4, 7, -1, count) + names + b"\0"


def offset_fetch(count: int) -> bytes:
    """OffsetFetch 5 for so many partitions of one topic."""
    indexes = struct.pack(f">{count}i", *range(count))
    return (
        struct.pack(">hhih", 9, 5, 7, -1)
        + struct.pack(">h1sih1si", 1, b"g", 1, 1, b"t", count)
        + indexes
    )


def with_odd_text(frame: bytes) -> bytes:
    """A name that is no text is read all the same, by the slow way."""
    return frame.replace(b"000001", b"00\xff001")


def odd_delete_records(count: int) -> bytes:
    """DeleteRecords 0: what is odd comes before what is much."""
    partitions = b"".join(struct.pack(">iq", number, 0) for number in range(count))
    topics = struct.pack(">ih1si", 2, 1, b"\xff", 0) + struct.pack(">h1si", 1, b"t", count)
    return struct.pack(">hhih", 21, 0, 7, -1) + topics + partitions + struct.pack(">i", 1000)


def sync_group(size: int) -> bytes:
    """SyncGroup 0 with one assignment of so many bytes."""
    group = struct.pack(">h1sih1si", 1, b"g", 3, 1, b"m", 1)
    return (
        struct.pack(">hhih", 14, 0, 7, -1)
        + group
        + struct.pack(">h1si", 1, b"m", size)
        + bytes(size)
    )


def unknown_tags(count: int) -> bytes:
    """Heartbeat 4 with so many tagged fields that nobody knows, and as many in its header."""
    tags = unsigned_varint(count) + b"\x63\7unknown" * count
    return struct.pack(">hhih", 12, 4, 7, -1) + tags + b"\2g\0\0\0\3\2m\0" + tags


async def ask(b: test_broker, body: bytes) -> bytes:
    host, _, port = b.bootstrap.rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        await stream.send_all(framed(body))
        received = bytearray()
        while data := await stream.receive_some(1 << 20):
            received += data
            if len(received) >= 4 and len(received) >= 4 + int.from_bytes(received[:4], "big"):
                break
    return bytes(received)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "least_bytes"),
    [
        (lambda: metadata(COUNT), 10 * COUNT),
        (lambda: with_odd_text(metadata(COUNT)), 10 * COUNT),
        (lambda: offset_fetch(COUNT), 10 * COUNT),
        (lambda: odd_delete_records(COUNT), 10 * COUNT),
        (lambda: metadata(COUNT)[:-20], 0),
        (lambda: offset_fetch(COUNT)[:-20], 0),
        (lambda: metadata(500)[:-20], 0),  # one that is explained
        (lambda: sync_group(90_000_000)[:-20], 0),
        (lambda: unknown_tags(300_000), 10),
    ],
    ids=[
        *("metadata", "odd metadata", "offset fetch", "odd delete records"),
        *("broken", "broken offset fetch", "explained", "broken and large", "unknown tags"),
    ],
)
async def test_a_huge_request_does_not_hold_the_loop(
    make: Callable[[], bytes], least_bytes: int
) -> None:
    body = make()
    async with test_broker({}) as b:
        await ask(b, metadata(1))
        await ask(b, FIND_COORDINATOR)  # which makes one
        await ask(b, offset_fetch(1))
        with longest_turn() as longest:
            response = await ask(b, body)
    assert len(response) >= least_bytes
    assert (len(response) > 0) == (least_bytes > 0), "what is broken closes the connection"
    assert longest.seconds < MOST_SECONDS


async def check_each_list(
    key: ApiKey,
    version: int,
    count: int = ELEMENTS,
    config: Mapping[str, str] | None = None,
    *,
    with_new_ones: bool = True,
) -> None:
    """Ask with very many elements in each of a request's lists, known ones and new ones."""
    async with test_broker(config or {}) as b:
        await b.asynchronous.create_topic(TOPIC, partitions=PARTITIONS)
        topic = b._running.services.topics.get(TOPIC)
        assert topic is not None
        for path in paths(request_class(key), version):
            for known in (True, False) if with_new_ones else (True,):
                small = Filling(version, 1, topic.topic_id, known=known).frame(key, path)
                large = Filling(version, count, topic.topic_id, known=known).frame(key, path)
                await ask(b, small)  # imports what is needed
                with longest_turn() as longest:
                    with trio.move_on_after(60):  # the answer of one that waits for others
                        await ask(b, large)
                assert longest.seconds < MOST_SECONDS, (path, known)


@pytest.mark.parametrize(
    "key",
    [FREQUENT[0], *(pytest.param(key, marks=pytest.mark.slow) for key in FREQUENT[1:])],
    ids=lambda key: key.name,
)
async def test_very_many_elements_of_a_frequent_request(key: ApiKey) -> None:
    await check_each_list(key, APIS[key].max_version)


@pytest.mark.slow
@pytest.mark.parametrize(("key", "version"), lists(), ids=str)
async def test_very_many_elements_of_any_request(key: ApiKey, version: int) -> None:
    await check_each_list(key, version)


@pytest.mark.slow
@pytest.mark.parametrize("key", [ApiKey.METADATA, ApiKey.DELETE_TOPICS, ApiKey.SYNC_GROUP])
async def test_very_long_texts_and_bytes(key: ApiKey) -> None:
    """Few elements, of which the response has the texts once more."""
    version = APIS[key].max_version
    (path, *_) = paths(request_class(key), version)
    topic_id = UUID(int=1)
    large = Filling(
        version, 1000, topic_id, known=False, text_bytes=32_000, blob_bytes=30_000
    ).frame(key, path)
    async with test_broker({}) as b:
        await ask(b, Filling(version, 1, topic_id, known=False).frame(key, path))
        with longest_turn() as longest:
            await ask(b, large)
    assert longest.seconds < MOST_SECONDS


def new_configs(count: int) -> bytes:
    """IncrementalAlterConfigs 1 of configs that a node keeps for plugins."""
    configs = [AlterableConfig(name=f"new{number}", value="x") for number in range(count)]
    node = AlterConfigsResource(resource_type=4, resource_name="1", configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[node])
    return join(encode_request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, 7, "many", request))[4:]


@pytest.mark.slow
@pytest.mark.parametrize("count", [5000, 100_000])
async def test_very_many_configs_of_one_resource(count: int) -> None:
    configs = new_configs(count)
    async with test_broker({}) as b:
        await ask(b, new_configs(1))
        with longest_turn() as longest:
            answer = await ask(b, configs)
        # They follow the length, two headers, the throttle time and the number of resources.
        code = int.from_bytes(answer[14:16], "big")
        kept = b._running.services.cluster.image.configs.get((4, "1"), {})
    assert longest.seconds < MOST_SECONDS
    is_allowed = count == 5000
    assert code == (ErrorCode.NONE if is_allowed else ErrorCode.POLICY_VIOLATION)
    assert len(kept) == (count if is_allowed else 1)


@pytest.mark.slow
async def test_very_many_topics_with_configs() -> None:
    configs = [
        CreatableTopicConfig(name=name, value=value)
        for name, value in (("retention.ms", "9000000"), ("segment.ms", "60000"))
    ]
    topics = [
        CreatableTopic(
            name=f"new-{number}", num_partitions=1, replication_factor=1, configs=configs
        )
        for number in range(2000)
    ]
    request = CreateTopicsRequest(topics=topics, timeout_ms=60_000)
    body = join(encode_request(ApiKey.CREATE_TOPICS, 7, 7, "many", request))[4:]
    async with test_broker({}) as b:
        await ask(b, metadata(1))
        with longest_turn() as longest:
            await ask(b, body)
        assert b._running.services.topics.get("new-1999") is not None
    assert longest.seconds < MOST_SECONDS


@pytest.mark.slow
async def test_very_many_topics_that_may_not_be_deleted() -> None:
    names = [f"name-{number}" for number in range(COUNT)]
    request = DeleteTopicsRequest(topic_names=names, timeout_ms=60_000)
    body = join(encode_request(ApiKey.DELETE_TOPICS, 5, 7, "many", request))[4:]
    async with test_broker({"delete.topic.enable": "false"}) as b:
        await ask(b, metadata(1))
        with longest_turn() as longest:
            assert len(await ask(b, body)) > 10 * COUNT
    assert longest.seconds < MOST_SECONDS


@pytest.mark.slow
async def test_a_huge_response_is_counted_in_slices() -> None:
    body = metadata(500_000)  # made here: it takes 100 ms
    async with test_broker({"kafkalite.metrics.port": 0}) as b:
        await ask(b, metadata(1))
        with longest_turn() as longest:
            await ask(b, body)
        assert longest.seconds < MOST_SECONDS
        metrics = b._running.metrics
        assert metrics is not None
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert metrics.requests._errors["Metadata"][unknown] == 500_001


@pytest.mark.slow
async def test_a_transaction_in_very_many_partitions_ends_in_slices() -> None:
    count = 300
    async with test_broker(FEW_PARTITIONS) as b:
        await b.asynchronous.create_topic(WORDS, partitions=count)
        host, _, port = b.bootstrap.rpartition(":")
        client = Client(await trio.open_tcp_stream(host, int(port)))
        writer = Transactional(client)
        await writer.find_coordinators()
        await writer.init()
        assert await writer.add(*range(count)) == ErrorCode.NONE
        topic = b._running.services.topics.get(WORDS)
        assert topic is not None
        with longest_turn() as longest:
            end = EndTxnRequest(
                transactional_id=writer.id,
                producer_id=writer.producer_id,
                producer_epoch=writer.epoch,
                committed=True,
            )
            assert (await client.ask(end, 4)).error_code == ErrorCode.NONE
            with trio.fail_after(60):
                while await writer.state() != "CompleteCommit":  # noqa: ASYNC110 - it is asked
                    await trio.sleep(0.05)
        assert [each.log.log_end_offset for each in topic.partitions] == [1] * count
        assert longest.seconds < MOST_SECONDS
        await client.stream.aclose()
