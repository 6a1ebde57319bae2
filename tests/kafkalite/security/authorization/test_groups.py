"""Rights to see groups, their offsets and transactions."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation, ResourceType
from kafkalite.security.authorization.groups import (
    describe_transactions,
    described_groups,
    find_coordinator,
    group_with_topics,
    offset_fetch,
    subscribing_heartbeat,
    sync_group,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import consumer_group_describe as consumer
from kafkalite.wire.messages import describe_groups as classic
from kafkalite.wire.messages import describe_transactions as transactions
from kafkalite.wire.messages import offset_fetch as offsets
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.sync_group import SyncGroupRequest
from tests.kafkalite.security.authorizers import acl, asked, on_cluster, on_group, on_transaction
from tests.kafkalite.security.secured import Users, allow, grant

GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DESCRIBE = Operation.DESCRIBE
GROUP, TRANSACTION = 0, 1


async def commit(users: Users) -> None:
    """Let there be the group `g`."""
    root = await users.user("root")
    await root.ask(FindCoordinatorRequest(key_type=GROUP, coordinator_keys=["g"]))
    partitions = [OffsetCommitRequestPartition(partition_index=0)]
    request = OffsetCommitRequest(
        group_id="g", topics=[OffsetCommitRequestTopic(name="secret", partitions=partitions)]
    )
    (topic,) = (await root.ask(request, 9)).topics
    assert topic.partitions[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("kind", "name"), [(ResourceType.GROUP, "g"), (ResourceType.CLUSTER, "kafka-cluster")]
)
async def test_groups_are_left_out_of_lists_in_silence(
    users: Users, kind: ResourceType, name: str
) -> None:
    await commit(users)
    alice = await users.user("alice")
    answer = await alice.ask(ListGroupsRequest())
    assert (answer.error_code, answer.groups) == (0, [])
    await grant(users, allow(DESCRIBE, kind, name))
    assert [each.group_id for each in (await alice.ask(ListGroupsRequest())).groups] == ["g"]


@pytest.mark.parametrize(
    ("key_type", "entry", "error"),
    [
        (GROUP, on_group("g", DESCRIBE), GROUP_DENIED),
        (
            TRANSACTION,
            on_transaction("g", DESCRIBE),
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
    ],
)
def test_a_coordinator_is_found_by_those_who_may_describe(
    key_type: int, entry: Acl, error: ErrorCode
) -> None:
    one = FindCoordinatorRequest(key="g", key_type=key_type)
    verdict = at_once(find_coordinator(asked(ApiKey.FIND_COORDINATOR, one, version=3)))
    assert (verdict.response.error_code, verdict.response.node_id) == (error, -1)
    assert not at_once(
        find_coordinator(asked(ApiKey.FIND_COORDINATOR, one, entry, version=3))
    ).is_final
    many = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x", "g"])
    verdict = at_once(find_coordinator(asked(ApiKey.FIND_COORDINATOR, many, entry, version=4)))
    assert verdict.request.coordinator_keys == ["g"]
    assert verdict.finish is not None
    (denied,) = at_once(verdict.finish(FindCoordinatorResponse())).coordinators
    assert (denied.key, denied.error_code, denied.error_message) == ("x", error, "")


def test_coordinators_of_share_state_are_for_brokers() -> None:
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=["g:id:0"])
    verdict = at_once(find_coordinator(asked(ApiKey.FIND_COORDINATOR, request, version=6)))
    assert verdict.is_final
    (denied,) = verdict.response.coordinators
    assert denied.error_message == "Cluster authorization failed."
    broker = on_cluster(Operation.CLUSTER_ACTION)
    assert not at_once(
        find_coordinator(asked(ApiKey.FIND_COORDINATOR, request, broker, version=6))
    ).is_final
    request.key_type = 3
    assert not at_once(
        find_coordinator(asked(ApiKey.FIND_COORDINATOR, request, version=6))
    ).is_final
    request.key_type = 2
    # Versions that do not know the type are refused by the handler, in its own words.
    assert not at_once(
        find_coordinator(asked(ApiKey.FIND_COORDINATOR, request, version=5))
    ).is_final


def test_an_inconsistent_sync_is_refused_by_the_handler() -> None:
    request = SyncGroupRequest(group_id="g", protocol_type=None, protocol_name="range")
    assert not at_once(sync_group(asked(ApiKey.SYNC_GROUP, request, version=5))).is_final
    assert at_once(sync_group(asked(ApiKey.SYNC_GROUP, request, version=4))).is_final
    request.protocol_type = "consumer"
    assert at_once(sync_group(asked(ApiKey.SYNC_GROUP, request, version=5))).is_final


def asked_offsets(*acls: Acl, topics: list[str] | None, version: int = 9) -> Any:
    if version < 8:
        named = None
        if topics is not None:
            named = [offsets.OffsetFetchRequestTopic(name, [0]) for name in topics]
        request = offsets.OffsetFetchRequest(group_id="g", topics=named)
    else:
        of_g = None
        if topics is not None:
            of_g = [
                offsets.OffsetFetchRequestTopics(name=name, partition_indexes=[0])
                for name in topics
            ]
        groups = [
            offsets.OffsetFetchRequestGroup(group_id="x", topics=[]),
            offsets.OffsetFetchRequestGroup(group_id="g", topics=of_g),
        ]
        request = offsets.OffsetFetchRequest(groups=groups)
    return at_once(offset_fetch(asked(ApiKey.OFFSET_FETCH, request, *acls, version=version)))


def told_offsets(*names: str, error_code: int = 0) -> offsets.OffsetFetchResponse:
    partitions = [offsets.OffsetFetchResponsePartitions(partition_index=0, committed_offset=7)]
    topics = [offsets.OffsetFetchResponseTopics(name=name, partitions=partitions) for name in names]
    group = offsets.OffsetFetchResponseGroup(group_id="g", topics=topics, error_code=error_code)
    return offsets.OffsetFetchResponse(groups=[group])


def test_offsets_are_told_group_by_group_and_topic_by_topic() -> None:
    verdict = asked_offsets(on_group("g", DESCRIBE), acl("a", DESCRIBE), topics=["b", "a"])
    (kept,) = verdict.request.groups
    assert [each.name for each in kept.topics] == ["a"]
    refused, told = at_once(verdict.finish(told_offsets("a"))).groups
    assert (refused.group_id, refused.error_code) == ("x", GROUP_DENIED)
    seen = [
        (topic.name, topic.partitions[0].committed_offset, topic.partitions[0].error_code)
        for topic in told.topics
    ]
    assert seen == [("a", 7, 0), ("b", -1, TOPIC_DENIED)]


def test_of_all_offsets_those_are_told_whose_topic_may_be_described() -> None:
    verdict = asked_offsets(on_group("g", DESCRIBE), acl("a", DESCRIBE), topics=None)
    _, told = at_once(verdict.finish(told_offsets("a", "b"))).groups
    assert [each.name for each in told.topics] == ["a"]


def test_a_group_that_is_refused_for_another_reason_has_no_topics() -> None:
    verdict = asked_offsets(on_group("g", DESCRIBE), topics=["b"])
    _, told = at_once(verdict.finish(told_offsets(error_code=ErrorCode.STALE_MEMBER_EPOCH))).groups
    assert (told.error_code, told.topics) == (ErrorCode.STALE_MEMBER_EPOCH, [])


def test_offsets_in_older_versions() -> None:
    refused = asked_offsets(acl("a", DESCRIBE), topics=["a"], version=7)
    assert (refused.is_final, refused.response.error_code) == (True, GROUP_DENIED)
    verdict = asked_offsets(
        on_group("g", DESCRIBE), acl("a", DESCRIBE), topics=["b", "a"], version=7
    )
    response = offsets.OffsetFetchResponse(
        topics=[offsets.OffsetFetchResponseTopic(name="a", partitions=[])]
    )
    assert [each.name for each in at_once(verdict.finish(response)).topics] == ["a", "b"]


def test_operations_are_told_with_groups_when_asked_for() -> None:
    request = classic.DescribeGroupsRequest(groups=["x", "g"], include_authorized_operations=True)
    verdict = at_once(
        described_groups(asked(ApiKey.DESCRIBE_GROUPS, request, on_group("g", DESCRIBE), version=5))
    )
    assert verdict.request.groups == ["g"]
    assert verdict.finish is not None
    response = classic.DescribeGroupsResponse(groups=[classic.DescribedGroup(group_id="g")])
    refused, told = at_once(verdict.finish(response)).groups
    assert (refused.group_id, refused.error_code) == ("x", GROUP_DENIED)
    assert (told.group_id, told.authorized_operations) == ("g", 1 << DESCRIBE)


def consumer_group(*topics: str) -> consumer.ConsumerGroupDescribeResponse:
    partitions = [consumer.TopicPartitions(topic_name=name) for name in topics]
    assignment = consumer.Assignment(topic_partitions=partitions)
    member = consumer.Member(assignment=assignment, target_assignment=consumer.Assignment())
    group = consumer.DescribedGroup(group_id="g", members=[member])
    return consumer.ConsumerGroupDescribeResponse(groups=[group])


def test_a_group_with_a_secret_topic_is_hidden() -> None:
    request = consumer.ConsumerGroupDescribeRequest(group_ids=["g"])
    verdict = at_once(
        group_with_topics("it is hidden")(
            asked(
                ApiKey.CONSUMER_GROUP_DESCRIBE,
                request,
                on_group("g", DESCRIBE),
                acl("a", DESCRIBE),
                version=1,
            )
        )
    )
    assert verdict.finish is not None
    (seen,) = at_once(verdict.finish(consumer_group("a"))).groups
    assert (seen.error_code, len(seen.members)) == (0, 1)
    (hidden,) = at_once(verdict.finish(consumer_group("a", "b"))).groups
    assert (hidden.error_code, hidden.error_message) == (TOPIC_DENIED, "it is hidden")
    assert (hidden.group_id, hidden.members) == ("g", [])


@pytest.mark.parametrize(
    ("acls", "error"),
    [
        ([], GROUP_DENIED),
        ([acl("a", DESCRIBE), acl("b", DESCRIBE)], GROUP_DENIED),
        ([on_group("g")], TOPIC_DENIED),
        ([on_group("g"), acl("a", DESCRIBE)], TOPIC_DENIED),
        ([on_group("g"), acl("a", DESCRIBE), acl("b", DESCRIBE)], None),
    ],
)
def test_subscribing_needs_the_group_and_every_topic(
    acls: list[Acl], error: ErrorCode | None
) -> None:
    request = ConsumerGroupHeartbeatRequest(group_id="g", subscribed_topic_names=["a", "b"])
    verdict = at_once(
        subscribing_heartbeat(asked(ApiKey.CONSUMER_GROUP_HEARTBEAT, request, *acls, version=1))
    )
    assert (verdict.response.error_code if verdict.is_final else None) == error


@pytest.mark.parametrize(
    ("member_id", "error"), [("", None), ("m" * 37, None), ("m" * 36, TOPIC_DENIED)]
)
def test_a_share_group_s_member_that_cannot_be_is_refused_for_that(
    member_id: str, error: ErrorCode | None
) -> None:
    request = ShareGroupHeartbeatRequest("g", member_id, subscribed_topic_names=["secret"])
    question = asked(ApiKey.SHARE_GROUP_HEARTBEAT, request, on_group("g"), version=1)
    verdict = at_once(subscribing_heartbeat(question))
    assert (verdict.response.error_code if verdict.is_final else None) == error


def test_a_transaction_s_secret_topics_are_left_out() -> None:
    request = transactions.DescribeTransactionsRequest(transactional_ids=["x", "t"])
    verdict = at_once(
        describe_transactions(
            asked(
                ApiKey.DESCRIBE_TRANSACTIONS,
                request,
                on_transaction("t", DESCRIBE),
                acl("a", DESCRIBE),
                version=0,
            )
        )
    )
    assert verdict.request.transactional_ids == ["t"]
    assert verdict.finish is not None
    topics = [transactions.TopicData(topic=name) for name in ("a", "b")]
    state = transactions.TransactionState(transactional_id="t", topics=topics)
    response = transactions.DescribeTransactionsResponse(transaction_states=[state])
    refused, told = at_once(verdict.finish(response)).transaction_states
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert [each.topic for each in told.topics] == ["a"]
