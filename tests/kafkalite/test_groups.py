"""Groups over the wire: every version, several nodes, and what a restart keeps."""

from __future__ import annotations

import pytest

from kafkalite.cluster.internal_topics import OFFSETS_TOPIC
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


async def find(client, key="group", version=6, key_type=0):
    if version >= 4:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        return (await client.ask(request, version)).coordinators[0]
    return await client.ask(FindCoordinatorRequest(key=key, key_type=key_type), version)


async def join(client, version=9, member_id="", instance_id=None):
    request = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[
            JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")
        ],
    )
    response = await client.ask(request, version)
    if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        return await join(client, version, response.member_id)
    return response


def commit_request(topic_name, topic_id, offset, **fields):
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name=topic_name, topic_id=topic_id, partitions=[partition])
    return OffsetCommitRequest(group_id="group", topics=[topic], **fields)


async def fetch(client, topic_id, version=10):
    """The offset committed for the first partition of "words"."""
    if version < 8:
        topic = OffsetFetchRequestTopic(name="words", partition_indexes=[0])
        response = await client.ask(OffsetFetchRequest(group_id="group", topics=[topic]), version)
        return response.topics[0].partitions[0]
    topic = OffsetFetchRequestTopics(name="words", topic_id=topic_id, partition_indexes=[0])
    group = OffsetFetchRequestGroup(group_id="group", topics=[topic])
    response = await client.ask(OffsetFetchRequest(groups=[group]), version)
    return response.groups[0].topics[0].partitions[0]


async def test_the_first_question_creates_the_offsets_topic(clients):
    client = await clients.connect()
    found = await find(client)
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, 1)
    assert f"{found.host}:{found.port}" == clients.broker.bootstrap
    assert clients.broker.topic_id(OFFSETS_TOPIC)


@pytest.mark.parametrize("version", range(7))
async def test_find_coordinator_in_every_version(clients, version):
    client = await clients.connect()
    found = await find(client, version=version)
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, 1)


@pytest.mark.parametrize("key_type", [2, 7])
async def test_coordinators_of_unknown_kinds(clients, key_type):
    found = await find(await clients.connect(), key_type=key_type)
    assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, -1)


@pytest.mark.parametrize("version", range(10))
async def test_a_member_s_life_in_every_version(clients, version):
    clients.broker.create_topic("words", partitions=1)
    topic_id = clients.broker.topic_id("words")
    client = await clients.connect()
    await find(client)
    joined = await join(client, version)
    assert (joined.error_code, joined.generation_id) == (ErrorCode.NONE, 1)
    assert joined.leader == joined.member_id
    ids = {"group_id": "group", "member_id": joined.member_id, "generation_id": 1}
    assignment = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"mine")
    synced = await client.ask(
        SyncGroupRequest(
            **ids, protocol_type="consumer", protocol_name="range", assignments=[assignment]
        ),
        min(version, 5),
    )
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"mine")
    beat = await client.ask(HeartbeatRequest(**ids), min(version, 4))
    assert beat.error_code == ErrorCode.NONE
    committed = await client.ask(
        commit_request(
            "words",
            topic_id,
            7,
            member_id=joined.member_id,
            generation_id_or_member_epoch=1,
        ),
        version + 1 if version else 2,
    )
    assert committed.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert (await fetch(client, topic_id, version + 1)).committed_offset == 7
    leaving = (
        LeaveGroupRequest(group_id="group", member_id=joined.member_id)
        if version < 3
        else LeaveGroupRequest(
            group_id="group", members=[MemberIdentity(member_id=joined.member_id)]
        )
    )
    left = await client.ask(leaving, min(version, 5))
    assert left.error_code == ErrorCode.NONE
    again = await client.ask(leaving, min(version, 5))
    errors = [again.error_code] if version < 3 else [m.error_code for m in again.members]
    assert errors == [ErrorCode.UNKNOWN_MEMBER_ID]


async def test_topics_that_do_not_exist_by_id(clients):
    client = await clients.connect()
    await find(client)
    unknown = clients.broker.topic_id(OFFSETS_TOPIC).__class__(int=7)
    committed = await client.ask(commit_request("", unknown, 7))
    assert committed.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    fetched = await fetch(client, unknown)
    assert (fetched.error_code, fetched.committed_offset) == (ErrorCode.UNKNOWN_TOPIC_ID, -1)


