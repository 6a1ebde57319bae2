"""Configs that stand behind others are seen to count: defaults of topics, and limits of groups.

Each broker config here is set to another value than its default, and a client sees the difference.
The tables have all of them that are marked as enforced, so that a new one is missed here.
"""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.config import BROKER_CONFIGS, GROUP_CONFIGS, TOPIC_CONFIG_SYNONYMS, Support
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.kafkalite.apis.test_describe_configs import configs
from tests.kafkalite.config_requests import GROUP, SET, TOPIC, alter, resource

# Another value than the default of each broker config behind a topic config, and what topics show.
DEFAULTS_OF_TOPICS = {
    "compression.gzip.level": ("3", "3"),
    "compression.lz4.level": ("4", "4"),
    "compression.type": ("zstd", "zstd"),
    "compression.zstd.level": ("5", "5"),
    "log.cleaner.delete.retention.ms": ("1001", "1001"),
    "log.cleaner.max.compaction.lag.ms": ("1002", "1002"),
    "log.cleaner.min.cleanable.ratio": ("0.25", "0.25"),
    "log.cleaner.min.compaction.lag.ms": ("1000", "1000"),
    "log.cleanup.policy": ("compact", "compact"),
    "log.flush.interval.messages": ("1003", "1003"),
    "log.flush.interval.ms": ("1004", "1004"),
    "log.flush.scheduler.interval.ms": ("1005", "1005"),
    "log.index.interval.bytes": ("1006", "1006"),
    "log.index.size.max.bytes": ("1048576", "1048576"),
    "log.message.timestamp.after.max.ms": ("1007", "1007"),
    "log.message.timestamp.before.max.ms": ("1008", "1008"),
    "log.message.timestamp.type": ("LogAppendTime", "LogAppendTime"),
    "log.retention.bytes": ("1009", "1009"),
    "log.retention.hours": ("2", "7200000"),
    "log.retention.minutes": ("2", "120000"),
    "log.retention.ms": ("1010", "1010"),
    "log.roll.hours": ("3", "10800000"),
    "log.roll.jitter.hours": ("1", "3600000"),
    "log.roll.jitter.ms": ("1011", "1011"),
    "log.roll.ms": ("1012", "1012"),
    "log.segment.bytes": ("1048577", "1048577"),
    "log.segment.delete.delay.ms": ("1013", "1013"),
    "message.max.bytes": ("1014", "1014"),
    "min.insync.replicas": ("2", "2"),
    "unclean.leader.election.enable": ("true", "true"),
}
# The topic config, by the broker config behind it, and whether a stronger one stands before that.
BEHIND = {
    synonym: (topic_config, place)
    for topic_config, synonyms in TOPIC_CONFIG_SYNONYMS.items()
    for place, (synonym, _) in enumerate(synonyms)
}


def is_enforced(name: str) -> bool:
    return BROKER_CONFIGS[name].support is Support.ENFORCED


def test_all_defaults_of_topics_are_tried() -> None:
    assert DEFAULTS_OF_TOPICS.keys() == {name for name in BEHIND if is_enforced(name)}


@pytest.mark.parametrize("place", range(3))
async def test_a_topic_shows_the_default_that_the_broker_gives(connect: Any, place: int) -> None:
    """The strongest of the configs behind a topic config, then those that count without it."""
    tried = {name: each for name, each in DEFAULTS_OF_TOPICS.items() if BEHIND[name][1] == place}
    async with test_broker({name: value for name, (value, _) in tried.items()}) as broker:
        broker.create_topic("t", 1)
        found = await configs(await connect(broker), TOPIC, "t")
    shown = {name: found[BEHIND[name][0]].value for name in tried}
    assert shown == {name: value for name, (_, value) in tried.items()}
    assert all(value != BROKER_CONFIGS[name].default for name, (value, _) in tried.items())


