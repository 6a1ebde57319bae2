"""A verb may ask the broker as a client does, and its refusals are problems."""

from __future__ import annotations

import pytest

from kafkalite.control.operations.asking import ask, check, refused
from kafkalite.control.problems import Problem
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.kafkalite.fetching import batch


async def test_a_handler_answers_messages_whether_it_takes_rows_or_not(
    broker: test_broker,
) -> None:
    running = broker._running
    topic = CreatableTopic(name="t", num_partitions=2, replication_factor=1)
    created = await ask(
        running, ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=1000), 1
    )
    assert [(each.name, each.error_code) for each in created.topics] == [("t", 0)]
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    described = await ask(running, ApiKey.METADATA, 12, request, 1)
    assert [len(each.partitions) for each in described.topics] == [2]


async def test_a_node_answers_for_itself(three: test_broker) -> None:
    running = three._running
    three.create_topic("t", replication_factor=1)
    (partition,) = three.topic("t").partitions
    data = PartitionProduceData(index=0, records=batch(b"v"))
    request = ProduceRequest(
        acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])]
    )
    codes: dict[int, int] = {}
    for node in (1, 2, 3):
        answer = await ask(running, ApiKey.PRODUCE, 9, request, node)
        codes[node] = answer.responses[0].partition_responses[0].error_code
    leaders = [node for node, code in codes.items() if code == 0]
    assert leaders == [partition.leader]
    assert set(codes.values()) == {0, ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_an_error_is_a_problem_by_its_name() -> None:
    check(0, "nothing happens")
    with pytest.raises(Problem, match="group g is not deleted: NON_EMPTY_GROUP") as caught:
        check(ErrorCode.NON_EMPTY_GROUP, "group g is not deleted")
    assert (caught.value.code, caught.value.value) == ("refused", "NON_EMPTY_GROUP")
    there = refused(KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "it is there"), "t is not created")
    assert (there.code, there.detail) == ("exists", "t is not created: it is there")