async def test_administrators_see_and_delete(clients):
    clients.broker.create_topic("words", partitions=1)
    topic_id = clients.broker.topic_id("words")
    client = await clients.connect(client_id="reader")
    await find(client)
    joined = await join(client)
    listed = await client.ask(ListGroupsRequest(states_filter=["completingrebalance"]))
    assert [(g.group_id, g.group_type) for g in listed.groups] == [("group", "classic")]
    described = await client.ask(
        DescribeGroupsRequest(groups=["group"], include_authorized_operations=True)
    )
    (group,) = described.groups
    assert group.group_state == "CompletingRebalance"
    assert [(m.client_id, m.client_host) for m in group.members] == [("reader", "/127.0.0.1")]
    assert group.authorized_operations > 0
    refused = await client.ask(DeleteGroupsRequest(groups_names=["group"]))
    assert refused.results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    await client.ask(
        LeaveGroupRequest(group_id="group", members=[MemberIdentity(member_id=joined.member_id)])
    )
    await client.ask(commit_request("words", topic_id, 7))
    deletion = OffsetDeleteRequest(
        group_id="group",
        topics=[
            OffsetDeleteRequestTopic(
                name="words", partitions=[OffsetDeleteRequestPartition(partition_index=0)]
            )
        ],
    )
    assert (await client.ask(deletion)).topics[0].partitions[0].error_code == ErrorCode.NONE
    assert (await fetch(client, topic_id)).committed_offset == -1
    deleted = await client.ask(DeleteGroupsRequest(groups_names=["group"]))
    assert deleted.results[0].error_code == ErrorCode.NONE


async def test_a_restart_keeps_offsets_members_and_generations(tmp_path, connect):
    async with a_broker(data_dir=tmp_path) as running:
        running.create_topic("words", partitions=1)
        topic_id = running.topic_id("words")
        client = await connect(running)
        await find(client)
        first = await join(client, instance_id="one")
        ids = {"group_id": "group", "member_id": first.member_id, "generation_id": 1}
        assignment = SyncGroupRequestAssignment(member_id=first.member_id, assignment=b"mine")
        sync = SyncGroupRequest(**ids, group_instance_id="one", assignments=[assignment])
        refused = await client.ask(sync)
        assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL  # none is named
        sync.protocol_type, sync.protocol_name = first.protocol_type, first.protocol_name
        await client.ask(sync)
        committed = commit_request(
            "words",
            topic_id,
            7,
            member_id=first.member_id,
            group_instance_id="one",
            generation_id_or_member_epoch=1,
        )
        await client.ask(committed)
    async with a_broker(data_dir=tmp_path) as running:
        client = await connect(running)
        await find(client)
        assert (await fetch(client, topic_id)).committed_offset == 7
        beat = await client.ask(HeartbeatRequest(**ids, group_instance_id="one"))
        assert beat.error_code == ErrorCode.NONE
        again = await join(client, instance_id="one")
        assert (again.generation_id, again.skip_assignment) == (1, True)


async def test_offsets_go_with_their_topic(clients):
    clients.broker.create_topic("words", partitions=1)
    topic_id = clients.broker.topic_id("words")
    client = await clients.connect()
    await find(client)
    await client.ask(commit_request("words", topic_id, 7))
    clients.broker.delete_topic("words")
    clients.broker.create_topic("words", partitions=1)
    assert (await fetch(client, topic_id, 9)).committed_offset == -1


async def test_each_group_has_one_coordinator(connect):
    async with a_broker(nodes=3) as running:
        client = await connect(running)
        found = await find(client)
        for node_id, address in enumerate(running.bootstrap.split(","), 1):
            joined = await join(await connect(running, node_id), version=3)
            if node_id == found.node_id:
                assert address == f"{found.host}:{found.port}"
                assert joined.error_code == ErrorCode.NONE
            else:
                assert joined.error_code == ErrorCode.NOT_COORDINATOR


async def test_the_assignment_interval_counts_as_soon_as_it_is_altered(connect):
    interval, largest = "group.consumer.assignment.interval.ms", "group.consumer.max.size"

    async def alter(name, value):
        config = AlterableConfig(name=name, config_operation=0, value=value)
        node = AlterConfigsResource(resource_type=4, resource_name="", configs=[config])
        answer = await client.ask(IncrementalAlterConfigsRequest(resources=[node]))
        return answer.responses[0].error_code

    async def beat(member_id, epoch):
        """The member's epoch, and how many partitions it is told to have."""
        joining = {"rebalance_timeout_ms": 9_000, "topic_partitions": []} if epoch == 0 else {}
        request = ConsumerGroupHeartbeatRequest(
            group_id="group",
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=["words"],
            **joining,
        )
        response = await client.ask(request)
        assert response.error_code == ErrorCode.NONE, response
        topics = response.assignment.topic_partitions if response.assignment else []
        return response.member_epoch, sum(len(topic.partitions) for topic in topics)

    async with a_broker({interval: "15000"}) as running:
        running.create_topic("words", partitions=2)
        client = await connect(running)
        await find(client)
        _, count = await beat("first", 0)
        assert count == 2
        await beat("first", -1)
        epoch, count = await beat("second", 0)
        assert count == 0  # those of the last assignment wait for the next one
        assert await alter(largest, "1") == ErrorCode.INVALID_REQUEST  # not dynamic in Kafka either
        assert await alter(interval, "0") == ErrorCode.NONE
        _, count = await beat("second", epoch)
        assert count == 2
