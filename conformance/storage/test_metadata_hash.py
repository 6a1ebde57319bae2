"""The hash of a group's topics in `__consumer_offsets`: of Apache Kafka's records and of ours. A
group goes from one broker to the other, is not assigned anew, and is in the same state."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.streams_requests import joining, stateless, topology
from conformance.harness.broker import Broker
from conformance.storage.clients import create, read
from conformance.storage.conftest import Start
from conformance.storage.test_opening import OTHER
from conformance.storage.test_share_state import PROPERTIES
from kafkalite.group_coordinator.metadata_hash import group_hash, topic_hash
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.stored import decode
from kafkalite.wire.messages.stored.consumer_group_metadata import ConsumerGroupMetadataValue
from kafkalite.wire.messages.stored.share_group_metadata import ShareGroupMetadataValue
from kafkalite.wire.messages.stored.streams_group_metadata import StreamsGroupMetadataValue
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

FEW, MANY = "few", "many"
COUNTS = {FEW: 3, MANY: 120}
SECONDS = 60.0
CONSUMER, SHARE, STREAMS = "consumers", "sharers", "streamers"
VALUES = {
    3: ConsumerGroupMetadataValue,
    11: ShareGroupMetadataValue,
    17: StreamsGroupMetadataValue,
}


def found(side: Side) -> None:
    """The coordinator of all is up."""
    for group in (CONSUMER, SHARE, STREAMS):
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        side.until(
            ApiKey.FIND_COORDINATOR, 6, find, lambda answer: answer.coordinators[0].error_code == 0
        )


def begin(side: Side) -> dict[str, int]:
    """A member in a group of each type; their epochs."""
    found(side)
    consumer = ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER,
        member_id="m",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[MANY, FEW],
        topic_partitions=[],
    )
    share = ShareGroupHeartbeatRequest(
        group_id=SHARE, member_id="m", subscribed_topic_names=[FEW, "missing"]
    )
    streams = joining(STREAMS, "m", topology(stateless(FEW)))
    asked = {
        CONSUMER: (ApiKey.CONSUMER_GROUP_HEARTBEAT, consumer),
        SHARE: (ApiKey.SHARE_GROUP_HEARTBEAT, share),
        STREAMS: (ApiKey.STREAMS_GROUP_HEARTBEAT, streams),
    }
    return {
        group: side.until_no_error(api, 0 if group == STREAMS else 1, request).member_epoch
        for group, (api, request) in asked.items()
    }


def beat(side: Side, epochs: dict[str, int]) -> dict[str, int]:
    """A heartbeat of each; the epochs then."""
    consumer = ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER, member_id="m", member_epoch=epochs[CONSUMER]
    )
    share = ShareGroupHeartbeatRequest(group_id=SHARE, member_id="m", member_epoch=epochs[SHARE])
    streams = StreamsGroupHeartbeatRequest(
        group_id=STREAMS, member_id="m", member_epoch=epochs[STREAMS]
    )
    return {
        CONSUMER: side.until_no_error(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, consumer).member_epoch,
        SHARE: side.until_no_error(ApiKey.SHARE_GROUP_HEARTBEAT, 1, share).member_epoch,
        STREAMS: side.until_no_error(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, streams).member_epoch,
    }


def settled(side: Side, epochs: dict[str, int]) -> dict[str, int]:
    """The epochs once nothing is left to assign: the share group has another when it has states."""
    deadline = time.monotonic() + SECONDS
    joined = epochs[SHARE]
    while epochs[SHARE] == joined:
        assert time.monotonic() < deadline
        epochs = beat(side, epochs)
    return epochs


def group_states(side: Side) -> list[tuple[int, str]]:
    """The epochs of the groups themselves, and their states."""
    asked: list[tuple[ApiKey, int, Any]] = [
        (ApiKey.CONSUMER_GROUP_DESCRIBE, 1, ConsumerGroupDescribeRequest(group_ids=[CONSUMER])),
        (ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest(group_ids=[SHARE])),
        (ApiKey.STREAMS_GROUP_DESCRIBE, 0, StreamsGroupDescribeRequest(group_ids=[STREAMS])),
    ]
    groups = [side.until_no_error(*each).groups[0] for each in asked]
    return [(group.group_epoch, group.group_state) for group in groups]


def stored_hashes(broker: Broker) -> dict[int, int]:
    """The last hash of each type of group."""
    hashes: dict[int, int] = {}
    for partition in range(4):
        for _, key, value, _ in read(broker.bootstrap, "__consumer_offsets", partition):
            assert key is not None
            kind = int.from_bytes(key[:2], "big")
            if kind in VALUES and value:
                hashes[kind] = decode(VALUES[kind], value).metadata_hash
    return hashes


@pytest.fixture
def closing() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.mark.parametrize(
    ("first", "rack"),
    [
        ("kafkalite", "rack-1"),
        pytest.param("kafka", "", marks=pytest.mark.long),
        pytest.param("kafka", "rack-1", marks=pytest.mark.long),
        pytest.param("kafkalite", "", marks=pytest.mark.long),
    ],
)
def test_both_write_the_same_hash(
    start: Start, closing: contextlib.ExitStack, first: str, rack: str
) -> None:
    properties = PROPERTIES | ({"broker_rack": rack} if rack else {})
    writer = start(first, None, **properties)
    for name, count in COUNTS.items():
        create(writer.bootstrap, name, count)
    side = closing.enter_context(contextlib.closing(Side(writer)))
    epochs = settled(side, begin(side))
    hashes = {
        name: topic_hash(side.topic_id(name), name, count, [[rack]] * count if rack else ())
        for name, count in COUNTS.items()
    }
    before = group_states(side)
    of_few, of_both = group_hash([hashes[FEW]]), group_hash([hashes[FEW], hashes[MANY]])
    assert stored_hashes(writer) == {3: of_both, 11: of_few, 17: of_few}
    writer.kill()

    other = start(OTHER[first], writer.data_dir, **properties)
    side = closing.enter_context(contextlib.closing(Side(other)))
    found(side)
    assert beat(side, epochs) == epochs
    assert group_states(side) == before
