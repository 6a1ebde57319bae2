"""ACLs over real connections: what a user without rights is told, API by API."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from kafkalite.security.acls import Operation, Permission, ResourceType
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import (
    consumer_group_heartbeat,
    create_topics,
    delete_topics,
    describe_cluster,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    produce,
)
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest
from tests.kafkalite.conftest import Client, batch
from tests.kafkalite.security.secured import WITH_ACLS, Users

TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def allow(operation: Operation, kind: ResourceType, name: str, **changes: Any) -> AclCreation:
    values: dict[str, Any] = {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": "User:alice",
        "host": "*",
        "operation": operation,
        "permission_type": Permission.ALLOW,
        **changes,
    }
    return AclCreation(**values)


@pytest.fixture
async def users() -> AsyncIterator[Users]:
    async with broker(WITH_ACLS) as running, Users(running) as users:
        running.create_topic("secret", partitions=1)
        yield users


async def grant(users: Users, *acls: AclCreation) -> None:
    root = await users.user("root")
    answer = await root.ask(CreateAclsRequest(creations=list(acls)))
    assert [each.error_code for each in answer.results] == [0] * len(acls)


def one_topic(name: str) -> metadata.MetadataRequest:
    topic = metadata.MetadataRequestTopic(name=name)
    return metadata.MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


async def test_metadata_does_not_say_whether_a_topic_exists(users: Users) -> None:
    alice = await users.user("alice")
    there = await alice.ask(one_topic("secret"))
    missing = await alice.ask(one_topic("missing"))
    for answer, name in ((there, "secret"), (missing, "missing")):
        (topic,) = answer.topics
        assert (topic.error_code, topic.name, topic.partitions) == (TOPIC_DENIED, name, [])
        assert topic.topic_id == UUID(int=0)
    everything = await alice.ask(metadata.MetadataRequest(topics=None))
    assert everything.topics == []


async def test_what_may_be_described_is(users: Users) -> None:
    await grant(users, allow(Operation.DESCRIBE, ResourceType.TOPIC, "secret"))
    alice = await users.user("alice")
    request = one_topic("secret")
    request.include_topic_authorized_operations = True
    (topic,) = (await alice.ask(request)).topics
    assert topic.error_code == ErrorCode.NONE
    assert topic.topic_authorized_operations == 1 << Operation.DESCRIBE
    assert [
        each.name for each in (await alice.ask(metadata.MetadataRequest(topics=None))).topics
    ] == ["secret"]


def produced(
    topic_id: UUID, name: str, version: int, value: bytes = b"v"
) -> produce.ProduceRequest:
    data = produce.TopicProduceData(
        partition_data=[produce.PartitionProduceData(index=0, records=batch(value))]
    )
    if version >= 13:
        data.topic_id = topic_id
    else:
        data.name = name
    return produce.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])


@pytest.mark.parametrize("version", [9, 13])
async def test_produce(users: Users, version: int) -> None:
    root = await users.user("root")
    topic_id = (await root.ask(one_topic("secret"))).topics[0].topic_id
    alice = await users.user("alice")
    request = produced(topic_id, "secret", version)
    (topic,) = (await alice.ask(request, version)).responses
    assert topic.partition_responses[0].error_code == TOPIC_DENIED
    assert topic.partition_responses[0].base_offset == -1
    await grant(users, allow(Operation.WRITE, ResourceType.TOPIC, "sec", resource_pattern_type=4))
    (topic,) = (await alice.ask(request, version)).responses
    assert (topic.partition_responses[0].error_code, topic.partition_responses[0].base_offset) == (
        0,
        0,
    )


@pytest.mark.parametrize("version", [12, 17])
async def test_fetch_asks_for_every_partition_of_a_session(users: Users, version: int) -> None:
    root = await users.user("root")
    topic_id = (await root.ask(one_topic("secret"))).topics[0].topic_id
    await root.ask(produced(topic_id, "secret", 13))
    alice = await users.user("alice")
    wanted = fetch.FetchTopic(
        partitions=[fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)]
    )
    if version >= 13:
        wanted.topic_id = topic_id
    else:
        wanted.topic = "secret"
    request = fetch.FetchRequest(session_epoch=0, max_bytes=1000, topics=[wanted])
    response = await alice.ask(request, version)
    assert response.responses[0].partitions[0].error_code == TOPIC_DENIED
    assert not response.responses[0].partitions[0].records
    await grant(users, allow(Operation.READ, ResourceType.TOPIC, "secret"))
    again = fetch.FetchRequest(session_id=response.session_id, session_epoch=1, max_bytes=1000)
    response = await alice.ask(again, version)
    assert response.responses[0].partitions[0].error_code == 0
    assert response.responses[0].partitions[0].records


def group_requests() -> list[tuple[Any, Any]]:
    offsets = offset_commit.OffsetCommitRequest(
        group_id="g",
        topics=[
            offset_commit.OffsetCommitRequestTopic(
                name="secret",
                partitions=[offset_commit.OffsetCommitRequestPartition(partition_index=0)],
            )
        ],
    )
    return [
        (heartbeat.HeartbeatRequest("g", 1, "m"), lambda answer: answer.error_code),
        (
            consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(group_id="g"),
            lambda answer: answer.error_code,
        ),
        (offsets, lambda answer: answer.topics[0].partitions[0].error_code),
        (
            find_coordinator.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]),
            lambda answer: answer.coordinators[0].error_code,
        ),
    ]


@pytest.mark.parametrize("which", range(4))
async def test_groups_are_refused(users: Users, which: int) -> None:
    request, code = group_requests()[which]
    version = 9 if isinstance(request, offset_commit.OffsetCommitRequest) else None
    alice = await users.user("alice")
    assert code(await alice.ask(request, version)) == ErrorCode.GROUP_AUTHORIZATION_FAILED


async def test_committing_needs_the_topic_too(users: Users) -> None:
    await grant(users, allow(Operation.READ, ResourceType.GROUP, "g"))
    alice = await users.user("alice")
    answer = await alice.ask(group_requests()[2][0], 9)
    assert answer.topics[0].partitions[0].error_code == TOPIC_DENIED


async def test_offsets_are_not_told(users: Users) -> None:
    alice = await users.user("alice")
    request = list_offsets.ListOffsetsRequest(
        replica_id=-1,
        topics=[
            list_offsets.ListOffsetsTopic(
                name=name,
                partitions=[list_offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)],
            )
            for name in ("secret", "missing")
        ],
    )
    answer = await alice.ask(request)
    assert [(each.name, each.partitions[0].error_code) for each in answer.topics] == [
        ("secret", TOPIC_DENIED),
        ("missing", TOPIC_DENIED),
    ]


async def test_groups_are_left_out_of_lists_in_silence(users: Users) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    await root.ask(group_requests()[3][0])
    committed = await root.ask(group_requests()[2][0], 9)
    assert committed.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert [each.group_id for each in (await root.ask(list_groups.ListGroupsRequest())).groups] == [
        "g"
    ]
    answer = await alice.ask(list_groups.ListGroupsRequest())
    assert (answer.error_code, answer.groups) == (0, [])
    await grant(users, allow(Operation.DESCRIBE, ResourceType.CLUSTER, "kafka-cluster"))
    assert [
        each.group_id for each in (await alice.ask(list_groups.ListGroupsRequest())).groups
    ] == ["g"]


async def test_creating_topics(users: Users) -> None:
    alice = await users.user("alice")
    request = create_topics.CreateTopicsRequest(
        topics=[
            create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in ("mine", "yours")
        ],
        timeout_ms=1000,
    )
    await grant(users, allow(Operation.CREATE, ResourceType.TOPIC, "mine"))
    mine, yours = (await alice.ask(request)).topics
    assert (mine.name, mine.error_code) == ("mine", ErrorCode.NONE)
    # Its configs are another matter.
    assert (mine.topic_config_error_code, mine.num_partitions) == (TOPIC_DENIED, -1)
    assert (yours.name, yours.error_code) == ("yours", TOPIC_DENIED)
    assert yours.error_message == "Authorization failed."


async def test_deleting_topics_does_not_say_which_exist(users: Users) -> None:
    alice = await users.user("alice")
    request = delete_topics.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(name=name) for name in ("secret", "missing")],
        timeout_ms=1000,
    )
    answer = await alice.ask(request)
    assert {each.name: each.error_code for each in answer.responses} == {
        "secret": TOPIC_DENIED,
        "missing": TOPIC_DENIED,
    }
    await grant(users, allow(Operation.DELETE, ResourceType.TOPIC, "*"))
    answer = await alice.ask(request)
    assert {each.name: each.error_code for each in answer.responses} == {
        "secret": ErrorCode.NONE,
        "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


async def test_idempotent_producers_write_somewhere(users: Users) -> None:
    alice = await users.user("alice")
    request = init_producer_id.InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=1000
    )
    assert (await alice.ask(request)).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    await grant(users, allow(Operation.WRITE, ResourceType.TOPIC, "anything"))
    assert (await alice.ask(request)).error_code == ErrorCode.NONE
    request.transactional_id = "t"
    answer = await alice.ask(request)
    assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


async def test_cluster_operations_are_told(users: Users) -> None:
    request = describe_cluster.DescribeClusterRequest(include_cluster_authorized_operations=True)
    root, alice = await users.user("root"), await users.user("alice")
    assert (await alice.ask(request)).cluster_authorized_operations == 0
    everything = (await root.ask(request)).cluster_authorized_operations
    assert everything == sum(1 << number for number in (5, 7, 8, 9, 10, 11, 12))


async def described(client: Client) -> Any:
    return await client.ask(
        DescribeAclsRequest(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
    )


async def test_acls_are_created_described_and_deleted(users: Users) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    await grant(users, allow(Operation.READ, ResourceType.TOPIC, "t"))
    await grant(users, allow(Operation.READ, ResourceType.TOPIC, "t"))  # twice is once
    (resource,) = (await described(root)).resources
    assert (resource.resource_name, len(resource.acls)) == ("t", 1)
    assert (await described(alice)).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    wrong = allow(Operation.ANY, ResourceType.TOPIC, "t")
    answer = await root.ask(CreateAclsRequest(creations=[wrong]))
    assert answer.results[0].error_code == -1  # as Kafka: a filter is no ACL
    gone = await root.ask(
        DeleteAclsRequest(
            filters=[
                DeleteAclsFilter(
                    resource_type_filter=2,
                    resource_name_filter="t",
                    pattern_type_filter=2,
                    principal_filter=None,
                    host_filter=None,
                    operation=1,
                    permission_type=1,
                )
            ]
        )
    )
    assert [each.principal for each in gone.filter_results[0].matching_acls] == ["User:alice"]
    assert (await described(root)).resources == []


async def test_acls_outlive_the_broker(tmp_path: Any) -> None:
    async with broker(WITH_ACLS, data_dir=tmp_path) as running, Users(running) as users:
        await grant(users, allow(Operation.READ, ResourceType.TOPIC, "t"))
    async with broker(WITH_ACLS, data_dir=tmp_path) as running, Users(running) as users:
        assert len((await described(await users.user("root"))).resources) == 1


async def test_without_an_authorizer_acls_are_disabled() -> None:
    async with broker() as running, Users(running) as users:
        client = await users.connect()
        assert (await described(client)).error_code == ErrorCode.SECURITY_DISABLED
        creation = allow(Operation.READ, ResourceType.TOPIC, "t")
        answer = await client.ask(CreateAclsRequest(creations=[creation]))
        assert answer.results[0].error_code == ErrorCode.SECURITY_DISABLED
        answer = await client.ask(DeleteAclsRequest(filters=[DeleteAclsFilter()]))
        assert answer.filter_results[0].error_code == ErrorCode.SECURITY_DISABLED
