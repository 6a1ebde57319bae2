"""A request names topics, partitions, groups, members, transactional ids and producers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.requests.names import names_in, partition_number, records_in, topic_of
from kafkalite.wire.messages import create_topics, delete_groups, metadata
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch

ORDERS = UUID(int=7)


def test_all_kinds_of_requests_name_something() -> None:
    transaction = AddPartitionsToTxnTransaction(
        transactional_id="t",
        producer_id=9,
        topics=[AddPartitionsToTxnTopic(name="orders", partitions=[1, 2])],
    )
    names = names_in(AddPartitionsToTxnRequest(transactions=[transaction]), 5)
    assert names.places == [("orders", 1), ("orders", 2)]
    assert (names.transactional_ids, names.producers) == ({"t"}, {9})
    assert names_in(delete_groups.DeleteGroupsRequest(groups_names=["a", "b"]), 2).groups == {
        "a",
        "b",
    }
    key = FindCoordinatorRequest(key="g", coordinator_keys=[])
    assert names_in(key, 3).groups == {"g"}
    keys = FindCoordinatorRequest(key_type=1, coordinator_keys=["t"])
    assert names_in(keys, 5).transactional_ids == {"t"}
    topic = create_topics.CreatableTopic(
        name="new",
        num_partitions=1,
        configs=[create_topics.CreatableTopicConfig(name="retention.ms", value="1")],
    )
    assert names_in(create_topics.CreateTopicsRequest(topics=[topic]), 7).places == [("new", None)]
    assert names_in(metadata.MetadataRequest(topics=None), 12).places == []


def produce(*partitions: PartitionProduceData, name: str = "orders") -> ProduceRequest:
    return ProduceRequest(topic_data=[TopicProduceData(name=name, partition_data=[*partitions])])


def test_a_batch_names_its_producer() -> None:
    batch = build_batch([Record(timestamp=1, value=b"v")], producer_id=4711)
    request = produce(
        PartitionProduceData(index=0, records=batch),
        PartitionProduceData(index=1, records=b"torn"),
        PartitionProduceData(index=2, records=None),
    )
    names = names_in(request, 12)
    assert names.places == [("orders", 0), ("orders", 1), ("orders", 2)]
    assert names.producers == {4711}
    assert list(records_in(request)) == [(("orders", 0), batch), (("orders", 1), b"torn")]


def test_only_fields_of_the_version_name_something() -> None:
    request = JoinGroupRequest(group_id="g", member_id="m", group_instance_id="i")
    assert names_in(request, 5).instances == {"i"}
    assert names_in(request, 4).instances == set()
    assert names_in(request, 4).groups == {"g"}
    assert names_in(request, 4).members == {"m"}


def test_subscriptions_and_resources_name_topics_as_a_whole() -> None:
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", instance_id="i", subscribed_topic_names=["a", "b"]
    )
    names = names_in(heartbeat, 1)
    assert names.places == [("a", None), ("b", None)]
    assert (names.groups, names.members, names.instances) == ({"g"}, {"m"}, {"i"})
    topic, broker = (
        DescribeConfigsResource(resource_type=kind, resource_name=name)
        for kind, name in ((2, "orders"), (4, "1"))
    )
    described = DescribeConfigsRequest(resources=[topic, broker])
    assert names_in(described, 4).places == [("orders", None)]


@pytest.mark.parametrize(
    ("topic", "named"),
    [
        (metadata.MetadataRequestTopic(name="orders"), "orders"),
        (metadata.MetadataRequestTopic(name=None, topic_id=ORDERS), ORDERS),
        (TopicProduceData(name="", topic_id=ORDERS), ORDERS),
        (AddPartitionsToTxnTopic(name="t"), "t"),
    ],
)
def test_a_topic_goes_by_its_id_where_it_has_one(topic: Any, named: str | UUID) -> None:
    assert topic_of(topic) == named


def test_a_partition_has_a_number_under_several_names() -> None:
    assert partition_number(2) == 2
    assert partition_number(PartitionProduceData(index=3)) == 3
    assert partition_number(metadata.MetadataResponsePartition(partition_index=4)) == 4
