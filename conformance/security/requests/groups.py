"""Requests of groups and about them, and their offsets."""

from __future__ import annotations

from conformance.security.requests.vocabulary import (
    GROUPS,
    MISSING,
    TOPICS,
    TRANSACTIONS,
    Requests,
    TopicIds,
)
from kafkalite.wire.messages import (
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)


def _commit(group: str) -> offset_commit.OffsetCommitRequest:
    partition = offset_commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    return offset_commit.OffsetCommitRequest(
        group_id=group,
        topics=[
            offset_commit.OffsetCommitRequestTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _offset_fetch(names: tuple[str, ...] | None) -> offset_fetch.OffsetFetchRequest:
    return offset_fetch.OffsetFetchRequest(
        groups=[
            offset_fetch.OffsetFetchRequestGroup(
                group_id=group,
                topics=None
                if names is None
                else [
                    offset_fetch.OffsetFetchRequestTopics(name=name, partition_indexes=[0])
                    for name in names
                ],
            )
            for group in GROUPS
        ]
    )


def _old_offset_fetch(group: str) -> offset_fetch.OffsetFetchRequest:
    return offset_fetch.OffsetFetchRequest(
        group_id=group,
        topics=[
            offset_fetch.OffsetFetchRequestTopic(name=name, partition_indexes=[0])
            for name in TOPICS
        ],
    )


def _join(group: str) -> join_group.JoinGroupRequest:
    return join_group.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="nobody",
        protocol_type="consumer",
        protocols=[join_group.JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


def _offset_delete(group: str) -> offset_delete.OffsetDeleteRequest:
    partition = offset_delete.OffsetDeleteRequestPartition(partition_index=0)
    return offset_delete.OffsetDeleteRequest(
        group_id=group,
        topics=[
            offset_delete.OffsetDeleteRequestTopic(name=name, partitions=[partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _part_0() -> Requests:
    return {
        "list groups": (list_groups.ListGroupsRequest(), None),
        "describe groups": (
            describe_groups.DescribeGroupsRequest(
                groups=[*GROUPS], include_authorized_operations=True
            ),
            None,
        ),
        "describe consumer groups": (
            consumer_group_describe.ConsumerGroupDescribeRequest(
                group_ids=[*GROUPS], include_authorized_operations=True
            ),
            None,
        ),
        "delete groups": (
            delete_groups.DeleteGroupsRequest(groups_names=["open-none", "shut-none"]),
            None,
        ),
        "offsets of groups": (_offset_fetch((*TOPICS, *MISSING)), 9),
        "all offsets of groups": (_offset_fetch(None), None),
        "find groups": (
            find_coordinator.FindCoordinatorRequest(key_type=0, coordinator_keys=[*GROUPS]),
            None,
        ),
        "find transactions": (
            find_coordinator.FindCoordinatorRequest(key_type=1, coordinator_keys=[*TRANSACTIONS]),
            None,
        ),
    }


def _commit_by_id(ids: TopicIds) -> offset_commit.OffsetCommitRequest:
    partition = offset_commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    return offset_commit.OffsetCommitRequest(
        group_id=GROUPS[0],
        topics=[
            offset_commit.OffsetCommitRequestTopic(topic_id=ids[name], partitions=[partition])
            for name in TOPICS
        ],
    )


def groups(ids: TopicIds) -> Requests:
    """By name."""
    made: Requests = {**_part_0(), "commit by id": (_commit_by_id(ids), None)}
    for kind, group in zip(("open", "shut"), GROUPS, strict=True):
        made |= {
            f"commit, {kind}": (_commit(group), 9),
            f"old offsets, {kind}": (_old_offset_fetch(group), 5),
            f"oldest offsets, {kind}": (_old_offset_fetch(group), 1),
            f"find group, {kind}": (find_coordinator.FindCoordinatorRequest(key=group), 3),
            f"join, {kind}": (_join(group), None),
            f"heartbeat, {kind}": (heartbeat.HeartbeatRequest(group, 1, "nobody"), None),
            f"leave, {kind}": (
                leave_group.LeaveGroupRequest(
                    group_id=group, members=[leave_group.MemberIdentity("nobody")]
                ),
                None,
            ),
            f"sync, {kind}": (
                sync_group.SyncGroupRequest(
                    group_id=group,
                    generation_id=1,
                    member_id="nobody",
                    protocol_type="consumer",
                    protocol_name="range",
                ),
                None,
            ),
            f"sync without protocol, {kind}": (
                sync_group.SyncGroupRequest(group_id=group, generation_id=1, member_id="nobody"),
                None,
            ),
            f"delete offsets, {kind}": (_offset_delete(group), None),
            f"subscribe, {kind}": (
                consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
                    group_id=f"{group}-2",
                    member_id="nobody",
                    member_epoch=5,
                    subscribed_topic_names=[*TOPICS],
                ),
                None,
            ),
        }
    return made
