"""Requests of a member of the group "group", which reads the topic "words"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

# A subscription (ConsumerProtocolSubscription v0) to no topic.
SUBSCRIPTION = b"\0\0\0\0\0\0\xff\xff\xff\xff"


async def find(client: Any, key: str = "group", version: int = 6, key_type: int = 0) -> Any:
    """The coordinator of a key; asking for a group creates the offsets topic."""
    if version >= 4:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        return (await client.ask(request, version)).coordinators[0]
    return await client.ask(FindCoordinatorRequest(key=key, key_type=key_type), version)


async def with_words(clients: Any) -> tuple[Any, UUID]:
    """A client of a broker with the topic "words", and that topic's id."""
    broker: test_broker = clients.broker
    broker.create_topic("words", partitions=1)
    client = await clients.connect(client_id="reader")
    await find(client)
    return client, broker.topic_id("words")


async def join(
    client: Any,
    version: int = 9,
    member_id: str = "",
    instance_id: str | None = None,
    others: Sequence[JoinGroupRequestProtocol] = (),
) -> Any:
    """JoinGroup, asked again with the member id that was given if there is to be one."""
    request = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION), *others],
    )
    response = await client.ask(request, version)
    if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        return await join(client, version, response.member_id, others=others)
    return response


def sync_request(joined: Any, **fields: Any) -> SyncGroupRequest:
    """SyncGroup of the leader, which takes everything itself."""
    names = {"protocol_type": "consumer", "protocol_name": "range"} | fields
    return SyncGroupRequest(
        group_id="group",
        member_id=joined.member_id,
        generation_id=joined.generation_id,
        assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"mine")],
        **names,
    )


async def sync(client: Any, joined: Any, version: int = 5, **fields: Any) -> Any:
    """The answer to that."""
    return await client.ask(sync_request(joined, **fields), version)


async def heartbeat(client: Any, joined: Any, version: int = 4, **fields: Any) -> int:
    """The error code of a heartbeat."""
    identity = {"member_id": joined.member_id, "generation_id": joined.generation_id} | fields
    response = await client.ask(HeartbeatRequest(group_id="group", **identity), version)
    code: int = response.error_code
    return code


async def leave(client: Any, member_id: str, version: int = 5) -> list[int]:
    """The error codes of a LeaveGroup: the response's, and since version 3 each member's."""
    if version < 3:
        request = LeaveGroupRequest(group_id="group", member_id=member_id)
        return [(await client.ask(request, version)).error_code]
    request = LeaveGroupRequest(group_id="group", members=[MemberIdentity(member_id=member_id)])
    response = await client.ask(request, version)
    return [response.error_code, *(member.error_code for member in response.members)]


def commit_request(
    topic_name: str, topic_id: UUID, offset: int, **fields: Any
) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name=topic_name, topic_id=topic_id, partitions=[partition])
    return OffsetCommitRequest(group_id="group", topics=[topic], **fields)


async def commit(client: Any, topic_id: UUID, offset: int, version: int = 10, **fields: Any) -> int:
    """The error code of a commit for the first partition of "words"."""
    response = await client.ask(commit_request("words", topic_id, offset, **fields), version)
    code: int = response.topics[0].partitions[0].error_code
    return code


async def fetch(client: Any, topic_id: UUID, version: int = 10) -> Any:
    """The committed offset of the first partition of "words"."""
    if version < 8:
        topic = OffsetFetchRequestTopic(name="words", partition_indexes=[0])
        response = await client.ask(OffsetFetchRequest(group_id="group", topics=[topic]), version)
        return response.topics[0].partitions[0]
    topics = OffsetFetchRequestTopics(name="words", topic_id=topic_id, partition_indexes=[0])
    group = OffsetFetchRequestGroup(group_id="group", topics=[topics])
    response = await client.ask(OffsetFetchRequest(groups=[group]), version)
    return response.groups[0].topics[0].partitions[0]
