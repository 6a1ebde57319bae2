"""Requests of share groups and about them."""

from __future__ import annotations

from conformance.security.requests.vocabulary import MISSING, TOPICS, Requests, TopicIds
from kafkalite.wire.messages import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
)

_GROUPS = ("open-share", "shut-share")
_MEMBER = "AAAAAAAAAAAAAAAAAAAAAA"


def _fetch(group: str, ids: TopicIds) -> share_fetch.ShareFetchRequest:
    partition = share_fetch.FetchPartition(partition_index=7)  # there is none
    return share_fetch.ShareFetchRequest(
        group_id=group,
        member_id=_MEMBER,
        share_session_epoch=0,
        max_bytes=1,
        max_records=1,
        topics=[share_fetch.FetchTopic(ids[name], [partition]) for name in TOPICS],
    )


def _acknowledge(group: str, ids: TopicIds) -> share_acknowledge.ShareAcknowledgeRequest:
    batch = share_acknowledge.AcknowledgementBatch(0, 0, [1])
    partition = share_acknowledge.AcknowledgePartition(7, [batch])
    return share_acknowledge.ShareAcknowledgeRequest(
        group_id=group,
        member_id=_MEMBER,
        share_session_epoch=1,
        topics=[share_acknowledge.AcknowledgeTopic(ids[name], [partition]) for name in TOPICS],
    )


def _describe_offsets(
    names: tuple[str, ...] | None,
) -> describe_share_group_offsets.DescribeShareGroupOffsetsRequest:
    topic = describe_share_group_offsets.DescribeShareGroupOffsetsRequestTopic
    return describe_share_group_offsets.DescribeShareGroupOffsetsRequest(
        groups=[
            describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup(
                group_id=group,
                topics=None if names is None else [topic(name, [0]) for name in names],
            )
            for group in _GROUPS
        ]
    )


def _alter_offsets(group: str) -> alter_share_group_offsets.AlterShareGroupOffsetsRequest:
    partition = alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition(0, 1)
    return alter_share_group_offsets.AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[
            alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic(name, [partition])
            for name in (*TOPICS, *MISSING)
        ],
    )


def _delete_offsets(group: str) -> delete_share_group_offsets.DeleteShareGroupOffsetsRequest:
    return delete_share_group_offsets.DeleteShareGroupOffsetsRequest(
        group_id=group,
        topics=[
            delete_share_group_offsets.DeleteShareGroupOffsetsRequestTopic(name)
            for name in (*TOPICS, *MISSING)
        ],
    )


def share(ids: TopicIds) -> Requests:
    """By name."""
    made: Requests = {
        "describe share groups": (
            share_group_describe.ShareGroupDescribeRequest(
                group_ids=[*_GROUPS], include_authorized_operations=True
            ),
            None,
        ),
        "share offsets": (_describe_offsets((*TOPICS, *MISSING)), None),
        "all share offsets": (_describe_offsets(None), None),
    }
    for kind, group in zip(("open", "shut"), _GROUPS, strict=True):
        made |= {
            f"share fetch, {kind}": (_fetch(group, ids), None),
            f"share acknowledge, {kind}": (_acknowledge(group, ids), None),
            f"alter share offsets, {kind}": (_alter_offsets(group), None),
            f"delete share offsets, {kind}": (_delete_offsets(group), None),
            f"share heartbeat, {kind}": (
                share_group_heartbeat.ShareGroupHeartbeatRequest(
                    group_id=f"{group}-2",
                    member_id=_MEMBER,
                    member_epoch=5,
                    subscribed_topic_names=[*TOPICS],
                ),
                None,
            ),
        }
    return made
