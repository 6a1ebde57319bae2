"""Denied elements among those that the handler refuses, which Kafka's builders merge."""

from __future__ import annotations

from typing import Any

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.places import Place
from kafkalite.security.authorization.rules import Each, named, need
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequestPartition as DeletedPartition
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequestTopic as DeletedTopic
from kafkalite.wire.messages.offset_delete import OffsetDeleteResponsePartition as PartitionAnswer
from kafkalite.wire.messages.offset_delete import OffsetDeleteResponseTopic as TopicAnswer
from tests.kafkalite.security.authorizers import acl, asked


def test_what_is_named_twice_is_answered_once_if_any_is_refused() -> None:
    """With all partitions that were asked for; the refused topics come first."""
    rule = Each(need(Operation.READ, ResourceType.TOPIC), named("name"), Place.AMONG_REFUSED)

    def topic(class_: Any, inner: Any, name: str, index: int) -> Any:
        return class_(name=name, partitions=[inner(partition_index=index)])

    places = [("b", 0), ("a", 0), ("b", 1), ("a", 1), ("b", 0)]
    topics = [topic(DeletedTopic, DeletedPartition, *each) for each in places]
    request = OffsetDeleteRequest(group_id="g", topics=topics)
    granted = acl("b", Operation.READ)
    verdict = at_once(rule(asked(ApiKey.OFFSET_DELETE, request, granted, version=0)))
    answered = [topic(TopicAnswer, PartitionAnswer, *each) for each in places if each[0] == "b"]
    assert verdict.finish is not None
    finished = at_once(verdict.finish(OffsetDeleteResponse(topics=answered)))
    assert [
        (each.name, [(one.partition_index, one.error_code) for one in each.partitions])
        for each in finished.topics
    ] == [("a", [(0, 29), (1, 29)]), ("b", [(0, 0), (1, 0), (0, 0)])]


def test_a_topic_that_is_named_again_comes_where_a_partition_of_it_is_unknown() -> None:
    rule = Each(need(Operation.READ, ResourceType.TOPIC), named("name"), Place.AMONG_REFUSED)
    topics = [
        DeletedTopic(name=name, partitions=[DeletedPartition(partition_index=index)])
        for name, index in (("there", 0), ("denied", 0), ("there", 7), ("denied 2", 0))
    ]
    request = OffsetDeleteRequest(group_id="g", topics=topics)
    granted = acl("there", Operation.READ)
    verdict = at_once(rule(asked(ApiKey.OFFSET_DELETE, request, granted, version=0)))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    outcomes = [PartitionAnswer(7, unknown), PartitionAnswer(0)]
    response = OffsetDeleteResponse(topics=[TopicAnswer(name="there", partitions=outcomes)])
    assert verdict.finish is not None
    finished = at_once(verdict.finish(response))
    assert [each.name for each in finished.topics] == ["denied", "there", "denied 2"]


def test_the_denied_and_the_unknown_come_in_the_order_of_the_request() -> None:
    rule = Each(need(Operation.READ, ResourceType.TOPIC), named("name"), Place.AMONG_REFUSED)
    names = ["there", "missing", "denied", "half", "denied 2", "missing 2"]
    topics = [DeletedTopic(name=name, partitions=[]) for name in names]
    request = OffsetDeleteRequest(group_id="g", topics=topics)
    granted = [acl(name, Operation.READ) for name in ("there", "missing", "half", "missing 2")]
    verdict = at_once(rule(asked(ApiKey.OFFSET_DELETE, request, *granted, version=0)))
    unknown = PartitionAnswer(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    answered = [
        TopicAnswer(name="missing", partitions=[]),
        TopicAnswer(name="half", partitions=[unknown, PartitionAnswer()]),
        TopicAnswer(name="missing 2", partitions=[unknown]),
        TopicAnswer(name="there", partitions=[PartitionAnswer()]),
    ]
    assert verdict.finish is not None
    finished = at_once(verdict.finish(OffsetDeleteResponse(topics=answered)))
    assert [each.name for each in finished.topics] == [*names[1:], "there"]
