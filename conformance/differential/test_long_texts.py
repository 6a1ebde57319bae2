"""A client's words come back in a message that is too long for a text: both refuse all of it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.test_alter_configs import BROKER, SET, TOPIC, altering, described
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

# A text has 32,767 bytes at most.
LONG = "x" * 32_760
RETENTION = "retention.ms"
MEMBER = "AAAAAAAAAAAAAAAAAAAABw"


def creating(name: str, config: str, value: str) -> CreateTopicsRequest:
    """A topic that is created, and one that is wrong."""
    sound = CreatableTopic(name=f"{name}-sound", num_partitions=1, replication_factor=1)
    wrong = CreatableTopic(
        name=name,
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=config, value=value)],
    )
    return CreateTopicsRequest(topics=[sound, wrong], timeout_ms=10_000)


def quota(kind: str, key: str) -> AlterClientQuotasRequest:
    entity = [EntityData(entity_type=kind, entity_name="u")]
    entry = EntryDataRequest(entity=entity, ops=[OpData(key=key, value=1.0)])
    return AlterClientQuotasRequest(entries=[entry])


def beat(**fields: Any) -> ConsumerGroupHeartbeatRequest:
    given = {
        "group_id": "long-texts",
        "member_id": MEMBER,
        "member_epoch": 0,
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": None,
        "topic_partitions": [],
        **dict.fromkeys(("instance_id", "rack_id", "server_assignor")),
    }
    return ConsumerGroupHeartbeatRequest(**(given | fields))


@pytest.mark.parametrize("version", [4, 7])
def test_a_topic_is_created_and_nothing_said(pair: Pair, topic: str, version: int) -> None:
    pair.ask(ApiKey.CREATE_TOPICS, version, creating(topic, RETENTION, LONG))
    pair.settle()
    named = [MetadataRequestTopic(name=name) for name in (topic, f"{topic}-sound")]
    pair.ask(ApiKey.METADATA, 12, MetadataRequest(topics=named, allow_auto_topic_creation=False))
    pair.ask(ApiKey.CREATE_TOPICS, version, creating(topic, LONG[:32_700], "1"))
    pair.ask(ApiKey.CREATE_TOPICS, version, creating(LONG, RETENTION, "1"))


@pytest.mark.parametrize(
    ("api", "version", "request_"),
    [
        (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altering(TOPIC, LONG, (RETENTION, SET, "1"))),
        (
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            0,
            altering(BROKER, "1", ("log.cleaner.threads", SET, LONG)),
        ),
        (ApiKey.DESCRIBE_CONFIGS, 4, described(TOPIC, LONG)),
        (ApiKey.DESCRIBE_CONFIGS, 1, described(BROKER, LONG)),
        (ApiKey.ALTER_CLIENT_QUOTAS, 0, quota("user", LONG)),
        (ApiKey.ALTER_CLIENT_QUOTAS, 1, quota(LONG, "producer_byte_rate")),
        *(
            (
                ApiKey.UPDATE_FEATURES,
                version,
                UpdateFeaturesRequest(
                    feature_updates=[
                        FeatureUpdateKey(feature=LONG, max_version_level=1, upgrade_type=1)
                    ],
                    timeout_ms=1000,
                ),
            )
            for version in (1, 2)
        ),
        (ApiKey.DESCRIBE_GROUPS, 6, DescribeGroupsRequest(groups=["other", LONG])),
        (ApiKey.CONSUMER_GROUP_DESCRIBE, 1, ConsumerGroupDescribeRequest(group_ids=[LONG])),
        (ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest(group_ids=[LONG])),
        (ApiKey.STREAMS_GROUP_DESCRIBE, 0, StreamsGroupDescribeRequest(group_ids=[LONG])),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, beat(group_id=LONG, member_epoch=5)),
        (
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            1,
            beat(subscribed_topic_names=["t"], server_assignor=LONG),
        ),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, beat(subscribed_topic_regex="(" + LONG)),
    ],
    ids=lambda value: value.name if isinstance(value, ApiKey) else None,
)
def test_the_refusal_is_refused(pair: Pair, api: ApiKey, version: int, request_: Any) -> None:
    pair.ask(api, version, request_)