def limits(side: str) -> dict[str, str]:
    """The group config that each of the brokers' limits is about."""
    found: dict[str, str] = {}
    for name in GROUP_CONFIGS:
        family, _, rest = name.partition(".")
        limit = f"group.{family}.{side}.{rest}".replace(".max.num.", ".max.")
        if limit in BROKER_CONFIGS and is_enforced(limit):
            found[limit] = name
    return found


def test_all_limits_of_groups_are_tried() -> None:
    tried = limits("min").keys() | limits("max").keys()
    named = {
        name
        for name in BROKER_CONFIGS
        if name.startswith(("group.consumer.m", "group.share.m", "group.streams.m"))
        and name.split(".")[2] in ("min", "max")
    }
    # Numbers of members and sessions, which no config of a group says.
    sizes = {f"group.{family}.max.size" for family in ("consumer", "share", "streams")}
    assert named - tried == sizes | {"group.share.max.share.sessions"}


@pytest.mark.parametrize(("side", "step"), [("min", -1), ("max", 1)])
async def test_a_group_s_config_is_held_by_the_broker_s_limit(
    connect: Any, side: str, step: int
) -> None:
    """The limits stand one beside the group's default here: further off than that is refused."""
    tried = limits(side)
    at_limit = {
        limit: int(GROUP_CONFIGS[name].default or "") + step for limit, name in tried.items()
    }
    async with test_broker({limit: str(value) for limit, value in at_limit.items()}) as broker:
        client = await connect(broker)
        for limit, name in tried.items():
            for value, expected in (
                (at_limit[limit], ErrorCode.NONE),
                (at_limit[limit] + step, ErrorCode.INVALID_CONFIG),
            ):
                change = resource(GROUP, "g", (name, SET, str(value)))
                ((code, words),) = await alter(client, change)
                assert code == expected, (name, value, words)
                assert (limit in (words or "")) == (expected is not ErrorCode.NONE)


INTERNAL_SEGMENTS = {
    "offsets.topic.segment.bytes": ("__consumer_offsets", 0, "g"),
    "transaction.state.log.segment.bytes": ("__transaction_state", 1, "x"),
    "share.coordinator.state.topic.segment.bytes": ("__share_group_state", 2, f"g:{'A' * 22}:0"),
}


async def test_internal_topics_have_segments_of_their_own_size(connect: Any) -> None:
    sizes = {name: 1048600 + place for place, name in enumerate(INTERNAL_SEGMENTS)}
    async with test_broker({name: str(size) for name, size in sizes.items()}) as broker:
        client = await connect(broker)
        for name, (topic, kind, key) in INTERNAL_SEGMENTS.items():
            await client.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))
            found = await configs(client, TOPIC, topic, "segment.bytes")
            assert found["segment.bytes"].value == str(sizes[name])


@pytest.mark.parametrize(("size", "expected"), [(3, 0), (4, ErrorCode.OFFSET_METADATA_TOO_LARGE)])
async def test_the_notes_beside_an_offset_are_limited(
    connect: Any, size: int, expected: int
) -> None:
    async with test_broker({"offset.metadata.max.bytes": "3"}) as broker:
        broker.create_topic("t", 1)
        client = await connect(broker)
        await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=1, committed_metadata="n" * size
        )
        request = OffsetCommitRequest(
            group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])]
        )
        answer = await client.ask(request, 8)
        assert answer.topics[0].partitions[0].error_code == expected


@pytest.mark.parametrize(
    ("timeout_ms", "expected"), [(2000, 0), (2001, ErrorCode.INVALID_TRANSACTION_TIMEOUT)]
)
async def test_transactions_may_not_take_longer(
    connect: Any, timeout_ms: int, expected: int
) -> None:
    async with test_broker({"transaction.max.timeout.ms": "2000"}) as broker:
        client = await connect(broker)
        await client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]))
        request = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=timeout_ms)
        assert (await client.ask(request)).error_code == expected
