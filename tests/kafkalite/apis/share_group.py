"""A share group over the wire: its members' heartbeats, and its offsets."""

from __future__ import annotations

from typing import Any

from kafkalite.wire.messages import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
    share_group_describe,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

GROUP = "queue"


async def find_coordinator(client: Any) -> None:
    """The first one who asks makes the topics of groups and of share states."""
    await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]))
    state = f"{GROUP}:{'A' * 22}:0"
    await client.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[state]))


async def beat(client: Any, member: str, epoch: int = 0, *topics: str, **fields: Any) -> Any:
    """A heartbeat; `topics` are subscribed to if there are any."""
    values = {
        "group_id": GROUP,
        "member_id": member,
        "member_epoch": epoch,
        "subscribed_topic_names": list(topics) or None,
    } | fields
    await find_coordinator(client)
    return await client.ask(ShareGroupHeartbeatRequest(**values))


async def describe(client: Any, *group_ids: str, with_operations: bool = False) -> Any:
    request = share_group_describe.ShareGroupDescribeRequest(list(group_ids), with_operations)
    return (await client.ask(request)).groups


async def alter(client: Any, *offsets: tuple[str, int, int]) -> Any:
    """Set start offsets of (topic, partition)."""
    messages = alter_share_group_offsets
    topics = [
        messages.AlterShareGroupOffsetsRequestTopic(
            name, [messages.AlterShareGroupOffsetsRequestPartition(partition, offset)]
        )
        for name, partition, offset in offsets
    ]
    await find_coordinator(client)
    return await client.ask(messages.AlterShareGroupOffsetsRequest(GROUP, topics))


async def delete(client: Any, *names: str) -> Any:
    messages = delete_share_group_offsets
    topics = [messages.DeleteShareGroupOffsetsRequestTopic(name) for name in names]
    return await client.ask(messages.DeleteShareGroupOffsetsRequest(GROUP, topics))


async def described(client: Any, group_id: str = GROUP, version: int = 1) -> Any:
    """The answer of DescribeShareGroupOffsets for all topics of a group."""
    messages = describe_share_group_offsets
    asked = messages.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
    request = messages.DescribeShareGroupOffsetsRequest([asked])
    ((group),) = (await client.ask(request, version)).groups
    return group


async def offsets(client: Any) -> dict[tuple[str, int], int]:
    """The start offsets of the group."""
    group = await described(client)
    return {
        (topic.topic_name, each.partition_index): each.start_offset
        for topic in group.topics
        for each in topic.partitions
    }


async def turn_off(client: Any) -> None:
    """Lower the feature: there are no share groups any more."""
    off = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    answer = await client.ask(UpdateFeaturesRequest(feature_updates=[off]))
    assert answer.error_code == 0
